# SPDX-License-Identifier: BSD-2-Clause
"""The judges judged: with OpenSM as the manager, whose faults are known, they must object."""
import os
import tempfile

import fabrics
import proof
from cases_change import trunk
from lab import SHARED, Failure, Lab, Skip, need
from manager import OpenSM


def objects(what, pattern, function, *args):
    try:
        function(*args)
    except Failure as e:
        need(pattern in str(e), "%s: the judge objects to something else: %s" % (what, e))
        return
    raise Failure("%s: the judge finds nothing" % what)


def test_judge_finds_credit_loop():
    """OpenSM's minhop closes credit loops on a torus."""
    if not os.path.exists(os.path.join(SHARED, "tools", "verify_routes.py")):
        raise Skip("the independent walk is not here (WEFT_SHARED names the folder)")
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("torus-4-4-4-2", tmp)) as lab:
            OpenSM(lab).once()
            objects("torus", "credit loop", proof.everything, lab)


def test_judge_finds_cut():
    """Nobody mends the tables after a cable is lost; and before any manager no link is active."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp)) as lab:
            objects("no manager", "no valid unicast LID", proof.lids_unique, proof.discover(lab))
            objects("no manager", "not Active", proof.links_active, lab)
            OpenSM(lab).once()
            seen, _, _ = proof.everything(lab)
            need(len(seen.ports) == 16, "a fat tree of radix 4 has 16 hosts")
            lab.unplug(trunk(lab)[0][0])
            objects("a switch without cables", "ibnetdiscover sees", proof.everything, lab)
