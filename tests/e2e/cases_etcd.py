# SPDX-License-Identifier: BSD-2-Clause
"""State beyond one host: weftds that share a real etcd of three members, which are killed, stopped
and emptied. Nothing of the fabric waits for it, and what it does not have is said."""
import contextlib
import signal

from bed_diags import served
from cases_ha import leads, started_standby
from etcd import Etcd
from lab import need, wait_for
from manager import Weftd


def shared(m):
    """What `show ha` says of etcd."""
    return m.json("show", "ha")["subnets"][0]["etcd"]


def state(m, wanted, seconds=40):
    wait_for("etcd to be told as \"%s\"" % wanted, lambda: shared(m)["state"] == wanted, seconds)


def top(etcd):
    return "etcd: {endpoints: [%s], prefix: /weft/lab}\n" % ", ".join(
        '"%s"' % url for url in etcd.urls)


@contextlib.contextmanager
def bed(fabric="ft3-4", members=3):
    """A lab, a cluster, and weftd that leads and has told all."""
    with served(fabric) as lab, Etcd(lab.dir, members=members) as etcd:
        m = Weftd(lab, top=top(etcd))
        m.start()
        m.wait_up()
        state(m, "has all")
        yield lab, etcd, m


def test_etcd_away():
    """One member of three is killed: nothing changes. Two: etcd is away, told once, and the fabric
    is managed as before; they come back, and it has all. One that leads is stopped: the same."""
    with bed() as (lab, etcd, m):
        known = len(etcd.keys("/weft/lab/lids/"))
        need(known == len(lab.net.kind), "%d LIDs in etcd, %d nodes" % (known, len(lab.net.kind)))
        etcd.kill(0)
        m.weft("partition", "add", "a")
        need(shared(m)["state"] == "has all", "away though two members of three are there")
        etcd.kill(1)
        state(m, "away")
        reasons = m.json("show", "ha")["subnets"][0]["reasons"]
        need(any("etcd is away since" in r for r in reasons), "reasons: %s" % reasons)
        m.weft("partition", "add", "b")
        need(shared(m)["unsent"] > 0, "nothing is unsent")
        node = lab.net.hosts()[-1]
        lab.unplug(node)
        wait_for("a sweep", lambda: m.status()["hosts"] == len(lab.net.hosts()) - 1)
        lab.plug(node)
        m.weft("wait")
        etcd.start(0)
        etcd.start(1)
        state(m, "has all")
        need(len(etcd.keys("/weft/lab/partitions/lab/partition/")) == 2, "a partition is missing")
        events = [e["text"] for e in m.json("show", "events", "--type", "state")["events"]]
        need(len([e for e in events if "is away" in e]) == 1, "events: %s" % events)
        need(len([e for e in events if "is back" in e]) == 1, "events: %s" % events)
        m.stop()
