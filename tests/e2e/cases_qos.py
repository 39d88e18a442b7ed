# SPDX-License-Identifier: BSD-2-Clause
"""Quality of service: what levels have become, read back from the devices and asked from the subnet
administrator by programs of others, on every level; what `weft` says of it is held against that."""
import itertools
import os
import random
import re
import sys
import tempfile

import fabrics
import held
from lab import Lab, need, wait_for
from manager import Weftd

UMAD_SA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_sa.py")
# Path records of QoS class N are of level N.
LEVELS = ["{name: bulk, weight: 16}", "{name: fast, priority: high, weight: 64}",
          "{name: third, weight: 200}", "{name: fourth}"]
NAMES = ["bulk", "fast", "third", "fourth"]


def said(levels, more=""):
    rules = ", ".join("{class: %d, level: %s}" % (i, NAMES[i]) for i in range(1, levels))
    return "qos:\n  levels: [%s]\n  rules: [%s]\n%s" % (", ".join(LEVELS[:levels]), rules, more)


def judge(lab, m, levels, what):
    """Every pair on every level, by what devices hold and path records say; and that `weft show
    qos` says the same of service levels and lanes. Returns {level: its service levels}."""
    j = held.prove(lab, what, range(1, levels))
    shown = m.json("show", "qos")
    rows = {s["sl"]: s for s in shown["service_levels"]}
    told = {NAMES[0]: j.held.levels}
    told.update({NAMES[c]: by for c, by in j.held.by_class.items()})
    found = {}
    for name, by in told.items():
        # A path from a port to itself is on service level 0.
        found[name] = {sl for a, to in by.items() for b, sl in to.items() if a != b}
        listed = {sl for sl, s in rows.items() if name in s["levels"]}
        need(found[name] <= listed, "%s: level %s is told as %s, shown as %s" %
             (what, name, found[name], listed))
    for (switch, come, out), lanes in j.held.lanes.items():
        to = j.held.cables.to.get((switch, out))
        if not out or not to or to[0][0] != "S":
            continue
        for sl, row in rows.items():
            lane = lanes[sl]
            need(lane == 15 or lane in row["vls_switches"] or row["use"] == "as SL 0",
                 "%s: SL %d goes by VL %d, shown is %s" % (what, sl, lane, row))
    need(not any(s["adaptive"] for s in rows.values()), "adaptive, though it is off")
    need(all((s["path_class"] or 0) > 0 for s in rows.values() if s["use"] == "engine"),
         "service levels of the engine: %s" % rows)
    return found


def base_sls(m):
    return {level["name"]: level["sl"] for level in m.json("show", "qos")["levels"]}


def reload(m, engine, levels):
    m.write(engine, top=said(levels))
    m.weft("reload")
    wait_for("the plan to have the levels", lambda: len(base_sls(m)) == levels, 60)
    m.wait_up()


def levels_on(fabric, engine, levels, other):
    """A level that goes and comes, and another engine, move no service level that need not."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(fabric, tmp), sim="weftsim") as lab:
            m = Weftd(lab, engine, top=said(levels))
            m.start()
            need(m.wait_up()["engine_running"] == engine, "another engine runs")
            found = judge(lab, m, levels, "%s, %d levels" % (fabric, levels))
            need(len(set().union(*found.values())) == sum(len(f) for f in found.values()),
                 "levels share service levels: %s" % found)
            before = base_sls(m)
            reload(m, engine, levels - 1)
            judge(lab, m, levels - 1, "%s, one level less" % fabric)
            after = base_sls(m)
            need(all(before[n] == sl for n, sl in after.items()), "%s -> %s" % (before, after))
            reload(m, engine, levels)
            need(base_sls(m) == before, "%s -> %s" % (before, base_sls(m)))
            reload(m, engine, levels - 1)
            m.weft("reroute", "--engine", other, seconds=120)
            m.wait_up()
            judge(lab, m, levels - 1, "%s by %s" % (fabric, other))
            need(base_sls(m) == after, "an engine moved levels: %s" % base_sls(m))
            m.stop()


def test_qos_torus():
    """Two levels on the rings of a torus, each with the four path classes of the engine."""
    levels_on("torus-5-5-1", "torus", 2, "updn")


def test_qos_dragonfly():
    """Two levels on a dragonfly, each with the path classes of the engine."""
    levels_on("dfly-4-2-2-9", "dragonfly", 2, "updn")


def test_qos_tree():
    """Three levels on a fat tree."""
    levels_on("ft3-4", "fattree", 3, "updn")


PATHS = """partitions:
  - {name: default, members: all}
  - {name: blue, pkey: 0x10, members: all, level: steady}
  - {name: pair, pkey: 0x20, members: [H0_0_0, H0_0_1, H1_0_0]}
