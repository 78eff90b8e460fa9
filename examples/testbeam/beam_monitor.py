# SPDX-License-Identifier: Apache-2.0
"""What a shifter of the test beam looks at: the calorimeter's energy, and how much each board sends. docs/monitors.md is the guide.

The first word of the calorimeter's data is the sum of its samples, as in select_hits.py.
"""
BOARDS, CALORIMETER = [0x420000, 0x420001, 0x430000, 0x440000], 0x430000


def begin_run(book):
    global energy, size, lost
    energy = book.histogram("energy", "energy in the calorimeter;sum of samples;events", (100, 0, 100_000))
    size = book.histogram("size", "what the boards send;board;bytes;fragments", (len(BOARDS), 0, len(BOARDS)), [0, 16, 64, 256, 1024, 4096, 16384, 65536])
    lost = book.counter("lost fragments")


def see(event):
    for number, board in enumerate(BOARDS):
        if event.status.get(board, 1) != 0:
            lost.add()
        else:
            size.fill(number, event.data[board].nbytes)
    if event.status.get(CALORIMETER, 1) == 0 and len(event.data[CALORIMETER]):
        energy.fill(int(event.data[CALORIMETER][0]))
