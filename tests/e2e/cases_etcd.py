# SPDX-License-Identifier: BSD-2-Clause
"""State beyond one host: weftds that share a real etcd of three members, which are killed, stopped
and emptied. Nothing of the fabric waits for it, and what it does not have is said."""
import contextlib
import os
import random
import signal
import sys
import time

from bed_diags import served
from cases_ha import leads, started_standby
from etcd import Etcd, Tls
from lab import need, wait_for
from manager import Weftd


def shared(m):
    """What `show ha` says of etcd."""
    return m.json("show", "ha")["subnets"][0]["etcd"]


def state(m, wanted, seconds=40):
    wait_for("etcd to be told as \"%s\"" % wanted, lambda: shared(m)["state"] == wanted, seconds)


def top(etcd):
    return "etcd: {endpoints: [%s], prefix: /weft/lab}\n" % ", ".join(
        '"%s"' % url for url in etcd.urls)


@contextlib.contextmanager
def bed(fabric="ft3-4", members=3):
    """A lab, a cluster, and weftd that leads and has told all."""
    with served(fabric) as lab, Etcd(lab.dir, members=members) as etcd:
        m = Weftd(lab, top=top(etcd))
        m.start()
        m.wait_up()
        state(m, "has all")
        yield lab, etcd, m


def test_etcd_away():
    """One member of three is killed: nothing changes. Two: etcd is away, told once, and the fabric
    is managed as before; they come back, and it has all. One that leads is stopped: the same."""
    with bed() as (lab, etcd, m):
        known = len(etcd.keys("/weft/lab/lids/"))
        need(known == len(lab.net.kind), "%d LIDs in etcd, %d nodes" % (known, len(lab.net.kind)))
        etcd.kill(0)
        m.weft("partition", "add", "a")
        need(shared(m)["state"] == "has all", "away though two members of three are there")
        etcd.kill(1)
        state(m, "away")
        reasons = m.json("show", "ha")["subnets"][0]["reasons"]
        need(any("etcd is away since" in r for r in reasons), "reasons: %s" % reasons)
        m.weft("partition", "add", "b")
        need(shared(m)["unsent"] > 0, "nothing is unsent")
        node = lab.net.hosts()[-1]
        lab.unplug(node)
        wait_for("a sweep", lambda: m.status()["hosts"] == len(lab.net.hosts()) - 1)
        lab.plug(node)
        m.weft("wait")
        etcd.start(0)
        etcd.start(1)
        state(m, "has all")
        need(len(etcd.keys("/weft/lab/partitions/lab/partition/")) == 2, "a partition is missing")
        events = [e["text"] for e in m.json("show", "events", "--type", "state")["events"]]
        need(len([e for e in events if "is away" in e]) == 1, "events: %s" % events)
        need(len([e for e in events if "is back" in e]) == 1, "events: %s" % events)
        m.stop()


def test_etcd_secured():
    """TLS with certificates on both sides, a user and a password; the token that he has is taken
    away meanwhile. Who has another authority, or another password, has no etcd."""
    with served("ft3-4") as lab:
        tls = Tls(lab.dir)
        with Etcd(lab.dir, members=1, tls=tls) as etcd:
            for argv in (("user", "add", "root:r"), ("user", "grant-role", "root", "root"),
                         ("role", "add", "weft"), ("user", "add", "weft:se cret"),
                         ("role", "grant-permission", "weft", "--prefix=true", "readwrite",
                          "/weft/lab/"), ("user", "grant-role", "weft", "weft"),
                         ("auth", "enable")):
                r = etcd.ctl(*argv)
                need(r.returncode == 0, "etcdctl %s: %s" % (argv, r.stderr))
            password = os.path.join(lab.dir, "password")

            def manager(tag, word="se cret", ca="ca.pem"):
                with open(password, "w", encoding="ascii") as f:
                    f.write(word + "\n")
                m = Weftd(lab, tag=tag, top=top(etcd).replace(
                    "}", ", ca: %s, cert: %s, key: %s, user: weft, password_file: %s}" % (
                        tls.file(ca), tls.file("client.pem"), tls.file("client.key"), password)))
                m.start()
                m.wait_up()
                return m

            m = manager("1")
            state(m, "has all")
            # Whoever changes users makes all tokens void.
            r = etcd.ctl("--user", "root:r", "user", "add", "another:x")
            need(r.returncode == 0, "etcdctl: %s" % r.stderr)
            m.weft("partition", "add", "a")
            state(m, "has all")
            m.stop()
            for tag, kw in (("2", {"word": "wrong"}), ("3", {"ca": "other.pem"})):
                m = manager(tag, **kw)
                state(m, "away")
                m.stop()


# ---- Two managers, and clients that register while one dies ----

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sa_client.py")
KILLS = int(os.environ.get("KILLS", 6))         # of the master


