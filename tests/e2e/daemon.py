#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The daemon over time: cables, hosts, signals, commands, restarts, and who else is there.

usage: daemon.py CASE     a function test_CASE of the modules cases_*.py
Each case runs in a laboratory of its own; every new state of the tables is proved from outside.
"""
import sys

import cases_change
import cases_judge
import cases_like
import cases_neighbour
import cases_osm
import cases_osmtest
import cases_plan
import cases_sim
import cases_start
import lab as laboratory

MODULES = (cases_judge, cases_change, cases_start, cases_neighbour, cases_plan,
           cases_sim, cases_osm, cases_osmtest, cases_like)


def cases():
    return {name[5:]: f for m in MODULES for name, f in vars(m).items()
            if name.startswith("test_")}


def main():
    known = cases()
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        raise laboratory.Failure("usage: daemon.py " + "|".join(sorted(known)))
    known[sys.argv[1]]()


laboratory.main(main)
