#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The daemon over time: cables, hosts, signals, commands, restarts, and who else is there.

usage: daemon.py CASE     a function test_CASE of the modules cases_*.py
Each case runs in a laboratory of its own; every new state of the tables is proved from outside.
"""
import glob
import importlib
import os
import sys

import lab as laboratory

FOLDER = os.path.dirname(os.path.abspath(__file__))
MODULES = [importlib.import_module(os.path.basename(path)[:-3])
           for path in sorted(glob.glob(os.path.join(FOLDER, "cases_*.py")))]


def cases():
    return {name[5:]: f for m in MODULES for name, f in vars(m).items()
            if name.startswith("test_")}


def main():
    known = cases()
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        raise laboratory.Failure("usage: daemon.py " + "|".join(sorted(known)))
    known[sys.argv[1]]()


laboratory.main(main)
