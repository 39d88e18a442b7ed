# SPDX-License-Identifier: BSD-2-Clause
"""Programs on several hosts of weftsim at once: what they see of each other, that none disturbs
another, and what a host looks like to them."""
import os
import re
import signal
import sys

import proof
from bed_diags import Tools, count, managed, served
from cases_sa import managed_by
from common import TOP
from lab import Skip, need, program, wait_for
from manager import OpenSM, Weftd

CLIENT = os.path.join(TOP, "tests", "e2e", "umad_client.py")
IPOIB = "ff12:401b:ffff::ffff:ffff"


def client(lab, host, *words):
    p = lab.start("client", [sys.executable, CLIENT] + list(words), host)
    p.wait_text("ready")
    return p


def serve(lab, host, line, attached):
    """A server on a host: it is there when the simulator sees that it has its port open."""
    argv = line.split()
    p = lab.start(argv[0], [program(argv[0])] + argv[1:], host)
    wait_for(line, lambda: "[%d]" % p.pid in lab.sim.ctl("programs"))
    return p


def test_attached_ping():
    """ibping and ibsysstat between two hosts, by LID and GUID; where no server is they time out."""
    with managed("ft3-4") as lab:
        t = Tools(lab)
        lid, other = Tools(lab, "H1_0_0").lid(), Tools(lab, "H2_0_0").lid()
        server = serve(lab, "H1_0_0", "ibping -S", "umad0")
        stat = serve(lab, "H2_0_0", "ibsysstat -S", "umad0")
        t.says("ibping -c 1 %d" % lid, r"^Pong from .* \(Lid %d\)" % lid, "1 received, 0% packet")
        t.says("ibping -f -c 1000 %d" % lid, "1000 received, 0% packet loss")
        t.says("ibping -c 1 -G 0x100009", "1 received")
        t.says("ibsysstat %d" % other, "sysstat ping succeeded")
        t.says("ibsysstat %d cpu" % other, "^cpu 0")
        t.says("ibsysstat %d host" % other, ".")
        t.says("ibsysstat -G 0x100011", "sysstat ping succeeded")
        t.says("ibping -t 50 -c 1 %d" % other, "0 received, 100% packet loss")
        server.stop()
        stat.stop()
        t.says("ibping -t 50 -c 1 %d" % lid, "0 received")


def test_attached_multicast():
    """Two hosts join a group: the tables lead to both, as ibtracert and dump_mfts see them."""
    with managed("ft3-4") as lab:
        t = Tools(lab)
        lids = [Tools(lab, h).lid() for h in ("H0_1_0", "H2_0_1")]
        for host in ("H0_1_0", "H2_0_1"):
            client(lab, host, "join", IPOIB)
        t.says("saquery --smkey 1 -m 0xC000", "H0_1_0", "H2_0_1")

        def traced():
            out = t("ibtracert -m 0xc000 %d %d" % tuple(lids), status=None)
            return re.search(r'^To ca .*"H2_0_1"$', out, re.M) and out
        out = wait_for("a way through the multicast tables", traced)
        need(count(out, "-> switch") == 5, "ibtracert -m: " + out)
        need(count(t("dump_mfts"), "^0xc000") >= 5, "dump_mfts shows no tree")
        need(count(t("saquery MFTR"), "dump:") >= 5, "saquery MFTR")
        t.says("saquery MCMR", r"[Mm]lid\.*0x[Cc]000")


