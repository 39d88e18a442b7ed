# SPDX-License-Identifier: BSD-2-Clause
"""weft-gateway: the calls of ib-kubernetes by curl, judged in the devices by infiniband-diags from
another host; and what strangers, broken clients and a daemon that goes away do to it."""
import os
import signal
import socket
import subprocess
import tempfile
import time

import fabrics
from cases_partitions import groups, keys
from common import need, program, wait_for
from gateway import PKEYS, TOKEN, VERSION, Gateway, Place
from lab import Lab
from manager import Weftd

AUTH = "Authorization: Basic azhzOnNlY3JldA==\r\n"
FILE = """partitions:
  - {name: default, pkey: 0x7fff, members: [{nodes: all}]}
  - {name: blue, pkey: 5, members: [0x100003], ipoib: true}
"""


def ok(answer, what):
    need(answer[0] == 200, "%s: %s" % (what, answer))


def is_error(answer, status, word, what):
    need(answer[0] == status and answer[1].get("status") == status and word in answer[1]["error"],
         "%s: %s, not %d with \"%s\"" % (what, answer, status, word))


def test_gateway_kubernetes():
    """Case P8. A GUID that nobody has yet is taken and listed; its key, at index 0, is in the table
    soon after the port came; removing twice is no error; all of it is remembered."""
    with tempfile.TemporaryDirectory(prefix="weft-net-") as tmp:
        net = fabrics.fabric("ft3-4", tmp)
        with Lab(net, sim="weftsim") as lab:
            lab.unplug("H1_1_0")
            m = Weftd(lab, top=FILE)
            m.start()
            m.wait_up()
            g = Gateway(lab, sock=m.socket)
            ok(g.curl(VERSION), "the version")
            ok(g.add(0x42, "000000000010000d", "02:00:00:00:00:00:00:01"), "an unseen GUID")
            ok(g.add(0x42, "0x0000000000100005"), "one more")
            ok(g.add(0x42, "0000000000100005"), "the same again")
            want = ["000000000010000d", "0000000000100005", "0200000000000001"]
            need(g.listed()["0x42"] == sorted(want), "listed is %s" % g.listed())
            need(keys(lab, "0x100005")[0] == 0x8042, "not at index 0: %s" % keys(lab, "0x100005"))
            need("ff12:401b:8042::ffff:ffff" in groups(lab), "no IPoIB: %s" % groups(lab))
            lab.plug("H1_1_0")
            start = time.monotonic()
            wait_for("the port", lambda: "H1_1_0" in m.weft("show", "nodes")[0])
            seen = time.monotonic()
            wait_for("its key", lambda: keys(lab, "0x10000d")[:1] == [0x8042])
            print("the key is there %.2f s after the port was seen, %.2f s after the cable" %
                  (time.monotonic() - seen, time.monotonic() - start))
            # A partition of the file gains members, and keeps its own.
            ok(g.add(5, "0000000000100003"), "who is a member by the file")
            ok(g.add(5, "0000000000100005"), "a member for a partition of the file")
            need(0x8005 in keys(lab, "0x100005"), "no key of blue")
            is_error(g.remove(5, "0000000000100003"), 409, "by the configuration", "the file's")
            ok(g.remove(5, "0000000000100005"), "the command's")
            m.process.stop(signal.SIGKILL)
            is_error(g.add(0x42, "00000000001000ff"), 503, "no daemon", "no daemon")
            m.start()
            m.wait_up()
            need(g.listed()["0x42"] == sorted(want), "lost by a kill: %s" % g.listed())
            need("ff12:401b:8042::ffff:ffff" in groups(lab), "IPoIB is lost: %s" % groups(lab))
            for turn in ("once", "twice"):
                ok(g.remove(0x42, *want), "removed " + turn)
                need(0x8042 not in keys(lab, "0x10000d") + keys(lab, "0x100005"), "it stays")
            need(g.listed()["0x42"] == [], "still listed: %s" % g.listed())
            ok(g.remove(0x43, "000000000010000d"), "of a P_Key that nobody has")
            status, body = g.curl(PKEYS + "/0x5?guids_data=true")
            need(status == 200 and body == {"partition": "blue", "ip_over_ib": True, "guids": [
                {"guid": "0000000000100003", "membership": "full", "index0": False}]},
                 "one P_Key is %s" % body)
            need(g.process.stop() == 0, "it did not end well")
            m.stop()


