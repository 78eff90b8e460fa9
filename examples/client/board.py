# SPDX-License-Identifier: Apache-2.0
"""The same front-end in Python: python3 board.py ros-1:9100 0x420002 1000 board.record"""
import struct
import sys

import numpy
import weir


def on_state(state, why):
    if state != "connected":
        print(f"board: {state}: {why}", file=sys.stderr)


def on_ended(first, last, reason):
    if reason:
        print(f"board: {first} to {last}: {reason}", file=sys.stderr)


def main():
    host, source, events, path = sys.argv[1], int(sys.argv[2], 0), int(sys.argv[3]), sys.argv[4]
    with open(path, "wb") as record, weir.FragmentSender(host, f"board-{source:x}", on_state=on_state, on_ended=on_ended, close_timeout=60) as board:
        for event in range(1, events + 1):
            words = 1 + (event * 7919 + source) % 256
            data = (event * 2654435761 + numpy.arange(words)).astype("<u4")  # what the board read out
            board.send(source, event, data)  # waits while the readout has no room: the board's busy
            record.write(struct.pack("<II", event, data.nbytes) + data.tobytes())
    stats = board.stats()
    print(f"{stats.taken} of {stats.sent} fragments taken")
    return 0 if stats.taken == events else 1


if __name__ == "__main__":
    sys.exit(main())
