# SPDX-License-Identifier: BSD-2-Clause
"""The tools of infiniband-diags and ibutils on weftsim, unchanged.

The fabric is a full tree of EDR switches with packaged OpenSM on its first host, H0_0_0 with LID 1;
the tools are on the last one. Expected counts are the tree's: ft3 4 has 16 hosts, 20 switches and
48 cables, ft3 8 has 128, 80 and 384.
"""
import os
import re

import proof
from bed_diags import Tools, count, managed
from lab import need, wait_for


def test_diags_local():
    """ibstat, ibstatus and ibaddr tell of the host that they are on."""
    with managed("ft3-4") as lab:
        t = Tools(lab)
        lid = t.lid()
        t.says("ibstat", r"^CA 'mlx5_0'$", "State: Active", "Physical state: LinkUp", "Rate: 100$",
               "Base lid: %d$" % lid, "SM lid: 1$", "Port GUID: 0x000000000010001f$")
        need(t("ibstat -l") == "mlx5_0\n", "ibstat -l")
        need(t("ibstat -p") == "0x000000000010001f\n", "ibstat -p")
        out = t.says("ibstat -s", "Node GUID: 0x000000000010001e")
        need("Port 1" not in out, "ibstat -s shows ports")
        t.same("ibstat", "ibstat mlx5_0", "ibstat -d mlx5_0")
        t.says("ibstat mlx5_0 1", "State: Active")
        t.fails("ibstat mlx5_7", "can't be found")
        t.says("ibstatus", r"default gid:\s+fe80:0000:0000:0000:0000:0000:0010:001f",
               r"base lid:\s+0x%x$" % lid, "4: ACTIVE", "5: LinkUp", r"100 Gb/sec \(4X EDR\)")
        t.says("ibaddr", "^GID fe80::10:1f LID start 0x%x end 0x%x$" % (lid, lid))
        t.says("ibaddr 1", "^GID fe80::10:1 LID start 0x1 end 0x1$")
        t.same("ibaddr 1", "ibaddr -G 0x100001")
        t.says("ibaddr -D 0,1", "^GID fe80::20:d ")
        t.says("ibaddr -g 1", "^GID fe80::10:1 $")
        t.says("ibaddr -l 1", "^LID start 0x1 end 0x1$")


def test_diags_discover():
    """ibnetdiscover in all its forms, iblinkinfo, and the lists of nodes."""
    with managed("ft3-8") as lab:
        t = Tools(lab)
        out = t("ibnetdiscover")
        seen = proof.Seen(out)
        need(len(seen.switches) == 80 and len(seen.ports) == 128, "ibnetdiscover: %d and %d" %
             (len(seen.switches), len(seen.ports)))
        need(count(out, r"4xEDR$") == 768, "ibnetdiscover sees %d EDR ends" % count(out, "4xEDR$"))
        need(count(t("ibnetdiscover -l"), "^(Ca|Switch)") == 208, "ibnetdiscover -l")
        need(count(t("ibnetdiscover -H"), "^Ca") == 128, "ibnetdiscover -H")
        need(count(t("ibnetdiscover -S"), "^Switch") == 80, "ibnetdiscover -S")
        out = t("ibnetdiscover -p")
        need(count(out, r"^(CA|SW) .* 4x EDR - (CA|SW)") == 768, "ibnetdiscover -p")
        for option in ("-g", "-f", "-s", "-m"):
            need(count(t("ibnetdiscover " + option), "^(Switch|Ca)") == 208,
                 "ibnetdiscover " + option)
        cache = os.path.join(lab.dir, "cache")
        t("ibnetdiscover --cache " + cache)
        need(count(t("ibnetdiscover --load-cache " + cache), "^(Switch|Ca)") == 208, "the cache")
        t("ibnetdiscover --diff " + cache)
        out = t("iblinkinfo")
        need(count(out, r"==\( 4X +25\.78125 Gbps Active/ +LinkUp\)==>") == 768, "iblinkinfo")
        need("Down" not in out, "iblinkinfo sees links that are down")
        need(count(t("iblinkinfo -l"), r"^0x.*25\.78125 Gbps Active") == 768, "iblinkinfo -l")
        need(count(t("iblinkinfo --switches-only"), "Active") == 640, "iblinkinfo of switches")
        need(count(t("iblinkinfo -S 0x200000"), "Active") == 8, "iblinkinfo -S")
        need(count(t("iblinkinfo -D 0,1"), "Active") == 8, "iblinkinfo -D")
        need(count(t("ibhosts"), "^Ca\t: 0x") == 128, "ibhosts")
        need(count(t("ibswitches"), "^Switch\t: 0x") == 80, "ibswitches")
        need(count(t("ibnodes"), "^(Ca|Switch)\t: 0x") == 208, "ibnodes")
        need(t("ibrouters") == "", "ibrouters finds one")
        t("ibidsverify")


