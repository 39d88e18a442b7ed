# SPDX-License-Identifier: BSD-2-Clause
"""weft import opensm, quality of service: tables from service levels to lanes, VL arbitration,
VLHighLimit, and what path records tell of service level, MTU, rate and lifetime, are under weftd
with the imported configuration what they are under packaged OpenSM with the original, on the same
fabric; or docs/import.md says why not, and then they are as said here."""
import os
import re
import tempfile

from cases_import import FABRIC, H1, H2, H3, PORTS, imported, put, settings
from lab import Failure, Lab, need, wait_for
from manager import OpenSM, Weftd

ASKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_sa.py")
# Whose tables are read, by name in PORTS and port; and which ports of switches have a cable.
HELD = {"H0": (1, "H0"), "R0": (1, "R0"), "S0 to H0": (1, "S0"), "S0 to S1": (3, "S0"),
        "S0 to R0": (4, "S0")}
CABLED = {"H0": {0}, "R0": {0}, "S0": {0, 1, 2, 3, 4}}
# What is asked of paths: name, further components. Each from H1 to H2, back, and to H3.
PAIRS = ((H1, H2), (H2, H1), (H1, H3), (H3, H1), (H3, H3))
SID = "service_id_msb=0 service_id="
ASKED = {"plain": "", "default": "pkey=0xffff", "blue": "pkey=0x8005",
         "sdp": SID + "0x10050", "sdp-30000": SID + "0x17530", "rds": SID + "0x10648ca",
         "iser": SID + "0x1060cbc", "iser-900": SID + "0x1060384", "id": SID + "0x6234",
         "id-in-blue": "pkey=0x8005 " + SID + "0x6234", "class-7": "qos_class=7",
         "class-9": "qos_class=9", "class-10": "qos_class=10",
         "class-in-default": "pkey=0xffff qos_class=9"}
TOLD = ("sl", "mtu", "rate", "life")

BLUE = "Default=0x7fff,ipoib: ALL=full;\nblue=0x5,ipoib: ALL=full;\n"
BLUE_SL = "Default=0x7fff,ipoib,sl=1: ALL=full;\nblue=0x5,ipoib,sl=3: ALL=full;\n"
PREFIXES = ("qos_", "qos_ca_", "qos_sw0_", "qos_swe_", "qos_rtr_")
UNSAID = {p + k: v for p in PREFIXES for k, v in
          (("max_vls", "0"), ("high_limit", "-1"), ("vlarb_high", "(null)"),
           ("vlarb_low", "(null)"), ("sl2vl", "(null)"))}


def levels(*sls):
    """DEFAULT, L1, L2 ... with these service levels."""
    return "qos-levels\n%send-qos-levels\n" % "".join(
        " qos-level\n  name: %s\n  sl: %s\n end-qos-level\n" % ("L%d" % i if i else "DEFAULT", sl)
        for i, sl in enumerate(sls))


def rules(*lists):
    """Each a list of lines, the level first."""
    return "qos-match-rules\n%send-qos-match-rules\n" % "".join(
        " qos-match-rule\n  qos-level-name: %s\n%s end-qos-match-rule\n" %
        (level, "".join("  %s\n" % line for line in lines)) for level, *lines in lists)


def groups(*lists):
    """Each a list of lines, the name first."""
    return "port-groups\n%send-port-groups\n" % "".join(
        " port-group\n  name: %s\n%s end-port-group\n" %
        (name, "".join("  %s\n" % line for line in lines)) for name, *lines in lists)


def ulps(*lines):
    return "qos-ulps\n%send-qos-ulps\n" % "".join("  %s\n" % line for line in lines)


def config(policy=None, partitions=BLUE, only="", **keys):
    """`only`: questions that are compared."""
    return {"policy": policy, "partitions": partitions, "only": only, "keys": keys}


