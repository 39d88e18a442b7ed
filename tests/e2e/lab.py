# SPDX-License-Identifier: BSD-2-Clause
"""A laboratory for one test: packaged ibsim on a fabric, and programs attached to it.

Each Lab has a directory, a simulator and a socket name of its own, so that many can run at once.
Nothing here sleeps for a fixed time: what must happen is waited for, with a bound. Only processes
that a Lab started are ended, by their id. Traps of packaged ibsim that this file takes care of:

- a client leaves a folder sys-PID in its working directory: every client works in the Lab's own;
- the first node of the file is the default seat: each client is told its seat by SIM_HOST;
- an SM whose simulator is gone hangs in its exit: clients are ended first, then the simulator;
- a second preload library must come before the simulator's.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
SHARED = os.environ.get("WEFT_SHARED", os.path.join(TOP, "..", "shared"))
SKIP = 77


class Failure(Exception):
    """The test has failed, in one sentence."""


class Skip(Exception):
    """The test cannot run here, and why."""


def need(condition, sentence):
    if not condition:
        raise Failure(sentence)


def wait_for(what, condition, seconds=30, pause=0.02):
    """Poll until condition() is true; its value is returned."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure("waited %g s in vain for %s" % (seconds, what))
        time.sleep(pause)


def shared(name):
    path = os.path.join(SHARED, name)
    if not os.path.exists(path):
        raise Skip("%s is not here (WEFT_SHARED names the folder)" % name)
    return path


def program(name):
    """A program of ours from the build folder, or one of the system's."""
    own = os.path.join(BUILD, name)
    if os.path.exists(own):
        return own
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") or name


def preload():
    found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
    need(found, "the package ibsim-utils is not installed")
    return found[0]


class Net:
    """What a netfile says: nodes, kinds and cables. Both forms: ibsim's own and ibnetdiscover's."""

    NODE = re.compile(r'^(Switch|Hca|Ca|Rt)\s+(\d+)\s+"([^"]+)"')
    CABLE = re.compile(r'^\[(\d+)\](?:\([0-9a-fA-F]+\))?\s+"([^"]+)"\s*\[(\d+)\]')

    def __init__(self, path):
        self.path = path
        self.kind, self.size, self.cables = {}, {}, {}
        node = None
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                m = self.NODE.match(line)
                if m:
                    node = m.group(3)
                    self.kind[node] = "switch" if m.group(1) == "Switch" else "host"
                    self.size[node] = int(m.group(2))
                    continue
                m = self.CABLE.match(line)
                if m and node:
                    self.cables[(node, int(m.group(1)))] = (m.group(2), int(m.group(3)))
        # ibsim makes both ends of a cable that the file names once.
        for end, peer in list(self.cables.items()):
            if peer[0] in self.kind:
                self.cables.setdefault(peer, end)
            else:
                del self.cables[end]

    def hosts(self):
        """Hosts that a client can sit on: port 1 is cabled."""
        return [n for n, k in self.kind.items() if k == "host" and (n, 1) in self.cables]

    def switches(self):
        return [n for n, k in self.kind.items() if k == "switch"]

    def reachable(self, start):
        """What an SM on port 1 of `start` can see: a switch passes on, a host does not."""
        seen, todo = {start}, [self.cables[(start, 1)][0]] if (start, 1) in self.cables else []
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            if self.kind[node] == "switch":
                todo += [r for (n, _), (r, _) in self.cables.items() if n == node]
        return seen

    def expected(self, start):
        """Counts of switches, hosts and cables that discovery from `start` must find."""
        seen = self.reachable(start)
        links = {frozenset((a, b)) for a, b in self.cables.items()
                 if "switch" in (self.kind[a[0]], self.kind[b[0]]) and
                 any(e[0] in seen and self.kind[e[0]] == "switch" for e in (a, b))}
        return {"switches": sum(self.kind[n] == "switch" for n in seen),
                "hosts": sum(self.kind[n] == "host" for n in seen), "links": len(links)}


class Process:
    """A program that runs beside the test; its output goes to a file."""

    def __init__(self, lab, name, argv, env):
        self.name = name
        self.log = os.path.join(lab.dir, "%s.%d.log" % (name, len(lab.processes)))
        self.start = time.monotonic()
        with open(self.log, "wb") as log:
            self.popen = subprocess.Popen(argv, cwd=lab.dir, env=env, stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=subprocess.STDOUT)
        self.pid = self.popen.pid
        lab.processes.append(self)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def alive(self):
        return self.popen.poll() is None

    def wait_text(self, pattern, seconds=60):
        """Wait for a line of the log; ends early when the process has died."""
        def found():
            m = re.search(pattern, self.text())
            if not m and not self.alive() and not re.search(pattern, self.text()):
                raise Failure("%s ended with %s before it said /%s/; its log ends: %s" % (
                    self.name, self.popen.returncode, pattern, self.text()[-800:]))
            return m
        return wait_for("%s to say /%s/" % (self.name, pattern), found, seconds)

    def send(self, sig):
        self.popen.send_signal(sig)

    def stop(self, sig=signal.SIGTERM, seconds=20):
        """End it; returns the exit status, or None if only SIGKILL ended it."""
        if self.alive():
            self.popen.send_signal(sig)
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            return None


