#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How long weftd's event loop is held up by anything that it does, at scale.

usage: turns.py [HOSTS...]     HOSTS: 1024 8192 43904

weftd brings up a fat tree on weftsim, and then does what it is asked to: a sweep of everything, a
whole routing, a reload, each command that shows something. After each of these it is asked how many
of its handlers took over 10 ms of processor time since then, and its log which. There is no pass
condition: times belong to a machine. The target is none.
"""
import argparse
import os
import re
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
from lab import Lab, wait_for  # noqa: E402
from manager import Weftd  # noqa: E402

RADIX = {1024: 16, 8192: 32, 43904: 56}     # ft3 K has K^3/4 hosts
SLOW = re.compile(r"everything else waited .*")
SHOWN = (
    ("show", "nodes", "--all"), ("show", "switches", "--all"), ("show", "ports", "--all"),
    ("show", "links", "--all"), ("show", "nodes"), ("show", "ports", "--down"),
    ("show", "links", "--slow"), ("show", "topology"), ("show", "topology", "-o", "dot"),
    ("show", "routes", "--dump"), ("show", "multicast"),
    ("show", "services"), ("show", "subscriptions"), ("show", "events"), ("show", "engines"),
    ("check",), ("reroute", "--dry-run"), ("reload",), ("reload", "--dry-run"))


class Turns:
    """What the loop counts, between two looks at it."""

    def __init__(self, manager):
        self.manager, self.slow, self.told = manager, 0, 0

    def tell(self, what):
        loop = self.manager.json("status", seconds=60)["loop"]
        lines = SLOW.findall(self.manager.process.text())
        print("%-34s %2d slow; the longest so far %.1f ms (%s)" % (
            what, loop["slow"] - self.slow, loop["longest_ms"], loop["longest_at"]), flush=True)
        for line in lines[self.told:]:
            print("    " + line, flush=True)
        self.slow, self.told = loop["slow"], len(lines)


def sweep(manager):
    """SIGHUP: the configuration is read again, and everything is looked at and routed anew."""
    before = manager.status()["sweeps"]
    manager.process.send(signal.SIGHUP)
    wait_for("a sweep", lambda: manager.status()["sweeps"] > before, 400)
    manager.wait_up(400)


def named(net):
    """Commands that name something: a host, a switch."""
    host, switch = net.hosts()[-1], net.switches()[-1]     # far from the manager
    return (("show", "routes", switch, "--all"), ("show", "routes", host),
            ("path", net.hosts()[0], host), ("show", "nodes", "/%s/" % host, "--all"),
            ("show", "ports", switch, "--all"), ("fail", switch, "--dry-run"),
            ("drain", switch, "--dry-run"))


def size(hosts):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-%d" % RADIX[hosts], tmp)
        with Lab(net, sim="weftsim") as lab:
            m = Weftd(lab, "fattree")
            m.start()
            m.wait_up(600)
            turns = Turns(m)
            turns.tell("%d hosts: bring-up" % hosts)
            for _ in range(5):
                m.status()
            turns.tell("status")
            sweep(m)
            turns.tell("SIGHUP")
            m.weft("reroute", "--full", seconds=400)
            turns.tell("reroute --full")
            for words in SHOWN + named(lab.net):
                m.weft(*words, seconds=400)
                turns.tell(" ".join(words))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("hosts", nargs="*", type=int, default=sorted(RADIX))
    for hosts in p.parse_args().hosts:
        size(hosts)


laboratory.main(main)
