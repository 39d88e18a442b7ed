# SPDX-License-Identifier: BSD-2-Clause
"""What programs that this project did not write say of a fabric that a subnet manager brought up.

All of them sit on another node than the manager: ibnetdiscover, iblinkinfo, ibroute, dump_lfts,
ibtracert, sminfo, smpquery; and, where the shared folder is at hand, an independent walk of the
dumped tables with a search for credit loops on one lane. dump_lfts leaves out the highest LID when
LinearFDBTop is a multiple of 64 (so does ibroute); the walk knows that.
"""
import json
import os
import random
import re
import sys

from lab import Failure, SHARED, need

HEAD = re.compile(r'^(Switch|Ca|Rt)\s+(\d+)\s+"([SHR]-[0-9a-f]+)"\s+#\s+"(.*)"(.*)$')
SWITCH_LID = re.compile(r"port 0 lid (\d+) lmc (\d+)")
CA_PORT = re.compile(r'^\[(\d+)\]\(([0-9a-f]+)\)\s+"([SHR]-[0-9a-f]+)"\[(\d+)\].*?#\s+lid (\d+) '
                     r"lmc (\d+)")


class Seen:
    """ibnetdiscover's view: switches {id: (lid, name)} and host ports {(id, port): (lid, name)}."""

    def __init__(self, text):
        self.switches, self.ports, self.lids = {}, {}, []
        node = kind = name = None
        for line in text.splitlines():
            m = HEAD.match(line)
            if m:
                kind, node, name = m.group(1), m.group(3), m.group(4)
                if kind == "Switch":
                    x = SWITCH_LID.search(m.group(5))
                    self.switches[node] = (int(x.group(1)) if x else 0, name)
                    self.lids.append(self.switches[node][0])
                continue
            m = CA_PORT.match(line)
            if m and kind == "Ca":
                lid, lmc = int(m.group(5)), int(m.group(6))
                self.ports[(node, int(m.group(1)))] = (lid, name)
                self.lids += range(lid, lid + (1 << lmc))

    def host_lids(self):
        return sorted(lid for lid, _ in self.ports.values())


def discover(lab):
    text = lab.tool("ibnetdiscover", seconds=180)
    with open(os.path.join(lab.dir, "discovered"), "w", encoding="utf-8") as f:
        f.write(text)
    return Seen(text)


def counts(lab, seen):
    want = lab.net.expected(lab.seat())
    hosts = len({node for node, _ in seen.ports})
    need(len(seen.switches) == want["switches"] and hosts == want["hosts"],
         "ibnetdiscover sees %d switches and %d hosts, the file has %d and %d" %
         (len(seen.switches), hosts, want["switches"], want["hosts"]))


def lids_unique(seen):
    need(all(0 < lid < 0xc000 for lid in seen.lids), "a port has no valid unicast LID")
    twice = sorted({x for x in seen.lids if seen.lids.count(x) > 1}) if \
        len(set(seen.lids)) != len(seen.lids) else []
    need(not twice, "LIDs given twice: %s" % twice[:10])


def links_active(lab):
    """No cabled port may be less than Active; iblinkinfo names the peer of a cabled one."""
    text = lab.tool("iblinkinfo", seconds=180)
    lines = [x for x in text.splitlines() if "==(" in x]
    cabled = [x for x in lines if re.search(r"==>\s+\d+\s+\d+\[", x)]
    low = [x.strip() for x in lines if re.search(r"(Initialize|Armed|INIT|ARMED)", x)]
    low += [x.strip() for x in cabled if "Active" not in x]
    need(cabled, "iblinkinfo shows no link at all")
    need(not low, "%d links are not Active, e.g. %s" % (len(low), low[:1]))
    return len(cabled)


def dump_tables(lab):
    text = lab.tool("dump_lfts", seconds=300)
    with open(os.path.join(lab.dir, "tables"), "w", encoding="utf-8") as f:
        f.write(text)
    return text


def tables_only(text):
    """The entries of a dump alone: {switch GUID: {lid: port}}."""
    tables, now = {}, None
    for line in text.splitlines():
        m = re.match(r"Unicast lids .* guid (0x[0-9a-f]+)", line)
        if m:
            now = tables.setdefault(m.group(1), {})
            continue
        m = re.match(r"0x([0-9a-f]+) (\d+) ", line)
        if m and now is not None:
            now[int(m.group(1), 16)] = int(m.group(2))
    return tables