SMPQUERIES = (
    # operation, of switch LID 2 or a host, what the answer says
    ("nodeinfo 2", "^NodeType:.*Switch", r"^NumPorts:\.*4$", r"^Guid:\.*0x0000000000200000"),
    ("nodeinfo 1", "^NodeType:.*Channel Adapter", r"^PortGuid:\.*0x0000000000100001"),
    ("nodedesc 2", r"Description:\.*L0_0$"),
    ("portinfo 1 1", r"^Lid:\.*1$", r"^SMLid:\.*1$", "IsSM$", r"LinkState:\.*Active",
     r"^LinkSpeedExtActive:\.*25.78125 Gbps"),
    ("-x portinfo 1 1", r"^LinkSpeedExtSupported:\.*14.0625 Gbps or 25.78125 Gbps"),
    ("portinfo 2", r"^Lid:\.*2$"),
    ("portinfo 2 4", r"^LocalPort:\.*[1-4]$", r"LinkState:\.*Active", r"NeighborMTU:\.*4096"),
    ("portinfoextended 2 1", "^EDRFECModeSupported:"),
    ("switchinfo 2", r"^LinearFdbCap:\.*49152", r"^LinearFdbTop:\.*36$", r"^McastFdbCap:"),
    ("pkeytable 1", "^   0: 0xffff 0x0000", "64 pkeys capacity"),
    ("pkeytable 1 1", "^   0: 0xffff 0x0000"),
    ("pkeytable 2", "^   0: 0xffff"),
    ("pkeytable 2 3", "^   0: 0xffff"),
    ("sl2vl 1", r"in  0, out  0: \| 0\| 1\| 2\| 3\| 4\| 5\| 6\| 7\|"),
    ("sl2vl 2 1", r"in  4, out  1: \| 0\| 1\|"),
    ("vlarb 1 1", "LowCap 8 HighCap 8", "^# High priority"),
    ("vlarb 2 1", "LowCap 8 HighCap 8", r"^WEIGHT: \|"),
    ("guidinfo 1", "^   0: 0x0000000000100001 0x0000000000000000", "8 guids capacity"),
)


def test_diags_smpquery():
    """Every operation of smpquery; by LID, directed route, GUID and combined route."""
    with managed("ft3-4", "-Q") as lab:
        t = Tools(lab)
        for op, *patterns in SMPQUERIES:
            t.says("smpquery " + op, *patterns)
        # What these devices, or this fabric, do not have.
        t.fails("smpquery mlnxextportinfo 2 1", "query failed")
        t.fails("smpquery nodeinfo 999", "failed")
        # H0_0_1 has the leaf of LID 2 as its neighbour, and that has H0_0_0 behind port 1.
        n = Tools(lab, "H0_0_1")
        n.same("smpquery nodedesc 2", "smpquery -D nodedesc 0,1", "smpquery -G nodedesc 0x200000")
        n.same("smpquery nodedesc 1", "smpquery -D nodedesc 0,1,1", "smpquery -c nodedesc 2 0,1",
               "smpquery -G nodedesc 0x100001")
        n.same("smpquery switchinfo 2", "smpquery -D switchinfo 0,1",
               "smpquery -G switchinfo 0x200000")
        n.same("smpquery pkeytable 2 1", "smpquery -D pkeytable 0,1 1")
        n.same("smpquery sl2vl 2 1", "smpquery -D sl2vl 0,1 1")
        n.same("smpquery guidinfo 1", "smpquery -D guidinfo 0,1,1", "smpquery -c guidinfo 2 0,1")
        n.says("smpquery -c portinfo 2 0,1", r"^Lid:\.*1$", "IsSM$")
        n.says("smpquery -D nodeinfo 0", r"^Guid:\.*0x0000000000100002")
        n.says("smpdump 2 0x11", "^0101 0204 ")
        n.says("smpdump -D 0,1 0x10", "^4c30 5f30 0000")


