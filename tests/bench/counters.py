#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What it costs weftd to read the error counters of all ports.

usage: counters.py [-i SECONDS] [HOSTS...]     HOSTS: 1024 8192

weftd manages a fat tree on weftsim. For the time of one sweep of counters each, without and with
them, its processor time is taken, and again while one host asks for paths, one question after the
other; then the requests of the sweep and the slow turns of the loop. There is no pass condition:
times belong to a machine.
"""
import argparse
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
from lab import BUILD, Lab, need, wait_for  # noqa: E402
from manager import Weftd  # noqa: E402

RADIX = {1024: 16, 8192: 32}     # ft3 K has K^3/4 hosts
CLIENT = os.path.join(BUILD, "bench_ask")


def processor(manager):
    with open("/proc/%d/stat" % manager.process.popen.pid, encoding="ascii") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def interval(manager, seconds):
    manager.write("fattree", "    health: {counters_interval: %s}\n" % seconds)
    manager.weft("reload")


def sweep(manager):
    return manager.json("show", "counters", seconds=60)["last_sweep"]


def look(m, what, seconds):
    """Without questions, then with them, of the host next to weftd's."""
    before = processor(m)
    time.sleep(seconds)
    quiet = processor(m)
    out = m.lab.run([CLIENT, "path", "1", str(seconds), str(len(m.lab.net.kind))],
                    m.lab.net.hosts()[1], seconds + 60)[0]
    asked = re.match(r"\d+ answers, (\d+) a second, (median .*), 0 refused, 0 lost", out)
    need(asked, out)
    print("    %-7s %.2f s of processor time in %d s; %.2f s with %s questions a second: %s" % (
        what, quiet - before, seconds, processor(m) - quiet, *asked.groups()), flush=True)


def size(hosts, seconds):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-%d" % RADIX[hosts], tmp), sim="weftsim") as lab:
            m = Weftd(lab, "fattree", extra="    health: {counters_interval: 0}\n")
            m.start()
            m.wait_up(400)
            print("%d hosts" % hosts, flush=True)
            look(m, "without", seconds)
            interval(m, "%ds" % seconds)
            wait_for("a sweep", lambda: sweep(m)["number"] > 1, 4 * seconds + 60)
            slow = m.json("status")["loop"]["slow"]
            look(m, "with", seconds)
            last, slow = sweep(m), m.json("status")["loop"]["slow"] - slow
            print("    a sweep: %d ports, %d requests in %.1f s; %d slow turns of the loop" % (
                last["ports"], last["mads"], last["took_s"], slow), flush=True)
            m.stop()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-i", type=int, default=60, help="seconds of a sweep")
    p.add_argument("hosts", nargs="*", type=int, default=sorted(RADIX))
    o = p.parse_args()
    for hosts in o.hosts:
        size(hosts, o.i)


if __name__ == "__main__":
    laboratory.main(main)
