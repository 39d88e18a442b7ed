#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A storm of multicast joins: weftd against packaged OpenSM.

usage: joins.py [-r REPEATS] [-g GROUPS] [-m MEMBERS]     400 groups of 25 members

25 hosts all over a fat tree of 1,024 join the same 400 groups at once (10,000 joins), on a weftsim
for each manager, in turns. Time is from the start of the storm to the last table that a switch
took; the median counts. Multicast tables are counted by one preloaded library for both
(madcount.c), and beside them stands one for each block of 32 groups of each switch. Most of the
time is that of the hosts and the simulator, which both managers have in common: hence also what
passes from the last answer to the last table, and an echo, by a host that answers the same requests
at once. There is no pass condition but that every join is answered and that both come to rest:
times belong to a machine.
"""
import argparse
import os
import re
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
import madcount  # noqa: E402
from lab import BUILD, Lab, need, program, wait_for  # noqa: E402
from manager import MADCOUNT, OpenSM, Weftd  # noqa: E402

CLIENT = os.path.join(BUILD, "bench_join")
ECHO = os.path.join(BUILD, "bench_ask")
WINDOW = 32
REST = 3        # seconds without a table that mean the end
FABRIC = "ft3-16"
JOINED = re.compile(r"joined \d+ in ([0-9.]+) s")


def last_set(counter, clients, began):
    """Seconds from `began` to the last table, and how many there were since."""
    def sets():
        return counter.table().get((madcount.SET, 0x1b), 0)
    before = seen = sets()
    at = began

    def over():
        nonlocal seen, at
        n = sets()
        if n != seen:
            seen, at = n, time.monotonic()
        alive = any(c.alive() for c in clients)
        return not alive and time.monotonic() - max(at, began) > REST
    wait_for("the storm to be over", over, 300)
    return at - began, seen - before


def join(lab, hosts, groups, *to):
    """When all hosts began at once, and they."""
    go = os.path.join(lab.dir, "go" + "".join(to))
    words = [CLIENT, str(groups), str(WINDOW), go, *to]
    clients = [lab.start("join%s-%s" % ("".join(to), h), words, h) for h in hosts]
    for c in clients:
        c.wait_text("ready")
    began = time.monotonic()
    with open(go, "wb"):
        pass
    return began, clients


def answered(clients):
    """Seconds until the last answer."""
    for c in clients:
        need(JOINED.search(c.text()), "%s: %s" % (c.name, c.text()[-300:]))
    return max(float(JOINED.search(c.text()).group(1)) for c in clients)


def echo(lab, host, hosts, groups):
    lab.start("echo", [ECHO, "serve"], host).wait_text("ready")
    lid = lab.run([program("saquery"), "-l", host], hosts[0])[0].split()[0]
    _, clients = join(lab, hosts, groups, lid)
    wait_for("the last echo", lambda: not any(c.alive() for c in clients), 60)
    return answered(clients)


def storm(make, path, groups, members):
    with Lab(path, sim="weftsim") as lab:
        counter = madcount.Counter(lab.dir)
        m = make(lab)
        m.start(extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
        m.wait_up()
        hosts = lab.net.hosts()[1:]
        hosts = [hosts[i * len(hosts) // members] for i in range(members)]
        began, clients = join(lab, hosts, groups)
        took, sets = last_set(counter, clients, began)
        joined = answered(clients)
        spare = next(h for h in lab.net.hosts()[1:] if h not in hosts)
        least = echo(lab, spare, hosts, groups)
        switches = len(lab.net.switches())
        m.stop()
    return {"joined": joined, "tables": took, "later": max(took - joined, 0), "sets": sets,
            "echo": least, "switches": switches}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-r", "--repeats", type=int, default=3)
    p.add_argument("-g", "--groups", type=int, default=400)
    p.add_argument("-m", "--members", type=int, default=25)
    a = p.parse_args()
    rows = {"OpenSM": [], "weftd": []}
    makers = [("OpenSM", OpenSM), ("weftd", lambda lab: Weftd(lab, engines="fattree"))]
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        path = fabrics.fabric(FABRIC, tmp)
        for i in range(a.repeats):
            for name, make in makers if i % 2 == 0 else makers[::-1]:
                rows[name].append(storm(make, path, a.groups, a.members))
    blocks = (1 + a.groups + 31) // 32
    print("%d joins, %d groups, on %s: once each %d tables" %
          (a.groups * a.members, a.groups, FABRIC, blocks * rows["weftd"][0]["switches"]))
    median = {name: {k: statistics.median(r[k] for r in of) for k in of[0]}
              for name, of in rows.items()}
    for name, m in median.items():
        print("  %-7s all answered %8.3f s, all tables %8.3f s, %.3f s later, %6d tables; "
              "answered by an echo %.3f s" % (name, m["joined"], m["tables"], m["later"],
                                              m["sets"], m["echo"]))
    print("  weftd is %.1f times as fast, with %.3f of the tables" %
          (median["OpenSM"]["tables"] / median["weftd"]["tables"],
           median["weftd"]["sets"] / max(median["OpenSM"]["sets"], 1)), flush=True)


laboratory.main(main)
