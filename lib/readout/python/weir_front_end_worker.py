#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python front-end for `weir readout`: weir_front_end_worker.py FILE.py

FILE.py has poll(out) or read_out(trigger, out) or both, and may have begin_run(run, sources) and end_run(out). It is started
by a readout with a socket (3); lib/readout/src/front_end/front_end_messages.hpp describes the messages, docs/front-ends.md what a
front-end may do.
"""
import collections
import struct

from weir_worker import LINGER, OWN, OWN_ANSWER, READ_OUT, PlugInWorker, run

TRIGGERS, DONE = OWN, OWN_ANSWER
RECORD = struct.Struct("<3I2Hq2I")  # docs/formats/input-protocol.md
TRIGGER = struct.Struct("<IIq")
LEVEL1_ID, TIME = 1, 2
KINDS = {"raw": 0, "rod": 4, "rob": 8}
PAYLOAD_MAX, STATUS_MAX = 64 << 20, 64
PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")

Trigger = collections.namedtuple("Trigger", "level1_id type time_ns")


class Out(PlugInWorker):
    """Where a front-end sends its fragments."""

    _trigger, _done = None, 0  # the level-1 id that is read out now; triggers that were read out, and the readout does not know of

    def send(self, source, payload, level1_id=None, time_ns=None, status=(), kind="raw"):
        """Takes a fragment: bytes, or an object with a buffer such as a NumPy array. Waits while the readout is full."""
        if not isinstance(payload, (bytes, bytearray)):
            view = memoryview(payload)
            payload = view.cast("B") if view.contiguous and view.nbytes else view.tobytes()
        size = len(payload)
        if size > PAYLOAD_MAX:
            raise ValueError(f"a payload has {size} bytes; {PAYLOAD_MAX} are allowed")
        if len(status) > STATUS_MAX:
            raise ValueError(f"a fragment has {len(status)} status words; {STATUS_MAX} are allowed")
        if level1_id is None:
            level1_id = self._trigger
        flags = KINDS[kind]
        if level1_id is not None:
            flags |= LEVEL1_ID
        if time_ns is not None:
            flags |= TIME
        padding = PADDING[size & 3]
        head = RECORD.pack(RECORD.size + 4 * len(status) + size + len(padding), source, level1_id or 0, flags, len(status),
                           time_ns or 0, size, 0)
        if status:
            head += struct.pack(f"<{len(status)}I", *status)
        self._send_record(head, payload, padding)

    def _take(self, kind, body):
        if kind != TRIGGERS:
            return False
        for trigger in TRIGGER.iter_unpack(body):
            self._trigger = trigger[0]
            self._guarded(READ_OUT, trigger[0], self._read_out, Trigger(*trigger), self)
            self._trigger = None
            self._done += 1
            if self._silent_for(LINGER):
                self._answer_done()
        self._answer_done()
        return True

    def _answer_done(self):
        if self._done:
            self._answer(DONE, struct.pack("<I", self._done))
            self._done = 0


if __name__ == "__main__":
    run(Out, "weir readout", "neither poll(out) nor read_out(trigger, out)", "poll", "read_out")
