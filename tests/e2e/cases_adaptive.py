# SPDX-License-Identifier: BSD-2-Clause
"""Adaptive routing with real processes: weftd, and weftsim's switches, which say themselves what
they do. What must be written, or asked, is stated as a number."""
import contextlib
import os
import signal
import tempfile

import fabrics
from cases_ha import judged, leads, started_standby
from cases_takeover import expect
from lab import Lab, need, wait_for
from madcount import GET, SET, Counter
from manager import MADCOUNT, Weftd

SWITCHES = 20           # of ft3-4
HIGH = 255              # madcount's row of vendor attributes


@contextlib.contextmanager
def served(name, *options):
    """A Lab on weftsim with that fabric, whose switches are of a vendor that has adaptive ones."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        path = fabrics.fabric(name, tmp)
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
        with open(path, "w", encoding="utf-8") as f:
            for line in lines:
                f.write(("vendid=0x2c9\ndevid=0xd2f0\n" if line.startswith("Switch") else "") +
                        line + "\n")
        lab = Lab(path, sim="weftsim")
        lab.sim.options = options
        with lab:
            yield lab


class Adaptive(Weftd):
    """weftd under a counter, with what its configuration says of adaptive routing."""

    def __init__(self, lab, tag="", adaptive="on", **kw):
        self.adaptive = adaptive
        super().__init__(lab, tag=tag, **kw)
        self.folder, self.tag, self.counter = lab.dir, tag, None

    def write_text(self, text):
        super().write_text(text.replace("fallback: warn", "fallback: warn, adaptive: %s" %
                                        self.adaptive) + "    sweep_interval: 1s\n")

    def start(self, *more, **kw):
        self.counter = Counter(self.folder, "madcount" + self.tag)
        return super().start(*more, extra_preload=MADCOUNT, WEFT_MADCOUNT=self.counter.path, **kw)

    def change(self, adaptive, engines="fattree"):
        self.adaptive = adaptive
        self.write(engines)
        self.weft("reload")

    def shown(self):
        return self.json("show", "adaptive")

    def becomes(self, **count):
        """Until `weft show adaptive` counts so many switches of these states."""
        def done():
            n = self.shown()["count"]
            return all(n[k] == v for k, v in count.items()) and n
        wait_for("adaptive routing to be %s" % count, done, 60)

    def swept(self, times=3):
        before = self.status()["sweeps"]
        wait_for("%d sweeps more" % times, lambda: self.status()["sweeps"] >= before + times, 30)


def switches(lab):
    return lab.net.switches()


def test_adaptive_on():
    """Off, on and off again by reload, and what commands say of each."""
    with served("ft3-4", "--adaptive", "on") as lab:
        m = Adaptive(lab, adaptive="off", engines="fattree")
        m.start()
        m.wait_up()
        m.swept(1)
        asked = m.counter.table()
        need((GET, HIGH) not in asked and (SET, HIGH) not in asked,
             "vendor attributes were asked with adaptive routing off: %s" % asked)
        need(m.shown()["wanted"] == "off" and not m.shown()["groups"], "shown: %s" % m.shown())
        a, b = lab.net.hosts()[0], lab.net.hosts()[-1]
        need(not any(h["alternatives"] for h in m.json("path", a, b)["hops"]), "alternatives")
        m.change("on")
        m.becomes(on=SWITCHES, static=0, failed=0)
        shown, check = m.shown(), m.json("check")
        rows = shown["switches"]
        need(len(rows) == SWITCHES and all(r["state"] == "on" and r["recovery"] and
                                           r["transports"] == ["rc", "uc", "dc"] and
                                           len(r["sls"]) == 16 for r in rows), "rows: %s" % rows)
        need(sum(r["groups"] for r in rows) == shown["groups"] == check["adaptive"]["groups"] > 0,
             "groups: %s, %s" % (shown, check))
        need(check["ok"] and not check["adaptive"]["cut"], "check: %s" % check)
        # Of 4 ports of a leaf 2 go up, so there is one other way; from the top down there is one.
        hops = m.json("path", a, b)["hops"]
        need([len(h["alternatives"]) for h in hops] == [0, 1, 1, 0, 0, 0, 0], "hops: %s" % hops)
        need(m.json("show", "qos")["adaptive_sls"] == list(range(16)), "show qos")
        need("packets of SL 0-15 over" in m.weft("show", "qos")[0], "show qos as text")
        need(any("adaptive" == e["type"] for e in m.json("show", "events")["events"]), "no event")
        judged(lab, m.seat)
        m.change("auto")
        m.becomes(on=0, recovery=SWITCHES)
        hops = m.json("path", a, b)["hops"]
        need(any(h["alternatives"] for h in hops) and not any(h["spread"] for h in hops),
             "auto: %s" % hops)
        m.change("off")
        m.becomes(on=0, recovery=0)
        judged(lab, m.seat)
        m.stop()


def test_adaptive_hosts():
    """Hosts are asked of which service levels they take packets in any order, and auto spreads
    those; one that does not answer for itself ends that."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        lab = Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim")
        lab.sim.options = ("--adaptive", "hosts=0x00ff")
        with lab:
            m = Adaptive(lab, adaptive="auto, adaptive_hosts: read", engines="fattree")
            m.start()
            m.wait_up()
            m.becomes(on=SWITCHES)
            n = len(lab.net.hosts())
            need(m.shown()["hosts"] == {"wanted": "read", "hosts": n, "known": n,
                                        "any_order": list(range(8))}, "%s" % m.shown()["hosts"])
            need("%d say what they take in any order; all take SL 0-7" % n in
                 m.weft("show", "adaptive")[0], "as text")
            need(m.json("show", "qos")["adaptive_sls"] == list(range(8)), "show qos")
            m.change("auto")
            m.becomes(on=0, recovery=SWITCHES)
            m.stop()