# Name: configuration.
SAME = {
    "nothing": config(),
    "shortest": config(levels(0)),
    "shortest-simple": config(ulps("default : 0 # all")),
    "default-not-0": config(levels(3)),
    "pinned": config(levels(0, 1, 2, 5, 7) + rules(
        ["L1", "service-id: 0x6234"], ["L2", "service-id: 0x10000-0x1ffff, 0x10648CA"],
        ["L3", "use: classes 7: all of them # or", "qos-class: 7-9,11"],
        ["L4", "service-id: 17000000-17300000"])),
    "groups": config(levels(0, 1, 2, 3, 4) + rules(
        ["L1", "source: one", "destination: two", "qos-class: 7"],
        ["L2", "source: One, kinds"], ["L3", "destination: two"]) + groups(
            ["one", "use: a host", "port-guid: %s" % H1],
            ["two", "port-guid: 0x200000-0x200004,", "           %s-%s" % (H2, H2)],
            ["kinds", "node-type: ROUTER, SELF"])),
    "members": config(levels(1, 2, 3) + rules(
        ["L1", "source: part", "qos-class: 9"], ["L2", "destination: key"]) + groups(
            ["part", "partition: green"], ["key", "pkey: 0x8001-0x0006"]),
                      "Default=0x7fff,ipoib: ALL=full;\ngreen=0x7: %s=full;\nkey=0x6: %s;\n" %
                      (H1, H3)),
    "names": config(levels(0, 6) + rules(["L1", "source: by name"]) + groups(
        ["by name", 'port-name: "H1/P1", H9/P1'])),
    "everybody": config(levels(0, 2) + rules(["L1", "source: all", "qos-class: 9-10"]) +
                        groups(["all", "node-type: all"])),
    "protocols": config(ulps(
        "default: 0", "sdp, port-num 30000 : 1", "SDP :2", "rds : 3", "iser, port-num 900: 4",
        "iser : 5", "any, service-id 0x6234: 6")),
    "guids": config(ulps(
        "any, service-id 0x6234-0x6300, 0x7000 : 7", "srp, target-port-guid %s : 1" % H2,
        "any, source-port-guid %s : 2" % H2, "any, target-port-guid %s-%s: 3" % (H3, H3),
        "default: 4")),
    "both-ends": config(ulps("any, source-target-port-guid %s,%s : 2" % (H3, H1), "default: 0")),
    "rules-first": config(ulps("default : 5", "sdp : 1", "any, service-id 0x6234 : 2") +
                          levels(0, 3) + rules(["L1", "service-id: 0x17530"])),
    "partition-sl": config(None, BLUE_SL, "pkey"),
    "limits": config("qos-levels\n qos-level\n name: DEFAULT\n sl: 1\n end-qos-level\n qos-level\n"
                     " name: small\n sl: 2\n mtu-limit: 2\n rate-limit: 2\n packet-life: 10\n"
                     " end-qos-level\nend-qos-levels\n" + rules(["small", "qos-class: 9"])),
    "setup": config("qos-setup\n vlarb-tables\n  vlarb-scope\n   group: a\n   vlarb-high: 0:255\n"
                    "   vl-high-limit: 5\n  end-vlarb-scope\n end-vlarb-tables\nend-qos-setup\n" +
                    levels(0)),
    "arbitration": config(qos_high_limit="6", qos_vlarb_high="0:4,1:8,2:12",
                          qos_vlarb_low="0:1,1:2,2:3,3:4,4:5,5:6,6:7,7:8"),
    "arbitration-by-kind": config(
        levels(0, 1), qos_vlarb_high="0:1", qos_ca_vlarb_high="1:10,0:20,1:30",
        qos_ca_vlarb_low="7:255,0:256", qos_ca_high_limit="255", qos_swe_vlarb_low="0:9,9:10",
        qos_swe_high_limit="3", qos_rtr_vlarb_high="2:0x10,0:1", qos_rtr_high_limit="0x101",
        qos_sw0_high_limit="9"),
    "lanes-in-pairs": config(levels(0, 3, 5) + rules(["L1", "qos-class: 7"]),
                             qos_sl2vl="0,0,1,1,2,2,3,3,4,4,5,5,6,6,7,7"),
    "one-lane": config(levels(2), qos_swe_sl2vl=",".join(16 * "0"), qos_ca_sl2vl="0",
                       qos_rtr_sl2vl="0"),
    "lanes-of-15": config(qos_sl2vl="7,6,5,4,3,2,1,0,14,13,12,11,10,9,8,8"),
}

