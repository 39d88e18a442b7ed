# SPDX-License-Identifier: BSD-2-Clause
"""A laboratory for one test: a simulator with a fabric, and programs attached to it.

Each Lab has a directory, a simulator and a socket name of its own, so that many can run at once.
Nothing here sleeps for a fixed time: what must happen is waited for, with a bound. Only processes
that a Lab started are ended, by their id, clients before the simulator.
"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import simulators
from common import BUILD, Failure, SHARED, SKIP, Skip, need, program, shared, wait_for


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
    """SIM=weftsim in the environment puts the fabric on our own simulator instead of ibsim."""
    count = 0

    def __init__(self, netfile, keep=False, sim=None, seat=None):
        self.net = Net(netfile)
        self.chosen = seat
        self.dir = tempfile.mkdtemp(prefix="weft-lab-")
        self.keep = keep or bool(os.environ.get("KEEP"))
        self.processes = []
        Lab.count += 1
        kind = sim or os.environ.get("SIM", "ibsim")
        self.sim = simulators.KINDS[kind](self, "weft-lab-%d-%d" % (os.getpid(), Lab.count))

    def __enter__(self):
        try:
            self.sim.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, value, trace):
        if kind and issubclass(kind, Failure):
            self.tell()
        self.close()

    def unplug(self, node, port=None):
        """Pull one cable, or all of a node."""
        self.sim.cables([(node, port)] if port else self.ends(node), False)

    def plug(self, node, port=None):
        self.sim.cables([(node, port)] if port else self.ends(node), True)

    def ends(self, node):
        return [(n, p) for n, p in self.net.cables if n == node]

    def silence(self, node, on=True):
        """Let a device answer nothing, or as before."""
        self.sim.silence(node, on)

    def env(self, host, extra_preload=None, **more):
        env = dict(os.environ, LC_ALL="C")
        env["PATH"] = env.get("PATH", "") + ":/usr/sbin:/sbin"
        for k in ("LD_PRELOAD", "SIM_HOST", "WEFT_SOCKET", "WEFTSIM_SOCKET", "WEFTSIM_NODE"):
            env.pop(k, None)
        env.update(self.sim.env(host))
        if host:
            env["LD_PRELOAD"] = ":".join(x for x in (extra_preload, self.sim.preload()) if x)
        env.update({k: v for k, v in more.items() if v is not None})
        return env

    def seat(self):
        """Where the SM sits: the first host of the file, if nobody chose another."""
        return self.chosen or self.net.hosts()[0]

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
        self.sim.stop()
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
