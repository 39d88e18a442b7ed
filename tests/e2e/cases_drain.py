# SPDX-License-Identifier: BSD-2-Clause
"""What an administrator takes from the traffic, or asks the loss of."""
import tempfile

import fabrics
import proof
from cases_change import PROVED, events, proved, running, trunk
from lab import Lab, need, wait_for
from manager import Weftd


def place(end):
    return "%s/%d" % end


def test_fail():
    """A loss is foretold, changes nothing, and costs what was foretold."""
    with running("ft3-4") as (lab, m):
        tables = proof.tables_only(proof.dump_tables(lab))
        a, b = trunk(lab)
        told = m.json("fail", place(a), "--dry-run")
        need(told["cables"] == 1 and told["entries"] > 0, "the foretelling: %r" % told)
        need(told["cut_off"] == 0 and told["load_after"] >= told["load_before"] >= 1,
             "the foretelling: %r" % told)
        host = m.json("fail", lab.net.hosts()[-1], "--dry-run")
        need(host["cut_off"] == 2 * (len(lab.net.hosts()) - 1), "loss of a host: %r" % host)
        need(proof.tables_only(proof.dump_tables(lab)) == tables, "foretelling changed tables")
        _, err = m.weft("fail", place(b), status=2)
        need("--dry-run" in err, "fail without --dry-run: " + err)
        lab.unplug(*a)
        wait_for("event link-down", lambda: events(m, "link-down"))
        m.weft("wait", "--timeout", str(PROVED))
        wait_for("new tables proved", lambda: proved(lab), PROVED)


def test_drain():
    """Traffic leaves a cable and a switch that stay up; a restart does not bring it back."""
    with running("ft3-4") as (lab, m):
        before = proof.tables_only(proof.dump_tables(lab))
        a, b = trunk(lab)
        spine = b[0]
        m.weft("drain", place(a), "--dry-run")
        need(proof.tables_only(proof.dump_tables(lab)) == before, "a dry run changed tables")
        m.weft("drain", place(a))
        need(proved(lab), "the tables with a drained cable")
        links = m.json("show", "links")["links"]
        need(sum(link["drained"] for link in links) == 1, "show links: one is drained")
        need(all(link["state"] == "active" for link in links), "a drained cable is not active")
        _, err = m.weft("drain", place(b), status=1)
        need("already" in err, "drained by the other end: " + err)
        m.weft("drain", spine)
        need(proved(lab), "the tables with a drained switch")
        need(m.status()["drained_total"] == 2, "status: %r" % m.status()["drained"])
        m.stop()
        m.start()
        m.wait_up()
        need(m.status()["drained_total"] == 2, "drained, after a restart")
        need(m.json("check")["ok"], "weft check after a restart")
        need("no cable is drained any more" in m.weft("undrain", spine)[0], "the answer to undrain")
        m.weft("undrain", place(a), status=1)
        need(m.status()["drained_total"] == 0, "status: %r" % m.status()["drained"])
        need(proved(lab), "the tables with all cables")


def babbles(lab, end):
    """It has so many link errors that it sends a trap as often as it may."""
    lab.sim.ctl("every", "1100ms", "times", "14", "trap", place(end), "129")


def test_babbling():
    """A cable of a port that babbles carries no traffic; another port that does is disabled when
    the configuration says so, till somebody undrains it."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab, extra="    health: {babbling: drain}\n")
            m.start()
            m.wait_up()
            a, _ = trunk(lab)
            babbles(lab, a)
            wait_for("the cable to be drained", lambda: m.status()["drained_total"] == 1, 60)
            wait_for("tables without it", lambda: m.status()["drained_links"] == 1, 20)
            m.weft("wait", "--timeout", str(PROVED))
            need(m.status()["drained"][0]["reason"] == "babbling", "%s" % m.status()["drained"])
            text, _ = m.weft("status")
            need(place(a) + " (babbling)" in text and "is babbling" in text, text)
            need(m.json("check")["ok"] and proved(lab), "the tables without the cable")
            row = m.json("show", "health")["health"][0]
            need(row["condition"] == "babbling" and row["action"] == "drain", "%s" % row)
            need("kept off until it is well" in m.weft("show", "health")[0],
                 m.weft("show", "health")[0])
            m.weft("undrain", place(a))
            need(m.status()["drained_total"] == 0, "undrained: %s" % m.status()["drained"])
            m.write(extra="    health: {babbling: disable}\n")
            m.weft("reload")
            host = ("L2_0", 1)
            babbles(lab, host)
            wait_for("the port to be disabled", lambda: m.status()["hosts"] == 15, 60)
            text, _ = m.weft("status")
            need("babbling, and disabled" in text, "no warning: " + text)
            m.weft("undrain", place(host))
            wait_for("the host to be back", lambda: m.status()["hosts"] == 16, 60)
            m.weft("wait", "--timeout", str(PROVED))
            need(proved(lab), "the tables with all")
            m.stop()
