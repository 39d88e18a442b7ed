#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program on a simulated host that does what no packaged tool does, by libibumad.

usage: umad_client.py join MGID     become a full member of a multicast group, and stay
       umad_client.py members ASK...   MCMemberRecords: "METHOD MASK RECORD", all in hexadecimal,
                                   its own GID in place of a PortGID of 0; it says the status and
                                   the record of each answer
       umad_client.py flood         send requests as fast as they are taken, and read no answer
       umad_client.py deaf N        send N requests that are answered, read nothing, and stay
       umad_client.py untaken N     ask N times for all NodeRecords, as an agent without RMPP: no
                                   segment is ever acknowledged; and stay
       umad_client.py rubbish SEED  random bytes for MADs, addresses and agents, for ever
       umad_client.py group MGID       make a multicast group, and leave it, which ends it
       umad_client.py subscribe N [KEY]   subscribe to all events (with this SM_Key), say what each
                                   Report tells ("report TRAP GUID", "again TRAP GUID" for a
                                   repeat), and answer all but the first N of them
       umad_client.py guids WORDS...  change alias GUIDs: each word is set:LID:BLOCK:I=GUID,... or
                                   delete:LID:BLOCK:I,... (LID 0: the own one); the answer to each
                                   is a line, "STATUS GUID0 ... GUID7", in the order of answers
       umad_client.py pipeline N DEPTH   N changes of one alias GUID, set to another each time and
                                   freed in turn, DEPTH under way at once: are they in order? With a
                                   DEPTH of 1 each is told ("done I"), counted from 0
       umad_client.py traps         send trap 128 of the own LID without end, each as a new one
       umad_client.py manager       take what a subnet manager takes of a port, and do nothing
       umad_client.py adaptive TOP LID...   what switches with these LIDs hold for adaptive routing:
                                   "LID info|lft|groups BLOCK DATA" in hexadecimal; entries up to
                                   LID TOP, and the groups that they name
       umad_client.py watch FILE TEXT   until the file of sysfs has that text
It says "ready" when it is where it stays.
"""
import ctypes
import ipaddress
import os
import random
import select
import struct
import sys
import time

HEADER, MAD = 64, 256
GET, SET, TRAP, REPORT, GET_TABLE, DELETE, REPORT_RESP = 1, 2, 5, 6, 0x12, 0x15, 0x86
CLASS_SMP, CLASS_SA, CLASS_DIRECTED = 1, 3, 0x81
LID_PERMISSIVE = 0xffff
QKEY = 0x80010000
SYSFS = "/sys/class/infiniband/mlx5_0/ports/1/"

umad = ctypes.CDLL("libibumad.so.3", use_errno=True)


def sysfs(name):
    with open(SYSFS + name, encoding="ascii") as f:
        return f.read().strip()


class Agent:
    def __init__(self, mgmt_class, version, methods=(), rmpp=0, room=MAD):
        umad.umad_init()
        self.port = umad.umad_open_port(None, 0)
        if self.port < 0:
            raise SystemExit("the port cannot be opened: %d" % self.port)
        mask = (ctypes.c_long * 2)(sum(1 << m for m in methods), 0)
        self.id = umad.umad_register(self.port, mgmt_class, version, rmpp,
                                     mask if methods else None)
        self.room = room
        self.buffer = ctypes.create_string_buffer(HEADER + room)

    def send(self, mad, lid, qp, timeout=1000, retries=3, size=MAD):
        """0, or an errno value. A message of several MADs has the size that it has."""
        ctypes.memset(self.buffer, 0, HEADER)
        ctypes.memmove(ctypes.addressof(self.buffer) + HEADER, mad, min(len(mad), size))
        umad.umad_set_addr(self.buffer, lid, qp, 0, QKEY if qp else 0)
        rc = umad.umad_send(self.port, self.id, self.buffer, size, timeout, retries)
        return ctypes.get_errno() if rc else 0

    def receive(self, ms):
        length = ctypes.c_int(self.room)
        if umad.umad_recv(self.port, self.buffer, ctypes.byref(length), ms) < 0:
            raise SystemExit("no answer")
        return self.buffer.raw[HEADER:HEADER + length.value]


def header(mgmt_class, version, method, tid, attribute, modifier=0):
    return struct.pack(">BBBBHHQHHI", 1, mgmt_class, version, method, 0, 0, tid, attribute, 0,
                       modifier)


def own_node_info(tid):
    """A directed Get(NodeInfo) of no hops."""
    return header(CLASS_DIRECTED, 1, GET, tid, 0x11) + struct.pack(">QHH", 0, 0xffff, 0xffff)


def ready():
    print("ready", flush=True)


def stay():
    select.select([], [], [])


def join(mgid):
    gid = ipaddress.IPv6Address(sysfs("gids/0")).packed
    record = ipaddress.IPv6Address(mgid).packed + gid + bytes(16) + b"\x01" + bytes(3)
    mask = 1 << 0 | 1 << 1 | 1 << 16
    mad = header(CLASS_SA, 2, SET, 7, 0x38) + bytes(12) + struct.pack(">QHHQ", 0, 0, 0, mask)
    agent = Agent(CLASS_SA, 2)
    error = agent.send(mad + record, int(sysfs("sm_lid"), 16), 1)
    if error:
        raise SystemExit("not sent: %s" % os.strerror(error))
    answer = agent.receive(5000)
    status, = struct.unpack(">H", answer[4:6])
    if status:
        raise SystemExit("refused with status 0x%04x" % status)
    ready()
    stay()


def member_change(agent, mgid, method, mask, tid):
    """As full member, of a group with the Q_Key and P_Key of IPoIB; the answer's status."""
    gid = ipaddress.IPv6Address(sysfs("gids/0")).packed
    record = ipaddress.IPv6Address(mgid).packed + gid + \
        struct.pack(">IHBBHBBIBB2x", 0x0b1b, 0, 0, 0, 0xffff, 0, 0, 0, 1, 0)
    mad = header(CLASS_SA, 2, method, tid, 0x38) + bytes(12) + struct.pack(">QHHQ", 0, 0, 0, mask)
    agent.send(mad + record, int(sysfs("sm_lid"), 16), 1)
    return struct.unpack(">H", agent.receive(5000)[4:6])[0]


