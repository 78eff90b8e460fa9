# SPDX-License-Identifier: Apache-2.0
"""A board that can send datagrams and nothing else, under a header of its own; testbeam.toml describes it to weir.

    udp_board.py --record board-4.record

Nobody answers it: what the network loses is lost, and weir names it.
"""
import socket
import struct
import sys

from trigger_line import Record, arguments, samples, triggers

SOURCE = 0x440000


def main():
    given = arguments(__doc__.splitlines()[0], 9101).parse_args()
    host, port = given.readout.rsplit(":", 1)
    to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # not connected: that nobody is there just now is no error of a send
    record = Record(given.record)
    count = 0
    for number, _ in triggers():
        payload = struct.pack(">16H", *samples(SOURCE, number, 16))  # big-endian, as this board's processor is
        to.sendto(struct.pack(">HHHHI", 0xCAFE, len(payload), 0, number & 0xFFFF, 0) + payload, (host, int(port)))
        record.add(number, payload)
        count += 1
    record.close()
    print(f"udp board: {count} datagrams sent")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"udp board: {error}")
