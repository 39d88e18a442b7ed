# SPDX-License-Identifier: BSD-2-Clause
"""What the plan must hold: LIDs of before, LMC, the share of slow and of parallel cables."""
import collections
import contextlib
import re
import tempfile

import fabrics
import proof
from lab import Lab, need, wait_for
from manager import Weftd

FIRST, LAST = 1, 0xbfff         # unicast LIDs


@contextlib.contextmanager
def fresh(name="ft3-4"):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp)) as lab:
            yield lab


def lid_of(lab, seen, index):
    """The LID of the host with that place in the file; its description is its name there."""
    name = lab.net.hosts()[index]
    return next(lid for lid, desc in seen.ports.values() if desc == name)


def test_lids_that_collide():
    """Two hosts hold one LID, one holds a good one, one holds none: the good one stays, one of the
    two keeps theirs, and no two are alike."""
    with fresh() as lab:
        names = lab.net.hosts()
        for index, lid in ((2, 5), (3, 5), (4, 77), (5, 49000)):
            lab.sim.lid(names[index], lid)
        wait_for("the simulator to take them", lambda: re.search(
            r"Lid:\.*77\n", lab.tool("smpquery", "portinfo", "-D", "0", host=names[4])))
        Weftd(lab).once()
        seen, _, _ = proof.everything(lab)
        need(lid_of(lab, seen, 4) == 77, "a good LID was taken away")
        need(5 in (lid_of(lab, seen, 2), lid_of(lab, seen, 3)), "nobody kept the LID of two")
        need(all(FIRST <= x <= LAST for x in seen.lids), "LIDs out of range")


def test_neighbours():
    """Hosts of one leaf that are new get neighbouring LIDs."""
    with fresh() as lab:
        Weftd(lab).once()
        seen = proof.discover(lab)
        leaves = collections.defaultdict(list)
        for host in lab.net.hosts():
            lid = next(x for x, desc in seen.ports.values() if desc == host)
            leaves[lab.net.cables[(host, 1)][0]].append(lid)
        for leaf, lids in leaves.items():
            need(max(lids) - min(lids) == len(lids) - 1, "the hosts of %s have the LIDs %s" %
                 (leaf, sorted(lids)))


def test_lmc():
    """Two LIDs a host, aligned, none shared, each of them routed."""
    with fresh() as lab:
        Weftd(lab, extra="    lmc: 1\n").once()
        seen, tables, _ = proof.everything(lab)
        lids = seen.host_lids()
        need(all(lid % 2 == 0 for lid in lids), "base LIDs are not aligned: %s" % lids[:8])
        need(len(seen.lids) == 2 * len(lids) + len(seen.switches), "not two LIDs a host")
        for guid, table in tables.items():
            missing = [x for x in seen.lids if x not in table and x != max(seen.lids)]
            need(not missing, "switch %s has no entry for %s" % (guid, missing[:5]))
        proof.trace(lab, lids[0], lids[-1] + 1)


def test_slow_cable():
    """A trunk that runs at a fifth of the speed of the five beside it gets about a fifth of what
    each of them gets, and they get equal shares."""
    with fresh("edr_2tier_4leaf_2spine_par6.ibnd") as lab:
        Weftd(lab).once()
        seen, tables, _ = proof.everything(lab)
        leaf = next(s for s in lab.net.switches() if s.endswith("8480"))
        spine = lab.net.cables[(leaf, 11)][0]
        trunks = [p for (n, p), (r, _) in lab.net.cables.items() if n == leaf and r == spine]
        guid = next(g for g in tables if g.endswith(leaf[-12:]))
        hosts = set(seen.host_lids())
        use = collections.Counter(p for lid, p in tables[guid].items() if lid in hosts)
        good = [use[p] for p in trunks if p != 11]
        print("leaf %s to %s: slow %d, good %s" % (leaf, spine, use[11], good))
        need(use[11] <= max(good) / 3, "the slow cable has %d, the others %s" % (use[11], good))
        need(max(good) - min(good) <= 1, "equal cables have unequal shares: %s" % good)


def test_early_end():
    """SIGTERM in the middle of a bring-up ends it at once and cleanly."""
    with fresh("ft3-8") as lab:
        m = Weftd(lab)
        p = m.start()
        p.wait_text("discovering")
        status = p.stop(seconds=10)
        need(status == 0, "it ended with %s" % status)