def test_diags_recorded():
    """A recorded fabric of a vendor's devices: the rates of its file, and the vendor's PortInfo."""
    with managed("edr_2tier_4leaf_2spine_par6.ibnd") as lab:
        t = Tools(lab)
        with open(lab.net.path, encoding="utf-8", errors="replace") as f:
            rates = sorted(re.findall(r"\b(?:4|12)x[SDQFEHN]DR(?:10)?$", f.read(), re.M))
        found = sorted(re.findall(r"\b(?:4|12)x[SDQFEHN]DR(?:10)?$", t("ibnetdiscover"), re.M))
        need(rates and found == rates, "ibnetdiscover sees %d rates, the file has %d" %
             (len(found), len(rates)))
        lid = min(x for x, _ in proof.discover(lab).switches.values())
        t.says("smpquery mlnxextportinfo %d 1" % lid, "StateChangeEnable", "LinkSpeedEnabled")
        t.says("ibqueryerrors", " 0 bad nodes")
        t("ibnetdiscover -s")


def test_diags_sminfo():
    """sminfo by LID, directed route and GUID, with another state, and where no manager is."""
    master = "sm lid 1 sm guid 0x100001, activity count [0-9]+ priority 0 state 3 SMINFO_MASTER"
    with managed("ft3-4") as lab:
        t = Tools(lab, "H0_0_1")
        for form in ("sminfo", "sminfo 1", "sminfo -G 0x100001", "sminfo -L 1"):
            t.says(form, master)
        out = t("sminfo -D 0,1,1")
        need(re.search("SMINFO_MASTER", out), "sminfo -D: " + out)
        t.fails("sminfo 2", "failed: query")
        t.fails("sminfo -D 0,1", "failed: query")
        counts = [int(re.search(r"count (\d+)", t("sminfo")).group(1)) for _ in range(2)]
        need(counts[1] > counts[0], "the activity count stands still")


def test_diags_routes():
    """ibtracert, ibroute, dump_lfts and their kin agree with each other."""
    with managed("ft3-4") as lab:
        t = Tools(lab)
        lid = t.lid()
        out = t.same("ibtracert %d 1" % lid, "ibtracert -G 0x10001f 0x100001")
        need(count(out, r"^\[\d+\] -> switch") == 5 and re.search(r'^To ca .*"H0_0_0"$', out, re.M),
             "ibtracert: " + out)
        t.says("ibtracert -n %d 1" % lid, r"-> \{0x0000000000100001\}\[1\]$")
        t.fails("ibtracert %d 999" % lid, "failed")
        out = t.same("ibroute 2", "ibroute -G 0x200000")
        need("36 valid lids dumped" in out or "35 valid lids dumped" in out, "ibroute: " + out)
        t.says("ibroute -n 2", "^0x0001 001 $")
        t.says("ibroute -a 2", "lids dumped")
        t.says("ibroute -D 0,1", "^0x%04x 00[12] : .*H3_1_1" % lid)
        t.says("ibroute 2 1 4", "^4 valid lids dumped|^0x0004 ")
        tables = proof.dump_tables(lab)
        own = proof.tables_only(tables)
        need(len(own) == 20 and own["0x0000000000200000"][1] == 1, "dump_lfts")
        need(count(t("dump_fts"), "^Unicast lids") == 20, "dump_fts")
        need(count(t("dump_mfts"), "^Multicast mlids") == 20, "dump_mfts")
        t.says("ibroute -M 2", "^0 valid mlids dumped")
        t.says("ibfindnodesusing 0x200000 1", "H0_0_0")
        t("ibnetdiscover --cache cache")
        t.says("check_lft_balance -l tables -i cache -v", "L0_0")