# What is otherwise, as docs/import.md says: configuration; what differs under OpenSM, and how it is
# under weftd. Tables by port and service level, from the host's port to the other switch, paths by
# question. None: no answer.
OTHERWISE = {
    "a-mistake": (config(ulps("default : 2", "sd : 1"), BLUE_SL), {"blue 3-5": "3"},
                  {"blue 3-5": "2"}),
    "a-prefix": (config(ulps("default : 2", "sdp, port : 1"), BLUE_SL), {"blue 3-5": "3"},
                 {"blue 3-5": "2"}),
    "no-default": (config(ulps("sdp : 1"), BLUE_SL), {"sdp 3-5": "3", "blue 3-5": "3"},
                   {"sdp 3-5": "1", "blue 3-5": "0"}),
    "no-such-partition": (config(ulps("default : 2", "ipoib, pkey 0x77 : 1"), BLUE_SL),
                          {"blue 3-5": "3"}, {"blue 3-5": "2"}),
    "blanks": (config(levels(0, 6) + rules(["L1", "source: by name"]) +
                      groups(["by name", "port-name: host one/P1"])),
               {"plain 3-5": "0"}, {"plain 3-5": "6"}),
    "unasked": (config(levels(0, 4) + rules(["L1", "pkey: 0x7fff"])),
                {"plain 3-5": "0", "default 3-5": "4"}, {"plain 3-5": "4", "default 3-5": "4"}),
    "partition-of-a-level": (config(levels(0, 4).replace("sl: 4", "sl: 4\n  pkey: 5") +
                                    rules(["L1", "qos-class: 9"])),
                             {"class-9 3-5": "4", "class-in-default 3-5": None},
                             {"class-9 3-5": "4", "class-in-default 3-5": "4"}),
    "dropped": (config(qos_sl2vl="1,1,1,15"), {3: 15, 0: 1}, {3: 1, 0: 1}),
    "lanes-by-kind": (config(qos_ca_sl2vl="0,2,4,6"), {(0, "H0"): 0, (1, "H0"): 2, (1, "S0"): 1},
                      {(0, "H0"): 0, (1, "H0"): 1, (1, "S0"): 1}),
}


def write(folder, c):
    """As files of OpenSM; the path of opensm.conf."""
    policy, partitions, conf = (os.path.join(folder, name) for name in
                                ("qos-policy.conf", "partitions.conf", "opensm.conf"))
    put(partitions, c["partitions"])
    if c["policy"] is not None:
        put(policy, c["policy"])
    elif os.path.exists(policy):
        os.unlink(policy)
    keys = dict(UNSAID, qos="TRUE", partition_config_file=partitions, routing_engine="minhop")
    keys.update(c["keys"])
    if c["policy"] is not None:
        keys["qos_policy_file"] = policy
    put(conf, "".join("%s %s\n" % row for row in sorted(keys.items())))
    return conf


def read_tables(lab):
    """Of each port: lanes by (in port, service level), both tables of arbitration, the limit."""
    seen = {}
    for name, (port, node) in HELD.items():
        route = PORTS[node][0]
        text = lab.tool("smpquery", "-D", "sl2vl", route, str(port), host="H3")
        lanes = {int(m.group(1)): tuple(int(x) for x in m.group(2).split("|")) for m in
                 re.finditer(r"ports: in\s+(\d+), out\s+\d+: \|(.*)\|", text)}
        text = lab.tool("smpquery", "-D", "vlarb", route, str(port), host="H3")
        text = [row.split(":", 1)[1].replace(" ", "") for row in text.splitlines()
                if row.startswith(("VL", "WEIGHT"))]
        info = lab.tool("smpquery", "-D", "portinfo", route, str(port), host="H3")
        seen[name] = ({i: row for i, row in lanes.items() if i in CABLED[node]}, text,
                      re.search(r"VLHighLimit:\.*(\d+)", info).group(1))
    return seen


