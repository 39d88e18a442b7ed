# SPDX-License-Identifier: BSD-2-Clause
"""weftd on a simulated fabric in its own process: no simulator beside it, no ports."""
import os
import re
import signal
import subprocess
import tempfile

import fabrics
from lab import Lab, need, program, wait_for
from manager import Weftd

SCRIPT = """at 5s link-down L0_0/3
at 8s link-up L0_0/3
at 10s reboot A0_0
random 5 flaps over 30s hold 100ms..2s
"""


def weftd(folder, *argv, status=0):
    r = subprocess.run([program("weftd"), "-c", os.path.join(folder, "weft.yaml")] + list(argv),
                       capture_output=True, text=True, timeout=120, check=False, cwd=folder)
    need(r.returncode == status, "weftd %s ended with %d, not %d: %s" %
         (" ".join(argv), r.returncode, status, r.stderr[-400:]))
    return r


def folder_with(text="log: {to: stderr}\n"):
    tmp = tempfile.TemporaryDirectory(prefix="weft-sim-")
    with open(os.path.join(tmp.name, "weft.yaml"), "w", encoding="utf-8") as f:
        # A socket of its own: tests run beside each other.
        f.write("state: %s/weft.db\ncontrol: {socket: %s/weft.sock}\n%s" %
                (tmp.name, tmp.name, text))
    with open(os.path.join(tmp.name, "script"), "w", encoding="utf-8") as f:
        f.write(SCRIPT)
    return tmp


def test_sim_once():
    """Up, and said so; the state file stays the real fabric's."""
    with folder_with() as tmp:
        r = weftd(tmp, "--sim", "ft3:8", "--once")
        need(re.search(r"is up: 128 hosts, 80 switches, 384 links", r.stderr),
             "it does not say what is up: %s" % r.stderr[-300:])
        need(not os.path.exists(os.path.join(tmp, "weft.db")), "a state file was made")


def test_sim_virtual():
    """A minute in no time; one seed tells one story, another seed another one."""
    with folder_with() as tmp:
        argv = ["--sim", "ft3:4", "--sim-for", "60s", "--sim-script", "script"]
        first = weftd(tmp, *argv, "--sim-seed", "7").stdout
        need(first == weftd(tmp, *argv, "--sim-seed", "7").stdout, "two runs of a seed differ")
        need(first != weftd(tmp, *argv, "--sim-seed", "8").stdout, "the seed changes nothing")
        last = re.findall(r"(?:routed|repaired): .*? (\d+) links", first)
        need(last and last[-1] == "48", "the last routing is not of all 48 links: %s" % last)
        need("A0_0 reboots" in first and "link-down: " in first, "faults are not told of")
        need(not weftd(tmp, *argv).stderr, "events come twice, for the log has them too")
        with open(os.path.join(tmp, "script"), "a", encoding="utf-8") as f:
            f.write("at 12s quit\n")
        lines = weftd(tmp, *argv).stdout.splitlines()
        need(lines[-1].startswith("12.") and lines[-1].endswith("quit"),
             "after a script's quit: %s" % lines[-1])
        with open(os.path.join(tmp, "script"), "w", encoding="utf-8") as f:
            f.write("at 1s quit\n")
        need("ending" in weftd(tmp, "--sim", "ft3:4", "--sim-script", "script").stderr,
             "quit does not end what runs in real time")


def test_sim_refused():
    """What cannot be: one sentence, and nothing starts."""
    with folder_with() as tmp:
        for argv, sentence in (
                (["--sim", "ft3:5"], "even number of ports"),
                (["--sim", "nowhere.net"], "cannot open nowhere.net"),
                (["--sim", "ft3:4", "--sim-script", "none"], "cannot open none")):
            r = weftd(tmp, *argv, status=1)
            need(sentence in r.stderr and r.stderr.count("\n") == 1, "%s: %s" % (argv, r.stderr))
        for argv, sentence in (
                (["--sim-for", "1d"], "go with --sim FABRIC"),
                (["--sim", "ft3:4", "--sim-for", "soon"], "--sim-for takes a time"),
                (["--sim", "ft3:4", "--once", "--sim-for", "1s"], "both say when to end")):
            r = weftd(tmp, *argv, status=2)
            need(sentence in r.stderr, "%s: %s" % (argv, r.stderr))


