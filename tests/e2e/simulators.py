# SPDX-License-Identifier: BSD-2-Clause
"""The two simulators that a Lab can stand on: packaged ibsim, and our own weftsim.

Each has: start(), stop(), env(host) and preload() for programs that attach, cables(ends, up),
silence(node, on), lid(node, lid). Traps of packaged ibsim that are taken care of here:

- a client leaves a folder sys-PID in its working directory: every client works in the Lab's own;
- the first node of the file is the default seat: each client is told its seat by SIM_HOST;
- an SM whose simulator is gone hangs in its exit: clients are ended first, then the simulator;
- a second preload library must come before the simulator's.
"""
import glob
import os
import re
import subprocess

from common import BUILD, Failure, need, program, wait_for


class Simulator:
    name = None

    def __init__(self, lab, tag):
        self.lab, self.tag, self.popen = lab, tag, None
        self.log = os.path.join(lab.dir, "simulator.log")

    def launch(self, argv, **kw):
        with open(self.log, "wb") as log:
            self.popen = subprocess.Popen(argv, cwd=self.lab.dir, stdout=log,
                                          stderr=subprocess.STDOUT, env=self.lab.env(None), **kw)
        wait_for("%s to start" % self.name, self.is_ready, 120)

    def is_ready(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        need(self.popen.poll() is None, "%s ended: %s" % (self.name, text[-300:]))
        return re.search(self.ready, text)

    def stop(self):
        if not self.popen:
            return
        self.popen.terminate()
        try:
            self.popen.wait(10)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


class Ibsim(Simulator):
    name = "ibsim"
    ready = "simulator ready"

    def start(self):
        net = self.lab.net
        nodes, switches = len(net.kind), len(net.switches())
        ports = sum(n + 1 for n in net.size.values())
        self.launch(["ibsim", "-s", "-N", str(nodes + 10), "-S", str(switches + 10), "-P",
                     str(ports + 1000), os.path.abspath(net.path)], stdin=subprocess.PIPE)

    def stop(self):
        super().stop()
        if self.popen:
            self.popen.stdin.close()

    def env(self, host):
        env = {"IBSIM_SOCKNAME": self.tag}
        if host:
            env["SIM_HOST"] = host
        return env

    def preload(self):
        found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
        need(found, "the package ibsim-utils is not installed")
        return found[0]

    def console(self, *commands):
        """Commands for its console: Unlink, ReLink, Link, Error, ..."""
        for c in commands:
            self.popen.stdin.write((c + "\n").encode())
        self.popen.stdin.flush()

    def cables(self, ends, up):
        self.console(*['%s "%s"[%d]' % ("ReLink" if up else "Unlink", n, p) for n, p in ends])

    def silence(self, node, on):
        """It looks at the port by which a MAD reaches its device: all of them, then."""
        first = 0 if self.lab.net.kind[node] == "switch" else 1
        self.console(*['Error "%s"[%d] %d' % (node, p, 100 if on else 0)
                       for p in range(first, self.lab.net.size[node] + 1)])

    def lid(self, node, lid):
        self.console('Baselid "%s"[1] %d' % (node, lid))


class Weftsim(Simulator):
    name = "weftsim"
    ready = r"(?m)^.*ready"
    options = ()

    @property
    def socket(self):
        return os.path.join(self.lab.dir, "sim.sock")

    def start(self):
        self.launch([program("weftsim"), "serve", os.path.abspath(self.lab.net.path), "--socket",
                     self.socket] + list(self.options), stdin=subprocess.DEVNULL)

    def env(self, host):
        env = {"WEFTSIM_SOCKET": self.socket}
        if host:
            env["WEFTSIM_NODE"] = host
        return env

    def preload(self):
        path = os.path.join(BUILD, "libweftsim-umad.so")
        need(os.path.exists(path), "%s is not built" % path)
        return path

    def ctl(self, *words):
        """A command; its output."""
        r = subprocess.run([program("weftsim"), "ctl", "-s", self.socket] + list(words),
                           capture_output=True, text=True, timeout=60, check=False,
                           env=self.lab.env(None))
        if r.returncode:
            raise Failure("weftsim ctl %s: %s" % (" ".join(words), r.stderr.strip()))
        return r.stdout

    def cables(self, ends, up):
        for n, p in ends:
            self.ctl("link-up" if up else "link-down", "%s/%d" % (n, p))

    def silence(self, node, on):
        self.ctl("silence" if on else "answer", node)

    def lid(self, node, lid):
        self.ctl("lid", node + "/1", str(lid))


class Ibsimlike(Weftsim):
    """weftsim with what ibsim's devices hold."""
    options = ("--like-ibsim",)


class Nothing(Simulator):
    """No simulator: whoever runs brings a fabric of their own."""
    name = "none"

    def start(self):
        pass

    def env(self, host):
        return {}

    def preload(self):
        return None


KINDS = {"none": Nothing, "ibsim": Ibsim, "weftsim": Weftsim, "ibsimlike": Ibsimlike}
