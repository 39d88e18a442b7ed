# SPDX-License-Identifier: BSD-2-Clause
"""Partitions: P_Key tables and what switches enforce, read back from the devices by
infiniband-diags from another host. OpenSM with a file that says the same is the measure."""
import os
import re
import signal
import tempfile

import fabrics
from lab import Lab, need, wait_for
from manager import OpenSM, Weftd

SAID = """groups:
  - {name: second, nodes: H0_0_1}
partitions:
  - {name: default, pkey: 0x7fff, members: [{nodes: all}]}
  - {name: blue, pkey: 0x8001, members: ["group:second", self]}
  - name: red
    pkey: 2
    members:
      - {nodes: H0_0_1, membership: limited}
      - {nodes: %s, membership: full}
      - {nodes: all-switches, membership: limited}
  - {name: grey, pkey: 3, members: [{nodes: [H0_1_0, H1_1_1], membership: limited}]}
"""
SAID_TO_OPENSM = """Default=0x7fff,indx0: ALL=full;
blue=0x8001,defmember=full: 0x100003, SELF;
red=0x0002: 0x100003=limited, 0x100005=full, ALL_SWITCHES=limited;
grey=0x0003: 0x100005=limited, 0x10000f=limited;
"""
HOSTS = {"H0_0_0": "0x100001", "H0_0_1": "0x100003", "H0_1_0": "0x100005", "H1_1_1": "0x10000f"}
LEAF = "0x200000"


def keys(lab, guid, port=1):
    """P_Keys of a port, without the holes at the end."""
    text = lab.tool("smpquery", "-G", "pkeys", guid, str(port))
    found = [int(k, 16) for row in re.findall(r"^ *\d+: (.*)", text, re.M) for k in row.split()]
    while found and not found[-1]:
        found.pop()
    return found


def enforced(lab, guid, port):
    text = lab.tool("smpquery", "-G", "portinfo", guid, str(port))
    return tuple(int(re.search(r"PartEnforce%s:\.*(\d)" % way, text).group(1))
                 for way in ("Inb", "Outb"))


def tables(lab):
    seen = {name: keys(lab, guid) for name, guid in HOSTS.items()}
    seen["L0_0"] = keys(lab, LEAF, 0)
    for port in range(1, 5):
        seen["L0_0/%d" % port] = sorted(keys(lab, LEAF, port)), enforced(lab, LEAF, port)
    return seen


def under_opensm(net):
    with Lab(net, sim="weftsim") as lab:
        m = OpenSM(lab)
        path = os.path.join(lab.dir, "partitions.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(SAID_TO_OPENSM)
        m.start("-P", path)
        m.wait_up()
        seen = tables(lab)
        m.stop()
    return seen


def test_partitions_like_opensm():
    """The same P_Keys at the same places, the same enforced; then one member moves: two hosts and
    their switches' ports change, and no index of anybody; a restart writes nothing."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-4", tmp)
        theirs = under_opensm(net)
        with Lab(net, sim="weftsim") as lab:
            m = Weftd(lab, top=SAID % "H0_1_0")
            m.start()
            m.wait_up()
            ours = tables(lab)
            for port, table in theirs.items():
                need(ours[port] == table, "%s: weftd %s, OpenSM %s" % (port, ours[port], table))
            need(ours["H0_0_1"] == [0xffff, 0x8001, 2], "not as said: %s" % ours["H0_0_1"])
            m.write(top=SAID % "H1_1_1")
            told, _ = m.weft("reload", "--dry-run")
            need("0x0002 H0_1_0/1: full -> none" in told and "1 gained, 1 lost" in told and
                 "0x0002 H1_1_1/1: none -> full" in told, "a rehearsal says: %s" % told)
            m.weft("reload")
            wait_for("the member to have moved", lambda: keys(lab, HOSTS["H1_1_1"]) ==
                     [0xffff, 3, 0x8002] and keys(lab, HOSTS["H0_1_0"]) == [0xffff, 0, 3], 20)
            m.stop()
            m.start()
            m.wait_up()
            need(keys(lab, HOSTS["H0_1_0"]) == [0xffff, 0, 3], "a restart moved a key")
            m.stop()


def test_partitions_paths():
    """Limited members of a partition do not meet by it; nor does who is none."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-4", tmp)
        with Lab(net, sim="weftsim") as lab:
            m = Weftd(lab, top=SAID % "H0_1_0")
            m.start()
            m.wait_up()

            def path(a, b, key):
                prefix = "fe80:0000:0000:0000:0000:0000:0010:00"
                out = lab.tool("saquery", "PR", "--sgid", prefix + HOSTS[a][-2:],
                               "--dgid", prefix + HOSTS[b][-2:], "--pkey", key, status=None)
                return "dlid" in out

            for a, b, key, wanted in (("H0_0_1", "H0_1_0", "0x8002", True),
                                      ("H0_1_0", "H0_0_1", "2", True),
                                      ("H0_1_0", "H1_1_1", "3", False),
                                      ("H0_0_1", "H0_0_0", "1", True),
                                      ("H0_0_1", "H1_1_1", "1", False),
                                      ("H0_1_0", "H1_1_1", "0xffff", True)):
                need(path(a, b, key) == wanted, "a path from %s to %s by %s is %s" %
                     (a, b, key, "missing" if wanted else "told"))
            m.stop()


