# SPDX-License-Identifier: BSD-2-Clause
"""Congestion control (class 0x21) in simulated devices, read back and meddled with by ibccquery and
ibccconfig; what OpenSM writes by the same settings is the measure. The fabric is a fat tree of
radix 4, whose leaves have hosts on ports 1 and 2."""
import os
import re
import tempfile

import fabrics
import proof
from lab import Lab, need, wait_for
from manager import OpenSM, Weftd

STEPS = ", ".join("%d:%d" % (i % 4, i * 3) for i in range(100))
POLICY = ("qos: {congestion: {enabled: true, threshold: 8, packet_size: 2, marking_rate: 5, "
          "credit_starvation: true, increase: 3, timer: 77, trigger: 9, least: 1, levels_off: [3], "
          "table: \"%s\"%s}}\n")
OPENSM = """congestion_control TRUE
cc_sw_cong_setting_control_map 0x1f
cc_sw_cong_setting_victim_mask 0x6
cc_sw_cong_setting_credit_mask 0x6
cc_sw_cong_setting_threshold 0x08
cc_sw_cong_setting_packet_size 2
cc_sw_cong_setting_credit_starvation_threshold 0x08
cc_sw_cong_setting_credit_starvation_return_delay 0:0
cc_sw_cong_setting_marking_rate 5
cc_ca_cong_setting_port_control 0x0000
cc_ca_cong_setting_control_map 0xffff
cc_cct %s
""" % STEPS.replace(" ", "") + "".join(
    "cc_ca_cong_setting_ccti_timer %d 77\ncc_ca_cong_setting_ccti_increase %d %d\n"
    "cc_ca_cong_setting_trigger_threshold %d %d\ncc_ca_cong_setting_ccti_min %d %d\n" %
    (sl, sl, 0 if sl == 3 else 3, sl, 0 if sl == 3 else 9, sl, 0 if sl == 3 else 1)
    for sl in range(16))
KEY = "0x1234567890abcdef"


def lids(lab):
    seen = proof.discover(lab)
    return {name: str(lid) for lid, name in
            list(seen.ports.values()) + list(seen.switches.values())}


def query(lab, what, lid, *options, status=0):
    """What it prints but for the line with the LID."""
    text = lab.tool("ibccquery", *(options + (what, lid)), status=status)
    return "\n".join(x for x in text.splitlines() if not x.startswith("#"))


def field(text, name, nth=0):
    return int(re.findall(r"^%s:\.*(\S+)$" % name, text, re.M)[nth], 0)


def everything(lab):
    """By device: switches with their masks apart, hosts with their tables."""
    switches, masks, hosts = {}, {}, {}
    for name, lid in lids(lab).items():
        if name.startswith("H"):
            hosts[name] = query(lab, "CS", lid) + query(lab, "CT", lid)
            continue
        text = query(lab, "SS", lid)
        masks[name] = re.findall(r"_Mask:\.*(\w+)$", text, re.M)
        switches[name] = re.sub(r"_Mask:.*", "", text) + query(lab, "SP", lid)
    return switches, masks, hosts


def done(lab, host):
    """The setting is there; just after a reboot nobody answers."""
    text = query(lab, "CS", host, status=None)
    return re.findall(r"^CCTI_Timer:\.*(\d+)$", text, re.M)[15:] == ["77"]


def held(m, n=36):
    return m.json("show", "congestion")["ports"]["held"] == n


def test_congestion_like_opensm():
    """The same settings in both: the same in all devices. OpenSM has one mask of ports for all
    switches, weftd those that lead to hosts."""
    found = []
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-4", tmp)
        with Lab(net, sim="weftsim") as lab:
            m = Weftd(lab, top=POLICY % (STEPS, ""))
            m.start()
            m.wait_up()
            wait_for("all devices to hold it", lambda: held(m), 30)
            found.append(everything(lab))
            out, _ = m.weft("show", "congestion")
            need("36 held" in out and "victims 1-2" in out and "100 steps" in out, out)
            m.stop()
        with Lab(net, sim="weftsim") as lab:
            path = os.path.join(lab.dir, "opensm.conf")
            with open(path, "w", encoding="ascii") as f:
                f.write(OPENSM)
            m = OpenSM(lab)
            m.start("-F", path, "-s", "0")
            m.wait_up()
            last = [lid for name, lid in lids(lab).items() if name.startswith("H")]
            wait_for("OpenSM to have set hosts", lambda: all(done(lab, x) for x in last), 30)
            found.append(everything(lab))
            m.stop()
    ours, theirs = found
    need(len(ours[0]) == 20 and len(ours[2]) == 16, "not all devices were read")
    for kind in (0, 2):
        for name, text in ours[kind].items():
            need(text == theirs[kind][name], "%s: weftd\n%s\nOpenSM\n%s" %
                 (name, text, theirs[kind][name]))
    for name, masks in ours[1].items():
        wanted = theirs[1][name] if name.startswith("L") else ["0" * 64] * 2
        need(masks == wanted, "%s has masks %s" % (name, masks))


def test_congestion_key():
    """The key keeps others out; who has it, and a reboot, are made good; so is what was refused."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric("ft3-4", tmp), sim="weftsim") as lab:
            lab.sim.ctl("refuse", "H2_0_0", "CACongestionSetting")
            m = Weftd(lab, top=POLICY % (STEPS, ", key: " + KEY))
            m.start()
            m.wait_up()
            wait_for("devices to hold it but one", lambda: held(m, 35), 30)
            need(any("1 port does not take it" in w for w in m.status()["warnings"]), "no warning")
            host = lids(lab)["H1_0_0"]
            need(field(query(lab, "CK", host), "CC_Key") == 0, "the key is shown to everybody")
            need(field(query(lab, "CK", host, "-c", KEY), "CC_Key") == int(KEY, 0), "another key")
            change = ("CS", host, "0", "0xffff", "1", "1", "1", "1")
            lab.tool("ibccconfig", *change, status=None)
            need(done(lab, host), "somebody without the key has changed it")
            need(field(query(lab, "CK", host), "CC_KeyViolations") > 0, "no violation is counted")
            lab.tool("ibccconfig", "-c", KEY, *change)
            need(not done(lab, host), "somebody with the key could not change it")
            lab.sim.ctl("reboot", "H3_0_0")
            m.stop()
            lab.sim.ctl("heal")
            m.start()
            m.wait_up()
            wait_for("all devices to hold it", lambda: held(m), 30)
            need(done(lab, host) and done(lab, lids(lab)["H3_0_0"]), "they do not hold it")
            lab.sim.ctl("reboot", "H3_0_0")
            wait_for("the host to hold it again",
                     lambda: done(lab, lids(lab).get("H3_0_0", "0")), 30)
            m.write(top="")
            m.weft("reload")
            wait_for("it to be undone", lambda: "congestion control is off" in
                     m.process.text(), 30)
            need(field(query(lab, "CK", host), "CC_Key") == 0 and
                 field(query(lab, "CS", host), "CCTI_Increase") == 0, "it is not undone")
            m.stop()
