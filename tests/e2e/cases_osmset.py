# SPDX-License-Identifier: BSD-2-Clause
"""What packaged OpenSM writes into simulated devices by its options, read back by smpquery.

The expected values are those of its configuration (opensm(8)); the fabric is a fat tree of radix 4:
H<pod>_<leaf>_<i> on port i + 1 of L<pod>_<leaf>, whose ports 3 and 4 go up.
"""
import contextlib
import os
import re
import tempfile

import proof
from cases_osm import netfile, nothing_lost, quiet
from lab import Lab, need
from manager import OpenSM

NO_SWEEPS = ("-s", "0")     # only traps wake it
QOS = """qos TRUE
qos_high_limit 3
qos_vlarb_high 0:4,1:8,2:12
qos_vlarb_low 0:1,1:2,2:3,3:4,4:5,5:6,6:7,7:8
qos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,15
qos_swe_high_limit 200
qos_swe_vlarb_high 7:1
qos_swe_vlarb_low 0:9,1:10
qos_swe_sl2vl 7,6,5,4,3,2,1,0,7,6,5,4,3,2,1,15
"""
PARTITIONS = """Default=0x7fff, ipoib, indx0: ALL=full;
blue=0x8001, ipoib, defmember=full: 0x100003, SELF;
red=0x0002: 0x100003=limited, 0x100007=both, ALL_SWITCHES=limited;
grp=0x0003, ipoib: ALL=full;
"""
KEY = "0x1234567890abcdef"


@contextlib.contextmanager
def opensm(name="ft3 4", config="", *options, **kw):
    """A fabric that OpenSM has brought up without a word of complaint, and it still runs."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(netfile(name, tmp), sim="weftsim") as lab:
            path = os.path.join(lab.dir, "opensm.conf")
            with open(path, "w", encoding="ascii") as f:
                f.write(config)
            m = OpenSM(lab, **kw)
            m.start("-F", path, *(options + NO_SWEEPS))
            m.wait_up()
            quiet(m.process)
            nothing_lost(lab)
            yield lab, m
            m.stop()


def query(lab, *words, **kw):
    """One smpquery: the numbers of a table row by row, behind the | of each."""
    text = lab.tool("smpquery", *words, **kw)
    return [[int(x, 0) for x in re.findall(r"(\w+) *\|", line.split(": |", 1)[1])]
            for line in text.splitlines() if ": |" in line and "SL: |" not in line]


def field(lab, name, *words):
    text = lab.tool("smpquery", *words)
    m = re.search(r"^%s:\.*(.*)$" % name, text, re.M)
    need(m, "smpquery %s shows no %s" % (" ".join(words), name))
    return m.group(1)


def lid_of(lab, name):
    """A node's LID by its name."""
    seen = proof.discover(lab)
    found = [lid for lid, n in list(seen.ports.values()) + list(seen.switches.values())
             if n == name]
    need(found, "there is no %s" % name)
    return str(found[0])


def padded(values, size=8):
    return values + [0] * (size - len(values))


def test_osm_qos():
    """SL to VL and VL arbitration tables of hosts and switches."""
    with opensm(config=QOS) as (lab, _):
        host, leaf = lid_of(lab, "H1_0_0"), lid_of(lab, "L1_0")
        need(query(lab, "sl2vl", host) == [list(range(8)) + list(range(7)) + [15]],
             "SL to VL of a host")
        rows = query(lab, "sl2vl", leaf, "3")
        down = list(range(7, -1, -1))
        need(rows == [down + down[:7] + [15]] * 5, "SL to VL of a switch: %s" % rows)
        for lid, port, tables, limit in (
                (host, "1", [list(range(8)), list(range(1, 9)), padded([0, 1, 2]),
                             padded([4, 8, 12])], "3"),
                (leaf, "3", [padded([0, 1]), padded([9, 10]), padded([7]), padded([1])], "200")):
            rows = query(lab, "vlarb", lid, port)
            need(rows == tables, "VL arbitration at LID %s: %s" % (lid, rows))
            found = field(lab, "VLHighLimit", "portinfo", lid, port)
            need(found == limit, "VLHighLimit at LID %s is %s" % (lid, found))


def keys(lab, *words):
    """A P_Key table without its empty entries."""
    text = lab.tool("smpquery", "pkeys", *words)
    rows = re.findall(r"^ *\d+: (.*)$", text, re.M)
    need(rows, "smpquery pkeys %s: %s" % (" ".join(words), text))
    return [k for row in rows for k in re.findall(r"0x([0-9a-f]{4})", row) if k != "0000"]


