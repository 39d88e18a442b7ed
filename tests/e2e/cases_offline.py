# SPDX-License-Identifier: BSD-2-Clause
"""What works without a daemon: weft check --dump on what OpenSM left behind, weft route on files,
and saved tables that a daemon takes on. The independent walk of the same dumps is the judge."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import fabrics
import proof
from bed_diags import managed
from cases_attached import IPOIB, client
from lab import SHARED, Failure, Lab, Skip, need, program, shared, wait_for
from manager import OpenSM, Weftd

NO_WALK = os.path.join(SHARED, "tools", "verify_routes.py")


def offline(*argv, status=0, stdin=None, **kw):
    """(output, errors) of weft, without any daemon."""
    r = subprocess.run([program("weft")] + list(argv), input=stdin, capture_output=True, text=True,
                       timeout=120, check=False, **kw)
    need(r.returncode == status, "weft %s ended with %d, not %d: %s" % (
        " ".join(argv), r.returncode, status, (r.stdout + r.stderr)[-800:]))
    return r.stdout, r.stderr


def report(*argv, **kw):
    return json.loads(offline("-o", "json", *argv, **kw)[0])


def check(folder, *files, status=0):
    """A report on a folder of its own that holds just these files."""
    with tempfile.TemporaryDirectory(prefix="weft-dump-") as tmp:
        for path in files:
            shutil.copy(os.path.join(folder, path), tmp)
        return report("check", "--dump", tmp, status=status)


def walk(folder):
    if not os.path.exists(NO_WALK):
        raise Skip("the independent walk is not here (WEFT_SHARED names the folder)")
    r = subprocess.run([sys.executable, NO_WALK, "discovered", "tables", "--single-vl",
                        "--quality"], cwd=folder, capture_output=True, text=True, timeout=300,
                       check=False)
    return json.loads(r.stdout)


def same(mine, other, shifts):
    """The report, and what the independent walk found of the same two files."""
    print("weft: %s" % {k: v for k, v in mine.items() if not isinstance(v, (dict, list))})
    print("walk: %s" % other)
    need(not other["bad"] and not mine["unreachable"], "unreachable")
    need(mine["max_hops"] == other["max_hops"], "max_hops")
    need(mine["host_credit_loops"] == other["single_vl_credit_loop"], "credit loops")
    need(mine["a2a"] == other["a2a"], "a2a")
    if shifts:
        need(mine["shift_max"] == other["shift_max"], "shift_max")
        need(abs(mine["shift_mean"] - other["shift_mean"]) < 0.001, "shift_mean")


def compare(name, engine, sim, status, shifts=True):
    """OpenSM's tables of a fabric: dump_lfts' text, and both files that OpenSM writes itself. The
    walk has all shifts of small fabrics, in the order of GUIDs, which is that of trees only."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp), sim=sim) as lab:
            m = OpenSM(lab, engines=engine)
            m.once(120, "-D", "0x43")
            proof.discover(lab)
            proof.dump_tables(lab)
            mine = check(lab.dir, "discovered", "tables", status=status)
            same(mine, walk(lab.dir), shifts)
            for form in ("opensm-lfts.dump", "opensm.fdbs"):
                other = check(lab.dir, "discovered", m.cache + form, status=status)
                for k in ("pairs", "unreachable", "max_hops", "credit_loops", "shift_max", "a2a"):
                    need(other[k] == mine[k] or mine["note"], "%s: %s is %s, %s by dump_lfts" %
                         (form, k, other[k], mine[k]))
            return mine


def test_offline_minhop():
    """Packets to switches close a loop in a fat tree, those to hosts do not; both are said."""
    for sim in ("weftsim", "ibsim"):
        r = compare("ft3-4", "minhop", sim, 1)
        need(r["credit_loops"] == 1 and r["host_credit_loops"] == 0, "whose loop it is")
        need(r["host_ok"] and "only packets to or from LIDs of switches" in r["note"], r["note"])


def test_offline_updn():
    """updn leaves switches without a way to each other; the proof fails, but not for hosts."""
    r = compare("ft3-4", "updn", "weftsim", 1)
    need(r["holes"] == 76 and r["host_ok"] and not r["credit_loops"], "holes: %s" % r["holes"])
    compare("ft2-6-3-5", "updn", "ibsim", 1)
    compare("ft2-6-3-5", "minhop", "ibsim", 0)


def test_offline_torus():
    """OpenSM's minhop on a torus closes credit loops; its highest LID is 128, which is a multiple
    of 64 that dump_lfts does not print."""
    r = compare("torus-4-4-4-1", "minhop", "weftsim", 1, False)
    need(r["host_credit_loops"] == 1 and r["cycle"], "the loop")
    need("LID 128 (" in r["note"] and "is left out" in r["note"], r["note"])
    out, err = offline("check", "--dump", "/nonexistent", status=1)
    need(out == "" and err.count("\n") == 1 and "/nonexistent" in err, err)


