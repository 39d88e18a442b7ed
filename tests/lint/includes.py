#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The include test: walk every #include and hold it against the table of layers.

usage: includes.py [--self-test] [ROOT]

- A folder includes its own headers and those of lower ranks; folders of one rank keep apart.
- From another folder only the headers that it names in <name>_public may be included.
- The simulator shares no more than base, wire and text with the daemon, the client only base; its
  own folders have an order too.
- Project headers are named from the top of the tree; a .c file includes its own header first.
--self-test plants one violation of each kind in a copy of the tree and expects to be told of it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Folder -> (name in files.mk, rank, the only folders it may include, or None: all that are lower).
LAYERS = {
    "sm/core": ("core", 6, None),
    "sm/ctl": ("ctl", 6, None),
    "sm/planes": ("planes", 6, None),
    "sm/sa": ("sa", 5, None),
    "plugins": ("plugins", 5, None),
    "qos": ("qos", 4, None),
    "routing": ("routing", 3, None),
    "partitions": ("partitions", 3, None),
    "sm/fabric": ("fabric", 2, None),
    "sm/port": ("port", 2, None),
    "sm/wire": ("wire", 1, None),
    "sm/conf": ("conf", 1, None),
    "sm/store": ("store", 1, None),
    "sm/text": ("text", 1, None),
    "sm/base": ("base", 0, None),
    "sim": ("sim", 7, ["sm/base", "sm/wire", "sm/text"]),
    "sim/preload": ("sim_preload", 7, []),
    "cli": ("cli", 7, ["sm/base"]),
    "gateway": ("gateway", 7, ["sm/base"]),
    "offline": ("offline", 7, None),
}
# Within sim: a lower one never includes a higher one.
PARTS = {"sim/model": 0, "sim/traffic": 1, "sim/generate": 1, "sim/kernel": 1, "sim/control": 2,
         "sim/serve": 3, "sim/program": 4}
# Files that stand apart from their folder's rule.
TOP_FILES = ("sm/core/main.c", "sm/core/simulate.c")    # main knows every part, the other sim
RANK_ZERO = ("plugins/plugin.h", "sim/attach.h")  # contracts: standard headers only
EXTRA = {"sim/direct.c": ("sm/port/port.h",), "sim/direct.h": ("sm/port/port.h",)}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def folder_of(path):
    """The longest folder of the table that holds the file, or None."""
    d = os.path.dirname(path)
    while d:
        if d in LAYERS:
            return d
        d = os.path.dirname(d)
    return None


def sources(root):
    for where, dirs, files in os.walk(root):
        rel = os.path.relpath(where, root)
        dirs[:] = sorted(d for d in dirs if not d.startswith((".", "build")))
        for f in sorted(files):
            if f.endswith((".c", ".h")):
                yield os.path.normpath(os.path.join(rel, f))


def public_headers(root):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    out = subprocess.run(["make", "-s", "-C", root, "--no-print-directory", "print-public"],
                         env=env, check=True, capture_output=True, text=True).stdout
    return set(out.split())


def allowed(path, header, public):
    """None when `path` may include the project header `header`, else the reason why not."""
    me, other = folder_of(path), folder_of(header)
    if path in RANK_ZERO:
        return "%s includes standard headers only" % path
    part, below = (PARTS.get(os.path.dirname(x)) for x in (path, header))
    if part is not None and below is not None and below > part:
        return "%s is above %s" % (os.path.dirname(header), os.path.dirname(path))
    if me == other and me is not None:
        return None
    if header in EXTRA.get(path, ()) or (header in RANK_ZERO and me != "sm/base"):
        return None
    if me is None or other is None:
        return "%s is in no folder of the table" % (path if me is None else header)
    rank, only = LAYERS[me][1], LAYERS[me][2]
    if path in TOP_FILES:
        rank = 8
    if only is not None and other not in only:
        return "%s may include only %s" % (me, ", ".join(only) or "system headers")
    if LAYERS[other][1] == rank:
        return "%s and %s are of one rank" % (me, other)
    if LAYERS[other][1] > rank:
        return "%s (rank %d) is above %s (rank %d)" % (other, LAYERS[other][1], me, rank)
    if header not in public:
        return "%s is private to %s (see %s_public)" % (header, other, LAYERS[other][0])
    return None


def check_file(root, path, public):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        lines = f.read().splitlines()
    found = [(n, INCLUDE.match(x)) for n, x in enumerate(lines, 1) if INCLUDE.match(x)]
    own = path[:-2] + ".h"
    if path.endswith(".c") and found and os.path.exists(os.path.join(root, own)):
        n, first = found[0]
        if first.group(1) != own:
            yield "%s:%d: its own header %s comes first" % (path, n, own)
    for n, m in found:
        header = m.group(1) or m.group(2)
        there = os.path.isfile(os.path.join(root, header))
        if m.group(2) and not there:
            continue                        # a system header
        if not there or header != os.path.normpath(header):
            yield "%s:%d: \"%s\" is not named from the top of the tree" % (path, n, header)
        elif not path.startswith("tests/"):
            why = allowed(path, header, public)
            if why:
                yield "%s:%d: %s: %s" % (path, n, header, why)


def check(root):
    public = public_headers(root)
    return [x for path in sources(root) for x in check_file(root, path, public)]


PLANTS = [
    ("sm/base/planted.c", "sm/wire/mad.h", "is above"),
    ("sm/wire/planted.c", "sm/conf/config.h", "of one rank"),
    ("routing/planted.c", "sm/port/port.h", None),
    ("sm/core/planted.c", "routing/planted_private.h", "is private to"),
    ("sm/ctl/planted.c", "sm/core/planted_private.h", "of one rank"),
    ("sim/planted.c", "sm/fabric/fabric.h", "may include only"),
    ("sim/model/planted.c", "sim/control/sim.h", "is above"),
    ("cli/planted.c", "sm/wire/mad.h", "may include only"),
    ("sm/fabric/planted.c", "fabric.h", "not named from the top"),
]


def plant(root, path, header):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as f:
        f.write('#include "%s"\n' % header)


def self_test(root):
    bad = 0
    with tempfile.TemporaryDirectory(prefix="weft-includes-") as tmp:
        copy = os.path.join(tmp, "tree")
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".git", "build*", "*.o"))
        for folder in ("routing", "sm/core"):
            open(os.path.join(copy, folder, "planted_private.h"), "w", encoding="utf-8").close()
        before = check(copy)
        for path, header, expect in PLANTS:
            plant(copy, path, header)
            new = [x for x in check(copy) if x not in before]
            os.remove(os.path.join(copy, path))
            good = len(new) == 1 and expect in new[0] if expect else not new
            if not good:
                print("self-test: %s including %s: expected %r, got %r" %
                      (path, header, expect, new))
                bad += 1
        with open(os.path.join(copy, "sm/base/planted.h"), "w", encoding="utf-8"):
            plant(copy, "sm/base/planted.c", "sm/base/log.h")
        if not any("comes first" in x for x in check(copy)):
            print("self-test: a .c file that does not begin with its own header went unnoticed")
            bad += 1
    number = len(PLANTS) + 1
    print("self-test: %d of %d planted cases judged right" % (number - bad, number))
    return bad


def main():
    args = [a for a in sys.argv[1:] if a != "--self-test"]
    root = args[0] if args else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    if "--self-test" in sys.argv:
        return 1 if self_test(root) else 0
    bad = check(root)
    print("\n".join(bad) if bad else "includes: every #include keeps to its layer")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
