# SPDX-License-Identifier: BSD-2-Clause
"""Reads the counters that tests/bench/madcount.c keeps in a file while a program runs under it."""
import os
import struct

from lab import need

GET, SET = 1, 2
ATTRIBUTES = {0x10: "NodeDescription", 0x11: "NodeInfo", 0x12: "SwitchInfo", 0x14: "GUIDInfo",
              0x15: "PortInfo", 0x16: "P_KeyTable", 0x17: "SLtoVLMappingTable",
              0x18: "VLArbitrationTable", 0x19: "LinearForwardingTable",
              0x1b: "MulticastForwardingTable", 0x20: "SMInfo"}
CELL = struct.Struct("=Q")
ROWS = 256          # attributes, the last for all that are higher; columns are methods 0..3


class Counter:
    def __init__(self, folder, name="madcount"):
        self.path = os.path.join(folder, name)
        with open(self.path, "wb") as f:
            f.write(bytes((ROWS * 4 + 7) * CELL.size))

    def table(self):
        """{(method, attribute): sent}"""
        with open(self.path, "rb") as f:
            data = f.read()
        out = {}
        for i in range(ROWS * 4):
            (n,) = CELL.unpack_from(data, i * CELL.size)
            if n:
                out[(i % 4, i // 4)] = n
        return out

    def routing(self):
        """When LIDs were all given, and when forwarding tables were first told of, in seconds of
        the monotonic clock; None for what is still to come."""
        with open(self.path, "rb") as f:
            f.seek(ROWS * 4 * CELL.size)
            times = [t / 1e9 or None for (t,) in CELL.iter_unpack(f.read(2 * CELL.size))]
        return times if (SET, 0x19) in self.table() else [times[0], None]

    def multicast(self):
        """When a multicast table was last sent, in seconds of the monotonic clock; 0 never."""
        with open(self.path, "rb") as f:
            f.seek((ROWS * 4 + 2) * CELL.size)
            return CELL.unpack(f.read(CELL.size))[0] / 1e9

    def sent(self):
        """How many MADs in all; answers are among them."""
        with open(self.path, "rb") as f:
            f.seek((ROWS * 4 + 3) * CELL.size)
            return CELL.unpack(f.read(CELL.size))[0]

    def die_after(self, number):
        """The program dies by SIGKILL in place of sending so many MADs more."""
        last = self.sent() + number
        with open(self.path, "r+b") as f:
            f.seek((ROWS * 4 + 4) * CELL.size)
            f.write(CELL.pack(last))

    def await_trap(self):
        """From now on: see repaired()."""
        with open(self.path, "r+b") as f:
            f.seek((ROWS * 4 + 5) * CELL.size)
            f.write(CELL.pack(0))

    def repaired(self):
        """When a trap arrived since await_trap() (None: not yet), and when a forwarding block was
        last sent, in seconds of the monotonic clock."""
        with open(self.path, "rb") as f:
            f.seek((ROWS * 4 + 5) * CELL.size)
            trapped, forwarded = (t / 1e9 for (t,) in CELL.iter_unpack(f.read(2 * CELL.size)))
        return trapped or None, forwarded

    def total(self):
        return sum(self.table().values())

    def asked(self, method):
        return sum(n for (m, _), n in self.table().items() if m == method)

    def sets(self, attribute):
        need(self.total(), "no MAD at all was counted: is madcount.so built?")
        return sum(n for (method, a), n in self.table().items()
                   if method == SET and ATTRIBUTES.get(a) == attribute)

    def written(self):
        """{attribute: Sets}, but for SMInfo."""
        need(self.total(), "no MAD at all was counted: is madcount.so built?")
        return {ATTRIBUTES.get(a, hex(a)): n for (method, a), n in self.table().items()
                if method == SET and ATTRIBUTES.get(a) != "SMInfo"}

    def lines(self):
        word = {GET: "Get", SET: "Set"}
        return ["%8d %s(%s)" % (n, word.get(m, m), ATTRIBUTES.get(a, hex(a)))
                for (m, a), n in sorted(self.table().items(), key=lambda x: -x[1])]
