# SPDX-License-Identifier: BSD-2-Clause
"""What programs on hosts ask of the subnet administrator of weftd, in their order, from two hosts:
network interfaces of Linux (IPoIB), ibacm, and many at once."""
import concurrent.futures
import os
import re
import sys

from cases_osmtest import weftd_serving
from common import BUILD
from lab import need, program, wait_for
from sa_client import BROADCAST

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sa_client.py")
ONE, TWO = "H1_0_0", "H3_1_1"
GID = {ONE: "fe80::10:9", TWO: "fe80::10:1f"}
OTHER = {ONE: TWO, TWO: ONE}


def each(lab, *words):
    """The client on both hosts at once; its lines as lists of words, by host."""
    def run(host):
        argv = [w.format(gid=GID[OTHER[host]]) for w in words]
        return [x.split() for x in lab.run([sys.executable, CLIENT] + argv, host)[0].splitlines()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip((ONE, TWO), pool.map(run, (ONE, TWO))))


def lid(lab, host):
    return lab.run([program("saquery"), "-l", host], ONE)[0].strip()


def members(lab, mgid):
    """GIDs of members, as saquery tells whoever has the key."""
    out = lab.run([program("saquery"), "--smkey", "1", "MCMR", "--mgid", mgid], ONE)[0]
    return re.findall(r"PortGid\.+(\S+)", out)


def same_groups(lab, up):
    """Both hosts are told the same MLID of a group, and are its members; it is in the tables."""
    one, two = (dict(up[host]) for host in (ONE, TWO))
    shared = set(one) & set(two)
    need(BROADCAST in shared and len(shared) == 3 and len(one) == len(two) == 4,
         "groups: %s" % up)
    for mgid in shared:
        need(one[mgid] == two[mgid], "%s has two MLIDs" % mgid)
        need(sorted(members(lab, mgid)) == sorted(GID.values()), "members of %s: %s" %
             (mgid, members(lab, mgid)))
        wait_for("the tree of %s" % mgid, lambda m=one[mgid]: m in
                 lab.run([program("dump_mfts")], ONE)[0].lower())
    need(len(set(one.values()) | set(two.values())) == 5, "groups share a MLID: %s" % up)


def path_there_and_back(lab, *words):
    paths = each(lab, *words)
    for host in (ONE, TWO):
        need(paths[host][-1][0] == lid(lab, OTHER[host]), "a path to LID %s" % paths[host][-1][0])
    need(paths[ONE][-1][1:] == paths[TWO][-1][1:], "otherwise back than there: %s" % paths)


def test_clients_ipoib():
    """Up, a path each way, a message to a group that only another is in, down; then up again."""
    with weftd_serving("ft3-4") as (lab, _):
        same_groups(lab, each(lab, "ipoib-up"))
        path_there_and_back(lab, "ipoib-path", "{gid}")
        sent = each(lab, "ipoib-send", "ff12:401b:ffff::fb")
        need(sent[ONE][0][0] == "ff12:401b:ffff::fb", "nothing was sent: %s" % sent)
        need(not members(lab, "ff12:401b:ffff::fb"), "who only sends has not left")
        each(lab, "ipoib-down")
        need(not members(lab, "ff12:401b:ffff::1"), "a group without members is there")
        same_groups(lab, each(lab, "ipoib-up"))


def test_clients_reregister():
    """A daemon that has lost its state asks every host once to register again; one that has it
    does not, and has all members."""
    with weftd_serving("ft3-4") as (lab, m):
        def asked(name):
            lab.sim.ctl("capture", "stop")
            out, _ = lab.run([program("tshark"), "-r", name, "-Y", "infiniband.mad.method == 2 && "
                              "infiniband.portinfo.clientreregister == 1", "-T", "fields", "-e",
                              "infiniband.portinfo.lid"])
            return sorted(out.split())
        same_groups(lab, each(lab, "ipoib-up"))
        m.stop()
        lab.sim.ctl("capture", os.path.join(lab.dir, "with"), "pcap")
        m.start()
        m.wait_up()
        need(not asked("with"), "asked although nothing was lost")
        need(sorted(members(lab, BROADCAST)) == sorted(GID.values()), "members were lost")
        m.stop()
        os.unlink(m.state)
        lab.sim.ctl("capture", os.path.join(lab.dir, "without"), "pcap")
        m.start()
        m.wait_up()
        lids = asked("without")
        need(len(lids) == len(set(lids)) and len(lids) >= len(lab.net.hosts()),
             "asked to register again: %s" % lids)
        need(not members(lab, BROADCAST), "members without their asking")
        same_groups(lab, each(lab, "ipoib-up"))


def test_clients_acm():
    """Groups by rate and MTU, and paths that can be gone back."""
    with weftd_serving("ft3-4") as (lab, _):
        path_there_and_back(lab, "acm", "{gid}")
        for mgid in ("ff15:4001:ffff:3:400::", "ff15:4001:ffff:10:500::"):
            need(sorted(members(lab, mgid)) == sorted(GID.values()), "members of %s: %s" %
                 (mgid, members(lab, mgid)))


def test_clients_m13():
    """Case M13: 2,000 clients (100 on each of 20 hosts) want 100 paths each, all at once: all get
    them, none later than the connection manager waits (2 s). It prints the times."""
    with weftd_serving("ft3-8") as (lab, _):
        hosts = lab.net.hosts()[1:21]
        with concurrent.futures.ThreadPoolExecutor(len(hosts)) as pool:
            found = list(pool.map(lambda host: lab.run(
                [os.path.join(BUILD, "bench_ask"), "path", "100", "60", "208", "10000"], host)[0],
                hosts))
        print("".join(found))
        for text in found:
            need(re.match(r"10000 answers, .* 0 refused, 0 lost$", text), text)
