# SPDX-License-Identifier: BSD-2-Clause
"""Plugins in the daemon, on weftsim: an engine that routes, fails, hangs and is replaced without a
restart; a consumer of events that fails and goes on. The plugins are those of tests/plugins."""
import contextlib
import os
import shutil
import tempfile

import proof
from bed_diags import served
from cases_change import proved
from cases_load import load, result
from lab import BUILD, need, wait_for
from madcount import Counter
from manager import MADCOUNT, Weftd

CRASHES = 50
HANGS = 3               # seconds that an engine may take


class Plugged(Weftd):
    """weftd with an engine and a consumer, whose processes are nobody's: what they read and write
    is in a folder that all may look into."""

    def __init__(self, lab, folder, mode="route", engines="onetree, updn", options="", limits=""):
        self.folder, self.mode, self.options, self.limits = folder, mode, options, limits
        self.engines, self.counter = engines, None
        self.plugins = os.path.join(folder, "plugins")
        self.when, self.out = os.path.join(folder, "when"), os.path.join(folder, "out")
        os.mkdir(self.plugins, 0o755)
        with open(self.out, "w", encoding="utf-8"):
            os.chmod(self.out, 0o666)
        self.install("onetree")
        self.install("trail")
        super().__init__(lab, engines=engines, top=self.top(), extra=self.extra())

    def top(self):
        return ("plugin_folder: %s\nplugins:\n"
                "  - {name: onetree, options: {mode: %s, when: %s}, time: %ds%s}\n"
                "  - {name: trail, options: {path: %s%s}, time: 1s}\n" %
                (self.plugins, self.mode, self.when, HANGS, self.limits, self.out, self.options))

    @staticmethod
    def extra():
        return "    sweep_interval: 1s\n"

    def rewrite(self, **kw):
        for k, v in kw.items():
            setattr(self, k, v)
        self.write(self.engines, self.extra(), self.top())

    def install(self, name, version=""):
        """As an installer does it: another file of that name, at once."""
        new = os.path.join(self.plugins, "new")
        shutil.copyfile(os.path.join(BUILD, "plugins", name + version + ".so"), new)
        os.chmod(new, 0o644)
        os.rename(new, os.path.join(self.plugins, name + ".so"))

    def start(self, *more, **kw):
        self.counter = Counter(self.lab.dir, "madcount")
        return super().start(*more, extra_preload=MADCOUNT, WEFT_MADCOUNT=self.counter.path, **kw)

    def goes_wrong(self, on=True):
        if on:
            with open(self.when, "w", encoding="utf-8"):
                os.chmod(self.when, 0o644)
        else:
            os.unlink(self.when)

    def runs(self):
        return self.status()["engine_running"]

    def plugin(self, name):
        return next(p for p in self.json("show", "plugins")["plugins"] if p["name"] == name)

    def told(self, kind="plugin"):
        return [e["text"] for e in self.json("show", "events", "--type", kind)["events"]]

    def written(self):
        with open(self.out, encoding="utf-8") as f:
            return f.read().splitlines()

    def level(self):
        """Descriptors, kilobytes of memory, and processes of plugins."""
        pid = self.process.pid
        with open("/proc/%d/status" % pid, encoding="utf-8") as f:
            rss = next(int(x.split()[1]) for x in f if x.startswith("VmRSS"))
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as f:
            children = len(f.read().split())
        return len(os.listdir("/proc/%d/fd" % pid)), rss, children

    def swept(self, times=2):
        before = self.status()["sweeps"]
        wait_for("%d sweeps more" % times, lambda: self.status()["sweeps"] >= before + times, 30)


@contextlib.contextmanager
def plugged(name="torus-4-4-1", **kw):
    """A laboratory with such a daemon that is up."""
    with served(name) as lab, tempfile.TemporaryDirectory(prefix="weft-plugged-") as folder:
        os.chmod(folder, 0o755)
        m = Plugged(lab, folder, **kw)
        m.start()
        m.wait_up()
        yield lab, m
        if m.process.alive():
            m.stop()


