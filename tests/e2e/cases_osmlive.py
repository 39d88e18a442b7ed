# SPDX-License-Identifier: BSD-2-Clause
"""Packaged OpenSM on a weftsim fabric that changes: traps wake it, for it sweeps not by itself."""
import os
import re
import signal
import tempfile

import proof
from cases_osm import netfile
from cases_osmset import field, lid_of, opensm
from lab import Failure, Lab, need, wait_for
from manager import OpenSM

MEND = 30       # seconds within which a change must be mended
UP = "SUBNET UP"


def times_up(m):
    return m.process.text().count(UP)


def proved(lab, links):
    """Whether all is well, just now, with so many ends of links."""
    try:
        seen = proof.discover(lab)
        found = proof.links_active(lab)
        need(found == links, "%d ends of links, not %d" % (found, links))
        proof.dump_tables(lab)
        proof.walk(lab, False)
        proof.sampled_traces(lab, seen, 5)
        return seen
    except Failure as e:
        print("not yet: %s" % e)
        return None


def mended(lab, m, before, links):
    """OpenSM has swept again and left a sound subnet."""
    wait_for("OpenSM to sweep", lambda: times_up(m) > before, MEND)
    return wait_for("proof", lambda: proved(lab, links), MEND, 0.2)


def test_osm_flap():
    """Cables between switches, and of a host, that fail for a moment or for good."""
    with opensm("ft3 4") as (lab, m):
        first = proof.discover(lab)
        for end in ("L0_0/3", "A2_1/4", "H3_1_1/1"):
            before = times_up(m)
            lab.sim.ctl("flap", end, "50ms")
            seen = mended(lab, m, before, 96)
            need(seen.ports == first.ports, "a flap of %s moved LIDs" % end)
        before = times_up(m)
        lab.sim.ctl("link-down", "L0_0/3")
        mended(lab, m, before, 94)
        before = times_up(m)
        lab.sim.ctl("link-up", "L0_0/3")
        mended(lab, m, before, 96)
        need("trap 128" in m.process.text().lower(), "OpenSM tells of no trap 128")


def test_osm_reboot():
    """A switch, then a host, that forget all that was written."""
    with opensm("ft3 4") as (lab, m):
        for node in ("A1_0", "H2_0_1"):
            before = times_up(m)
            lab.sim.ctl("reboot", node)
            mended(lab, m, before, 96)


def test_osm_handover():
    """A manager of higher priority takes over; when it is killed, the first one does again."""
    config = "sminfo_polling_timeout 200\npolling_retry_number 2\n"
    with opensm("ft3 4", config) as (lab, first):
        second = OpenSM(lab, seat="H1_0_0", tag="2", priority=7)
        second.start("-F", lab.dir + "/opensm.conf", "-s", "0")
        second.wait_up()
        first.process.wait_text("Entering STANDBY")
        seen = proof.discover(lab)
        lid, _ = proof.master(lab, seen)
        need(str(lid) == lid_of(lab, "H1_0_0"), "the master is at LID %d" % lid)
        for host in ("H0_0_0", "H1_0_0"):
            text = lab.tool("smpquery", "portinfo", lid_of(lab, host), "1")
            need("IsSM\n" in text, "%s has no IsSM bit" % host)
        before = times_up(first)
        second.process.stop(signal.SIGKILL)
        mended(lab, first, before, 96)
        lid, _ = proof.master(lab, seen)
        need(str(lid) == lid_of(lab, "H0_0_0"), "nobody took over")
        text = lab.tool("smpquery", "portinfo", lid_of(lab, "H1_0_0"), "1")
        need("IsSM\n" not in text, "a dead manager keeps its IsSM bit")


def test_osm_storm():
    """Forty cables that fail and return within two seconds, while sweeps are under way."""
    with opensm("ft3 8") as (lab, m):
        before = times_up(m)
        lab.sim.ctl(*"random 40 flaps over 2s hold 5ms..300ms".split())
        wait_for("the last event", lambda: re.search(r"script +0 events", lab.sim.ctl("status")),
                 MEND, 0.1)
        mended(lab, m, before, 768)


def test_osm_notices():
    """Other traps: a new name is read, errors of a link are told."""
    with opensm("ft3 4") as (lab, m):
        lab.sim.ctl("description", "H1_0_0", "renamed")
        wait_for("saquery to tell the new name",
                 lambda: "renamed" in lab.tool("saquery", "NR", lid_of(lab, "renamed")), MEND, 0.2)
        lab.sim.ctl("trap", "L0_0/3", "129")
        m.process.wait_text(r"num:129 .*Producer:2", MEND)
        need(m.process.alive(), "OpenSM has ended")


def test_osm_new_lids():
    """OpenSM is told to give all LIDs anew: ports, tables and paths follow."""
    with opensm("ft3 4", "", "-l", "1") as (lab, m):
        before = proof.discover(lab)
        m.stop()
        again = OpenSM(lab, seat="H2_0_0", tag="2")
        again.start("-r", "-s", "0")
        again.wait_up()
        after, _, _ = proof.everything(lab, False)
        need(before.ports != after.ports, "no LID has changed")
        need(field(lab, "LMC", "portinfo", lid_of(lab, "H2_0_0"), "1") == "0", "the LMC stays")
        again.stop()


def test_osm_fewer_lanes():
    """OpenSM takes lanes back, for which it resets the link of each host; what trains too late for
    its first sweep is brought up by trap."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp, \
            Lab(netfile("fat-tree 4 2", tmp), sim="weftsim") as lab:
        config = os.path.join(lab.dir, "opensm.conf")
        with open(config, "w", encoding="ascii") as f:
            f.write("max_op_vls 2\n")
        m = OpenSM(lab)
        m.start("-F", config, "-s", "0")
        m.wait_up()
        wait_for("proof", lambda: proved(lab, 32), MEND, 0.2)
        for host in ("H0", "H7"):
            found = field(lab, "OperVLs", "portinfo", lid_of(lab, host), "1")
            need(found == "VL0-1", "%s has %s" % (host, found))
        m.stop()
