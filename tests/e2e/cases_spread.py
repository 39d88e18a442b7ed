# SPDX-License-Identifier: BSD-2-Clause
"""Adaptive routing of weftsim's switches: what they hold is read back by SMPs, and packets are
followed through it as switches forward them: by static ports alone, by one port of a group for each
flow (bounded), and by any port for each packet (free). Nothing of Weft decodes or judges it."""
import os
import re
import sys
import tempfile
import zlib

import fabrics
import proof
from lab import Lab, Net, need, wait_for
from manager import Weftd

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_client.py")
BOUNDED, FREE, STATIC = 0, 1, 2         # states of a LID
NONE = 255                              # no static port


def of_the_vendor(name, folder):
    """The fabric, with switches of a vendor that weftd asks."""
    path = os.path.join(folder, "adaptive." + name)
    with open(fabrics.fabric(name, folder), encoding="utf-8", errors="replace") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(re.sub(r"(?m)^vendid=.*$", "vendid=0x2c9", text))
    return path


class Switch:
    """What one holds: is it on, (state, static port, group) by LID, ports by group, all of its
    sub-groups."""

    def __init__(self):
        self.on, self.entries, self.groups, self.subs = False, [], {}, 1

    def take(self, kind, block, data):
        if kind == "info":
            self.on = bool(data[3] & 0x81)
            self.subs = (data[2] & 15) + 1
        elif kind == "lft":
            for i in range(0, 64, 4):
                self.entries.append((data[i] >> 6, data[i + 1], data[i + 2] << 8 | data[i + 3]))
        else:
            for i in range(2):
                mask = int.from_bytes(data[32 * i:32 * i + 32], "big")
                self.groups[2 * block + i] = {p for p in range(256) if mask >> p & 1}

    def choices(self, lid):
        """The static port, and the ports of the group for data."""
        state, port, group = self.entries[lid]
        every = set()
        for at in range(group * self.subs, (group + 1) * self.subs):
            every |= self.groups.get(at, set()) if state in (BOUNDED, FREE) else set()
        return port, every


def read(lab, lids, top):
    """All of them, by LID."""
    out, _ = lab.run([sys.executable, CLIENT, "adaptive", str(top)] + [str(x) for x in lids],
                     lab.far(), seconds=300)
    held = {lid: Switch() for lid in lids}
    for line in out.splitlines():
        lid, kind, block, data = line.split()
        held[int(lid)].take(kind, int(block), bytes.fromhex(data))
    return held


class Judge:
    def __init__(self, lab, held):
        seen = proof.discover(lab)
        net = Net(os.path.join(lab.dir, "discovered"))
        self.name = {node: name for node, (_, name) in seen.switches.items()}
        self.held = {node: held[lid] for node, (lid, _) in seen.switches.items()}
        self.peer = net.cables
        self.home = {lid: node for (node, _), (lid, _) in seen.ports.items()}
        self.leaves = {self.peer[end][0] for end in seen.ports if end in self.peer}
        self.spread = 0                 # (switch, LID) with more than one port
        self.waits = {}                 # what is held by what may be waited for

    def ways(self, node, lid, how):
        row, group = self.held[node].choices(lid)
        if how == "static" or not group:
            return {row}
        if how == "bounded":
            return {sorted(group)[zlib.crc32(b"%d %s" % (lid, node.encode())) % len(group)]}
        self.spread += len(group) > 1
        return group | {row}

    def arrives(self, node, lid, how, done):
        """Whatever port is taken, from this switch on; `done` has False for those on the way."""
        if node in done:
            return done[node]
        done[node], good = False, True
        for port in self.ways(node, lid, how):
            far = self.peer.get((node, port))
            if far is None or port == NONE:
                return False
            if far[0] not in self.held:
                good &= far[0] == self.home[lid]
                continue
            good &= self.arrives(far[0], lid, how, done)
        done[node] = good
        return good

    def note(self, lid):
        """From every switch, a link holds what its packets wait for at the next."""
        for node in self.held:
            for port in self.ways(node, lid, "free"):
                far = self.peer.get((node, port))
                if far and far[0] in self.held:
                    self.waits.setdefault((node, port), set()).update(
                        (far[0], p) for p in self.ways(far[0], lid, "free")
                        if self.peer.get((far[0], p), (None,))[0] in self.held)

    def circle(self):
        """Of links that wait for each other: what is left when all that end are taken away."""
        count, before = {}, {}
        for a, all_b in self.waits.items():
            count[a] = len(all_b)
            for b in all_b:
                count.setdefault(b, 0)
                before.setdefault(b, []).append(a)
        free = [a for a, n in count.items() if not n]
        left = len(count)
        while free:
            left -= 1
            for a in before.get(free.pop(), ()):
                count[a] -= 1
                if not count[a]:
                    free.append(a)
        return left

    def every_pair(self, lanes):
        for lid in self.home:
            for how in ("static", "bounded", "free"):
                done = {}
                for node in self.leaves:
                    need(self.arrives(node, lid, how, done), "%s: not each packet gets from %s to "
                         "LID %d" % (how, self.name[node], lid))
            if not lanes:
                self.note(lid)
        need(lanes or not self.circle(), "packets may wait for each other for ever")


