# SPDX-License-Identifier: BSD-2-Clause
"""What was really programmed, judged: packets of every host to every other, on their lanes.

Cables are those that ibnetdiscover finds, tables and service levels those that held_client.py
reads from the devices and from the subnet administrator, whoever manages the subnet. A way is
walked by forwarding tables and SL to VL tables; each (cable, lane) on it waits for the next; a
circle of these is a credit loop. Loads are counted on the ways as walked, a flow on a slow cable as
several. Not a line is shared with Weft.
"""
import collections
import os
import random
import re
import sys

from lab import Failure, need

HEAD = re.compile(r'^(Switch|Ca|Rt)\s+\d+\s+"([SHR]-[0-9a-f]+)"\s+#\s+"(.*)"(?:.* lid (\d+))?')
CABLE = re.compile(r'^\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SHR]-[0-9a-f]+)"\[(\d+)\].*#.*? lid (\d+)'
                   r'(?: (\d+)x(\w+))?')
LANE_GBPS = {"SDR": 2, "DDR": 4, "QDR": 8, "FDR10": 10, "FDR": 13.64, "EDR": 25, "HDR": 50,
             "NDR": 100, "XDR": 200}
HOPS = 64
PAIRINGS = 100      # random halves of the hosts that the bisection is the mean of
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "held_client.py")


class Cables:
    """ibnetdiscover's output: who is where. Hosts stand in the order of the GUIDs of their
    switches, then of ports there, which is that of the racks in all generated fabrics."""

    def __init__(self, text):
        self.lid, self.name, self.to, self.rate = {}, {}, {}, {}
        hosts, node = [], None
        for line in text.splitlines():
            head, cable = HEAD.match(line), CABLE.match(line)
            if head:
                node = head.group(2)
                self.name[node] = head.group(3)
                if head.group(1) == "Switch":
                    self.lid[node] = int(head.group(4) or 0)
            elif cable and node in self.lid:
                port, other, back, lid, width, speed = cable.groups()
                self.to[(node, int(port))] = (other, int(back))
                self.rate[(node, int(port))] = int(width or 1) * LANE_GBPS.get(speed, 2)
                if other[0] != "S":
                    hosts.append((node, int(port), int(lid)))
        self.hosts = sorted(hosts)

    def ports(self, switch):
        return sorted(p for s, p in self.to if s == switch)

    def ways(self, host):
        """From port 1 of a host, by its name or number in ibnetdiscover: {switch: ports out}."""
        first = [s for (s, _), (n, back) in self.to.items()
                 if host in (n, self.name.get(n)) and back == 1]
        ways, todo = {s: [1] for s in first[:1]}, first[:1]
        for switch in todo:
            for port in self.ports(switch):
                other = self.to[(switch, port)][0]
                if other[0] == "S" and other not in ways:
                    ways[other] = ways[switch] + [port]
                    todo.append(other)
        return ways


def ask(lab, cables, seconds, classes):
    """The answers of held_client.py, line by line."""
    asks, answers = (os.path.join(lab.dir, name) for name in ("asks", "answers"))
    top = max(list(cables.lid.values()) + [lid for _, _, lid in cables.hosts])
    with open(asks, "w", encoding="ascii") as f:
        for switch, way in cables.ways(lab.far()).items():
            print("switch", cables.lid[switch], ",".join(str(p) for p in way), top,
                  *cables.ports(switch), file=f)
        for _, _, lid in cables.hosts:
            print("paths", lid, file=f)
            for qos_class in classes:
                print("paths", lid, qos_class, file=f)
    lab.run([sys.executable, CLIENT, asks, answers], lab.far(), seconds=seconds)
    with open(answers, encoding="ascii") as f:
        for line in f:
            yield line.split()


def levels_of(words):
    """{DLID: SL}"""
    return {int(d): int(sl) for d, _, sl in (x.partition(":") for x in words)}


class Held:
    """levels: {SLID: {DLID: SL}} of path records, by_class: the same of QoS classes."""

    def __init__(self, lab, seconds=300, classes=()):
        self.cables = Cables(lab.tool("ibnetdiscover", seconds=180))
        self.lft, self.lanes, self.levels = {}, {}, {}
        self.by_class = {c: {} for c in classes}
        by_lid = {lid: switch for switch, lid in self.cables.lid.items()}
        blocks = collections.defaultdict(dict)
        for kind, lid, *rest in ask(lab, self.cables, seconds, classes):
            if kind == "lft":
                blocks[by_lid[int(lid)]][int(rest[0])] = bytes.fromhex(rest[1])
            elif kind == "sl2vl":
                self.lanes[(by_lid[int(lid)], int(rest[0]), int(rest[1]))] = \
                    [int(x, 16) for x in rest[2]]
            elif kind == "class":
                self.by_class[int(lid)][int(rest[0])] = levels_of(rest[1:])
            else:
                self.levels[int(lid)] = levels_of(rest)
        for switch, table in blocks.items():
            self.lft[switch] = b"".join(table[i] for i in range(len(table)))

    def way(self, switch, lid, come, level):
        """[(switch, port, lane)] from a switch to the host, the last cable too; None: not there."""
        found = []
        for _ in range(HOPS):
            out = self.lft[switch][lid]
            to = self.cables.to.get((switch, out))
            lane = self.lanes[(switch, come, out)][level] if to else 15
            if lane == 15:
                return None
            found.append((switch, out, lane))
            if to[0][0] != "S":
                return found
            switch, come = to
        return None