def test_plugins_engine():
    """It routes a torus; crashes, once and often, and the next engine has its turn; routes again.
    A restart finds all as it was and writes nothing."""
    with plugged(mode="crash") as (lab, m):
        need(m.runs() == "onetree" and proved(lab), "%s routes" % m.runs())
        need(not m.status()["warnings"], "warnings: %s" % m.status()["warnings"])
        m.goes_wrong()
        m.weft("reroute")
        need(m.runs() == "updn" and proved(lab), "%s routes" % m.runs())
        need(len(m.told()) == 1 and "onetree was ended by SIGABRT while it routed" in m.told()[0],
             "told: %s" % m.told())
        need(sum("SIGABRT" in w for w in m.status()["warnings"]) == 1, "warnings: %s" %
             m.status()["warnings"])
        m.swept()
        m.weft("reroute", "--engine", "onetree", status=1)
        before = m.level()
        for _ in range(CRASHES):
            m.weft("reroute", "--engine", "onetree", status=1)
        after = m.level()
        print("descriptors, kB, children before and after %d crashes: %s %s" %
              (CRASHES, before, after))
        need(after[0] <= before[0] and after[2] <= before[2], "something is left")
        need(after[1] < before[1] * 1.2 + 4096, "memory grew from %d to %d kB" %
             (before[1], after[1]))
        need(m.plugin("onetree")["failures"] == CRASHES + 2, "failures: %s" % m.plugin("onetree"))
        need(len(m.told()) == 1, "told: %s" % m.told())
        need(m.runs() == "updn" and proved(lab), "%s routes" % m.runs())
        m.swept()
        m.goes_wrong(False)
        m.weft("reroute")
        need(m.runs() == "onetree" and proved(lab), "%s routes" % m.runs())
        need(m.told()[-1] == "plugin onetree works again", "told: %s" % m.told())
        need(not m.status()["warnings"], "warnings: %s" % m.status()["warnings"])
        tables = proof.dump_tables(lab)
        m.stop()
        m.start()
        m.wait_up()
        m.swept()
        need(m.runs() == "onetree" and proof.dump_tables(lab) == tables, "other tables")
        need(not m.counter.written(), "a restart wrote %s" % m.counter.written())


def test_plugins_reload():
    """New code without a restart; what is refused changes nothing, and is said."""
    with plugged() as (lab, m):
        note = "by version %d"
        need(note % 1 in m.weft("status")[0], "no note")
        out, _ = m.weft("plugin", "reload")
        need("have not changed" in out, out)
        m.install("onetree", "-2")
        out, _ = m.weft("plugin", "reload", "--dry-run")
        need("version 1 -> version 2" in out and m.plugin("onetree")["version"] == "1", out)
        out, _ = m.weft("plugin", "reload", "onetree")
        need("version 1 -> version 2" in out, out)
        wait_for("the new one to route", lambda: note % 2 in m.weft("status")[0], 30)
        need(proved(lab), "not proved")
        with open(os.path.join(m.plugins, "onetree.so"), "w", encoding="utf-8") as f:
            f.write("no shared object, whatever its name is: it has no such header at all\n")
        _, err = m.weft("plugin", "reload", "onetree", status=1)
        need("is no shared object" in err and "the one of before stays" in err, err)
        m.weft("reload")
        m.weft("reroute")
        need(m.runs() == "onetree" and note % 2 in m.weft("status")[0], "it does not stay")
        need(any("is no shared object" in w for w in m.status()["warnings"]), "no warning")
        need(sum("is no shared object" in t for t in m.told()) == 1, "told: %s" % m.told())
        # A start has none of before: the next engine routes, and it is said why.
        m.stop()
        m.start()
        m.wait_up()
        need(m.runs() == "updn", "%s routes" % m.runs())
        need("is no shared object" in m.status()["reason"], m.status()["reason"])
        m.install("onetree")
        m.weft("reload")
        wait_for("it to route", lambda: m.runs() == "onetree", 30)
        need(not m.status()["warnings"], "warnings: %s" % m.status()["warnings"])
        # What the configuration says wrongly is refused as a whole.
        m.rewrite(mode="crsh")
        _, err = m.weft("reload", status=1)
        need('did you mean "crash"?' in err, err)
        m.rewrite(mode="route", engines="trail, updn")
        _, err = m.weft("reload", status=1)
        need("trail is a consumer of events, and no engine" in err, err)
        need(m.runs() == "onetree", "%s routes" % m.runs())
        m.weft("reroute", "--engine", "trail", status=2)
        out, _ = m.weft("show", "engines")
        need("onetree.seed = 7" in out, out)


