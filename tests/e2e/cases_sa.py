# SPDX-License-Identifier: BSD-2-Clause
"""The subnet administrator of weftd on weftsim: what it tells is held against packaged OpenSM's
answers on the same fabric, and OpenSM's own client makes its inventory of it."""
import contextlib
import re
import tempfile

import fabrics
import saquery
from bed_diags import Tools, count
from cases_osmtest import osmtest
from lab import Lab, need
from manager import Weftd

# Records of ft3 8 by GetTable; PIR, SWIR and SMIR print "dump:" twice each.
COUNTS = {"NR": 208, "PIR": 1696, "SWIR": 160, "LFTR": 320, "LR": 768, "SMIR": 2, "PR": 43264,
          "GIR": 208, "SL2VL": 6608, "VLAR": 3392, "--smkey 1 PKTR": 1616}


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


def both(name, queries, unneeded):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp, \
            Lab(fabrics.fabric(name, tmp), sim="weftsim") as lab:
        theirs, ours = saquery.both(lab, queries)
    saquery.judge(queries, ours, theirs, unneeded)
    return theirs, ours


def test_sa_like_opensm():
    """Whole tables, record by record."""
    for answers in both("ft3-8", COUNTS, False):
        for query, number in COUNTS.items():
            found = count(answers[query], "dump:")
            need(found == number, "saquery %s: %d records, not %d" % (query, found, number))


def test_sa_selectors():
    """Every type, option and selector of saquery."""
    both("ft3-4", saquery.QUERIES, True)


def test_sa_tools():
    """What asks the administrator behind the scenes: -G, whole fabrics, OpenSM's inventory."""
    with managed_by(Weftd, "ft3-8") as lab:
        t = Tools(lab)
        t.says("saquery CPI", "SA ClassPortInfo:")
        t.says("saquery -D", "H7_3_3")
        t.says("saquery -O 1", "H0_0_0")
        t.fails("saquery PKTR", "0x0200")
        t.fails("saquery --smkey 2 NR", "timed out")
        need(t("saquery NR 40000") == "", "a node of a LID that nobody has")
        need(t("saquery LR 2/99") == "", "a port that the switch has not")    # may crash OpenSM
        need(re.search(r"^  SA +[0-9]+ requests: ", lab.manager.weft("status")[0], re.M),
             "weft status tells nothing of the administrator")
        t.says("ibtracert -G 0x100001 0x100003", "lid", "H0_0_1")
        t.says("ibqueryerrors", "208 nodes checked, 0 bad nodes",
               "768 ports checked, 0 ports have errors")
        osmtest(lab, "c")
        saquery.tables_read(lab)
        osmtest(lab, "q")
