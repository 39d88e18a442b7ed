#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A fat tree that loses cables at random: what engine fattree makes of it.

usage: faults.py [-n SEEDS] [-k RADIX] [-l SHIFTS] [-f] [-j] [SHARE...]
SHARE in percent: 0.1 1 5 10

The tree of radix 36 (11,664 hosts, 1,620 switches) loses one cable of a leaf, and then so many
percent of its cables between switches; bench_fault.c routes and proves what is left, from the
tables of the whole tree on, measures it, and has all cables back. Each once for every seed; figures
are medians over the seeds, the worst in brackets where it differs. Pairs are those of hosts that
cables still join: all of them must be routed (then all that up and down allow are). Shift loads are
over 121 shifts (-l), the random ones over 51 permutations. "bandwidth" is how much of the whole
tree's effective bisection bandwidth is left, compared with how much of its cables: 1 is in
proportion. Entries and blocks are those of hosts' LIDs that differ from the whole tree's tables. -f
has the tables made for what is left, however much that moves. -j fails unless each time every pair
that is joined is routed, without credit loops, bandwidth is at least nine tenths of what is in
proportion, and the tables are those of the whole tree again when all cables are back.

Beneath each line, what the design notes hold as the best known for that tree and loss: with tables
kept ("sticky") where up to 1 % is lost, made anew by Dmodc's formula where more is.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import lab as laboratory  # noqa: E402
from lab import BUILD, Failure, need  # noqa: E402

LIMIT = 120         # seconds for the whole tree and for each seed
KNOWN_RADIX = 36
SHARE_LEFT = 0.9    # of bandwidth in proportion to the cables that are left
# Of that tree, by what is lost: A2A, worst shift, mean shift, RP, entries, blocks.
KNOWN = {"1 cable": ("sticky", 42, 2, 1.99, 7, 2266, 884),
         "0.1 %": ("sticky", 51, 3, 2.12, 7, 45e3, 11776),
         "1 %": ("sticky", 73, 5, 3.72, 7, 450e3, 86e3),
         "5 %": ("Dmodc", 319, 6, 4.39, 7, None, None)}
FIGURE = r"[\d.]+"
ROUTED = re.compile(r"(?P<when>whole|lost|back): route (?P<route>F) ms, check (?P<check>F) ms.*\n"
                    r"  pairs (?P<pairs>F), unreachable (?P<unreachable>F), "
                    r"cut off (?P<cut_off>F), credit loops (?P<credit>F)\n"
                    r"  a2a (?P<a2a>F), shift (?P<shift>F)/(?P<mean>F), rp (?P<rp>F), "
                    r"ebb (?P<ebb>F)\n"
                    r"(?:  moved: .*? \((?P<entries>F) of hosts\) in (?P<all_blocks>F) blocks "
                    r"\((?P<blocks>F) of hosts\))?".replace("F", FIGURE))
LOST = re.compile(r"^(\d+) lost, seed \d+$", re.M)
CABLES = re.compile(r"\d+ of (\d+) cables between switches")


