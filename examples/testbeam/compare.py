# SPDX-License-Identifier: Apache-2.0
"""Compares the boards' own records with the events in weir's files, without weir: it reads the raw files itself.

    compare.py D 0x420000=board-1.record 0x420001=board-2.record 0x430000=board-3.record 0x440000=board-4.record

Each event must hold the payload of each board bit for bit, and must be there once in its stream; ends with 1 when not.
"""
import pathlib
import struct
import sys

FILE_START, NAMES, METADATA, RUN, SEPARATOR, FILE_END = 0x1234AAAA, 0x1234AABB, 0x1234AABC, 0x1234BBBB, 0x1234CCCC, 0x1234DDDD
EVENT, ROB = 0xAA1234AA, 0xDD1234DD


def recorded(path):
    """{event: payload} of a board's own record."""
    data, at, found = path.read_bytes(), 0, {}
    while at < len(data):
        number, size = struct.unpack_from("<II", data, at)
        found[number] = data[at + 8:at + 8 + size]
        at += 8 + size
    return found


def events(path):
    """The bytes of each event of a raw file (docs/formats/atlas-raw.md)."""
    data = path.read_bytes()
    word = lambda at: struct.unpack_from("<I", data, at)[0]
    text = lambda at: at + 4 + (word(at) + 3) // 4 * 4
    if word(0) != FILE_START:
        sys.exit(f"{path}: is no raw file")
    at = 4 * word(4)
    while word(at) != SEPARATOR and word(at) != FILE_END:  # the records before the first event
        if word(at) == NAMES:
            at = text(text(at + 4))
        elif word(at) == METADATA:
            count, at = word(at + 4), at + 8
            for _ in range(count):
                at = text(at)
        elif word(at) == RUN:
            at += 4 * word(at + 4)
        else:
            sys.exit(f"{path}: {word(at):#x} at {at}")
    while word(at) == SEPARATOR:
        size = word(at + 12)
        yield data[at + 16:at + 16 + size]
        at += 16 + size


def payloads(event):
    """The level-1 id of an event, and {source: payload} (docs/formats/atlas-raw.md); None where the data of a source are missing."""
    word = lambda at: struct.unpack_from("<I", event, at)[0]
    if word(0) != EVENT or 4 * word(4) != len(event):
        sys.exit("what stands in a file is no event")
    at, number, found = 4 * word(8), None, {}
    while at < len(event):
        if word(at) != ROB:
            sys.exit(f"{word(at):#x} in an event where a ROB is expected")
        size, header, source, status = 4 * word(at + 4), 4 * word(at + 8), word(at + 16), word(at + 24)
        rod = event[at + header:at + size]
        statuses, _, _ = struct.unpack("<III", rod[-12:])  # status words, data words, which come first
        own = len(rod) - 12 - 4 * statuses
        bytes_sent = struct.unpack_from("<I", rod, own + 4)[0] if statuses > 1 else 0  # the readout's second status word
        found[source] = None if status else rod[36:36 + bytes_sent]
        number = struct.unpack_from("<I", rod, 20)[0] if not status else number
        at += size
    return number, found


def main():
    directory, records = pathlib.Path(sys.argv[1]), {}
    for word in sys.argv[2:]:
        source, path = word.split("=", 1)
        records[int(source, 0)] = recorded(pathlib.Path(path))
    count, equal, missing, wrong, seen = 0, 0, 0, 0, set()
    for path in sorted(directory.rglob("*.data")):
        for event in events(path):
            number, found = payloads(event)
            count += 1
            if sorted(found) != sorted(records) or (path.parent, number) in seen:
                wrong += 1
                print(f"event {number}: sources {sorted(map(hex, found))}, or there twice", file=sys.stderr)
                continue
            seen.add((path.parent, number))
            for source, payload in found.items():
                if payload is None:
                    missing += 1
                    print(f"event {number}: no data of {source:#x}", file=sys.stderr)
                elif payload == records[source].get(number % (1 << 32)):
                    equal += 1
                else:
                    wrong += 1
                    print(f"event {number}: {source:#x} has other data than the board sent", file=sys.stderr)
    print(f"{count} events: {equal} payloads as the boards sent them, {missing} missing, {wrong} wrong")
    return 0 if count and not missing and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
