#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""weftd against packaged OpenSM: time to bring a fabric up, MADs sent, peak memory.

usage: compare.py [-r REPEATS] [-e ENGINE]... [HOSTS...]     HOSTS: 128 1024 3456 8192

Both get the same fabric (three-level fat trees) in a packaged ibsim of their own, one after the
other and in turns, so that a busy moment of the machine hits both; the median counts. OpenSM runs
with --maxsmps 256: its default window of 4 would be all that is measured. Time is from the start
of the process to its own line that says the subnet is up. MADs are counted by one preloaded library
for both (madcount.c); the least is what the specification asks for at least, see least_mads().
Memory is the peak resident set at that moment. There is no pass condition here: times belong to a
machine. The targets are printed beside the ratios.
"""
import argparse
import os
import re
import select
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
import madcount  # noqa: E402
from lab import Failure, Lab, wait_for  # noqa: E402
from manager import MADCOUNT, OpenSM, Weftd  # noqa: E402

RADIX = {128: 8, 1024: 16, 3456: 24, 8192: 32}      # ft3 K has K^3/4 hosts
LIMIT = 300                                         # seconds for one bring-up
TARGET_FROM = 3456                                  # time and memory targets hold from here on
TARGET = {"time": 0.5, "mads": 1.05, "memory": 0.25}
LFT_BLOCK = 64


def least_mads(net, start):
    """The fewest MADs that discover and program such a fabric of fresh devices.

    Reads: NodeInfo at the far end of each cable once and at home; NodeDescription and P_Key block 0
    of each node; PortInfo of each host port, each switch port and port 0; SwitchInfo. Writes:
    SwitchInfo, every LFT block, PortInfo with the LID (host ports with ARMED in the same one),
    configuration with ARMED of each cabled switch port, ACTIVE of each cabled port.
    """
    want = net.expected(start)
    switches, hosts, links = want["switches"], want["hosts"], want["links"]
    nodes = switches + hosts
    switch_ports = sum(net.size[s] for s in net.switches())
    cabled = sum(1 for (n, _) in net.cables if net.kind[n] == "switch")
    blocks = nodes // LFT_BLOCK + 1                 # LIDs 1..nodes, block 0 has LID 0
    reads = links + 1 + 2 * nodes + hosts + switch_ports + switches + switches
    writes = switches + blocks * switches + nodes + cabled + hosts + cabled
    return reads + writes


def peak_kb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return int(re.search(r"^VmHWM:\s+(\d+)", f.read(), re.M).group(1))


class Follow:
    """Reads a growing log and finds a line the moment that it is there."""

    def __init__(self, process, pattern):
        self.process, self.pattern, self.tail = process, pattern.encode(), b""
        self.file = open(process.log, "rb")     # closed by seconds()

    def seconds(self):
        with self.file:
            while not re.search(self.pattern, self.tail):
                self.tail = self.tail[-400:] + self.file.read()
                if re.search(self.pattern, self.tail):
                    break
                took = time.monotonic() - self.process.start
                if took > LIMIT or not self.process.alive():
                    raise Failure("%s: not up after %.1f s; its log ends: %s" % (
                        self.process.name, took, self.process.text()[-600:]))
                select.select([], [], [], 0.001)
        return time.monotonic() - self.process.start


def idle_mads(counter, switches):
    """MADs of one light sweep, per switch. What weftd reads between sweeps, once, is left out."""
    def total():
        return counter.table().get((madcount.GET, 0x12), 0)

    def swept():
        once = sum(counter.table().get((madcount.GET, a), 0) for a in (0x16, 0x17, 0x18))
        return counter.total() - once
    before, all_before = total(), swept()
    wait_for("a light sweep", lambda: total() >= before + switches, 60)
    return (swept() - all_before) / switches


def measure(netfile, make, idle):
    with Lab(netfile) as lab:
        counter = madcount.Counter(lab.dir)
        m = make(lab)
        p = m.start(extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
        took = Follow(p, m.up).seconds()
        row = {"time": took, "mads": counter.total(), "memory": peak_kb(p.pid) / 1024,
               "lines": counter.lines()}
        if idle:
            row["idle"] = idle_mads(counter, len(lab.net.switches()))
        p.stop()
        return row


def median(rows, key):
    return statistics.median(r[key] for r in rows)


def compare(hosts, engine, repeats, folder, verbose):
    netfile = fabrics.fabric("ft3-%d" % RADIX[hosts], folder)
    net = laboratory.Net(netfile)
    makers = [("opensm", lambda lab: OpenSM(lab, engines=engine)),
              ("weftd", lambda lab: Weftd(lab, engines=engine, extra="    sweep_interval: 5s\n"))]
    rows = {"opensm": [], "weftd": []}
    for i in range(repeats):
        for name, make in makers if i % 2 == 0 else makers[::-1]:
            print("  %d hosts, %s, %s, run %d of %d" % (hosts, engine, name, i + 1, repeats),
                  file=sys.stderr)
            rows[name].append(measure(netfile, make, name == "weftd" and i == 0))
    if verbose:
        for name, of in rows.items():
            print("%s at %d hosts:\n%s" % (name, hosts, "\n".join(of[0]["lines"])))
    out = {k: (median(rows["opensm"], k), median(rows["weftd"], k))
           for k in ("time", "mads", "memory")}
    out["least"] = least_mads(net, net.hosts()[0])
    out["idle"] = rows["weftd"][0]["idle"]
    return out


HEAD = ("hosts", "engine", "OpenSM", "weftd", "ratio", "OpenSM", "weftd", "of least", "OpenSM",
        "weftd", "ratio", "idle/switch")
WIDTH = (6, 7, 9, 9, 6, 8, 8, 8, 9, 9, 6, 11)


def line(cells):
    return "  ".join(str(c).rjust(w) for c, w in zip(cells, WIDTH))


def row(hosts, engine, r):
    (to, tw), (mo, mw), (ko, kw) = r["time"], r["mads"], r["memory"]
    return line((hosts, engine, "%.2f s" % to, "%.2f s" % tw, "%.2f" % (tw / to), int(mo), int(mw),
                 "%.3f" % (mw / r["least"]), "%.1f MB" % ko, "%.1f MB" % kw, "%.2f" % (kw / ko),
                 "%.2f" % r["idle"]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-r", type=int, default=3)
    ap.add_argument("-e", action="append")
    ap.add_argument("-v", action="store_true", help="also MADs by attribute")
    ap.add_argument("hosts", type=int, nargs="*", default=sorted(RADIX))
    args = ap.parse_args()
    unknown = [h for h in args.hosts if h not in RADIX]
    if unknown:
        raise Failure("sizes are %s, not %s" % (sorted(RADIX), unknown))
    table = []
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as tmp:
        for hosts in args.hosts:
            for engine in args.e or ["minhop", "updn"]:
                r = compare(hosts, engine, args.r, tmp, args.v)
                table.append(row(hosts, engine, r))
    print("packaged OpenSM (--maxsmps 256) and weftd over packaged ibsim, medians of %d" % args.r)
    print(line(("", "", "time", "time", "", "MADs", "MADs", "", "peak", "peak", "", "MADs")))
    print(line(HEAD))
    print("\n".join(table))
    print("targets: ratio of time <= %.2f and of memory <= %.2f from %d hosts on; MADs <= %.2f "
          "of the least;\n         idle: 1 MAD a switch in each light sweep" %
          (TARGET["time"], TARGET["memory"], TARGET_FROM, TARGET["mads"]))


if __name__ == "__main__":
    laboratory.main(main)
