# SPDX-License-Identifier: BSD-2-Clause
"""weft import opensm: the P_Key tables that weftd programs by the imported configuration are those
that packaged OpenSM programs by the original, on the same fabric; or the difference is a fault of
OpenSM's that docs/import.md lists, and then the tables are as said here."""
import os
import re
import subprocess
import tempfile

from lab import Failure, Lab, need, program, wait_for
from manager import OpenSM, Weftd

# Two switches, four hosts, a router. The manager sits on H0, the tools on H3.
FABRIC = """Switch\t6 "S0"
[1]\t"H0"[1]
[2]\t"H1"[1]
[3]\t"S1"[3]
[4]\t"R0"[1]

Switch\t6 "S1"
[1]\t"H2"[1]
[2]\t"H3"[1]
[3]\t"S0"[3]

Hca\t1 "H0"
[1]\t"S0"[1]

Hca\t1 "H1"
[1]\t"S0"[2]

Hca\t1 "H2"
[1]\t"S1"[1]

Hca\t1 "H3"
[1]\t"S1"[2]

Rt\t1 "R0"
[1]\t"S0"[4]
"""
# Ports as direct routes from H3, and port numbers.
PORTS = {"H3": ("0", 1), "S1/1": ("0,1", 1), "H2": ("0,1,1", 1), "S0": ("0,1,3", 0),
         "S0/4": ("0,1,3", 4), "H0": ("0,1,3,1", 1), "H1": ("0,1,3,2", 1), "R0": ("0,1,3,4", 1)}
H0, H1, H2, H3, R0 = ("0x10000%d" % n for n in (1, 3, 5, 7, 9))
LONG = ", ".join("0x%x" % g for g in range(0x500001, 0x500001 + 4000, 2)) + ", " + H2

# Name: text. The grammar's every feature.
SAME = {
    "empty": "",
    "comments": "# nothing\n  \t\n# else\n",
    "default": "Default=0x7fff: ALL=full;",
    "default-ipoib": "Default=0x7fff,ipoib: ALL=full;",
    "default-limited": "Default=0x7fff: ALL, SELF=full;",
    "default-switches": "Default=0x7fff : ALL, ALL_SWITCHES=full, SELF=full ;",
    "members": "a=0x10: %s=full, %s=limited, %s;" % (H1, H2, H3),
    "default-of-members": "a=0x11, defmember=full: %s, %s=limited, %s;" % (H1, H2, H3),
    "limited-by-default": "a=0x12, defmember=limited: %s, %s=full;" % (H1, H2),
    "decimal": "a=19: %d=full, %d;" % (int(H1, 16), int(H2, 16)),
    "full-bit": "a=0x8014: %s=full, SELF;" % H1,
    "no-name": "=0x15: %s=full;\n0x16: %s=full;" % (H1, H2),
    "chosen": "alpha: %s=full;\nbeta: %s=full;\ngamma=0x1: %s=full;" % (H1, H2, H3),
    "chosen-twice": "delta: %s=full;\ndelta: %s=full;" % (H1, H2),
    "kinds": "a=0x17: ALL_CAS=full;\nb=0x18: ALL_SWITCHES=full;\nc=0x19: ALL_ROUTERS=full;",
    "self": "a=0x1a: SELF=full;\nb=0x1b: SELF;",
    "all": "a=0x1c: ALL=full;\nb=0x1d: ALL;",
    "none": "a=0x1e: NONE;\nb=0x1f: ;",
    "merged": "a=0x20: %s=full;\nb=0x20: %s;\nc=0x8020: %s=full;" % (H1, H2, H3),
    "last-counts": "a=0x21: ALL=full, %s=limited;\nb=0x22: %s=full, ALL;" % (H1, H1),
    "cas-after-guid": "a=0x23: %s=full, ALL_CAS;\nb=0x24: SELF=full, ALL_CAS;" % H1,
    "guid-after-cas": "a=0x25: ALL_CAS, %s=full, SELF=full;" % H1,
    "lines": "a=0x26:\n  %s=full,\n  %s, # said\n\n  %s=full;" % (H1, H2, H3),
    "many-in-a-line": "a=0x27: %s=full; b=0x28: %s=full; c=0x29: %s;" % (H1, H2, H3),
    "blanks": "  a  =  0x2a  ,  defmember = full  :  %s  =  limited ,%s;" % (H1, H2),
    "ipoib": "a=0x2b,ipoib,rate=3,mtu=4,sl=1,scope=2,scope=5,Q_Key=0x5,TClass=3,FlowLabel=7:"
             " ALL=full;",
    "mgid": "a=0x2c,ipoib:\n mgid=ff12:401b::0707,sl=1 # a group\n mgid=ff12:601b::16\n"
            " mgid=ff12::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2\n %s=full, %s;" % (H1, H2),
    "index0": "a=0x2d,indx0: %s=full;" % H1,
    "index0-all": "Default=0x7fff,indx0: ALL=full;\na=0x2e: ALL=full;",
    "index0-limited": "a=0x2f,indx0: %s, %s=full;" % (H1, H2),
    "index0-twice": "a=0x34,indx0: %s=full;\nb=0x35,indx0: %s=full;" % (H1, H1),
    "index0-taken-back": "a=0x36,indx0: %s=full, %s=full;\na=0x36: %s;" % (H1, H2, H1),
    "no-semicolon": "a=0x37: %s=full, %s" % (H1, H2),
    "many-bits": "a=0x18043: %s=full;" % H1,
    "octal": "a=0x45: 04000003=full;",
    "both-not-allowed": "a=0x30: %s=both, %s;" % (H1, H2),
    "unknown-guid": "a=0x31: 0x999999=full, %s=full;" % H1,
    "unknown-membership": "a=0x32: %s=fool;\n" % H1,
    "unknown-flag": "a=0x33,nonsense,ipoib: %s=full;" % H1,
    "share-io": "ShareIO = 0x80 , defmember=full : %s, %s;\nShareIO = 0x80 : %s, %s=full;\n" %
                (H1, H2, H3, R0),
}


