# SPDX-License-Identifier: BSD-2-Clause
"""Partitions over kills, a full disk and damaged files: what devices hold, by smpquery, is what was
acknowledged, and never more than was said. ISOLATION_ROUNDS kills (10); `make soak` makes more."""
import glob
import os
import random
import re
import shutil
import signal
import tempfile
import time

import fabrics
from lab import Lab, need, wait_for
from manager import Weftd

FILE = """partitions:
  - {name: default, pkey: 0x7fff, members: [{nodes: all, membership: limited}]}
  - {name: blue, pkey: %d, members: [0x100003, 0x100005]}
"""
# Port GUID: its host, and where the cable leads.
HOSTS = {"0x100003": ("H0_0_1", "L0_0", 2), "0x100005": ("H0_1_0", "L0_1", 1),
         "0x100009": ("H1_0_0", "L1_0", 1), "0x10000b": ("H1_0_1", "L1_0", 2)}
BLUE = {"0x100003", "0x100005"}
GOLD = 0x8020


class Judge:
    """Asks by LID, for there need not be anybody who knows GUIDs."""

    def __init__(self, lab, m):
        self.lab = lab
        self.lid = {n["name"]: str(n["lid"]) for n in m.json("show", "nodes")["nodes"]}

    def keys(self, name, port):
        text = self.lab.tool("smpquery", "pkeys", self.lid[name], str(port))
        return [int(k, 16) for row in re.findall(r"^ *\d+: (.*)", text, re.M)
                for k in row.split() if int(k, 16)]

    def enforced(self, name, port):
        text = self.lab.tool("smpquery", "portinfo", self.lid[name], str(port))
        return set(re.findall(r"PartEnforce(?:Inb|Outb):\.*(\d)", text)) == {"1"}

    def holders(self, key):
        """Who has it; all have the default key, and switches let through what the hosts have."""
        found = set()
        for guid, (host, leaf, port) in HOSTS.items():
            have = self.keys(host, 1)
            need(0x7fff in have and 0xffff not in have, "%s has %s" % (host, have))
            need(self.keys(leaf, port) == have and self.enforced(leaf, port),
                 "the switch does not hold %s to %s" % (host, have))
            if key in have:
                found.add(guid)
        return found

    def lingers(self, *some):
        """Who has one of these while nobody cares."""
        return {guid for guid in HOSTS if set(some) & set(self.keys(HOSTS[guid][0], 1))}


def laboratory(run, *args):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            m = Weftd(lab, top=FILE % 5)
            m.start()
            m.wait_up()
            run(lab, m, Judge(lab, m), *args)
            m.stop()


def shown(m):
    gold = [p for p in m.json("show", "partitions", "--members")["partitions"]
            if p["name"] == "gold"][0]
    return {"0x%x" % int(x["guid"], 16) for x in gold["members"]}


def killed_in_a_change(lab, m, judge, gold, pick):
    """What gold's members are then: by what was acknowledged, or else before or after it."""
    some = set(pick.sample(sorted(HOSTS), pick.randint(1, 3)))
    remove = pick.random() < 0.5
    after = gold - some if remove else gold | some
    client = lab.start("weft", m.weft_argv("partition", "member", "remove" if remove else "add",
                                           "gold", *sorted(some), *(["--idempotent"] * remove)),
                       None)
    time.sleep(pick.random() * 0.04)
    m.process.stop(signal.SIGKILL)
    done = client.popen.wait(20) == 0
    need(judge.lingers(GOLD) <= gold | after, "more than was said while nobody leads")
    m.start()
    m.wait_up()
    seen = judge.holders(GOLD)
    need(seen == after or (seen == gold and not done), "%s were members, %s to be%s, %s are" %
         (sorted(gold), sorted(after), ", as acknowledged" if done else "", sorted(seen)))
    need(shown(m) == seen, "shown are %s" % sorted(shown(m)))
    return seen


def killed_in_a_reload(lab, m, judge, number, pick):
    other = 11 - number
    m.write(top=FILE % other)
    client = lab.start("weft", m.weft_argv("reload"), None)
    time.sleep(pick.random() * 0.04)
    m.process.stop(signal.SIGKILL)
    client.popen.wait(20)
    need(judge.lingers(0x8000 | number, 0x8000 | other) <= BLUE, "more than before")
    m.start()
    m.wait_up()
    need(judge.holders(0x8000 | other) == BLUE and not judge.holders(0x8000 | number),
         "a reload that was killed is not the file's")
    return other


