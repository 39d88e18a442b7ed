#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every engine of packaged OpenSM and Weft's, by what they leave in the devices of one fabric.

usage: engines.py [-b] [-l LIMIT] [-e ENGINE,...] [-w ENGINE,...] [FABRIC...]   torus-4-4-4-2 ...

Each manager brings a fresh fabric of weftsim up by one engine. Then forwarding tables and SL to
VL tables are read back by SMPs, service levels by path records, and tests/e2e/held.py, which shares
no line with either, walks all pairs of hosts: unreachable ones, credit loops on the lanes that
packets take, the worst load of a cable over all shifts of the hosts and its mean over the shifts,
sources or destinations of the busiest cable when all send to all, effective bisection bandwidth.
Hosts stand in one order for all: that of the GUIDs of switches, then of ports. OpenSM is given what
its engines need: -Q, lanes for nue, where switches are for torus-2QoS. An engine that is not the
one that ran is "refused"; one that has no tables after LIMIT seconds is "late". This is for people
and has no pass condition; of the lines that are free of faults those with the least worst shift
load, and of these the least mean, are bold.
"""
import argparse
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import held  # noqa: E402
import lab as laboratory  # noqa: E402
from lab import Failure, Lab, need  # noqa: E402
from manager import OpenSM, Weftd  # noqa: E402

OPENSM = ["minhop", "updn", "dnup", "ftree", "lash", "dor", "torus-2QoS", "sssp", "dfsssp", "nue"]
FABRICS = ["torus-4-4-4-2", "torus-6-5-4-1", "torus-4-4-2", "torus-5-3-2", "mesh-4-4-2",
           "hypercube-2-2", "hypercube-3-2", "hypercube-4-2", "hypercube-5-2", "hypercube-6-2",
           "dfly-4-2-2-9", "dfly-6-3-3-19", "dragonfly+-5-4-4-4", "dragonfly+-9-4-4-4",
           "hyperx-4-4-2", "random-30-4-2-1", "ft2-8-4-8", "ft3-8", "ndr_rail_40sw_582ca.ibnd",
           "edr_2tier_4leaf_2spine_par6.ibnd"]     # torus-8-8-8-4, dfly-8-4-4-33 take an hour
LANES = 8
HEAD = ("manager", "engine", "lanes", "hops", "shift", "A2A", "bisection", "")
SECONDS = 900       # for reading all that devices hold


class Late(Failure):
    """No tables after the limit."""


def torus_conf(name, path):
    """What torus-2QoS has to be told: sides, and the neighbours of the switch at 0. None: it has
    no such file for the fabric."""
    kind, *sides = name.split("-")
    sides = [2] * int(sides[0]) if kind == "hypercube" else \
        [int(n) for n in sides[:-1]] if kind in ("torus", "mesh") else []
    if not 1 < len(sides) < 4:
        return None
    with open(path, encoding="utf-8") as f:
        found = re.findall(r'switchguid=(0x\w+)\(.*\n.* "T([0-9_]+)"\t', f.read())
    guids = {tuple(int(x) for x in at.split("_")): guid for guid, at in found}
    rings, origin = kind == "torus", (0,) * len(sides)
    lines = ["torus " + " ".join("%d%s" % (n, "" if rings else "m") for n in sides) +
             " 1" * (3 - len(sides))]
    for i, side in enumerate(sides):
        for sign, at in (("p", 1), ("m", side - 1))[:1 + rings]:
            other = origin[:i] + (at,) + origin[i + 1:]
            lines.append("%s%s_link %s %s" % ("xyz"[i], sign, guids[origin], guids[other]))
    return "\n".join(lines) + "\n"


def opensm_options(name, path, folder, engine):
    more = ["-Q"]
    if engine == "nue":
        more += ["--nue_max_num_vls", str(LANES)]
    conf = torus_conf(name, path) if engine == "torus-2QoS" else None
    if conf:
        where = os.path.join(folder, name + ".conf")
        with open(where, "w", encoding="ascii") as f:
            f.write(conf)
        more += ["--torus_config", where]
    return more


def run_opensm(lab, name, folder, engine, limit):
    m = OpenSM(lab, engines=engine)
    m.start(*opensm_options(name, lab.net.path, folder, engine), "-s", "0")
    try:
        m.wait_up(limit)
    except Failure as e:
        raise Late(str(e)) from None
    ran = re.findall(r"(\S+) tables configured on all switches", m.process.text())
    return engine if engine in ran[-1:] else None


def run_weft(lab, engine, limit):
    m = Weftd(lab, engine)
    m.start()
    s = m.wait_up(limit)
    need(s["state"] == "up", "weftd: " + s["state"])
    return s["engine_running"]


def measure(lab):
    j = held.Judged(held.Held(lab, SECONDS))
    worst, mean = j.shifts()
    remark = ("credit loop" if j.circle else "") + \
        (" %d of %d pairs unreachable" % (j.unreachable, j.pairs) if j.unreachable else "")
    return (worst, mean), ("%d" % len(j.lanes or [0]), "%d / %.3f" % (j.hops, j.mean_hops),
                           "%.3g / %.2f" % (worst, mean), "%d" % j.all_to_all(),
                           "%.3f" % j.bisection(), remark.strip())


def row(name, path, folder, who, engine, o):
    """((worst, mean) of shifts if all is sound, cells)"""
    with Lab(path, sim="weftsim") as lab:
        try:
            ran = run_opensm(lab, name, folder, engine, o.limit) if who == "OpenSM" else \
                run_weft(lab, engine, o.limit)
        except Late:
            return None, (who, engine) + ("-",) * 5 + ("late",)
        if not ran:
            return None, (who, engine) + ("-",) * 5 + ("refused",)
        try:
            shift, cells = measure(lab)
        except Failure as e:
            return None, (who, engine) + ("-",) * 5 + (str(e)[:80],)
        called = engine if engine == ran else "%s: %s" % (engine, ran)
        return None if cells[-1] else shift, (who, called) + cells


def title(name):
    return name if "." in name else name.replace("-", " ")


def brief(name, rows):
    """A fabric as one line, as docs/engines.md has them: cells of row()."""
    def text(cells):
        return "%s %s, %s" % (cells[1], cells[4], cells[6])

    ours = [text(r) for r in rows if r[0] == "Weft"]
    sound = sorted((r for r in rows if r[0] == "OpenSM" and r[4] != "-" and not r[7]),
                   key=lambda r: [float(x) for x in r[4].split(" / ")])
    cyclic, none = [], []
    for r in rows:
        if r[0] == "OpenSM" and r not in sound:
            (cyclic if "loop" in r[7] else none).append(r[1])
    return "| `%s` | %s | %s | %s | %s |" % (
        title(name), "; ".join(ours), "; ".join(text(r) for r in sound) or "none",
        ", ".join(cyclic), ", ".join(none))


def table(name, folder, o):
    path, rows = fabrics.fabric(name, folder), []
    for who, engine in [("OpenSM", e) for e in o.engines] + [("Weft", e) for e in o.weft]:
        rows.append(row(name, path, folder, who, engine, o))
        print("  %s %s" % (name, " ".join(rows[-1][1])), file=sys.stderr, flush=True)
    if o.brief:
        print(brief(name, [cells for _, cells in rows]), flush=True)
        return
    print("\n### %s\n\n| %s |\n|%s" % (title(name), " | ".join(HEAD), "---|" * len(HEAD)))
    best = min((r[0] for r in rows if r[0]), default=None)
    for shift, cells in rows:
        print("| %s |" % " | ".join("**%s**" % c if c and shift and shift == best else c
                                    for c in cells), flush=True)


def bench():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-l", "--limit", type=int, default=300, help="seconds for one manager")
    p.add_argument("-e", "--engines", default=",".join(OPENSM), help="of OpenSM")
    p.add_argument("-w", "--weft", default="auto,nue", help="engines of Weft")
    p.add_argument("-b", "--brief", action="store_true", help="a line for each fabric")
    p.add_argument("fabrics", nargs="*", default=FABRICS)
    o = p.parse_args()
    o.engines, o.weft = ([x for x in e.split(",") if x] for e in (o.engines, o.weft))
    if o.brief:
        print("| fabric | Weft | OpenSM, the best first | close credit loops | refuse |\n" +
              "|---" * 5 + "|")
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as tmp:
        for name in o.fabrics:
            table(name, tmp, o)


if __name__ == "__main__":
    laboratory.main(bench)
