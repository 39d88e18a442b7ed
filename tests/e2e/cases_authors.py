# SPDX-License-Identifier: BSD-2-Clause
"""What authors of plugins do: install, build the samples, follow the tutorial, try what they made;
and what plugins cost that do what they should not."""
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

from lab import BUILD, need, program, wait_for

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPILERS = (("gcc", "c11"), ("clang", "c11"), ("g++", "c++11"), ("clang++", "c++11"))

# What unruly.c does, and what the sentence about it has. Those of the second list come back: their
# tables are those that the host began with, which reach nobody.
FAILURES = {
    "segv": "SIGSEGV", "abort": "SIGABRT", "exit": "status 0", "_exit": "status 3",
    "exit-slowly": "status 0", "hang": "longer than", "loop": "longer than", "stop": "longer than",
    "stubborn": "longer than", "hog": "64 MiB", "limits": "64 MiB", "wild": "SIGSEGV",
    "overrun": "SIGSEGV", "write-input": "SIGSEGV", "terminate": "SIGTERM", "unmap": "SIGSEGV",
    "recurse": "SIGSEGV", "counts": "there can be 16", "garbage": "rank",
    "tree-cycle": "goes round",
}
HARMLESS = ("threads", "fork-bomb", "exec", "kill-parent", "close-all", "new-file",
            "call-out", "trace-parent", "truncate", "long-line")
TALKS = ("chatter",)        # all day, or as long as it has

# Plugins that are refused when they are loaded, by what misshapen.c is compiled with.
MISSHAPEN = {
    "-DABI=0x20000": "2.0", "-DABI=0x10063": "1.99", "-DSIZE=8": "", "-DENGINE_SIZE=8": "",
    "-DSYMBOL=another": "weft_plugin", "-DNAME=NULL": "name", '-DNAME="Wrong Name"': "name",
    "-DHELP=NULL": "help", "-DNEITHER": "", "-DBOTH": "", "-DCONSUMER": "event",
    '-DINITIAL="10"': "n", '-DINITIAL="x"': "n", "-DOPTIONS=2": "n", "-DOPTIONS=100000": "option",
    "-DCONSTRUCTOR=abort()": "SIGABRT", "-DCONSTRUCTOR=_exit(0)": "",
    "-DCONSTRUCTOR=raise(SIGKILL)": "SIGKILL", "-DCONSTRUCTOR=for(;;)": "",
}


def run(argv, status=0, seconds=120, **kw):
    r = subprocess.run(argv, capture_output=True, text=True, timeout=seconds, check=False, **kw)
    need(status is None or r.returncode == status, "%s ended with %d, not %s: %s%s" %
         (" ".join(argv), r.returncode, status, r.stdout[-600:], r.stderr[-600:]))
    return r


@contextlib.contextmanager
def installed():
    """What `make install` puts below a folder, and the environment of somebody who has it."""
    with tempfile.TemporaryDirectory(prefix="weft-authors-") as tmp:
        make = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        run(["make", "-C", TOP, "BUILD=" + os.path.abspath(BUILD), "DESTDIR=" + tmp, "PREFIX=/usr",
             "install"], env=make, seconds=600)
        env = dict(make, PKG_CONFIG_PATH=os.path.join(tmp, "usr/lib/pkgconfig"),
                   PKG_CONFIG_SYSROOT_DIR=tmp,
                   PATH="%s/usr/bin:%s/usr/sbin:%s" % (tmp, tmp, os.environ["PATH"]))
        yield tmp, env


