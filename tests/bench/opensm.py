#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Packaged OpenSM on weftsim and on packaged ibsim: time from its start to "SUBNET UP".

usage: opensm.py [-r REPEATS] [HOSTS...]     HOSTS: 128 1024 3456 8192

The same three-level fat tree in a simulator of each kind, in turns; the median counts. On weftsim
no MAD may be lost, and OpenSM may find nothing to complain of: then it had to send none again.
"""
import argparse
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
from cases_osm import nothing_lost, quiet  # noqa: E402
from compare import RADIX, Follow  # noqa: E402
from lab import Lab  # noqa: E402
from manager import OpenSM  # noqa: E402

SIMULATORS = ("ibsim", "weftsim")


def once(path, sim):
    with Lab(path, sim=sim) as lab:
        m = OpenSM(lab)
        took = Follow(m.start(), m.up).seconds()
        quiet(m.process)
        sent = nothing_lost(lab) if sim == "weftsim" else 0
        m.stop()
    return took, sent


def size(hosts, repeats):
    times = {sim: [] for sim in SIMULATORS}
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        path = fabrics.fabric("ft3-%d" % RADIX[hosts], tmp)
        for _ in range(repeats):
            for sim in SIMULATORS:
                took, sent = once(path, sim)
                times[sim].append(took)
    theirs, ours = (statistics.median(times[sim]) for sim in SIMULATORS)
    print("%6d hosts: ibsim %7.2f s, weftsim %7.2f s (%.2f of it), %d MADs, none lost" %
          (hosts, theirs, ours, ours / theirs, sent), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-r", "--repeats", type=int, default=3)
    p.add_argument("hosts", nargs="*", type=int, default=[128, 1024, 3456])
    a = p.parse_args()
    for hosts in a.hosts:
        size(hosts, a.repeats)


laboratory.main(main)
