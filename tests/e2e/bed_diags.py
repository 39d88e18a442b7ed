# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of weftsim with other people's programs have in common: a fabric on weftsim that
packaged OpenSM has brought up, and ways to run a tool on one of its hosts."""
import contextlib
import re
import tempfile

import fabrics
from lab import Lab, Failure, need, program, wait_for
from manager import OpenSM


@contextlib.contextmanager
def served(name, *options):
    """A Lab on weftsim with that fabric; nobody manages it yet."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        lab = Lab(fabrics.fabric(name, tmp), sim="weftsim")
        lab.sim.options = options
        with lab:
            yield lab


def settled(lab, m):
    """OpenSM may train links again whose MTU or lanes it has set; it hears of that by trap 128, and
    sweeps again."""
    def quiet():
        text, ctl = m.process.text(), lab.sim.ctl
        return text.rfind(m.up) > text.rfind("num:128") and \
            "trap" not in ctl("wrong") and \
            re.search(r"(\d+): \1 active, 0 down, 0 on the way", ctl("status"))
    wait_for("OpenSM to be done", quiet)


@contextlib.contextmanager
def managed(name, *more, options=()):
    """The same, up: OpenSM (lab.manager) is on the first host, the tools are on the last one."""
    with served(name, *options) as lab:
        lab.manager = m = OpenSM(lab)
        m.start(*more)
        m.wait_up()
        settled(lab, m)
        yield lab


class Tools:
    """Tools on one host of a Lab."""

    def __init__(self, lab, host=None):
        self.lab, self.host = lab, host or lab.far()

    def run(self, line, status=0, seconds=60):
        """(output, errors) of a command line without quotes."""
        argv = line.split()
        return self.lab.run([program(argv[0])] + argv[1:], self.host, seconds, status)

    def __call__(self, line, **kw):
        return self.run(line, **kw)[0]

    def says(self, line, *patterns, **kw):
        """Each pattern is in the output, lines being matched by ^ and $; the output."""
        out = self(line, **kw)
        for p in patterns:
            need(re.search(p, out, re.M), "%s does not say /%s/ but: %s" % (line, p, out[:800]))
        return out

    def fails(self, line, pattern, seconds=30):
        """It refuses, in words, and does not crash."""
        out, err = self.run(line, status=None, seconds=seconds)
        need(re.search(pattern, out + err), "%s does not say /%s/ but: %s" %
             (line, pattern, (out + err)[:800]))

    def same(self, *lines):
        """Several ways to ask the same; the output, without the line that tells the address."""
        outs = [re.sub(r"^#.*\n", "", self(x)) for x in lines]
        for x, out in zip(lines, outs):
            need(out == outs[0], "%s and %s differ: %s" % (lines[0], x, out[:400]))
        return outs[0]

    def lid(self):
        m = re.search(r"LID start 0x([0-9a-f]+)", self("ibaddr"))
        if not m:
            raise Failure("ibaddr tells no LID of %s" % self.host)
        return int(m.group(1), 16)


def count(text, pattern):
    return len(re.findall(pattern, text, re.M))