qos:
  levels:
    - {name: plain}
    - {name: bulk, sl: 5, mtu: 1024, rate: 10Gb, packet_life: 14}
    - {name: fast, sl: 7, rate: 40Gb}
    - {name: steady, sl: 9, mtu: 2048}
  rules:
    - {application: nvmeof, level: bulk}
    - {application: srp, level: fast}
    - {service_id: 0x77-0x79, destination: H2_0_0, level: fast}
    - {class: [3, 7-9], level: fast}
    - {source: H3_0_0, level: steady}
    - {either: ["partition:pair"], application: lustre, level: bulk}
"""
MTU, RATE = {"bulk": 3, "steady": 4}, {"bulk": 3, "fast": 7}
SLS = {"plain": 0, "bulk": 5, "fast": 7, "steady": 9}


def ask_paths(lab, questions):
    """The first record of each answer, {} where there is none."""
    out, _ = lab.run([sys.executable, UMAD_SA] + questions, lab.far(), seconds=120)
    answers = re.split(r"^status.*\n", out, flags=re.M)[1:]
    return [dict(re.findall(r"(\w+)=(\S+)", a.partition("\n")[0])) for a in answers]


def test_qos_explain():
    """`weft qos explain` says of a path what the subnet administrator does: level, and with it
    service level, MTU and rate, for some of all pairs, P_Keys, service IDs and classes."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab, top=PATHS)
            m.start()
            m.wait_up()
            ends = {n["name"]: n for n in m.json("show", "nodes")["nodes"] if n["type"] != "switch"}
            names = sorted(ends)
            target = int(ends["H2_0_0"]["guid"], 16)
            asked = list(itertools.product(
                [("H0_0_1", "H2_0_0"), ("H3_0_0", "H1_1_1"), ("H0_0_0", "H1_0_0")] +
                [tuple(random.Random(7).sample(names, 2))],
                (None, 0xffff, 0x8010), (None, 0x01061144, 0x78, 0x010603db, target),
                (None, 4, 8)))
            lids = {name: ends[name]["lid"] for name in names}
            records = ask_paths(lab, [
                "get slid=%d dlid=%d" % (lids[a], lids[b]) +
                (" pkey=0x%x" % pkey if pkey else "") +
                (" service_id_msb=%d service_id=0x%x" % (sid >> 56, sid & (1 << 56) - 1)
                 if sid else "") + (" qos_class=%d" % qos if qos else "")
                for (a, b), pkey, sid, qos in asked])
            seen = set()
            for ((a, b), pkey, sid, qos), r in zip(asked, records):
                more = [x for k, v in (("--pkey", pkey), ("--service-id", sid), ("--class", qos))
                        if v for x in (k, str(v))]
                e = m.json("qos", "explain", a, b, *more)
                what = "%s to %s %s: %s, record %s" % (a, b, more, e, r)
                need(r and e["sl"] == int(r.get("sl", 0)) == SLS[e["level"]], what)
                need(int(r["mtu"]) == MTU.get(e["level"], 5), what)
                need(int(r["rate"]) == RATE.get(e["level"], int(r["rate"])), what)
                seen.add((e["level"], e["because"], e["rule"]))
            need({"plain", "bulk", "fast", "steady"} == {s[0] for s in seen} and len(seen) >= 7,
                 "too little was asked: %s" % seen)
            print("%d paths, %d ways to a level" % (len(asked), len(seen)))
            m.stop()


