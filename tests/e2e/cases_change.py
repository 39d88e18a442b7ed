# SPDX-License-Identifier: BSD-2-Clause
"""What changes while the daemon runs: cables, hosts, engines, configuration, its own life."""
import contextlib
import os
import re
import signal
import tempfile

import fabrics
import madcount
import proof
from lab import Failure, Lab, need, wait_for
from manager import MADCOUNT, Weftd

PROVED = 60     # seconds within which a change must be mended


@contextlib.contextmanager
def running(name="ft3-4", **kw):
    """A laboratory with a daemon that is up; yields (lab, manager)."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp)) as lab:
            m = Weftd(lab, **kw)
            m.start()
            m.wait_up()
            yield lab, m
            if m.process.alive():
                m.stop()


def trunk(lab):
    """A cable between two switches: ((node, port), (node, port))."""
    net = lab.net
    return next((a, b) for a, b in net.cables.items()
                if net.kind[a[0]] == "switch" and net.kind[b[0]] == "switch")


def proved(lab, traced=True):
    """Whether outsiders find every link active and every pair reached, just now."""
    try:
        seen = proof.discover(lab)
        proof.lids_unique(seen)
        proof.links_active(lab)
        proof.dump_tables(lab)
        proof.walk(lab)
        if traced:
            proof.sampled_traces(lab, seen, 5)
        return seen
    except Failure as e:
        print("not yet: %s" % e)
        return None


def events(m, kind):
    return m.json("show", "events", "--type", kind)["events"]


def sweeps(m):
    return m.status()["sweeps"]


def test_cable():
    with running() as (lab, m):
        before = proof.discover(lab)
        links, count = m.status()["links"], sweeps(m)
        a, b = trunk(lab)
        lab.unplug(*a)
        wait_for("one link less in weft status", lambda: m.status()["links"] == links - 1, PROVED)
        wait_for("event link-down", lambda: events(m, "link-down"))
        m.weft("wait", "--timeout", str(PROVED))
        after = wait_for("new tables proved", lambda: proved(lab), PROVED)
        need(after.ports == before.ports, "a lost cable moved LIDs")
        need(sweeps(m) > count, "no sweep was counted")
        lab.plug(*a)
        wait_for("the link to be back", lambda: m.status()["links"] == links, PROVED)
        wait_for("event link-up", lambda: events(m, "link-up"))
        m.weft("wait", "--timeout", str(PROVED))
        wait_for("tables proved again", lambda: proved(lab), PROVED)
        need(m.json("check")["ok"], "weft check after the cable returned")
        del b


def test_host():
    with running() as (lab, m):
        before = proof.discover(lab)
        hosts = m.status()["hosts"]
        gone = lab.net.hosts()[-2]
        lab.unplug(gone)
        wait_for("one host less in weft status", lambda: m.status()["hosts"] == hosts - 1, PROVED)
        need(events(m, "node-down"), "no event node-down")
        m.weft("wait", "--timeout", str(PROVED))
        seen = wait_for("the rest proved", lambda: proved(lab), PROVED)
        need(len(seen.ports) == len(before.ports) - 1, "ibnetdiscover still sees the host")
        lab.plug(gone)
        wait_for("the host to be back", lambda: m.status()["hosts"] == hosts, PROVED)
        m.weft("wait", "--timeout", str(PROVED))
        seen = wait_for("all proved", lambda: proved(lab), PROVED)
        need(seen.ports == before.ports, "the host came back with another LID")
        need(events(m, "node-up"), "no event node-up")


def test_sighup():
    with running() as (lab, m):
        count = sweeps(m)
        m.process.send(signal.SIGHUP)
        wait_for("a heavy sweep after SIGHUP", lambda: sweeps(m) > count, PROVED)
        m.weft("wait", "--timeout", str(PROVED))
        need(proved(lab), "the tables after SIGHUP")


def test_reroute():
    with running(engines="minhop") as (lab, m):
        need(m.status()["engine_running"] == "minhop", "minhop should run on a fat tree")
        counter = proof.tables_only(proof.dump_tables(lab))
        m.weft("reroute", "--engine", "updn", "--dry-run")
        need(m.status()["engine_running"] == "minhop", "a dry run changed the engine")
        need(proof.tables_only(proof.dump_tables(lab)) == counter, "a dry run changed tables")
        m.weft("reroute", "--engine", "updn")
        wait_for("updn to run", lambda: m.status()["engine_running"] == "updn", PROVED)
        need(proved(lab), "the tables of updn")
        _, err = m.weft("reroute", "--engine", "mimhop", status=2)
        need("minhop" in err, "no nearest word for mimhop: " + err)


def test_refuse_credit_loop():
    """On a torus minhop closes credit loops: the command is refused, the tables stay."""
    with running("torus-4-4-4-2") as (lab, m):
        st = m.status()
        need(st["engine_running"] == "updn" and st["engine_requested"].startswith("minhop"),
             "engines: asked %s, running %s" % (st["engine_requested"], st["engine_running"]))
        need("credit loop" in st["reason"], "status does not say why: %r" % st["reason"])
        tables = proof.tables_only(proof.dump_tables(lab))
        _, err = m.weft("reroute", "--engine", "minhop", status=1)
        need("credit loop" in err and len(err.strip().splitlines()) == 1, "the reason: " + err)
        need(proof.tables_only(proof.dump_tables(lab)) == tables, "a refused engine wrote tables")
        need(m.status()["engine_running"] == "updn", "a refused engine is said to run")


def test_reload():
    with running() as (lab, m):
        with open(m.config, encoding="utf-8") as f:
            good = f.read()
        m.write_text(good.replace("routing:", "rooting:"))
        _, err = m.weft("reload", status=1)
        need(re.search(r"weft\.yaml:\d+:\d+: .*routing", err), "the error of reload: " + err)
        m.process.send(signal.SIGHUP)
        wait_for("the log to name the line", lambda: re.search(
            r"weft\.yaml:\d+:\d+:", m.process.text()), PROVED)
        need(m.status()["state"] == "up", "a broken file changed the state")
        m.write_text(good + "    sweep_interval: 3s\n")
        out, _ = m.weft("reload")
        need("sweep_interval" in out, "reload does not name what changed: " + out)
        m.write_text(good.replace("[minhop, updn]", "[updn]"))
        m.weft("reload")
        wait_for("the new engine", lambda: m.status()["engine_running"] == "updn", PROVED)
        m.weft("wait", "--timeout", str(PROVED))
        # What an earlier configuration lent must not outlive it (seen by AddressSanitizer).
        for interval in ("4s", "5s"):
            m.write_text(good + "    sweep_interval: %s\n" % interval)
            m.weft("reload")
        m.weft("wait", "--timeout", str(PROVED))
        m.weft("check")
        m.weft("show", "nodes")
        need(m.status()["state"] == "up", "several reloads changed the state")
        need(proved(lab), "the tables after a reload")


def test_restart():
    """kill -9, then a start with the same state file: no LID moves, no table block is written."""
    with running() as (lab, m):
        before = proof.discover(lab)
        tables = proof.tables_only(proof.dump_tables(lab))
        m.process.stop(signal.SIGKILL)
        counter = madcount.Counter(lab.dir)
        m.start(extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
        m.process.wait_text(m.up)
        m.wait_up()
        need(counter.sets("LinearForwardingTable") == 0, "a restart wrote LFT blocks")
        seen = proof.discover(lab)
        need(seen.ports == before.ports and seen.switches == before.switches, "LIDs moved")
        need(proof.tables_only(proof.dump_tables(lab)) == tables, "tables changed")


def test_lids_kept_for_absent():
    """A host that is away while the manager restarts comes back to its LID."""
    with running() as (lab, m):
        before = proof.discover(lab)
        gone = lab.net.hosts()[-2]
        hosts = m.status()["hosts"]
        m.stop()
        lab.unplug(gone)
        m.start()
        m.wait_up()
        need(m.status()["hosts"] == hosts - 1, "the host should be away")
        lab.plug(gone)
        wait_for("the host to be back", lambda: m.status()["hosts"] == hosts, PROVED)
        m.weft("wait", "--timeout", str(PROVED))
        need(wait_for("all proved", lambda: proved(lab), PROVED).ports == before.ports,
             "the host got another LID")


def test_silent_host():
    """A host that answers nothing is listed, and costs nobody else a connection."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp)) as lab:
            mute = lab.net.hosts()[3]
            lab.silence(mute)
            m = Weftd(lab)
            m.start()
            wait_for("the socket", lambda: os.path.exists(m.socket))
            wait_for("the rest to be routed", lambda: m.status()["engine_running"], PROVED)
            wait_for("the silent device to be listed", lambda: m.status()["silent"] == 1, PROVED)
            need(any("answer" in w for w in m.status()["warnings"]), "no warning names it: %s" %
                 m.status()["warnings"])
            lab.silence(mute, False)
            want = lab.net.expected(lab.seat())["hosts"]
            wait_for("it to be taken in once it answers", lambda: m.status()["silent"] == 0 and
                     m.status()["hosts"] == want, PROVED)
            m.weft("wait", "--timeout", str(PROVED))
            need(wait_for("all proved", lambda: proved(lab), PROVED), "the fabric")
            m.stop()


