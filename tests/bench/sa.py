#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""weftd's subnet administrator against packaged OpenSM's, and against what the transport carries.

usage: sa.py [-r REPEATS] [-t SECONDS] [-b] [HOSTS...]     HOSTS: 1024 8192 43904

Both manage the same fat tree on a weftsim of their own, and are asked in turns by one program on a
host (bench_ask.c) for paths from it to random LIDs, 100 and 1,000 questions under way at a time; an
echo on another host answers the same questions at once, which is the transport's ceiling. The best
of REPEATS counts, of each figure: the noise of a shared machine only ever takes away.
Then all NodeRecords in one answer, beside as many bytes of an echo. Then (-b: only) weftd is asked,
one question after the other and 1,000 at a time, while it sweeps and routes everything anew, beside
an echo that is asked as much at the same time. At 43,904 hosts OpenSM is left out: it takes too
long to come up. There is no pass condition but that no question stays unanswered: times belong to
a machine. The targets are printed beside.
"""
import argparse
import contextlib
import os
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
from lab import BUILD, Lab, need, program, wait_for  # noqa: E402
from manager import OpenSM, Weftd  # noqa: E402

RADIX = {1024: 16, 8192: 32, 43904: 56}     # ft3 K has K^3/4 hosts
OPENSM_TO = 8192
WINDOWS = (100, 1000)
NO_LIMIT = "    sa_rate: 0\n"      # one host may ask as much as it can
CLIENT = os.path.join(BUILD, "bench_ask")
ANSWERS = re.compile(r"(\d+) answers, (\d+) a second, median (\d+) us, 99 % (\d+) us, slowest "
                     r"(\d+) us, (\d+) refused, (\d+) lost")


class Side:
    """A fabric with its manager; the questions come from its second host, echoes from the third."""

    def __init__(self, lab, manager):
        self.lab, self.manager = lab, manager
        self.hosts = lab.net.hosts()
        self.top = len(lab.net.kind)

    def begin(self):
        self.manager.start()
        self.manager.wait_up(400)
        self.lab.start("echo", [CLIENT, "serve"], self.hosts[2]).wait_text("ready")
        out = self.lab.run([program("saquery"), "-l", self.hosts[2]], self.hosts[1])[0]
        self.echo = out.split()[0]

    def run(self, *words, seconds=200):
        return self.lab.run([CLIENT] + [str(w) for w in words], self.hosts[1], seconds)[0]

    def asked(self, *words):
        """OpenSM may leave questions unanswered when it is slow: they are told."""
        return answers(self.run(*words), isinstance(self.manager, OpenSM))

    def table(self, *words):
        took, size = re.match(r"([\d.]+) s, (\d+) bytes", self.run("table", 5, *words)).groups()
        return float(took), int(size)


def answers(text, may_lose=False):
    """Answers a second; microseconds of the median, of 99 % and of the slowest; lost."""
    m = ANSWERS.match(text)
    need(m, "bench_ask said: " + text[:300])
    need(m.group(6) == "0" and (may_lose or m.group(7) == "0"), "not all was answered: " + text)
    return tuple(int(x) for x in m.groups()[1:5] + m.groups()[6:])


def paths(sides, repeats, seconds):
    """{(side, window): answers()}, with "echo" for another side: weftd's transport."""
    best = {}
    for _ in range(repeats):
        for window in WINDOWS:
            for name, side in sides.items():
                key = (name, window)
                better(best, key, side.asked("path", window, seconds, side.top))
            side = sides["weftd"]
            better(best, ("echo", window), side.asked("echo", window, seconds, side.echo))
    return best


def better(best, key, found):
    old = best.get(key, found)
    best[key] = (max(old[0], found[0]),) + tuple(min(a, b) for a, b in zip(old[1:], found[1:]))


