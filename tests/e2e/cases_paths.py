# SPDX-License-Identifier: BSD-2-Clause
"""Paths as no packaged tool asks for them, each component by itself, by several ports at once, node
by node: OpenSM and weftd answer the same questions (umad_sa.py) on the same fabric. Ports stand for
their LIDs, which the two give out otherwise. Where weftd means to answer otherwise, it is said here
how and why."""
import os
import re
import sys
import tempfile

import fabrics
from lab import Lab, need
from manager import OpenSM, Weftd

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_sa.py")
A, B, C, D = ("fe80::10:%x" % x for x in (1, 3, 5, 7))
AB = "sgid=%s dgid=%s " % (A, B)
GROUP = "ff12:401b:ffff::ffff:ffff"

SAME = [
    "get " + AB, "table " + AB, "get slid=@0x100001 dgid=" + B, "get dlid=@0x100003 sgid=" + A,
    "get slid=@0x100001 dlid=@0x100003", "get slid=@0x100001 dlid=@0x200000",
    # GID and LID of one end, of two, of nobody
    "get %s slid=@0x100001 dlid=@0x100003" % AB, "get %s slid=@0x100005" % AB,
    "get %s dlid=@0x100005" % AB, "table sgid=%s slid=@0x100005" % A,
    "get %s dlid=40000" % AB, "get %s dlid=0" % AB, "get slid=0 dgid=" + B,
    "get slid=0xc000 dgid=" + B, "table dlid=40000 sgid=" + A,
    "table sgid=" + A, "table dgid=" + A,
    # multicast
    "get dgid=" + GROUP, "table dgid=" + GROUP, "get dlid=0xc000 sl=0 dgid=" + GROUP,
    "get dlid=0xc001 dgid=" + GROUP, "get sl=1 dgid=" + GROUP, "get sgid=%s dgid=%s" % (A, GROUP),
    "table slid=@0x100001 dgid=" + GROUP, "get flow_label=1 dgid=" + GROUP,
    "get tclass=1 dgid=" + GROUP, "get hop_limit=1 dgid=" + GROUP, "get pkey=0x8001 dgid=" + GROUP,
    "table numb_path=0 dgid=" + GROUP, "table numb_path=1 dgid=" + GROUP,
    "get dgid=ff12:401b:ffff::1", "table dgid=ff12:401b:ffff::1", "get sgid=%s dlid=0xc000" % A,
    # components
    "get %s service_id=9" % AB, "get %s service_id_msb=9" % AB, "get %s raw=0" % AB,
    "get %s preference=3" % AB, "get %s pkey=0x7fff" % AB, "get %s pkey=0xffff" % AB,
    "get %s pkey=0x8001" % AB, "get %s pkey=0" % AB, "get %s sl=0" % AB,
    "get %s numb_path=0" % AB, "table %s numb_path=0" % AB, "table %s numb_path=1" % AB,
    "get %s reversible=0" % AB, "get %s reversible=1" % AB,
    "get %s rate_selector=2 rate=1" % AB, "get %s rate_selector=2 rate=40" % AB,
    "get %s rate_selector=2 rate=16" % AB, "get %s rate_selector=0 rate=16" % AB,
    "get %s rate_selector=3 rate=16" % AB, "get %s rate=2" % AB, "get %s rate_selector=0" % AB,
    "get %s mtu_selector=2 mtu=0" % AB, "get %s mtu_selector=0 mtu=5" % AB,
    "get %s mtu_selector=1 mtu=1" % AB, "get %s mtu_selector=1 mtu=5" % AB,
    "get %s mtu_selector=2 mtu=2" % AB, "get %s mtu_selector=0 mtu=4" % AB,
    "get %s life_selector=2 life=18" % AB, "get %s life_selector=1 life=19" % AB,
    "get %s life_selector=0 life=17" % AB, "get %s life_selector=3 life=0" % AB,
    # several ports
    *("multi sgids=%s dgids=%s %s" % (s, d, more) for s, d, more in (
        (A, B, ""), (A, "%s,%s,%s" % (B, C, D), ""), ("%s,%s" % (A, C), "%s,%s" % (B, D), ""),
        *(("%s,%s" % (A, C), "%s,%s" % (B, D), "numb_path=%d" % n) for n in range(6)),
        (A, A, ""), ("%s,%s" % (A, A), B, ""), (A, ",".join([B] * 10), ""),
        (A, B, "oneway=1"), (A, B, "counts=1,"), (A, B, "counts=,1"), (A, B, "counts=,"),
        (A, B, "counts=0,1"), (A, B, "counts=1,0"),
        ("fe80::1234", B, ""), (A, "fe80::1234", ""), (A, "%s,fe80::1234" % B, ""),
        (A, GROUP, ""), (GROUP, B, ""), ("2001:db8::10:1", B, ""), (A, "2001:db8::10:3", ""),
        (A, "::", ""), (A, B, "pkey=0x8001"), (A, B, "pkey=0x7fff"), (A, B, "sl=0"),
        (A, B, "reversible=1"), (A, B, "independence=1"), (A, B, "rate_selector=2 rate=1"),
        (A, B, "rate_selector=2 rate=16"), (A, B, "rate_selector=0 rate=16"),
        (A, B, "mtu_selector=2 mtu=0"), (A, B, "mtu_selector=2 mtu=5"),
        (A, B, "mtu_selector=0 mtu=5"), (A, B, "life_selector=1 life=19"))),
]