def test_light_sweep():
    """An idle sweep asks each switch once, and our own port: nothing else."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp)) as lab:
            m = Weftd(lab, extra="    sweep_interval: 500ms\n    read_tables: false\n"
                                 "    health: {counters_interval: 0}\n")
            counter = madcount.Counter(lab.dir)
            m.start(extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
            m.wait_up()
            switches = len(lab.net.switches())
            key = (madcount.GET, 0x12)
            base, all_of = counter.table().get(key, 0), counter.total()
            wait_for("six light sweeps", lambda: counter.table().get(key, 0) >= base +
                     6 * switches, 30)
            extra = counter.total() - all_of - (counter.table().get(key, 0) - base)
            need(extra <= 7, "six idle sweeps sent %d MADs beside SwitchInfo: %s" %
                 (extra, counter.lines()))
            m.stop()


def test_trap():
    """Without any light sweep a lost cable is noticed, by the notice of its switch."""
    with running(extra="    sweep_interval: 0s\n") as (lab, m):
        links = m.status()["links"]
        end = trunk(lab)[0]
        lab.unplug(*end)
        wait_for("one link less in weft status", lambda: m.status()["links"] == links - 1, PROVED)
        m.process.wait_text(r"trap 128")
        m.weft("wait", "--timeout", str(PROVED))
        wait_for("new tables proved", lambda: proved(lab), PROVED)
        need(m.json("check")["ok"], "weft check")


def test_leaf():
    """A leaf switch goes with its hosts, and comes back: LIDs as before."""
    with running() as (lab, m):
        before = proof.discover(lab)
        hosts = m.status()["hosts"]
        leaf = lab.net.cables[(lab.net.hosts()[5], 1)][0]
        of_leaf = [h for h in lab.net.hosts() if lab.net.cables[(h, 1)][0] == leaf]
        lab.unplug(leaf)
        wait_for("its hosts to be gone", lambda: m.status()["hosts"] == hosts - len(of_leaf),
                 PROVED)
        m.weft("wait", "--timeout", str(PROVED))
        wait_for("the rest proved", lambda: proved(lab), PROVED)
        lab.plug(leaf)
        wait_for("its hosts to be back", lambda: m.status()["hosts"] == hosts, PROVED)
        m.weft("wait", "--timeout", str(PROVED))
        seen = wait_for("all proved", lambda: proved(lab), PROVED)
        need(seen.ports == before.ports and seen.switches == before.switches, "LIDs moved")


def test_silent_switch():
    """A switch stops answering, but its links are up: it forwards, so its tables stay as they are
    and stay in the proof; it is listed, and taken in again when it answers."""
    with running() as (lab, m):
        tables = proof.tables_only(proof.dump_tables(lab))
        links = m.status()["links"]
        mute = trunk(lab)[1][0]
        lab.silence(mute)
        m.process.send(signal.SIGHUP)
        wait_for("the silent switch to be listed", lambda: m.status()["silent"] == 1, PROVED)
        st = m.status()
        need(st["links"] == links, "%d links are left of %d" % (st["links"], links))
        need(m.json("check")["ok"], "weft check with a silent switch")
        lab.silence(mute, False)
        wait_for("it to be taken in again", lambda: m.status()["silent"] == 0, PROVED)
        m.weft("wait", "--timeout", str(PROVED))
        wait_for("all proved", lambda: proved(lab), PROVED)
        need(proof.tables_only(proof.dump_tables(lab)) == tables, "the tables changed meanwhile")


def refuses_table(m):
    return [w for w in m.status()["warnings"] if "refuses its forwarding table" in w]


def test_refused_table():
    """A switch takes no other table, and a cable that its own leads into is lost: all pairs are
    routed around that, it is told; when it takes tables again it is programmed as all others."""
    with running() as (lab, m):
        lab.sim.ctl("refuse", "A1_0", "LinearForwardingTable")
        lab.sim.ctl("link-down", "A1_0/3")
        wait_for("it to be told", lambda: refuses_table(m), PROVED)
        # The agent of the switch answers by its own table, into the cable that is lost.
        wait_for("the pairs proved", lambda: proved(lab, traced=False), PROVED)
        need("A1_0" in refuses_table(m)[0], "another is told: %s" % refuses_table(m))
        need(m.json("check")["ok"], "weft check with a switch that refuses its table")
        lab.sim.ctl("heal")
        lab.sim.ctl("link-up", "A1_0/3")
        wait_for("it to be taken in again", lambda: not refuses_table(m), 2 * PROVED)
        m.weft("wait", "--timeout", str(PROVED))
        wait_for("all proved", lambda: proved(lab), PROVED)
