# SPDX-License-Identifier: BSD-2-Clause
"""What MCMemberRecords may be set and deleted: the same requests to OpenSM and to weftd, each on a
fabric of its own; every status must be the same."""
import ipaddress
import os
import struct

from cases_osmtest import CLIENT, serving, weftd_serving
from lab import need

HERE = os.path.dirname(os.path.abspath(__file__))
SET, DELETE = 2, 0x15
# Components of the record (IBA 15.2.5.17).
(MGID, PORT_GID, QKEY, MLID, MTU_SELECTOR, MTU, TCLASS, PKEY, RATE_SELECTOR, RATE, LIFE_SELECTOR,
 LIFE, SL, FLOW_LABEL, HOP_LIMIT, SCOPE, JOIN_STATE, PROXY_JOIN) = range(18)
JOIN = (MGID, PORT_GID, JOIN_STATE)
CREATE = JOIN + (QKEY, TCLASS, PKEY, FLOW_LABEL, SL)
GREATER, LESS, EXACTLY = 0, 1, 2
IPOIB = "ff12:401b:ffff::%x"
PLAIN = "ff15::%x"


def ask(method, mgid, state, components, qkey=0x0b1b, mtu=(0, 0), rate=(0, 0), life=(0, 0),
        pkey=0xffff, scope=0, sl=0):
    record = ipaddress.IPv6Address(mgid).packed + bytes(16)
    record += struct.pack(">IHBBHBBIBBH", qkey, 0, mtu[0] << 6 | mtu[1], 0, pkey,
                          rate[0] << 6 | rate[1], life[0] << 6 | life[1], sl << 28,
                          scope << 4 | state, 0, 0)
    return "%x %x %s" % (method, sum(1 << c for c in components), record.hex())


def requests():
    """(name, request), in the order in which they are sent."""
    for i, c in enumerate(CREATE):
        yield "create without component %d" % c, ask(SET, PLAIN % (0x100 + i), 1,
                                                     [x for x in CREATE if x != c])
    for state in range(16):
        yield "create with state %d" % state, ask(SET, PLAIN % (0x200 + state), state, CREATE)
    for selector in (GREATER, LESS, EXACTLY):
        for mtu in range(1, 7):
            yield "create, mtu %d %d" % (selector, mtu), ask(
                SET, PLAIN % (0x300 + selector * 16 + mtu), 1, CREATE + (MTU_SELECTOR, MTU),
                mtu=(selector, mtu))
        for rate in (2, 3, 7, 16, 18):
            yield "create, rate %d %d" % (selector, rate), ask(
                SET, PLAIN % (0x400 + selector * 32 + rate), 1, CREATE + (RATE_SELECTOR, RATE),
                rate=(selector, rate))
    for mgid in ("fe12:401b:ffff::1", "ff32::1", "ff52::1", "ff92::1", "ff12:a01b::1",
                 "ff15:a01b::1", "ff02::1", "ff10::1", "ff1f::1", "ff1e::1", "ff12:401b:8001::1",
                 "::"):
        yield "create %s" % mgid, ask(SET, mgid, 1, CREATE)
    for pkey in (0, 0x8001, 0x7fff, 0xffff):
        yield "create, pkey %04x" % pkey, ask(SET, PLAIN % (0x500 + pkey % 0x7f), 1, CREATE,
                                              pkey=pkey)
    for scope in (0, 2, 5, 0xe, 0xf):
        yield "create, scope %x" % scope, ask(SET, "::", 1, CREATE + (SCOPE,), scope=scope)
    yield "create", ask(SET, IPOIB % 0x600, 1, CREATE)
    yield "join, another qkey", ask(SET, IPOIB % 0x600, 1, JOIN + (QKEY,), qkey=0x1234)
    yield "join, another pkey", ask(SET, IPOIB % 0x600, 1, JOIN + (PKEY,), pkey=0x8001)
    yield "join as non-member", ask(SET, IPOIB % 0x600, 2, JOIN)
    yield "join again", ask(SET, IPOIB % 0x600, 1, JOIN)
    for state in (0, 8, 4, 3, 2, 2, 1):
        yield "leave %d" % state, ask(DELETE, IPOIB % 0x600, state, JOIN)
    yield "leave what is gone", ask(DELETE, IPOIB % 0x600, 1, JOIN)
    for c in JOIN:
        yield "leave without component %d" % c, ask(DELETE, IPOIB % 0x600, 1,
                                                    [x for x in JOIN if x != c])
    yield "join 9", ask(SET, PLAIN % 0x700, 9, CREATE)
    for state in (1, 8, 8):
        yield "of 9, leave %d" % state, ask(DELETE, PLAIN % 0x700, state, JOIN)
    yield "join as send-only full", ask(SET, PLAIN % 0x701, 8, CREATE)


def answers(lab, names, asks):
    out, _ = lab.run(["python3", os.path.join(HERE, "umad_client.py"), "members"] + asks, CLIENT)
    lines = out.split("\n")[:-1]
    need(len(lines) == len(asks), "%d answers to %d requests: %s" % (len(lines), len(asks), out))
    return {n: x.split()[0] for n, x in zip(names, lines)}


def test_member_rules():
    names, asks = zip(*requests())
    with serving("ft3-4") as (lab, _):
        theirs = answers(lab, names, list(asks))
    with weftd_serving("ft3-4") as (lab, _):
        ours = answers(lab, names, list(asks))
    wrong = ["%s: 0x%s, OpenSM 0x%s" % (name, ours[name], theirs[name])
             for name in names if ours[name] != theirs[name]]
    need(not wrong, "\n".join(wrong))