# With allow_both_pkeys, where OpenSM leaves holes at index 0: all keys, wherever they are.
BOTH = {
    "p1-management": "management=0x7fff, ipoib, defmember=full: ALL;",
    "p1-all-but-one": "io=0x1: ALL=both; io=0x1: %s=full;" % H1,
    "p1-one-of-each": "io=0x1, defmember=both: ALL, %s=limited, %s=full;" % (H1, H2),
    "default-both": "Default=0x7fff: ALL=both, %s=limited, SELF=both;" % H1,
    "one-both": "a=0x51: %s=both, %s=both, %s=full;" % (H1, H2, H1),
    "all-then-both": "a=0x52: ALL, %s=both;" % H1,
    "default-of-members": "a=0x53, defmember=both: %s, SELF, ALL_ROUTERS=full;" % H1,
}
# Files that OpenSM takes otherwise than its manual has it, or Weft with a reason: docs/import.md.
# Keys of H0, H1 and H2 as they ought to be, index 0 first.
FAULTS = {
    "a-prefix": ("a=0x10: %s=f, %s=full; b=0x11: AL=full;" % (H1, H2),
                 [0xffff], [0x7fff, 0x10], [0x7fff, 0x8010]),
    "an-empty-membership": ("a=0x12: %s=, %s=full;" % (H1, H2),
                            [0xffff], [0x7fff, 0x12], [0x7fff, 0x8012]),
    "a-prefix-of-a-flag": ("a=0x13, def=full: %s, %s=full;" % (H1, H2),
                           [0xffff], [0x7fff, 0x13], [0x7fff, 0x8013]),
    "a-broken-member": ("a=0x14: %s=full, 0xnone; b=0x15: %s=full;" % (H1, H2),
                        [0xffff], [0x7fff, 0x8014], [0x7fff, 0x8015]),
    "a-broken-statement": ("a=0x16: %s=full;\nb=0x17, %s=full;" % (H1, H2),
                           [0xffff], [0x7fff, 0x8016], [0x7fff]),
    "a-broken-key": ("a=0x18: %s=full;\nb=seven: %s=full;" % (H1, H2),
                     [0xffff], [0x7fff, 0x8018], [0x7fff]),
    "flags-behind-the-colon": ("a=0x19: defmember=full : %s, %s=limited;" % (H1, H2),
                               [0xffff], [0x7fff, 0x8019], [0x7fff, 0x19]),
    "a-semicolon-alone": ("a=0x1a: %s=full, %s\n;" % (H1, H2),
                          [0xffff], [0x7fff, 0x801a], [0x7fff, 0x1a]),
    "a-long-line": ("a=0x1b: %s=full, %s;" % (LONG, H1),
                    [0xffff], [0x7fff, 0x1b], [0x7fff, 0x801b]),
    "index-0-of-the-manager": ("a=0x1c,indx0: ALL=full;",
                               [0xffff, 0x801c], [0x801c, 0x7fff], [0x801c, 0x7fff]),
    "the-manager-limited": ("Default=0x7fff: ALL, %s=full;" % H2, [0xffff], [0x7fff], [0xffff]),
}


