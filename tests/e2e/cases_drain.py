# SPDX-License-Identifier: BSD-2-Clause
"""What an administrator takes from the traffic, or asks the loss of."""
import proof
from cases_change import PROVED, events, proved, running, trunk
from lab import need, wait_for


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
