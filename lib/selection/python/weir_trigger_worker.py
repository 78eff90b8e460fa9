#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python trigger plug-in for `weir supervise`: weir_trigger_worker.py FILE.py

FILE.py has poll(out), and may have begin_run(run, next_level1_id) and end_run(). It is started by a supervisor with a socket
(3); lib/selection/src/triggers/plug_in/trigger_messages.hpp describes the messages, docs/trigger-plug-ins.md what a plug-in may do.
"""
import struct
import sys
import time

from weir_worker import Station, load, reason

BEGIN_RUN, CREDIT, END_RUN = 1, 2, 3
READY, FAILED, BEGUN, TRIGGERS, ALIVE, ENDED = range(1, 7)
LOAD, CALL_BEGIN_RUN, POLL, CALL_END_RUN = range(4)
RECORD = struct.Struct("<IIqIIHHI")  # docs/formats/input-protocol.md
WORDS_MAX = 256
BLOCK, RECORDS_MAX = 64 * 1024, 4096  # triggers are sent when they are so many bytes
LINGER = 0.001             # how long a trigger waits for others at most, if it is not the first for so long, in seconds
LOOK_AGAIN = 0.0001        # for messages of the supervisor, between calls that had something to do
ALIVE_AFTER = 0.1


class Out:
    """Where a trigger plug-in sends its triggers."""

    def __init__(self, station, module):
        self._station, self._module = station, module
        self._records, self._count, self._last = bytearray(), 0, time.monotonic()
        self._next = self._used = self._credit = 0
        self._running = self._ending = self._some = False
        self._poll_interval = 0.001

    def send(self, time_ns=None, type=0, level1_id=None, bunch_crossing_id=0, words=()):
        """Takes a trigger. Waits while there is no room for more events. False: the run ends, and it is no event."""
        if level1_id is None:
            level1_id = self._next
        if time_ns is None:
            time_ns = time.time_ns()
        if len(words) > WORDS_MAX:
            raise ValueError(f"a trigger has {len(words)} words; {WORDS_MAX} are allowed")
        record = RECORD.pack(RECORD.size + 4 * len(words), level1_id, time_ns, type, bunch_crossing_id, 0, len(words), 0)
        if len(words):
            record += struct.pack(f"<{len(words)}I", *words)
        while not self._ending and self._used >= self._credit:
            self._flush()
            self._look(ALIVE_AFTER)
            self._say_alive()
        self._next = (level1_id + 1) & 0xFFFFFFFF
        self._used += 1
        self._records += record
        self._count += 1
        if self._count >= RECORDS_MAX or len(self._records) >= BLOCK or time.monotonic() - self._last >= LINGER:
            self._flush()
        self._some = True
        return not self._ending

    def busy(self):
        """The next send() would wait: a unit that can be vetoed is."""
        while self._look(0):
            pass
        return self._ending or self._used >= self._credit

    def _look(self, wait):
        """Takes a message. False: none came for so long."""
        message = self._station.receive(wait)
        if message is None:
            return False
        kind, body = message
        if kind == BEGIN_RUN:
            run, self._next, interval = struct.unpack("<3I", body)
            self._poll_interval = interval / 1e6
            begin = getattr(self._module, "begin_run", None)
            self._running = begin is None or self._guarded(CALL_BEGIN_RUN, begin, run, self._next)
            if self._running:
                self._answer(BEGUN)
        elif kind == CREDIT:
            self._credit, = struct.unpack("<Q", body)
        elif kind == END_RUN:
            self._ending = True
        else:
            raise SystemExit("the supervisor sent a message that is none")
        return True

    def _guarded(self, call, work, *arguments):
        try:
            work(*arguments)
            return True
        except Exception as error:  # the supervisor reports any exception of the plug-in
            self._answer(FAILED, struct.pack("<I", call) + reason(error))
            return False

    def _flush(self):
        if self._records:
            self._station.send(TRIGGERS, self._records)
            self._records, self._count, self._last = bytearray(), 0, time.monotonic()

    def _answer(self, kind, body=b""):
        """Behind all triggers that were sent before."""
        self._flush()
        self._station.send(kind, body)
        self._last = time.monotonic()

    def _say_alive(self):
        if time.monotonic() - self._last >= ALIVE_AFTER:
            self._answer(ALIVE)


def serve(out, module):
    out._answer(READY)
    pause = poll_again = looked = 0.0
    rest = ALIVE_AFTER
    while True:
        now = time.monotonic()
        if rest > 0 or now - looked >= LOOK_AGAIN:
            looked = now
            if out._look(rest):
                rest = 0
                continue
        rest = ALIVE_AFTER
        if out._running and not out._ending:
            rest = 0.02
            if now >= poll_again:
                out._some = False
                if out._guarded(POLL, module.poll, out):
                    pause = 0.0
                    rest = 0 if out._some else out._poll_interval
                else:
                    pause = min(max(2 * pause, 0.1), 2.0)
                    poll_again = time.monotonic() + pause
        out._flush()
        out._say_alive()
        if out._ending:
            end = getattr(module, "end_run", None)
            if end is not None and out._running:
                out._guarded(CALL_END_RUN, end)
            out._running = out._ending = False
            out._answer(ENDED)


def main():
    if len(sys.argv) != 2:
        sys.exit("weir_trigger_worker.py is started by weir supervise")
    station = Station()
    try:
        module = load(sys.argv[1], "weir_trigger_plug_in")
        if not callable(getattr(module, "poll", None)):
            raise AttributeError(f"{sys.argv[1]} has no poll(out)")
    except BaseException as error:
        station.send(FAILED, struct.pack("<I", LOAD) + reason(error))
        sys.exit(1)
    serve(Out(station, module), module)


if __name__ == "__main__":
    main()
