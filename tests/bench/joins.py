#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Storms of multicast joins: weftd against packaged OpenSM.

usage: joins.py [-r REPEATS] [NAME...]      of the storms below; all

    many    400 groups of 25 members at 1,024 hosts: small trees, many of them
    ipoib   10 groups of 1,000 members at 1,024 hosts: a fabric that starts, whose hosts all join
            the broadcast group and those of their neighbours
    large   2 groups of 5,000 members at 8,192 hosts: large trees

Each is 10,000 joins, sent by 25 hosts all over a fat tree, each for its share of the members, on a
weftsim for each manager, in turns. Before it begins the manager is at rest. Time is from its start
to the last multicast table that was sent; the median counts. Weft proves its trees before it sends
them, within that time; OpenSM proves none. Tables are counted by one preloaded library for both
(madcount.c); beside those of weftd stand the ones that have an entry in the end: so many it takes
if each is written once.

Most of the time is that of the hosts and the simulator, which both managers have in common: hence
also an echo, by a host that answers the same requests at once, which no manager can be faster than;
and what processor time the manager and the simulator took, which tells more than the clock where
few processors serve them all. There is no pass condition but that every join is answered and that
both come to rest: times belong to a machine.
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
CLIENTS = 25
WINDOW = 32     # requests under way of each
REST = 1.5      # seconds without a MAD that mean rest, with weftd that does not read counters
NO_COUNTERS = "    health: {counters_interval: 0}\n"
STORMS = {"many": ("ft3-16", 400, 25), "ipoib": ("ft3-16", 10, 1000), "large": ("ft3-32", 2, 5000)}
JOINED = re.compile(r"joined \d+ in ([0-9.]+) s")
NODE = re.compile(r"port_guid\.*(0x[0-9a-f]+).*?NodeDescription\.*(\S+)", re.S)
ENTRY = re.compile(r"0x[c-f][0-9a-f]{3}\s+0x0*[1-9a-f]")


def wait_rest(counter, clients=()):
    """Until nothing is sent any more."""
    seen, at = counter.total(), time.monotonic()

    def over():
        nonlocal seen, at
        n = counter.total()
        if n != seen:
            seen, at = n, time.monotonic()
        return not any(c.alive() for c in clients) and time.monotonic() - at > REST
    wait_for("the manager to be at rest", over, 600)


def processor_time(pid):
    """Seconds of all threads of a process."""
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, thread), encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def choose(lab, members):
    """Hosts that ask, and the names and GUIDs of all members: these hosts first, then others."""
    hosts = lab.net.hosts()[1:]
    asking = [hosts[i * len(hosts) // CLIENTS] for i in range(CLIENTS)]
    others = [h for h in hosts if h not in asking]
    others = [others[i * len(others) // members] for i in range(members - CLIENTS)]
    text = lab.run([program("saquery"), "NR"], asking[0], seconds=300)[0]
    guid = {name: guid for guid, name in NODE.findall(text)}
    return asking, [guid[h] for h in asking + others]


def write_lists(lab, asking, groups, guids):
    """What each host asks for: port by port all groups."""
    for i, h in enumerate(asking):
        with open(os.path.join(lab.dir, "list-" + h), "w", encoding="ascii") as f:
            f.writelines("%d %s\n" % (g, guid) for guid in guids[i::len(asking)]
                         for g in range(groups))


def join(lab, asking, *to):
    """When all hosts began at once, and they."""
    go = os.path.join(lab.dir, "go" + "".join(to))
    clients = [lab.start("join%s-%s" % ("".join(to), h),
                         [CLIENT, os.path.join(lab.dir, "list-" + h), str(WINDOW), go, *to], h)
               for h in asking]
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


def echo(lab, asking):
    host = next(h for h in lab.net.hosts()[1:] if h not in asking)
    lab.start("echo", [ECHO, "serve"], host).wait_text("ready")
    lid = lab.run([program("saquery"), "-l", host], asking[0])[0].split()[0]
    _, clients = join(lab, asking, lid)
    wait_for("the last echo", lambda: not any(c.alive() for c in clients), 120)
    return answered(clients)


def tables_held(lab, host):
    """Blocks of multicast tables that have an entry, as the manager tells of them."""
    text = lab.run([program("saquery"), "MFTR"], host, seconds=300)[0]
    return sum(bool(ENTRY.search(r)) for r in text.split("MFT Record dump:")[1:])


def storm(make, path, groups, members):
    with Lab(path, sim="weftsim") as lab:
        counter = madcount.Counter(lab.dir)
        m = make(lab)
        m.start(extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
        m.wait_up(300)
        asking, guids = choose(lab, members)
        write_lists(lab, asking, groups, guids)
        wait_rest(counter)
        pids = {"manager": m.process.pid, "simulator": lab.sim.popen.pid}
        before = {k: processor_time(pid) for k, pid in pids.items()}
        sets = counter.sets("MulticastForwardingTable")
        began, clients = join(lab, asking)
        wait_rest(counter, clients)
        row = {k: processor_time(pid) - before[k] for k, pid in pids.items()}
        row["joined"] = answered(clients)
        row["tables"] = max(counter.multicast() - began, row["joined"])
        row["later"] = max(row["tables"] - row["joined"], 0)
        row["sets"] = counter.sets("MulticastForwardingTable") - sets
        row["least"] = tables_held(lab, asking[0]) if isinstance(m, Weftd) else 0
        row["echo"] = echo(lab, asking)
        m.stop()
    return row


def compare(name, repeats, folder):
    fabric, groups, members = STORMS[name]
    rows = {"OpenSM": [], "weftd": []}
    makers = [("OpenSM", OpenSM), ("weftd", lambda lab: Weftd(lab, "fattree", extra=NO_COUNTERS))]
    path = fabrics.fabric(fabric, folder)
    for i in range(repeats):
        for who, make in makers if i % 2 == 0 else makers[::-1]:
            rows[who].append(storm(make, path, groups, members))
    median = {who: {k: statistics.median(r[k] for r in of) for k in of[0]}
              for who, of in rows.items()}
    print("%s: %d joins, %d groups of %d, on %s" % (name, groups * members, groups, members,
                                                     fabric))
    for who, m in median.items():
        print("  %-7s all tables %8.3f s, %.3f s after the last answer; an echo answers in %.3f s; "
              "%6d tables; processors %.3f s, of the simulator %.3f s" %
              (who, m["tables"], m["later"], m["echo"], m["sets"], m["manager"],
               m["simulator"]))
    one, other = median["OpenSM"], median["weftd"]
    print("  weftd is %.1f times as fast, with %.3f of the processor time and %.3f of the tables, "
          "%.2f times as many as there are" %
          (one["tables"] / other["tables"], other["manager"] / one["manager"],
           other["sets"] / max(one["sets"], 1), other["sets"] / max(other["least"], 1)),
          flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("-r", "--repeats", type=int, default=3)
    p.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STORMS))
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        for name in a.names or STORMS:
            need(name in STORMS, "no storm %r: there are %s" % (name, ", ".join(STORMS)))
            compare(name, a.repeats, tmp)


laboratory.main(main)
