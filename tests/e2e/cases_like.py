# SPDX-License-Identifier: BSD-2-Clause
"""weftsim --like-ibsim against packaged ibsim: a subnet manager writes the same into both."""
import tempfile

import proof
from cases_osm import RECORDED, netfile
from common import Skip
from lab import Lab, need
from manager import OpenSM, Weftd

FABRICS = ("ft3 8", "torus 4 4 2", "dragonfly 4 2 2 9", "ft3 8 --shuffle-guids --missing 5",
           "rails 3 4 4 3") + tuple(x + ".ibnd" for x in RECORDED)
# Where an engine refuses a fabric, OpenSM takes minhop on both.
ENGINES = (("minhop", ()), ("updn", ()), ("ftree", ()), ("minhop", ("-l", "1")))


def written(path, sim, bring_up):
    """LIDs and tables that are read back after a manager has done its work."""
    with Lab(path, sim=sim) as lab:
        bring_up(lab)
        seen = proof.discover(lab)
        return seen.switches, seen.ports, proof.tables_only(proof.dump_tables(lab))


def same(path, what, bring_up):
    ours, theirs = (written(path, sim, bring_up) for sim in ("ibsimlike", "ibsim"))
    for kind, a, b in zip(("LIDs of switches", "LIDs of hosts", "tables"), ours, theirs):
        need(a and b, "%s: there are no %s" % (what, kind))
        need(a == b, "%s: %s are not those on ibsim" % (what, kind))
    return sum(len(t) for t in ours[2].values())


def each(bring_ups):
    """All of them on every fabric that is here."""
    for name in FABRICS:
        with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
            try:
                path = netfile(name, tmp)
            except Skip as e:
                print("notice: %s" % e)
                continue
            entries = [same(path, "%s, %s" % (name, what), f) for what, f in bring_ups]
            print("%s: %s table entries are the same" % (name, entries))


def test_like_opensm():
    """OpenSM with three engines, and with two LIDs a port."""
    each([(" ".join((engine,) + more), lambda lab, e=engine, m=more:
           OpenSM(lab, engines=e).once(120, *m)) for engine, more in ENGINES])


def test_like_weftd():
    """The same of weftd."""
    each([("weftd", lambda lab: Weftd(lab).once())])