def group(mgid):
    agent = Agent(CLASS_SA, 2)
    join_mask = 1 << 0 | 1 << 1 | 1 << 16
    create = 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13
    for method, mask in ((SET, join_mask | create), (DELETE, join_mask)):
        status = member_change(agent, mgid, method, mask, method)
        if status:
            raise SystemExit("refused with status 0x%04x" % status)


def members(*asks):
    agent, sm_lid = Agent(CLASS_SA, 2), int(sysfs("sm_lid"), 16)
    own = ipaddress.IPv6Address(sysfs("gids/0")).packed
    for tid, ask in enumerate(asks):
        method, mask, record = ask.split()
        record = bytes.fromhex(record)
        if record[16:32] == bytes(16):
            record = record[:16] + own + record[32:]
        mad = header(CLASS_SA, 2, int(method, 16), tid + 1, 0x38) + bytes(12)
        mad += struct.pack(">QHHQ", 0, 0, 0, int(mask, 16)) + record
        agent.send(mad.ljust(MAD, b"\0"), sm_lid, 1)
        answer = agent.receive(5000)
        print(answer[4:6].hex(), answer[56:56 + len(record)].hex(), flush=True)


def subscribe(deaf_to, key="0"):
    """Of a notice the trap is in bytes 4 and 5, and the GUID that traps 64 and 65 tell of in 24 to
    31; bytes 8 to 15 of the header are the transaction."""
    record = bytes(16) + struct.pack(">HHHBBHHIII", 0xffff, 0, 0, 1, 1, 0xffff, 0xffff, 0, 0xffffff,
                                     0)
    mad = header(CLASS_SA, 2, SET, 7, 0x03) + bytes(12) + struct.pack(">Q12x", int(key, 0))
    agent, seen = Agent(CLASS_SA, 2, [REPORT]), []
    sm_lid = int(sysfs("sm_lid"), 16)
    agent.send(mad + record, sm_lid, 1)
    status, = struct.unpack(">H", agent.receive(5000)[4:6])
    if status:
        raise SystemExit("refused with status 0x%04x" % status)
    ready()
    while True:
        mad = agent.receive(-1)
        trap, guid = struct.unpack(">H18xQ", mad[60:88])
        print("%s %d 0x%016x" % ("again" if mad[8:16] in seen else "report", trap, guid),
              flush=True)
        seen.append(mad[8:16])
        if len(seen) > int(deaf_to):
            agent.send(mad[:3] + bytes([REPORT_RESP]) + mad[4:], sm_lid, 1, 0, 0)


def guid_request(word, tid):
    method, lid, block, entries = word.split(":")
    guids, mask = [0] * 8, 1 << 0 | 1 << 1
    for entry in entries.split(",") if entries else ():
        i, _, guid = entry.partition("=")
        guids[int(i)] = int(guid or "0", 16)
        mask |= 1 << 4 + int(i)
    record = struct.pack(">HBBI8Q", int(lid) or int(sysfs("lid"), 16), int(block), 0, 0, *guids)
    return header(CLASS_SA, 2, SET if method == "set" else DELETE, tid, 0x30) + bytes(12) + \
        struct.pack(">QHHQ", 0, 0, 0, mask) + record


def guids(*words):
    agent, sm_lid = Agent(CLASS_SA, 2), int(sysfs("sm_lid"), 16)
    for tid, word in enumerate(words):
        agent.send(guid_request(word, tid + 1), sm_lid, 1)
        mad = agent.receive(5000)
        status, found = struct.unpack(">H", mad[4:6])[0], struct.unpack(">8Q", mad[64:128])
        print("0x%04x %s" % (status, " ".join("%x" % g for g in found)), flush=True)