def run(lose, o):
    """Figures of the whole tree, and lists of those after a loss and after the return."""
    argv = [os.path.join(BUILD, "bench_fault"), "-q", "-n", str(o.seeds),
            "-l", str(o.shifts), *lose, *(["-f"] if o.full else []), "ft3 %d" % o.radix, "fattree"]
    limit = LIMIT * (o.seeds + 1)
    try:
        r = subprocess.run(argv, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise Failure("%s took more than %d s" % (" ".join(argv), limit)) from None
    need(r.returncode == 0, "%s: status %d: %s" % (" ".join(argv), r.returncode, r.stderr))
    rows = {"whole": [], "lost": [], "back": []}
    for m in ROUTED.finditer(r.stdout):
        figures = m.groupdict()
        rows[figures.pop("when")].append({k: float(v or 0) for k, v in figures.items()})
    need(len(rows["lost"]) == len(rows["back"]) == o.seeds, "not all was measured: " + r.stdout)
    left = 1 - int(LOST.search(r.stdout).group(1)) / int(CABLES.search(r.stdout).group(1))
    return rows["whole"][0], rows["lost"], rows["back"], left


def number(x):
    return "-" if x is None else "%.2f M" % (x / 1e6) if x >= 1e6 else "%d" % x


def figure(rows, key, form=number):
    """The median and, in brackets, the worst."""
    all_of = [r[key] for r in rows]
    median, worst = form(statistics.median(all_of)), form(max(all_of))
    return median if median == worst else "%s (%s)" % (median, worst)


def judge(name, whole, lost, back, left):
    """What must hold each time."""
    for seed, (r, b) in enumerate(zip(lost, back), start=1):
        what = "%s lost, seed %d: " % (name, seed)
        need(r["unreachable"] == 0, what + "%d pairs are not routed" % r["unreachable"])
        need(r["credit"] == b["credit"] == 0, what + "credit loops")
        share = r["ebb"] / whole["ebb"] / left
        need(share >= SHARE_LEFT, what + "bandwidth is %.3f of what is in proportion" % share)
        need(b["entries"] == b["all_blocks"] == 0, what + "other tables when all is back")


HEAD = ("lost", "pairs routed", "credit loops", "A2A", "SP max", "SP mean", "RP", "entries",
        "blocks", "bandwidth", "route + check", "returns to")
WIDTH = (7, 12, 12, 10, 8, 12, 6, 17, 17, 13, 16, 10)


def line(cells):
    return " ".join(str(c).rjust(w) for c, w in zip(cells, WIDTH)).rstrip()


def rows_of(name, known, whole, lost, back, left):
    joined = sum(r["pairs"] - r["cut_off"] for r in lost)
    routed = joined - sum(r["unreachable"] for r in lost)
    for r in lost:
        r["both"] = r["route"] + r["check"]
        r["share"] = r["ebb"] / whole["ebb"] / left
    share = [r["share"] for r in lost]
    same = all(r["entries"] == r["all_blocks"] == 0 for r in back)
    yield line((name, "all" if routed == joined else "%.6f" % (routed / joined),
                "%d" % sum(r["credit"] for r in lost), figure(lost, "a2a"), figure(lost, "shift"),
                figure(lost, "mean", "{:.2f}".format), figure(lost, "rp"),
                figure(lost, "entries"), figure(lost, "blocks"),
                "%.3f (%.3f)" % (statistics.median(share), min(share)),
                figure(lost, "both", "{:.0f}".format) + " ms", "the same" if same else "others"))
    if known:
        how, a2a, shift, mean, rp, entries, blocks = known
        yield line(("", "", how, a2a, shift, "%.2f" % mean, rp, number(entries), number(blocks)))


def bench():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-n", "--seeds", type=int, default=3)
    p.add_argument("-k", "--radix", type=int, default=KNOWN_RADIX)
    p.add_argument("-f", "--full", action="store_true", help="tables made for what is left")
    p.add_argument("-l", "--shifts", type=int, default=121)
    p.add_argument("-j", "--judge", action="store_true", help="fail where targets are missed")
    p.add_argument("share", type=float, nargs="*", default=[0.1, 1, 5, 10])
    o = p.parse_args()
    print("cables lost between switches of ft3 %d, %d times each" % (o.radix, o.seeds))
    print(line(HEAD), flush=True)
    losses = [("1 cable", ["-k", "-c", "1"])]
    losses += [("%g %%" % s, ["-x", str(round(s * 10000))]) for s in o.share]
    for name, lose in losses:
        known = KNOWN.get(name) if o.radix == KNOWN_RADIX else None
        figures = run(lose, o)
        if o.judge:
            judge(name, *figures)
        for text in rows_of(name, known, *figures):
            print(text, flush=True)
    print("targets: all pairs routed, no credit loop, figures at most those beneath; bandwidth at "
          "least 0.9\n         of what is in proportion; the same tables when all cables are back")


if __name__ == "__main__":
    laboratory.main(bench)
