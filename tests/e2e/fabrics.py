# SPDX-License-Identifier: BSD-2-Clause
"""Fabrics by name: generated ones ("ft3-8"), ibsim's examples ("net.1"), recorded ones ("x.ibnd").

Generated ones come from `weftsim generate`, our own; where that is not built, from the generator of
the shared folder. GENERATOR=shared forces the latter.
"""
import os
import subprocess
import sys

from lab import SHARED, Failure, Skip, program, shared

OWN_NAMES = {"dfly": "dragonfly", "slimfly": "slim-fly"}       # where the two generators differ
EXAMPLES = "/usr/share/doc/ibsim-utils/net-examples"


def own_generator():
    path = program("weftsim")
    return path if os.path.isabs(path) and os.environ.get("GENERATOR") != "shared" else None


def generate(words, out):
    own = own_generator()
    if own:
        argv = [own, "generate", OWN_NAMES.get(words[0], words[0])] + words[1:]
    elif os.path.exists(os.path.join(SHARED, "tools", "gen_ibnet.py")):
        argv = [sys.executable, shared("tools/gen_ibnet.py")] + words
    else:
        raise Skip("no generator of fabrics here")
    with open(out, "wb") as f:
        r = subprocess.run(argv, stdout=f, stderr=subprocess.PIPE, check=False)
    if r.returncode:
        raise Failure("%s: %s" % (" ".join(argv), r.stderr.decode(errors="replace")))
    return out


def fabric(name, folder):
    """The path of the netfile of that name; a generated one is written into `folder`."""
    if name.endswith(".ibnd"):
        return shared("fabrics/" + name)
    if name.startswith("net"):
        path = os.path.join(EXAMPLES, name)
        if not os.path.exists(path):
            raise Skip("ibsim's example %s is not installed" % name)
        return path
    return generate(name.split("-"), os.path.join(folder, name))