class Judged:
    """hops: of the longest way, in switches; mean_hops; unreachable: pairs without a way; levels
    and lanes that packets take; circle: some packets may wait for each other for ever."""

    def __init__(self, held):
        self.held, self.hosts = held, held.cables.hosts
        self.number, self.ways, self.known = {}, {}, {}
        self.waits = collections.defaultdict(set)
        self.unreachable, self.pairs, self.hops, self.all_hops = 0, 0, 0, 0
        self.levels, self.lanes = set(), set()
        self.all_pairs()
        for levels in held.by_class.values():
            self.all_pairs(levels)
        self.mean_hops = self.all_hops / max(1, self.pairs - self.unreachable)
        self.circle = bool(self.left())

    def all_pairs(self, levels=None):
        """On the service levels of path records, or on these."""
        for a in range(len(self.hosts)):
            for b in range(len(self.hosts)):
                if self.hosts[a][2] != self.hosts[b][2]:
                    way = self.pair(a, b, levels)
                    self.pairs += 1
                    self.unreachable += way is None
                    self.all_hops += len(way) + 1 if way is not None else 0
                    self.hops = max(self.hops, len(way or ()) + 1)

    def pair(self, a, b, levels=None):
        """The cables between switches of a way, by number; what they wait for is noted."""
        switch, port, lid = self.hosts[a]
        to = self.hosts[b]
        level = (levels or self.held.levels)[lid].get(to[2])
        if level is None:
            return None
        out = self.held.lft[switch][to[2]]
        lane = self.held.lanes.get((switch, port, out), [15] * 16)[level]
        key = (switch, to[2], level, lane)
        if key not in self.known:
            self.known[key] = self.walk(switch, to, port, level)
        return self.known[key]

    def walk(self, switch, to, port, level):
        way = self.held.way(switch, to[2], port, level)
        if way is None or way[-1][:2] != to[:2]:
            return None
        between = way[:-1]
        for one, next_one in zip(between, between[1:]):
            self.waits[one].add(next_one)
        self.levels.add(level)
        self.lanes.update(lane for _, _, lane in between)
        return tuple(self.number.setdefault(x[:2], len(self.number)) for x in between)

    def left(self):
        """What still waits when all that waits for nothing was taken away, again and again."""
        waits = {a: set(b) for a, b in self.waits.items()}
        behind = collections.defaultdict(set)
        for a, after in waits.items():
            for b in after:
                behind[b].add(a)
        free = [b for b in behind if b not in waits]
        while free:
            b = free.pop()
            for a in behind[b]:
                waits[a].discard(b)
                if not waits[a]:
                    del waits[a]
                    free.append(a)
        return waits

    def costs(self):
        """By cable: what one flow loads it with, 1 on the fastest cables between switches."""
        rates = [self.held.cables.rate[end] for end in self.number]     # in order of numbers
        return [max(rates) / r for r in rates]

    def shifts(self):
        """(worst load of a cable in any shift of the hosts, mean over shifts of the worst)"""
        n, worst, costs = len(self.hosts), [], self.costs()
        for k in range(1, n):
            load = [0] * len(costs)
            for a in range(n):
                for cable in self.pair(a, (a + k) % n) or ():
                    load[cable] += costs[cable]
            worst.append(max(load, default=0))
        return max(worst, default=0), sum(worst) / max(1, len(worst))

    def all_to_all(self):
        """Sources or destinations, whichever are fewer, of the busiest cable."""
        sources, dests = (collections.defaultdict(set) for _ in range(2))
        for a in range(len(self.hosts)):
            for b in range(len(self.hosts)):
                for cable in (self.pair(a, b) or ()) if a != b else ():
                    sources[cable].add(a)
                    dests[cable].add(b)
        return max((min(len(sources[c]), len(dests[c])) for c in sources), default=0)

    def bisection(self):
        """Mean share of a cable that each of one random half gets to its partner in the other."""
        rnd, share, n, costs = random.Random(1), 0, len(self.hosts) // 2, self.costs()
        for _ in range(PAIRINGS):
            order = rnd.sample(range(len(self.hosts)), 2 * n)
            ways = [self.pair(order[i], order[n + i]) or () for i in range(n)]
            load = collections.Counter(c for way in ways for c in way)
            share += sum(1 / max([load[c] * costs[c] for c in way], default=1)
                         for way in ways) / max(1, n)
        return share / PAIRINGS


def prove(lab, what="", classes=()):
    """All hosts reach each other, also on what path records of these QoS classes say, and nothing
    waits in a circle."""
    j = Judged(Held(lab, classes=classes))
    need(j.hosts and not j.unreachable, "%s: %d of %d pairs have no way" %
         (what, j.unreachable, j.pairs))
    if j.circle:
        raise Failure("%s: packets wait for each other in a circle" % what)
    print("%s: %d pairs, at most %d switches, levels %s, lanes %s, no circle" %
          (what, j.pairs, j.hops, sorted(j.levels), sorted(j.lanes)), flush=True)
    return j
