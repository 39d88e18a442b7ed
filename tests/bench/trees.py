#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Routing of full fat trees: packaged OpenSM's engine ftree and Weft's fattree, time and memory.

usage: trees.py [-r REPEATS] [-l LIMIT] [-o MOST] [HOSTS...]   HOSTS: 1024 8192 27648 43904 ...

OpenSM brings a fresh fabric of weftsim up. Its routing phase is the silence between the last LID
that it gives and the first thing that it says of forwarding tables, by a preloaded library
(madcount.c) and not by its own log, which only has to say in the end that ftree made them. Its
memory is the peak until then. It gets LIMIT seconds, and is not asked for more than MOST hosts.
Ours: `weft route` on the same fabric, read from a file, in a process of its own: tables and proof;
median times, the largest peak. "By CPU" compares processor time of all threads, which others on the
machine disturb less, and to which it is all the same that ours uses all cores. memset: over tables
of that size that are in memory. Repair: bench_fault.c loses one cable of a leaf in a process that
routed the whole fabric before, and routes and proves what is left; processor time of that is
compared with what routing and proving all took. There is no pass condition here: times belong to a
machine. The targets are printed beside.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
import madcount  # noqa: E402
from compare import peak_kb  # noqa: E402
from lab import BUILD, Failure, Lab, need, program  # noqa: E402
from manager import MADCOUNT, OpenSM  # noqa: E402

