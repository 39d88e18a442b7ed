#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cables fail and return for a while, at random; the tables are proved after every round.

usage: soak.py SECONDS [FABRIC [SEED]]
A round takes one to four cables out of the fat tree or puts some back, then waits until weftd says
that the subnet is up with the number of links that are left, and lets outsiders prove the tables.
Growth of the daemon's memory over the rounds is told at the end.
"""
import random
import re
import sys
import tempfile
import time

import fabrics
import lab as laboratory
from cases_change import proved
from lab import Lab, need, wait_for
from manager import Weftd

MEND = 60       # seconds within which a round must be proved


def resident_kb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return int(re.search(r"^VmRSS:\s+(\d+)", f.read(), re.M).group(1))


def change(lab, rnd, trunks, out):
    """Take out or put back; `out` holds the cables that are out."""
    for _ in range(rnd.randint(1, 4)):
        if out and rnd.random() < 0.5:
            lab.plug(*out.pop(rnd.randrange(len(out))))
        elif len(out) < len(trunks) // 4:
            end = rnd.choice([t for t in trunks if t not in out])
            out.append(end)
            lab.unplug(*end)


def trunks_of(net):
    return [a for a, b in net.cables.items()
            if a < b and net.kind[a[0]] == net.kind[b[0]] == "switch"]


def soak():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    name = sys.argv[2] if len(sys.argv) > 2 else "ft3-8"
    rnd = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp, \
            Lab(fabrics.fabric(name, tmp)) as lab:
        m = Weftd(lab)
        m.start()
        full = m.wait_up()["links"]
        first = resident_kb(m.process.pid)
        out, rounds, end = [], 0, time.monotonic() + seconds
        while time.monotonic() < end:
            change(lab, rnd, trunks_of(lab.net), out)
            want = full - len(out)
            wait_for("%d links in weft status" % want,
                     lambda w=want: m.status()["links"] == w, MEND)
            m.weft("wait", "--timeout", str(MEND))
            wait_for("proof of round %d" % (rounds + 1), lambda: proved(lab), MEND)
            need(m.json("check")["ok"], "weft check in round %d" % (rounds + 1))
            rounds += 1
        need(rounds, "no round was done")
        print("%d rounds, all proved; memory %d kB at first, %d kB at the end" %
              (rounds, first, resident_kb(m.process.pid)))
        m.stop()


laboratory.main(soak)
