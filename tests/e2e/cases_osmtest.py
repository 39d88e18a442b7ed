# SPDX-License-Identifier: BSD-2-Clause
"""osmtest, OpenSM's own judge of a subnet administrator, against packaged OpenSM on weftsim, and
against weftd as far as that goes.

It asks for tables of many MADs (RMPP), has answers that never come (time-outs), and looks at every
byte: all that packaged ibsim's attachment cannot carry.
"""
import contextlib
import os
import tempfile

import cases_osm
import fabrics
from lab import Lab, need
from manager import OpenSM, Weftd

NAMES = {"c": "Create Inventory", "v": "Validate Inventory", "a": "All Validations",
         "s": "Services Registration", "q": "QoS: VLArb and SLtoVL", "m": "Multicast",
         "f": "Stress SA"}
CLIENT = "H1_0_0"


@contextlib.contextmanager
def serving(name, *options):
    """A fabric that OpenSM has brought up and serves."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp), sim="weftsim") as lab:
            m = OpenSM(lab)
            m.start(*options)
            m.wait_up()
            yield lab, m
            need(m.process.alive(), "OpenSM has ended")
            m.stop()


def osmtest(lab, flow, *options, seconds=60):
    """One flow; its last line and its exit status both tell that it passed."""
    out, err = lab.run(["osmtest", "-f", flow, "-t", "2000"] + list(options), CLIENT, seconds, None)
    last = ([x for x in (out + err).splitlines() if x.strip()] or [""])[-1]
    need('OSMTEST: TEST "%s" PASS' % NAMES[flow] in last,
         "osmtest -f %s %s: %s" % (flow, " ".join(options), (out + err)[-1500:]))
    return out


def test_osmtest_tables():
    """The inventory of 208 nodes by tables of thousands of records; QoS tables."""
    with serving("ft3-8") as (lab, _):
        osmtest(lab, "c")
        with open(os.path.join(lab.dir, "osmtest.dat"), encoding="ascii") as f:
            text = f.read()
        for kind, number in (("DEFINE_NODE", 208), ("DEFINE_PORT", 848), ("DEFINE_PATH", 43264),
                             ("DEFINE_LINK", 768)):
            need(text.count(kind) == number, "the inventory has %d of %s, not %d" %
                 (text.count(kind), kind, number))
        osmtest(lab, "q")


def test_osmtest_validate():
    """Every record by itself, and what must be refused."""
    with serving("ft3-4") as (lab, _):
        osmtest(lab, "c")
        osmtest(lab, "v", seconds=120)


def test_osmtest_all():
    """The same with a wrong SM_Key, which must stay unanswered, and services."""
    with serving("ft3-4") as (lab, _):
        osmtest(lab, "c")
        osmtest(lab, "a", seconds=150)


def test_osmtest_services():
    """Service records come, are found, change, run out and go."""
    with serving("ft3-4") as (lab, _):
        osmtest(lab, "s", seconds=90)


def test_osmtest_multicast():
    """Joins and leaves of all kinds, until there are no multicast LIDs left."""
    with serving("ft3-4") as (lab, _):
        for mode in "1234":
            osmtest(lab, "m", "-M", mode)


@contextlib.contextmanager
def weftd_serving(name):
    """The same fabric with weftd."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            yield lab, m
            need(m.process.alive(), "weftd has ended")
            m.stop()


def test_osmtest_weftd_services():
    """Services of two hosts at once."""
    with weftd_serving("ft3-4") as (lab, _):
        osmtest(lab, "s", seconds=90)


def test_osmtest_weftd_multicast():
    """The same joins and leaves as of OpenSM, with every status that is expected of it."""
    with weftd_serving("ft3-4") as (lab, _):
        osmtest(lab, "m")
        for mode in "1234":
            osmtest(lab, "m", "-M", mode)


def test_osmtest_stress():
    """100,000 single ports, 32,768 tables of paths, 100,000 paths."""
    with serving("ft3-4") as (lab, _):
        osmtest(lab, "c")
        for kind in "134":
            osmtest(lab, "f", "-s", kind, seconds=120)
