#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""weftsim against packaged ibsim: MAD round trips a second; and what weftsim alone can do.

usage: simulator.py [-r REPEATS]

Both serve the same fabric (ft3 16: 1,024 hosts) to the same program, which keeps a number of
Get(NodeInfo) under way through libibumad, in turns, so that a busy moment of the machine hits both;
the best of REPEATS counts, for the noise of a shared machine only ever takes away. Then: the direct
transport in one process; start and memory of the largest full fat tree (ft3 56: 43,904 hosts, 3,920
switches); a virtual day of 1,024 hosts with 10,000 link flaps, of the fabric alone and under weftd
(the latter for an hour, and told for a day). There is no pass condition here: times belong to a
machine. The targets are printed beside.
"""
import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
from lab import BUILD, Lab, need, program  # noqa: E402

TARGET = {64: 5, 1: 3}
FLAPS_A_DAY = 10000


def rate(lab, window):
    out = lab.run([os.path.join(BUILD, "bench_window"), str(window), "1", "1"], host=lab.seat())[0]
    return int(re.match(r"(\d+) round trips", out).group(1))


def preloads(tmp, repeats):
    net = fabrics.fabric("ft3-16", tmp)
    best = {}
    with Lab(net, sim="ibsim") as old, Lab(net, sim="weftsim") as new:
        for _ in range(repeats):
            for window in TARGET:
                for name, lab in (("ibsim", old), ("weftsim", new)):
                    key = (name, window)
                    best[key] = max(best.get(key, 0), rate(lab, window))
    print("MAD round trips a second through libibumad, ft3 16   ibsim   weftsim  ratio  target")
    for window, target in TARGET.items():
        a, b = best[("ibsim", window)], best[("weftsim", window)]
        print("  %2d outstanding %37d %9d %6.1f     >= %d" % (window, a, b, b / a, target))


def timed(argv, **kw):
    """(seconds, peak kB, output) of a program."""
    start = time.monotonic()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **kw) as p:
        out = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    need(p.returncode == 0, "%s ended with %s: %s" % (argv[0], p.returncode, out[-300:]))
    return time.monotonic() - start, usage.ru_maxrss, out


def alone(tmp):
    out = timed([os.path.join(BUILD, "bench_direct"), "16", "64", "4"])[2]
    print("direct transport, 64 outstanding: %s (target: over 1 million a second)" % out.strip())
    took, kb, _ = timed([program("weftsim"), "run", "ft3:56", "--", "true"], cwd=tmp)
    print("ft3 56 (43,904 hosts): up, a program run, and gone in %.2f s, %.0f MB (targets 20 s, "
          "4,000 MB)" % (took, kb / 1024))


def script(path, flaps, hours):
    with open(path, "w", encoding="ascii") as f:
        f.write("random %d flaps over %dh hold 100ms..2s\n" % (flaps, hours))


def virtual(tmp):
    day, hour = os.path.join(tmp, "day"), os.path.join(tmp, "hour")
    script(day, FLAPS_A_DAY, 24)
    script(hour, FLAPS_A_DAY // 24, 1)
    conf = os.path.join(tmp, "weft.yaml")
    with open(conf, "w", encoding="ascii") as f:
        f.write("log: {level: error, to: stderr}\n")
    took, _, out = timed([program("weftsim"), "rehearse", "ft3:16", "--script", day, "--for",
                          "1d"], cwd=tmp)
    print("a virtual day of 1,024 hosts, %d link events: the fabric alone %.2f s (target 60 s)" %
          (out.count("is down") + out.count("is up"), took))
    took, _, out = timed([program("weftd"), "-c", conf, "--sim", "ft3:16", "--sim-script", hour,
                          "--sim-for", "1h"], cwd=tmp)
    print("  and under weftd, which repairs it: %.1f s for an hour, %.0f s for a day (%d repairs)" %
          (took, took * 24, out.count("routed:")))


def bench():
    parser = argparse.ArgumentParser()
    parser.add_argument("-r", "--repeats", type=int, default=3)
    o = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as tmp:
        preloads(tmp, o.repeats)
        alone(tmp)
        virtual(tmp)


laboratory.main(bench)
