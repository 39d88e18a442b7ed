# SPDX-License-Identifier: BSD-2-Clause
"""Packaged OpenSM on weftsim: it brings every kind of fabric up, and other tools judge that."""
import os
import re
import tempfile
import time

import fabrics
import proof
from common import Skip
from lab import Lab, Net, need
from manager import OpenSM

SHAPES = ("fat-tree 4 2", "fat-tree 4", "fat-tree 4 4", "ft2 4 2 4 3", "xgft 2 4 4 1 2",
          "xgft 2 3 4 2 2", "xgft 3 4 4 4 2 2 2", "rails 3 4 4 3", "torus 8 2", "torus 4 4 1",
          "torus 4 3 3 1", "torus 3 3 2 2 1", "mesh 4 4 2", "mesh 3 3 3 1", "hypercube 4 2",
          "hyperx 4 4 2", "hyperx 3 3 3 1", "dragonfly 4 2 2 9", "dragonfly+ 4 4 4 2",
          "slim-fly 5 1", "random 20 4 2 7")
VARIANTS = ("ft3 8 --missing 5 --seed 3", "ft3 8 --missing 10% --seed 4 --names site",
            "ft3 4 --parallel 3", "torus 4 4 2 --parallel 2 --names site --speed 4xNDR",
            "dragonfly 4 2 2 9 --shuffle-guids --seed 9 --speed 4xXDR", "ft3 6 --speed 4xDDR")
EXAMPLES = ("net", "net.1", "net.2sw2path", "net.2sw2path4hca", "net.2sw2path4hca2port")
RECORDED = ("ddr_single_24port_oldformat", "edr_2tier_4leaf_2spine_par6",
            "ndr_rail_40sw_582ca", "sdr_2sw_par2_lmc1_2007")
DOWN = r"SM port is down"


def netfile(name, folder):
    """A recipe with spaces, or a fabric by the name that fabrics.py knows."""
    if " " in name:
        return fabrics.generate(name.split(), os.path.join(folder, name.replace(" ", "_")))
    return fabrics.fabric(name, folder)


def quiet(p):
    """OpenSM has found nothing to complain of."""
    errors = [x for x in p.text().splitlines() if " ERR " in x]
    need(not errors, "OpenSM complains %d times, first: %s" % (len(errors), errors[:1]))


def nothing_lost(lab):
    """All that programs sent has arrived: OpenSM had not to send anything again."""
    m = re.search(r"MADs +(\d+) sent by programs, (\d+) lost", lab.sim.ctl("status"))
    need(m and m.group(2) == "0", "MADs are lost on a sound fabric: %s" % (m and m.group(0)))
    return int(m.group(1))


def up(lab, *more, seat=None, **kw):
    """OpenSM brings it up; all that can be said from outside of the result."""
    start = time.monotonic()
    p = OpenSM(lab, seat=seat, **kw).once(120, *more)
    took = time.monotonic() - start
    quiet(p)
    sent = nothing_lost(lab)
    print("%s: OpenSM took %.2f s, %d MADs" % (os.path.basename(lab.net.path), took, sent))
    return proof.everything(lab, False)


def each(names, *more):
    """One after the other; what is absent is told, and skipped where nothing is left."""
    done = 0
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        for name in names:
            try:
                path = netfile(name, tmp)
            except Skip as e:
                print("notice: %s" % e)
                continue
            with Lab(path, sim="weftsim") as lab:
                up(lab, *more)
            done += 1
    if not done:
        raise Skip("none of these fabrics is here")


def test_osm_shapes():
    """Every shape that can be generated."""
    each(SHAPES)


def test_osm_variants():
    """Cables that are missing or doubled, names of a site, GUIDs out of order, other speeds."""
    each(VARIANTS)


def test_osm_examples():
    """The examples of packaged ibsim."""
    each(EXAMPLES)


def test_osm_recorded():
    """Fabrics of the real world."""
    each(x + ".ibnd" for x in RECORDED)


def test_osm_ft3_16():
    """1,024 hosts, 153,346 MADs; so many at once as OpenSM can remember."""
    each(["ft3 16"], "-Q", "--maxsmps", "900")


def test_osm_large():
    """3,456 hosts; most of the time goes to the proof, so `make bench` runs it."""
    each(["ft3 24"])


def test_osm_isolated():
    """An adapter without a cable: OpenSM says that its port is down."""
    with Lab(fabrics.fabric("isolated_ca.ibnd", ""), sim="weftsim") as lab:
        p = OpenSM(lab, seat=list(lab.net.kind)[0]).start()
        p.wait_text(DOWN)
        p.stop()


def test_osm_planes():
    """Each plane of a fabric is a subnet of its own."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        path = netfile("multi-plane 3 ft3 4", tmp)
        net = Net(path)
        left = net.hosts()
        planes = 0
        while left:
            with Lab(path, sim="weftsim", seat=left[0]) as lab:
                up(lab)
                seen = net.reachable(left[0])
            left = [h for h in left if h not in seen]
            planes += 1
        need(planes == 3, "there are %d planes, not 3" % planes)