def read_tables(lab):
    """Of each port what is at index 0, and all other keys; and what is enforced."""
    seen = {}
    for name, (route, port) in PORTS.items():
        text = lab.tool("smpquery", "-D", "pkeys", route, str(port), host="H3")
        found = [int(k, 16) for row in re.findall(r"^ *\d+: (.*)", text, re.M)
                 for k in row.split()]
        seen[name] = (found[0], sorted(k for k in found[1:] if k))
        if "/" in name:
            text = lab.tool("smpquery", "-D", "portinfo", route, str(port), host="H3")
            ways = tuple(int(re.search(r"PartEnforce%s:\.*(\d)" % way, text).group(1))
                         for way in ("Inb", "Outb"))
            seen[name] = (ways, sorted(k for k in found if k) if ways != (0, 0) else [])
    return seen


def put(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def under_opensm(net, texts, options):
    """Tables by name of the text. Each starts from an empty file: what was there before would
    change which P_Keys OpenSM chooses."""
    tables = {}
    with Lab(net, sim="weftsim") as lab:
        m = OpenSM(lab)
        path, conf = (os.path.join(lab.dir, name) for name in ("partitions.conf", "opensm.conf"))
        put(conf, options + "partition_config_file %s\n" % path)
        put(path, "")
        m.start("-F", conf)
        m.wait_up()

        def sweep(text):
            ups = m.process.text().count(m.up)
            put(path, text)
            m.process.send(1)
            wait_for("OpenSM to sweep", lambda: m.process.text().count(m.up) > ups, 20)

        for name, text in texts.items():
            sweep("")
            sweep(text)
            tables[name] = read_tables(lab)
        m.stop()
    return tables


def imported(folder):
    r = subprocess.run([program("weft"), "import", "opensm", folder], capture_output=True,
                       text=True, timeout=60, check=False)
    need(r.returncode == 0, "weft import ended with %d: %s" % (r.returncode, r.stderr))
    return r.stdout


def settings(text):
    """What is below `subnets`, for a daemon whose other options are the test's."""
    return "\n".join(line for line in text[text.index("\npartitions:"):].splitlines())


def under_weftd(net, texts, options, wanted):
    """What weftd holds by name of the text, where that is not what is wanted."""
    with Lab(net, sim="weftsim") as lab:
        m = Weftd(lab)
        m.start()
        m.wait_up()
        folder = os.path.join(lab.dir, "opensm")
        os.mkdir(folder)
        put(os.path.join(folder, "opensm.conf"), options)
        wrong = {}

        def load(text):
            put(os.path.join(folder, "partitions.conf"), text)
            m.write(top=settings(imported(folder)) + "\n")
            m.weft("reload")

        def settled(right):
            tables = read_tables(lab)
            return tables if right(tables) else None

        for name, text in texts.items():
            load("")
            load(text)
            try:
                wait_for("tables", lambda right=wanted[name]: settled(right), 5)
            except Failure:
                wrong[name] = read_tables(lab)
        m.stop()
    return wrong


def text_of(table):
    return str(["0x%04x" % k if isinstance(k, int) else k for k in [table[0]] + table[1]])


def same_keys(one, other):
    """Whatever is at index 0. Ports of switches enforce, but OpenSM gives them one key of two: a
    full one lets a limited one pass."""
    return all(t[0] == o[0] if "/" in p else set([t[0]] + t[1]) - {0} == set([o[0]] + o[1]) - {0}
               for p, t, o in ((p, one[p], other[p]) for p in PORTS))


def compare(texts, options="", same=lambda one, other: one == other):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = os.path.join(tmp, "net")
        put(net, FABRIC)
        theirs = under_opensm(net, texts, options)
        wrong = under_weftd(net, texts, options,
                            {name: lambda ours, t=t: same(ours, t) for name, t in theirs.items()})
    for name, ours in wrong.items():
        for port in PORTS:
            if ours[port] != theirs[name][port]:
                print("%s: %s: weftd %s, OpenSM %s" % (name, port, text_of(ours[port]),
                                                       text_of(theirs[name][port])))
    need(not wrong, "other tables than OpenSM's: %s" % " ".join(wrong))


def test_import_partitions():
    """The same keys, and the same one at index 0; the same enforced."""
    compare(SAME)


def test_import_both():
    compare(BOTH, "allow_both_pkeys TRUE\n", same_keys)


def test_import_enforce():
    """What switches enforce, by part_enforce."""
    for way in ("in", "out", "off"):
        compare({"enforce": "a=0x10: %s=full, %s;" % (H1, H2)}, "part_enforce %s\n" % way)


def test_import_faults():
    """What is a fault of OpenSM's, and that it is one still."""
    texts = {name: row[0] for name, row in FAULTS.items()}
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = os.path.join(tmp, "net")
        put(net, FABRIC)

        def as_said(name):
            said = dict(zip(("H0", "H1", "H2"), FAULTS[name][1:]))
            return lambda tables: all([tables[h][0]] + tables[h][1] == k
                                      for h, k in said.items())

        right = {name: as_said(name) for name in FAULTS}
        for name, tables in under_opensm(net, texts, "").items():
            need(not right[name](tables), "OpenSM does not do it any more: %s" % name)
        wrong = under_weftd(net, texts, "", right)
        for name, tables in wrong.items():
            print("%s: weftd %s" % (name, {h: text_of(tables[h]) for h in ("H0", "H1", "H2")}))
        need(not wrong, "not as said: %s" % " ".join(wrong))


def import_lids(folder, state, refused=None):
    """weft import opensm --state: what it said."""
    r = subprocess.run([program("weft"), "import", "opensm", "--state", state, folder],
                       capture_output=True, text=True, timeout=60, check=False)
    need((r.returncode != 0) == bool(refused) and (refused or "") in r.stderr,
         "weft import ended with %d: %s" % (r.returncode, r.stderr))
    return r.stdout


def test_import_lids():
    """LIDs of guid2lid are those of ports that come without any; what weftd knows goes before."""
    wanted = {"H1": 0x50, "H2": 0x3000, "S1/1": 0x61}
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = os.path.join(tmp, "net")
        put(net, FABRIC)
        with Lab(net, sim="weftsim") as lab:
            guids = {"H1": H1, "H2": H2, "S1/1": re.search(
                r"Guid:\.*(0x\w+)", lab.tool("smpquery", "-D", "nodeinfo", "0,1", host="H3")
                ).group(1)}
            m = Weftd(lab)
            put(os.path.join(lab.dir, "guid2lid"), "\n\n".join(
                "0x%016x 0x%04x 0x%04x" % (int(guids[name], 16), lid, lid)
                for name, lid in wanted.items()) +
                "\n0x123 0x0050 0x0050\n0x124 0 0\n0x125 0xc000 0xc000\n0x126 3 4\n%s 9 9\n" % H1)
            said = import_lids(lab.dir, m.state)
            for line, part in ((6, "line 1 has"), (7, "from 1"), (8, "from 1"), (9, "whatever"),
                               (10, "line 1 has")):
                need(re.search("^# - guid2lid:%d: .*%s" % (line, part), said, re.M), said[:900])
            m.write()
            with open(m.config, encoding="utf-8") as f:
                text = f.read()
            m.write_text(text.replace("name: lab", "name: default"))
            m.start()
            m.wait_up()
            for name, lid in wanted.items():
                route, _ = PORTS[name]
                text = lab.tool("smpquery", "-D", "portinfo", route,
                                "0" if "/" in name else "1", host="H3")
                held = int(re.search(r"^Lid:\.*(\d+)", text, re.M).group(1))
                need(held == lid, "%s has LID %d, not %d" % (name, held, lid))
            import_lids(lab.dir, m.state, "runs with state file")
            m.stop()
            import_lids(lab.dir, m.state, "already")