def test_diags_counters():
    """perfquery and ibqueryerrors: a clean fabric, errors that were set, traffic that fills them;
    and what resetting leaves."""
    with managed("ft3-4") as lab:
        t, ctl = Tools(lab), lab.sim.ctl
        t.says("ibqueryerrors", "36 nodes checked, 0 bad nodes", "96 ports checked, 0 ports have")
        ctl("errors", "L0_0/1", "symbol_errors", "500")
        ctl("errors", "H0_0_1/1", "rcv_errors", "7")
        t.says("ibqueryerrors", "36 nodes checked, 2 bad nodes", r"\[SymbolErrorCounter == 500 ",
               r"\[PortRcvErrors == 7 ", "2 ports have errors", status=1)
        t.says("ibqueryerrors -G 0x200000", "SymbolErrorCounter == 500", "port 1:", status=1)
        t.says("ibqueryerrors --details --data", "SymbolErrorCounter == 500", "PortXmitData",
               status=1)
        t.says("perfquery 2 1", r"^SymbolErrorCounter:\.*500$", r"^PortRcvErrors:\.*0$")
        t.says("perfquery -x 2 1", r"^SymbolErrorCounter:\.*500$", r"^PortXmitData:\.*\d+$")
        t.says("perfquery -C mlx5_0 -P 1 2 1", r"^SymbolErrorCounter:\.*500$")
        t.says("perfquery -a 2", r"^PortSelect:\.*255$", r"^SymbolErrorCounter:\.*500$")
        need(count(t("perfquery -l 2 1-4"), "^# Port counters") == 4, "perfquery -l")
        t.says("perfquery -G 0x200000 1", r"^SymbolErrorCounter:\.*500$")
        t.says("perfquery -a 2 1,3", r"^SymbolErrorCounter:\.*500$")
        t.says("perfquery -r 2 1", r"^SymbolErrorCounter:\.*500$")
        t.says("perfquery 2 1", r"^SymbolErrorCounter:\.*0$")
        ctl("errors", "L0_0/1", "xmit_discards", "9")
        t("perfquery -R 2 1 0x0008")
        t.says("perfquery 2 1", r"^PortXmitDiscards:\.*9$")
        t("perfquery -R -a 2")
        t.says("perfquery 2 1", r"^PortXmitDiscards:\.*0$")
        t.says("ibqueryerrors -k", "PortRcvErrors == 7", status=1)
        t.says("ibqueryerrors", "0 bad nodes")
        for option in ("-X", "-S", "-D", "-E", "-c", "--oprcvcounters", "--flowctlcounters",
                       "--vlxmitcounters"):
            t.says("perfquery %s 2 1" % option, r"PortSelect:\.*1$")
        t.fails("perfquery --swportvlcong 2 1", "cannot query")
        traffic(t, ctl)


def traffic(t, ctl):
    """2 GB a second (words of 4 bytes) from H0_0_0 to H0_0_1, through the leaf with LID 2; MADs
    make a few thousand."""
    def data(line):
        return int(re.search(r"^PortXmitData:\.*(\d+)$", t(line), re.M).group(1))
    ctl("traffic", "start", "flow", "H0_0_0", "H0_0_1", "2GB")
    first = wait_for("data through the leaf", lambda: data("perfquery -x 2 2"))
    wait_for("more of it", lambda: data("perfquery -x 2 2") > first + 1000000)
    need(data("perfquery -x 1 1") > 1000000, "the source sends nothing")
    need(data("perfquery -x 2 3") < 100000, "traffic takes a way that no table tells")
    ctl("traffic", "stop")
    last = data("perfquery -x 2 2")
    need(last == data("perfquery -x 2 2"), "traffic goes on")
    plain = data("perfquery 2 2")
    need(plain == 0xffffffff or last - 100000 < plain <= last, "PortCounters has %d, the extended "
         "counters have %d" % (plain, last))


def test_diags_portstate():
    """ibportstate: query, disable, enable, reset, speed and width, by LID and directed route."""
    with managed("ft3-4", "-s", "1") as lab:
        t = Tools(lab, "H0_0_1")
        active = r"LinkState:\.*Active"
        out = t.same("ibportstate 2 1", "ibportstate 2 1 query", "ibportstate -G 0x200000 1")
        need(re.search("Peer PortInfo", out) and count(out, active) == 2, "ibportstate: " + out)
        t.says("ibportstate -D 0,1 1", active)
        t.says("ibportstate 1 1", "CA/RT PortInfo", active)

        def until(port, *patterns):
            def told():
                out = t("smpquery portinfo 2 %d" % port)
                return all(re.search(p, out) for p in patterns)
            wait_for("port %d to be %s" % (port, patterns), told)
        t("ibportstate 2 3 disable")
        until(3, r"LinkState:\.*Down", r"PhysLinkState:\.*Disabled")
        t.says("iblinkinfo -S 0x200000", r"3\[ +\] ==\( +Down/Disabled\)==>")
        t("ibportstate -D 0,1 3 enable")
        until(3, active)
        t("ibportstate -D 0,1 3 reset")
        until(3, active)
        # OpenSM writes widths and speeds as it likes them; and nobody needs it for the rest.
        lab.manager.stop()
        t.says("ibportstate 2 4 width 1", r"After[^~]*LinkWidthEnabled:\.*1X$")
        t("ibportstate 2 4 reset")
        until(4, r"LinkState:\.*Initialize", r"LinkWidthActive:\.*1X")
        t.says("ibportstate 2 4 width 255", r"After[^~]*LinkWidthEnabled:\.*1X or 4X$")
        t.says("ibportstate 2 4 espeed 1", r"After[^~]*LinkSpeedExtEnabled:\.*14.0625 Gbps$")
        t("ibportstate 2 4 reset")
        until(4, r"LinkState:\.*Initialize", r"LinkSpeedExtActive:\.*14.0625",
              r"LinkWidthActive:\.*4X")
        t.says("ibportstate 2 4 arm", r"After[^~]*LinkState:\.*Armed")
        t.says("ibportstate 2 4 active", r"After[^~]*LinkState:\.*Active")
        t.says("ibportstate 2 4 speed 15", "After PortInfo set")
        t.fails("ibportstate 2 9", "failed")


