# SPDX-License-Identifier: BSD-2-Clause
"""weftsim ends under its programs, comes back, and meets programs that break its rules."""
import os
import signal

from bed_diags import Tools, served
from lab import need, program, wait_for
from manager import OpenSM, Weftd


def test_hostile_simulator_dies():
    """It is killed: no program crashes, spins or hangs; weftd works again when it is back."""
    with served("ft3-4") as lab:
        opensm = OpenSM(lab, seat="H1_0_0", priority=3)
        weftd = Weftd(lab, extra="    priority: 7\n")
        weftd.start()
        weftd.wait_up()
        opensm.start()
        opensm.process.wait_text("Entering STANDBY|SUBNET UP")
        server = lab.start("ibping", [program("ibping"), "-S"], "H2_0_0")
        ping = lab.start("ibping", [program("ibping"), "-f", "-c", "1000000", "1"], "H2_0_1")
        wait_for("all to attach", lambda: lab.sim.ctl("programs").count("ibping") == 2)
        lab.sim.popen.kill()
        lab.sim.popen.wait()
        sizes = []
        for _ in range(2):
            # looks at a dead device are slowed, so half a second of logging is little
            wait_for("opensm to complain", lambda: len(opensm.process.text()) >
                     (sizes[-1] if sizes else 0))
            sizes.append(len(opensm.process.text()))
        need(sizes[-1] < 200000, "opensm has logged %d bytes" % sizes[-1])
        for p in (server, ping, opensm.process):
            status = p.stop(signal.SIGTERM, 30)
            need(status is not None and status not in (-signal.SIGSEGV, -signal.SIGABRT),
                 "%s ended with %s after SIGTERM" % (p.name, status))
        need(weftd.process.alive(), "weftd has ended")
        lab.sim.start()
        wait_for("weftd to manage the new one", lambda: "48 active" in lab.sim.ctl("status"), 60)
        Tools(lab).says("sminfo", "SMINFO_MASTER")
        weftd.stop()


def test_hostile_simulator_stops():
    """It is stopped for a while: its programs wait, and go on."""
    with served("ft3-4") as lab:
        t = Tools(lab)
        whole = t("ibnetdiscover").splitlines()[3:]
        lab.sim.popen.send_signal(signal.SIGSTOP)
        late = lab.start("ibnetdiscover", [program("ibnetdiscover")], t.host)
        wait_for("it to be there", lambda: os.path.exists("/proc/%d/fd" % late.pid))
        lab.sim.popen.send_signal(signal.SIGCONT)
        need(late.popen.wait(30) == 0, "ibnetdiscover ended with %s" % late.popen.returncode)
        need(late.text().splitlines()[3:] == whole, "ibnetdiscover saw less")
