#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Faults that users of subnet managers reported, and the tests that they are none of ours.

Of multicast, the subnet administrator, partitions and the configuration; each row is a fault, in a
word, and the functions that test it. The check is that each of these is there still. What no test
has is said, too.
"""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNIT, E2E, FUZZ = ("tests/%s/" % x for x in ("unit", "e2e", "fuzz"))
REPORTED = {
    "M1 members with several join states leak their group": [(UNIT + "test_sa_group.c", "test_m1")],
    "M3 MTU and rate only as codes that nobody wrote down": [
        (UNIT + "test_conf_policy.c", "test_rates"), (UNIT + "test_conf_values.c", "test_ranges"),
        (UNIT + "test_conf_policy.c", "test_partitions")],
    "M7 joins with another prefix": [(UNIT + "test_sa_group.c", "test_m7")],
    "M8 paths by a GID and a LID that disagree": [
        (E2E + "saquery.py", "--slid {i} --sgid {gh} --dlid {i}"),
        (E2E + "cases_sa.py", "test_sa_selectors")],
    "M10 changes of one client overtake each other": [(E2E + "cases_guids.py",
                                                       "test_guids_in_order")],
    "M11 block numbers and modifiers at their bounds": [
        (UNIT + "test_sa_guid.c", "test_last_block"),
        (FUZZ + "fuzz_sa.c", "LLVMFuzzerTestOneInput")],
    "M12 rates compared as numbers, and told to who does not know them": [
        (UNIT + "test_sa_rate.c", "test_order"), (E2E + "cases_paths.py", "test_paths_max_rate")],
    "M13 thousands of clients at once": [(E2E + "cases_clients.py", "test_clients_m13")],
    "M14 subscriptions after a restart": [(E2E + "cases_events.py", "test_events_each")],
    "M15 ended in a storm, killed in a commit": [
        (E2E + "cases_events.py", "test_events_storm"),
        (E2E + "cases_events.py", "test_events_killed")],
    "P1 both memberships where one was said": [
        (UNIT + "test_partitions.c", "test_nearest_counts"),
        (E2E + "cases_import.py", "test_import_both")],
    "P3 the default key at another index": [
        (UNIT + "test_partitions.c", "test_index_is_kept"),
        (UNIT + "test_core_isolation.c", "test_index0")],
    "P5 limited members": [
        (E2E + "cases_partitions.py", "test_partitions_paths"),
        (E2E + "cases_isolation.py", "test_isolation_visible")],
    "P6 long lists of members": [
        (E2E + "cases_import.py", "a-long-line"), (UNIT + "test_conf_policy.c", "test_long_line")],
    "P7 partitions of several subnets; exceptions": [
        (UNIT + "test_partitions.c", "test_subnets"),
        (UNIT + "test_partitions.c", "test_excepted_names")],
    "P10 files of nothing and of noise": [
        (UNIT + "test_conf.c", "test_noise"), (UNIT + "test_conf.c", "test_reloads")],
    "C1 text, and numbers too large, where a number belongs": [
        (UNIT + "test_conf_values.c", "test_wrong_values"),
        (UNIT + "test_conf_values.c", "test_ranges")],
    "C2 a word that enforcement does not know": [
        (UNIT + "test_conf_values.c", "test_wrong_values"), (E2E + "cases_isolation.py", "BROKEN"),
        (FUZZ + "fuzz_conf.c", "LLVMFuzzerTestOneInput")],
    "R13 no path while tables are written": [(E2E + "cases_load.py", "test_load_reroute")],
}
WITHOUT = {
    "M17": "counters over a threshold: there is no such watch yet",
}


def missing():
    for fault, tests in REPORTED.items():
        for path, name in tests:
            with open(os.path.join(TOP, path), encoding="utf-8") as f:
                if not re.search(r"(^|\W)%s\W" % re.escape(name), f.read()):
                    yield "%s: %s has no %s" % (fault, path, name)


def main():
    wrong = list(missing())
    print("\n".join(wrong) or "reported faults: %d have their tests, %d have none" %
          (len(REPORTED), len(WITHOUT)))
    sys.exit(bool(wrong))


main()
