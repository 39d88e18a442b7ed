#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Faults that users of subnet managers reported, and the tests that they are none of ours.

Of the machine that it starts on, discovery, multicast, the subnet administrator, partitions, the
configuration and the log; each row is a fault, in a word, and the functions that test it. The check
is that each of these is there still. What no test has is said, too.
"""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNIT, E2E, FUZZ = ("tests/%s/" % x for x in ("unit", "e2e", "fuzz"))
REPORTED = {
    "A1 Ethernet devices before the InfiniBand one": [
        (E2E + "cases_ports.py", "test_ports_ethernet"),
        (UNIT + "test_umad_select.c", "test_selection")],
    "A2 a device that refuses agents for a while": [
        (E2E + "cases_ports.py", "test_ports_taken"),
        (UNIT + "test_umad.c", "test_agents_refused_long")],
    "A3 no port but Ethernet": [(E2E + "cases_ports.py", "test_ports_only_ethernet")],
    "A4 devices or the driver that come after the start": [
        (E2E + "cases_ports.py", "test_ports_late"), (UNIT + "test_umad.c", "test_late_device")],
    "A5 a port that is down": [
        (E2E + "cases_start.py", "test_isolated_host"),
        (E2E + "cases_ports.py", "test_ports_notified")],
    "A8 started beside another subnet manager": [
        (UNIT + "test_core_peers.c", "a_master_is_not_replaced"),
        (E2E + "cases_neighbour.py", "test_refuses_master"),
        (UNIT + "test_core_ha.c", "accept_handover")],
    "A10 tools that look for pairs of devices": [
        (E2E + "cases_attached.py", "test_attached_versions"),
        (E2E + "cases_attached.py", "test_attached_devices")],
    "B1 extended speeds only for who asks for them": [
        (UNIT + "test_core_reported.c", "extended_speeds"),
        (UNIT + "test_core_push.c", "extended_bit_on_sets")],
    "B3 a cable moved between the ports of a host": [
        (UNIT + "test_core_claims.c", "test_other_port"),
        (UNIT + "test_core_reported.c", "moved_cable")],
    "B4 a slow switch flooded": [(UNIT + "test_core_discovery.c", "test_slow_switch")],
    "B6 the first switch deaf in mid-sweep": [
        (UNIT + "test_core_discovery.c", "test_first_switch")],
    "B7 notices of ports that nobody knows": [
        (UNIT + "test_core_claims.c", "test_notices"),
        (UNIT + "test_core_claims.c", "test_early_notices")],
    "B8 devices that never answer": [(UNIT + "test_core_discovery.c", "test_many_silent")],
    "B9 a new leaf and traps in one sweep": [
        (UNIT + "test_core_change.c", "new_leaf_and_traps_in_the_sweep")],
    "B10 stuck for a lost MAD": [
        (UNIT + "test_core_discovery.c", "test_many_sweeps"),
        (UNIT + "test_core_history.c", "test_overdue")],
    "B13 a tenth of all nodes loses MADs": [(UNIT + "test_core_discovery.c", "test_lossy_nodes")],
    "B14 one GUID twice": [
        (UNIT + "test_core_claims.c", "test_double_hosts"),
        (UNIT + "test_core_claims.c", "test_double_port"),
        (UNIT + "test_core_claims.c", "test_double_switches"),
        (UNIT + "test_core_claims.c", "test_double_first_switch")],
    "B16 SMPs by LID do not get through": [
        (UNIT + "test_core_reported.c", "directed_routes_alone")],
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
    "M14 subscriptions after a takeover": [(UNIT + "test_core_copies.c", "test_takeover")],
    "H10 the second takeover before all is copied": [
        (UNIT + "test_core_copies.c", "test_twice"), (E2E + "cases_ha.py", "test_ha_twice")],
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
    "C5 floods of one line": [(UNIT + "test_base_log.c", "test_equal_lines")],
    "C6 events before what they tell of": [(UNIT + "test_core_reported.c", "told_when_done")],
    "C7 logs rotated under several daemons": [(E2E + "cases_start.py", "test_log_rotated")],
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
