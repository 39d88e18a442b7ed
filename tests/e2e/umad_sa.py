#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Questions about paths, asked by libibumad as no packaged tool can: any component by itself,
MultiPathRecord, TraceRecord.

usage: umad_sa.py QUESTION...     each one argument: get|table|multi|trace, then NAME=VALUE
                                  of the components that count
A LID may be given as @GUID, @GUID+N: of the port of that GUID, and is told so. `multi` takes
sgids= and dgids= (GIDs with commas between them), and counts=S,D where they are to be told wrong;
oneway=1 sends it as no message of several MADs. An answer is a line with status, attribute and
number of records, and one line for each record, of the components that are not 0.
"""
import ipaddress
import os
import struct
import sys

from umad_client import Agent, CLASS_SA, GET, MAD, header, sysfs

METHODS = {"get": GET, "table": 0x12, "trace": 0x13, "multi": 0x14}
NODE, PATH, TRACE, MULTIPATH = 0x11, 0x35, 0x39, 0x3a
SA_HEADER, ROOM, TIMEOUT_MS = 56, 1 << 22, 20000
RMPP_ACTIVE = 1

# Component: first bit, width, bit of the component mask.
PATH_FIELDS = {
    "service_id_msb": (0, 8, 0), "service_id": (8, 56, 1), "dgid": (64, 128, 2),
    "sgid": (192, 128, 3), "dlid": (320, 16, 4), "slid": (336, 16, 5), "raw": (352, 1, 6),
    "flow_label": (356, 20, 8), "hop_limit": (376, 8, 9), "tclass": (384, 8, 10),
    "reversible": (392, 1, 11), "numb_path": (393, 7, 12), "pkey": (400, 16, 13),
    "qos_class": (416, 12, 14), "sl": (428, 4, 15), "mtu_selector": (432, 2, 16),
    "mtu": (434, 6, 17), "rate_selector": (440, 2, 18), "rate": (442, 6, 19),
    "life_selector": (448, 2, 20), "life": (450, 6, 21), "preference": (456, 8, 22)}
MULTI_FIELDS = {
    "raw": (0, 1, 0), "flow_label": (4, 20, 2), "hop_limit": (24, 8, 3), "tclass": (32, 8, 4),
    "reversible": (40, 1, 5), "numb_path": (41, 7, 6), "pkey": (48, 16, 7),
    "qos_class": (64, 12, 8), "sl": (76, 4, 9), "mtu_selector": (80, 2, 10), "mtu": (82, 6, 11),
    "rate_selector": (88, 2, 12), "rate": (90, 6, 13), "life_selector": (96, 2, 14),
    "life": (98, 6, 15), "service_id_msb": (104, 8, 16), "independence": (112, 2, 17),
    "sgid_count": (120, 8, 19), "dgid_count": (128, 8, 20), "service_id": (136, 56, 21)}
TRACE_FIELDS = {
    "gid_prefix": (0, 64, 0), "id_generation": (64, 16, 0), "node_type": (88, 8, 0),
    "node_id": (96, 64, 0), "chassis_id": (160, 64, 0), "entry_port_id": (224, 64, 0),
    "exit_port_id": (288, 64, 0), "entry_port": (352, 8, 0), "exit_port": (360, 8, 0)}
FIELDS = {PATH: PATH_FIELDS, TRACE: TRACE_FIELDS}
SIZES = {PATH: 64, TRACE: 46, MULTIPATH: 24}


def pack(fields, size, values):
    """(bytes of the record, component mask)"""
    number, mask = 0, 0
    for name, value in values.items():
        at, width, bit = fields[name]
        number |= (value & ((1 << width) - 1)) << (size * 8 - at - width)
        mask |= 1 << bit
    return number.to_bytes(size, "big"), mask


def unpack(fields, data):
    number, bits = int.from_bytes(data, "big"), len(data) * 8
    return {name: number >> (bits - at - width) & ((1 << width) - 1)
            for name, (at, width, _) in fields.items()}


class Asker:
    def __init__(self):
        self.agent = Agent(CLASS_SA, 2, rmpp=1, room=ROOM)
        self.tid, self.sm_lid = 0, int(sysfs("sm_lid"), 16)
        self.lids, self.ports = {}, {}

    def ask(self, method, attribute, mask, data, rmpp):
        """(status, attribute, records)"""
        self.tid += 1
        mad = header(CLASS_SA, 2, method, self.tid, attribute)
        mad += struct.pack(">BBBBII", 1, 1, RMPP_ACTIVE, 0, 0, 0) if rmpp else bytes(12)
        mad += struct.pack(">QHHQ", 0, 0, 0, mask) + data
        if not rmpp:
            mad = mad.ljust(MAD, b"\0")
        error = self.agent.send(mad, self.sm_lid, 1, TIMEOUT_MS, 0, len(mad))
        if error:
            raise SystemExit("not sent: %s" % os.strerror(error))
        answer = self.agent.receive(TIMEOUT_MS)
        status, attribute = struct.unpack(">4xH10xH", answer[:18])
        offset = struct.unpack(">H", answer[44:46])[0] * 8
        answer = answer[SA_HEADER:]
        if status or not offset:
            return status, attribute, []
        if method == GET:
            return status, attribute, [answer[:offset]]
        return status, attribute, [answer[i:i + offset] for i in range(0, len(answer), offset)]

    def learn(self):
        """Which LID belongs to which port, from the NodeRecords."""
        for r in self.ask(METHODS["table"], NODE, 0, bytes(112), False)[2]:
            lid, guid = struct.unpack(">H22xQ", r[:32])
            self.lids[guid] = lid
            self.ports[lid] = guid

    def number(self, name, text):
        if name in ("sgid", "dgid"):
            return int(ipaddress.IPv6Address(text))
        if text.startswith("@"):
            guid, _, offset = text[1:].partition("+")
            return self.lids[int(guid, 16)] + int(offset or 0)
        return int(text, 0)

    def text(self, name, value):
        if name in ("sgid", "dgid"):
            return str(ipaddress.IPv6Address(value))
        if name in ("slid", "dlid"):
            base = max([x for x in self.ports if x <= value], default=0)
            if value - base < 128 and base:
                return "@0x%x" % self.ports[base] + ("+%d" % (value - base)) * (value > base)
        if name.endswith("_id"):
            return "0x%x" % value
        return "%d" % value

    def multi(self, words):
        gids = [[ipaddress.IPv6Address(g).packed for g in words.pop(k, "").split(",") if g]
                for k in ("sgids", "dgids")]
        counts = words.pop("counts", ",".join("%d" % len(g) for g in gids)).split(",")
        words.update({k: c for k, c in zip(("sgid_count", "dgid_count"), counts) if c})
        record, mask = pack(MULTI_FIELDS, SIZES[MULTIPATH],
                            {k: self.number(k, v) for k, v in words.items()})
        return MULTIPATH, mask, record + b"".join(gids[0] + gids[1])

    def question(self, text):
        kind, *rest = text.split()
        words = dict(x.split("=", 1) for x in rest)
        rmpp = kind == "multi" and not words.pop("oneway", None)
        if kind == "multi":
            attribute, mask, data = self.multi(words)
        else:
            attribute = TRACE if kind == "trace" else PATH
            data, mask = pack(PATH_FIELDS, SIZES[PATH],
                              {k: self.number(k, v) for k, v in words.items()})
        status, attribute, records = self.ask(METHODS[kind], attribute, mask, data, rmpp)
        print("status 0x%04x attribute 0x%04x records %d" % (status, attribute, len(records)))
        for r in records:
            values = unpack(FIELDS[attribute], r[:SIZES[attribute]])
            print("  " + " ".join("%s=%s" % (k, self.text(k, v)) for k, v in values.items() if v))


if __name__ == "__main__":
    asker = Asker()
    asker.learn()
    for line in sys.argv[1:]:
        asker.question(line)
