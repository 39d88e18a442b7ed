#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bring one fabric up, once and then as a daemon, and let others judge.

usage: fabric.py NAME [ENGINE-THAT-MUST-RUN [LIMIT-SECONDS]]
NAME as in fabrics.py. First `weftd --once`: exit status 0, then everything that proof.py can judge.
Then the daemon with the same state file: it finds nothing to write, moves no LID and no entry,
answers sminfo as MASTER, and tells of itself what the others see.
"""
import re
import tempfile

import fabrics
import lab as laboratory
import madcount
import proof
from lab import Lab, need
from manager import MADCOUNT, args, manager


def told_the_truth(lab, m, seen, engine):
    st = m.status()
    want = lab.net.expected(lab.seat())
    for key in ("switches", "hosts", "links"):
        need(st[key] == want[key], "weft status: %s is %s, the file says %s" %
             (key, st[key], want[key]))
    need(st["role"] == "master" and st["state"] == "up", "weft status: %s, %s" %
         (st["role"], st["state"]))
    need(not engine or st["engine_running"] == engine, "engine %s runs, not %s" %
         (st["engine_running"], engine))
    ck = m.json("check")
    pairs = len(seen.ports) * (len(seen.ports) - 1)
    need(ck["ok"] is True and not ck["unreachable"] and not ck["loops"] and not ck["credit_loops"],
         "weft check: %s" % ck)
    need(ck["pairs"] == pairs, "weft check counts %s pairs, there are %d" % (ck["pairs"], pairs))
    return st, ck


def path_agrees(lab, m, seen):
    """`weft path` names the switches that ibtracert goes through."""
    ends = seen.host_lids()
    if len(ends) < 2:
        return
    src, dst = ends[0], ends[-1]
    hops = m.json("path", str(src), str(dst))["hops"]
    ours = [int(h["guid"], 16) for h in hops]
    theirs = [int(g, 16) for _, kind, g, _ in proof.trace(lab, src, dst) if kind == "switch"]
    # A switch is named by its port GUID there, which is its node GUID in the simulator.
    need([g for g in ours if g in theirs] == theirs, "weft path goes %s, ibtracert %s" %
         ([hex(g) for g in ours], [hex(g) for g in theirs]))


def quiet_restart(lab, m, seen, tables, engine):
    counter = madcount.Counter(lab.dir)
    m.start(extra_preload=MADCOUNT, WEFT_MADCOUNT=counter.path)
    m.wait_up()
    for attribute in ("LinearForwardingTable", "PortInfo", "SwitchInfo"):
        sets = counter.sets(attribute)
        if attribute == "LinearForwardingTable":
            need(sets == 0, "a restart with the same state wrote %d LFT blocks" % sets)
        print("restart: %d Set(%s)" % (sets, attribute))
    proof.master(lab, seen)
    again = proof.discover(lab)
    need(again.ports == seen.ports and again.switches == seen.switches, "a restart moved LIDs")
    need(proof.tables_only(proof.dump_tables(lab)) == tables, "a restart changed tables")
    st, ck = told_the_truth(lab, m, seen, engine)
    path_agrees(lab, m, seen)
    m.stop()
    print("daemon: engine %s (asked %s), up in %s ms, check max_hops %s mean_hops %s" %
          (st["engine_running"], st["engine_requested"], st["last_sweep_ms"], ck["max_hops"],
           ck["mean_hops"]))


def test():
    name, engine, limit = (args() + ["", "120"][len(args()) - 1:])[:3]
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp)) as lab:
            m = manager(lab)
            p = m.once(float(limit))
            seen, tables, _ = proof.everything(lab)
            if m.name != "weftd":
                return
            m_up = re.search(r".*" + m.up + r".*", p.text())
            print(m_up.group(0))
            if engine == "updn":
                need(re.search(r"minhop.*credit loop", p.text()),
                     "the log does not say that minhop was refused for credit loops")
            quiet_restart(lab, m, seen, tables, engine)


laboratory.main(test)
