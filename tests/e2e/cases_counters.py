# SPDX-License-Identifier: BSD-2-Clause
"""Error counters that weftd reads and tells of, held against what perfquery and ibqueryerrors see.
The fabric is a fat tree of radix 4."""
import re
import tempfile

import fabrics
from cases_change import events, trunk
from cases_congestion import lids
from cases_drain import place
from lab import Lab, need, wait_for
from manager import Weftd

INTERVAL = "    health: {counters_interval: 2s, release_after: 1s%s}\n"
SHOWN = {       # by weft: as perfquery calls it
    "symbol_errors": "SymbolErrorCounter", "link_downed": "LinkDownedCounter",
    "rcv_errors": "PortRcvErrors", "xmit_discards": "PortXmitDiscards",
    "vl15_dropped": "VL15Dropped", "buffer_overrun_errors": "ExcessiveBufferOverrunErrors",
}


def sweep(m):
    return m.json("show", "counters")["last_sweep"]


def one(m, word):
    """The only event of health that has the word; None while there is none."""
    found = [e for e in events(m, "health") if word in e["text"]]
    need(len(found) < 2, "told more than once: %s" % found)
    return found[0] if found else None


def same_as_perfquery(lab, m):
    """All that weftd shows, and no port is left out of which ibqueryerrors has something."""
    lid, ports = lids(lab), m.json("show", "counters")["ports"]
    for p in ports:
        wide = ["-x"] if p["bits"] == 64 else []
        text = lab.tool("perfquery", *wide, lid[p["node"]], str(p["port"]))
        for ours, theirs in SHOWN.items():
            value = int(re.search(r"^%s:\.*(\d+)$" % theirs, text, re.M).group(1))
            need(p["errors"][ours] == value, "%s of %s/%d is %d, perfquery has %d" %
                 (ours, p["node"], p["port"], p["errors"][ours], value))
    return ports


def found_at_first(lab, set_errors):
    """A port that had 65,535 symbol errors before weftd came is told of within two sweeps, with
    both ends of its cable."""
    a, b = trunk(lab)
    m = Weftd(lab, extra=INTERVAL % "")
    set_errors(a)
    m.start()
    m.wait_up()
    event = wait_for("the counter to be told", lambda: one(m, "symbol_errors stopped at 65535"), 60)
    need(sweep(m)["number"] <= 3, "told in sweep %d" % sweep(m)["number"])
    for name, port in (a, b):
        need("port %d of \"%s\"" % (port, name) in event["text"], event["text"])
    rows = m.json("show", "health")["health"]
    row = next(r for r in rows if r["condition"] == "errors")
    need(row["port"] == a[1] and row["errors"]["full"] and
         row["errors"]["peer_port"] == b[1], "%s" % row)
    need("stopped at 65535" in m.weft("show", "health")[0], m.weft("show", "health")[0])
    ports = same_as_perfquery(lab, m)
    need([(p["node"], p["port"]) for p in ports] == [a], "%s" % ports)
    return m


def test_counters_first():
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = found_at_first(lab, lambda a: lab.sim.ctl(
                "errors", place(a), "symbol_errors", "65535"))
            m.stop()


def test_counters_first_ibsim():
    """Without counters of 64 bits: it stays so until somebody clears the counter."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="ibsim") as lab:
            m = found_at_first(lab, lambda a: lab.sim.console(
                'PerformanceSet "%s"[%d] PortCounters.SymbolErrorCounter=65535' % a))
            need(m.json("show", "counters")["ports"][0]["bits"] == 16, "64 bits of ibsim")
            a, _ = trunk(lab)
            lab.tool("perfquery", "-R", lids(lab)[a[0]], str(a[1]))
            wait_for("it to be well", lambda: one(m, "well again (it counted errors)"), 90)
            m.stop()


def test_counters_rising():
    """Errors that come: told once, kept off the traffic, and well again when none come; what others
    read and clear meanwhile is right."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab, extra=INTERVAL % ", errors: drain")
            m.start()
            m.wait_up()
            a, b = trunk(lab)
            wait_for("a first reading", lambda: sweep(m)["number"] > 1, 60)
            need(sweep(m)["ports"] == 96 and sweep(m)["unread"] == 0, "%s" % sweep(m))
            lab.sim.ctl("errors", place(a), "rcv_errors", "20/s")
            lab.sim.ctl("errors", place(b), "link_recoveries", "1/s")
            wait_for("the cable to be drained", lambda: m.status()["drained_total"] == 1, 60)
            lab.tool("perfquery", "-R", lids(lab)[a[0]], str(a[1]))
            text, _ = m.weft("status")
            need("counts errors (" in text and "traffic is kept off" in text, text)
            lab.sim.ctl("errors", place(a), "rcv_errors", "0/s")
            lab.sim.ctl("errors", place(b), "link_recoveries", "0/s")
            wait_for("it to be well", lambda: m.status()["drained_total"] == 0, 120)
            need(len(events(m, "quarantined")) == 1, "%s" % events(m, "quarantined"))
            same_as_perfquery(lab, m)
            out, _ = m.weft("show", "counters")
            need("read every 2 s" in out and "link_recoveries" in out, out)
            m.write(extra="    health: {counters_interval: 0}\n")
            m.weft("reload")
            wait_for("nothing to be read", lambda: "are not read" in m.weft("show", "counters")[0],
                     20)
            m.stop()
