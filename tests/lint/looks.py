#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Looks that no compiler minds: columns, lengths of functions and files, licence line, leftovers.

usage: looks.py [-v] [ROOT]       -v: also the distribution of function lengths, a folder a line
"""
import os
import re
import sys

COLUMNS = 100
FUNCTION_LIMIT = 110        # lines
FILE_LIMIT = 900
LICENCE = "/* SPDX-License-Identifier: BSD-2-Clause */"
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX)\b|^\s*#\s*if\s+0\b")
STRUCT_TYPEDEF = re.compile(r"^\s*typedef\s+(struct|union)\b[^(]*$")
EXTENSIONS = (".c", ".h", ".py", ".sh")


def sources(root):
    for where, dirs, files in os.walk(root):
        dirs[:] = sorted(d for d in dirs if not d.startswith((".", "build")))
        for f in sorted(files):
            if f.endswith(EXTENSIONS):
                yield os.path.join(where, f)


def functions(lines):
    """(line of the opening brace, lines from brace to brace)"""
    start = None
    for n, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = n
        elif line.startswith("}") and start:
            yield start, n - start
            start = None


def check_c(name, lines):
    if not lines or lines[0] != LICENCE:
        yield "%s:1: begins with %s" % (name, LICENCE)
    for n, length in functions(lines):
        if length > FUNCTION_LIMIT:
            yield "%s:%d: a function of %d lines (at most %d)" % (name, n, length, FUNCTION_LIMIT)
    for n, line in enumerate(lines, 1):
        if STRUCT_TYPEDEF.match(line):
            yield "%s:%d: typedef of a struct" % (name, n)


def check(name, text):
    lines = text.splitlines()
    for n, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > COLUMNS:
            yield "%s:%d: %d columns" % (name, n, len(line.expandtabs(8)))
        if line != line.rstrip():
            yield "%s:%d: blanks at the end" % (name, n)
        if not name.endswith("looks.py") and LEFTOVER.search(line):
            yield "%s:%d: left over: %s" % (name, n, line.strip())
    if len(lines) > FILE_LIMIT:
        yield "%s: %d lines (at most %d)" % (name, len(lines), FILE_LIMIT)
    if name.endswith((".c", ".h")):
        yield from check_c(name, lines)


def main():
    args = [a for a in sys.argv[1:] if a != "-v"]
    root = args[0] if args else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    bad, lengths = [], {}
    for path in sources(root):
        name = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        bad += check(name, text)
        if name.endswith(".c"):
            lengths.setdefault(os.path.dirname(name), []).extend(
                x for _, x in functions(text.splitlines()))
    if "-v" in sys.argv:
        for folder, all_of in sorted(lengths.items()):
            all_of.sort()
            if all_of:
                print("%-12s %4d functions, median %3d, 90th percentile %3d, longest %3d" %
                      (folder, len(all_of), all_of[len(all_of) // 2], all_of[len(all_of) * 9 // 10],
                       all_of[-1]))
    print("\n".join(bad) if bad else "looks: nothing to object to")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
