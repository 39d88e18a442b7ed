# SPDX-License-Identifier: BSD-2-Clause
"""Several subnet managers, as real processes: weftd and packaged OpenSM take over from each other
in both directions, by handover and by death; and two weftds of which the master is killed at any
point of a sweep. Who judges is neither: what the hosts' ports hold and the tables that lead from
host to host, read by other programs, and the simulator's own look at its devices."""
import os
import random
import re
import signal
import sys
import tempfile
import time

import fabrics
import proof
from bed_diags import Tools, served
from cases_attached import polling
from cases_change import proved
from cases_clients import CLIENT
from lab import Failure, Lab, need, program, wait_for
from madcount import GET, SET, Counter
from manager import MADCOUNT, OpenSM, Weftd

TAKEOVER = 5            # seconds that a standby has, from the death of the master to all programmed
MANY = 50               # points are enough to meet every phase
PHASES = "discovery", "addresses", "tables", "activation", "nothing more"
POINTS = int(os.environ.get("POINTS", 10))      # of a sweep; `make soak` has more of them


def bound():
    """As long as a takeover may take, and more on a machine that has no time for it."""
    return TAKEOVER * max(1, os.getloadavg()[0] / os.cpu_count() / 2)


def role(m):
    return m.status()["role"]


def leads(m):
    st = m.status()
    return st["role"] == "master" and st["up"]


def lids(lab):
    seen = proof.discover(lab)
    return seen.ports, seen.switches


def sm_lids(lab):
    """What the ports of all hosts, but those that are cut off, take for the manager's LID."""
    found = set()
    for host in lab.net.hosts():
        out = Tools(lab, host)("smpquery -D portinfo 0", seconds=30)
        found.add(int(re.search(r"SMLid:\.*(\d+)", out).group(1)))
    return found


def judged(lab, seat):
    """Outsiders find every link active and every pair reached, and every host knows who leads."""
    wait_for("proof from outside", lambda: proved(lab), 60)
    need(sm_lids(lab) == {Tools(lab, seat).lid()}, "hosts take others for the manager: %s, not %d"
         % (sm_lids(lab), Tools(lab, seat).lid()))


def started_standby(m, **kw):
    if os.path.exists(m.socket):
        os.unlink(m.socket)                     # of one that was killed
    m.start(**kw)
    wait_for("the socket", lambda: os.path.exists(m.socket))
    wait_for("weftd to stand by", lambda: role(m) == "standby", 20)
    return m


def takes_over(m, since, what):
    wait_for("weftd to lead", lambda: leads(m), 30, 0.02)
    seconds = time.monotonic() - since
    print("%s: weftd led, and all was programmed, after %.2f s" % (what, seconds))
    need(seconds < bound(), "%s: that took %.2f s" % (what, seconds))
    return m.json("show", "ha")["subnets"][0]


def test_ha_after_opensm():
    """OpenSM leads and is killed: weftd, standby with its defaults, leads within 5 s, LIDs kept.
    weftd is killed and OpenSM leads; weftd comes back as standby, and takes over once more."""
    with served("ft3-4") as lab:
        osm = OpenSM(lab, seat="H1_0_0", priority=3)
        osm.start("-F", polling(lab))
        osm.wait_up()
        before = lids(lab)
        m = started_standby(Weftd(lab))
        for what in ("OpenSM killed", "OpenSM killed again"):
            ha = m.json("show", "ha")["subnets"][0]
            need(ha["role"] == "standby" and ha["managers"][0]["leads"], "show ha: %s" % ha)
            since = time.monotonic()
            osm.process.stop(signal.SIGKILL)
            ha = takes_over(m, since, what)
            need(ha["last_takeover"]["why"] == "the master was lost", "show ha: %s" % ha)
            need(lids(lab) == before, "LIDs have moved")
            judged(lab, m.seat)
            osm.start("-F", polling(lab))
            osm.process.wait_text("Entering STANDBY", 30)
            m.process.stop(signal.SIGKILL)
            osm.process.wait_text("Entering MASTER", 30)
            osm.wait_up()
            need(lids(lab) == before, "LIDs have moved")
            judged(lab, osm.seat)
            m = started_standby(m)
        m.stop()