def kills(lab, m, judge, rounds):
    seed = random.randrange(1 << 30)
    pick, gold, number = random.Random(seed), set(), 5
    print("seed %d, %d kills" % (seed, rounds))
    m.weft("partition", "add", "gold", "--pkey", "0x20")
    for turn in range(rounds):
        if turn % 3 == 2:
            number = killed_in_a_reload(lab, m, judge, number, pick)
        else:
            gold = killed_in_a_change(lab, m, judge, gold, pick)


def test_isolation_killed():
    laboratory(kills, int(os.environ.get("ISOLATION_ROUNDS", "10")))


def limit_files(lab, m, size):
    lab.run(["prlimit", "--pid", str(m.process.pid), "--fsize=%s:" % size])


def fills(lab, m):
    """Nothing more goes into any file than is in the state file's log already."""
    limit_files(lab, m, os.path.getsize(m.state + "-wal"))


def refused(m, *argv):
    _, err = m.weft(*argv, status=1)
    need("state file" in err, "told is: %s" % err)


def full_disk(lab, m, judge):
    a, b, c = "0x100003", "0x100009", "0x10000b"
    m.process.stop()
    argv = m.argv
    m.argv = lambda *more: ["env", "--ignore-signal=XFSZ"] + argv(*more)
    m.start()
    m.wait_up()
    m.weft("partition", "add", "gold", "--pkey", "0x20", a)
    fills(lab, m)
    refused(m, "partition", "member", "add", "gold", b)
    refused(m, "partition", "member", "remove", "gold", a)
    need(judge.holders(GOLD) == {b} and shown(m) == {b}, "told to be in force, and it is not")
    limit_files(lab, m, "unlimited")
    m.process.wait_text("is written again", 20)
    m.process.stop(signal.SIGKILL)
    m.start()
    m.wait_up()
    need(judge.holders(GOLD) == {b} and shown(m) == {b}, "lost, though it was written again")
    # What is not written when it ends is not there afterwards, and all else is.
    fills(lab, m)
    refused(m, "partition", "member", "add", "gold", c)
    m.process.stop(signal.SIGKILL)
    m.start()
    m.wait_up()
    need(judge.holders(GOLD) == {b} and shown(m) == {b}, "half of a change was kept")


def test_isolation_full_disk():
    laboratory(full_disk)


BROKEN = ("partitions: [{name: blue, pkey: 5, members: [all]}, {name: red, pkey: 5}]\n",
          "partitions: [{name: blue, pkey: 5, members: [all], enforce: sideways}]\n",
          "partitions: [{name: blue, pkey: 0x18005, members: [all]}]\n",
          "partitions: [{name: blue, members: [all]\n", "partitions: {blue: [all]}\n",
          "partitions: [{name: blue, pkey: 32, members: [all]}]\n")


def damage(path, pick):
    with open(path, "r+b") as f:
        f.seek(pick.randrange(os.path.getsize(path)))
        f.write(pick.randbytes(300))


def damaged(lab, m, judge):
    """A file that is broken, and a state file that is: nobody gets more."""
    pick = random.Random(5)
    m.weft("partition", "add", "gold", "--pkey", "0x20", "0x100009")
    for text in BROKEN:
        m.write(top=text)
        m.weft("reload", status=None)
        wait_for("nothing to be under way", lambda: judge.holders(0x8005) == BLUE, 20)
        need(judge.holders(GOLD) == {"0x100009"}, "broken: %s" % text)
    m.write(top=FILE % 5)
    m.weft("reload")
    m.stop()
    whole = m.state + ".whole"
    shutil.copy(m.state, whole)
    for _ in range(4):
        for path in glob.glob(m.state + "-*"):
            os.unlink(path)
        shutil.copy(whole, m.state)
        damage(m.state, pick)
        p = m.start("--once")
        wait_for("weftd --once to end", lambda p=p: not p.alive(), 60)
        need(p.popen.returncode == 1 and "damaged" in p.text() or p.popen.returncode == 0,
             "ended with %s" % p.popen.returncode)
        need(judge.lingers(GOLD) <= {"0x100009"} and judge.lingers(0x8005) == BLUE and
             judge.lingers(0xffff) == set(), "somebody got more")
    shutil.copy(whole, m.state)
    for path in glob.glob(m.state + "-*"):
        os.unlink(path)
    m.start()
    m.wait_up()
    need(judge.holders(GOLD) == {"0x100009"} and judge.holders(0x8005) == BLUE, "it is not whole")


