# SPDX-License-Identifier: BSD-2-Clause
"""saquery of infiniband-diags, all it can ask: the same questions to OpenSM and to weftd.

They manage one fabric one after the other, with the same LIDs and forwarding tables (both have an
engine that takes tables from a file), and with clients that leave the same behind. Answers are
compared record by record, in any order. Where weftd means to answer otherwise, a row of docs/sa.md
says so and why; whatever else differs is a failure, and so is a row that nothing needs any more.
"""
import collections
import concurrent.futures
import os
import re
import shutil
import sys

from common import TOP
from lab import need, program, wait_for
from manager import OpenSM, Weftd
from sa_client import BROADCAST

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sa_client.py")
SEAT = "H1_1_0"     # of the client that furnishes
SECOND = "H3_0_0"   # of another member of the broadcast group
ASKED = "H1_0_0"    # where saquery runs

# Each type of record as a whole, by its short name, its long name, its option.
WHOLE = (
    "CPI", "NR", "PIR", "SWIR", "LFTR", "MFTR", "LR", "SL2VL", "VLAR", "PR", "GIR", "SMIR", "MCMR",
    "SR", "IIR", "PKTR", "--smkey 1 PKTR",
    "ClassPortInfo", "NodeRecord", "PortInfoRecord", "SwitchInfoRecord", "LFTRecord", "MFTRecord",
    "LinkRecord", "SL2VLTableRecord", "VLArbitrationTableRecord", "PathRecord", "GUIDInfoRecord",
    "SMInfoRecord", "MCMemberRecord", "ServiceRecord", "InformInfoRecord",
    "--smkey 1 PKeyTableRecord",
    "", "-N", "-p", "-x", "-c", "-S", "-I", "-s", "-g", "-m", "-D",
    "--smkey 1 PIR", "--smkey 1 SMIR", "--smkey 1 MCMR", "--smkey 1 SR", "--smkey 1 IIR",
    "--smkey 1 -m", "--smkey 1 -K PIR", "--smkey 1 -K SMIR", "-K SR", "--smkey 1 -K SR",
)

# {h} {i}: LIDs of two hosts; {s} {t}: of two switches that a cable joins; {none}: nobody's.
NODES = ("{h}", "{s}", "{none}", "0", "0xffff", "H2_0_0", "L0_0", "nobody")
TABLES = (
    *("NR " + x for x in NODES), *("-N " + x for x in NODES),
    *("PIR " + x for x in ("{h}", "{h}/1", "{h}/0", "{h}/2", "{s}", "{s}/0", "{s}/3", "{s}/255",
                           "{none}", "{none}/1", "/1", "/0", "{s}/1/0x80", "L0_0", "H2_0_0")),
    *("SWIR " + x for x in ("{h}", "{s}", "{none}", "L0_0")),
    *("SMIR " + x for x in ("{h}", "{sm}", "{none}")),
    *("LFTR " + x for x in ("{s}", "{s}/0", "{s}/1", "{s}/767", "{h}", "{none}", "/0", "L0_0")),
    *("MFTR " + x for x in ("{s}", "{s}/0", "{s}/0/0", "{s}/1", "{s}//0", "{s}//1", "{h}",
                            "{none}", "//0")),
    *("LR " + x for x in ("{h}", "{h}/1", "{s}", "{s}/1", "{s}/0", "{h} {s}",
                          "{s} {t}", "{s}/3 {t}", "{s} {t}/1", "/1", "{none}", "/1 /1")),
    *("SL2VL " + x for x in ("{h}", "{h}/0/0", "{h}/0/1", "{h}/1", "{s}", "{s}/1", "{s}/1/2",
                             "{s}//2", "{s}/0", "{s}/0/0", "{none}", "/1/2")),
    *("VLAR " + x for x in ("{h}", "{h}/1", "{h}/1/1", "{h}/0", "{s}", "{s}/1", "{s}/1/1",
                            "{s}/1/3", "{s}/1/5", "{s}/0", "{s}/0/1", "{none}", "//3")),
    *("--smkey 1 PKTR " + x for x in ("{h}", "{h}/1", "{h}/1/0", "{h}/1/1", "{h}/0", "{s}",
                                      "{s}/0", "{s}/1", "{s}/1/0", "{none}", "/1", "//0", "//1")),
    "PKTR {h}/1/0",
    *("GIR " + x for x in ("{h}", "{h}/0", "{h}/1", "{h}/200", "{s}", "{s}/0", "{none}", "/0",
                           "/1")),
    *("-%s %s" % (o, x) for o in "LlG" for x in ("H2_0_0", "L0_0", "nobody")),
    *("-O " + x for x in ("{h}", "{s}", "{none}")),
    *("-U " + x for x in ("0x100008", "0x200000", "0x999")),
    *("IIR " + x for x in ("{ghs}", "fe80::77", "fe80::10:1")),
    "-C mlx5_0 -P 1 NR {h}", "-t 3000 NR {h}",
    "--node-name-map /dev/null NR {s}", "-K -e NR {h}", "--smkey 2 -t 100 NR {h}",
)

