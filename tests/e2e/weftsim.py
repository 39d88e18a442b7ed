#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The program weftsim: what it prints, its exit status, and what it leaves behind.

usage: weftsim.py CASE     a function test_CASE of this file
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

from common import Failure, need, program, wait_for

WEFTSIM = program("weftsim")
STARTED = []    # processes, to be ended with the test


def heed_signals():
    """Whoever ignores them hands that down, and the simulator keeps to it."""
    for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, signal.SIG_DFL)


def start(words, **more):
    STARTED.append(subprocess.Popen([WEFTSIM, *words], text=True, preexec_fn=heed_signals, **more))
    return STARTED[-1]


def run(*words, seconds=30, text=None, env=None):
    """(exit status, standard output, standard error) of one command."""
    r = subprocess.run([WEFTSIM, *words], input=text, capture_output=True, text=True,
                       timeout=seconds, env=dict(os.environ, **(env or {})))
    return r.returncode, r.stdout, r.stderr


def expect(status, words, says="", **more):
    got, out, err = run(*words, **more)
    need(got == status and says in out + err, "weftsim %s: status %d instead of %d:\n%s%s" %
         (" ".join(words), got, status, out, err))
    if status in (1, 3):
        need(err.count("\n") == 1, "not one line of complaint:\n" + err)
    return out


class Served:
    """A fabric served in a folder of its own."""

    def __init__(self, folder, *options, fabric="ft3:4"):
        self.socket = os.path.join(folder, "socket")
        self.lines = []
        self.process = start(["serve", fabric, "-s", self.socket, *options],
                             stdout=subprocess.PIPE)
        while not self.lines or self.lines[-1] != "ready\n":
            self.lines.append(self.process.stdout.readline())
            need(self.lines[-1], "it ended before it was ready")

    def ctl(self, *words, status=0, says=""):
        return expect(status, ["ctl", "-s", self.socket, *words], says)

    def end(self, how=signal.SIGTERM):
        if how:
            self.process.send_signal(how)
        need(self.process.wait(10) == 0, "it ended with status %d" % self.process.returncode)
        need(not os.path.exists(self.socket), "its socket is still there")


def test_serve(folder):
    s = Served(folder, "--log", os.path.join(folder, "log"))
    need(s.lines[0].startswith("fabric    16 hosts, 20 switches"), s.lines[0])
    need("fabric    16 hosts" in s.ctl("status"), "no status")
    out = expect(0, ["exec", "-s", s.socket, "-n", "H3_1_1", "--", "ibstat", "-p"])
    need(out == "0x000000000010001f\n", out)
    expect(1, ["serve", "ft3:4", "-s", s.socket], s.socket)
    s.ctl("description", "L0_0", "two  words \"quoted\"")
    need('two  words "quoted"' in s.ctl("show", "faults"), "the words were not kept")
    s.ctl("link-down", "L0_0/9", status=1, says="L0_0 has no port 9")
    s.ctl("link-donw", "L0_0/3", status=1, says="link-down")
    s.end()
    with open(os.path.join(folder, "log"), encoding="utf-8") as f:
        need("two  words" in f.read(), "the log lacks the description")


def test_lines(folder):
    """Commands from standard input: answers in order, what fails ends nothing."""
    s = Served(folder)
    status, out, err = run("ctl", "-s", s.socket, text="# nothing\n\ntime\nnonsense\nshow faults\n")
    need(status == 1 and err.startswith("weftsim: there is no command"), err)
    need(out.endswith("\nno faults are in effect\n"), out)
    s.ctl("quit")
    s.end(None)
    s.ctl("status", status=3, says="no fabric is served on")


def test_run(folder):
    expect(7, ["run", "ft3:4", "--", "sh", "-c", "exit 7"])
    expect(128 + 9, ["run", "ft3:4", "--", "sh", "-c", "kill -9 $$"])
    expect(127, ["run", "ft3:4", "nonesuch"], "cannot be run")
    out = expect(0, ["run", "fat-tree 4", "-n", "H1_0_0", "ibstat", "-p"])
    need(out == "0x0000000000100009\n", out)
    out = expect(0, ["run", "ft3:4", "sh", "-c", "%s ctl status" % WEFTSIM])
    need("fabric    16 hosts" in out, out)
    expect(1, ["run", "ft3:5", "true"], "even number")
    expect(1, ["run", "nonesuch", "true"], "nonesuch")
    expect(1, ["run", "ft3:4", "-n", "H9", "true"], "H9")
    expect(2, ["run"])
    expect(2, ["run", "ft3:4", "--sped", "1", "true"])
    need(not left(folder), "left behind: %s" % left(folder))