def test_ha_above_opensm():
    """weftd of higher priority comes while OpenSM leads, and is handed the subnet; lowered by a
    reload it gives it back. Nothing moves."""
    with served("ft3-4") as lab:
        osm = OpenSM(lab, seat="H1_0_0", priority=3)
        osm.start("-F", polling(lab))
        osm.wait_up()
        before = lids(lab)
        m = Weftd(lab, extra="    priority: 7\n")
        since = time.monotonic()
        m.start()
        wait_for("the socket", lambda: os.path.exists(m.socket))
        ha = takes_over(m, since, "OpenSM hands over")
        need(ha["last_takeover"]["why"] == "the master handed over", "show ha: %s" % ha)
        osm.process.wait_text("Entering STANDBY", 10)
        need(lids(lab) == before, "LIDs have moved")
        judged(lab, m.seat)
        wait_for("show ha to see the standby", lambda: [
            x["state"] for x in m.json("show", "ha")["subnets"][0]["managers"]] == ["standby"])
        m.write(extra="    priority: 1\n")
        m.weft("reload")
        wait_for("weftd to stand by", lambda: role(m) == "standby", 20)
        osm.process.wait_text("Entering MASTER", 10)
        wait_for("OpenSM to be up", lambda: osm.process.text().count(osm.up) == 2)
        need(lids(lab) == before, "LIDs have moved")
        judged(lab, osm.seat)
        m.stop()


def test_ha_below_opensm():
    """OpenSM of higher priority comes while weftd leads: it is handed the subnet. At equal priority
    and with the lower GUID it stands by. It is stopped, and weftd leads again."""
    with served("ft3-4") as lab:
        m = Weftd(lab, seat="H1_0_0")
        m.start()
        m.wait_up()
        before = lids(lab)
        osm = OpenSM(lab, seat="H0_0_0", priority=9)
        since = time.monotonic()
        osm.start("-F", polling(lab))
        wait_for("weftd to stand by", lambda: role(m) == "standby", 20, 0.02)
        print("OpenSM was handed the subnet %.2f s after its start" % (time.monotonic() - since))
        osm.process.wait_text("Entering MASTER", 10)
        osm.wait_up()
        need(lids(lab) == before, "LIDs have moved")
        judged(lab, osm.seat)
        since = time.monotonic()
        osm.process.stop(signal.SIGKILL)
        takes_over(m, since, "OpenSM killed")
        need(lids(lab) == before, "LIDs have moved")
        judged(lab, m.seat)
        osm = OpenSM(lab, seat="H0_0_0", tag="2", priority=0)
        osm.start("-F", polling(lab))
        osm.process.wait_text("Entering (STANDBY|MASTER)", 20)
        need("Entering MASTER" not in osm.process.text(), "OpenSM leads by its lower GUID")
        # What OpenSM's start changes at its port is looked at meanwhile.
        wait_for("weftd to lead, and all to be programmed", lambda: leads(m), 20)
        osm.stop()
        m.stop()