BAD = (
    "qos: {levels: [{name: a}, {name: a}]}\n", "qos: {levels: [{name: a, weight: 256}]}\n",
    "qos: {levels: [{name: a, vl: 15}]}\n", "qos: {levels: [{name: a, sl: 16}]}\n",
    "qos: {rules: [{level: nosuch}]}\n", "qos: {levels: [{name: a}], rules: [{level: b}]}\n",
    "qos: {arbitration: [{ports: all, high: '16:1'}]}\n", "qos: {high_limit: 256}\n",
    "qos: {arbitration: [{ports: all, low: '%s'}]}\n" % ", ".join(["0:1"] * 65),
    "qos: {levels: [%s]}\n" % ", ".join("{name: l%d}" % i for i in range(17)),
    "qos: {levels: [{name: a}], rules: [{service_id: 9-3, level: a}]}\n",
    "qos: 7\n", "qos: [\n", "qos: {levels: {name: a}}\n", "qos: \x00\x01\n",
    "qos: {levels: [{name: a}], rules: [{source: 'group:none', level: a}]}\n",
)
GOOD = ("qos:\n", "qos: {}\n", "qos: {levels: []}\n", "qos: {levels: [], rules: []}\n",
        "qos: {levels: [{name: only}]}\n", "qos: {arbitration: []}\n")


def noise(size):
    r = random.Random(size)
    return "qos: " + "".join(chr(r.randrange(1, 256)) for _ in range(size)) + "\n"


def tables(lab):
    """What a switch and a host hold of lanes and arbitration."""
    return [lab.tool("smpquery", "-G", kind, guid, port)
            for guid, port in (("0x200000", "3"), ("0x200000", "1"), ("0x100003", "1"))
            for kind in ("sl2vl", "vlarb")]


def broken(reloads):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab, top=said(3))
            m.start()
            m.wait_up()
            before, shown = tables(lab), m.json("show", "qos")
            for text in BAD + (noise(1000), noise(1 << 20)):
                m.write(top=text)
                _, err = m.weft("reload", status=1)
                need(err.count("\n") == 1, "%.60s is refused by: %.200s" % (text, err))
            need(m.json("show", "qos") == shown and tables(lab) == before,
                 "what is refused changes something")
            for i, text in zip(range(reloads), itertools.cycle((said(2), *GOOD, said(3)))):
                m.write(top=text)
                m.weft("reload")
                if i % 50 == 49:
                    need(m.process.alive(), "weftd has ended")
            m.write(top=said(3))
            m.weft("reload")
            wait_for("the levels to be back", lambda: m.status()["state"] == "up" and
                     [s["levels"] for s in m.json("show", "qos")["service_levels"]] ==
                     [s["levels"] for s in shown["service_levels"]] and tables(lab) == before, 60)
            m.stop()


def test_qos_broken():
    """Case P10: what is empty, out of range, no YAML or noise: refused, or as if nothing were said,
    and what runs goes on; reloads one after the other, also while it is routed."""
    broken(60)


def test_qos_reloads():
    """The same with a thousand reloads; for make soak."""
    broken(1000)


SHARED = """subnets:
  - {name: lab, lmc: 1, max_op_vls: %d, routing: {engines: [torus], fallback: refuse}}
"""


def test_qos_offline():
    """weft route --config: the levels that a daemon would make of a fabric, or why there are none;
    a daemon then has the same."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net, path = fabrics.fabric("torus-5-5-1", tmp), os.path.join(tmp, "weft.yaml")
        with Lab(net, sim="weftsim") as lab:
            m = Weftd(lab, "torus", top=said(2))

            def route(text, status=0):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                return m.json("route", net, "--config", path, status=status)

            r = route(said(2) + SHARED % 8)
            need(r["ok"] and r["engine"] == "torus" and r["path_classes"] == 4 and
                 r["lids"] == 2 * 25 + 25, "route --config: %s" % r)
            r = route(said(3) + SHARED % 4, status=1)
            need(not r["ok"] and "max_op_vls" in r["reason"], "three levels: %s" % r["reason"])
            r = route(said(3, "  merge: true\n") + SHARED % 4)
            need(r["ok"] and r["shared"] and len(r["qos_levels"]) == 3, "merged: %s" % r)
            r = route(said(2) + SHARED % 2, status=1)
            need("max_op_vls" in r["reason"], "two lanes: %s" % r["reason"])
            with open(path, "w", encoding="utf-8") as f:
                f.write("qos: {levels: [{name: a, weight: 0}]}\n")
            _, err = m.weft("route", net, "--config", path, status=1)
            need(":1:" in err and err.count("\n") == 1, err)
            r = route(said(2) + SHARED % 8)
            m.start()
            m.wait_up()
            need({v["name"]: v["sls"][0] for v in r["qos_levels"]} == base_sls(m),
                 "offline %s, daemon %s" % (r["qos_levels"], base_sls(m)))
            m.stop()