def test_gateway_refuses():
    """Each wrong request has its status and one JSON object that says why."""
    with Place() as place:
        place.daemon(FILE)
        g = Gateway(place, "--receive", "1s")
        for user, what in ((None, "nobody"), ("k8s:wrong", "a wrong password"),
                           ("x:secret", "who?"), ("k8s:", "no password"),
                           ("k8s" + "x" * 600 + ":y", "a long name")):
            is_error(g.curl(VERSION, user=user), 401, "password", what)
            is_error(g.curl("/no/such", user=user), 401, "password", what + ", elsewhere")
        is_error(g.curl(VERSION, "-H", "Authorization: Bearer " + TOKEN + "x", user=None), 401,
                 "token", "a wrong token")
        ok(g.curl(VERSION, "-H", "Authorization: Bearer " + TOKEN, user=None), "the token")
        ok(g.curl(PKEYS, user="seer:secret"), "who may read")
        is_error(g.add(0x42, "0x1", user="seer:secret"), 403, "read only", "who may only read")
        is_error(g.curl("/no/such"), 404, "nothing of this name", "no such URL")
        is_error(g.curl(PKEYS + "/0x42"), 404, "no partition", "no such P_Key")
        is_error(g.curl(PKEYS + "/blue"), 400, "0x", "no P_Key")
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            is_error(g.curl(PKEYS, "-X", method), 405, "method", method)
        need(g.curl(PKEYS, "-X", "PUT", "-D", "head")[0] == 405 and
             "Allow: GET, POST" in open(os.path.join(place.dir, "head"), encoding="ascii").read(),
             "which methods there are is not said")
        for body, word in (("", "no JSON"), ("{", "no JSON"), ("[]", "object"), ("\0", "no JSON"),
                           ('{"pkey": "0x42"}', "guids"), ('{"pkey": 66, "guids": ["1"]}', "pkey"),
                           ('{"pkey": "0x42", "guids": ["%s"]}' % ("1" * 17), "no GUID"),
                           ('{"pkey": "0x7fff", "guids": ["0x1"]}', "0x7ffe"),
                           ("[" * 5000, "no JSON")):
            with open(os.path.join(place.dir, "body"), "w", encoding="ascii") as f:
                f.write(body)
            is_error(g.post(PKEYS, "@body"), 400, word, "the body %r" % body[:40])
        is_error(g.post(PKEYS, '{"pkey": "0x42", "guids": [%s]}' % ",".join(['"0x1"'] * 2501)), 413,
                 "2500", "too many GUIDs")
        with open(os.path.join(place.dir, "huge"), "wb") as f:
            f.truncate(3 << 20)
        for more in ((), ("-H", "Expect:")):
            status, text = g.curl(PKEYS, "--data-binary", "@huge", *more)
            need(status == 413 and "longer" in text["error"], "a huge body: %s %s" % (status, text))
        is_error(g.curl(PKEYS, "-H", "Transfer-Encoding: chunked", "-d", "{}"), 411, "Length",
                 "chunks")
        is_error(g.curl("/" + "x" * 4000), 414, "too long", "a long URL")
        is_error(g.curl(VERSION, "-H", "X: " + "x" * 9000), 431, "longer", "a long head")
        need(g.listed() == {"0x5": ["0000000000100003"], "0x7fff": []}, "something was changed")