class Pair:
    """Two weftds with one etcd, of which one leads, and hosts that register without a pause."""

    def __init__(self, lab, etcd, seats=("H0_0_0", "H2_0_0"),
                 clients=("H0_1_1", "H1_0_1", "H2_1_0", "H3_1_1")):
        self.lab, self.rounds = lab, 0
        self.m = [Weftd(lab, seat=seat, tag=str(i), top=top(etcd)) for i, seat in enumerate(seats)]
        self.clients, self.running = clients, []
        self.leads = 0

    @property
    def master(self):
        return self.m[self.leads]

    @property
    def standby(self):
        return self.m[1 - self.leads]

    def start(self):
        self.master.start()
        self.master.wait_up()
        started_standby(self.standby)
        for m in self.m:
            state(m, "has all")
        for i, host in enumerate(self.clients):
            self.running.append(self.lab.start("client", [
                sys.executable, CLIENT, "register", str(0x10000 * (i + 1))], host))
        for p in self.running:
            p.wait_text("service", 30)
        return self

    def confirmed(self):
        """What clients were told is registered."""
        return {line for p in self.running for line in p.text().splitlines()
                if line.startswith(("service ", "group "))}

    def die(self):
        """The master is killed, and the other leads. What was confirmed just before."""
        sure = self.confirmed()
        self.master.process.stop(signal.SIGKILL)
        self.leads = 1 - self.leads
        wait_for("the other to lead", lambda: leads(self.master), 30)
        return sure

    def revive(self):
        started_standby(self.standby)
        state(self.standby, "has all")

    def has(self):
        """What a manager knows as registered."""
        found = set()
        for x in self.master.json("show", "services")["services"]:
            found.add("service %d" % int(str(x["id"]), 0))
        for x in self.master.json("show", "multicast")["groups"]:
            if x["mgid"][24:28] == "0001" and x["members"]:
                found.add("group %d" % (int(x["mgid"][28:], 16) << 4))
        return found

    def lost(self, sure):
        return sure - self.has()

    def keeps(self, sure, when):
        need(not self.lost(sure), "%s: %d of %d that were confirmed are lost: %s" % (
            when, len(self.lost(sure)), len(sure), sorted(self.lost(sure))[:5]))

    def goes_on(self):
        """Clients register with whoever leads now."""
        before = [len(p.text()) for p in self.running]
        for p, size in zip(self.running, before):
            wait_for("a client to register more", lambda p=p, size=size: len(p.text()) > size, 30)


def test_etcd_killed():
    """The master is killed -9 while hosts register, time and again: the other has all that was
    confirmed to them, though they are not asked before that is looked at."""
    rnd = random.Random(3)
    with served("ft3-4") as lab, Etcd(lab.dir) as etcd:
        pair = Pair(lab, etcd).start()
        for i in range(KILLS):
            time.sleep(rnd.random() * 0.5)      # at any moment of what is under way
            need(shared(pair.master)["state"] == "has all", "not safe: %s" % shared(pair.master))
            sure = pair.die()
            pair.keeps(sure, "kill %d" % i)
            pair.goes_on()
            pair.revive()
        print("%d registrations confirmed, %d masters killed" % (len(pair.confirmed()), KILLS))
        for m in pair.m:
            m.stop()


def test_etcd_members():
    """While hosts register, members of etcd are killed, stopped and slow, and then all are emptied.
    Whenever it is said to have all, the master is killed: nothing is lost that was confirmed until
    then. Sweeps and answers go on in between."""
    with served("ft3-4") as lab, Etcd(lab.dir) as etcd:
        pair = Pair(lab, etcd).start()

        def survived(what):
            state(pair.master, "has all")
            state(pair.standby, "has all")
            sure = pair.confirmed()
            need(shared(pair.master)["state"] == "has all", "not safe: %s" % shared(pair.master))
            pair.die()
            pair.keeps(sure, what)
            pair.goes_on()
            pair.revive()

        etcd.kill(0)
        pair.goes_on()
        survived("one member dead")
        etcd.kill(1)
        state(pair.master, "away")
        pair.goes_on()
        need(not pair.master.json("show", "ha")["subnets"][0]["safe"], "safe without a quorum")
        etcd.start(0)
        etcd.start(1)
        survived("two members dead, and back")
        etcd.signal(signal.SIGSTOP, 0, 1, 2)
        state(pair.master, "away")
        pair.goes_on()
        etcd.signal(signal.SIGCONT, 0, 1, 2)
        survived("all stopped, and on again")
        for _ in range(10):                     # as on a disk that now and then does not answer
            for i in range(3):
                etcd.signal(signal.SIGSTOP, i)
                time.sleep(0.05)
                etcd.signal(signal.SIGCONT, i)
        pair.goes_on()
        survived("slow")
        etcd.empty()
        wait_for("an empty etcd", etcd.is_up, 60)
        survived("emptied")
        need(len(etcd.keys("/weft/lab/lids/")) == len(lab.net.kind), "LIDs are missing in etcd")
        for m in pair.m:
            m.stop()


def test_etcd_started():
    """A manager starts while etcd is not there at all: it leads without waiting; when etcd comes it
    gets all."""
    with served("ft3-4") as lab:
        etcd = Etcd(lab.dir)
        m = Weftd(lab, top=top(etcd))
        m.start()
        m.wait_up()
        state(m, "away")
        try:
            for i in range(3):
                etcd.start(i)
            state(m, "has all")
            need(len(etcd.keys("/weft/lab/lids/")) == len(lab.net.kind), "LIDs are missing")
        finally:
            etcd.stop()
        m.stop()
