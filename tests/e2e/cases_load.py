# SPDX-License-Identifier: BSD-2-Clause
"""The subnet administrator of weftd under load, on weftsim: clients on many hosts through real
libibumad (umad_load.c), while one of them floods, while the fabric is routed anew and swept. None
of their questions is lost, and what is refused is refused with BUSY.

LOAD_FABRIC and LOAD_SECONDS make it larger and longer. Times are told, and judge nothing.
"""
import os
import re
import signal

from cases_sa import managed_by
from lab import Skip, need, program, wait_for
from manager import Weftd

FABRIC = os.environ.get("LOAD_FABRIC", "ft3-16")
SECONDS = float(os.environ.get("LOAD_SECONDS", "2"))
FLOOD = 50000


def load(lab, host, what, number, seconds=SECONDS):
    tool = program("umad_load")
    if not os.path.isabs(tool):
        raise Skip("umad_load is not built")
    p = lab.start("load", [tool, what, str(number), str(seconds)], host)
    p.wait_text("ready", 60)
    return p


def result(p, what):
    """The outcome of a client, by name; it must have come to its end."""
    wait_for("%s to end" % what, lambda: not p.alive(), 60 + 4 * SECONDS)
    line = (p.text().splitlines() or [""])[-1]
    found = {k: float(v) for k, v in re.findall(r"(\w+) ([0-9.]+)", line)}
    need(p.popen.returncode == 0 and "answered" in found, "%s: %s" % (what, p.text()[-300:]))
    print("%-24s %s" % (what, line))
    need(found["answered"] > 0, "%s: nothing was answered" % what)
    for k in ("none", "other", "lost"):
        need(found[k] == 0, "%s: %d %s" % (what, found[k], k))
    return found


def administrator(lab):
    return lab.manager.status()["sa"]


def test_load_mixed():
    """Thousands of questions of mixed kinds outstanding, from ten hosts: each is answered."""
    with managed_by(Weftd, FABRIC) as lab:
        hosts = lab.net.hosts()[1:11]
        clients = [load(lab, h, "mixed", 500) for h in hosts]
        tables = load(lab, lab.net.hosts()[11], "tables", 2)
        for h, p in zip(hosts, clients):
            result(p, "mixed from " + h)
        need(result(tables, "whole tables")["busy"] == 0, "a table in turn was told BUSY")
        sa = administrator(lab)
        need(sa["requests"] == sa["answered"] + sa["refused"] + sa["dropped"] + sa["pending"],
             "requests that nobody accounts for: %s" % sa)


def flooded(lab):
    hosts = lab.net.hosts()
    result(load(lab, hosts[1], "paths", 1), "alone")
    flood = load(lab, hosts[2], "flood", FLOOD, 2 * SECONDS)
    calm = result(load(lab, hosts[1], "paths", 1), "beside a flood")
    wait_for("the flood to end", lambda: not flood.alive(), 60)
    print(flood.text().splitlines()[-1])
    need(calm["busy"] == 0, "another one is told BUSY for it")
    print(administrator(lab))


def test_load_flood():
    """Others are answered while one host floods; it alone is told BUSY, or nothing."""
    with managed_by(Weftd, FABRIC) as lab:
        flooded(lab)
        # Without a rate all of it is worked on, as far as it goes.
        lab.manager.write(extra="    sa_rate: 0\n")
        lab.manager.weft("reload")
        flooded(lab)


def test_load_reroute():
    """A path is always known, while all is routed and written anew and the fabric swept."""
    with managed_by(Weftd, FABRIC) as lab:
        p = load(lab, lab.net.hosts()[1], "paths", 4)
        rounds = 0
        while p.alive():
            lab.manager.weft("reroute", "--full")
            rounds += 1
        result(p, "beside %d reroutes" % rounds)
        p = load(lab, lab.net.hosts()[1], "paths", 4)
        first = lab.manager.status()["sweeps"]
        while p.alive():
            before = lab.manager.status()["sweeps"]
            lab.manager.process.send(signal.SIGHUP)
            wait_for("a sweep", lambda n=before: lab.manager.status()["sweeps"] > n, 60)
        result(p, "beside %d sweeps" % (lab.manager.status()["sweeps"] - first))
