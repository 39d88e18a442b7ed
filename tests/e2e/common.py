# SPDX-License-Identifier: BSD-2-Clause
"""What all parts of the laboratory share: how a test fails, waits, and finds programs and files."""
import os
import shutil
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