# Two hosts by LID (h, i) and by GID (gh, gi); a switch by LID (s) and GID (gs).
PATHS = (
    "-p --slid {h} --dlid {i}", "-p --slid {h} --dlid {h}", "-p --slid {h} --dlid {s}",
    "-p --slid {s} --dlid {t}", "-p --slid {h}", "-p --dlid {i}", "-p --slid {none}",
    "-p --dlid {none}", "-p --slid {none} --dlid {h}", "-p --slid {h} --dlid 0xffff",
    "PR --slid {h} --dlid 0xc000", "PR --slid {h} --dgid ff12:401b:ffff::ffff:ffff",
    "PR --slid {h} --dgid ff12:401b:ffff::77", "PR --sgid {gh} --dgid ff12:401b:ffff::1",
    "-p --sgid {gh} --dgid {gi}", "-p --sgid {gh}", "-p --dgid {gi}", "-p --sgid {gs} --dgid {gh}",
    "-p --sgid fe80::77 --dgid {gi}", "-p --sgid {gh} --dgid fe80::77", "-p --sgid fe80::77",
    "-p --sgid {gh} --dgid fec0::10:1", "-p --sgid fec0::10:1 --dgid {gi}",
    "-p --slid {h} --dgid {gi}", "-p --sgid {gh} --dlid {i}",
    "-p --slid {i} --sgid {gh} --dlid {i}", "-p --slid {h} --dlid {h} --dgid {gi}",
    "-p --slid {h} --sgid {gh} --dlid {i} --dgid {gi}",
    "--src-to-dst {h}:{i}", "--src-to-dst {h}:{s}", "--src-to-dst {h}:{none}",
    "--src-to-dst H2_0_0:H3_1_1", "--src-to-dst H2_0_0:nobody", "--src-to-dst H2_0_0:{s}",
    "--sgid-to-dgid {gh}-{gi}", "--sgid-to-dgid {gh}-{gs}", "--sgid-to-dgid {gh}-fe80::77",
    "--sgid-to-dgid fe80::77-{gh}",
    *("-p --slid {h} --dlid {i} " + x for x in (
        "-r 0", "-r 1", "-n 0", "-n 1", "-n 2", "-n 127", "--pkey 0xffff", "--pkey 0x7fff",
        "--pkey 0x8001", "--pkey 0", "-Q 0", "-Q 1", "--sl 0", "--sl 1", "--sl 15",
        "-M 0x04", "-M 0x44", "-M 0x84", "-M 0xc4", "-M 0x05", "-M 0x85", "-M 0x43", "-M 0x81",
        "-M 0x41", "-M 0x00", "-M 0x8f",
        "-R 0x03", "-R 0x07", "-R 0x47", "-R 0x87", "-R 0xc7", "-R 0x83", "-R 0x43", "-R 0x8c",
        "-R 0x8f", "-R 0x4f", "-R 0x90", "-R 0x82", "-R 0x42", "-R 0xbf",
        "--pkt_lifetime 0x12", "--pkt_lifetime 0x52", "--pkt_lifetime 0x92", "--pkt_lifetime 0xd2",
        "--pkt_lifetime 0x53", "--pkt_lifetime 0x91", "--pkt_lifetime 0x80",
        "-T 0", "-T 7", "-F 0", "-F 9", "-H 0", "-H 64", "-H 255", "--service_id 0x1000",
        "--service_id 0x0000000001060000", "-M 0x84 -R 0x83 --pkt_lifetime 0x92 --sl 0")),
    *("-p --dlid {i} " + x for x in ("-r 1", "-n 1", "--sl 0", "--sl 3", "-M 0x84")),
)