def read_paths(lab):
    """What path records tell, by question and pair."""
    names = [(name, pair) for name in ASKED for pair in PAIRS]
    asked = ["get slid=@%s dlid=@%s %s" % (pair + (ASKED[name],)) for name, pair in names]
    text = lab.tool("python3", ASKER, *asked, host="H3")
    answers = re.split(r"^status ", text, flags=re.M)[1:]
    need(len(answers) == len(names), "%d answers to %d questions: %s" %
         (len(answers), len(names), text[-500:]))
    told = {}
    for (name, (src, dst)), answer in zip(names, answers):
        words = dict(w.split("=", 1) for w in answer.split() if "=" in w)
        told["%s %s-%s" % (name, src[-1], dst[-1])] = \
            tuple(words.get(k, "0") for k in TOLD) if words else answer.split()[0]
    return told


def read_all(lab):
    return {"tables": read_tables(lab), "paths": read_paths(lab)}


def under_opensm(net, configs):
    seen = {}
    with Lab(net, sim="weftsim") as lab:
        m = OpenSM(lab)
        write(lab.dir, next(iter(configs.values())))
        m.start("-F", os.path.join(lab.dir, "opensm.conf"),
                "-Y", os.path.join(lab.dir, "qos-policy.conf"))
        m.wait_up()
        for name, c in configs.items():
            ups = m.process.text().count(m.up)
            write(lab.dir, c)
            m.process.send(1)
            wait_for("OpenSM to sweep", lambda n=ups: m.process.text().count(m.up) > n, 20)
            seen[name] = read_all(lab)
        m.stop()
    return seen


def under_weftd(net, configs, right):
    """What is there by name of the configuration, where `right` finds fault with it."""
    wrong = {}
    with Lab(net, sim="weftsim") as lab:
        m = Weftd(lab)
        m.start()
        m.wait_up()
        folder = os.path.join(lab.dir, "opensm")
        os.mkdir(folder)
        for name, c in configs.items():
            write(folder, c)
            m.write(top=settings(imported(folder)) + "\n", engines="minhop")
            m.weft("reload")
            try:
                wait_for("tables", lambda n=name: right(n, read_all(lab)), 20)
            except Failure:
                wrong[name] = read_all(lab)
        m.stop()
    return wrong


def differences(c, ours, theirs):
    return ["%s: weftd %s, OpenSM %s" % (name, ours[kind][name], theirs[kind][name])
            for kind in ("tables", "paths") for name in ours[kind]
            if ours[kind][name] != theirs[kind][name] and
            (kind == "tables" or c["only"] in ASKED[name.split()[0]])]


def test_import_qos():
    """Tables and path records of each configuration."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = os.path.join(tmp, "net")
        put(net, FABRIC)
        theirs = under_opensm(net, SAME)
        wrong = under_weftd(net, SAME, lambda name, seen: not differences(
            SAME[name], seen, theirs[name]))
    for name, seen in wrong.items():
        for line in differences(SAME[name], seen, theirs[name]):
            print("%s: %s" % (name, line))
    need(not wrong, "not as under OpenSM: %s" % " ".join(wrong))


def value(seen, what):
    """Of a question, of a service level at S0, or of one at a node."""
    if isinstance(what, str):
        told = seen["paths"][what]
        return told[0] if isinstance(told, tuple) else None
    sl, node = what if isinstance(what, tuple) else (what, "S0")
    return seen["tables"]["S0 to S1" if node == "S0" else node][0][0][sl]


def as_said(seen, said):
    return all(value(seen, what) == wanted for what, wanted in said.items())


def test_import_qos_otherwise():
    """What is not as under OpenSM, and that it is so there still."""
    configs = {name: row[0] for name, row in OTHERWISE.items()}
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = os.path.join(tmp, "net")
        put(net, FABRIC.replace('Hca\t1 "H1"', 'Hca\t1 "H1"\t# "host one"'))
        for name, seen in under_opensm(net, configs).items():
            need(as_said(seen, OTHERWISE[name][1]), "OpenSM does not do it any more: %s: %s" %
                 (name, {what: value(seen, what) for what in OTHERWISE[name][1]}))
        wrong = under_weftd(net, configs, lambda name, seen: as_said(seen, OTHERWISE[name][2]))
    for name, seen in wrong.items():
        print("%s: weftd %s" % (name, {what: value(seen, what) for what in OTHERWISE[name][2]}))
    need(not wrong, "not as said: %s" % " ".join(wrong))
