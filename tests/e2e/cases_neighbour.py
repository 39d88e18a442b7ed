# SPDX-License-Identifier: BSD-2-Clause
"""Another subnet manager in the same subnet, and what neighbours learn from us."""
import os
import re
import tempfile

import fabrics
import madcount
import proof
from cases_change import PROVED, proved, running
from cases_start import ends
from lab import Lab, need, wait_for
from manager import MADCOUNT, OpenSM, Weftd


def test_refuses_master():
    """A8: with `refuse_if_master` a manager that finds another in charge ends, and says who that
    is; without it one of equal priority stands by, whoever has the lower GUID, and says so."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp)) as lab:
            hosts = lab.net.hosts()
            first = Weftd(lab, seat=hosts[4])
            first.start()
            first.wait_up()
            port = lab.tool("ibstat", host=hosts[4])
            who = "%s.*GUID %s, LID %s, priority 0" % (
                hosts[4], re.search(r"Port GUID: (\S+)", port).group(1),
                re.search(r"Base lid: (\d+)", port).group(1))
            for seat in (hosts[0], hosts[9]):
                m = Weftd(lab, seat=seat, tag=seat, extra="    refuse_if_master: yes\n")
                ends(m.start(), 1, who + ".*; ending, as `refuse_if_master` says")
                m = Weftd(lab, seat=seat, tag=seat)
                m.start()
                m.process.wait_text("notice lab role: this subnet manager is standby: .*" + who)
                m.stop()
            need(first.status()["up"], "the first manager suffered")
            first.stop()


def test_standby():
    """OpenSM leads, with equal priority: we stay standby, say who leads, and write nothing. When
    it is gone we take over, and keep every LID that it gave."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp)) as lab:
            other = OpenSM(lab, seat=lab.net.hosts()[4], priority=0)
            other.start()
            other.wait_up()
            before = proof.discover(lab)
            m = Weftd(lab, extra="    standby_poll: 200ms\n    standby_retries: 3\n")
            counter = madcount.Counter(lab.dir)
            m.start(extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
            wait_for("the socket", lambda: os.path.exists(m.socket))
            st = wait_for("role standby", lambda: (lambda s: s["role"] == "standby" and s)(
                m.status()), PROVED)
            guid = re.search(r"SM port .*?(0x[0-9a-f]+)|0x[0-9a-f]{16}", st["master"])
            need(guid, "status does not name the master: %r" % st["master"])
            m.process.wait_text(r"(?i)standby")
            for attribute in ("LinearForwardingTable", "PortInfo", "SwitchInfo"):
                need(counter.sets(attribute) == 0, "a standby wrote %s" % attribute)
            _, err = m.weft("wait", "--timeout", "1", status=4)
            need("standby" in err, "wait does not say why: " + err)
            other.stop()
            wait_for("the take-over", lambda: m.status()["role"] == "master", PROVED)
            m.weft("wait", "--timeout", str(PROVED))
            seen = wait_for("the tables proved", lambda: proved(lab), PROVED)
            need(seen.ports == before.ports and seen.switches == before.switches,
                 "the take-over moved LIDs")
            m.stop()


def test_once_standby():
    """--once where another leads: not up, so not 0; nothing is written."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp)) as lab:
            other = OpenSM(lab, seat=lab.net.hosts()[4], priority=0)
            other.start()
            other.wait_up()
            m = Weftd(lab)
            p = m.once(60, status=1)
            need(re.search(r"(?i)master|in charge", p.text()), "it does not say who leads")


def test_sminfo():
    """sminfo sees MASTER with the priority of the file and an activity count that rises."""
    with running(extra="    priority: 7\n    sweep_interval: 500ms\n") as (lab, _):
        text = lab.tool("sminfo")
        need(re.search(r"priority 7 .*SMINFO_MASTER", text), "sminfo: " + text)
        seen = proof.discover(lab)
        lid, first = proof.master(lab, seen)
        text = lab.tool("smpquery", "portinfo", str(lid), "1")
        need(re.search(r"^SMLid:\.*%d$" % lid, text, re.M) and "IsSM" in text,
             "the port at the LID of sminfo is not the SM's: " + text)
        wait_for("a rising activity count", lambda: proof.master(lab, seen)[1] > first, 30)