def fabric(folder, *recipe):
    path = os.path.join(folder, "-".join(recipe) + ".txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write(run([program("weftsim"), "generate"] + list(recipe)).stdout)
    return path


def route(topology, plugin, *more, **kw):
    return run([program("weft"), "-o", "json", "route", topology, "--plugin", plugin] + list(more),
               **kw)


def test_authors_samples():
    """Every sample builds from the installed header alone, as C and as C++, and works."""
    with installed() as (tmp, env):
        source = os.path.join(tmp, "usr/share/doc/weft/plugins")
        tree, torus = fabric(tmp, "ft3", "4"), fabric(tmp, "torus", "5", "5", "1")
        for compiler, standard in COMPILERS:
            folder = os.path.join(tmp, "build-" + compiler)
            shutil.copytree(source, folder)
            run(["make", "-C", folder, "CC=" + compiler, "CSTD=" + standard,
                 "CFLAGS=-O2 -Wall -Wextra -Werror"], env=env)
            need(len(glob.glob(folder + "/*.so")) == 4, "not all samples of %s" % compiler)
            for name in ("random-shortest", "adaptive"):
                for topology in (tree, torus):
                    r = json.loads(route(topology, os.path.join(folder, name + ".so")).stdout)
                    need(r["ok"] and r["engine"] == name, "%s by %s: %s" % (name, compiler, r))
        # Its alternatives are what groups are made of: as many as those of the engine for trees.
        groups = [json.loads(run([program("weft"), "-o", "json", "route", fabric(tmp, "ft3", "8"),
                                  "--adaptive", "200", "--no-quality"] + more).stdout)["adaptive"]
                  for more in (["--plugin", os.path.join(folder, "adaptive.so")],
                               ["--engine", "fattree"])]
        need(groups[0]["groups"] == groups[1]["groups"] == 64 and not groups[0]["cut"], groups)
        made = set()
        for seed in ("seed=7", "seed=8"):
            out = os.path.join(tmp, seed)
            route(torus, os.path.join(folder, "random-shortest.so"), "--option", seed,
                  "--lfts", out)
            with open(out, encoding="utf-8") as f:
                made.add(f.read())
        need(len(made) == 2, "the option changes nothing")


def blocks(text):
    """(language, text) of the fenced blocks of a page, in their order."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def test_authors_tutorial():
    """The tutorial, followed to the letter: what it says is what is shown."""
    with installed() as (tmp, env):
        with open(os.path.join(tmp, "usr/share/doc/weft/plugins/plugins.md"),
                  encoding="utf-8") as f:
            page = f.read().split("## In the daemon")[0]
        folder, shown, engines = tmp, "", 0
        for language, text in blocks(page):
            path = os.path.join(folder, "climb.c")
            if language == "c" and text.startswith("#include"):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                engines += 1
            elif language == "diff":
                run(["patch", "-p0", "-d", folder], input=text)
            elif language == "sh":
                shown = ""
                for line in text.splitlines():
                    if line.startswith("cd "):
                        folder = os.path.join(folder, line[3:])
                    elif not line.startswith("mkdir ") or not os.path.exists(
                            os.path.join(folder, line[6:])):
                        r = run(["sh", "-c", line], status=None, cwd=folder, env=env)
                        need(r.returncode in (0, 1) and "error:" not in r.stderr,
                             "%s: %s" % (line, r.stderr))
                        shown += r.stdout + r.stderr
            elif not language:
                want = "TIME".join(re.escape(x) for x in
                                   re.split(r"[\d.]+ (?:ms|us|s)\b", text.strip()))
                want = want.replace("TIME", r"[\d.]+ \w+")
                need(re.search(want, shown), "the page shows\n%s\nand this is\n%s" % (text, shown))
        need(engines == 3, "the page has %d engines" % engines)
        r = json.loads(route(os.path.join(folder, "torus.txt"),
                             os.path.join(folder, "climb.so")).stdout)
        need(r["ok"] and r["credit_loops"] == 0, r)


def compiled(folder, source, *flags):
    """A plugin of tests/plugins, by the header of the tree."""
    where = os.path.join(folder, "include/weft")
    os.makedirs(where, exist_ok=True)
    shutil.copy(os.path.join(TOP, "plugins/plugin.h"), where)
    out = os.path.join(folder, source + ".so")
    run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-w", "-I" + os.path.dirname(where), "-fPIC",
         "-shared", "-o", out, os.path.join(TOP, "tests/plugins", source + ".c")] + list(flags))
    return out


def alive(name):
    """Processes of a plugin, by pid. Other tests run plugins meanwhile, even this one."""
    out = set()
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            with open(path, encoding="utf-8") as f:
                if f.read().split("\0")[:2] == ["weft-plugin-host", name]:
                    out.add(path)
    return out


def test_authors_hostile():
    """Whatever a plugin does, it costs one sentence that names it."""
    with tempfile.TemporaryDirectory(prefix="weft-hostile-") as tmp:
        os.chmod(tmp, 0o777)
        plugin, tree = compiled(tmp, "unruly"), fabric(tmp, "ft3", "4")
        made = os.path.join(tmp, "made")
        for what in [*FAILURES, *HARMLESS, *TALKS]:
            r = run([program("weft"), "route", tree, "--plugin", plugin, "--option", "what=" + what,
                     "--option", "file=" + made, "--memory-limit", "64", "--time-limit",
                     "60s" if "MiB" in FAILURES.get(what, "") else "1s"], status=1, seconds=100)
            said = r.stdout + r.stderr
            need("engine unruly is refused" in said and
                 FAILURES.get(what, "not sound" if what in HARMLESS else "") in said,
                 "%s: %s" % (what, said))
            need(len(said) < 20000, "%s: %d bytes are said" % (what, len(said)))
            need("\x1b" not in said, "%s: control characters" % what)
        need(not os.path.exists(made), "a plugin has made a file")
        wait_for("its processes to be gone", lambda: not alive("unruly"), 60)


def test_authors_misshapen():
    """What cannot be loaded is refused with the reason, before anything is routed."""
    with tempfile.TemporaryDirectory(prefix="weft-misshapen-") as tmp:
        tree = fabric(tmp, "ft3", "4")
        for flag, word in MISSHAPEN.items():
            flag = re.sub(r'^(-D\w+=)"(.*)"$', r'\1"\2"', flag)
            r = route(tree, compiled(tmp, "misshapen", flag), status=1, seconds=60)
            need(word in r.stderr and r.stderr.count("\n") == 1 and "misshapen" in r.stderr,
                 "%s: %s" % (flag, r.stderr))
        text = os.path.join(tmp, "text.so")
        with open(text, "w", encoding="utf-8") as f:
            f.write("no shared object\n")
        for path in (text, tmp, os.path.join(tmp, "nowhere.so")):
            need(path in route(tree, path, status=1).stderr, "the file is not named")


def test_authors_conformance():
    """`weft plugin test` passes what is right, and says what is not."""
    with tempfile.TemporaryDirectory(prefix="weft-conform-") as tmp:
        samples = os.path.join(TOP, "plugins/samples")
        for name in ("random-shortest", "adaptive"):
            shutil.copy(os.path.join(samples, name + ".c"), tmp)
            compiled(tmp, "unruly")
            run(["gcc", "-std=c11", "-O2", "-I" + os.path.join(tmp, "include"), "-fPIC", "-shared",
                 "-o", os.path.join(tmp, name + ".so"), os.path.join(tmp, name + ".c")])
            r = json.loads(run([program("weft"), "-o", "json", "plugin", "test",
                                os.path.join(tmp, name + ".so")], seconds=200).stdout)
            need(r["ok"] and sum(t["routed"] for t in r["trials"]) > 60, r)
        r = run([program("weft"), "plugin", "test", os.path.join(tmp, "unruly.so")], status=1,
                seconds=200)
        need("not sound" in r.stdout, r.stdout)
