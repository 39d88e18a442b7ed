# SPDX-License-Identifier: BSD-2-Clause
"""Engines that take lanes: what devices hold of forwarding tables and of tables from service levels
to lanes, and what path records tell, walked by nobody's code but this."""
import collections
import re
import tempfile

import fabrics
import held
import proof
from cases_change import trunk
from lab import Lab, need, wait_for
from manager import OpenSM, Weftd

ROW = re.compile(r"ports: in\s+(\d+), out\s+(\d+): \|(.*)\|")
HOPS = 64


class Held:
    """Tables read back by infiniband-diags, path records by saquery."""

    def __init__(self, lab, lmc=0):
        self.lab, seen = lab, proof.discover(lab)
        self.end = {lid + i: name for lid, name in seen.ports.values() for i in range(1 << lmc)}
        self.end.update({lid: name for lid, name in seen.switches.values()})
        self.switches = {name: lid for lid, name in seen.switches.values()}
        guids = {"0x" + node[2:]: name for node, (_, name) in seen.switches.items()}
        self.lft = {guids[g]: t for g, t in
                    proof.tables_only(proof.dump_tables(lab)).items()}
        self.lanes = {name: self.maps(lid, name) for name, lid in self.switches.items()}
        self.levels = self.paths(lab.tool("saquery", "PR", seconds=180))

    def maps(self, lid, name):
        rows = {}
        for out in [0] + [p for n, p in self.lab.net.cables if n == name]:
            for m in ROW.finditer(self.lab.tool("smpquery", "sl2vl", str(lid), str(out))):
                rows[(int(m.group(1)), int(m.group(2)))] = \
                    [int(x) for x in m.group(3).split("|")]
        return rows

    @staticmethod
    def paths(text):
        levels, now = {}, {}
        for line in text.splitlines():
            m = re.match(r"\s+(slid|dlid|sl)\.*(\S+)", line)
            if m:
                now[m.group(1)] = int(m.group(2), 0)
            if m and m.group(1) == "sl":
                levels[(now["slid"], now["dlid"])] = now["sl"]
        return levels

    def walk(self, src, dst, waits):
        """One packet; each link and lane waits for the next."""
        level, before = self.levels[(src, dst)], None
        name, port = self.end[src], 0
        if name not in self.switches:
            name, port = self.lab.net.cables[(name, 1)]
        for _ in range(HOPS):
            out = self.lft[name].get(dst, 255) if self.switches[name] != dst else 0
            if not out:
                return self.end[dst] == name
            vl = self.lanes[name][(port, out)][level]
            if vl > 7 or (name, out) not in self.lab.net.cables:
                return False
            here = (name, out, vl)
            name, port = self.lab.net.cables[(name, out)]
            if name not in self.switches:
                return self.end[dst] == name
            if before:
                waits[before].add(here)
            before = here
        return False


def cycle(waits):
    """Take away what waits for nothing, again and again."""
    while waits:
        free = [x for x in waits if not any(y in waits for y in waits[x])]
        if not free:
            return True
        for x in free:
            del waits[x]
    return False


def judge(lab, lmc=0):
    held, waits = Held(lab, lmc), collections.defaultdict(set)
    lids = sorted(held.end)
    hosts = len(held.end) - len(held.switches)
    need(len(held.levels) >= hosts * (hosts - (1 << lmc)), "path records for some LIDs only")
    for src in lids:
        for dst in lids:
            if src != dst and (src, dst) in held.levels:
                need(held.walk(src, dst, waits), "no packet gets from %s to %s" %
                     (held.end[src], held.end[dst]))
    used = {vl for at in [waits.keys(), *waits.values()] for _, _, vl in at}
    pairs = len(held.levels)
    need(not cycle(waits), "packets wait for each other in a circle")
    print("%d path records, lanes %s, no circle" % (pairs, sorted(used)))
    return used


def lanes(fabric, engine, lmc=0, mixes=True):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(fabric, tmp)) as lab:
            m = Weftd(lab, engine, extra="    lmc: %d\n" % lmc)
            m.start()
            need(m.wait_up()["engine_running"] == engine, "another engine runs")
            need(len(judge(lab, lmc)) > 1, "one lane would do: this proves nothing")
            links = m.status()["links"]
            lab.unplug(*trunk(lab)[0])
            wait_for("one link less in weft status", lambda: m.status()["links"] == links - 1, 60)
            m.wait_up()
            judge(lab, lmc)
            need(not mixes or not [e for e in m.json("show", "events", "--type", "routed")["events"]
                      if "drop packets" in e["text"]], "a lost cable stopped all traffic")
            m.stop()


