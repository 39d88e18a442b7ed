# SPDX-License-Identifier: BSD-2-Clause
"""weft-gateway under test, and curl as its client; a daemon on a fabric of its own for it."""
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

from common import Failure, need, program, wait_for
from lab import Process

# "secret", by openssl passwd -6.
SECRET = ("$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/"
          "cZ/1GM/O6IND4WQhG.")
TOKEN = "0123456789abcdef0123"
PKEYS = "/ufmRest/resources/pkeys"
REMOVE = "/ufmRest/actions/remove_guids_from_pkey"
VERSION = "/ufmRest/app/ufm_version"


class Place:
    """A folder and the processes in it, where no simulator is needed."""

    def __init__(self):
        self.dir, self.processes = tempfile.mkdtemp(prefix="weft-gateway-"), []
        os.chmod(self.dir, 0o755)
        self.socket = os.path.join(self.dir, "weft.sock")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind and issubclass(kind, Failure):
            for p in self.processes:
                print("--- %s ends:\n%s" % (p.name, p.text()[-3000:]))
        for p in reversed(self.processes):
            p.stop()
        shutil.rmtree(self.dir, ignore_errors=True)

    def daemon(self, top="", group="", up=True):
        """weftd on a fabric in its own process, or without any port; up when this returns."""
        path = os.path.join(self.dir, "weft.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("control: {socket: %s%s}\n%s" % (self.socket, group, top))
        p = Process(self, "weftd", [program("weftd"), "-c", path] +
                    (["--sim", "ft3:4"] if up else []), dict(os.environ, WEFT_SOCKET=""))
        wait_for("the control socket", lambda: os.path.exists(self.socket) or not p.alive())
        if not up:
            return p
        subprocess.run([program("weft"), "-s", self.socket, "wait", "--timeout", "60"], check=True,
                       stdout=subprocess.DEVNULL)
        return p


class Gateway:
    def __init__(self, place, *more, sock=None, user="root", status=None, auth=True):
        self.place = place
        for name, text in (("users", "k8s:%s\nseer:%s:read-only\n" % (SECRET, SECRET)),
                           ("tokens", "tool:%s\n" % TOKEN)):
            path = os.path.join(place.dir, name)
            if not os.path.exists(path):
                with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w",
                          encoding="utf-8") as f:
                    f.write(text)
        argv = [program("weft-gateway"), "-s", sock or place.socket, "--listen", "127.0.0.1:0"]
        argv += ["--user", user] if user else []
        argv += ["--users", "users", "--tokens", "tokens"] if auth else []
        self.process = Process(place, "weft-gateway", argv + list(more), dict(os.environ))
        if status is not None:
            wait_for("weft-gateway to refuse", lambda: not self.process.alive())
            need(self.process.popen.returncode == status, "it ended with %s, not %d: %s" %
                 (self.process.popen.returncode, status, self.process.text()))
            return
        self.process.wait_text("is ready")
        self.url = re.search(r"https?://127\.0\.0\.1:\d+", self.process.text()).group(0)
        self.port = int(self.url.rsplit(":", 1)[1])

    def curl(self, path, *more, user="k8s:secret", seconds=30):
        """(status, body as JSON); curl's own failure is status 0 with its text."""
        argv = ["curl", "-sS", "-m", str(seconds), "-w", "\n%{http_code}"]
        argv += ["-u", user] if user else []
        r = subprocess.run(argv + list(more) + [self.url + path], capture_output=True, text=True,
                           check=False, cwd=self.place.dir, timeout=seconds + 10)
        body, _, status = r.stdout.rpartition("\n")
        if status in ("", "000"):
            return 0, r.stderr
        try:
            return int(status), json.loads(body)
        except ValueError:
            raise Failure("%s %s is answered by what is no JSON: %r" %
                          (path, more, body[:300])) from None

    def post(self, path, body, *more, **kw):
        return self.curl(path, "-H", "Content-Type: application/json; charset=utf-8", "-d", body,
                         *more, **kw)

    def add(self, pkey, *guids, **kw):
        """As ib-kubernetes asks, to the letter."""
        return self.post(PKEYS, '{"pkey": "0x%04X", "index0": true, "ip_over_ib": true, '
                         '"membership": "full", "guids": [%s]}' %
                         (pkey, ",".join('"%s"' % g for g in guids)), **kw)

    def remove(self, pkey, *guids, **kw):
        return self.post(REMOVE, '{"pkey": "0x%04X", "guids": [%s]}' %
                         (pkey, ",".join('"%s"' % g for g in guids)), **kw)

    def listed(self):
        """P_Key -> GUIDs, as ib-kubernetes reads them."""
        status, body = self.curl(PKEYS + "/?guids_data=true")
        need(status == 200, "the list is answered by %d: %s" % (status, body))
        return {k: sorted(g["guid"] for g in p["guids"]) for k, p in body.items()}

    def raw(self, data, seconds=20, half_close=False):
        """What is answered to bytes, until the other side closes."""
        with socket.create_connection(("127.0.0.1", self.port), seconds) as s:
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            got = b""
            while True:
                try:
                    piece = s.recv(65536)
                except ConnectionResetError:
                    piece = b""
                if not piece:
                    return got.decode()
                got += piece