def test_isolation_damaged():
    laboratory(damaged)


NAMES = ("H0_0_1", "H0_1_0", "H1_0_0", "H1_0_1", "H1_1_1")
LIMITED, FULL = 1, 2
WORDS = {1: "limited", 2: "full", 3: "both"}


def random_partitions(pick, turn):
    """P_Key -> {host: bits}, and the file that says it: by GUIDs and names, with exceptions."""
    said, rows = {0x7fff: {}}, []
    for number in pick.sample(range(1, 0x7fff), 5):
        some = {n: pick.choice((1, 1, 2, 2, 3)) for n in NAMES if pick.random() < 0.6}
        out = {n for n in some if pick.random() < 0.2}
        members = ["{nodes: %s, membership: %s}" % (
            pick.choice((n, "0x%x" % (0x100000 + 2 * fabrics_place(n) + 1))), WORDS[some[n]])
            for n in some]
        rows.append("  - {name: p%d_%04x, pkey: %#x, members: [%s], except: [%s]}\n" % (
            turn, number, number | pick.choice((0, 0x8000)), ", ".join(members), ", ".join(out)))
        said[number] = {n: bits for n, bits in some.items() if n not in out}
    said[0x7fff] = {n: LIMITED for n in NAMES}
    return said, ("partitions:\n  - {name: default, pkey: 0x7fff, members: "
                  "[{nodes: all, membership: limited}]}\n" + "".join(rows))


def fabrics_place(name):
    """Hosts of ft3-4 in the order of their GUIDs."""
    pod, leaf, port = (int(x) for x in name[1:].split("_"))
    return 4 * pod + 2 * leaf + port


def may_talk(said, a, b, numbers):
    return any((said[n].get(a, 0) and said[n].get(b, 0)) and
               (said[n][a] | said[n][b]) & FULL for n in numbers)


def gid(name):
    return "fe80:0000:0000:0000:0000:0000:0010:00%02x" % (2 * fabrics_place(name) + 1)


def visible(lab, m, judge):
    """weft partition check, path records and node records against what was said."""
    seed = random.randrange(1 << 30)
    pick = random.Random(seed)
    print("seed %d" % seed)
    for turn in range(2):
        said, text = random_partitions(pick, turn)
        m.write(top=text)
        m.weft("reload")
        wait_for("the partitions", lambda: all(
            n in judge.keys(h, 1) or n | 0x8000 in judge.keys(h, 1)
            for n in said for h in said[n]), 20)
        wait_for("the others to go", lambda: all(
            k & 0x7fff in said for h in NAMES for k in judge.keys(h, 1)), 20)
        for a in NAMES:
            b, number = pick.choice([n for n in NAMES if n != a]), pick.choice(list(said))
            talk = may_talk(said, a, b, [number])
            answer = m.json("partition", "check", a, b, "--pkey", hex(number), status=None)
            need(answer["talk"] == talk, "%s, %s by %#x: %s" % (a, b, number, answer))
            answer = m.json("partition", "check", a, b, status=None)
            need(answer["talk"] == may_talk(said, a, b, said), "%s, %s: %s" % (a, b, answer))
            out = lab.tool("saquery", "PR", "--sgid", gid(a), "--dgid", gid(b), "--pkey",
                           hex(number), host=a, status=None)
            need(("dlid" in out) == talk, "a path from %s to %s by %#x: %s" % (a, b, number, out))
            seen = set(re.findall(r"NodeDescription\.+(H\S+)", lab.tool("saquery", "NR", host=a)))
            need({n for n in NAMES if n in seen} ==
                 {n for n in NAMES if n == a or may_talk(said, a, n, said)},
                 "%s sees %s of %s" % (a, sorted(seen), said))


def test_isolation_visible():
    laboratory(visible)
