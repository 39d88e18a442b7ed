# SPDX-License-Identifier: BSD-2-Clause
"""Events that weftd tells subscribers of, seen by a program on libibumad that counts Reports: each
once, those that were not answered again, and none to who is not there any more; and what is left
of the state when weftd is ended under load."""
import os
import re
import sys
import tempfile

import fabrics
from lab import Lab, need, wait_for
from manager import Weftd

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_client.py")


def client(lab, host, *words):
    return lab.start("client-%s" % host, [sys.executable, CLIENT] + list(words), host)


def subscriber(lab, host, deaf_to=0, key="0"):
    p = client(lab, host, "subscribe", str(deaf_to), key)
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


def number(p, trap):
    return len(told(p, "report", trap))


def send_each(lab):
    """Something of each kind, each of another port, which sends one trap a second at most."""
    lab.run([sys.executable, CLIENT, "group", "ff12:401b:ffff::a"], "H0_1_0")
    for words in (("trap", "C0/0", "128"), ("trap", "L2_1/1", "129"), ("trap", "L3_0/1", "130"),
                  ("trap", "L3_1/1", "131"), ("description", "H2_1_0", "another"),
                  ("system-guid", "H2_1_1", "0x1234"), ("trap", "H3_1_0/1", "256"),
                  ("trap", "H3_1_1/1", "257"), ("trap", "H0_0_1/1", "258"),
                  ("trap", "A1_0/1", "259")):
        lab.sim.ctl(*words)


EACH = (64, 65, 66, 67, 129, 130, 131, 144, 145)
OF_KEYS = (256, 257, 258, 259)      # for those alone who know the SM_Key


def test_events_each():
    """One of each kind of trap: a subscriber that knows the SM_Key hears of each once, another one
    of all but those about keys; nothing is lost or repeated, and weft tells so. After a restart
    they are told without having subscribed again (M14)."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            trusted, plain = subscriber(lab, "H1_0_0", 0, "1"), subscriber(lab, "H3_0_0")
            send_each(lab)
            lab.unplug("H2_0_0")
            trusted.wait_text("report 65 ")
            lab.plug("H2_0_0")
            for p, traps in ((trusted, EACH + OF_KEYS), (plain, EACH)):
                for trap in traps + (128,):
                    p.wait_text(r"(?m)^report %d " % trap)
            lab.unplug("H1_1_1")
            for p, traps in ((trusted, EACH + OF_KEYS), (plain, EACH)):
                p.wait_text(r"(?s)report 65 .*report 65 ")
                counts = {trap: number(p, trap) for trap in EACH + OF_KEYS if trap != 65}
                need(counts == {trap: int(trap in traps) for trap in EACH + OF_KEYS
                                if trap != 65}, "Reports of each trap: %s" % counts)
                need("again" not in p.text(), "repeated: " + p.text())
            wait_for("all Reports to be answered", lambda: all_answered(m), 20)
            rows = m.json("show", "subscriptions")["subscriptions"]
            for p, row in zip((trusted, plain), rows):
                need(row["reports"]["lost"] == 0 and row["reports"]["sent"] ==
                     len(re.findall(r"(?m)^report ", p.text())), "weft tells %s" % row)
            need([r["trusted"] for r in rows] == [True, False], "who is trusted: %s" % rows)
            need("all traps" in m.weft("show", "subscriptions")[0], "no table of subscriptions")
            m.stop()
            m.start()
            m.wait_up()
            lab.sim.ctl("trap", "L2_0/1", "130")
            for p in (trusted, plain):
                p.wait_text(r"(?s)report 130 .*report 130 ")
            m.stop()


def all_answered(m):
    reports = m.status()["sa"]["reports"]
    return reports["sent"] == reports["answered"] and not reports["lost"]


def test_events_storm():
    """Hosts and switches that send traps as fast as they may, and one that sends them without end:
    weftd stays up, tells subscribers of few of them, and ends at SIGTERM in the middle; the next
    one reads its state without a complaint (M15)."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            p = subscriber(lab, "H1_0_0")
            flood = client(lab, "H3_1_1", "traps")
            flood.wait_text("ready")
            for node in ("L0_0", "L1_1", "C0", "C1"):
                lab.sim.ctl("every", "200ms", "trap", node + "/0", "128")
            wait_for("thousands of traps", lambda: m.status()["traps"]["received"] > 3000, 60)
            lab.unplug("H2_0_0")
            p.wait_text("report 65 ")
            traps = m.status()["traps"]
            need(traps["suppressed"] > 0.9 * traps["received"], "traps: %s" % traps)
            need(number(p, 128) < 200, "%d Reports of trap 128" % number(p, 128))
            m.stop()
            m.start()
            m.wait_up()
            need("cannot be read" not in m.process.text(), "the state is broken: " +
                 m.process.text())
            need(len(m.json("show", "subscriptions")["subscriptions"]) == 1, "the subscriber")
            m.stop()


def last_done(p):
    done = re.findall(r"^done (\d+)$", p.text(), re.M)
    return int(done[-1]) if done else -1


def test_events_killed():
    """weftd is killed while changes are committed, time after time: what it has confirmed is there
    when it comes again, and its state is whole (M15)."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            for turn in range(5):
                m.start()
                m.wait_up()
                need("cannot be read" not in m.process.text(), "the state is broken: " +
                     m.process.text())
                changes = client(lab, "H1_0_0", "pipeline", "1000000", "1")
                changes.wait_text(r"(?m)^done %d$" % (100 + 37 * turn))
                m.process.popen.kill()
                m.process.popen.wait()
                changes.stop()
                m.start()
                m.wait_up()
                lid = lab.tool("saquery", "-L", "H1_0_0").split()[-1]
                text = lab.tool("saquery", "GIR", lid + "/0")
                guid = int(re.search(r"GUID 1\.+(0x\w+)", text).group(1), 16)
                need(not guid or guid - 0x50000000 >= last_done(changes),
                     "change %d was confirmed, GUID %x is there" % (last_done(changes), guid))
                m.stop()
