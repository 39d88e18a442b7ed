#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cables of a fat tree are lost, one after another, and weftd and packaged OpenSM repair that.

usage: repairs.py [-n CABLES] [-e ENGINE] [-l LIMIT] [-w] [HOSTS...]   HOSTS: 128 1024 3456 8192

Each manager brings the tree up on a weftsim of its own, without light sweeps, so that traps alone
tell of what happens. Then CABLES cables of leaves are lost and as many between the switches above,
the same ones of both and none of them back meanwhile; -w leaves OpenSM out. Time is from the trap
that arrived first to the last forwarding block that was sent, by a preloaded library that is the
same for both (madcount.c); the next cable is lost when the manager has come to rest. "told" is the
number of blocks that `weft fail --dry-run` foretold, "MADs" all that were sent until rest, blocks
among them; weftd's own rest includes the proof from nothing that follows a repair.

It fails if more blocks were written than foretold. Times belong to a machine; the target is printed
beside. Where others keep the processors busy weftd pays more for it: its worker, which routes and
proves, has a lower priority (nice 5), and OpenSM has not.
"""
import argparse
import os
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
import madcount  # noqa: E402
from compare import RADIX  # noqa: E402
from lab import Lab, need, wait_for  # noqa: E402
from manager import MADCOUNT, OpenSM, Weftd  # noqa: E402
from trees import cpu_seconds  # noqa: E402

TARGET = 20         # times faster, at 8,192 hosts
REST = 2            # seconds without a MAD and without work
IDLE = 0.05         # share of a processor that is no work
ENGINES = "auto, updn, minhop"
QUIET = "    sweep_interval: 0s\n    health: {counters_interval: 0s}\n"


def wait_rest(counter, process, limit):
    """Until a manager sends nothing and computes nothing: OpenSM is silent while it routes."""
    seen, cpu, at = counter.sent(), cpu_seconds(process.pid), time.monotonic()

    def over():
        nonlocal seen, cpu, at
        now = time.monotonic()
        sent, used = counter.sent(), cpu_seconds(process.pid)
        need(process.alive(), process.name + " ended: " + process.text()[-300:])
        if sent != seen or used - cpu > IDLE * REST:
            seen, cpu, at = sent, used, now
        return now - at > REST
    wait_for(process.name + " to be at rest", over, limit)


def cables(net, number):
    """[(kind, end)]: of leaves, then between the switches above. Not the manager's own leaf's."""
    leaves = {net.cables[h, 1][0] for h in net.hosts()}
    own = net.cables[net.hosts()[0], 1][0]
    kinds = {"leaf": [], "above": []}
    for a, b in net.cables.items():
        if net.kind[a[0]] != "switch" or net.kind[b[0]] != "switch" or own in (a[0], b[0]):
            continue
        if a[0] in leaves:
            kinds["leaf"].append(a)
        elif b[0] not in leaves and a < b:
            kinds["above"].append(a)
    rnd = random.Random(1)
    return [(k, end) for k, ends in kinds.items() for end in rnd.sample(ends, number)]


class Repair:
    def __init__(self, seconds, blocks, mads, told=None):
        self.seconds, self.blocks, self.mads, self.told = seconds, blocks, mads, told


def repair(lab, m, counter, end, limit):
    """Lose a cable, and wait for the repair."""
    told = None
    if m.name == "weftd":
        told = m.json("fail", "%s/%d" % end, "--dry-run", seconds=limit)["writes"]
        wait_rest(counter, m.process, limit)
    blocks, mads = counter.sets("LinearForwardingTable"), counter.sent()
    counter.await_trap()
    lab.unplug(*end)
    wait_for("a trap", lambda: counter.repaired()[0], limit)
    wait_for("a forwarding block", lambda: counter.sets("LinearForwardingTable") > blocks, limit)
    wait_rest(counter, m.process, limit)
    trapped, forwarded = counter.repaired()
    return Repair(forwarded - trapped, counter.sets("LinearForwardingTable") - blocks,
                  counter.sent() - mads, told)


def run(path, make, number, limit):
    with Lab(path, sim="weftsim") as lab:
        counter = madcount.Counter(lab.dir)
        m = make(lab)
        more = ("-s", "0") if m.name == "opensm" else ()
        m.start(*more, extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
        m.wait_up(limit)
        wait_rest(counter, m.process, limit)
        rows = []
        for kind, end in cables(lab.net, number):
            print("  %s, a cable of kind %s" % (m.name, kind), file=sys.stderr, flush=True)
            rows.append((kind, repair(lab, m, counter, end, limit)))
        if m.name == "weftd":
            need(m.json("check", seconds=limit)["ok"], "weft check after the losses")
        m.stop()
        return rows


HEAD = ("hosts", "cable", "OpenSM", "weftd", "faster", "OpenSM", "weftd", "told", "OpenSM", "weftd")
WIDTH = (6, 6, 9, 9, 7, 8, 8, 8, 8, 8)


def line(cells):
    return "  ".join(str(c).rjust(w) for c, w in zip(cells, WIDTH))


def size(hosts, folder, o):
    path = fabrics.fabric("ft3-%d" % RADIX[hosts], folder)
    ours = run(path, lambda lab: Weftd(lab, ENGINES, extra=QUIET), o.cables, o.limit)
    theirs = [(k, None) for k, _ in ours]
    if not o.weft:
        theirs = run(path, lambda lab: OpenSM(lab, engines=o.engine), o.cables, o.limit)
    for (kind, w), (_, t) in zip(ours, theirs):
        print(line((hosts, kind, "%.2f s" % t.seconds if t else "-", "%.3f s" % w.seconds,
                    "%.0f" % (t.seconds / w.seconds) if t else "-", t.blocks if t else "-",
                    w.blocks, w.told, t.mads if t else "-", w.mads)), flush=True)
    for kind, w in ours:
        need(w.blocks <= w.told, "%d blocks were written for a cable of kind %s, %d were foretold" %
             (w.blocks, kind, w.told))
    if o.weft:
        return
    least = min(t.seconds for _, t in theirs) / max(w.seconds for _, w in ours)
    middle = (statistics.median(t.seconds for _, t in theirs) /
              statistics.median(w.seconds for _, w in ours))
    print("%6d hosts: OpenSM's median / weftd's %.0f, its fastest / weftd's slowest %.0f" %
          (hosts, middle, least), flush=True)


def bench():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-n", "--cables", type=int, default=2, help="of each kind")
    p.add_argument("-e", "--engine", default="minhop", help="OpenSM's")
    p.add_argument("-l", "--limit", type=int, default=900, help="seconds for each thing waited for")
    p.add_argument("-w", "--weft", action="store_true", help="weftd alone")
    p.add_argument("hosts", type=int, nargs="*", default=[1024, 8192])
    o = p.parse_args()
    print("full fat trees that lose cables: packaged OpenSM (%s) and weftd over weftsim" % o.engine)
    print(line(("", "", "trap to", "last block", "", "blocks", "blocks", "blocks", "MADs", "MADs")))
    print(line(HEAD), flush=True)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as tmp:
        for hosts in o.hosts:
            size(hosts, tmp, o)
    print("targets: no more blocks than foretold; at 8192 hosts at least %d times faster" % TARGET)


if __name__ == "__main__":
    laboratory.main(bench)
