# SPDX-License-Identifier: Apache-2.0
"""What the Python ends of weir's worker processes share: the socket to the station, a plug-in's file as a module, and what runs a
plug-in for a run. lib/plugin/include/weir/plugin/worker_message.hpp describes the frame of the messages, plug_in_messages.hpp there
those of a plug-in for a run."""
import ctypes
import importlib.util
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time

MAGIC = 0x41535257
HEAD = struct.Struct("<3I")
BEGIN_RUN, END_RUN, OWN = 1, 2, 3  # to the process; OWN: from here on a kind of plug-in has its own
READY, FAILED, BEGUN, ALIVE, ENDED, RECORDS, OWN_ANSWER = range(1, 8)  # back
NONE, LOAD, CALL_BEGIN_RUN, POLL, READ_OUT, CALL_END_RUN, SEE = range(7)  # calls
HAS_POLL, HAS_READ_OUT = 1, 2
BLOCK, RECORDS_MAX = 64 * 1024, 4096  # records are sent when they are so many bytes, or so many
LINGER = 0.001       # how long records wait for others at most, in seconds
LOOK_AGAIN = 0.0001  # for messages of the station, between calls that had something to do
ALIVE_AFTER = 0.1


class Station:
    """The station that started this process."""

    def __init__(self):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: never left behind, even inside an endless loop
        self._link = socket.socket(fileno=3)
        self._link.setblocking(True)

    def send(self, kind, body=b""):
        self._link.sendall(HEAD.pack(MAGIC, kind, len(body)) + body)

    def receive(self, wait=None):
        """(kind, body); None after `wait` seconds without a message. Ends the process when the station has ended."""
        if wait is not None and not select.select([self._link], [], [], wait)[0]:
            return None
        magic, kind, size = HEAD.unpack(self.exactly(HEAD.size))
        if magic != MAGIC:
            raise SystemExit("the station sent something that is no message")
        return kind, self.exactly(size)

    def exactly(self, size):
        """So many bytes. Ends the process when the station has ended."""
        data = b""
        while len(data) < size:
            more = self._link.recv(size - len(data), socket.MSG_WAITALL)
            if not more:
                raise SystemExit(0)
            data += more
        return data


def reason(error):
    return f"{type(error).__name__}: {error}".encode(errors="replace")[:4000]


def load(path, name):
    """The plug-in's file, as a module; its folder comes first where it imports from."""
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PlugInWorker:
    """Runs a plug-in for a station, and is the `out` that its author sends to. A kind of plug-in adds `send`, and what is its own."""

    def __init__(self, station, module):
        self._station = station
        self._begin_run, self._poll, self._read_out, self._end_run = (
            getattr(module, name, None) for name in ("begin_run", "poll", "read_out", "end_run"))
        self._records, self._count, self._last = bytearray(), 0, time.monotonic()
        self._running = self._ending = self._some = False
        self._poll_interval, self._pause, self._poll_again = 0.001, 0.0, 0.0
        self._call = bytearray(1)  # that goes on; from begin_run on in shared memory

    def _call_begin_run(self, run, words):
        if self._begin_run:
            self._begin_run(run, words)

    def _call_poll(self):
        self._poll(self)

    def _call_end_run(self):
        if self._end_run:
            self._end_run(self)

    def _take(self, kind, body):
        """A message of its own kind. False: it is none."""
        return False

    def _serve(self):
        has = (HAS_POLL if self._poll else 0) | (HAS_READ_OUT if self._read_out else 0)
        self._answer(READY, struct.pack("<I", has))
        rest, looked = ALIVE_AFTER, 0.0
        while True:
            now = time.monotonic()
            if rest > 0 or now - looked >= LOOK_AGAIN:
                looked = now
                came = self._look(rest)
                rest = 0
                if came:
                    continue
            rest = self._poll_once() if self._running and not self._ending and self._poll else ALIVE_AFTER
            if rest > 0 or self._silent_for(LINGER):
                self._flush()
            self._say_alive()
            if self._ending:
                if self._running:
                    self._guarded(CALL_END_RUN, 0, self._call_end_run)
                self._running = self._ending = False
                self._answer(ENDED)

    def _look(self, wait):
        """Takes a message. False: none came for so long."""
        message = self._station.receive(wait)
        if message is None:
            return False
        kind, body = message
        if kind == BEGIN_RUN:
            run, interval, *words = struct.unpack(f"<{len(body) // 4}I", body)
            self._poll_interval = interval / 1e6
            self._call = mmap.mmap(4, 4)
            self._running = self._guarded(CALL_BEGIN_RUN, 0, self._call_begin_run, run, words)
            if self._running:
                self._answer(BEGUN)
        elif kind == END_RUN:
            self._ending = True
        elif not self._take(kind, body):
            raise SystemExit("the station sent a message that is none")
        return True

    def _poll_once(self):
        """How long to rest before the next."""
        if time.monotonic() < self._poll_again:
            return 0.02
        self._some = False
        if not self._guarded(POLL, 0, self._call_poll):
            self._pause = min(max(2 * self._pause, 0.1), 2.0)
            self._poll_again = time.monotonic() + self._pause
            return 0.02
        self._pause = 0.0
        return 0 if self._some else self._poll_interval

    def _guarded(self, call, level1_id, work, *arguments):
        self._call[0], thrown = call, None
        try:
            work(*arguments)
        except Exception as error:  # the station reports any exception of the plug-in
            thrown = reason(error)
        self._call[0] = NONE
        if thrown is not None:
            self._answer(FAILED, struct.pack("<II", call, level1_id) + thrown)
        return thrown is None

    def _send_record(self, head, payload=b"", padding=b""):
        if len(self._records) + len(head) + len(payload) > BLOCK:
            self._flush()
        records = self._records
        records += head
        records += payload
        records += padding
        self._some = True
        self._count += 1
        if self._count >= RECORDS_MAX or time.monotonic() - self._last >= LINGER:
            self._flush()

    def _flush(self):
        if self._records:
            self._station.send(RECORDS, self._records)
            self._records, self._count, self._last = bytearray(), 0, time.monotonic()

    def _answer(self, kind, body=b""):
        """Behind all records that were sent before."""
        self._flush()
        self._station.send(kind, body)
        self._last = time.monotonic()

    def _say_alive(self):
        if self._silent_for(ALIVE_AFTER):
            self._answer(ALIVE)

    def _silent_for(self, seconds):
        return time.monotonic() - self._last >= seconds


def run(worker, started_by, lacks, *functions):
    """The whole of such a script. A plug-in has one of these functions; one that has none `lacks` them."""
    if len(sys.argv) != 2:
        sys.exit(f"{os.path.basename(sys.argv[0])} is started by {started_by}")
    station = Station()
    try:
        module = load(sys.argv[1], "weir_plug_in")
        if not any(callable(getattr(module, function, None)) for function in functions):
            raise AttributeError(f"{sys.argv[1]} has {lacks}")
    except BaseException as error:
        station.send(FAILED, struct.pack("<II", LOAD, 0) + reason(error))
        sys.exit(1)
    worker(station, module)._serve()
