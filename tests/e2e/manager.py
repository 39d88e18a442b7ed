# SPDX-License-Identifier: BSD-2-Clause
"""The subnet manager under test: weftd; or packaged OpenSM (MANAGER=opensm), which proves that the
judging itself is right: what OpenSM brings up must pass, and its credit loops must be found."""
import json
import os
import re
import sys

from lab import BUILD, Failure, need, program, wait_for

MADCOUNT = os.path.join(BUILD, "madcount.so")
# ASan aborts on the simulator's preload, which reads 320 bytes of a 288-byte buffer.
SUPPRESS = "interceptor_via_lib:libumad2sim.so\n"


class Weftd:
    name = "weftd"
    up = r"subnet \S+ is up"

    def __init__(self, lab, engines="minhop, updn", seat=None, tag="", extra="", top=""):
        self.lab, self.seat, self.process = lab, seat or lab.seat(), None
        base = os.path.join(lab.dir, "weft" + tag)
        self.config, self.state, self.socket = base + ".yaml", base + ".db", base + ".sock"
        self.write(engines, extra, top)

    def write(self, engines="minhop, updn", extra="", top=""):
        self.write_text(
            "state: %s\ncontrol: {socket: %s}\nlog: {level: info, to: stderr}\n%s"
            "subnets:\n  - name: lab\n    port: auto\n"
            "    routing: {engines: [%s], fallback: warn}\n%s" %
            (self.state, self.socket, top, engines, extra))

    def write_text(self, text):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(text)

    def environment(self):
        more = {}
        if os.environ.get("SAN") == "address":
            path = os.path.join(self.lab.dir, "asan.suppressions")
            with open(path, "w", encoding="utf-8") as f:
                f.write(SUPPRESS)
            more["ASAN_OPTIONS"] = "suppressions=%s:verify_asan_link_order=0" % path
        return more

    def argv(self, *more):
        return [program("weftd"), "-c", self.config] + list(more)

    def start(self, *more, seat="same", **kw):
        kw = dict(self.environment(), **kw)
        need(os.path.exists(kw.get("extra_preload", "/")), "%s was not built" %
             kw.get("extra_preload"))
        seat = self.seat if seat == "same" else seat
        self.process = self.lab.start("weftd", self.argv(*more), seat, **kw)
        return self.process

    def once(self, seconds=120, status=0):
        p = self.start("--once")
        wait_for("weftd --once to end", lambda: not p.alive(), seconds)
        need(p.popen.returncode == status, "weftd --once ended with %s, not %d" %
             (p.popen.returncode, status))
        if status == 0:
            need(re.search(self.up, p.text()), "weftd --once did not say that the subnet is up")
        return p

    def weft_argv(self, *argv):
        return [program("weft"), "-s", self.socket] + list(argv)

    def weft(self, *argv, seconds=60, status=0):
        """A command of the client, without any simulator: it knows only the socket."""
        return self.lab.run(self.weft_argv(*argv), seconds=seconds, status=status)

    def json(self, *argv, **kw):
        out, _ = self.weft("-o", "json", *argv, **kw)
        try:
            return json.loads(out)
        except ValueError:
            raise Failure("weft -o json %s is no JSON: %s" % (" ".join(argv), out[:300])) from None

    def status(self):
        return self.json("status")["subnets"][0]

    def wait_up(self, seconds=60):
        wait_for("the control socket", lambda: os.path.exists(self.socket) or
                 not self.process.alive(), 20)
        self.weft("wait", "--timeout", str(seconds), seconds=seconds + 20)
        return self.status()

    def stop(self):
        status = self.process.stop()
        need(status == 0, "weftd ended with %s after SIGTERM" % status)


class OpenSM:
    name = "opensm"
    up = "SUBNET UP"

    def __init__(self, lab, engines="minhop", seat=None, tag="", priority=None, **_):
        self.lab, self.seat, self.process = lab, seat or lab.seat(), None
        self.engines, self.priority = engines.replace(" ", ""), priority
        self.cache = os.path.join(lab.dir, "opensm" + tag) + "/"
        os.makedirs(self.cache, exist_ok=True)

    def start(self, *more, **kw):
        argv = [program("opensm"), "-f", "stdout", "-R", self.engines, "--maxsmps", "256"]
        argv += ["-p", str(self.priority)] if self.priority is not None else []
        self.process = self.lab.start("opensm", argv + list(more), self.seat,
                                      OSM_TMP_DIR=self.cache, OSM_CACHE_DIR=self.cache, **kw)
        return self.process

    def once(self, seconds=120, *more, status=0):
        p = self.start("-o", *more)
        wait_for("opensm -o to end", lambda: not p.alive(), seconds)
        need(p.popen.returncode == status and self.up in p.text(),
             "opensm -o ended with %s" % p.popen.returncode)
        return p

    def wait_up(self, seconds=60):
        self.process.wait_text(self.up, seconds)

    def stop(self):
        self.process.stop()


def manager(lab, **kw):
    return (OpenSM if os.environ.get("MANAGER") == "opensm" else Weftd)(lab, **kw)


def args():
    return sys.argv[1:]
