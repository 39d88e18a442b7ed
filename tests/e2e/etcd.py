# SPDX-License-Identifier: BSD-2-Clause
"""A cluster of packaged etcd on the loopback: members are killed, stopped and started anew."""
import os
import shutil
import signal
import socket
import subprocess

from common import Skip
from lab import need, wait_for

MEMBERS = 3


def find():
    path = shutil.which("etcd")
    if not path:
        raise Skip("etcd is not installed (Debian: etcd-server)")
    return path


def ports(number):
    """So many that are free now."""
    taken = [socket.socket() for _ in range(number)]
    for s in taken:
        s.bind(("127.0.0.1", 0))
    found = [s.getsockname()[1] for s in taken]
    for s in taken:
        s.close()
    return found


class Tls:
    """Certificates of a cluster on the loopback and of its clients, and of a stranger."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "tls")
        os.makedirs(self.folder)
        for ca, names in (("ca", ("server", "client")), ("other", ())):
            self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                         "/CN=" + ca, "-keyout", ca + ".key", "-out", ca + ".pem")
            for name in names:
                self.issue(ca, name)

    def file(self, name):
        return os.path.join(self.folder, name)

    def openssl(self, *argv):
        r = subprocess.run(["openssl"] + list(argv), cwd=self.folder, capture_output=True,
                           text=True, timeout=60, check=False)
        need(r.returncode == 0, "openssl: %s" % r.stderr[-300:])

    def issue(self, ca, name):
        with open(self.file("san"), "w", encoding="ascii") as f:
            f.write("subjectAltName=IP:127.0.0.1\n")
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/O=weft", "-keyout",
                     name + ".key", "-out", name + ".csr")
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", ca + ".pem", "-CAkey",
                     ca + ".key", "-CAcreateserial", "-days", "2", "-extfile", "san", "-out",
                     name + ".pem")


class Etcd:
    """Data in a folder of its own; the environment of the service has no part in it."""

    def __init__(self, folder, tag="", members=MEMBERS, tls=None):
        self.path, self.folder, self.tag, self.tls = find(), folder, tag, tls
        found = ports(2 * members)
        self.clients, self.peers = found[:members], found[members:]
        self.processes = [None] * members
        self.name = ["m%d" % i for i in range(members)]

    @property
    def urls(self):
        return ["http%s://127.0.0.1:%d" % ("s" if self.tls else "", p) for p in self.clients]

    def data(self, i):
        return os.path.join(self.folder, "etcd%s-%d" % (self.tag, i))

    def start(self, i):
        peer, client = "http://127.0.0.1:%d" % self.peers[i], self.urls[i]
        argv = [self.path, "--name", self.name[i], "--data-dir", self.data(i),
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", ",".join("%s=http://127.0.0.1:%d" % x for x in
                                              zip(self.name, self.peers)),
                "--initial-cluster-token", "weft" + self.tag, "--heartbeat-interval", "50",
                "--election-timeout", "500", "--log-level", "error"]
        if self.tls:
            argv += ["--cert-file", self.tls.file("server.pem"), "--key-file",
                     self.tls.file("server.key"), "--client-cert-auth",
                     "--trusted-ca-file", self.tls.file("ca.pem")]
        env = {k: v for k, v in os.environ.items() if not k.startswith("ETCD_")}
        with open(self.data(i) + ".log", "ab") as log:
            self.processes[i] = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=log)

    def ctl(self, *argv):
        tls = ["--cacert", self.tls.file("ca.pem"), "--cert", self.tls.file("client.pem"),
               "--key", self.tls.file("client.key")] if self.tls else []
        return subprocess.run(["etcdctl", "--endpoints", ",".join(self.urls)] + tls + list(argv),
                              env=dict(os.environ, ETCDCTL_API="3"), capture_output=True,
                              text=True, timeout=30, check=False)

    def is_up(self):
        return self.ctl("get", "/").returncode == 0

    def __enter__(self):
        for i in range(len(self.processes)):
            self.start(i)
        try:
            wait_for("etcd to be up", self.is_up, 60)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def signal(self, sig, *members):
        for i in members:
            self.processes[i].send_signal(sig)

    def kill(self, *members):
        for i in members:
            self.processes[i].kill()
            self.processes[i].wait()

    def keys(self, prefix):
        out = self.ctl("get", "--prefix", "--keys-only", prefix)
        need(out.returncode == 0, "etcdctl: %s" % out.stderr[-300:])
        return [x for x in out.stdout.splitlines() if x]

    def stop(self):
        for p in self.processes:
            if p and p.poll() is None:
                p.send_signal(signal.SIGCONT)
                p.kill()
                p.wait()

    def empty(self):
        """All members anew, without any data."""
        self.stop()
        for i in range(len(self.processes)):
            shutil.rmtree(self.data(i), ignore_errors=True)
            self.start(i)
