#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A host that uses the subnet administrator as programs do, by libibumad.

usage: sa_client.py furnish      leave two groups, three services and a subscription, and stay
       sa_client.py member MGID  become a full member, and stay
       sa_client.py ipoib-up     what a network interface of Linux asks when it comes up; it says
                                 "MGID MLID" of each group that it is in
       sa_client.py ipoib-down   and when it goes down
       sa_client.py ipoib-path GID    and before it sends to a neighbour: "DLID SL MTU RATE"
       sa_client.py ipoib-send MGID   and before it sends to a group whose members are elsewhere
       sa_client.py register FIRST    services, and a group each 16th time, one after the other, as
                                 they are confirmed: "service N", "group N"
       sa_client.py acm GID      what ibacm asks: its two groups, and the path to another
The numbers of components are those of the specification's tables of records (IBA 15.2.5).
It says "ready" when it is where it stays.
"""
import functools
import ipaddress
import itertools
import struct
import sys
import time

from umad_client import CLASS_SA, GET, SET, Agent, header, ready, stay, sysfs

DELETE, GET_TABLE = 0x15, 0x12
INFORM_INFO, SERVICE, PATH, MEMBER = 0x03, 0x31, 0x35, 0x38
BROADCAST = "ff12:401b:ffff::ffff:ffff"
TIDS = itertools.count(100)


def gid(text):
    return ipaddress.IPv6Address(text).packed


def own_gid():
    return gid(sysfs("gids/0"))


def mask(*bits):
    return sum(1 << b for b in bits)


class Asker:
    """One client: its agent, and where the administrator is."""

    def __init__(self):
        self.agent = Agent(CLASS_SA, 2)

    def send(self, method, attribute, components, record, sm_key=0, modifier=0):
        tid = next(TIDS)
        mad = header(CLASS_SA, 2, method, tid, attribute, modifier) + bytes(12)
        mad += struct.pack(">QHHQ", sm_key, 0, 0, components) + record
        error = self.agent.send(mad, int(sysfs("sm_lid"), 16), 1)
        if error:
            raise SystemExit("not sent: %d" % error)
        return tid

    def ask(self, method, attribute, components, record, **kw):
        """(status, record) of the one answer; a status of None: none came."""
        tid = self.send(method, attribute, components, record, **kw)
        while True:
            mad = self.agent.receive(10000)
            if struct.unpack(">I", mad[12:16])[0] == tid:
                return struct.unpack(">H", mad[4:6])[0], mad[56:]

    def status_of(self, tid):
        """None: the request came back without an answer."""
        while True:
            mad = self.agent.receive(20000)
            if struct.unpack(">I", mad[12:16])[0] == tid:
                return struct.unpack(">H", mad[4:6])[0] if mad[3] & 0x80 else None

    def must(self, *args, **kw):
        status, record = self.ask(*args, **kw)
        if status:
            raise SystemExit("0x%02x of attribute 0x%02x: status 0x%04x" %
                             (args[0], args[1], status))
        return record


def member(mgid, port=None, join=1, qkey=0, pkey=0, mtu=0, rate=0, life=0, tclass=0, sl_flow_hop=0,
           scope=2):
    """A MCMemberRecord; MTU, rate and lifetime with their selectors in the upper two bits."""
    return struct.pack(">16s16sIHBBHBBIBxxx", gid(mgid), port or own_gid(), qkey, 0, mtu, tclass,
                       pkey, rate, life, sl_flow_hop, scope << 4 | join)


def service(number, name, pkey=0xffff, lease=0xffffffff):
    head = struct.pack(">Q16sHxxI16s64s", number, own_gid(), pkey, lease, bytes(16), name.encode())
    return head + bytes(range(16)) + struct.pack(">8H4I2Q", *range(1, 9), *range(11, 15), 21, 22)


def inform(trap, subscribe=1):
    return bytes(16) + struct.pack(">HHHBBHHIII", 0xffff, 0, 0, 1, subscribe, 0xffff, trap, 0,
                                   0xffffff, 0)


JOIN = mask(0, 1, 16)
CREATE = JOIN | mask(2, 6, 7, 12, 13)


def furnish():
    a = Asker()
    a.must(SET, MEMBER, JOIN, member(BROADCAST))
    a.must(SET, MEMBER, CREATE | mask(4, 5, 8, 9),
           member("ff12:401b:ffff::1", qkey=0x0b1b, pkey=0xffff, mtu=0x84, rate=0x83))
    a.must(SET, MEMBER, CREATE | mask(14, 15), member(
        "ff15:a01b::7", qkey=0x1234, pkey=0xffff, tclass=9, sl_flow_hop=77 << 8 | 5, scope=5))
    for number, name in ((0x1000, "one"), (0x1001, "two"), (0x2000, "one")):
        a.must(SET, SERVICE, mask(0, 1, 2, 4, 5, 6) | mask(*range(7, 37)), service(number, name))
    a.must(SET, INFORM_INFO, 0, inform(0xffff))
    ready()
    stay()


def join(mgid):
    Asker().must(SET, MEMBER, JOIN, member(mgid))
    ready()
    stay()


SEND_ONLY_FULL, SEND_ONLY_SUPPORT = 8, 1 << 12  # JoinState; bit of CapabilityMask2


def fields(record):
    """A MCMemberRecord as its fields."""
    mgid, port, qkey, mlid, mtu, tclass, pkey, rate, life, sl_flow_hop, state = struct.unpack(
        ">16s16sIHBBHBBIB", record[:49])
    return {"mgid": str(ipaddress.IPv6Address(mgid)), "port": port, "qkey": qkey, "mlid": mlid,
            "mtu": mtu & 63, "tclass": tclass, "pkey": pkey, "rate": rate & 63, "life": life & 63,
            "sl_flow_hop": sl_flow_hop, "scope": state >> 4, "state": state & 15}


def check(condition, sentence):
    if not condition:
        raise SystemExit(sentence)


def groups():
    """224.0.0.1, all nodes of IPv6, and the one that this port's own address is asked for in."""
    own = own_gid()
    return ("ff12:401b:ffff::1", "ff12:601b:ffff::1", "ff12:601b:ffff::1:ff%02x:%02x%02x" %
            tuple(own[13:]))