def test_signals(folder):
    """SIGTERM goes to the program; the fabric ends with it."""
    p = start(["run", "ft3:4", "sh", "-c",
               "trap 'echo caught; exit 5' TERM; echo up; while :; do sleep 0.05; done"],
              stdout=subprocess.PIPE)
    need(p.stdout.readline() == "up\n", "it did not start")
    p.send_signal(signal.SIGTERM)
    need(p.stdout.readline() == "caught\n", "the program was not told")
    need(p.wait(10) == 5, "status %d" % p.returncode)


def left(folder):
    return [f for f in os.listdir(folder) if f.startswith("weftsim")]


def test_terminal_gone(folder):
    """The terminal hangs up, or nobody reads what is printed: nothing is left behind."""
    s = Served(folder)
    s.ctl("show", "faults")
    s.end(signal.SIGHUP)
    path = os.path.join(folder, "script")
    with open(path, "w", encoding="utf-8") as f:
        f.write("at 1ms link-down L0_0/3\nat 200ms quit\n")
    p = start(["serve", "ft3:4", "-s", s.socket, "--script", path, "--log", "-"],
              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.close()
    err = p.stderr.read()
    need(p.wait(10) == 1 and err == "weftsim: not all of the log could be written\n",
         "status %d: %s" % (p.returncode, err))
    need(not left(folder) and not os.path.exists(s.socket), "left behind: %s" % left(folder))


def test_nohup(folder):
    """A signal that is ignored stays so: nohup works."""
    words = " -s ".join(["%s serve ft3:4" % WEFTSIM, os.path.join(folder, "socket")])
    for line in ("exec %s" % words,
                 "exec %s run ft3:4 sh -c 'echo ready; read x; %s ctl time'" % (WEFTSIM, WEFTSIM)):
        p = subprocess.Popen(["sh", "-c", "trap '' HUP; " + line], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        STARTED.append(p)
        while p.stdout.readline() not in ("ready\n", ""):
            pass
        p.send_signal(signal.SIGHUP)
        if "run" in line:
            p.stdin.write("x\n")
            p.stdin.close()
        else:
            expect(0, ["ctl", "-s", os.path.join(folder, "socket"), "quit"])
        need(p.wait(10) == 0, "%s: status %d" % (line, p.returncode))


def test_stubborn(folder):
    """Programs of run that stop themselves, outlive it or ignore what they are told."""
    p = start(["run", "ft3:4", "sh", "-c", "echo up; kill -STOP $$; echo on"],
              stdout=subprocess.PIPE)
    need(p.stdout.readline() == "up\n", "it did not start")
    p.send_signal(signal.SIGTERM)
    need(p.wait(10) == 128 + 15, "status %d" % p.returncode)
    begin = time.monotonic()
    line = "trap '' TERM; %s ctl quit; while :; do sleep 0.1; done" % WEFTSIM
    expect(128 + 9, ["run", "ft3:4", "sh", "-c", line])
    need(time.monotonic() - begin > 9, "the program had no time to end")
    expect(0, ["run", "ft3:4", "sh", "-c", "(sleep 0.3; ibstat; sleep 1) >/dev/null 2>&1 &"])
    need(not left(folder), "left behind: %s" % left(folder))


def test_behind(folder):
    """What a command of run leaves on the fabric is told to end."""
    conf = os.path.join(folder, "weft.yaml")
    sock = os.path.join(folder, "weft.sock")
    with open(conf, "w", encoding="utf-8") as f:
        f.write("state: ':memory:'\ncontrol: {socket: %s}\nlog: {to: stderr}\n" % sock)
    line = "%s -c %s 2>%s/log & %s -s %s wait" % (program("weftd"), conf, folder, program("weft"),
                                                sock)
    expect(0, ["run", "ft3:4", "sh", "-c", line])
    end = time.monotonic() + 10
    while os.path.exists(sock) and time.monotonic() < end:
        time.sleep(0.05)
    need(not os.path.exists(sock), "weftd goes on")


def test_limits(folder):
    """No room on the disk, no descriptors, no memory, no standard streams: a sentence, an error."""
    capture = os.path.join(folder, "capture.txt")
    sh = "ulimit -S %%s; exec %s run ft3:4 --capture %s -- smpquery -D nodeinfo 0" % (WEFTSIM,
                                                                                      capture)
    for limit in ("-f 0", "-n 7"):
        r = subprocess.run(["sh", "-c", sh % limit], capture_output=True, text=True, timeout=30)
        need(0 < r.returncode < 128 and r.stderr, "%s: status %d" % (limit, r.returncode))
    r = subprocess.run(["sh", "-c", "ulimit -v 40000; exec %s run ft3:48 true" % WEFTSIM],
                       capture_output=True, text=True, timeout=30)
    need(r.returncode == 1 and "out of memory" in r.stderr, "status %d" % r.returncode)
    expect(0, ["run", "ft3:4", "true"])     # removes what the last one could not
    r = subprocess.run(["sh", "-c", sh % "-f unlimited" + " <&- >&- 2>&-"], timeout=30)
    with open(capture, encoding="utf-8") as f:
        text = f.read()
    need(r.returncode == 0 and "NodeInfo" in text and "Node Description" not in text, text)
    need(not left(folder), "left behind: %s" % left(folder))


def test_script(folder):
    path = os.path.join(folder, "script")
    log = os.path.join(folder, "log")
    with open(path, "w", encoding="utf-8") as f:
        f.write("at 10ms flap L0_0/3 20ms\nat 0.1s time\nat 200ms quit\n")
    s = Served(folder, "--script", path, "--log", log)
    s.end(None)
    with open(log, encoding="utf-8") as f:
        text = f.read()
    need("L0_0/3 - A0_0/1 is down" in text and "L0_0/3 - A0_0/1 is up" in text, text)
    with open(path, "a", encoding="utf-8") as f:
        f.write("at 1s link-down L0_0/99\n")
    expect(1, ["serve", "ft3:4", "-s", s.socket, "--script", path],
           path + ":4: L0_0 has no port 99")
    expect(1, ["serve", "ft3:4", "-s", s.socket, "--script", path + "x"], "cannot be read")


def test_rehearse(folder):
    """A day in no time; one seed tells one story, another seed another one."""
    path = os.path.join(folder, "script")
    with open(path, "w", encoding="utf-8") as f:
        f.write("random 1000 flaps over 1d hold 100ms..2s\nat 23h reboot C0\n")
    argv = ["rehearse", "ft3:8", "--for", "1d", "--script", path, "--seed"]
    first = expect(0, argv + ["5"], "C0 reboots")
    need(first == expect(0, argv + ["5"]), "two runs of a seed differ")
    need(first != expect(0, argv + ["6"]), "the seed changes nothing")
    need(first.count(" is down\n") >= 1000, "flaps are missing")
    expect(2, ["rehearse", "ft3:8"], "takes a time")
    expect(2, ["rehearse", "ft3:8", "--for", "soon"], "--for takes a time")
    expect(1, ["rehearse", "nowhere", "--for", "1s"], "nor is it a recipe")


def test_programs(folder):
    """Who is attached, and that a program that dies disturbs nobody."""
    s = Served(folder)
    p = start(["exec", "-s", s.socket, "-n", "H0_0_1", "ibping", "-S"])
    wait_for("ibping is attached", lambda: "ibping" in s.ctl("programs"))
    p.kill()
    p.wait(10)
    wait_for("ibping is gone", lambda: "ibping" not in s.ctl("programs"))
    need("programs  0 attached" in s.ctl("status"), "somebody is attached")
    s.end(signal.SIGINT)


def main():
    known = {name[5:]: f for name, f in globals().items() if name.startswith("test_")}
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        raise Failure("usage: weftsim.py " + "|".join(sorted(known)))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        try:
            known[sys.argv[1]](folder)
        finally:
            for p in STARTED:
                p.kill()
    print("%s: %.1f s" % (sys.argv[1], time.monotonic() - begin))


try:
    main()
except Failure as e:
    sys.exit(str(e))