def walk(lab, single_vl=True):
    """The independent walk; None where the shared folder is absent."""
    script = os.path.join(SHARED, "tools", "verify_routes.py")
    if not os.path.exists(script):
        print("notice: no independent walk here (WEFT_SHARED), ibtracert alone judges")
        return None
    argv = [sys.executable, script, "discovered", "tables"] + ["--single-vl"] * single_vl
    out, err = lab.run(argv, seconds=600, status=None)
    try:
        res = json.loads(out)
    except ValueError:
        raise Failure("the walk said: " + (out + err)[-500:]) from None
    print("walk: " + out.strip())
    need(not res["bad"], "the walk of the tables found %s, first %s" % (res["bad"], res["first"]))
    need(not (single_vl and res["single_vl_credit_loop"]), "the tables hold a credit loop")
    return res


def trace(lab, src, dst):
    """ibtracert from LID to LID: [(node kind, guid, port out)]."""
    out = lab.tool("ibtracert", str(src), str(dst))
    need(re.search(r"^To \w+ .* lid \d+-\d+ ", out, re.M),
         "ibtracert %d %d does not arrive: %s" % (src, dst, out[-300:]))
    return re.findall(r"^\[(\d+)\] -> (switch|ca) port \{(0x[0-9a-f]+)\}\[(\d+)\]", out, re.M)


def sampled_traces(lab, seen, number=20):
    ends = seen.host_lids()
    rnd = random.Random(1)
    pairs = [(a, b) for a in ends for b in ends if a != b] if len(ends) <= 8 else \
        [tuple(rnd.sample(ends, 2)) for _ in range(number)]
    for a, b in pairs[:60]:
        trace(lab, a, b)
    some = sorted(lid for lid, _ in seen.switches.values())
    for lid in rnd.sample(some, min(5, len(some))):
        trace(lab, rnd.choice(ends), lid)
    return len(pairs[:60])


def attributes(lab, seen):
    """smpquery and ibroute agree with ibnetdiscover; LinearFDBTop covers every LID."""
    top = max(seen.lids)
    for lid, _ in list(seen.switches.values())[:3]:
        text = lab.tool("smpquery", "switchinfo", str(lid))
        m = re.search(r"LinearFdbTop:\.*(\d+)", text)
        need(m and int(m.group(1)) >= top, "LinearFDBTop of LID %d is %s, the highest LID is %d" %
             (lid, m and m.group(1), top))
        need("valid lids dumped" in lab.tool("ibroute", str(lid)), "ibroute %d" % lid)
    for (_, port), (lid, name) in list(seen.ports.items())[:5]:
        text = lab.tool("smpquery", "portinfo", str(lid), str(port))
        need(re.search(r"LinkState:\.*Active", text) and
             re.search(r"^Lid:\.*%d$" % lid, text, re.M),
             "smpquery does not see port %d of %s Active with LID %d" % (port, name, lid))


def master(lab, seen):
    """sminfo, while the manager runs: it is MASTER, at a LID of the subnet; (LID, activity)."""
    text = lab.tool("sminfo")
    m = re.search(r"sm lid (\d+) sm guid (0x[0-9a-f]+), activity count (\d+) priority (\d+) state "
                  r"\d SMINFO_(\w+)", text)
    need(m, "sminfo says: " + text)
    need(m.group(5) == "MASTER", "sminfo sees the SM as %s" % m.group(5))
    need(int(m.group(1)) in seen.lids, "sminfo names a LID that nobody has")
    return int(m.group(1)), int(m.group(3))


def everything(lab, single_vl=True):
    """All that can be judged without the manager's help."""
    seen = discover(lab)
    counts(lab, seen)
    lids_unique(seen)
    links = links_active(lab)
    text = dump_tables(lab)
    res = walk(lab, single_vl)
    traced = sampled_traces(lab, seen)
    attributes(lab, seen)
    print("proof: %d switches, %d host ports, %d link ends active, %d pairs traced" %
          (len(seen.switches), len(seen.ports), links, traced))
    return seen, tables_only(text), res