def test_sim_port():
    """`port` names a port of the simulated fabric."""
    with folder_with("log: {to: stderr}\nsubnets: [{name: a, port: 'H1_0_0:1'}]\n") as tmp:
        r = weftd(tmp, "--sim", "ft3:4", "--once")
        need("port H1_0_0:1" in r.stderr, "it is on another port: %s" % r.stderr[-300:])
    with folder_with("log: {to: stderr}\nsubnets: [{name: a, port: 'H9:1'}]\n") as tmp:
        r = weftd(tmp, "--sim", "ft3:4", "--once", status=1)
        need('no end port "H9:1"' in r.stderr, "%s" % r.stderr[-300:])


def swap_cables(text, first, second):
    """An ibnetdiscover text in which two adapters of one port hang on each other's cable."""
    said = {}
    for node, other in ((first, second), (second, first)):
        # The end at the switch names the adapter, and that at the adapter its switch and LID.
        said[node] = re.search(r'"%s"\[1\]\(\w+\) \t+# "[^"]*"' % node, text).group(0)
        said["to " + node] = re.search(r'^Ca.*"%s".*\n(\[1\].*)$' % node, text, re.M).group(1)
    for node, other in ((first, second), (second, first)):
        text = text.replace(said[node], "@" + other).replace(said["to " + node], "@to " + other)
    for key, what in said.items():
        text = text.replace("@" + key, what)
    return text


def test_sim_rails():
    """`weft show rails` names what was cabled wrong, and nothing else."""
    with folder_with() as tmp:
        text = subprocess.run([program("weftsim"), "generate", "rails", "3", "6", "4", "4"],
                              capture_output=True, text=True, check=True).stdout
        for name, swapped in (("good", text), ("bad", swap_cables(text, "H1_2_d0", "H1_2_d3"))):
            with open(os.path.join(tmp, name), "w", encoding="utf-8") as f:
                f.write(swapped)
            daemon = subprocess.Popen(
                [program("weftd"), "-c", os.path.join(tmp, "weft.yaml"), "--sim", name],
                cwd=tmp, stderr=subprocess.DEVNULL)
            try:
                weft = [program("weft"), "-s", os.path.join(tmp, "weft.sock")]
                wait_for("the fabric to be up", lambda weft=weft: subprocess.run(
                    weft + ["wait", "--timeout", "5"], check=False, capture_output=True,
                    timeout=60).returncode == 0, 60)
                r = subprocess.run(weft + ["show", "rails"], capture_output=True, text=True,
                                   check=True, timeout=60).stdout
            finally:
                daemon.terminate()
                daemon.wait(30)
            need("72 devices of 18 hosts on 12 leaves, 3 units" in r, r)
            need(re.search(r"^ *2  mlx5_1  L1_1 +6 +6$", r, re.M), r)
            need((name == "bad") == ("swapped: H1_2: mlx5_0 and mlx5_3 have changed places; "
                                     "mlx5_0 belongs on L1_0 port 3\n" in r), r)
            need((name == "good") == ("no device is where it should not be" in r), r)


def tenants(guids, shift):
    """A thousand partitions of 64 members each, who lie side by side."""
    said = ["  - {name: default, pkey: 0x7fff, members: [{nodes: all}]}\n"]
    for n in range(1000):
        members = (guids[(n * 64 + k + shift) % len(guids)] for k in range(64))
        said.append("  - {name: tenant-%d, pkey: %d, members: [{nodes: [%s], membership: full}]}\n"
                    % (n, n + 1, ", ".join('"%s"' % g for g in members)))
    return "partitions:\n" + "".join(said)


