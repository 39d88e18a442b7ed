# SPDX-License-Identifier: BSD-2-Clause
"""osmtest, OpenSM's own judge of a subnet administrator, against packaged OpenSM on weftsim, and
against weftd.

It asks for tables of many MADs (RMPP), has answers that never come (time-outs), and looks at every
byte: all that packaged ibsim's attachment cannot carry.
"""
import collections
import concurrent.futures
import contextlib
import os
import re
import tempfile

import cases_osm
import fabrics
import saquery
from lab import Lab, need
from manager import OpenSM, Weftd

NAMES = {"c": "Create Inventory", "v": "Validate Inventory", "a": "All Validations",
         "s": "Services Registration", "q": "QoS: VLArb and SLtoVL", "m": "Multicast",
         "f": "Stress SA"}
CLIENT, SECOND = "H1_0_0", "H3_1_1"


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


def inventory(lab, host=CLIENT):
    return os.path.join(lab.dir, "osmtest-%s.dat" % host)


def twice(lab, flow, *options, **kw):
    """The same flow from two hosts at once; both must pass."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda host: osmtest(lab, flow, *options, host=host, **kw),
                             (CLIENT, SECOND)))


def osmtest(lab, flow, *options, seconds=60, host=CLIENT):
    """One flow; its last line and its exit status both tell that it passed."""
    out, err = lab.run(["osmtest", "-f", flow, "-t", "2000", "-i", inventory(lab, host)] +
                       list(options), host, seconds, None)
    last = ([x for x in (out + err).splitlines() if x.strip()] or [""])[-1]
    need('OSMTEST: TEST "%s" PASS' % NAMES[flow] in last,
         "osmtest -f %s %s: %s" % (flow, " ".join(options), (out + err)[-1500:]))
    return out


def test_osmtest_tables():
    """QoS tables of 208 nodes."""
    with serving("ft3-8") as (lab, _):
        osmtest(lab, "c")
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


def definitions(lab):
    """The inventory as its definitions, in any order; but for the port by which a device was asked,
    which is another on another way."""
    osmtest(lab, "c")
    with open(inventory(lab), encoding="ascii") as f:
        return collections.Counter(re.sub(r"(?m)^ *(#.*|.*local_port_num .*)\n", "", x)
                                   for x in re.split(r"(?m)^(?=DEFINE_)", f.read()))


def test_osmtest_inventory():
    """The inventory of 208 nodes by tables of thousands of records, of both the same."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp, \
            Lab(fabrics.fabric("ft3-8", tmp), sim="weftsim") as lab:
        theirs, ours = saquery.under_both(lab, lambda _: definitions(lab))
    for kind, number in (("NODE", 208), ("PORT", 848), ("PATH", 43264), ("LINK", 768)):
        found = sum(n for x, n in theirs.items() if x.startswith("DEFINE_" + kind))
        need(found == number, "the inventory has %d of %s, not %d" % (found, kind, number))
    need(ours == theirs, "weftd's inventory has %s, OpenSM's %s" %
         (list((ours - theirs).elements())[:2], list((theirs - ours).elements())[:2]))


@contextlib.contextmanager
def weftd_serving(name, sim="weftsim"):
    """The same fabric with weftd."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp), sim=sim) as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            yield lab, m
            need(m.process.alive(), "weftd has ended")
            m.stop()


def test_osmtest_weftd_services():
    """Services of two hosts at once."""
    with weftd_serving("ft3-4") as (lab, _):
        twice(lab, "s", seconds=90)


def test_osmtest_weftd_multicast():
    """The same joins and leaves as of OpenSM, with every status that is expected of it; from one
    host only, for two would find each other's groups, but while another asks for tables."""
    with weftd_serving("ft3-4") as (lab, _), concurrent.futures.ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: [osmtest(lab, "c", host=SECOND) for _ in range(5)])
        osmtest(lab, "m")
        for mode in "1234":
            osmtest(lab, "m", "-M", mode)
        other.result()


def test_osmtest_weftd_ibsim():
    """What packaged ibsim can carry, which cuts long answers and whose MADs lack the last bytes."""
    with weftd_serving("ft3-4", sim="ibsim") as (lab, _):
        osmtest(lab, "c")
        osmtest(lab, "m", "-M", "2")


def test_osmtest_weftd_validate():
    """QoS tables, every record by itself, what must be refused, the wrong SM_Key that must stay
    unanswered, and services: from two hosts at once."""
    with weftd_serving("ft3-4") as (lab, _):
        twice(lab, "c")
        twice(lab, "q")
        twice(lab, "v", seconds=120)
        twice(lab, "a", seconds=150)


def test_osmtest_weftd_soak():
    """All of it on 208 nodes, where it takes minutes: `make soak` runs it."""
    with weftd_serving("ft3-8") as (lab, _):
        twice(lab, "c")
        for flow in "qva":
            twice(lab, flow, seconds=900)
        for kind in "1234":
            twice(lab, "f", "-s", kind, seconds=900)


def test_osmtest_weftd_stress():
    """The stress that takes OpenSM too long, whole tables, and that of paths from two hosts."""
    with weftd_serving("ft3-4") as (lab, _):
        twice(lab, "c")
        osmtest(lab, "f", "-s", "2", seconds=120)
        osmtest(lab, "f", "-s", "3", seconds=120)
        twice(lab, "f", "-s", "4", seconds=120)


def test_osmtest_stress():
    """100,000 single ports, 32,768 tables of paths, 100,000 paths."""
    with serving("ft3-4") as (lab, _):
        osmtest(lab, "c")
        for kind in "134":
            osmtest(lab, "f", "-s", kind, seconds=120)