def test_ha_refuses():
    """OpenSM leads: a weftd with refuse_if_master ends, in a sentence that names who leads, and has
    written nothing; without it, it stands by, though it has the lower GUID, and says so. OpenSM,
    which would hand over to that, is not tempted, and leads on when it looks for better ones."""
    with served("ft3-4") as lab:
        osm = OpenSM(lab, seat="H1_0_0", priority=0)
        osm.start("-F", polling(lab))
        osm.wait_up()
        m = Weftd(lab, extra="    refuse_if_master: yes\n")
        counter = Counter(lab.dir)
        p = m.start(extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
        wait_for("weftd to end", lambda: not p.alive(), 30)
        need(p.popen.returncode == 1, "it ended with %s" % p.popen.returncode)
        who = r'"H1_0_0".*GUID 0x0*100009, LID %d' % Tools(lab, osm.seat).lid()
        need(re.search(r"weftd: subnet lab: .*%s.*refuse_if_master" % who, p.text()),
             "it does not say why: " + p.text()[-600:])
        need(counter.written() == {}, "it wrote %s" % counter.written())
        m.write()
        started_standby(m)
        need(re.search(r"notice lab role: this subnet manager is standby: .*" + who,
                       m.process.text()), "it does not say who leads")
        up = osm.process.text().count(osm.up)
        osm.process.send(signal.SIGHUP)
        wait_for("OpenSM to have looked", lambda: osm.process.text().count(osm.up) > up, 30)
        need(role(m) == "standby" and "STANDBY" not in osm.process.text(), "OpenSM leads no more")
        m.stop()


# ---- What clients left ----

def left(lab, host="H3_0_0"):
    """Members with PortGIDs, services and subscriptions, as an outsider with the key is told them
    by whoever leads, each as the lines that saquery says; what is said in no order is sorted."""
    found = []
    for what in ("MCMR", "SR", "IIR"):
        out = lab.run([program("saquery"), "--smkey", "1", what], host)[0]
        found.append(sorted(r.strip() for r in re.split(r"(?m)^.*Record dump:$", out) if r.strip()))
    return found


def furnished(lab, host):
    """A client on that host leaves groups, services and a subscription, and nothing ever again."""
    client = lab.start("client-" + host, [sys.executable, CLIENT, "furnish"], host)
    client.wait_text("ready", 20)
    return client


def ha_of(m):
    return m.json("show", "ha")["subnets"][0]


def is_safe(m):
    ha = ha_of(m)
    return ha["safe"] or print("not yet: %s" % "; ".join(ha["reasons"]))


def not_safe_for(m, word):
    ha = ha_of(m)
    return not ha["safe"] and any(word in r for r in ha["reasons"])


def test_ha_copies_opensm():
    """Groups, services and subscriptions of a client that OpenSM had when it was killed are told by
    weftd that stood by, and the client does nothing for it."""
    with served("ft3-4") as lab:
        osm = OpenSM(lab, seat="H1_0_0", priority=3)
        osm.start("-F", polling(lab))
        osm.wait_up()
        furnished(lab, "H2_0_0")
        m = started_standby(Weftd(lab))
        wait_for("the copy", lambda: is_safe(m), 20)
        before = left(lab)
        need([len(x) for x in before] == [3, 3, 1], "the client left %s" % before)
        copied = ha_of(m)["managers"][0]["copied"]
        need([copied[k] for k in ("members", "services", "subscriptions")] == [3, 3, 1],
             "show ha: %s" % copied)
        since = time.monotonic()
        osm.process.stop(signal.SIGKILL)
        takes_over(m, since, "OpenSM killed")
        need(left(lab) == before, "told before: %s\nnow: %s" % (before, left(lab)))
        m.stop()


def test_ha_copies_key():
    """OpenSM with another sa_key says nothing: show ha tells so, and that it is not safe."""
    with served("ft3-4") as lab:
        conf = os.path.join(lab.dir, "opensm.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write("sa_key 0x77\nsminfo_polling_timeout 1000\n")
        osm = OpenSM(lab, seat="H1_0_0", priority=3)
        osm.start("-F", conf)
        osm.wait_up()
        m = started_standby(Weftd(lab))
        wait_for("show ha to tell of the key", lambda: not_safe_for(m, "sa_key"), 40)
        m.stop()
        osm.stop()


def test_ha_twice():
    """A dies, B leads, A returns, and B dies: at once, when show ha says that it is not safe, and
    what B alone knew is gone; or when it says that it is, and nothing is."""
    with served("ft3-4") as lab:
        a, b = (Weftd(lab, seat=seat, tag=seat) for seat in ("H0_0_0", "H1_0_0"))
        a.start()
        a.wait_up()
        clients = ("H2_0_0", "H2_0_1", "H2_1_0")
        furnished(lab, clients[0])
        started_standby(b)
        for knows, client in enumerate(clients[1:]):
            wait_for("both to call it safe", lambda: is_safe(a) and is_safe(b), 30)
            since = time.monotonic()
            a.process.stop(signal.SIGKILL)
            takes_over(b, since, "A killed")
            need(not_safe_for(b, "no standby"), "B calls it safe: %s" % ha_of(b))
            before = left(lab)
            need(len(before[1]) == 3, "services: %s" % before[1])
            furnished(lab, client)
            after = left(lab)
            need(len(after[1]) == 6, "services: %s" % after[1])
            # A copy begins with a question whether the master lives: not for some seconds, or soon.
            a.write(extra="    standby_poll: %s\n    standby_retries: 1\n" % ("4s", "1s")[knows])
            started_standby(a)
            if knows:
                wait_for("both to call it safe", lambda: is_safe(a) and is_safe(b), 30)
            else:
                need(not_safe_for(a, "not copied yet"), "A calls it safe: %s" % ha_of(a))
                wait_for("B to see A", lambda: not_safe_for(b, "has not copied"), 3, 0.05)
            b.process.stop(signal.SIGKILL)
            wait_for("A to lead", lambda: leads(a), 40)
            need(left(lab) == (after if knows else before), "what was left is %s" % left(lab))
            a.write()
            a.weft("reload")
            started_standby(b)
        a.stop()
        b.stop()


# ---- Two weftds ----

class Pair:
    """Two weftds of which one leads; each under a counter that can end it at a given MAD."""

    def __init__(self, lab, extra):
        hosts = lab.net.hosts()
        self.lab = lab
        self.m = [Weftd(lab, seat=hosts[i * 4], tag=str(i), extra=extra) for i in (0, 1)]
        self.counters = [None, None]
        self.leads = 0

    def start(self, i):
        self.counters[i] = Counter(self.lab.dir, "madcount%d" % i)
        self.m[i].start(extra_preload=MADCOUNT, WEFT_MADCOUNT=self.counters[i].path)

    def both(self):
        self.start(0)
        self.m[0].wait_up()
        self.start(1)
        wait_for("the other to stand by", lambda: self.is_standby(1), 20)
        return self

    def is_standby(self, i):
        return os.path.exists(self.m[i].socket) and role(self.m[i]) == "standby"

    @property
    def master(self):
        return self.m[self.leads]

    def rests(self):
        """The master asks nothing of anybody any more."""
        counter = self.counters[self.leads]
        asked = [None]

        def same():
            before, asked[0] = asked[0], [counter.asked(GET), counter.asked(SET)]
            return before == asked[0]
        wait_for("the master to have read all", same, 20, 0.15)

    def die(self, after, cause):
        """The master dies with its MAD of that number from now on, of a sweep that `cause` leads
        to; the other takes over. When it died."""
        dead = self.leads
        self.counters[dead].die_after(after)
        cause()
        self.leads = 1 - dead
        try:
            wait_for("the master to die", lambda: not self.m[dead].process.alive(), 5, 0.005)
        except Failure:                         # the sweep was shorter than that
            self.m[dead].process.stop(signal.SIGKILL)
        return time.monotonic()

    def revive(self):
        dead = 1 - self.leads
        os.unlink(self.m[dead].socket)
        self.start(dead)
        wait_for("it to stand by again", lambda: self.is_standby(dead), 20)

    def stop(self):
        for m in self.m:
            m.stop()


def points(number, most):
    """So many numbers of MADs, spread over 1 to `most`, the same in each run."""
    rnd = random.Random(1)
    return [1 + int((i + rnd.random()) * most / number) for i in range(number)]


def all_right(lab):
    """The simulator finds nothing wrong: ports active and told who leads, tables that lead from all
    to all."""
    out = lab.sim.ctl("wrong")
    return re.search(r"(?m)^nothing", out)


def phase(before, after, switches):
    """How far a sweep over so many switches had come, each of which gets a block of LIDs, by what
    its master has sent."""
    def sent(method, attribute):
        return after.get((method, attribute), 0) - before.get((method, attribute), 0)
    if sent(GET, 0x17):                         # tables are read back when all else is done
        return 4
    if sent(SET, 0x19):
        return 2 if sent(SET, 0x19) < switches else 3
    return 1 if sent(SET, 0x15) else 0


def told(lab, pair):
    need(sm_lids(lab) == {Tools(lab, pair.master.seat).lid()}, "hosts know another")


def killed(lab, pair, most, cause, right, must):
    """The master dies at so many points of the sweep that `cause` leads to, each time the other one
    in its turn: how long it took at most from the last word of the dead one until the other had
    programmed all, by its own clock, and until all was right as seen from here; and how often each
    phase was interrupted; the first `must` of them were, if the points are many."""
    number = POINTS
    own, seen, phases = 0, 0, [0] * len(PHASES)
    for after in points(number, most):
        pair.rests()
        counter = pair.counters[pair.leads]
        before = counter.table()
        since = pair.die(after, cause)
        phases[phase(before, counter.table(), len(lab.net.switches()))] += 1
        wait_for("the other to lead", lambda: leads(pair.master), 20, 0.05)
        wait_for("all to be right", lambda: right(lab), 20, 0.05)
        seconds = time.monotonic() - since
        ha = pair.master.json("show", "ha")["subnets"][0]["last_takeover"]
        own, seen = max(own, ha["programmed_ms"] / 1e3), max(seen, seconds)
        need(seconds < bound(), "killed at MAD %d: %.2f s (%s)" % (after, seconds, ha))
        pair.revive()
    print("%d times killed within %d MADs (%s): led and programmed after %.2f s at most, by its "
          "own clock; all right after %.2f s" % (number, most, ", ".join(
              "%s %d" % x for x in zip(PHASES, phases)), own, seen))
    need(number < MANY or all(phases[:must]), "some phase was never interrupted")


def test_ha_killed():
    """weftd is killed in the midst of a sweep in which every switch was reset, at so many MADs from
    its start; the other leads within 5 s and completes it; it is killed in its turn."""
    with served("ft3-4") as lab:
        pair = Pair(lab, "").both()

        def reset():
            lab.sim.ctl("reboot", "/^[LAC][0-9]/")
            pair.master.process.send(signal.SIGHUP)
        before, counter = lids(lab), pair.counters[0]
        pair.rests()
        start = counter.table()
        reset()
        wait_for("all to be programmed again", lambda: all_right(lab) and phase(
            start, counter.table(), len(lab.net.switches())) >= 3, 30)
        # Tables are read back when all else is done: Gets of them are not of the sweep.
        most = sum(n - start.get((m, a), 0) for (m, a), n in counter.table().items()
                   if m == SET or (m == GET and a < 0x16))
        killed(lab, pair, most, reset, all_right, 4)
        told(lab, pair)
        need(lids(lab) == before, "LIDs have moved")
        need(proved(lab), "not proved at last")
        pair.stop()


def test_ha_killed_ibsim():
    """The same on packaged ibsim: a leaf loses its cables and has them back."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="ibsim") as lab:
            pair = Pair(lab, "").both()
            ends = [e for e in lab.ends("L2_0") if lab.net.kind[lab.net.cables[e][0]] == "switch"]

            def flap():
                lab.sim.cables(ends, False)
                lab.sim.cables(ends, True)
            before = lids(lab)
            killed(lab, pair, 60, flap, lambda lab: told(lab, pair) or True, 1)
            wait_for("proof from outside", lambda: proved(lab), 30)
            need(lids(lab) == before, "LIDs have moved")
            pair.stop()