def test_gateway_broken_clients():
    """What is cut short, slow, sent at once, or no HTTP at all; nobody keeps others out."""
    with Place() as place:
        place.daemon()
        g = Gateway(place, "--receive", "1s", "--connections", "20")
        head = "POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: 100\r\n\r\n" % (PKEYS, AUTH)
        need(g.raw((head + "{").encode()).startswith("HTTP/1.1 408 "), "half a body is waited for")
        need(g.raw(b"GET / HT").startswith("HTTP/1.1 408 "), "half a head is waited for")
        need(g.raw((head + "{").encode(), half_close=True) == "", "a cut body is answered")
        for junk in (b"\r\n\r\n\r\n\r\n\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"hello\r\n\r\n",
                     b"\0" * 9000, b"x" * 20000, b"GET / HTTP/1.1\nHost: a\n\n\r\n\r\n"):
            need(g.raw(junk).startswith(("HTTP/1.1 400 ", "HTTP/1.1 431 ")), "junk: %r" % junk[:9])
        # Requests sent at once are answered in turn.
        one = "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (VERSION, AUTH)
        last = one.replace("Host: a", "Host: a\r\nConnection: close")
        text = g.raw((one * 30 + last).encode())
        need(text.count("HTTP/1.1 200 OK") == 31, "31 at once: %d" % text.count("HTTP/1.1 200"))
        # A byte now and then does not hold a place for longer than the limit.
        with socket.create_connection(("127.0.0.1", g.port), 20) as s:
            s.settimeout(0.05)
            got = b""
            for _ in range(400):
                try:
                    s.sendall(b"G")
                    got = s.recv(1000)
                    break
                except TimeoutError:
                    continue
                except OSError:
                    break
            need(got.startswith(b"HTTP/1.1 408 "), "a slow client gets %r" % got)
        # Idle connections make room.
        idle = [socket.create_connection(("127.0.0.1", g.port), 20) for _ in range(60)]
        ok(g.curl(VERSION), "with 60 idle connections")
        for s in idle:
            s.close()
        # So do requests that do not come whole, and those of strangers who read no answer.
        for what in (b"G", head.encode(), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 20000):
            many = [socket.create_connection(("127.0.0.1", g.port), 20) for _ in range(20)]
            for s in many:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                s.settimeout(0.5)
                try:
                    s.sendall(what)
                except OSError:
                    pass    # nobody takes it, or it was closed
            for _ in range(3):
                ok(g.curl(VERSION), "beside 20 that send %r" % what[:9])
            for s in many:
                s.close()
        # An answer that nobody takes; the next is not kept waiting by it.
        stuck = socket.create_connection(("127.0.0.1", g.port), 20)
        stuck.sendall((one * 2000).encode()[:60000])
        ok(g.curl(VERSION), "beside one who does not read")
        stuck.close()
        need(g.process.stop() == 0, "it did not end well")


def calls(place, g, first, count, parallel):
    """Statuses of so many additions, by one curl."""
    path = os.path.join(place.dir, "calls")
    with open(path, "w", encoding="ascii") as f:
        for i in range(first, first + count):
            f.write('%surl = "%s%s"\nuser = "k8s:secret"\noutput = "/dev/null"\n'
                    'write-out = "%%{http_code}\\n"\n'
                    'data = "{\\"pkey\\": \\"0x%04X\\", \\"guids\\": [\\"%016x\\"]}"\n' %
                    ("next\n" if i > first else "", g.url, PKEYS, 0x100 + i % 7, 0x5000 + i))
    out = subprocess.run(["curl", "-sS", "-K", path, "-m", "120"] +
                         (["--parallel", "--parallel-max", str(parallel), "--parallel-immediate"]
                          if parallel > 1 else []),
                         capture_output=True, text=True, check=False, timeout=200)
    return out.stdout.split()


