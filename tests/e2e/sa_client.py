#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A host that uses the subnet administrator as programs do, by libibumad.

usage: sa_client.py furnish      leave two groups, three services and a subscription, and stay
       sa_client.py member MGID  become a full member, and stay
The numbers of components are those of the specification's tables of records (IBA 15.2.5).
It says "ready" when it is where it stays.
"""
import ipaddress
import itertools
import struct
import sys

from umad_client import CLASS_SA, GET, SET, Agent, header, ready, stay, sysfs

DELETE, GET_TABLE = 0x15, 0x12
INFORM_INFO, SERVICE, PATH, MEMBER = 0x03, 0x31, 0x35, 0x38
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
    a.must(SET, MEMBER, JOIN, member("ff12:401b:ffff::ffff:ffff"))
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


if __name__ == "__main__":
    {"furnish": furnish, "member": join}[sys.argv[1]](*sys.argv[2:])