def test_attached_sysfs():
    """What the kernel would show changes as the SM and cables change it, also under a program that
    runs all the while."""
    with served("ft3-4") as lab:
        t = Tools(lab)

        def shows(name, text):
            return t("cat /sys/class/infiniband/mlx5_0/ports/1/" + name).strip() == text
        wait_for("the port to train", lambda: shows("state", "2: INIT"))
        need(shows("lid", "0x0"), "a LID before there is an SM")
        p = client(lab, t.host, "watch", "state", "4: ACTIVE")
        with open(os.path.join(lab.dir, "partitions"), "w", encoding="utf-8") as f:
            f.write("Default=0x7fff, ipoib: ALL=full;\nblue=0x8001: ALL=limited;\n")
        m = OpenSM(lab)
        m.start("-P", os.path.join(lab.dir, "partitions"))
        m.wait_up()
        p.wait_text("seen", 30)
        lid = t.lid()
        need(shows("lid", "0x%x" % lid) and shows("sm_lid", "0x1"), "sysfs has not the SM's LIDs")
        need(shows("pkeys/0", "0xffff") and shows("pkeys/1", "0x0001"), "sysfs has other P_Keys")
        need(shows("rate", "100 Gb/sec (4X EDR)"), "sysfs has another rate")
        p = client(lab, t.host, "watch", "state", "1: DOWN")
        lab.unplug(t.host, 1)
        p.wait_text("seen", 30)
        need(shows("phys_state", "2: Polling"), "a cut cable leaves its port as it was")
        p = client(lab, t.host, "watch", "state", "4: ACTIVE")
        lab.plug(t.host, 1)
        p.wait_text("seen", 30)
        need(shows("lid", "0x%x" % lid), "another LID after a flap")


