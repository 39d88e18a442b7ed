# SPDX-License-Identifier: BSD-2-Clause
"""Events that weftd tells subscribers of, seen by a program on libibumad that counts Reports: each
once, those that were not answered again, and none to who is not there any more."""
import os
import re
import sys
import tempfile

import fabrics
from lab import Lab, need
from manager import Weftd

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_client.py")


def subscriber(lab, host, deaf_to=0):
    p = lab.start("subscriber-%s" % host, [sys.executable, CLIENT, "subscribe", str(deaf_to)], host)
    p.wait_text("ready")
    return p


def told(p, word, trap):
    """The GUIDs of these Reports, in order."""
    return re.findall(r"^%s %d (0x[0-9a-f]{16})$" % (word, trap), p.text(), re.M)


def test_events_reported():
    """A host goes and comes: two subscribers hear of it once each, the one that does not answer
    its first Report hears that again; after a restart of weftd nobody need subscribe again."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            one, two = subscriber(lab, "H1_0_0"), subscriber(lab, "H3_0_0", 1)
            lab.unplug("H2_0_0")
            one.wait_text(r"report 65 ")
            two.wait_text(r"again (65|128) ")
            lab.plug("H2_0_0")
            for p in (one, two):
                p.wait_text(r"report 64 ")
            # Whoever is deaf to a later Report hears it again when the time for repeats has passed.
            late = subscriber(lab, "H1_1_0", 1)
            lab.unplug("H3_1_0")
            late.wait_text(r"again (65|128) ")
            port = told(one, "report", 65)[0]
            for p in (one, two):
                need(told(p, "report", 65).count(port) == 1,
                     "trap 65 was not told once: " + p.text())
                need(told(p, "report", 64) == [port], "another port: " + p.text())
            need("again" not in one.text(), "what was answered was repeated: " + one.text())
            need(two.text().count("again") == 1, "not repeated once: " + two.text())
            m.stop()
            m.start()
            m.wait_up()
            lab.unplug("H2_0_0")
            for p in (one, two):
                p.wait_text(r"(?s)report 65 .*report 65 .*report 65 ")
            need(one.alive() and two.alive(), "a subscriber has ended")
            m.stop()