def tell_paths(hosts, best):
    for window in WINDOWS:
        ours, echo = best[("weftd", window)], best[("echo", window)]
        theirs = best.get(("OpenSM", window))
        line = "%6d hosts, %4d outstanding: weftd %7d a second, median %6d us, 99 %% %6d us" % (
            hosts, window, *ours[:3])
        line += "; echo %7d, %6d us, %6d us (%.2f of it)" % (*echo[:3], ours[0] / echo[0])
        if theirs:
            line += "; OpenSM %6d, %6d us, %6d us, %d lost" % (*theirs[:3], theirs[4])
            line += ": %.1f times as many, %.2f of its 99 %%" % (ours[0] / theirs[0],
                                                                 ours[2] / theirs[2])
        print(line, flush=True)


def tables(hosts, sides):
    ours, size = sides["weftd"].table()
    echo, _ = sides["weftd"].table(sides["weftd"].echo, size)
    line = "%6d hosts, all NodeRecords (%d kB): weftd %.1f ms; echo %.1f ms (%.2f times)" % (
        hosts, size / 1000, ours * 1e3, echo * 1e3, ours / echo)
    if "OpenSM" in sides:
        line += "; OpenSM %.1f ms" % (sides["OpenSM"].table()[0] * 1e3)
    print(line, flush=True)


def during(hosts, side, window, what, work):
    """Paths and echoes, WINDOW of each under way, until the work is done; the slowest answers. The
    echo tells how long the machine and the transport kept anybody waiting."""
    asks = [side.lab.start(words[0], [CLIENT, words[0], str(window), "400", str(words[1])], host)
            for host, words in ((side.hosts[1], ("path", side.top)),
                                (side.hosts[3], ("echo", side.echo)))]
    began = time.monotonic()
    work()
    took = time.monotonic() - began
    for p in asks:
        p.send(signal.SIGINT)
    wait_for("the last answers", lambda: not any(p.alive() for p in asks), 20)
    ours, echo = (answers(p.text()) for p in asks)
    print("%6d hosts, %4d outstanding while %s in %.1f s: slowest answer %.1f ms, 99 %% %.1f ms "
          "(target 100 ms); echo %.1f ms, %.1f ms" % (
              hosts, window, what, took, ours[3] / 1e3, ours[2] / 1e3, echo[3] / 1e3,
              echo[2] / 1e3), flush=True)


def busy(hosts, side):
    def sweep():
        before = side.manager.status()["sweeps"]
        side.manager.process.send(signal.SIGHUP)
        wait_for("a sweep", lambda: side.manager.status()["sweeps"] > before, 400)

    for window in (1, WINDOWS[-1]):
        during(hosts, side, window, "it sweeps", sweep)
        during(hosts, side, window, "it routes all anew",
               lambda: side.manager.weft("reroute", "--full", seconds=200))


def size(hosts, repeats, seconds, only_busy):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-%d" % RADIX[hosts], tmp)
        sides, makers = {}, {"weftd": lambda lab: Weftd(lab, "fattree", extra=NO_LIMIT)}
        if hosts <= OPENSM_TO and not only_busy:
            makers["OpenSM"] = lambda lab: OpenSM(lab, engines="ftree")
        with contextlib.ExitStack() as stack:
            for name, make in makers.items():
                lab = stack.enter_context(Lab(net, sim="weftsim"))
                sides[name] = Side(lab, make(lab))
                sides[name].begin()
            if not only_busy:
                tell_paths(hosts, paths(sides, repeats, seconds))
                tables(hosts, sides)
            for _ in range(repeats if only_busy else 1):
                busy(hosts, sides["weftd"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-r", "--repeats", type=int, default=3)
    p.add_argument("-t", "--seconds", type=float, default=1)
    p.add_argument("-b", "--busy", action="store_true")
    p.add_argument("hosts", nargs="*", type=int, default=sorted(RADIX))
    a = p.parse_args()
    for hosts in a.hosts:
        size(hosts, a.repeats, a.seconds, a.busy)
    print("targets: 5 times OpenSM's answers or 0.9 of the echo's, under a third of OpenSM's 99 %")


laboratory.main(main)