def test_osm_partitions():
    """P_Key tables of hosts and switches, and their enforcement at leaf ports alone."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(PARTITIONS)
        f.flush()
        with opensm("ft3 4", "part_enforce both\nallow_both_pkeys TRUE\n", "-P", f.name) as (
                lab, _):
            sm, second, fourth, leaf = (lid_of(lab, n) for n in
                                        ("H0_0_0", "H0_0_1", "H0_1_1", "L0_0"))
            for what, found, wanted in (
                    ("the SM's host", keys(lab, sm), "ffff 8001 8003"),
                    ("H0_0_1", keys(lab, second), "ffff 8001 0002 8003"),
                    ("H0_1_1", keys(lab, fourth), "ffff 8002 0002 8003"),
                    ("L0_0 itself", keys(lab, leaf, "0"), "ffff 0002 8003"),
                    ("L0_0 port 2", keys(lab, leaf, "2"), "ffff 8001 0002 8003")):
                need(sorted(found) == sorted(wanted.split()), "P_Keys of %s: %s" % (what, found))
            for port, wanted in (("1", "1"), ("2", "1"), ("3", "0"), ("4", "0")):
                for way in ("PartEnforceInb", "PartEnforceOutb"):
                    found = field(lab, way, "portinfo", leaf, port)
                    need(found == wanted, "%s of L0_0 port %s is %s" % (way, port, found))


def answers(lab, *words):
    out, err = lab.run(["smpquery", "-t", "100"] + list(words), lab.far(), status=None)
    return "Port info" in out and "failed" not in out + err


def test_osm_m_key():
    """M_Key and protection level 2: no answer without the key, all with it."""
    with opensm(config="m_key %s\nm_key_protection_level 2\n" % KEY) as (lab, _):
        lid = "1"
        need(not answers(lab, "portinfo", lid, "1"), "a Get without the M_Key is answered")
        need(not answers(lab, "-y", "0x1", "portinfo", lid, "1"), "a wrong M_Key is taken")
        text = lab.tool("smpquery", "-y", KEY, "-K", "portinfo", lid, "1")
        need(re.search(r"^Mkey:\.*%s$" % KEY, text, re.M), "the M_Key is not shown: " + text[:200])
        need(re.search(r"^ProtectBits:\.*2$", text, re.M), "the protection level is not 2")
        need(re.search(r"^MkeyViolations:\.*[1-9]", text, re.M), "no violation is counted")


def test_osm_m_key_readable():
    """Level 1 lets everybody read, and hides the key."""
    with opensm(config="m_key %s\nm_key_protection_level 1\n" % KEY) as (lab, _):
        text = lab.tool("smpquery", "-K", "portinfo", "1", "1")
        need(re.search(r"^Mkey:\.*0x0000000000000000$", text, re.M), "the M_Key is shown")
        proof.everything(lab, False)


def test_osm_lmc():
    """Four LIDs a port, each with its own path."""
    with opensm("ft3 4", "", "-l", "2") as (lab, _):
        seen, _, _ = proof.everything(lab, False)
        a, b = (int(lid_of(lab, n)) for n in ("H0_0_0", "H3_1_1"))
        need(a % 4 == 0 and field(lab, "LMC", "portinfo", str(a), "1") == "2", "LMC is not 2")
        need(len(seen.lids) == 16 * 4 + 20, "%d LIDs, not 84" % len(seen.lids))
        ways = {tuple(proof.trace(lab, a, b + i)) for i in range(4)}
        need(len(ways) > 1, "all four LIDs take the same path")


def torus_conf(path, sides):
    """torus-2QoS.conf for a torus of weftsim generate: the neighbours of the switch at 0."""
    with open(path, encoding="utf-8") as f:
        found = re.findall(r'switchguid=(0x\w+)\(.*\n.* "T([0-9_]+)"\t', f.read())
    guids = {tuple(int(x) for x in name.split("_")): guid for guid, name in found}
    lines = ["torus " + " ".join(str(x) for x in sides)]
    origin = (0,) * len(sides)
    for i, side in enumerate(sides):
        for sign, at in (("p", 1), ("m", side - 1)):
            other = origin[:i] + (at,) + origin[i + 1:]
            lines.append("%s%s_link %s %s" % ("xyz"[i], sign, guids[origin], guids[other]))
    return "\n".join(lines) + "\n"


def test_osm_torus_2qos():
    """An engine that needs the SL to VL tables of each pair of ports."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        conf = os.path.join(tmp, "torus-2QoS.conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(torus_conf(netfile("torus 6 5 4 1", tmp), (6, 5, 4)))
        with opensm("torus 6 5 4 1", "", "-Q", "--torus_config", conf,
                    engines="torus-2QoS,no_fallback") as (lab, m):
            m.process.wait_text("torus-2QoS tables configured on all switches", 1)
            proof.everything(lab, False)


def test_osm_engines():
    """Engines that put paths on lanes."""
    for engine in ("lash", "dor", "dfsssp", "nue", "sssp"):
        with opensm("torus 4 4 1 2", "", "-Q", engines=engine + ",no_fallback") as (lab, m):
            m.process.wait_text("%s tables configured on all switches" % engine, 1)
            proof.everything(lab, False)
