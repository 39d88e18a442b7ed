#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Routing of tori and dragonflies: packaged OpenSM's engine for each, and Weft's, time and memory.

usage: directs.py [-r REPEATS] [-l LIMIT] [-w] [-u | -g] [FABRIC...]
       FABRIC: torus-8-8-8-4 dfly-8-4-4-33 ...

As trees.py does it: OpenSM's routing phase alone, seen from outside, against `weft route` with its
proof, on the same fabric in one run; medians, the largest peak. What OpenSM needs beside a name is
given to it: torus-2QoS the file that says where its switches are, which ours finds. -w: ours alone,
for fabrics that OpenSM takes too long for. -u: engine nue of both, with four lanes, on whatever
fabric. -g: how ours grows with size, up to 30,000 LIDs and more. "By CPU": processor time of all
threads, which others on the machine disturb less; OpenSM's routes on one, ours on all cores. There
is no pass condition here: times belong to a machine. The targets are printed beside.
"""
import argparse
import os
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
import trees  # noqa: E402
from cases_osmset import torus_conf  # noqa: E402
from lab import BUILD, need  # noqa: E402

THEIRS = {"torus": "torus-2QoS", "dfly": "dfsssp"}
OURS = {"torus": "torus", "dfly": "dragonfly"}
HEAD = ("fabric", "engine", "OpenSM", "engine", "route", "check", "faster", "(by CPU)", "OpenSM",
        "Weft")
WIDTH = (14, 10, 9, 9, 9, 9, 7, 8, 8, 8)
GROWTH = ("torus-8-8-8-4", "torus-12-12-12-4", "torus-16-16-16-4", "torus-20-20-20-3",
          "dfly-8-4-4-33", "dfly-12-6-6-73", "dfly-16-8-8-129", "dfly-16-8-14-129")
GROWTH_HEAD = ("fabric", "switches", "LIDs", "route", "check", "route", "check", "peak")
GROWTH_WIDTH = (17, 8, 6, 10, 10, 9, 9, 7)
LANES = 4           # for engine nue; ours takes so many by itself
CPU = re.compile(r"route [\d.]+ ms \(cpu (\d+)\), check [\d.]+ ms \(cpu (\d+)\)")


def line(cells, width=WIDTH):
    return "  ".join(str(c).rjust(w) for c, w in zip(cells, width))


def options(name, path, folder, engine):
    """Of opensm for a fabric: lanes are written with -Q only."""
    if engine == "nue":
        return ["-Q", "--nue_max_num_vls", str(LANES)]
    if engine != "torus-2QoS":
        return ["-Q"]
    numbers = name.split("-")[1:]
    conf = os.path.join(folder, name + ".conf")
    with open(conf, "w", encoding="ascii") as f:
        f.write(torus_conf(path, tuple(int(n) for n in numbers[:-1])))
    return ["-Q", "--torus_config", conf]


def cpu_ms(path, engine, repeats):
    """Processor time of ours for route and proof, the least of several."""
    text = trees.output([os.path.join(BUILD, "bench_route"), "-r", str(repeats), path, engine])
    return sum(int(ms) for ms in CPU.search(text).groups())


def growth(name, folder, o):
    """One fabric: times, and the same for each pair of a switch and a LID."""
    path = fabrics.fabric(name, folder)
    trees.say(name)
    runs = trees.weft_runs(path, o.repeats, OURS[name.split("-", maxsplit=1)[0]])
    entries = runs[0]["switches"] * runs[0]["lids"]
    route, check = (statistics.median(r[k] for r in runs) for k in ("route_ms", "check_ms"))
    return line((name, runs[0]["switches"], runs[0]["lids"], "%.1f ms" % route, "%.1f ms" % check,
                 "%.1f ns" % (route * 1e6 / entries), "%.1f ns" % (check * 1e6 / entries),
                 "%.0f MB" % (max(r["peak_rss_kb"] for r in runs) / 1024)), GROWTH_WIDTH)


def bench_growth(o):
    print("growth of `weft route`, medians of %d; by entry of the tables" % o.repeats)
    print(line(("", "", "", "", "", "by entry", "by entry", ""), GROWTH_WIDTH))
    print(line(GROWTH_HEAD, GROWTH_WIDTH), flush=True)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as tmp:
        for name in o.fabrics or GROWTH:
            print(growth(name, tmp, o), flush=True)


def measure(name, folder, o):
    path = fabrics.fabric(name, folder)
    kind = name.split("-", maxsplit=1)[0]
    ours, his = ("nue", "nue") if o.universal else (OURS[kind], THEIRS[kind])
    trees.say(name)
    route, check, mb = trees.weft(path, o.repeats, ours)
    theirs = None
    if not o.ours:
        theirs = trees.opensm(path, o.repeats, o.limit, his, options(name, path, folder, his))
    begun = theirs and theirs.begun
    return line((
        name, his if theirs else "-", theirs.text() if theirs else "-", ours,
        "%.1f ms" % route, "%.1f ms" % check,
        "%s%.0f" % (theirs.more, theirs.seconds * 1000 / (route + check)) if begun else "-",
        "(%.0f)" % (theirs.cpu * 1000 / max(1, cpu_ms(path, ours, o.repeats))) if begun else "-",
        "%.0f MB" % theirs.mb if theirs else "-", "%.0f MB" % mb))


def bench():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-r", "--repeats", type=int, default=3)
    p.add_argument("-l", "--limit", type=int, default=900, help="seconds for one run of OpenSM")
    p.add_argument("-w", "--ours", action="store_true", help="Weft alone")
    p.add_argument("-u", "--universal", action="store_true", help="engine nue of both")
    p.add_argument("-g", "--growth", action="store_true", help="with size, Weft alone")
    p.add_argument("fabrics", nargs="*")
    o = p.parse_args()
    unknown = [f for f in o.fabrics
               if f.split("-", maxsplit=1)[0] not in THEIRS and not o.universal]
    need(not unknown, "a torus or a dfly, not %s" % unknown)
    if o.growth:
        bench_growth(o)
        return
    print("routing: packaged OpenSM's engine (its phase alone) and weft route, "
          "medians of %d" % o.repeats)
    print(line(("", "", "phase", "", "", "", "", "", "peak", "peak")))
    print(line(HEAD), flush=True)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as tmp:
        for name in o.fabrics or ["torus-8-8-8-4", "dfly-8-4-4-33"]:
            print(measure(name, tmp, o), flush=True)
    print("target: route and check >= %d times faster than the phase of OpenSM" %
          (10 if o.universal else 20))


if __name__ == "__main__":
    laboratory.main(bench)
