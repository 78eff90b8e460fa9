# SPDX-License-Identifier: Apache-2.0
"""What the boards of this example have in common: the trigger line, and the record that each keeps of what it read out.

At a beam the line is a cable. Here it is a TCP connection from the trigger unit to each board, on which 16 bytes come for each trigger:
its number (64 bits, from 1 on) and its time, nanoseconds since 1970, both little-endian. It ends when the trigger unit ends.
"""
import argparse
import pathlib
import random
import socket
import struct
import time

TRIGGER = struct.Struct("<Qq")
LINE = ("127.0.0.1", 9300)


def connected(seconds=30):
    """The line; boards may be started before the trigger unit."""
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(LINE)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise TimeoutError(f"no trigger unit at {LINE[0]}:{LINE[1]} for {seconds} s; start trigger_unit.py") from None
            time.sleep(0.1)


def triggers():
    """(number, time in ns) of each trigger, as it comes."""
    with connected() as line:
        pending = b""
        while more := line.recv(1 << 16):
            pending += more
            whole = len(pending) // TRIGGER.size * TRIGGER.size
            yield from TRIGGER.iter_unpack(pending[:whole])
            pending = pending[whole:]


def samples(source, number, count):
    """What a board reads out: `count` samples of 16 bits, noise and now and then a hit, the same again for the same trigger."""
    drawn = random.Random(source << 32 | number)
    height = 2000 if drawn.random() < 0.2 else 0
    return [200 + drawn.getrandbits(5) + (height if 4 <= i < 14 else 0) for i in range(count)]


class Record:
    """The board's own file, which is compared with weir's afterwards: number and size of each payload (32 bits each), then its bytes."""

    def __init__(self, path):
        self._file = open(path, "wb")

    def add(self, number, payload):
        self._file.write(struct.pack("<II", number, len(payload)) + payload)

    def close(self):
        self._file.close()


def arguments(what, port):
    """--readout HOST:PORT and --record FILE, which every board has."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--readout", default=f"127.0.0.1:{port}", help="HOST:PORT of the readout (%(default)s)")
    parser.add_argument("--record", type=pathlib.Path, required=True, help="file for the board's own record")
    return parser