def test_offline_recorded():
    """The recorded fabrics: the figures that are known of OpenSM's engines on the largest one."""
    compare("sdr_2sw_par2_lmc1_2007.ibnd", "minhop", "weftsim", 0, False)
    compare("edr_2tier_4leaf_2spine_par6.ibnd", "minhop", "weftsim", 0, False)
    r = compare("ndr_rail_40sw_582ca.ibnd", "minhop", "weftsim", 1, False)
    need(r["shift_max"] == 7 and r["pairs"] == 338142, "minhop: %s" % r["shift_max"])


def test_offline_lanes():
    """LASH needs one lane on this torus, and its SL to VL tables keep it a proof."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("torus-4-4-4-1", tmp), sim="weftsim") as lab:
            m = OpenSM(lab, engines="lash")
            m.once(120, "-D", "0x43", "-Q")
            proof.discover(lab)
            tables = ("discovered", m.cache + "opensm-lfts.dump", m.cache + "opensm-sl2vl.dump")
            r = check(lab.dir, *tables)
            need(r["lanes"] == 8 and r["credit_loops"] == 0, "lanes: %s" % r)
            with open(m.cache + "opensm-sl2vl.dump", encoding="ascii") as f:
                lines = f.readlines()
            with open(m.cache + "opensm-sl2vl.dump", "w", encoding="ascii") as f:
                f.writelines(lines[:20] + lines[21:])
            with tempfile.TemporaryDirectory(prefix="weft-dump-") as dump:
                for path in tables:
                    shutil.copy(os.path.join(lab.dir, path), dump)
                _, err = offline("check", "--dump", dump, status=1)
            need("but none of T0_0_0 from port 1 to port 3" in err, err)


def test_offline_paths():
    """Engines whose proof needs the service level of each path: with path records hosts' packets
    are proved, without them nothing is known of which lane they take."""
    for engine in ("dfsssp", "nue"):
        with managed("torus-4-4-4-1", "-Q", "-D", "0x43", "-R", engine + ",no_fallback") as lab:
            proof.discover(lab)
            files = ["discovered", lab.manager.cache + "opensm-lfts.dump",
                     lab.manager.cache + "opensm-sl2vl.dump", "paths"]
            with open(os.path.join(lab.dir, "paths"), "w", encoding="ascii") as f:
                f.write(lab.tool("saquery", "PR"))
            r = check(lab.dir, *files, status=1)
            need(r["credit_loops"] == 1 and r["host_ok"], "%s: %s" % (engine, r))
            r = check(lab.dir, *files[:3], status=1)
            need("no path records" in r["note"], r["note"])
            need(engine != "dfsssp" or not r["host_ok"], "any level is proved: %s" % r)


def test_offline_sl2vl_of_smpquery():
    """All tables of a small fabric, asked for one by one."""
    with managed("ft2-3-2-2", "-Q") as lab:
        proof.discover(lab)
        proof.dump_tables(lab)
        with open(os.path.join(lab.dir, "lanes"), "w", encoding="ascii") as f:
            for lid, _ in proof.Seen(lab.tool("ibnetdiscover")).switches.values():
                for port in range(1, 5):
                    out = lab.tool("smpquery", "sl2vl", str(lid), str(port), status=None)
                    f.write(out)
        r = check(lab.dir, "discovered", "tables", "lanes", status=0)
        need(r["lanes"] == 8 and r["ok"], "lanes: %s" % r)


def test_offline_multicast():
    """The tree of a group of three, as dump_mfts prints it; then a broken one."""
    with managed("ft3-4") as lab:
        for host in ("H0_1_0", "H2_0_1", "H3_1_1"):
            client(lab, host, "join", IPOIB)
        wait_for("the tree", lambda: lab.tool("dump_mfts").count("0xc000") >= 7)
        proof.discover(lab)
        proof.dump_tables(lab)
        text = lab.tool("dump_mfts")
        for broken in (False, True):
            with open(os.path.join(lab.dir, "trees"), "w", encoding="ascii") as f:
                f.write(text)
            r = check(lab.dir, "discovered", "tables", "trees", status=1)
            need(r["multicast_lids"] == 1 and r["multicast_loops"] == 0, "trees: %s" % r)
            need((r["multicast_unreached"] > 0) == broken, "unreached: %s" % r)
            text = text.replace("\n0xc000", "\n      ", 1)


def test_offline_saved():
    """weft route --dump: what it proved is proved again from the files, lanes and levels with it; a
    file less, and the credit loop that lanes had broken is found."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        dump = os.path.join(tmp, "dump")
        for name, engine, lmc, files in (
                ("torus-5-5-1", "torus", "1", ["lfts", "paths", "sl2vl", "topology"]),
                ("dfly-4-2-2-9", "nue", "0", ["lfts", "paths", "sl2vl", "topology"]),
                ("slimfly-3-1", "fatpaths", "2", ["lfts", "sl2vl", "topology"]),
                ("ft3-4", "fattree", "0", ["lfts", "topology"])):
            net = fabrics.fabric(name, tmp)
            r = report("route", net, "--engine", engine, "--lmc", lmc, "--dump", dump)
            need(sorted(os.listdir(dump)) == files, "%s: %s" % (name, os.listdir(dump)))
            again = report("check", "--dump", dump)
            for k in ("ok", "pairs", "max_hops", "shift_max"):
                need(again[k] == r[k], "%s: %s is %s, and %s when read" % (name, k, r[k], again[k]))
            if "sl2vl" in files:
                os.remove(os.path.join(dump, "sl2vl"))
                text, _ = offline("check", "--dump", dump, status=1)
                need("loop" in text, "%s without its lanes: %s" % (name, text))