MEMBERS = tuple("%sMCMR %s" % (key, x) for key in ("", "--smkey 1 ") for x in (
    "--mlid 0xc000", "--mlid 0xc001", "--mlid 0xcfff", "--mgid ff12:401b:ffff::ffff:ffff",
    "--mgid ff12:401b:ffff::1", "--mgid ff12:401b:ffff::77", "--gid {ghs}", "--gid {gh}",
    "--gid fe80::77", "--mgid ff15:a01b::7 --gid {ghs}", "--mgid ff12:401b:ffff::1 --gid {gh}",
    "--pkey 0xffff", "--pkey 0x7fff", "--pkey 0x8001", "--sl 0", "--sl 5", "--sl 7", "-M 0x84",
    "-M 0x44",
    "-M 0xc4", "-M 0x04", "-M 0x05", "-M 0x83", "-R 0x83", "-R 0x43", "-R 0x03", "-R 0x87",
    "-R 0xc3", "--pkt_lifetime 0x92", "--pkt_lifetime 0x52", "--pkt_lifetime 0x93", "-q 0x0b1b",
    "-q 0x1234", "-q 0x77", "-T 0", "-T 9", "-F 0", "-F 77", "-H 0", "-H 5", "--scope 2",
    "--scope 5", "--scope 14", "-J 1", "-J 2", "-J 4", "-X 0", "-X 1", "-X 128",
    "--mgid ff15:a01b::7 -J 1 --scope 5 -q 0x1234 -T 9 -F 77")) + (
    "-m 0xc000", "-m 0xc001", "-m 0xcfff", "-g 0xc000", "--smkey 1 -m 0xc000",
    "--smkey 1 -m 0xc001", "-m ff12:401b:ffff::1")

QUERIES = tuple(dict.fromkeys(WHOLE + TABLES + PATHS + MEMBERS))


# ---- One answer ----

def ask(lab, query, seconds=60):
    """Standard output and error as they are, and the exit status."""
    argv = [program("saquery")] + query.split()
    out, err = lab.run(["sh", "-c", '"$@"; echo "exit status $?"', "sh"] + argv, ASKED, seconds)
    return (out + err).strip()


def words_of(lab):
    """What stands in braces in the questions."""
    def lid(name):
        return ask(lab, "-l " + name).split()[0]
    return {"h": lid("H1_0_0"), "i": lid("H3_1_1"), "s": lid("L0_0"), "t": lid("A0_0"),
            "sm": lid(lab.seat()), "none": "40000", "gh": "fe80::10:9", "gi": "fe80::10:1f",
            "gs": "fe80::20:0", "ghs": "fe80::10:d"}


def answers(lab, queries, at_once):
    words = words_of(lab)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return dict(zip(queries, pool.map(lambda q: ask(lab, q.format(**words)), queries)))


def furnished(lab):
    """Clients that leave something behind; the tree of their common group is in the tables."""
    clients = [lab.start("client", [sys.executable, CLIENT] + words, host)
               for words, host in ((["furnish"], SEAT), (["member", BROADCAST], SECOND))]
    for p in clients:
        p.wait_text("ready")
    wait_for("the tree", lambda: "0xc000" in lab.run([program("dump_mfts")], ASKED)[0].lower())
    return clients


def tables_read(lab):
    """weftd reads some tables when all else is done, and is busy until then."""
    for query in ("--smkey 1 PKTR", "VLAR", "SL2VL"):
        wait_for("an answer to " + query, lambda q=query: "exit status 0" in ask(lab, q))


# ---- Both managers ----

def tables_made(lab):
    """LIDs and forwarding tables that both managers take: weftd's, saved to a file of dump_lfts."""
    Weftd(lab, engines="updn", tag="-first").once()
    saved = os.path.join(lab.dir, "lfts")
    with open(saved, "w", encoding="utf-8") as f:
        f.write(lab.run([program("dump_lfts")], ASKED)[0])
    return saved


def by_opensm(lab, tables):
    m = OpenSM(lab, engines="file")
    m.start("-Q", "-U", tables)
    m.wait_up()
    return m


def by_weftd(lab, tables):
    m = Weftd(lab, engines="file, updn")
    with open(m.config, encoding="utf-8") as f:
        text = f.read().replace("fallback: warn", "fallback: warn, file: " + tables)
    m.write_text(text)
    m.start()
    need(m.wait_up()["engine_running"] == "file", "weftd has not taken the tables of the file")
    return m


