#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python front-end for `weir readout`: weir_front_end_worker.py FILE.py

FILE.py has poll(out) or read_out(trigger, out) or both, and may have begin_run(run, sources) and end_run(out). It is started
by a readout with a socket (3); lib/readout/src/front_end/front_end_messages.hpp describes the messages, docs/front-ends.md what a
front-end may do.
"""
import collections
import struct
import sys
import time

from weir_worker import Station, load, reason

BEGIN_RUN, TRIGGERS, END_RUN = 1, 2, 3
READY, FAILED, BEGUN, FRAGMENTS, DONE, ALIVE, ENDED = range(1, 8)
LOAD, CALL_BEGIN_RUN, POLL, READ_OUT, CALL_END_RUN = range(5)
RECORD = struct.Struct("<3I2Hq2I")  # docs/formats/input-protocol.md
TRIGGER = struct.Struct("<IIq")
LEVEL1_ID, TIME = 1, 2
KINDS = {"raw": 0, "rod": 4, "rob": 8}
BLOCK, RECORDS_MAX = 64 * 1024, 4096  # fragments are sent when they are so many bytes
PAYLOAD_MAX, STATUS_MAX = 64 << 20, 64
LINGER = 0.001             # how long fragments wait for others at most, in seconds
LOOK_AGAIN = 0.0001        # for messages of the readout, between calls that had something to do
ALIVE_AFTER = 0.1
PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")

Trigger = collections.namedtuple("Trigger", "level1_id type time_ns")


class Out:
    """Where a front-end sends its fragments."""

    def __init__(self, station):
        self._station = station
        self._records, self._count = bytearray(), 0
        self._oldest = self._last = time.monotonic()
        self._trigger = None     # the level-1 id that is read out now
        self._sent = False

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
        self._count += 1
        if len(self._records) + size > BLOCK or self._count > RECORDS_MAX:
            self._flush()
        if not self._records:
            self._oldest = time.monotonic()
        records = self._records
        records += head
        records += payload
        records += padding
        self._flush_old()
        self._sent = True

    def _flush(self):
        if self._records:
            self._station.send(FRAGMENTS, self._records)
            self._records, self._count = bytearray(), 1
            self._last = time.monotonic()

    def _flush_old(self):
        if self._records and time.monotonic() - self._oldest >= LINGER:
            self._flush()

    def _answer(self, kind, body=b""):
        """Behind all fragments that were sent before."""
        self._flush()
        self._station.send(kind, body)
        self._last = time.monotonic()

    def _silent_for(self, seconds):
        return time.monotonic() - self._last >= seconds


class Worker:
    def __init__(self, station, module):
        self.station, self.module, self.out = station, module, Out(station)
        self.poll = getattr(module, "poll", None)
        self.read_out = getattr(module, "read_out", None)
        self.running, self.done = False, 0
        self.poll_interval, self.pause, self.poll_again = 0.001, 0.0, 0.0

    def guarded(self, call, level1_id, work, *arguments):
        try:
            work(*arguments)
            return True
        except Exception as error:  # the readout reports any exception of the front-end
            self.out._answer(FAILED, struct.pack("<II", call, level1_id) + reason(error))
            return False

    def serve(self):
        out = self.out
        out._answer(READY, struct.pack("<I", (1 if self.poll else 0) | (2 if self.read_out else 0)))
        rest, looked = ALIVE_AFTER, 0.0
        while True:
            now = time.monotonic()
            if rest > 0 or now - looked >= LOOK_AGAIN:
                looked = now
                message = self.station.receive(rest)
                rest = 0
                if message is not None:
                    self.handle(*message)
                    continue
            rest = self.poll_once() if self.running and self.poll else ALIVE_AFTER
            if rest > 0:
                out._flush()
            else:
                out._flush_old()
            if out._silent_for(ALIVE_AFTER):
                out._answer(ALIVE)

    def poll_once(self):
        """How long to rest before the next."""
        if time.monotonic() < self.poll_again:
            return 0.02
        self.out._sent = False
        if not self.guarded(POLL, 0, self.poll, self.out):
            self.pause = min(max(2 * self.pause, 0.1), 2.0)
            self.poll_again = time.monotonic() + self.pause
            return 0.02
        self.pause = 0.0
        return 0 if self.out._sent else self.poll_interval

    def handle(self, kind, body):
        if kind == BEGIN_RUN:
            run, interval, *sources = struct.unpack(f"<{len(body) // 4}I", body)
            self.poll_interval = interval / 1e6
            begin = getattr(self.module, "begin_run", None)
            self.running = begin is None or self.guarded(CALL_BEGIN_RUN, 0, begin, run, sources)
            if self.running:
                self.out._answer(BEGUN)
        elif kind == TRIGGERS:
            for trigger in TRIGGER.iter_unpack(body):
                self.out._trigger = trigger[0]
                self.guarded(READ_OUT, trigger[0], self.read_out, Trigger(*trigger), self.out)
                self.out._trigger = None
                self.done += 1
                if self.out._silent_for(LINGER):
                    self.answer_done()
            self.answer_done()
        elif kind == END_RUN:
            end = getattr(self.module, "end_run", None)
            if end is not None:
                self.guarded(CALL_END_RUN, 0, end, self.out)
            self.out._answer(ENDED)
            self.running = False
        else:
            raise SystemExit("the readout sent a message that is none")

    def answer_done(self):
        if self.done:
            self.out._answer(DONE, struct.pack("<I", self.done))
            self.done = 0


def main():
    if len(sys.argv) != 2:
        sys.exit("weir_front_end_worker.py is started by weir readout")
    station = Station()
    try:
        module = load(sys.argv[1], "weir_front_end")
        if not callable(getattr(module, "poll", None)) and not callable(getattr(module, "read_out", None)):
            raise AttributeError(f"{sys.argv[1]} has neither poll(out) nor read_out(trigger, out)")
    except BaseException as error:
        station.send(FAILED, struct.pack("<II", LOAD, 0) + reason(error))
        sys.exit(1)
    Worker(station, module).serve()


if __name__ == "__main__":
    main()