def test_adaptive_refused():
    """One switch refuses groups: it stays static and is told of, the others are on; when it takes
    them it is on, too."""
    with served("ft3-4", "--adaptive", "on") as lab:
        bad = switches(lab)[3]
        lab.sim.ctl("refuse", bad, "0xff21")
        m = Adaptive(lab, engines="fattree")
        m.start()
        m.wait_up()
        m.becomes(on=SWITCHES - 1, failed=1)
        row = [r for r in m.shown()["switches"] if r["state"] != "on"]
        need(len(row) == 1 and "0xff21" in row[0]["why"], "row: %s" % row)
        need(any("adaptive" in w for w in m.status()["warnings"]), "no warning")
        judged(lab, m.seat)
        lab.sim.ctl("heal")
        m.becomes(on=SWITCHES, failed=0)
        need(not any("adaptive" in w for w in m.status()["warnings"]), "still a warning")
        judged(lab, m.seat)
        m.stop()


def test_adaptive_reboot():
    """A switch that was reset has forgotten all of it, and is programmed again as it was."""
    with served("ft3-4", "--adaptive", "on") as lab:
        one = switches(lab)[1]
        m = Adaptive(lab, engines="fattree")
        m.start()
        m.wait_up()
        m.becomes(on=SWITCHES)
        held = lab.sim.ctl("ar", one)
        need("adaptive   on" in held, "held: %s" % held)
        lab.sim.ctl("reboot", one)
        need(lab.sim.ctl("ar", one) != held, "it was not reset")
        wait_for("it to be on again", lambda: lab.sim.ctl("ar", one) == held, 60)
        m.becomes(on=SWITCHES, failed=0)
        judged(lab, m.seat)
        m.stop()


def test_adaptive_takeover():
    """Neither a takeover nor a restart takes it away: the one tells ports who leads, the other
    writes nothing."""
    with served("ft3-4", "--adaptive", "on") as lab:
        a, b = Adaptive(lab, "a", engines="fattree"), \
            Adaptive(lab, "b", engines="fattree", seat="H1_0_0")
        a.start()
        a.wait_up()
        a.becomes(on=SWITCHES)
        held = [lab.sim.ctl("ar", n) for n in switches(lab)]
        started_standby(b)
        a.process.stop(signal.SIGKILL)
        wait_for("weftd to lead", lambda: leads(b), 30)
        b.becomes(on=SWITCHES)
        b.swept()
        expect("a takeover", b.counter.written(), {"PortInfo": 36})
        need(held == [lab.sim.ctl("ar", n) for n in switches(lab)], "switches have changed")
        judged(lab, b.seat)
        b.process.stop(signal.SIGKILL)
        os.unlink(b.socket)
        b.start()
        b.wait_up()
        b.becomes(on=SWITCHES)
        b.swept()
        expect("a restart", b.counter.written(), {})
        need(held == [lab.sim.ctl("ar", n) for n in switches(lab)], "switches have changed")
        b.stop()


def requests(options, adaptive):
    """How many requests a bring-up takes, and how many are of vendor attributes."""
    with served("ft3-4", *options) as lab:
        m = Adaptive(lab, adaptive=adaptive, engines="fattree")
        m.start()
        m.wait_up()
        m.swept(1)
        table = m.counter.table()
        m.stop()
        return sum(n for k, n in table.items() if k == (SET, 0x19)), \
            table.get((GET, HIGH), 0), table.get((SET, HIGH), 0)


def test_adaptive_unable():
    """Switches that know nothing of it are asked once each, and programmed as ever."""
    off, on_ = requests((), "off"), requests((), "on")
    need(off[1:] == (0, 0), "off: %s" % (off,))
    need(on_ == (off[0], SWITCHES, 0), "on: %s, off: %s" % (on_, off))


def test_adaptive_vendor():
    """Switches of no vendor are not asked, and status says that none does it; where weftsim is to
    have adaptive ones, such switches become of the vendor that has them."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        path = fabrics.fabric("ft3-4", tmp)
        with Lab(path, sim="weftsim") as lab:
            m = Adaptive(lab, engines="fattree")
            m.start()
            m.wait_up()
            wait_for("a warning", lambda: any("no switch does it" in w
                                              for w in m.status()["warnings"]), 30)
            need(all("0x000000" in r["why"] for r in m.shown()["switches"]), "%s" % m.shown())
            need((GET, HIGH) not in m.counter.table(), "they were asked")
            m.stop()
        lab = Lab(path, sim="weftsim")
        lab.sim.options = ("--adaptive", "on")
        with lab:
            m = Adaptive(lab, engines="fattree")
            m.start()
            m.wait_up()
            m.becomes(on=SWITCHES)
            need(not any("adaptive" in w for w in m.status()["warnings"]), "a warning")
            m.stop()


def test_adaptive_ibsim():
    """ibsim's switches come up with it as without it."""
    path = "/usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca"
    with Lab(path, sim="ibsim") as lab:
        m = Adaptive(lab, engines="minhop")
        m.start()
        m.wait_up()
        need(m.shown()["count"]["on"] == 0, "on: %s" % m.shown())
        judged(lab, m.seat)
        m.stop()
