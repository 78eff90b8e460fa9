# SPDX-License-Identifier: Apache-2.0
"""A partition that takes its fragments from programs outside: boards that speak the documented protocol over real sockets and keep a
record of their own, which is compared with the files without a line of weir's code."""
import random
import socket
import struct
import threading
import time
import unittest

import recorder_wire as wire
import weir_program
from recorder_files import EVENT, ROB, ROD, RawFile, expect
from weir_process import Process, wait_until
from weir_program import ProgramTest, run

FRAGMENTS, REFUSED = 4, 8
HAS_ID, HAS_TIME = 1, 2
DUPLICATE = 3  # why a record was refused

PARTITION = """
[partition]
name = "boards"
[readout.ros-1]
source = "network"
input = "127.0.0.1:0"
sources = ["0x420000", "0x420001"]
{ros_1}
[readout.ros-2]
source = "network"
input = "127.0.0.1:0"
sources = ["0x430000"]
[supervise.l2sv]
events = {events}
[assign.dfm]
[build.sfi-1]
event_deadline = "60s"
suspect_deadline = "60s"
[record.rec-1]
"""


def fragment(source, event, payload, status=()):
    """One record, as docs/formats/input-protocol.md has it."""
    body = struct.pack("<IIHHqII", source, event, HAS_ID | HAS_TIME, len(status), 1000 * event, len(payload), 0)
    body += struct.pack(f"<{len(status)}I", *status) + payload + bytes(-len(payload) % 4)
    return struct.pack("<I", 4 + len(body)) + body


def payload_of(source, event):
    """Any bytes, of any length, the same again."""
    drawn = random.Random(source << 32 | event)
    return drawn.randbytes(drawn.choice((0, 1, 3, 40, 999, 3000)))


class Board(threading.Thread):
    """A front-end: sends one block for each few events, keeps what has no answer, and comes back when its connection is lost."""

    def __init__(self, port, sources, events, *, name, incarnation=1, every=7, die_at=None, first=1):
        super().__init__(daemon=True)
        self.port, self.sources, self.name_, self.incarnation, self.form = port, sources, name.encode(), incarnation, FRAGMENTS
        self.blocks = {}
        for number, begin in enumerate(range(first, first + events, every), 1):
            ids = range(begin, min(begin + every, first + events))
            self.blocks[number] = b"".join(fragment(s, e, payload_of(s, e), (0xABCD,)) for e in ids for s in sources)
        self.open, self.refused, self.connections, self.die_at = dict(self.blocks), {}, 0, die_at
        self.failure = None

    def run(self):
        try:
            while self.open and self.die_at != self.connections:
                self.connections += 1
                try:
                    self.serve()
                except (OSError, wire.Closed):
                    time.sleep(0.02)
        except Exception as error:  # shown by the test
            self.failure = error

    def serve(self):
        with wire.Peer(self.port) as peer:
            oldest = min(self.open)
            meta = struct.pack("<HBBIQIHxxQ", 2, self.form, 1, 0, self.incarnation, 0, len(self.name_), oldest) + self.name_
            peer.send(wire.header(wire.HELLO, meta) + meta)
            kind, welcome = peer.receive()
            if kind != wire.WELCOME:
                raise OSError("no run goes on")
            credit, = struct.unpack_from("<Q", welcome, 8)
            sent, begun = [], 0
            todo = sorted(self.open)
            while self.open:
                while todo:
                    block = self.open.get(todo[0])
                    if block is None:
                        todo.pop(0)
                        continue
                    oldest = min(self.open)
                    meta = struct.pack("<QQQIIIHxx", todo[0], oldest, 0, 0, 0, wire.crc32c(block), 0)
                    size = 24 + len(meta) + len(block)
                    if begun + size > credit:
                        break
                    peer.send(wire.header(wire.EVENT, meta, len(block)) + meta + block)
                    begun += size
                    sent.append(todo.pop(0))
                kind, meta = peer.receive()
                if kind == REFUSED:
                    sequence, count = struct.unpack_from("<QI", meta)
                    self.refused[sequence] = [struct.unpack_from("<IH", meta, 16 + 8 * i) for i in range(count)]
                elif kind == wire.ACK:
                    credit, cumulative, ranges = struct.unpack_from("<QQI", meta)
                    final = set(range(1, cumulative + 1))
                    for i in range(ranges):
                        first, last = struct.unpack_from("<QQ", meta, 24 + 16 * i)
                        final |= set(range(first, last + 1))
                    for sequence in final & set(self.open):
                        del self.open[sequence]
                elif kind == wire.BYE:
                    raise OSError("the readout ended the connection")


class Relay:
    """Between boards and a readout: cuts the connection after so many bytes, again and again."""

    def __init__(self, port, cut_after):
        self.target, self.cut_after, self.cuts, self.sockets = port, cut_after, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
                target = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            self.sockets += [peer, target]
            left = [self.cut_after if self.cuts < 6 else 1 << 60]
            for a, b, counts in ((peer, target, True), (target, peer, False)):
                threading.Thread(target=self.carry, args=(a, b, left, counts), daemon=True).start()

    def close(self):
        for one in (self.listener, *self.sockets):
            one.close()

    def carry(self, a, b, left, counts):
        try:
            while data := a.recv(65536):
                if counts:
                    data, over = data[:left[0]], len(data) > left[0]
                    left[0] -= len(data)
                    b.sendall(data)
                    if over:
                        self.cuts += 1
                        break
                else:
                    b.sendall(data)
        except OSError:
            pass
        for one in (a, b):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def robs_of(event):
    """{source: (level-1 id, data, status words)} of the RODs in an event of format 5.0; None for a ROB without data."""
    word = lambda at: struct.unpack_from("<I", event, at)[0]
    expect(word(0) == EVENT and 4 * word(4) == len(event), "not an event")
    at, found = 4 * word(8), {}
    while at < len(event):
        expect(word(at) == ROB, f"no ROB at {at}")
        size, header, source = 4 * word(at + 4), 4 * word(at + 8), word(at + 16)
        rod = event[at + header:at + size]
        expect(struct.unpack_from("<I", rod)[0] == ROD, "no ROD")
        status, data, position = struct.unpack("<III", rod[-12:])
        expect(position == 1, "status words before the data")
        body = rod[36:36 + 4 * data]
        words = struct.unpack_from(f"<{status}I", rod, 36 + 4 * data)
        lost = word(at + 24) != 0
        found[source] = None if lost else (struct.unpack_from("<I", rod, 20)[0], body, words)
        at += size
    return found


