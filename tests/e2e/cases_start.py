# SPDX-License-Identifier: BSD-2-Clause
"""Starting under bad conditions, and the client's exit statuses: one plain sentence each."""
import os
import re
import signal
import sqlite3
import tempfile

import fabrics
import proof
from cases_change import running
from lab import BUILD, Lab, need, wait_for
from manager import Weftd

PROMPT = 30     # seconds within which a refusal must come


def last_line(p):
    return (p.text().strip().splitlines() or [""])[-1]


def quiet_lab(name="net.1"):
    return Lab(fabrics.fabric(name, ""))


def ends(p, status, pattern, seconds=PROMPT):
    wait_for("%s to end" % p.name, lambda: not p.alive(), seconds)
    need(p.popen.returncode == status, "it ended with %s, not %d: %s" %
         (p.popen.returncode, status, last_line(p)))
    need(re.search(pattern, p.text(), re.I), "no line says /%s/; the last: %s" %
         (pattern, last_line(p)))


def test_once_port_down():
    """--once with its port down: a bounded end, a reason, and not 0."""
    with quiet_lab() as lab:
        m = Weftd(lab)
        lab.unplug(lab.seat())
        ends(m.start("--once"), 1, r"port .*(down|not up|no link)", 90)


def test_isolated_host():
    """The recorded file of one adapter without a cable: the daemon waits and says why."""
    with Lab(fabrics.fabric("isolated_ca.ibnd", "")) as lab:
        seat = list(lab.net.kind)[0]
        m = Weftd(lab, seat=seat)
        ends(m.start("--once"), 1, r"port .*(down|not up|no link)", 90)
        m.start()
        wait_for("the socket", lambda: os.path.exists(m.socket))
        st = wait_for("a state", m.status)
        need(st["role"] != "master" and not st["up"], "an isolated port is no subnet: %s" % st)
        m.weft("wait", "--timeout", "1", status=4)
        m.stop()


def test_no_port():
    """No InfiniBand port at all: a sentence, and it keeps waiting."""
    with quiet_lab() as lab:
        m = Weftd(lab)
        p = m.start(seat=None)
        wait_for("the socket", lambda: os.path.exists(m.socket))
        st = wait_for("status", m.status)
        need(st["role"] == "waiting" and st["state"] == "waiting for port", "status: %s" % st)
        p.wait_text(r"(?i)no InfiniBand (port|device)")
        need(p.alive(), "it should wait for the port")
        _, err = m.weft("wait", "--timeout", "1", status=4)
        need(len(err.strip().splitlines()) == 1, "wait says: " + err)
        need(p.text().count("\n") < 20, "waiting floods the log:\n" + p.text()[:2000])
        m.stop()


def test_once_no_port():
    with quiet_lab() as lab:
        ends(Weftd(lab).start("--once", seat=None), 3, r"no InfiniBand (port|device)", 90)


def test_second_daemon():
    """The socket is in use: the second one ends with a sentence, the first one stays."""
    with running() as (_, m):
        first = m.process
        other = Weftd(m.lab, seat=m.lab.far(), tag="2")
        other.socket, other.state = m.socket, m.state + ".2"
        other.write()
        ends(other.start(), 1, r"another weftd")
        m.process = first
        need(m.status()["state"] == "up", "the first daemon suffered")


def test_lock_is_a_link():
    """A link in place of the lock file is not followed: what it names stays as it is."""
    with quiet_lab() as lab:
        m = Weftd(lab)
        victim = os.path.join(lab.dir, "victim")
        with open(victim, "w", encoding="utf-8") as f:
            f.write("precious")
        os.symlink(victim, m.socket + ".lock")
        ends(m.start(), 1, re.escape(os.path.basename(m.socket) + ".lock"))
        with open(victim, encoding="utf-8") as f:
            need(f.read() == "precious", "the file behind the link was written to")


def test_same_state():
    """Two daemons must not share a state file."""
    with running() as (_, m):
        other = Weftd(m.lab, seat=m.lab.far(), tag="2")
        other.state = m.state
        other.write()
        ends(other.start(), 1, r"another weftd \(pid \d+\) uses .*another `state`")
        need(m.status()["state"] == "up", "the first daemon suffered")


def test_bad_state():
    with quiet_lab() as lab:
        m = Weftd(lab)
        with open(m.state, "wb") as f:
            f.write(b"this is no database, and was never one\n" * 100)
        ends(m.start(), 1, re.escape(os.path.basename(m.state)))
        with open(m.state, "rb") as f:
            need(f.read(4) == b"this", "a file that it cannot read was overwritten")


def test_newer_state():
    """A state file of a later version is left alone."""
    with quiet_lab() as lab:
        m = Weftd(lab)
        m.once()
        db = sqlite3.connect(m.state)
        db.execute("pragma user_version = 9999")
        db.commit()
        db.close()
        ends(m.start(), 1, r"(newer|version)")


def test_state_in_missing_folder():
    with quiet_lab() as lab:
        m = Weftd(lab)
        m.state = os.path.join(lab.dir, "not", "there", "weft.db")
        m.write()
        ends(m.start(), 1, r"not/there")


