# SPDX-License-Identifier: Apache-2.0
"""A board whose program is in Python: waits for triggers, reads out, hands the data to weir.

    board.py 0x420000 --record board-1.record

It waits while the readout has no room: that is the board's busy. It ends when the trigger line does, with 1 when any fragment was not taken.
"""
import struct
import sys

import weir
from trigger_line import Record, arguments, samples, triggers


def main():
    parser = arguments(__doc__.splitlines()[0], 9100)
    parser.add_argument("source", type=lambda text: int(text, 0), help="source id, 0x420000")
    given = parser.parse_args()
    record = Record(given.record)
    print(f"board-{given.source:x}: waits for weir at {given.readout}", flush=True)
    with weir.FragmentSender(given.readout, f"board-{given.source:x}") as to:
        for number, time_ns in triggers():
            data = samples(given.source, number, 32)
            payload = struct.pack("<I32H", sum(data), *data)
            to.send(given.source, number, payload, time_ns=time_ns)
            record.add(number, payload)
    record.close()  # leaving `with` waited until all were taken
    print(f"board-{given.source:x}: {to.stats().taken} fragments taken")


if __name__ == "__main__":
    try:
        main()
    except (weir.SendError, TimeoutError, OSError) as error:
        sys.exit(f"board: {error}")