RADIX = {k ** 3 // 4: k for k in range(4, 58, 2)}       # ft3 K has K^3/4 hosts
ENOUGH = 60         # seconds: what takes OpenSM longer than this is not repeated
CABLES = 5          # that are lost, each by itself
OURS_LIMIT = 300    # seconds for a program of ours


def say(text):
    print("  " + text, file=sys.stderr, flush=True)


class Routing:
    """OpenSM's routing phase, begun and ended in seconds of the monotonic clock (None: not yet when
    its time was over, at `now`); processor seconds that it took; and peak memory in MB."""

    def __init__(self, begun, ended, now, cpu, mb):
        self.begun, self.ended, self.cpu, self.mb = begun, ended, cpu, mb
        self.seconds = (ended or now) - begun if begun else None
        self.more = "" if ended else ">"

    def text(self):
        return "%s%.2f s" % (self.more, self.seconds) if self.begun else "not begun"

    def ratio(self, ms, cpu_ms):
        """By the clock, and by the processor."""
        return "%s%.0f (%.0f)" % (self.more, self.seconds * 1000 / ms,
                                  self.cpu * 1000 / cpu_ms) if self.begun else "-"


def cpu_seconds(pid):
    """Processor time of a process and all its threads so far (proc(5): utime, stime)."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
        words = f.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def follow(counter, process, limit):
    seen, before = None, 0
    while True:
        begun, ended = counter.routing()
        now, cpu = time.monotonic(), cpu_seconds(process.pid)
        if begun != seen:
            seen, before = begun, cpu
        if ended or now > process.start + limit:
            return Routing(begun, ended, now, cpu - before, peak_kb(process.pid) / 1024)
        need(process.alive(), "opensm ended: " + process.text()[-300:])
        time.sleep(0.005)


def opensm_once(path, limit, engine, more):
    with Lab(path, sim="weftsim") as lab:
        counter = madcount.Counter(lab.dir)
        m = OpenSM(lab, engines=engine)
        p = m.start(*more, extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
        r = follow(counter, p, limit)
        if r.ended:
            need(p.wait_text(r"(\S+) tables configured", limit).group(1) == engine,
                 engine + " did not route it")
        return r


def opensm(path, repeats, limit, engine="ftree", more=()):
    """The run of median time; `more` are options of opensm."""
    runs, start = [], time.monotonic()
    while len(runs) < repeats and time.monotonic() < start + ENOUGH:
        say("OpenSM, run %d" % (len(runs) + 1))
        runs.append(opensm_once(path, limit, engine, more))
    return sorted(runs, key=lambda r: r.seconds or 0)[len(runs) // 2]


def output(argv):
    try:
        r = subprocess.run(argv, capture_output=True, text=True, timeout=OURS_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise Failure("%s took more than %d s" % (" ".join(argv), OURS_LIMIT)) from None
    need(r.returncode == 0, "%s: status %d: %s" % (" ".join(argv), r.returncode, r.stderr))
    return r.stdout


def weft_runs(path, repeats, engine):
    """What `weft route` says of a fabric, each time."""
    argv = [program("weft"), "route", path, "--engine", engine, "--no-quality", "-o", "json"]
    runs = [json.loads(output(argv)) for _ in range(repeats)]
    for r in runs:
        need(r["ok"] and r["engine"] == engine and not r["unreachable"] + r["cut_off"],
             "weft route: %s" % r)
    return runs


def weft(path, repeats, engine="fattree"):
    """(route ms, check ms, peak MB)"""
    runs = weft_runs(path, repeats, engine)
    return (statistics.median(r["route_ms"] for r in runs),
            statistics.median(r["check_ms"] for r in runs),
            max(r["peak_rss_kb"] for r in runs) / 1024)


def repair(radix, repeats):
    """{cpu, lost: ms of processors for route and proof of all, and after one cable was lost; route:
    ms of the clock for the first without the proof, memset: ms}"""
    text = output([os.path.join(BUILD, "bench_fault"), "-k", "-c", "1", "-n", str(CABLES), "-r",
                   str(repeats), "ft3 %d" % radix, "fattree"])
    took = {"whole": [], "lost": [], "back": []}
    for when, *ms in re.findall(
            r"^(\w+): route ([\d.]+) ms, check ([\d.]+) ms, cpu ([\d.]+) ms", text, re.M):
        took[when].append([float(x) for x in ms])
    return {
        "cpu": statistics.median(cpu for _, _, cpu in took["whole"]),
        "lost": statistics.median(cpu for _, _, cpu in took["lost"]),
        "route": statistics.median(r for r, _, _ in took["whole"]),
        "memset": float(re.search(r"memset over the tables: ([\d.]+) ms", text).group(1)),
    }


HEAD = ("hosts", "OpenSM", "route", "check", "faster", "OpenSM", "Weft", "memset", "route",
        "one cable", "of all")
WIDTH = (6, 9, 9, 9, 10, 9, 8, 9, 7, 9, 6)


def line(cells):
    return "  ".join(str(c).rjust(w) for c, w in zip(cells, WIDTH))


def measure(hosts, folder, o):
    path = fabrics.fabric("ft3-%d" % RADIX[hosts], folder)
    say("%d hosts" % hosts)
    route, check, mb = weft(path, o.repeats)
    r = repair(RADIX[hosts], o.repeats)
    theirs = opensm(path, o.repeats, o.limit) if hosts <= o.most else None
    return line((
        hosts, theirs.text() if theirs else "-", "%.1f ms" % route, "%.1f ms" % check,
        theirs.ratio(route + check, r["cpu"]) if theirs else "-",
        "%.0f MB" % theirs.mb if theirs else "-", "%.0f MB" % mb, "%.2f ms" % r["memset"],
        "x %.1f" % (r["route"] / r["memset"]), "%.1f ms" % r["lost"],
        "1/%.1f" % (r["cpu"] / r["lost"])))


def bench():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-r", "--repeats", type=int, default=3)
    p.add_argument("-l", "--limit", type=int, default=900, help="seconds for one run of OpenSM")
    p.add_argument("-o", "--most", type=int, default=48000, help="hosts that OpenSM is tried with")
    p.add_argument("hosts", type=int, nargs="*", default=[1024, 8192])
    o = p.parse_args()
    unknown = [h for h in o.hosts if h not in RADIX]
    need(not unknown, "a full fat tree has one of %s hosts, not %s" % (sorted(RADIX), unknown))
    print("full fat trees of three levels: packaged OpenSM's ftree (its routing phase alone) and "
          "weft route, medians of %d" % o.repeats)
    print(line(("", "phase", "", "", "(by CPU)", "peak", "peak", "", "of it", "repair by", "CPU")))
    print(line(HEAD), flush=True)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as tmp:
        for hosts in o.hosts:
            print(measure(hosts, tmp, o), flush=True)
    print("targets: route and check >= 300 times faster from 27648 hosts on; peak < 1000 MB; route "
          "<= x 15 of memset;\n         repair with its proof <= 1/20 of route and check of all")


if __name__ == "__main__":
    laboratory.main(bench)
