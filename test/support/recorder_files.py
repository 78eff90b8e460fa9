# SPDX-License-Identifier: Apache-2.0
"""Raw files, read by a second reader that shares nothing with the program: container, fragments, ids.

It is short because it is strict: a word that is not at its place in the format ends the test.
"""
import json
import pathlib
import struct

from weir_program import run

FILE_START, NAMES, METADATA, RUN, SEPARATOR, FILE_END, LAST = (
    0x1234AAAA, 0x1234AABB, 0x1234AABC, 0x1234BBBB, 0x1234CCCC, 0x1234DDDD, 0x1234EEEE)
EVENT, SUB_DETECTOR, ROS, ROB, ROD = 0xAA1234AA, 0xBB1234BB, 0xCC1234CC, 0xDD1234DD, 0xEE1234EE


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class RawFile:
    """A closed raw file of version 2 or 6: its records, and its events one after the other."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.data = self.path.read_bytes()
        expect(self.word(0) == FILE_START, f"{path} does not begin like a raw file")
        self.version, self.file_number = self.word(8), self.word(12)
        at = 4 * self.word(4)
        expect(self.word(at) == NAMES, f"{path}: no name strings")
        at = self._skip_text(self._skip_text(at + 4))
        if self.word(at) == METADATA:
            count, at = self.word(at + 4), at + 8
            for _ in range(count):
                at = self._skip_text(at)
        expect(self.word(at) == RUN, f"{path}: no run record")
        self.run = self.word(at + 8)
        self.first = at + 4 * self.word(at + 4)
        self.end = len(self.data) - 40
        expect(self.word(self.end) == FILE_END and self.word(self.end + 36) == LAST, f"{path}: no end record")
        self.events_stated, self.events_stated_so_far = self.word(self.end + 16), self.word(self.end + 24)

    def word(self, at):
        return struct.unpack_from("<I", self.data, at)[0]

    def _skip_text(self, at):
        return at + 4 + (self.word(at) + 3) // 4 * 4

    def events(self):
        """Block number and bytes of each event; they fill the file to its end record exactly."""
        at, count = self.first, 0
        while at < self.end:
            marker, words, block, size = struct.unpack_from("<4I", self.data, at)
            expect((marker, words) == (SEPARATOR, 4), f"{self.path}: no separator at {at}")
            at += 16
            yield block, self.data[at:at + size]
            at, count = at + size, count + 1
        expect(at == self.end, f"{self.path}: the last event runs into the end record")
        expect(count == self.events_stated, f"{self.path}: {count} events, the end record has {self.events_stated}")


def level1_places(event):
    """Event 3.0: the offsets of all words that hold an event number or a level-1 id: two in the event's
    header, one in each ROS and ROD."""
    word = lambda at: struct.unpack_from("<I", event, at)[0]
    expect(word(0) == EVENT and 4 * word(4) == len(event), "not an event")
    specific = 4 * (7 + word(20))  # status words, then how many specific words, then those
    places, pending = [specific + 4, specific + 12], [(4 * word(8), len(event))]
    while pending:
        at, end = pending.pop()
        while at < end:
            marker, size, header = word(at), 4 * word(at + 4), 4 * word(at + 8)
            if marker == ROD:
                places.append(at + 20)
                break  # a ROB holds one ROD
            expect(marker in (SUB_DETECTOR, ROS, ROB) and header <= size <= end - at, f"fragment {marker:#x} at {at}")
            if marker == ROS:
                places.append(at + 4 * (7 + word(at + 20)) + 4)
            pending.append((at + header, at + size))
            at += size
    return sorted(places)


def listed(directory):
    """The catalogue's files."""
    ended = run("ls", "--json", directory)
    expect(ended.code == 0, repr(ended))
    return ended.json["files"]


def ids_by_stream(directory, opaque=()):
    """Global event ids of all stored copies, per stream, as `weir cat` reads them from the files. Streams of opaque
    events, which hold no ids, are omitted."""
    streams = {}
    for file in listed(directory):
        if file["stream"] in opaque:
            continue
        ended = run("cat", "--json", file["path"])
        expect(ended.code == 0, repr(ended))
        document = json.loads(ended.out)
        expect(document["complete"], file["path"])
        expect(len(document["events"]) == file["events"], file["path"])
        streams.setdefault(file["stream"], []).extend(event["global_id"] for event in document["events"])
    return streams


def assert_verified_after_a_loss_of_power(test, ended, *directories):
    """`ended`: of weir verify. Each file is as it was recorded. After a loss of power, of which the journal alone tells where the acknowledged events end,
    whole events that were on their way are set aside (docs/apps/recover.md); verify names them until somebody has looked, and they
    are no loss: their senders send them again."""
    aside = {str(path) for directory in directories for path in directory.glob("*.cut-*")}
    test.assertEnds(ended, 1 if aside else 0)
    named = [line for line in ended.out.splitlines() if line.startswith("/")]
    test.assertEqual({line.split(": ")[0] for line in named}, aside, ended)
    for line in named:
        test.assertIn("recovery has set this aside", line)
