# SPDX-License-Identifier: BSD-2-Clause
"""The machine that the daemon starts on: which of its ports it takes, what it does while there is
none that it can use, and what the service manager hears. What sysfs shows of weftsim's host is
changed here by hand."""
import contextlib
import os
import re
import shutil
import socket
import sys
import tempfile

import fabrics
from cases_attached import client
from cases_start import ends
from lab import Lab, need, wait_for
from manager import Weftd

ROOT = "import os; print(os.readlink('/proc/self/fd/%d' % os.open('/sys/class/infiniband', 0)))"


class Machine:
    """What the programs of the seat's host see below /sys/class."""

    def __init__(self, lab):
        out, _ = lab.run([sys.executable, "-c", ROOT], host=lab.seat())
        self.devices = out.strip()
        self.umads = self.devices + "_mad"
        self.away = os.path.join(os.path.dirname(os.path.dirname(self.devices)), "away")

    def link_layer(self, device, kind):
        """The files are shared among hosts: a new one takes the place of this."""
        ports = os.path.join(self.devices, device, "ports")
        for port in os.listdir(ports):
            path = os.path.join(ports, port, "link_layer")
            os.unlink(path)
            with open(path, "w", encoding="ascii") as f:
                f.write(kind + "\n")

    def add_ethernet(self, device):
        shutil.copytree(os.path.join(self.devices, "mlx5_0"), os.path.join(self.devices, device))
        self.link_layer(device, "Ethernet")


@contextlib.contextmanager
def machine(name="net.1"):
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        with Lab(fabrics.fabric(name, tmp), sim="weftsim") as lab:
            yield lab, Weftd(lab), Machine(lab)


class Notices:
    """The service manager's end of sd_notify(3)."""

    def __init__(self, lab):
        self.path = os.path.join(lab.dir, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.lines = []

    def heard(self, pattern):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.lines += self.socket.recv(4096).decode().splitlines()
        return [x for x in self.lines if re.search(pattern, x)]

    def wait(self, pattern, seconds=30):
        wait_for("word to the service manager of /%s/" % pattern, lambda: self.heard(pattern),
                 seconds)


def waits(m, pattern):
    """It is alive, has its socket, and says what it waits for."""
    wait_for("the socket", lambda: os.path.exists(m.socket) or not m.process.alive())
    m.process.wait_text(pattern)
    st = m.status()
    need(st["state"] == "waiting for port" and st["role"] == "waiting", "status: %s" % st)


def test_ports_ethernet():
    """A1: Ethernet devices before the InfiniBand one are passed over. Of several InfiniBand ports
    one is taken, and the log says which, why, and what else there was."""
    with machine() as (_, m, host):
        host.add_ethernet("bnxt_re0")
        host.add_ethernet("bnxt_re1")
        p = m.start()
        m.wait_up()
        p.wait_text(r"port mlx5_0:1 is in use: .*the first InfiniBand port that is not down; "
                    r"passed over: bnxt_re0:1 \(Ethernet\).*bnxt_re1:1 \(Ethernet\)")
        m.stop()
    with machine("rails-2-4-4-2") as (_, m, _):
        p = m.start()
        m.wait_up()
        p.wait_text(r"port mlx5_0:1 is in use: .*the first .*; passed over: mlx5_1:1 \(up\)")
        m.stop()


def test_ports_only_ethernet():
    """A3: where all ports are Ethernet a sentence names them, and --once has a status of its own;
    A1: the daemon waits, and takes a port that becomes one of InfiniBand."""
    with machine() as (_, m, host):
        host.link_layer("mlx5_0", "Ethernet")
        why = r"no port of InfiniBand link layer to use: mlx5_0:1 \(Ethernet\)"
        ends(m.start("--once"), 3, why)
        m.start()
        waits(m, why)
        host.link_layer("mlx5_0", "InfiniBand")
        m.wait_up()
        m.stop()


def test_ports_taken():
    """A2: the agents are refused, as by a kernel or another manager; the daemon stays, says why,
    tries again, and comes up when they are not refused any more."""
    with machine() as (lab, m, _):
        other, notices = client(lab, lab.seat(), "manager"), Notices(lab)
        m.start(NOTIFY_SOCKET=notices.path)
        waits(m, r"cannot register for management class 0x01 on mlx5_0:1")
        notices.wait("^READY=1$")
        notices.wait("^STATUS=subnet lab: waiting, waiting for port.*cannot register")
        other.stop()
        m.wait_up()
        notices.wait("^STATUS=subnet lab: master, up")
        need(len(m.process.text().splitlines()) < 40, "it floods the log while it waits")
        m.stop()


def late(lab, m, host, folder, pattern):
    """What the kernel shows in a folder is not there yet when the daemon starts."""
    os.rename(folder, host.away)
    m.start()
    waits(m, pattern)
    os.rename(host.away, folder)
    m.wait_up()
    need(lab.processes[-1] is m.process and m.process.alive(), "it was started anew")
    m.stop()


def test_ports_late():
    """A4: the device comes, or ib_umad is loaded, after the daemon has started."""
    with machine() as (lab, m, host):
        late(lab, m, host, os.path.join(host.devices, "mlx5_0"), "there is no InfiniBand device")
        late(lab, m, host, host.devices, "there is no InfiniBand device")
        late(lab, m, host, host.umads, "mlx5_0:1 has no umad device: is the ib_umad driver loaded")


def test_ports_notified():
    """A5: with its port down the daemon waits, and the service manager hears that it is ready, why
    it is not up, and that its loop turns; then that it is up, and at last that it ends."""
    with machine() as (lab, m, _):
        notices = Notices(lab)
        lab.unplug(lab.seat())
        m.start(NOTIFY_SOCKET=notices.path, WATCHDOG_USEC="500000")
        notices.wait("^STATUS=subnet lab: waiting, waiting for port.*port .*(is down|is up)")
        ready = notices.lines.index("READY=1")
        need(re.search("waiting for port.*port .*(is down|is up)", notices.lines[ready + 1]),
             "ready before it knew how it stands: %s" % notices.lines)
        lab.plug(lab.seat())
        m.wait_up()
        notices.wait("^STATUS=subnet lab: master, up")
        beats = len(notices.heard("^WATCHDOG=1$"))
        wait_for("more of the watchdog", lambda: len(notices.heard("^WATCHDOG=1$")) > beats + 2)
        m.stop()
        notices.wait("^STOPPING=1$")
        need(len(notices.heard("^READY=1$")) == 1, "ready more than once")
