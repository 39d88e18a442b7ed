#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What devices hold, asked by a program on a simulated host: directed SMPs, path records by RMPP.

usage: held_client.py ASKS ANSWERS
A line of the file ASKS is `switch LID WAY TOP PORT...` (WAY: ports to leave by, as 1,4,2; its
forwarding tables up to LID TOP, SL to VL tables between these ports and port 0) or `paths LID
[CLASS]` (path records from there, of a QoS class). Directed SMPs get there whatever the tables
hold. Lines of the file ANSWERS are `lft LID BLOCK BYTES`, `sl2vl LID IN OUT BYTES`, both as
hexadecimal digits, and `paths LID DLID:SL...`, `class CLASS LID DLID:SL...`. Tens of thousands of
tables are read in seconds, for which packaged tools would be started as many times.
"""
import struct
import sys

from umad_client import CLASS_DIRECTED, CLASS_SA, GET, LID_PERMISSIVE, MAD, Agent, header, sysfs

LFT, SL2VL, PATH, GET_TABLE = 0x19, 0x17, 0x35, 0x12
WINDOW, TIMEOUT_MS, ROOM = 64, 20000, 1 << 23
PATH_RECORD = struct.Struct(">40xHH8xH10x")     # DLID, SLID, QoS class and SL


class Reader:
    """Many requests under way, each with its answer's line."""

    def __init__(self, out):
        self.agent, self.out, self.open, self.tid = Agent(CLASS_DIRECTED, 1), out, {}, 0

    def ask(self, way, attribute, modifier, text, size):
        while len(self.open) >= WINDOW:
            self.take()
        self.tid += 1
        self.open[self.tid] = (text, size)
        mad = bytearray(header(CLASS_DIRECTED, 1, GET, self.tid, attribute, modifier))
        mad[7] = len(way)       # hops; the way begins with the byte for no hop
        mad += struct.pack(">QHH", 0, LID_PERMISSIVE, LID_PERMISSIVE)
        mad = (bytes(mad).ljust(128, b"\0") + b"\0" + bytes(way)).ljust(MAD, b"\0")
        error = self.agent.send(mad, LID_PERMISSIVE, 0)
        if error:
            raise SystemExit("not sent: %d" % error)

    def take(self):
        mad = self.agent.receive(TIMEOUT_MS)
        tid, status = struct.unpack(">I", mad[12:16])[0], struct.unpack(">H", mad[4:6])[0]
        text, size = self.open.pop(tid)
        if status & 0x7fff or len(mad) < MAD:
            raise SystemExit("%s: status 0x%04x" % (text, status))
        self.out.write("%s %s\n" % (text, mad[64:64 + size].hex()))

    def switch(self, lid, way, top, *ports):
        way, ports = [int(p) for p in way.split(",")], [int(p) for p in ports]
        for block in range(int(top) // 64 + 1):
            self.ask(way, LFT, block, "lft %s %d" % (lid, block), 64)
        for out in ports:
            for come in [0] + ports:
                self.ask(way, SL2VL, come << 8 | out, "sl2vl %s %d %d" % (lid, come, out), 8)

    def end(self):
        while self.open:
            self.take()


class Paths:
    """Path records, from one source at a time."""

    def __init__(self, out):
        self.agent, self.out = Agent(CLASS_SA, 2, rmpp=1, room=ROOM), out
        self.sm_lid, self.tid = int(sysfs("sm_lid"), 16), 0

    def of(self, lid, qos_class=None):
        self.tid, lid, said = self.tid + 1, int(lid), qos_class is not None
        mad = header(CLASS_SA, 2, GET_TABLE, self.tid, PATH) + bytes(12)
        mad += struct.pack(">QHHQ", 0, 0, 0, 1 << 5 | said << 14) + bytes(42)
        mad += struct.pack(">H8xH", lid, int(qos_class or 0) << 4)
        self.agent.send(mad.ljust(MAD, b"\0"), self.sm_lid, 1, TIMEOUT_MS, 0)
        answer = self.agent.receive(2 * TIMEOUT_MS)
        status, = struct.unpack(">H", answer[4:6])
        if status or struct.unpack(">H", answer[44:46])[0] != PATH_RECORD.size // 8:
            raise SystemExit("path records from LID %d: status 0x%04x" % (lid, status))
        answer = answer[56:]
        answer = answer[:len(answer) // PATH_RECORD.size * PATH_RECORD.size]
        self.out.write("%s %d %s\n" % ("class " + qos_class if said else "paths", lid, " ".join(
            "%d:%d" % (d, sl & 15) for d, s, sl in PATH_RECORD.iter_unpack(answer) if s == lid)))


def main():
    with open(sys.argv[1], encoding="ascii") as asks, \
            open(sys.argv[2], "w", encoding="ascii") as out:
        reader, paths = Reader(out), Paths(out)
        for line in asks:
            kind, *words = line.split()
            (reader.switch if kind == "switch" else paths.of)(*words)
        reader.end()


main()
