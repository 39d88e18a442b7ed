# SPDX-License-Identifier: BSD-2-Clause
"""The subnet administrator of weftd on weftsim: what it tells is held against packaged OpenSM's
answers on the same fabric, and OpenSM's own client makes its inventory of it.

The two number the LIDs otherwise, so records are compared without them: a PathRecord has GIDs, a
NodeRecord GUIDs. A port of a switch shows no GUID, and its LocalPort is the one that it was asked
through, which is another on each way; nor does weftd enforce partitions at switches.
"""
import collections
import contextlib
import re
import tempfile

import fabrics
from bed_diags import Tools, count
from cases_osmtest import osmtest
from lab import Lab, need
from manager import OpenSM, Weftd

# Records of ft3 8; PIR and SWIR print "dump:" twice each.
COUNTS = {"NR": 208, "PIR": 1696, "SWIR": 160, "LFTR": 320, "LR": 768, "SMIR": 2, "PR": 43264}
COMPARED = ("NR", "PIR", "SWIR", "PR")
OWN = re.compile(r"\b[a-z]*_?lid\b|LID|Lid|LocalPort|PartEnforce|SMLid|sm_lid")


@contextlib.contextmanager
def managed_by(kind, name):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp), sim="weftsim") as lab:
            m = kind(lab)
            m.start()
            m.wait_up()
            lab.manager = m
            yield lab
            need(m.process.alive(), "the subnet manager has ended")
            m.stop()


def records(text):
    """Each record as its lines, without what depends on LIDs."""
    found = collections.Counter()
    for record in re.split(r"^.*dump:$", text, flags=re.M)[1:]:
        found["\n".join(x.strip() for x in record.splitlines() if not OWN.search(x))] += 1
    return found


def answers(kind, name):
    with managed_by(kind, name) as lab:
        t = Tools(lab)
        return {query: t("saquery " + query) for query in COUNTS}


def test_sa_like_opensm():
    """Whole tables, record by record."""
    ours, theirs = answers(Weftd, "ft3-8"), answers(OpenSM, "ft3-8")
    for query, number in COUNTS.items():
        for text in (ours[query], theirs[query]):
            need(count(text, "dump:") == number, "saquery %s: %d records, not %d" %
                 (query, count(text, "dump:"), number))
    for query in COMPARED:
        a, b = records(ours[query]), records(theirs[query])
        need(a == b, "saquery %s: weftd says %s, OpenSM %s" %
             (query, list((a - b).elements())[:2], list((b - a).elements())[:2]))


def test_sa_tools():
    """What asks the administrator behind the scenes: -G, whole fabrics, OpenSM's inventory."""
    with managed_by(Weftd, "ft3-8") as lab:
        t = Tools(lab)
        t.says("saquery CPI", "SA ClassPortInfo:")
        t.says("saquery -D", "H7_3_3")
        t.says("saquery -O 1", "H0_0_0")
        t.fails("saquery SL2VL", "0x000c")
        t.fails("saquery MFTR", "0x000c")
        t.fails("saquery --smkey 2 NR", "timed out")
        need(t("saquery NR 40000") == "", "a node of a LID that nobody has")
        need(re.search(r"^  SA +[0-9]+ requests: ", lab.manager.weft("status")[0], re.M),
             "weft status tells nothing of the administrator")
        t.says("ibtracert -G 0x100001 0x100003", "lid", "H0_0_1")
        t.says("ibqueryerrors", "208 nodes checked, 0 bad nodes",
               "768 ports checked, 0 ports have errors")
        osmtest(lab, "c")
