#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python trigger plug-in for `weir supervise`: weir_trigger_worker.py FILE.py

FILE.py has poll(out), and may have begin_run(run, next_level1_id) and end_run(). It is started by a supervisor with a socket
(3); lib/selection/src/triggers/plug_in/trigger_messages.hpp describes the messages, docs/trigger-plug-ins.md what a plug-in may do.
"""
import struct
import time

from weir_worker import ALIVE_AFTER, OWN, PlugInWorker, run

CREDIT = OWN
RECORD = struct.Struct("<IIqIIHHI")  # docs/formats/input-protocol.md
WORDS_MAX = 256


class Out(PlugInWorker):
    """Where a trigger plug-in sends its triggers."""

    _next = _used = _credit = 0

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
        self._send_record(record)
        return not self._ending

    def busy(self):
        """The next send() would wait: a unit that can be vetoed is."""
        while self._look(0):
            pass
        return self._ending or self._used >= self._credit

    def _call_begin_run(self, run, words):
        self._next, = words
        super()._call_begin_run(run, self._next)

    def _call_poll(self):
        super()._call_poll()
        self._flush()  # the next call may wait for triggers

    def _call_end_run(self):
        if self._end_run:
            self._end_run()

    def _take(self, kind, body):
        if kind == CREDIT:
            self._credit, = struct.unpack("<Q", body)
        return kind == CREDIT


if __name__ == "__main__":
    run(Out, "weir supervise", "no poll(out)", "poll")
