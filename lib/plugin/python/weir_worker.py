# SPDX-License-Identifier: Apache-2.0
"""What the Python ends of weir's worker processes share: the socket to the station, and a plug-in's file as a module.
lib/plugin/include/weir/plugin/worker_message.hpp describes the frame of the messages."""
import ctypes
import importlib.util
import os
import select
import signal
import socket
import struct
import sys

MAGIC = 0x41535257
HEAD = struct.Struct("<3I")


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