def under_both(lab, what):
    """What what(at_once) says under OpenSM and under weftd. OpenSM may be asked by one client at a
    time only: it crashes on some questions when they come two at a time."""
    tables, found = tables_made(lab), []
    for manage, at_once in ((by_opensm, 1), (by_weftd, 4)):
        m = manage(lab, tables)
        found.append(what(at_once))
        need(m.process.alive(), "%s has ended" % m.name)
        m.stop()
    return found


def both(lab, queries=QUERIES):
    """Two times {question: answer}: OpenSM's and weftd's."""
    def furnished_answers(at_once):
        clients = furnished(lab)
        tables_read(lab)
        found = answers(lab, queries, at_once)
        for p in clients:
            p.stop()
        return found
    return under_both(lab, furnished_answers)


# ---- What differs, and may ----

class Row:
    """A difference that docs/sa.md argues: lines of weftd's and of OpenSM's, each by a regular
    expression that it matches whole; or whole answers, by one that is found in them."""

    def __init__(self, cells):
        self.text, self.used = " | ".join(cells[:3]), False
        self.whole = cells[1].startswith("answer ")
        self.any = cells[1] == cells[2]     # an accident of the moment: it may be equal, too
        self.query, self.ours, self.theirs = (
            re.compile(re.sub(r"^(answer )?`|`$", "", c).replace("\\|", "|"), re.M)
            for c in cells[:3])

    def explains(self, ours, theirs):
        """The whole answers differ as the row says."""
        return self.whole and self.ours.search(ours) and self.theirs.search(theirs)


def argued(path=os.path.join(TOP, "docs", "sa.md")):
    with open(path, encoding="utf-8") as f:
        rows = [re.split(r" (?<!\\)\| ", x.strip("| \n")) for x in f if x.startswith("| `")]
    return [Row([c.strip() for c in cells]) for cells in rows]


def plain(line):
    return re.sub(r"\s+", " ", line.strip())


def records(text, rules):
    """Records as their lines, and lines outside; with what is argued blotted out."""
    def blot(line):
        for i, rule in enumerate(rules):
            if rule.fullmatch(line):
                return "(argued %d)" % i
        return line
    found = collections.Counter()
    for part in re.split(r"^(?=.*dump:$|exit status )", text, flags=re.M):
        lines = [blot(plain(x)) for x in part.splitlines()
                 if x.strip() and not x.startswith("ibwarn: ")]
        if re.match(r".*dump:$", part.split("\n", 1)[0]):
            found["\n".join(lines)] += 1
        else:
            found.update(lines)
    return found


def diff(query, ours, theirs, rows=()):
    """Lines that say what differs: - OpenSM's, + weftd's."""
    if records(ours, []) == records(theirs, []):
        return []
    mine = [r for r in rows if r.query.fullmatch(query)]
    for r in mine:
        if r.explains(ours, theirs):
            r.used = True
            return []
    mine = [r for r in mine if not r.whole]
    a = records(ours, [r.ours for r in mine])
    b = records(theirs, [re.compile("|".join((r.theirs.pattern, r.ours.pattern))) for r in mine])
    for r in mine:
        r.used = r.used or any(r.ours.fullmatch(plain(x)) for x in ours.splitlines())
    return told(list((b - a).elements()), list((a - b).elements()))


def told(theirs, ours):
    """What only one side has; of records that are nearly alike the lines in which they differ."""
    out = []
    for x in theirs:
        lines = x.split("\n")
        near = min(ours, default="", key=lambda y: len(set(lines) ^ set(y.split("\n"))))
        common = set(lines) & set(near.split("\n"))
        if len(common) * 2 > len(lines):
            ours.remove(near)
            out.append("%s: - %s + %s" % (
                "; ".join(lines[1:3]), "; ".join(y for y in lines if y not in common),
                "; ".join(y for y in near.split("\n") if y not in common)))
        else:
            out.append("- " + "; ".join(lines))
    return out + ["+ " + "; ".join(y.split("\n")) for y in ours]


def judge(queries, ours, theirs, unneeded):
    """Fail with what no row argues; and, where all was asked, with rows that nothing needs."""
    rows, found = argued(), []
    for q in queries:
        found += ["saquery %s: %s" % (q, line[:300]) for line in diff(q, ours[q], theirs[q], rows)]
    if unneeded:
        found += ["not needed: " + r.text for r in rows if not r.used and not r.any]
    need(not found, "%d differences from OpenSM (- OpenSM, + weftd); docs/sa.md has those that are "
         "meant:\n%s" % (len(found), "\n".join(found[:20])))