class Lab:
    count = 0

    def __init__(self, netfile, keep=False):
        self.net = Net(netfile)
        self.dir = tempfile.mkdtemp(prefix="weft-lab-")
        self.keep = keep or bool(os.environ.get("KEEP"))
        self.processes = []
        self.sim = self.sim_log = None
        Lab.count += 1
        self.socket = "weft-lab-%d-%d" % (os.getpid(), Lab.count)

    def __enter__(self):
        try:
            self.start_sim()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, value, trace):
        if kind and issubclass(kind, Failure):
            self.tell()
        self.close()

    def start_sim(self):
        net = self.net
        nodes, switches = len(net.kind), len(net.switches())
        ports = sum(n + 1 for n in net.size.values())
        self.sim_log = os.path.join(self.dir, "ibsim.log")
        argv = ["ibsim", "-s", "-N", str(nodes + 10), "-S", str(switches + 10), "-P",
                str(ports + 1000), os.path.abspath(net.path)]
        with open(self.sim_log, "wb") as log:
            self.sim = subprocess.Popen(argv, cwd=self.dir, stdin=subprocess.PIPE, stdout=log,
                                        stderr=subprocess.STDOUT, env=self.env(None))
        wait_for("ibsim to start", self.sim_ready, 120)

    def sim_ready(self):
        with open(self.sim_log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        need(self.sim.poll() is None, "ibsim ended: " + text[-300:])
        return "simulator ready" in text

    def console(self, *commands):
        """Commands for the simulator's console: Unlink, ReLink, Link, Error, ..."""
        for c in commands:
            self.sim.stdin.write((c + "\n").encode())
        self.sim.stdin.flush()

    def env(self, host, extra_preload=None, **more):
        env = dict(os.environ, IBSIM_SOCKNAME=self.socket, LC_ALL="C")
        env["PATH"] = env.get("PATH", "") + ":/usr/sbin:/sbin"
        for k in ("LD_PRELOAD", "SIM_HOST", "WEFT_SOCKET"):
            env.pop(k, None)
        if host:
            env["SIM_HOST"] = host
            env["LD_PRELOAD"] = ":".join(x for x in (extra_preload, preload()) if x)
        env.update({k: v for k, v in more.items() if v is not None})
        return env

    def seat(self):
        """Where the SM sits: the first host of the file."""
        return self.net.hosts()[0]

    def far(self):
        """Where the judging tools sit: a host that the SM can see, the last one of the file."""
        seen = self.net.reachable(self.seat())
        return [h for h in self.net.hosts() if h in seen][-1]

    def start(self, name, argv, host, **kw):
        return Process(self, name, argv, self.env(host, **kw))

    def run(self, argv, host=None, seconds=60, status=0):
        """Run a tool to its end; (output, errors). `status` None: whatever it is."""
        try:
            r = subprocess.run(argv, cwd=self.dir, env=self.env(host), stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise Failure("%s was not done within %g s" % (" ".join(argv), seconds)) from None
        out, err = (x.decode(errors="replace") for x in (r.stdout, r.stderr))
        if status is not None and r.returncode != status:
            raise Failure("%s ended with %d, not %d: %s" % (
                " ".join(argv), r.returncode, status, (out + err)[-800:].strip()))
        return out, err

    def tool(self, *argv, **kw):
        """One of the judging tools, seated at the far end; its output."""
        kw.setdefault("host", self.far())
        return self.run(list(argv), **kw)[0]

    def tell(self):
        """After a failure: the ends of all logs."""
        for p in self.processes:
            print("--- %s (pid %d) ends:\n%s" % (p.name, p.pid, p.text()[-4000:]))
        print("--- the laboratory was %s%s" % (self.dir, "" if self.keep else " (KEEP=1 keeps it)"))

    def close(self):
        for p in reversed(self.processes):
            p.stop(seconds=10)
        if self.sim:
            self.sim.terminate()
            try:
                self.sim.wait(10)
            except subprocess.TimeoutExpired:
                self.sim.kill()
                self.sim.wait()
            self.sim.stdin.close()
        if not self.keep:
            shutil.rmtree(self.dir, ignore_errors=True)


def main(function):
    """Run a test: 0 passed, 1 failed, 77 skipped; SIGTERM still cleans up."""
    def end(*_):
        raise SystemExit(143)
    signal.signal(signal.SIGTERM, end)
    try:
        function()
    except Skip as e:
        print("skipped: %s" % e)
        raise SystemExit(SKIP) from None
    except Failure as e:
        print("FAILED: %s" % e)
        raise SystemExit(1) from None