def test_wrong_config():
    with quiet_lab() as lab:
        m = Weftd(lab)
        for text, pattern in (
                ("subnets:\n  - name: lab\n    pirority: 3\n", r":3:\d+: .*priority"),
                ("subnets:\n  - {name: lab, priority: 16}\n", r":2:\d+: .*15"),
                ("subnets:\n  - {name: lab, lmc: two}\n", r":2:\d+: "),
                ("log: {level: loud}\n", r":1:\d+: .*notice"),
                ("subnets: [\n", r":\d+:\d+: ")):
            m.write_text(text)
            ends(m.start(), 2, r"weft\.yaml" + pattern)
            ends(m.start("--check-config"), 2, r"weft\.yaml" + pattern)
        m.write()
        ends(m.start("--check-config"), 0, r"")
        os.remove(m.config)
        ends(m.start(), 2, r"weft\.yaml")


def test_log_rotated():
    """C7: a signal to one of two daemons lets that one open its log anew, and the other keeps its
    own."""
    def logs(p):
        folder = "/proc/%d/fd" % p.pid
        return [os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder)
                if os.path.exists(os.path.join(folder, fd)) and
                ".log" in os.readlink(os.path.join(folder, fd)) and int(fd) > 2]
    with Lab(fabrics.fabric("net.1", ""), sim="none") as lab:
        both = []
        for tag in ("1", "2"):
            m = Weftd(lab, seat=lab.seat(), tag=tag)
            log = os.path.join(lab.dir, "weftd%s.log" % tag)
            with open(m.config, encoding="utf-8") as f:
                text = f.read()
            m.write_text(text.replace("to: stderr", "to: " + log))
            m.start("--sim", "ft3:4", seat=None)
            m.wait_up()
            both.append((m, log))
        for _, log in both:
            os.rename(log, log + ".1")
        (one, log), (other, kept) = both
        one.process.send(signal.SIGUSR1)
        wait_for("a new log", lambda: os.path.exists(log))
        need(logs(one.process) == [log], "it writes to %s" % logs(one.process))
        need(logs(other.process) == [kept + ".1"] and not os.path.exists(kept),
             "the other one was told, too: %s" % logs(other.process))
        for m, _ in both:
            m.stop()


def test_usage():
    with quiet_lab() as lab:
        m = Weftd(lab)
        for words in (["--onec"], ["-c"], ["surplus"]):
            p = lab.start("weftd", [os.path.join(BUILD, "weftd")] + words, None)
            ends(p, 2, r"weftd --help")
        _, err = m.weft("status", status=3)
        need(len(err.strip().splitlines()) == 1 and m.socket in err, "no daemon: " + err)
        m.weft("statsu", status=2)
        m.weft(status=2)
        m.weft("--help")
        m.weft("--version")


def test_show():
    """Every listing answers, as a table and as JSON, and the topology is what others see."""
    with running() as (lab, m):
        want = lab.net.expected(lab.seat())
        for what, key, number in (("nodes", "nodes", want["switches"] + want["hosts"]),
                                  ("switches", "switches", want["switches"]),
                                  ("links", "links", want["links"])):
            got = m.json("show", what, "--all")
            need(len(got[key]) == number and got["summary"], "show %s has %d, not %d" %
                 (what, len(got[key]), number))
        for what in ("nodes", "switches", "ports", "links", "engines", "events"):
            out, _ = m.weft("show", what)
            need(out.strip(), "show %s prints nothing" % what)
        one = m.json("show", "nodes", lab.net.hosts()[0])
        need(len(one["nodes"]) <= 1, "a node has one name")
        engines = [e["name"] for e in m.json("show", "engines")["engines"]]
        need({"minhop", "updn"} <= set(engines), "engines: %s" % engines)
        text, _ = m.weft("show", "topology", "-o", "ibnetdiscover")
        ours, theirs = proof.Seen(text), proof.discover(lab)
        need(ours.switches == theirs.switches and ours.ports == theirs.ports,
             "show topology differs from ibnetdiscover")
        need("graph" in m.weft("show", "topology", "-o", "dot")[0], "no dot")
        sw = next(iter(theirs.switches.values()))[0]
        need(m.weft("show", "routes", str(sw))[0].strip(), "show routes prints nothing")
        _, err = m.weft("show", "routes", "no-such-node", status=1)
        need(len(err.strip().splitlines()) == 1, "unknown node: " + err)
        m.weft("path", "no-such-node", str(sw), status=1)


def test_generator():
    """A fabric of ours is read by ibsim and found whole; one seed gives one fabric."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        if not fabrics.own_generator():
            raise AssertionError("weftsim is not built")
        for name in ("ft3-4", "ft2-4-2-3", "torus-3-3-1-1", "dfly-2-1-1-3"):
            a = fabrics.fabric(name, tmp)
            with open(a, "rb") as f:
                first = f.read()
            with open(fabrics.fabric(name, tmp), "rb") as f:
                need(f.read() == first, "%s is not the same twice" % name)
            with Lab(a) as lab:
                proof.counts(lab, proof.discover(lab))