def test_offline_route():
    """weft route: proved or refused, from a file or standard input; the tables can be loaded."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net, out = fabrics.fabric("ft3-4", tmp), os.path.join(tmp, "dump", "lfts")
        os.mkdir(os.path.dirname(out))
        r = report("route", net, "--engine", "updn", "--lfts", out, "--lmc", "1")
        for k in ("engine", "reason", "switches", "lids", "route_ms", "check_ms", "peak_rss_kb"):
            need(k in r, "no " + k)
        need(r["ok"] and r["lids"] == 16 * 2 + 20 and r["engine"] == "updn", "route: %s" % r)
        with open(net, encoding="utf-8") as f:
            text, _ = offline("route", "-", stdin=f.read())
        need("proof    passed" in text, text)
        loaded = report("route", net, "--engine", "file", "--file", out, "--lmc", "1")
        need(loaded["ok"] and loaded["shift_max"] == r["shift_max"], "file: %s" % loaded)
        with open(net, encoding="utf-8") as f:
            need(" lid 0" in f.read(), "the topology has LIDs of its own")
        shutil.copy(net, os.path.dirname(out))
        again = report("check", "--dump", os.path.dirname(out))
        need(again["ok"] and again["pairs"] == r["pairs"] and "of the tables" in again["note"],
             "check --dump of a topology without LIDs: %s" % again)
        text, err = offline("route", net, "--engine", "file", "--file", out, "--lmc", "2", status=1)
        need("routing  none" in text and "fewer LIDs" in err, err)
        torus = fabrics.fabric("torus-4-4-4-1", tmp)
        text, err = offline("route", torus, "--engine", "minhop", status=1)
        need("credit loop" in err and err.count("\n") == 1, err)
        r = report("route", torus, "--engine", "minhop", "--engine", "updn", "--seed", "7")
        need(r["engine"] == "updn" and "minhop is refused" in r["reason"], "chain: %s" % r)
        for words, says in ((["--engine", "nosuch"], "there is no such engine"),
                            (["--lfts", os.path.join(tmp, "x", "y")], "cannot write"),
                            (["--names", os.path.join(tmp, "none")], "cannot ")):
            _, err = offline("route", net, *words, status=1)
            need(says in err and err.count("\n") == 1, err)
        _, err = offline("route", "ft3:4", status=1)
        need("weftsim generate ft3:4 | weft route -" in err, err)
        bad = os.path.join(tmp, "bad")
        with open(bad, "w", encoding="ascii") as f:
            f.write('Switch 8 "S-1"\n[9] "H-1"[1]\n')
        _, err = offline("route", bad, status=1)
        need(bad + ":2:" in err and err.count("\n") == 1, err)
        for words in (["--lmc", "8"], ["--roots", "x"], ["--threads", "99"]):
            _, err = offline("route", net, *words, status=2)
            need(words[0] in err and err.count("\n") == 1, err)


def test_offline_lanes_not_saved():
    """A file of forwarding tables has no lanes: who saves tables that need some is told, and so is
    who has them proved without."""
    with tempfile.TemporaryDirectory(prefix="weft-dump-") as tmp:
        net = fabrics.fabric("torus-5-5-1", tmp)
        for engine, lanes in (("torus", True), ("updn", False)):
            folder = os.path.join(tmp, engine)
            os.mkdir(folder)
            shutil.copy(net, folder)
            out = os.path.join(folder, "tables")
            r = report("route", net, "--engine", engine)
            need(r["ok"] and "does not hold" not in r["note"], "nothing is saved: %s" % r)
            r = report("route", net, "--engine", engine, "--lfts", out)
            need((out + " does not hold" in r["note"]) == lanes, "%s: %s" % (engine, r["note"]))
            r = report("check", "--dump", folder, status=1 if lanes else 0)
            need(r["ok"] != lanes and (r["credit_loops"] > 0) == lanes, "%s: %s" % (engine, r))
            need(("no SL to VL tables" in r["note"]) == lanes, "%s: %s" % (engine, r["note"]))


def test_offline_recorded_routes():
    """Every recorded fabric is routed, and the tables that are written prove as they were."""
    for name in ("ddr_single_24port_oldformat", "edr_2tier_4leaf_2spine_par6",
                 "ndr_rail_40sw_582ca", "sdr_2sw_par2_lmc1_2007"):
        net = shared("fabrics/%s.ibnd" % name)
        with tempfile.TemporaryDirectory(prefix="weft-dump-") as tmp:
            r = report("route", net, "--lfts", os.path.join(tmp, "t"))
            need(r["ok"] and r["unreachable"] == 0, "%s: %s" % (name, r))
            again = report("route", net, "--engine", "file", "--file", os.path.join(tmp, "t"))
            for k in ("pairs", "max_hops", "mean_hops", "shift_max", "a2a", "ebb"):
                need(again[k] == r[k], "%s: %s is %s, was %s" % (name, k, again[k], r[k]))


def test_offline_alone():
    """weft says where it looked for its other half."""
    with tempfile.TemporaryDirectory(prefix="weft-alone-") as tmp:
        os.makedirs(os.path.join(tmp, "bin"))
        os.makedirs(os.path.join(tmp, "libexec", "weft"))
        weft = shutil.copy(program("weft"), os.path.join(tmp, "bin"))
        net = fabrics.fabric("ft3-4", tmp)
        r = subprocess.run([weft, "route", net], capture_output=True, text=True, timeout=30,
                           check=False)
        need(r.returncode == 1 and "weft-offline" in r.stderr and r.stderr.count("\n") == 1,
             r.stderr)
        shutil.copy(program("weft-offline"), os.path.join(tmp, "libexec", "weft"))
        subprocess.run([weft, "route", net], capture_output=True, timeout=30, check=True)




def test_offline_file_engine():
    """OpenSM's tables outlive it: weftd takes over with them and writes none; then its own dump,
    changed in one place, is taken on by a reload, and a broken one is not."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft2-6-3-5", tmp), sim="weftsim") as lab:
            old = OpenSM(lab, engines="minhop")
            old.once(60, "-D", "0x43")
            before = proof.tables_only(proof.dump_tables(lab))
            saved = os.path.join(lab.dir, "saved")
            shutil.copy(old.cache + "opensm-lfts.dump", saved)
            m = Weftd(lab, engines="file, updn")
            with open(m.config, encoding="utf-8") as f:
                text = f.read().replace("fallback: warn", "fallback: warn, file: " + saved)
            m.write_text(text)
            m.start()
            s = m.wait_up()
            need(s["engine_running"] == "file", "running: %s" % s["engine_running"])
            need(proof.tables_only(proof.dump_tables(lab)) == before, "the tables have changed")
            out, _ = m.weft("show", "routes", "--dump")
            need(proof.tables_only(out) == before, "the dump is another one")
            # Another spine for one host at one leaf that is not its own.
            leaf = "0x0000000000200003"
            at = out.index("0x0001", out.index(" guid " + leaf))
            port = out[at:at + 10]
            other = port[:9] + ("7" if port[9] == "6" else "6")
            with open(saved, "w", encoding="utf-8") as f:
                f.write(out[:at] + other + out[at + 10:])
            m.weft("reload")
            m.wait_up()
            wait_for("the other entry", lambda: proof.tables_only(proof.dump_tables(lab))[
                leaf][1] == int(other[9]))
            with open(saved, "w", encoding="utf-8") as f:
                f.write("junk\n")
            _, err = m.weft("reload", status=1)
            need("holds no forwarding table" in err, err)
            need(m.status()["engine_running"] == "file", "the old tables are gone")
            m.stop()


def test_offline_file_refused():
    """A switch that the tables lack: the next engine runs, and why is said."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            saved = os.path.join(lab.dir, "saved")
            with open(saved, "w", encoding="ascii") as f:
                f.write("Unicast lids [0-36] of switch Lid 2 guid 0x200000 ('L0_0'):\n0x1 1 #\n")
            m = Weftd(lab, engines="file, updn")
            with open(m.config, encoding="utf-8") as f:
                text = f.read().replace("fallback: warn", "fallback: warn, file: " + saved)
            m.write_text(text)
            m.start()
            s = m.wait_up()
            need(s["engine_running"] == "updn", "running: %s" % s["engine_running"])
            need("has no table of switch" in s["reason"], s["reason"])
            m.stop()