GOOD = r"status 0x0000 attribute 0x0035 records 1\n  "
# Question, what weftd answers, why it does not as OpenSM 3.3.23.
OTHERWISE = [
    ("get sgid=" + A, "status 0x0600", "a path has two ends, and of many none is the right one"),
    ("get dgid=" + B, "status 0x0600", "the same"), ("get", "status 0x0600", "the same"),
    ("get sgid=fe80::1234 dgid=" + B, "status 0x0500", "ERR_REQ_INVALID_GID is there for that"),
    ("get sgid=%s dgid=fe80::1234" % A, "status 0x0500", "the same"),
    ("table sgid=fe80::1234", "status 0x0500", "the same"),
    ("get sgid=%s dgid=2001:db8::10:3" % A, "status 0x0500", "there is no router to that subnet"),
    ("get sgid=2001:db8::10:1 dgid=" + B, "status 0x0500", "nor does a path begin there"),
    ("get sgid=%s dgid=fe81::10:3" % A, "status 0x0500", "54 bits of a link-local GID are 0"),
    ("get sgid=%s dgid=%s" % (GROUP, B), "status 0x0500", "nobody sends from a group"),
    ("get pkey=0x7fff dgid=" + GROUP, GOOD + ".*dlid=49152.* pkey=65535 ",
     "limited members may send to it"),
    ("get mtu_selector=0 mtu=4 dgid=" + GROUP, "status 0x0300", "the group's MTU is not more"),
    ("get %s hop_limit=3 flow_label=5 tclass=6 qos_class=7 service_id=9 service_id_msb=1" % AB,
     GOOD + "service_id_msb=1 service_id=0x9 .* flow_label=5 hop_limit=3 tclass=6 .*qos_class=7 ",
     "what was asked for is said again, else the record would not be one that was asked for"),
    ("get %s raw=1" % AB, GOOD + "(?=.* raw=1 )(?!.* pkey=)", "the same"),
    ("get %s sl=1" % AB, "status 0x0300", "no path is proved on that SL"),
    ("get %s mtu_selector=3 mtu=0" % AB, GOOD + ".* mtu=5 ", "the largest needs no value"),
    ("get %s rate_selector=2 rate=3" % AB, GOOD + ".* rate=3 ", "a sender may be slower"),
    ("get %s life_selector=1 life=18" % AB, "status 0x0300", "nobody can promise that"),
    ("get %s life_selector=2 life=17" % AB, "status 0x0300", "the same"),
    ("get %s life_selector=0 life=18" % AB, GOOD + ".* life=19", "to wait longer does no harm"),
    ("multi counts=2,1 sgids=%s dgids=%s" % (A, B), "status 0x0200",
     "it is not a GID that is wrong, but their number"),
    ("multi counts=200,200 sgids=%s dgids=%s" % (A, B), "status 0x0200", "the same"),
    ("multi sgids=%s dgids=%s" % (A, ",".join([B] * 16)), "status 0x0000 .* records 16\n",
     "OpenSM takes 11 GIDs, and drops the others without a word"),
    ("multi raw=1 sgids=%s dgids=%s" % (A, B), GOOD + "(?=.* raw=1 )(?!.* pkey=)", "as above"),
    ("multi sl=1 sgids=%s dgids=%s" % (A, B), "status 0x0000 .* records 0\n", "as above"),
]
LMC = ["table " + AB, *("table %s numb_path=%d" % (AB, n) for n in (1, 2, 3, 4, 5)),
       "table slid=@0x100001 dlid=@0x100003+1", "table slid=@0x100001+1 dgid=" + B,
       "get " + AB, "get slid=@0x100001+1 dlid=@0x100003+1", "table sgid=%s dgid=fe80::20:0" % A,
       "table sgid=fe80::20:0 dgid=" + A, "multi sgids=%s dgids=%s" % (A, B),
       *("multi sgids=%s dgids=%s numb_path=%d" % (A, B, n) for n in (1, 2, 3, 4))]