def test_lanes_torus():
    """A torus of rings of five, and with a cable lost."""
    lanes("torus-5-5-1", "torus")


def test_lanes_dragonfly():
    """A dragonfly of nine groups, and with a cable lost."""
    lanes("dfly-4-2-2-9", "dragonfly")


def test_lanes_nue():
    """Engine nue on the dragonfly, and with a cable lost."""
    lanes("dfly-4-2-2-9", "nue")


def test_lanes_fatpaths():
    """Engine fatpaths on a Slim Fly whose hosts have two LIDs each, and with a cable lost: its ends
    send by neighbours then that had sent by them, so old and new entries may lead in a circle."""
    lanes("slimfly-3-1", "fatpaths", 1, mixes=False)


# What of the topologies of docs/engines.md is quick to bring up; each engine that is for one.
MATRIX = (
    ("torus-4-4-4-1", ("torus", "nue", "auto")), ("torus-5-3-2", ("torus", "nue", "dfsssp")),
    ("mesh-4-4-2", ("torus", "nue", "updn")), ("hypercube-2-2", ("torus", "nue")),
    ("hypercube-3-2", ("torus", "hyperx", "nue")), ("hypercube-4-1", ("torus", "nue")),
    ("hypercube-5-1", ("torus", "auto")), ("hypercube-6-1", ("torus",)),
    ("dfly-4-2-2-9", ("dragonfly", "dfsssp", "auto")), ("dragonfly+-5-4-4-2", ("dragonfly", "nue")),
    ("dragonfly+-9-4-4-1", ("dragonfly",)), ("hyperx-4-4-2", ("hyperx", "nue")),
    ("random-30-4-1-1", ("nue", "updn", "auto")), ("random-20-3-2-7", ("nue", "dfsssp")),
    ("ft3-4", ("fattree", "updn", "auto")), ("edr_2tier_4leaf_2spine_par6.ibnd", ("auto", "nue")),
    ("sdr_2sw_par2_lmc1_2007.ibnd", ("auto", "updn")))
LARGE = (
    ("torus-8-8-8-4", ("torus",)), ("dfly-6-3-3-19", ("dragonfly", "nue")),
    ("dfly-8-4-4-33", ("dragonfly",)), ("ndr_rail_40sw_582ca.ibnd", ("auto", "nue")))


def cell(path, name, engine):
    """One engine on one fabric, whole: what devices hold, by a reader and a judge of their own."""
    with Lab(path, sim="weftsim") as lab:
        m = Weftd(lab, engine)
        m.start()
        s = m.wait_up(300)
        need(s["engine_running"] == engine or engine == "auto", "%s on %s: %s runs: %s" %
             (engine, name, s["engine_running"], s["reason"]))
        j = held.prove(lab, "%s, %s" % (name, s["engine_running"]))
        need(len(j.levels) <= s["path_classes"], "%s on %s: service levels %s, %d classes" %
             (engine, name, j.levels, s["path_classes"]))
        said = "with %d service levels: " % s["path_classes"] in m.weft("status")[0]
        need(said == (s["path_classes"] > 1), "what weft status says of service levels")
        m.stop()


def matrix(cells):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        for name, engines in cells:
            for engine in engines:
                cell(fabrics.fabric(name, tmp), name, engine)


def test_lanes_matrix():
    """Each engine on each topology that it is for, read back by SMPs and walked."""
    matrix([c for c in MATRIX if not c[0].endswith(".ibnd")])


def test_lanes_real():
    """The recorded fabrics."""
    matrix([c for c in MATRIX if c[0].endswith(".ibnd")])


def test_lanes_large():
    """What takes minutes: for make soak."""
    matrix(LARGE)


def test_lanes_judge():
    """The judge finds OpenSM's credit loop on a torus, and none where its lanes break it."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        for engine, loop in (("minhop", True), ("lash", False)):
            with Lab(fabrics.fabric("torus-5-3-2", tmp), sim="weftsim") as lab:
                m = OpenSM(lab, engine)
                m.start("-Q", "-s", "0")
                m.wait_up()
                j = held.Judged(held.Held(lab))
                need(j.pairs == 30 * 29 and not j.unreachable and j.circle == loop,
                     "%s: %d pairs, circle %s" % (engine, j.pairs, j.circle))
                m.stop()
