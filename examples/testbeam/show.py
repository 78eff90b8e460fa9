# SPDX-License-Identifier: Apache-2.0
"""Shows what was taken: events by stream, and a histogram of the calorimeter's energy.

    show.py D
"""
import collections
import sys

import weir

CALORIMETER, BIN = 0x430000, 10_000


def main():
    streams, energies = collections.Counter(), collections.Counter()
    for file in weir.open(sys.argv[1]).files:
        streams[file.stream] += len(file)
        for event in file:
            if event.robs[CALORIMETER].status == 0:
                energies[int(event[CALORIMETER][0]) // BIN] += 1
    for stream, count in sorted(streams.items()):
        print(f"{stream:24}{count:8} events")
    if not energies:
        sys.exit("no event has data of the calorimeter")
    most = max(energies.values())
    for bin in range(min(energies), max(energies) + 1):
        print(f"{bin * BIN:8} to {(bin + 1) * BIN:<8}{energies[bin]:8} {'#' * (40 * energies[bin] // most)}")


if __name__ == "__main__":
    main()