def answers(lab, questions, host=None):
    """Each question's answer, records of tables in any order."""
    out, _ = lab.run([sys.executable, CLIENT] + questions, host or lab.far(), 60)
    found = [x.splitlines(True) for x in re.split(r"^(?=status)", out, flags=re.M)[1:]]
    need(len(found) == len(questions), "%d answers to %d questions: %s" %
         (len(found), len(questions), out[-400:]))
    return ["".join(x[:1] + sorted(x[1:]) if q.startswith("table") else x)
            for q, x in zip(questions, found)]


def of(kind, questions, *options, **config):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = kind(lab, **config)
            m.start(*options)
            m.wait_up()
            found = answers(lab, questions)
            need(m.process.alive(), "the subnet manager has ended")
            m.stop()
            return found


def test_paths_like_opensm():
    """Statuses and records, and what is meant to differ."""
    questions = SAME + [q for q, _, _ in OTHERWISE]
    theirs, ours = of(OpenSM, questions), of(Weftd, questions)
    for q, a, b in zip(SAME, ours, theirs):
        need(a == b, "%s: weftd says %s, OpenSM %s" % (q, a[:600], b[:600]))
    for (q, pattern, why), a, b in zip(OTHERWISE, ours[len(SAME):], theirs[len(SAME):]):
        need(re.match(pattern, a), "%s: weftd says %s, not /%s/" % (q, a[:600], pattern))
        need(a != b, "%s: OpenSM says the same, though %s" % (q, why))


def test_paths_lmc_like_opensm():
    """All pairs of LIDs, the preferred ones first."""
    theirs, ours = of(OpenSM, LMC, "-l", "1"), of(Weftd, LMC, extra="    lmc: 1\n")
    for q, a, b in zip(LMC, ours, theirs):
        need(a == b, "%s: weftd says %s, OpenSM %s" % (q, a[:600], b[:600]))


HOP = re.compile(r"^\[(\d+)\] -> (switch|ca) port \{0x([0-9a-f]+)\}\[(\d+)\]", re.M)


def test_paths_traced():
    """Node by node as ibtracert walks by the tables of the switches."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-8", tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            pairs = [("0x100001", "0x1000ff"), ("0x100001", "0x100003"), ("0x100041", "0x100021")]
            traces = answers(lab, ["trace slid=@%s dlid=@%s" % p for p in pairs])
            for (src, dst), text in zip(pairs, traces):
                walked = HOP.findall(lab.tool("ibtracert", "-G", src, dst))
                hops = [{k: int(v, 0) for k, v in re.findall(r"(\w+)=(\w+)", x)}
                        for x in text.splitlines()[1:]]
                need(len(hops) == len(walked) + 1 and hops[0]["entry_port_id"] == int(src, 16),
                     "%s to %s: %s" % (src, dst, text))
                for before, hop, (out, kind, guid, into) in zip(hops, hops[1:], walked):
                    need(before["node_type"] == 1 or before["exit_port"] == int(out),
                         "%s to %s leaves elsewhere: %s" % (src, dst, text))
                    at = ("node_id", 2) if kind == "switch" else ("entry_port_id", 1)
                    need((hop[at[0]], hop["node_type"]) == (int(guid, 16), at[1]) and
                         (kind == "ca" or hop["entry_port"] == int(into)),
                         "%s to %s comes in elsewhere: %s" % (src, dst, text))
            m.stop()


def test_paths_max_rate():
    """What a client that knows rate codes up to 18 is told, and one that knows those up to 10."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ndr_rail_40sw_582ca.ibnd", tmp), sim="weftsim") as lab:
            m = Weftd(lab)
            m.start()
            m.wait_up()
            guid = lab.tool("ibaddr", "-g").split()[-1]
            ask = "get sgid=%s dgid=%s" % (guid, guid)
            for word, code in (("any", 21), ("300Gb", 18), ("120Gb", 10), ("100Gb", 16)):
                m.write(extra="    max_rate: %s\n" % word)
                m.weft("reload")
                need(" rate=%d " % code in answers(lab, [ask])[0],
                     "max_rate: %s: %s" % (word, answers(lab, [ask])[0]))
            m.stop()