def test_gateway_load():
    """A thousand calls, fifty at a time: each is done, none is done twice, and the daemon's own
    clients have their turn; it is killed in the middle of more, and all goes on when it is back."""
    with Place() as place:
        daemon = place.daemon()
        g = Gateway(place)
        start = time.monotonic()
        need(calls(place, g, 0, 500, 1) == ["200"] * 500, "one after the other")
        alone = time.monotonic() - start
        need(calls(place, g, 500, 500, 50) == ["200"] * 500, "fifty at a time")
        print("%.1f ms a call, %.1f with 50 at a time" %
              (2 * alone, 2 * (time.monotonic() - start - alone)))
        want = {"0x%x" % k: sorted("%016x" % (0x5000 + i) for i in range(1000)
                                   if 0x100 + i % 7 == k) for k in range(0x100, 0x107)}
        seen = g.listed()
        need({k: seen.get(k) for k in want} == want, "not all are listed, or others")
        # An answer of megabytes, which no socket takes at once.
        many = ["%016x" % i for i in range(0x10000, 0x10000 + 30000)]
        for i in range(0, len(many), 2500):
            with open(os.path.join(place.dir, "body"), "w", encoding="ascii") as f:
                f.write('{"pkey": "0x0200", "guids": ["%s"]}' % '","'.join(many[i:i + 2500]))
            ok(g.post(PKEYS, "@body"), "2,500 GUIDs")
        need(g.listed()["0x200"] == many, "the long list is another")
        # Killed under way: whoever asks is told, nobody waits.
        daemon.stop(signal.SIGKILL)
        statuses = set(calls(place, g, 1000, 20, 10))
        need(statuses == {"503"}, "without a daemon: %s" % statuses)
        is_error(g.curl(VERSION), 503, "no daemon", "the version without a daemon")
        place.daemon()
        need(calls(place, g, 1000, 20, 10) == ["200"] * 20, "when it is back")
        need(g.process.stop() == 0, "it did not end well")


def sockets(path):
    with open("/proc/net/unix", encoding="ascii", errors="replace") as f:
        return sum(line.endswith(path + "\n") for line in f)


def test_gateway_ends_well():
    """SIGTERM: what is under way is answered, nothing new is taken."""
    with Place() as place:
        daemon = place.daemon()
        g = Gateway(place)
        daemon.send(signal.SIGSTOP)
        p = subprocess.Popen(["curl", "-sS", "-u", "k8s:secret", "-w", "%{http_code}", "-o",
                              "/dev/null", g.url + VERSION], stdout=subprocess.PIPE, text=True)
        # A request is under way when the gateway has a link to the daemon beside what listens.
        wait_for("the question", lambda: sockets(place.socket) > 1)
        g.process.send(signal.SIGTERM)
        g.process.wait_text("ending")
        need(g.curl(VERSION)[0] == 0, "a new connection is taken")
        daemon.send(signal.SIGCONT)
        need(p.communicate(timeout=60)[0] == "200", "what was under way is lost")
        wait_for("the end", lambda: not g.process.alive())
        need(g.process.popen.returncode == 0, "it ended with %s" % g.process.popen.returncode)


def certificate(place, name, days="2"):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", days, "-keyout", "key.pem",
                    "-out", "cert.pem", "-subj", "/CN=" + name, "-addext",
                    "subjectAltName=IP:127.0.0.1"], cwd=place.dir, check=True, capture_output=True)


TLS = ("--tls-cert", "cert.pem", "--tls-key", "key.pem")