def pipeline(number, depth):
    """An even change sets the GUID to its number, an odd one frees it."""
    agent, sm_lid = Agent(CLASS_SA, 2), int(sysfs("sm_lid"), 16)
    number, sent, start = int(number), 0, time.monotonic()
    for done in range(number):
        while sent < min(number, done + int(depth)):
            word = "delete:0:0:1" if sent % 2 else "set:0:0:1=%x" % (0x50000000 + sent)
            agent.send(guid_request(word, sent + 1), sm_lid, 1, 10000, 0)
            sent += 1
        mad = agent.receive(20000)
        tid, status = struct.unpack(">I", mad[12:16])[0], struct.unpack(">H", mad[4:6])[0]
        guid, = struct.unpack(">Q", mad[72:80])
        wanted = 0 if done % 2 else 0x50000000 + done
        if (tid, status, guid) != (done + 1, 0, wanted):
            raise SystemExit("answer %d is that of %d: status 0x%04x, GUID %x, not %x" %
                             (done + 1, tid, status, guid, wanted))
        if depth == "1":
            print("done %d" % done, flush=True)
    print("all %d in order, in %.1f s" % (number, time.monotonic() - start))


def flood():
    agent, tid = Agent(CLASS_DIRECTED, 1), 0
    ready()
    while True:
        tid += 1
        agent.send(own_node_info(tid), LID_PERMISSIVE, 0)


def deaf(number):
    agent = Agent(CLASS_DIRECTED, 1)
    for tid in range(int(number)):
        agent.send(own_node_info(tid), LID_PERMISSIVE, 0)
    ready()
    stay()


def untaken(number):
    agent = Agent(CLASS_SA, 2)
    for tid in range(int(number)):
        mad = header(CLASS_SA, 2, GET_TABLE, tid + 1, 0x11) + bytes(12)
        agent.send(mad + bytes(MAD - len(mad)), int(sysfs("sm_lid"), 16), 1)
    ready()
    stay()


def traps():
    """No tool of a host may: the agent is of its own class."""
    agent, tid, lid = Agent(CLASS_SMP, 1), 0, int(sysfs("lid"), 16)
    notice = struct.pack(">I3H", 0x81000001, 128, lid, 0) + struct.pack(">H", lid) + bytes(52)
    ready()
    while True:
        tid += 1
        mad = header(CLASS_SMP, 1, TRAP, tid, 0x02) + bytes(8 + 32) + notice
        agent.send(mad + bytes(MAD - len(mad)), int(sysfs("sm_lid"), 16), 0, 0, 0)
        time.sleep(0.001)


def rubbish(seed):
    rnd = random.Random(int(seed))
    agents = [Agent(CLASS_DIRECTED, 1), Agent(CLASS_SA, 2), Agent(4, 1)]
    ready()
    while True:
        agent = rnd.choice(agents)
        mad = bytearray(rnd.randbytes(MAD))
        if rnd.random() < 0.9:
            mad[:3] = 1, rnd.choice((1, 3, 4, CLASS_DIRECTED, 0x32)), rnd.choice((1, 2))
            mad[3] = rnd.choice((GET, 0x81, 5, 6))	# no Set: it might be a good one
        agent.send(bytes(mad), rnd.randrange(0x10000), rnd.randrange(3), rnd.randrange(50), 1)


def manager():
    agents = [Agent(c, 1, [GET, SET, TRAP]) for c in (CLASS_SMP, CLASS_DIRECTED)]
    ready()
    stay()
    return agents


def watch(name, text):
    ready()
    while sysfs(name) != text:
        time.sleep(0.005)
    print("seen", flush=True)


def get(agent, lid, attribute, modifier):
    """The data of a Get of an SMP by LID."""
    error = agent.send(header(CLASS_SMP, 1, GET, modifier + 1, attribute, modifier) + bytes(232),
                       lid, 0)
    if error:
        raise SystemExit("not sent: %s" % os.strerror(error))
    answer = agent.receive(5000)
    status, = struct.unpack(">H", answer[4:6])
    if status:
        raise SystemExit("Get(0x%04x) of LID %d: status 0x%04x" % (attribute, lid, status))
    return answer[64:128]


def adaptive(top, *lids):
    agent = Agent(CLASS_SMP, 1)
    for lid in (int(x) for x in lids):
        info = get(agent, lid, 0xff20, 0)
        print(lid, "info", 0, info.hex())
        highest = 0
        for block in range(int(top) // 16 + 1):
            data = get(agent, lid, 0xff23, block)
            highest = max([highest] + [g for _, g in struct.iter_unpack(">HH", data)])
            print(lid, "lft", block, data.hex())
        for block in range(((highest + 1) * ((info[2] & 15) + 1) + 1) // 2):
            print(lid, "groups", block, get(agent, lid, 0xff21, block).hex())


if __name__ == "__main__":
    {"join": join, "members": members, "subscribe": subscribe, "flood": flood, "deaf": deaf,
     "untaken": untaken, "rubbish": rubbish, "traps": traps,
     "group": group, "guids": guids, "pipeline": pipeline,
     "manager": manager, "adaptive": adaptive, "watch": watch}[sys.argv[1]](*sys.argv[2:])