GROUPS = """partitions:
  - {name: default, pkey: 0x7fff, members: [{nodes: all}], ipoib: {mtu: 4096, rate: 100Gb}}
  - {name: blue, pkey: 5, members: [{nodes: all}], ipoib: {mtu: 1024, scopes: [2, 5]}%s}
"""
MORE = ', multicast: [{mgid: "ff12:601b:8005::1:ff00:1", mtu: 2048}]'


def groups(lab):
    """MGID -> P_Key, MTU and rate codes."""
    text = lab.tool("saquery", "MCMR")
    seen = {}
    for record in text.split("MCMember Record")[1:]:
        said = dict(re.findall(r"(\w+)\.+(\S+)", record))
        seen[said["MGID"]] = (int(said["pkey"], 16), int(said["mtu"], 16) & 63,
                              int(said["rate"], 16) & 63)
    return seen


def test_partitions_groups():
    """Groups that the configuration names are there without members (case M3: MTU in bytes and rate
    in words), one that it does not name any more goes."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-4", tmp)
        with Lab(net, sim="weftsim") as lab:
            m = Weftd(lab, top=GROUPS % MORE)
            m.start()
            m.wait_up()
            seen = groups(lab)
            wanted = {"ff12:401b:ffff::ffff:ffff": (0xffff, 5, 16),
                      "ff12:401b:8005::ffff:ffff": (0x8005, 3, 3),
                      "ff15:401b:8005::ffff:ffff": (0x8005, 3, 3),
                      "ff12:601b:8005::1:ff00:1": (0x8005, 4, 3)}
            need(seen == wanted, "the groups are %s" % seen)
            m.write(top=GROUPS % "")
            m.weft("reload")
            del wanted["ff12:601b:8005::1:ff00:1"]
            wait_for("the group to go", lambda: groups(lab) == wanted, 20)
            m.stop()


def test_partitions_commands():
    """What commands change is in the devices when they have ended, is rehearsed before, comes back
    after a kill, and holds for a host that comes later within two seconds."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-4", tmp)
        with Lab(net, sim="weftsim") as lab:
            m = Weftd(lab, top=SAID % "H0_1_0")
            m.start()
            m.wait_up()
            before = tables(lab)
            seen = m.json("partition", "add", "gold", "H1_1_1", "0x100001", "0xabc", "--dry-run")
            need([(p["node"], p["pkey"], p["before"], p["after"]) for p in seen["ports"]] ==
                 [("H0_0_0", 4, None, "full"), ("H1_1_1", 4, None, "full")] and
                 seen["pending"] == 1, "the rehearsal says %s" % seen)
            need(tables(lab) == before, "a rehearsal changed tables")
            m.weft("partition", "add", "gold", "H1_1_1", "0x100001", "0xabc")
            need(keys(lab, HOSTS["H1_1_1"]) == [0xffff, 3, 0x8004], "not as commanded")
            need(0x8004 in keys(lab, LEAF, 1) + keys(lab, LEAF, 2), "the switch has it not")
            _, err = m.weft("partition", "member", "remove", "red", "0x100005", status=1)
            need("by the configuration" in err, "refused by: %s" % err)
            m.weft("partition", "check", "H0_0_0", "H1_1_1", "--pkey", "4")
            _, err = m.weft("partition", "check", "H0_1_0", "H1_1_1", "--pkey", "3", status=1)
            need("both are limited members of grey" in err, "no path because: %s" % err)
            m.process.stop(signal.SIGKILL)
            m.start()
            m.wait_up()
            shown = {p["name"]: p for p in m.json("show", "partitions", "--members")["partitions"]}
            need(shown["gold"]["origin"] == "command" and shown["red"]["origin"] == "file" and
                 sorted(p["node"] for p in shown["gold"]["members"]) == ["H0_0_0", "H1_1_1"] and
                 [p["guid"] for p in shown["gold"]["pending"]] == ["0x0000000000000abc"],
                 "shown is %s" % shown["gold"])
            need(keys(lab, HOSTS["H1_1_1"]) == [0xffff, 3, 0x8004], "lost by a kill")
            m.weft("partition", "remove", "gold")
            need(tables(lab) == before, "what was commanded stays")
            m.stop()