def test_gateway_tls():
    """TLS 1.2 and later, by the certificate that is there; it is taken anew on SIGHUP, and a broken
    one is not; a slow hello ends; plain HTTP gets nowhere."""
    with Place() as place:
        place.daemon()
        certificate(place, "first")
        g = Gateway(place, "--receive", "2s", *TLS)
        need(g.url.startswith("https:"), "it speaks %s" % g.url)
        ok(g.curl(VERSION, "--cacert", "cert.pem"), "with its certificate")
        for version in ("1.2", "1.3"):
            ok(g.curl(VERSION, "-k", "--tlsv" + version, "--tls-max", version), "TLS " + version)
        need(g.curl(VERSION)[0] == 0, "an unknown certificate is trusted by curl")
        need(g.curl(VERSION, "-k", "--tlsv1.0", "--tls-max", "1.1", "--ciphers",
                    "DEFAULT@SECLEVEL=0")[0] == 0, "TLS 1.1 is spoken")
        need(g.raw(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n") == "", "plain HTTP is answered")
        need(g.raw(b"\x16\x03\x01") == "", "half a hello is waited for")
        ok(g.post(PKEYS, '{"pkey": "0x42", "guids": [%s]}' %
                  ",".join('"%016x"' % (i + 1) for i in range(2500)), "-k"), "many GUIDs")
        status, body = g.curl(PKEYS + "?guids_data=true", "-k")
        need(status == 200 and len(body["0x42"]["guids"]) == 2500, "a long answer")
        with open(os.path.join(place.dir, "old.pem"), "w", encoding="ascii") as f:
            f.write(open(os.path.join(place.dir, "cert.pem"), encoding="ascii").read())
        certificate(place, "second")
        g.process.send(signal.SIGHUP)
        g.process.wait_text("were read again")
        need(g.curl(VERSION, "--cacert", "old.pem")[0] == 0, "the old certificate is used")
        ok(g.curl(VERSION, "--cacert", "cert.pem"), "with the new certificate")
        with open(os.path.join(place.dir, "key.pem"), "w", encoding="ascii") as f:
            f.write("no key\n")
        g.process.send(signal.SIGHUP)
        g.process.wait_text("what was read before stays")
        ok(g.curl(VERSION, "--cacert", "cert.pem"), "after a broken key")
        Gateway(place, *TLS, status=1)
        need(g.process.stop() == 0, "it did not end well")


def test_gateway_start():
    """It does not start where passwords would be in the clear, where anybody may ask, or as root;
    as another user it has that one's rights and no more."""
    with Place() as place:
        def says(word, *more, status=1, **kw):
            g = Gateway(place, *more, status=status, **kw)
            need(word in g.process.text(), "it says %s" % g.process.text())

        says("nobody may ask", auth=False, status=2)
        says("exclude", "--no-auth", status=2)
        says("need TLS", "--listen", "0.0.0.0:0")
        says("who he is", "--no-auth", "--listen", "[::]:0", auth=False)
        says("no address", "--listen", "localhost:0")
        says("TLS needs", "--tls-cert", "x", status=2)
        says("100ms", "--patience", "5", status=2)
        says("no user", user="weft-no-such-user")
        need("usage: weft-gateway" in subprocess.run([program("weft-gateway"), "--help"],
             capture_output=True, text=True, check=True).stdout, "no help")
        if os.geteuid() == 0:
            says("root's rights", user=None)
        os.chmod(os.path.join(place.dir, "users"), 0o644)
        says("can be read")
        os.chmod(os.path.join(place.dir, "users"), 0o600)
        # A daemon that manages nothing yet: its version is told, changes are to be asked for later.
        daemon = place.daemon("subnets: [{name: lab, port: weft-none:1}]\n"
                              "state: %s\n" % os.path.join(place.dir, "weft.db"), up=False)
        g = Gateway(place)
        ok(g.curl(VERSION), "the version of a daemon without a port")
        is_error(g.add(0x42, "0x1"), 503, "no proved routing", "a daemon without a port")
        g.process.stop()
        daemon.stop()
        place.daemon(group=", group: nogroup")
        g = Gateway(place, "--no-auth", auth=False)
        ok(g.add(0x42, "0x1", user=None), "everybody on this machine")
        if os.geteuid() == 0:
            g = Gateway(place, user="nobody")
            with open("/proc/%d/status" % g.process.pid, encoding="ascii") as f:
                said = f.read()
            need("Uid:\t65534\t65534\t65534\t65534" in said and
                 "CapEff:\t0000000000000000" in said and "NoNewPrivs:\t1" in said, said)
            ok(g.add(0x42, "0x2"), "a member of the control group")