SAQUERIES = (
    # records of ft3 8 with QoS; what saquery prints per record, if not once "dump:"
    ("NR", 208), ("PIR", 1696), ("SWIR", 160), ("LFTR", 320), ("LR", 768), ("SL2VL", 6608),
    ("VLAR", 3392), ("--smkey 1 PKTR", 1616), ("PR", 43264), ("GIR", 208), ("SMIR", 2),
    ("MCMR", 1), ("MFTR", 0), ("SR", 0), ("IIR", 0), ("-x", 768), ("-p", 43264), ("-g", 1),
    ("NR 2", 1), ("PIR 1/1", 2), ("SWIR 2", 2), ("LFTR 2/0", 1), ("LR 1/1", 1), ("SL2VL 2/1/2", 1),
    ("VLAR 2/1/1", 1), ("GIR 1/0", 1), ("--smkey 1 PKTR 1/1/0", 1), ("--src-to-dst 1:2", 1),
    ("-p --slid 1 --dlid 2", 1), ("--sgid-to-dgid fe80::10:1-fe80::20:0", 1), ("-s", 1),
)


def test_diags_saquery():
    """Every record type, also answers of 43,264 records (2.7 MB by RMPP)."""
    with managed("ft3-8", "-Q") as lab:
        t = Tools(lab)
        for query, records in SAQUERIES:
            found = count(t("saquery " + query), "dump:")
            need(found == records, "saquery %s: %d records, not %d" % (query, found, records))
        t.says("saquery CPI", "SA ClassPortInfo:", r"Capability mask\.*0x")
        t.says("saquery -c", "SA ClassPortInfo:")
        t.says("saquery -D", "H7_3_3")
        t.says("saquery -O 1", "H0_0_0")
        t.says("saquery -L H0_0_0", "^1$")
        t.fails("saquery PKTR", "0x0200")
        t.fails("saquery --smkey 2 NR", "timed out")
        t.says("saquery NR 1", r"NodeDescription\.*H0_0_0$", r"lid\.*1$")


def test_diags_refused():
    """Management classes that these devices do not have: the tools say so and end."""
    with managed("ft3-4") as lab:
        t = Tools(lab)
        for line in ("vendstat -t 100 -N 2", "vendstat -t 100 -w 2"):
            t.fails(line, "failed")
        t.says("ibccquery -t 100 congestioninfo 2", "ControlTableCap")
        t.says("ibccquery -t 100 CongestionKeyInfo 1", "CC_Key")
        t("vendstat -t 100 -i 2", status=None)
        t("vendstat -t 100 -c 2,1", status=None)
        t.says("sminfo", "SMINFO_MASTER")


def test_diags_ibdiagnet():
    """ibdiagnet of ibutils: every stage without an error, and no credit loop."""
    with managed("ft3-4") as lab:
        t = Tools(lab)
        out = t("ibdiagnet -r -u -o %s" % lab.dir, seconds=60)
        need("No credit loops found in:240 CA to CA paths" in out, "ibdiagnet: " + out[-800:])
        need("Scanned:240 CA to CA paths" in out, "ibdiagnet scans other paths")
        stages = re.findall(r"^ {4}(\S.*?) {2,}(\d+) +(\d+) *$", out, re.M)
        need(len(stages) == 10, "ibdiagnet reports %d stages" % len(stages))
        bad = [s for s in stages if int(s[1])]
        need(not bad, "ibdiagnet finds errors: %s" % bad)
