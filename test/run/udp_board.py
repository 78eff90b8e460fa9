# SPDX-License-Identifier: Apache-2.0
"""A board that can send datagrams and nothing else, in a process of its own. It knows docs/formats/input-udp.md and no line of weir.

    udp_board.py PORT SOURCE COUNT [ADDRESS]

Its input is its trigger line: for each line "FIRST LAST", numbers of triggers, it sends a fragment each to PORT, from ADDRESS, and then
prints what it sent. Its counter begins at COUNT and is its own: which trigger a fragment is of is seen in the payload alone.
"""
import random
import socket
import struct
import sys


def payload_of(source, trigger):
    """Any bytes, of any length, the same again."""
    drawn = random.Random(source << 32 | trigger)
    return struct.pack(">II", source, trigger) + drawn.randbytes(drawn.choice((0, 1, 3, 40, 999)))


def own(source, counter, payload, part=0, parts=1):
    """Under weir's header, without a checksum."""
    return struct.pack("<IHHIIqIIII", 0x50445557, 1, 1, source, counter & 0xFFFFFFFF, 0, part, parts, len(payload), 0) + payload


def foreign(source, counter, payload):
    """Under a header that the partition file describes, with a counter of 16 bits; filled up to the least frame of Ethernet."""
    head = struct.pack(">HHBBBxH", 0xCAFE, len(payload), source & 0xFF, 0, 1, counter & 0xFFFF)
    return (head + payload).ljust(46, b"\0")


def main():
    port, source, count = (int(word, 0) for word in sys.argv[1:4])
    make = foreign if source >> 16 == 0x43 else own
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
        board.bind((sys.argv[4] if len(sys.argv) > 4 else "127.0.0.1", 0))
        for line in sys.stdin:
            first, last = map(int, line.split())
            for trigger in range(first, last + 1):
                board.sendto(make(source, count, payload_of(source, trigger)), ("127.0.0.1", port))
                count += 1
            print(f"sent {line.strip()}", flush=True)


if __name__ == "__main__":
    main()
