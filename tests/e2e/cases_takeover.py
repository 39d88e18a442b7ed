# SPDX-License-Identifier: BSD-2-Clause
"""What a takeover or a restart writes when nothing has changed in the fabric: every Set is counted
where weftd sends it, and what must be is stated as a number."""
import os
import re
import signal
import time

import proof
from bed_diags import served
from cases_attached import IPOIB, client, polling
from cases_ha import TAKEOVER, bound, judged, leads, started_standby
from lab import need, program, wait_for
from madcount import Counter
from manager import MADCOUNT, OpenSM, Weftd
from saquery import furnished

MEMBERS = "H1_0_1", "H2_0_0", "H3_1_1"
BLOCKS = 20 * 32        # of multicast tables of all switches, for 1024 LIDs


def joined(lab, hosts=MEMBERS):
    """Members of a group, who stay, and do not register again when they are asked to."""
    for host in hosts:
        client(lab, host, "join", IPOIB)


def trees(lab):
    """The multicast tables, as dump_mfts sees them."""
    return lab.tool("dump_mfts")


def with_tree(lab):
    """The same, once there is a tree for the group."""
    def grown():
        text = trees(lab)
        return text if len(re.findall("(?m)^0xc00[0-9a-f]", text)) >= 5 else None
    return wait_for("the tree", grown)


class Counted(Weftd):
    """weftd under a counter of what it sends, which looks at its switches each second."""

    def __init__(self, lab, tag, **kw):
        super().__init__(lab, tag=tag, extra="    sweep_interval: 1s\n", **kw)
        self.folder, self.tag, self.counter = lab.dir, tag, None

    def start(self, *more, **kw):
        self.counter = Counter(self.folder, "madcount" + self.tag)
        return super().start(*more, extra_preload=MADCOUNT, WEFT_MADCOUNT=self.counter.path, **kw)

    def settled(self):
        """It leads, has read what there is of multicast tables, and has looked three times more."""
        wait_for("weftd to lead", lambda: os.path.exists(self.socket) and leads(self), 30)
        wait_for("multicast tables to be read", lambda: self.counter.table().get((1, 0x1b), 0) >=
                 BLOCKS, 30)
        sweeps = self.status()["sweeps"]
        wait_for("three sweeps more", lambda: self.status()["sweeps"] >= sweeps + 3, 30)
        return self.counter.written()


def expect(what, written, wanted):
    print("%s: wrote %s" % (what, written or "nothing"))
    need(written == wanted, "%s: %s written, and not %s" % (what, written, wanted))


def test_takeover_writes():
    """The master dies, and the standby tells all ports who leads now, once each: 16 hosts, of which
    15 are asked to register again with it, and 20 switches. A restart writes nothing at all."""
    with served("ft3-4") as lab:
        a, b = Counted(lab, "a"), Counted(lab, "b", seat="H1_0_0")
        a.start()
        a.wait_up()
        joined(lab)
        before, tables = with_tree(lab), proof.dump_tables(lab)
        started_standby(b)
        a.process.stop(signal.SIGKILL)
        written = b.settled()
        expect("a takeover from weftd", written, {"PortInfo": 36})
        need(trees(lab) == before and proof.dump_tables(lab) == tables, "tables have changed")
        judged(lab, b.seat)
        b.process.stop(signal.SIGKILL)
        os.unlink(b.socket)
        b.start()
        expect("a restart", b.settled(), {})
        need(trees(lab) == before and proof.dump_tables(lab) == tables, "tables have changed")


def test_takeover_writes_opensm():
    """The same after OpenSM, whose trees have been made by other rules: 128 hosts, 64 switches. Its
    tables are those of an engine that passes the proof; on fat trees none of its engines does."""
    with served("torus-4-4-4-2") as lab:
        osm = OpenSM(lab, "dor", seat=lab.net.hosts()[9], priority=3)
        osm.start("-F", polling(lab))
        osm.wait_up()
        joined(lab, lab.net.hosts()[20:100:9])
        before, tables = with_tree(lab), proof.dump_tables(lab)
        m = started_standby(Counted(lab, ""))
        osm.process.stop(signal.SIGKILL)
        written = m.settled()
        expect("a takeover from OpenSM", written, {"PortInfo": 192})
        need(m.status()["engine_running"] == "keep", "status: %s" % m.status())
        need(trees(lab) == before and proof.dump_tables(lab) == tables, "tables have changed")


def test_takeover_answers():
    """weftd is killed and started again: within a second and the time of a discovery the subnet
    administrator answers from what it had stored: services and groups that nobody registers
    again. It writes nothing."""
    with served("ft3-4") as lab:
        m = Counted(lab, "")
        m.start()
        m.wait_up()
        clients = furnished(lab)
        m.process.stop(signal.SIGKILL)
        for c in clients:
            c.stop(signal.SIGKILL)
        os.unlink(m.socket)

        def asked(what):
            out = lab.run([program("saquery"), "-t", "100", what], lab.far(), status=None)[0]
            return out.count("dump:")
        since = time.monotonic()
        m.start()
        wait_for("the services", lambda: asked("SR") == 3, 30, 0.01)
        seconds, own = time.monotonic() - since, m.status()["stages"]["discover_ms"] / 1e3
        print("it answers after %.2f s, discovery took %.2f s" % (seconds, own))
        need(seconds < bound() / TAKEOVER + own, "no answer for %.2f s" % seconds)
        need(asked("-g") == 3, "groups are lost")
        expect("a restart", m.settled(), {})