class BoardsTest(ProgramTest):
    """A partition whose readouts boards fill."""

    def partition(self, events, ros_1=""):
        file = self.folder / "boards.toml"
        file.write_text(PARTITION.format(events=events, ros_1=ros_1))
        self.directory = self.folder / "D"
        process = Process(self.folder, "run", file, "--dir", self.directory, "--json")
        self.addCleanup(process.__exit__)
        place = wait_until(lambda: (self.directory / "run-control.json").exists() and (self.directory / "run-control.json").read_text()
                           or not process.running(), "run control")
        expect(isinstance(place, str), f"weir run has ended: {process.err}")
        self.process = process
        return process

    def ports(self):
        def look():
            answer = run("run", "status", "--dir", self.directory, "--json")
            if answer.code != 0:
                return None
            stations = {one["name"]: one for one in answer.json["stations"]}
            found = [stations[name].get("counters", {}).get("input_port") for name in ("ros-1", "ros-2")]
            return [int(port) for port in found] if all(found) else None
        return wait_until(look, "the ports of the readouts")

    def recorded(self):
        """{level-1 id: its ROBs}, each event once."""
        events = {}
        for path in sorted(self.directory.rglob("*.data")):
            for _, data in RawFile(path).events():
                robs = robs_of(data)
                ids = {rob[0] for rob in robs.values() if rob}
                expect(len(ids) == 1, f"RODs of {sorted(ids)} in one event")
                expect(ids.isdisjoint(events), f"event {ids} twice")
                events[ids.pop()] = robs
        return events

    def compare(self, events, sources):
        recorded = self.recorded()
        self.assertEqual(sorted(recorded), list(range(1, events + 1)))
        for event, robs in recorded.items():
            self.assertEqual(sorted(robs), sorted(sources))
            for source, rob in robs.items():
                expect(rob is not None, f"event {event}: {source:#x} is missing")
                payload = payload_of(source, event)
                self.assertEqual(rob[1][:len(payload)], payload, f"event {event}, source {source:#x}")
                self.assertEqual(rob[1][len(payload):], bytes(-len(payload) % 4))
                self.assertEqual(rob[2], (0, len(payload), 0xABCD))

    def finish(self):
        ended = self.process.wait(120)
        self.assertEqual(ended.code, 0, ended)
        for station in ended.json["stations"]:
            ledger = station["ledger"]
            self.assertEqual(ledger["received"], ledger["stored"] + sum(ledger["rejected"].values()), station)
            self.assertEqual(ledger["in_hand"], 0, station)
        return ended.json


class InputTest(BoardsTest):
    def test_what_three_boards_bring_is_built_bit_for_bit(self):
        events = 2000
        self.partition(events, 'events_max = 64\nmemory = "1MiB"')  # small: boards wait for credit
        first, second = self.ports()
        boards = [Board(first, [0x420000], events, name="board-1"), Board(first, [0x420001], events, name="board-2", every=3),
                  Board(second, [0x430000], events, name="board-3")]
        for board in boards:
            board.start()
        report = self.finish()
        for board in boards:
            board.join(30)
            self.assertEqual((board.open, board.refused, board.failure), ({}, {}, None))
        self.compare(events, [0x420000, 0x420001, 0x430000])
        self.assertEqual(report["problems"], [])

    def test_connections_that_are_cut_a_board_that_returns_and_garbage_cost_nothing(self):
        events = 1500
        self.partition(events)
        first, second = self.ports()
        relay = Relay(first, 60_000)
        self.addCleanup(relay.close)
        both = Board(relay.port, [0x420000, 0x420001], events, name="boards")
        third = Board(second, [0x430000], events, name="board-3", die_at=0)
        both.start()
        for bytes_sent in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 5000, wire.header(wire.HELLO, b"short") + b"short"):
            with socket.create_connection(("127.0.0.1", second), timeout=60) as peer:
                peer.sendall(bytes_sent)
        # A board that dies after half of its events, and its next process, which begins again from the first.
        half = Board(second, [0x430000], events // 2, name="board-3", incarnation=1)
        half.start()
        half.join(60)
        self.assertEqual((half.open, half.failure), ({}, None))
        again = Board(second, [0x430000], events, name="board-3", incarnation=2)
        again.start()
        report = self.finish()
        for board in (both, again):
            board.join(30)
            self.assertEqual((board.open, board.failure), ({}, None))
        self.assertEqual(relay.cuts, 6)
        self.compare(events, [0x420000, 0x420001, 0x430000])
        reasons = {reason for records in again.refused.values() for _, reason in records}
        self.assertLessEqual(reasons, {DUPLICATE, 4}, "here already, or its event is done with")
        self.assertGreater(sum(map(len, again.refused.values())), 0)
        self.assertEqual(report["problems"], [])


if __name__ == "__main__":
    weir_program.main()