def shown(m):
    """Static ports by switch and LID, as weftd tells them."""
    table, node = {}, None
    for line in m.weft("show", "routes", "--dump", seconds=120)[0].splitlines():
        head = re.search(r"of switch .*?Lid (\d+)", line)
        row = re.match(r"0x([0-9a-fA-F]+) (\d+)", line)
        if head:
            node = int(head.group(1))
        elif row and node is not None:
            table[(node, int(row.group(1), 16))] = int(row.group(2))
    return table


def turned_on(m, lab, lids, top):
    held = read(lab, lids, top)
    return held if all(s.on for s in held.values()) else None


def judged(name, engine, lanes=False, least=1, more="", subs=1):
    """All switches come on; what they hold is what weftd shows, and leads everywhere."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        lab = Lab(of_the_vendor(name, tmp), sim="weftsim")
        lab.sim.options = ("--adaptive", "on")
        with lab:
            m = Weftd(lab, engines=engine)
            with open(m.config, encoding="utf-8") as f:
                text = f.read()
            m.write_text(text.replace("fallback: warn", "fallback: warn, adaptive: on" + more))
            m.start()
            m.wait_up(120)
            seen = proof.discover(lab)
            lids = [lid for lid, _ in seen.switches.values()]
            held = wait_for("all switches to be on",
                            lambda: turned_on(m, lab, lids, max(seen.lids)), 180, 0.5)
            for (lid, to), port in shown(m).items():
                need(held[lid].entries[to][1] == port, "switch %d has port %d for LID %d, weftd "
                     "shows %d" % (lid, held[lid].entries[to][1], to, port))
            need({s.subs for s in held.values()} == {subs}, "sub-groups")
            judge = Judge(lab, held)
            judge.every_pair(lanes)
            need(judge.spread >= least, "hardly anything is spread: %d" % judge.spread)
            m.weft("check", seconds=120)
            m.stop()


def test_adaptive_tree2():
    judged("ft2-6-4-3", "fattree", least=50)


def test_adaptive_tree3():
    judged("ft3-4", "fattree", least=100)


def test_adaptive_ndr():
    judged("ndr_rail_40sw_582ca.ibnd", "fattree, updn", least=100)


def test_adaptive_torus():
    judged("torus-4-4-2-2", "torus", lanes=True, least=0)


def test_adaptive_dragonfly():
    judged("dfly-4-2-2-9", "dragonfly", lanes=True, least=0)


def test_adaptive_dragonfly_plus():
    judged("dragonfly+-5-4-4-2", "dragonfly", lanes=True, least=100)


def test_adaptive_nonminimal():
    """Longer ways too: packets that take any port of both sub-groups get there all the same."""
    judged("dfly-4-2-2-9", "dragonfly", lanes=True, least=100,
           more=", adaptive_nonminimal: true", subs=2)


def test_adaptive_nonminimal_plus():
    judged("dragonfly+-5-4-4-2", "dragonfly", lanes=True, least=100,
           more=", adaptive_nonminimal: true", subs=2)