def test_plugins_consumer():
    """It is told what happens; crashes and is started again; hangs, and the daemon goes on."""
    with plugged(options=", mode: crash, at: link-down") as (lab, m):
        wait_for("the first events", lambda: any(" routed " in x for x in m.written()), 30)
        here, there = [a for a, b in lab.net.cables.items()
                       if lab.net.kind[a[0]] == lab.net.kind[b[0]] == "switch"][0:40:39]
        lab.unplug(*here)
        wait_for("it to crash", lambda: any("trail was ended by SIGSEGV" in t for t in m.told()),
                 30)
        wait_for("it to be well again", lambda: m.told()[-1] == "plugin trail works again", 30)
        wait_for("the events behind", lambda: any(" repaired " in x for x in m.written()), 30)
        need("lost 1" in m.written(), "nothing is lost: %s" % m.written())
        p = m.plugin("trail")
        need(p["state"] == "running" and p["failures"] >= 1 and p["lost"] >= 1, "it is %s" % p)
        lab.plug(*here)
        m.rewrite(options=", mode: hang, at: config")
        m.weft("reload")
        wait_for("a warning that it hangs", lambda: any(
            "plugin trail took longer" in w for w in m.status()["warnings"]), 30)
        m.swept()
        m.rewrite(options="")
        m.weft("reload")
        wait_for("it to run", lambda: m.plugin("trail")["state"] == "running", 30)
        m.stop()
        need(m.written()[-1] == "close", "it was not closed: %s" % m.written()[-3:])


def test_plugins_hang():
    """While an engine hangs the subnet administrator answers; then the next one has its turn."""
    with plugged("ft3-8", mode="hang", engines="onetree, fattree") as (lab, m):
        hosts = lab.net.hosts()
        alone = result(load(lab, hosts[1], "paths", 1, HANGS), "alone")
        m.goes_wrong()
        client = load(lab, hosts[1], "paths", 1, HANGS)
        m.weft("reroute")
        beside = result(client, "while an engine hangs")
        need(m.runs() == "fattree", "%s routes" % m.runs())
        failure = m.plugin("onetree")["failure"]
        need("took longer than" in failure and "while it routed" in failure, failure)
        need(beside["busy"] == 0 and beside["answered"] > alone["answered"] / 20,
             "few answers: %s, alone %s" % (beside, alone))
        # A repair does not wait for it: it rests, until a command has it asked again.
        runs = m.plugin("onetree")["runs"]
        here, there = [a for a, b in lab.net.cables.items()
                       if lab.net.kind[a[0]] == lab.net.kind[b[0]] == "switch"][0:40:39]
        lab.unplug(*here)
        wait_for("the repair", lambda: m.told("repaired"), 30)
        need(m.plugin("onetree")["runs"] == runs, "it was asked: %s" % m.plugin("onetree"))
        need("until it has rested" in m.status()["reason"], m.status()["reason"])
        m.goes_wrong(False)
        # What a trap began meanwhile may end later, by the engine that did not rest.
        wait_for("it to route", lambda: m.weft("reroute") and m.runs() == "onetree", 30)
        # Now that it works it is asked for repairs, too.
        runs = m.plugin("onetree")["runs"]
        lab.unplug(*there)
        wait_for("it to be asked", lambda: m.plugin("onetree")["runs"] > runs, 30)
        wait_for("it to route", lambda: m.runs() == "onetree", 30)
