#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run a list of tests in parallel, each with a time limit, and count.

usage: run.py [-j JOBS] [-l LOGDIR] [-o] LIST...

A list has one test a line: NAME SECONDS WEIGHT COMMAND (for the shell). WEIGHT is the number of
job slots that the test takes, so that a heavy one does not run beside another; lines that start
with '#' are comments. Exit status 0 passes, 77 skips, all else fails. Each test's output goes to
LOGDIR/NAME.log and is shown when it fails; a skipped test's last line tells why. Every test leads a
process group of its own, and only that group is ended when its time is up.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

SKIP = 77
TAIL = 60           # lines shown of a failed test
LOOK = 0.02         # seconds between two looks at what runs


class Test:
    def __init__(self, line):
        name, limit, weight, self.command = line.split(None, 3)
        self.name, self.limit, self.weight = name, float(limit), int(weight)
        self.process = self.log = None
        self.start = 0.0


def read_lists(paths):
    tests = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            tests += [Test(x) for x in f if x.strip() and not x.startswith("#")]
    names = [t.name for t in tests]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        sys.exit("run.py: listed twice: " + " ".join(twice))
    return tests


def begin(test, logdir):
    test.log = os.path.join(logdir, test.name + ".log")
    with open(test.log, "wb") as log:
        test.process = subprocess.Popen(
            ["/bin/sh", "-c", test.command], stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, start_new_session=True)
    test.start = time.monotonic()


def end_group(test):
    """The test got SIGTERM first, so that it can end what it started."""
    for sig, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(test.process.pid, sig)
            test.process.wait(patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def verdict(test):
    """None while it runs, else PASS, FAIL, SKIP or TIME."""
    status = test.process.poll()
    if status is None:
        if time.monotonic() - test.start < test.limit:
            return None
        end_group(test)
        return "TIME"
    return {0: "PASS", SKIP: "SKIP"}.get(status, "FAIL")


def tell(test, result):
    with open(test.log, encoding="utf-8", errors="replace") as f:
        lines = f.read().splitlines()
    note = ""
    if result == "SKIP" and lines:
        note = ": " + lines[-1]
    if result == "TIME":
        note = ": not done within %g s" % test.limit
    print("%s %s (%.1f s)%s" % (result, test.name, time.monotonic() - test.start, note))
    if result in ("FAIL", "TIME"):
        for line in lines[-TAIL:]:
            print("    | " + line)
    sys.stdout.flush()


def run(tests, slots, logdir):
    waiting, running = list(tests), []
    count = {"PASS": 0, "FAIL": 0, "SKIP": 0, "TIME": 0}
    failed = []
    try:
        while waiting or running:
            used = sum(t.weight for t in running)
            for test in list(waiting):
                if used and used + min(test.weight, slots) > slots:
                    continue
                waiting.remove(test)
                begin(test, logdir)
                running.append(test)
                used += test.weight
            for test in list(running):
                result = verdict(test)
                if result:
                    running.remove(test)
                    tell(test, result)
                    count[result] += 1
                    if result in ("FAIL", "TIME"):
                        failed.append(test.name)
            if running:
                time.sleep(LOOK)
    finally:
        for test in running:
            end_group(test)
    return count, failed


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-j", type=int, default=os.cpu_count() or 1)
    ap.add_argument("-l", default="test-logs")
    ap.add_argument("-k", help="only tests whose name contains this")
    ap.add_argument("lists", nargs="+")
    args = ap.parse_args()
    os.makedirs(args.l, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tests = [t for t in read_lists(args.lists) if not args.k or args.k in t.name]
    if not tests:
        sys.exit("run.py: no test to run")
    count, failed = run(tests, args.j, args.l)
    bad = count["FAIL"] + count["TIME"]
    if failed:
        print("failed: " + " ".join(failed))
        print("their output is kept in %s" % args.l)
    skipped = ", %d skipped" % count["SKIP"] if count["SKIP"] else ""
    print("%d passed, %d failed%s" % (count["PASS"], bad, skipped))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