def like_broadcast(first):
    """The components of other groups are copied from the broadcast group: exactly its MTU and
    rate."""
    return {"qkey": first["qkey"], "pkey": first["pkey"], "mtu": 0x80 | first["mtu"],
            "rate": 0x80 | first["rate"], "tclass": first["tclass"],
            "sl_flow_hop": first["sl_flow_hop"]}


LIKE = JOIN | mask(2, 4, 5, 6, 7, 8, 9, 12, 13, 14)


def ipoib_up():
    a = Asker()
    record = a.must(GET, 1, 0, b"")
    check(struct.unpack(">I", record[4:8])[0] >> 5 & SEND_ONLY_SUPPORT,
          "send-only full members are not supported")
    first = fields(a.must(SET, MEMBER, JOIN | mask(7), member(BROADCAST, pkey=0xffff)))
    check(first["port"] == own_gid() and first["state"] == 1 and first["qkey"] == 0x0b1b and
          first["mlid"] >= 0xc000 and first["pkey"] == 0xffff and first["mtu"], str(first))
    for mgid in (BROADCAST,) + groups():
        got = first if mgid == BROADCAST else fields(
            a.must(SET, MEMBER, LIKE, member(mgid, **like_broadcast(first))))
        check(all(got[k] == first[k] for k in ("mtu", "rate", "qkey", "sl_flow_hop")), str(got))
        print("%s 0x%04x" % (mgid, got["mlid"]))


def ipoib_send(mgid):
    """A send-only member, full where that keeps the group alive; then it leaves."""
    a = Asker()
    first = fields(a.must(GET, MEMBER, mask(0), member(BROADCAST)))
    got = fields(a.must(SET, MEMBER, LIKE, member(mgid, join=SEND_ONLY_FULL,
                                                   **like_broadcast(first))))
    check(got["state"] == SEND_ONLY_FULL, str(got))
    print("%s 0x%04x" % (mgid, got["mlid"]))
    a.must(DELETE, MEMBER, JOIN, member(mgid, join=SEND_ONLY_FULL))


def ipoib_down():
    a = Asker()
    for mgid in groups() + (BROADCAST,):
        a.must(DELETE, MEMBER, JOIN, member(mgid))
        status, _ = a.ask(DELETE, MEMBER, JOIN, member(mgid))
        check(status == 0x0200, "left twice: status 0x%04x" % status)


def path(a, components, dgid, **more):
    record = bytearray(64)
    record[8:24], record[24:40] = gid(dgid), own_gid()
    record[49] = 1 | more.get("reversible", 0) << 7
    record[50:52] = struct.pack(">H", 0xffff)
    got = a.must(GET, PATH, components, bytes(record))
    dlid, slid = struct.unpack(">HH", got[40:44])
    check(got[8:40] == record[8:40] and slid == int(sysfs("lid"), 16), "of other ends")
    return dlid, got[53] & 15, got[54] & 63, got[55] & 63


def ipoib_path(dgid):
    """By GIDs, one path, traffic class and P_Key."""
    print("%d %d %d %d" % path(Asker(), mask(2, 3, 10, 12, 13), dgid))


def acm(dgid):
    """A group for 10 Gb/s and 2,048 bytes, one for what the port can; both with all that makes a
    group. Then a path that can be gone back."""
    a = Asker()
    for rate, mtu in ((3, 4), (16, 5)):
        mgid = "ff15:4001:ffff:00%02x:%02x00::" % (rate, mtu)
        got = fields(a.must(SET, MEMBER, CREATE | mask(4, 5, 8, 9, 15), member(
            mgid, qkey=0x80010000, pkey=0xffff, mtu=0x80 | mtu, rate=0x80 | rate, scope=5)))
        check(got["rate"] == rate and got["mtu"] == mtu, str(got))
        print("%s 0x%04x" % (mgid, got["mlid"]))
    print("%d %d %d %d" % path(a, mask(2, 3, 10, 11, 12, 13), dgid, reversible=1))


def register(first):
    """Who does not answer is asked again, wherever the manager is by then."""
    a = Asker()
    a.agent.send = functools.partial(a.agent.send, timeout=300, retries=0)
    with_all = mask(0, 1, 2, 4, 5, 6) | mask(*range(7, 37))
    for n in itertools.count(int(first)):
        asks = [("service", SERVICE, with_all, service(n, "s%d" % n))]
        if n % 16 == 0:
            asks.append(("group", MEMBER, CREATE, member(
                "ff12:401b:ffff::1:%x" % (n >> 4), qkey=0x0b1b, pkey=0xffff)))
        for what, attribute, components, record in asks:
            while True:
                tid = a.send(SET, attribute, components, record)
                status = a.status_of(tid)
                if status == 0:
                    break
                time.sleep(0.02)
            print(what, n, flush=True)
        time.sleep(0.08)        # a port may leave 1,024 services


if __name__ == "__main__":
    {"furnish": furnish, "member": join, "ipoib-up": ipoib_up, "ipoib-down": ipoib_down,
     "ipoib-path": ipoib_path, "ipoib-send": ipoib_send, "acm": acm,
     "register": register}[sys.argv[1]](*sys.argv[2:])