def test_attached_devices():
    """A host with four devices, and hosts as rdma-core 56 expects them: pairs of SMI and GSI."""
    with served("rails-2-4-4-2") as lab:
        host = lab.net.hosts()[0]
        t = Tools(lab, host)
        need(t("ibstat -l").split() == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"], "ibstat -l")
        need(count(t("ibstat"), "Port GUID") == 4, "ibstat")
        guids = {t("smpquery -C mlx5_%d -D nodeinfo 0" % i) for i in range(4)}
        need(len(guids) == 4, "two devices are the same")
        m = OpenSM(lab)
        m.start()
        m.wait_up()
        wait_for("all rails", lambda: count(t("ibstat"), "State: Active") == 4)
        for i in range(4):
            t.says("sminfo -C mlx5_%d -P 1" % i, "SMINFO_MASTER")
        pair = program("umad_pair")
        if not os.path.isabs(pair):
            raise Skip("umad_pair is not built")
        t(pair)
        t("env WEFTSIM_LAYOUT=pairs " + pair)
        out = t("env WEFTSIM_LAYOUT=pairs ls /sys/class/infiniband")
        need("smi1" in out and "mlx5_0" in out, "no pairs of devices: " + out)


VERSIONS = ("libibumad3", "libibmad5", "libibnetdisc5", "infiniband-diags", "ibsim-utils", "opensm")
PAIRS = "rdma-core 56 looks for pairs of SMI and GSI devices (linux-rdma/ibsim issue 40): "


def test_attached_versions():
    """A10: what the packaged tools and libraries are, and that they find the fabric, on hosts of
    either kind: where a newer rdma-core looks for devices otherwise this is what fails first."""
    with served("ft3-4") as lab:
        out, _ = lab.run(["dpkg-query", "-W"] + list(VERSIONS), status=None)
        print(out, end="")
        need(re.search(r"^libibumad3\S*\s+\S", out, re.M), "no version of libibumad")
        t = Tools(lab)
        for words in ("", "env WEFTSIM_LAYOUT=pairs "):
            device = " -C smi1" if words else ""
            found = t(words + "ibnetdiscover" + device, status=None)
            need(count(found, "^Ca") == 16 and count(found, "^Switch") == 20,
                 PAIRS + "ibnetdiscover sees %d hosts and %d switches" %
                 (count(found, "^Ca"), count(found, "^Switch")))


def test_attached_long_messages():
    """The daemon's transport on two hosts: a question of 16 segments, answers of one byte up to 22
    MB, and one that does not come."""
    table = program("umad_table")
    if not os.path.isabs(table):
        raise Skip("umad_table is not built")
    with managed("ft3-4") as lab:
        server = lab.start("table", [table, "serve"], "H1_0_0")
        server.wait_text("ready")
        t = Tools(lab, "H2_0_0")
        out = t("%s ask %d 1 200 201 400 401 65536 0 22000000" %
                (table, Tools(lab, "H1_0_0").lid()))
        need(count(out, "bytes: ok") == 8, out)


def test_attached_capture():
    """tshark reads a capture and finds no packet malformed; the text form tells the same."""
    with served("ft3-4", "--capture", "mads.pcap") as lab:
        m = OpenSM(lab)
        m.start()
        m.wait_up()
        t = Tools(lab)
        t("saquery NR")
        t("perfquery")
        m.stop()
        lab.sim.stop()

        def packets(condition):
            out, _ = lab.run([program("tshark"), "-r", "mads.pcap", "-Y", condition])
            return out.splitlines()
        need(not packets("_ws.malformed"), "tshark finds malformed packets")
        need(any("SubnGetResp(NodeInfo)" in x for x in packets("infiniband.mad.method == 0x81")),
             "tshark sees no answer with NodeInfo")
        need(packets("infiniband.mad.mgmtclass == 0x03 && infiniband.rmpp.rmpptype == 1"),
             "tshark sees no answer of the SA in segments")
        need(packets("infiniband.mad.mgmtclass == 0x04"), "tshark sees no counters")


POLLING = "sminfo_polling_timeout 200\npolling_retry_number 2\n"


def polling(lab, more=""):
    """A configuration of OpenSM that finds a dead master within half a second."""
    path = os.path.join(lab.dir, "polling.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write(POLLING + more)
    return path


def test_attached_two_managers():
    """Two OpenSMs see each other: master and standby; the master is killed, the other takes over;
    the first comes back and is handed the fabric again."""
    with served("ft3-4") as lab:
        t = Tools(lab)
        conf = polling(lab)
        first = OpenSM(lab, priority=9)
        second = OpenSM(lab, seat="H1_0_0", tag="2", priority=3)
        first.start("-F", conf)
        first.wait_up()
        second.start("-F", conf)
        second.process.wait_text("Entering STANDBY")
        lids = [Tools(lab, h).lid() for h in (first.seat, second.seat)]

        def roles():
            out = [t.run("sminfo -t 100 %d" % lid, status=None)[0] for lid in lids]
            return [(re.search(r"SMINFO_(\w+)", x) or [None, ""])[1] for x in out]
        need(roles() == ["MASTER", "STANDBY"], "the managers are %s" % roles())
        need(count(t("saquery -s"), "dump:") == 2, "the SA knows of other managers")
        need("managers  2" in lab.sim.ctl("status"), "the simulator sees other managers")
        first.process.stop(signal.SIGKILL)
        second.process.wait_text("Entering MASTER", 30)
        wait_for("the second to lead", lambda: roles() == ["", "MASTER"])
        wait_for("ports to know it", lambda: "sm guid 0x100009" in t("sminfo", status=None))
        first.start("-F", conf)
        wait_for("the first to lead again", lambda: roles() == ["MASTER", "STANDBY"])
        first.stop()
        second.stop()


def test_attached_weftd_and_opensm():
    """weftd leads, OpenSM stands by; weftd is killed and OpenSM takes over, with all LIDs kept."""
    with served("ft3-4") as lab:
        t = Tools(lab)
        m = Weftd(lab, extra="    priority: 7\n")
        m.start()
        m.wait_up()
        seen = proof.discover(lab)
        other = OpenSM(lab, seat="H1_0_0", priority=3)
        other.start("-F", polling(lab))
        other.process.wait_text("Entering STANDBY")
        lid = Tools(lab, other.seat).lid()
        t.says("sminfo", r"priority 7 state 3 SMINFO_MASTER")
        t.says("sminfo %d" % lid, r"priority 3 state 2 SMINFO_STANDBY")
        m.process.stop(signal.SIGKILL)
        other.process.wait_text("Entering MASTER", 30)
        other.wait_up()
        t.says("sminfo %d" % lid, "SMINFO_MASTER")
        again = proof.discover(lab)
        need(again.ports == seen.ports and again.switches == seen.switches, "LIDs have moved")
        other.stop()


def test_attached_killed():
    """Tools are killed in the midst of their work, sixty times on three hosts; whoever else is
    there notices nothing, and nothing of them is left."""
    with managed("ft3-8") as lab:
        t, ctl = Tools(lab), lab.sim.ctl
        hosts = lab.net.hosts()[1:4]
        whole = t("ibnetdiscover").splitlines()[3:]
        before = ctl("programs").splitlines()
        for turn in range(20):
            killed = []
            for host, line in zip(hosts, ("ibnetdiscover", "saquery PR", "iblinkinfo")):
                argv = line.split()
                killed.append(lab.start("victim", [program(argv[0])] + argv[1:], host))
            for p in killed:
                wait_for("it to attach", lambda p=p: not p.alive() or
                         "[%d]" % p.pid in ctl("programs"), pause=0.001)
                p.stop(signal.SIGKILL)
            if turn % 4 == 0:
                need(t("ibnetdiscover").splitlines()[3:] == whole, "ibnetdiscover sees less")
        wait_for("the dead to be gone", lambda: ctl("programs").splitlines() == before)
        t.says("sminfo", "SMINFO_MASTER")
        need(count(t("saquery NR"), "dump:") == 208, "saquery NR")


def rss(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def sa_of(lab):
    return lab.manager.status()["sa"]


def test_attached_untaken():
    """Hosts ask for tables and acknowledge no segment, or are killed amid them: others get theirs,
    each answer that was not taken is counted, and nothing of it is kept."""
    each, hosts = 50, ["H0_0_%d" % i for i in (1, 2, 3)] + ["H1_1_%d" % i for i in (0, 1, 2)]
    with managed_by(Weftd, "ft3-8") as lab:
        t, sizes = Tools(lab), []
        for turn in (1, 2):
            bad = [client(lab, host, "untaken", str(each)) for host in hosts]
            for p in bad[::2]:
                p.stop(signal.SIGKILL)
            need(count(t("saquery NR"), "dump:") == 208, "saquery NR beside them")
            need(count(t("saquery PR"), "dump:") == 43264, "saquery PR beside them")
            wait_for("answers to come back", lambda n=turn:
                     sa_of(lab)["drops"]["not_taken"] == n * each * len(hosts), 60, 0.2)
            need(sa_of(lab)["pending"] == 0, "something is left unanswered")
            sizes.append([rss(lab.manager.process.pid), rss(lab.sim.popen.pid)])
            for p in bad[1::2]:
                p.stop(signal.SIGKILL)
        need(max(b - a for a, b in zip(*sizes)) < 20000, "memory grows: %s kB" % sizes)


def test_attached_flood():
    """One host floods its own device and reads no answer, one sends rubbish, one has stopped
    reading: others work as ever, and the simulator does not grow without bound."""
    with managed("ft3-8") as lab:
        t, ctl = Tools(lab), lab.sim.ctl
        bad = [client(lab, "H0_0_1", "flood"), client(lab, "H0_0_2", "rubbish", "1"),
               client(lab, "H0_0_3", "deaf", "20000")]
        sizes = []
        for _ in range(4):
            out = t("ibnetdiscover")
            need(count(out, "^(Switch|Ca)") == 208, "ibnetdiscover sees less")
            need(count(t("saquery PR"), "dump:") == 43264, "saquery PR")
            t.says("sminfo", "SMINFO_MASTER")
            need(all(p.alive() for p in bad), "a flooder has died")
            sizes.append(rss(lab.sim.popen.pid))
        need(sizes[-1] < sizes[0] + 200000, "the simulator grows: %s kB" % sizes)
        for p in bad:
            p.stop(signal.SIGKILL)
        wait_for("them to be gone", lambda: "python" not in ctl("programs"))
        t.says("ibqueryerrors", "0 bad nodes")
