#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The demonstration of `make demo`: a simulated fat tree of 128 hosts, brought up and shown.

Everything lives in a directory of its own and ends with it: it can be run twice, also at once.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "e2e"))

import fabrics  # noqa: E402
import lab as laboratory  # noqa: E402
import proof  # noqa: E402
from lab import Lab  # noqa: E402
from manager import Weftd  # noqa: E402


def show(m, *words):
    print("\n$ weft " + " ".join(words), flush=True)
    out, err = m.weft(*words)
    print((out + err).rstrip(), flush=True)


def demo():
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as tmp:
        print("$ weftsim generate ft3 8 > fabric")
        net = fabrics.fabric("ft3-8", tmp)
        print("$ ibsim fabric")
        with Lab(net) as lab:
            m = Weftd(lab, engines="updn, minhop")
            print("$ weftd -c weft.yaml")
            p = m.start()
            print("$ weft wait", flush=True)
            m.wait_up()
            print("\n".join("  " + x for x in p.text().splitlines()[-3:]))
            show(m, "status")
            ports = sorted(proof.discover(lab).ports.values())
            show(m, "path", ports[0][1], ports[-1][1])
            show(m, "check")
            m.stop()
            print("\nThe daemon has ended, the simulator goes with it.")


laboratory.main(demo)