def test_sim_reload():
    """A file of a thousand partitions is read beside all else: no handler takes over 10 ms of
    processor time, for commands, for several at once, and for a signal."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp, \
            Lab(fabrics.fabric("ft3-4", tmp), sim="none") as lab:
        m = Weftd(lab, "fattree")
        m.start("--sim", "ft3:8", seat=None)
        m.wait_up()
        guids = [p["guid"] for p in m.json("show", "ports", "--all")["ports"]
                 if p["node"].startswith("H")]
        need(len(guids) == 128, "%d hosts have a port" % len(guids))
        for shift in range(2):
            m.write(top=tenants(guids, shift))
            for argv in (("reload", "--dry-run"), ("reload",)):
                changes = m.json(*argv)["changes"]
                need(len(changes) >= 1000, "%s: %d changes" % (argv, len(changes)))
            need(m.json("reload")["changes"] == [], "it was not in force when reload answered")
            m.wait_up()
        m.write(top=tenants(guids, 2))
        many = [subprocess.Popen(m.weft_argv("reload"), stdout=subprocess.PIPE, text=True)
                for _ in range(3)]
        told = [p.communicate(timeout=60)[0].count("tenant-") for p in many]
        need(sorted(told)[:2] == [0, 0] and max(told) >= 1000 and not any(
            p.returncode for p in many), "three reloads at once said of partitions: %s" % told)
        m.write(top=tenants(guids, 3))
        m.process.send(signal.SIGHUP)
        wait_for("the signal to be followed",
                 lambda: not m.json("reload", "--dry-run")["changes"], 60)
        m.wait_up()
        loop = m.json("status")["loop"]
        need(not loop["slow"], "%d handlers took too long, the longest %s ms: %s" %
             (loop["slow"], loop["longest_ms"], loop["longest_at"]))
        m.write(top=tenants(guids, 4))
        late = subprocess.Popen(m.weft_argv("reload"), stderr=subprocess.PIPE, text=True)
        m.stop()
        late.communicate(timeout=60)


def figures(m, lids):
    """What a daemon has made of its fabric: counts, proof and quality, every switch's way to every
    LID, and the MADs that it took. (Warnings are of values that ibsim does not keep.)"""
    st, ck = m.status(), m.json("check")
    need(st["state"] == "up" and st["mads"]["timed_out"] == 0, "weft status: %s" % st)
    ways = [m.json("show", "routes", str(lid)) for lid in lids]
    for w in ways:
        w.pop("as_of", None)
    return ({k: st[k] for k in ("engine_running", "hosts", "links", "nodes", "note", "sm_lid",
                                "switches", "top_lid")},
            {k: v for k, v in ck.items() if not k.endswith("_ms") and k != "as_of"},
            ways, st["mads"]["sent"])


def test_three_ways():
    """weftd does the same on packaged ibsim, on weftsim through its preload library, and on a
    fabric in its own process; tables that are read whenever there is time do not count."""
    unhurried = "    read_tables: false\n"
    for name in ("ft3-4", "torus-3-3-2-1", "dragonfly-4-2-2-5"):
        with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
            net = fabrics.fabric(name, tmp)
            results = {}
            for kind in ("ibsim", "ibsimlike"):
                with Lab(net, sim=kind) as lab:
                    m = Weftd(lab, "updn, minhop", extra=unhurried)
                    m.start()
                    top = m.wait_up()["top_lid"]
                    results[kind] = figures(m, range(1, top + 1))
                    m.stop()
            with Lab(net, sim="none") as lab:
                m = Weftd(lab, "updn, minhop", extra=unhurried)
                m.start("--sim", net, seat=None)
                m.wait_up()
                results["direct"] = figures(m, range(1, top + 1))
                m.stop()
        for kind in ("ibsimlike", "direct"):
            for what, a, b in zip(("status", "check", "tables", "MADs"), results["ibsim"],
                                  results[kind]):
                need(a == b, "%s: %s differs between ibsim and %s: %s, %s" %
                     (name, what, kind, str(a)[:600], str(b)[:600]))
        print("%s: %d MADs on each" % (name, results["direct"][3]))
