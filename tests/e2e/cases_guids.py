# SPDX-License-Identifier: BSD-2-Clause
"""Alias GUIDs, set and freed by programs on simulated hosts and read back from the devices by
infiniband-diags. What OpenSM answers to the same requests is the measure; where the subnet manager
chooses a GUID any will do."""
import os
import re
import sys
import tempfile

import fabrics
from lab import Lab, need, wait_for
from manager import OpenSM, Weftd

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_client.py")
# On one host, then on another: what is free, taken, out of bounds, of our choice, freed twice.
FIRST = ("set:0:0:1=5555", "set:0:0:1=5555", "set:0:0:2=0", "set:0:0:2=0", "set:0:0:1=6666,3=7777",
         "set:0:0:4=6666", "set:0:0:", "set:0:1:0=1", "set:0:254:1=1", "set:0:255:1=1",
         "set:40000:0:1=4", "delete:0:1:0", "delete:0:255:7", "set:0:0:7=9999")
SECOND = ("set:0:0:1=5555", "set:0:0:1=6666", "set:0:0:2=100001", "set:0:0:1=8888,2=6666",
          "delete:0:0:1", "delete:0:0:1", "delete:0:0:")
LATER = ("delete:0:0:2,3", "set:0:0:2=0", "set:0:0:5=5555")


def ask(lab, host, *words, status=0):
    """The answers, of which each is "STATUS GUID0 ... GUID7"."""
    out, _ = lab.run([sys.executable, CLIENT, "guids"] + list(words), host, status=status)
    return out.splitlines()


def refused(lab, host, word):
    return ask(lab, host, word)[0].split()[0]


def transcript(kind, netfile):
    """All answers, GUIDs of the manager's choice as "ours"; refused ones by status alone."""
    with Lab(netfile, sim="weftsim") as lab:
        m = kind(lab)
        m.start()
        m.wait_up()
        lines = ask(lab, "H1_0_0", *FIRST) + ask(lab, "H2_0_0", *SECOND) + \
            ask(lab, "H1_0_0", *LATER)
        need(refused(lab, "H1_0_0", "set:0:0:0=1,5=4444") == "0x0200", "the own GUID was changed")
        lid = lab.tool("saquery", "-L", "H1_0_0").split()[-1]
        holds(lab, lid, *lines[-1].split()[2:7])
        m.stop()
    chosen = lines[2].split()[3]
    need(int(chosen, 16) and lines[3] == lines[2] and lines[-2].split()[3] == chosen,
         "the GUID of the manager's choice is not the same again: %s" % lines)
    return [x.replace(chosen, "ours") if x.startswith("0x0000") else x.split()[0] for x in lines]


def device_guids(lab, lid, status=0):
    """Those of the first block, but the port's own."""
    text = lab.tool("smpquery", "guidinfo", lid, status=status)
    rows = re.findall(r"^ *\d+: 0x([0-9a-f]{16}) 0x([0-9a-f]{16})", text, re.M)
    return ["%x" % int(g, 16) for row in rows for g in row][1:8]


def holds(lab, lid, *guids):
    """It does before long: guids 1, 2, ... (just after a reboot nobody answers at that LID)."""
    wait_for("the device to hold " + " ".join(guids),
             lambda: device_guids(lab, lid, None)[:len(guids)] == list(guids), 20)


def test_guids_like_opensm():
    """The same answers, and the same in the device at the end."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-4", tmp)
        ours, theirs = transcript(Weftd, net), transcript(OpenSM, net)
        for word, a, b in zip(FIRST + SECOND + LATER, ours, theirs):
            need(a == b, "%s: weftd answers %s, OpenSM %s" % (word, a, b))


def test_guids_table():
    """Every block of every port, empty ones too, as OpenSM tells it; and where a GUIDCap of 32
    gives four blocks to a host and one of 1 one to a switch."""
    tables = []
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-8", tmp)
        for kind, sim, wanted in ((Weftd, "weftsim", 208), (Weftd, "ibsimlike", 592),
                                  (OpenSM, "ibsimlike", 592)):
            with Lab(net, sim=sim) as lab:
                m = kind(lab)
                m.start()
                m.wait_up()
                ask(lab, "H1_0_0", "set:0:%d:2=5555" % (0 if sim == "weftsim" else 3))
                text = lab.tool("saquery", "GIR")
                need(text.count("dump:") == wanted, "%d records" % text.count("dump:"))
                need("0000005555" in text, "the alias is not told")
                tables.append(sorted(" ".join(re.findall(r"(?:Block|GUID)[ .0-9]+\w+", x))
                                     for x in text.split("dump:")[1:]))
                m.stop()
    need(tables[1] == tables[2], "OpenSM tells another table")


def dgid_path(lab, guid):
    return lab.tool("saquery", "PR", "--sgid-to-dgid", "fe80::10:1-fe80::%x" % guid)


def test_guids_kept():
    """An alias names its port in questions, is there again after a reboot of the host and after a
    restart of weftd, belongs to one port, and may be changed by that port or who is trusted."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            ask(lab, "H1_0_0", "set:0:0:1=abcd,3=0")
            lid = lab.tool("saquery", "-L", "H1_0_0").split()[-1]
            chosen = device_guids(lab, lid)[2]
            for word in ("set:%s:0:5=aaaa", "delete:%s:0:1"):
                need(refused(lab, "H2_0_0", word % lid) == "0x0700", "changed by somebody else")
            path = dgid_path(lab, 0xabcd)
            need(re.search(r"dgid\.+fe80::abcd$", path, re.M) and
                 re.search(r"dlid\.+%s$" % lid, path, re.M), "no path to the alias: " + path)
            lab.sim.ctl("reboot", "H1_0_0")
            holds(lab, lid, "abcd", "0", chosen)
            m.stop()
            lab.sim.ctl("reboot", "H1_0_0")
            m.start()
            m.wait_up()
            holds(lab, lid, "abcd", "0", chosen)
            need(ask(lab, "H1_0_0", "set:0:0:5=0,3=0")[0].split()[4] == chosen, "another GUID")
            ask(lab, "H1_0_0", "delete:0:0:1,3,5")
            holds(lab, lid, "0", "0", "0")
            _, err = lab.run(["saquery", "PR", "--sgid-to-dgid", "fe80::10:1-fe80::abcd"],
                             lab.far(), status=None)
            need("0x0500" in err, "a path to what was freed: " + err)
            m.stop()


def test_guids_in_order():
    """Changes of one entry that wait for no answer are taken in the order of their arrival: the
    GUIDs of each answer are those after its own change."""
    number = int(os.environ.get("REQUESTS", "4000"))
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            out, _ = lab.run([sys.executable, CLIENT, "pipeline", str(number), "20"], "H1_0_0",
                             seconds=900)
            need("all %d in order" % number in out, out[-500:])
            lid = lab.tool("saquery", "-L", "H1_0_0").split()[-1]
            holds(lab, lid, "0", "0")
            need(m.process.alive(), "weftd has ended")
            m.stop()
