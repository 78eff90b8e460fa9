# SPDX-License-Identifier: Apache-2.0
"""A partition that takes fragments by UDP from boards that are programs outside: under weir's own header and under one of theirs, over
real sockets that lose, double and disorder. What each board sent is compared with the files without a line of weir's code."""
import json
import random
import socket
import struct
import threading
import time
import unittest
import urllib.request
from collections import Counter

import recorder_wire as wire
import weir_program
from run_input_test import Board, BoardsTest, payload_of
from run_test import Partition
from weir_process import wait_until
from weir_program import ProgramTest, run

FIRST = 65_000  # of the run's level-1 ids: a board's 16 bits wrap soon
AFTER = 8  # fragments beyond the last trigger, which are never lost: a later one shows that an earlier one is missing
OWN, PARTED, FOREIGN, FOREIGN_2, BY_TCP = 0x420000, 0x420001, 0x430000, 0x430001, 0x440000
WORDS = ("whole", "part", "duplicate", "late", "jumped", "contradictory", "too_large", "no_counter", "unknown_source", "too_short", "foreign",
         "wrong_length", "wrong_checksum", "wrong_parts", "wrong_flags")

PARTITION = """
[partition]
name = "udp"
[run]
stop_when_finished = false
incomplete_max = "{incomplete_max}"
[data]
first_level1_id = {first}
[readout.ros-1]
source = "network"
input_udp = "127.0.0.1:0"
sources = ["0x420000", "0x420001"]
udp_wait = "1s"
[readout.ros-2]
source = "network"
input_udp = "127.0.0.1:0"
sources = ["0x430000", "0x430001"]
udp_wait = "1s"
udp_header_size = 10
udp_magic = "0:2:0xcafe"
udp_length = "2:2"
udp_source = "4:1"
udp_source_base = "0x430000"
udp_part = "5:1"
udp_parts = "6:1"
udp_counter = "8:2"
[readout.ros-3]
source = "network"
input = "127.0.0.1:0"
sources = ["0x440000"]
[supervise.l2sv]
events = {events}
[assign.dfm]
[build.sfi-1]
event_deadline = "60s"
suspect_deadline = "60s"
[record.rec-1]
"""


def own(source, event, payload, part=0, parts=1, flags=0x11):
    """A datagram as docs/formats/input-udp.md has it, with its checksum."""
    head = struct.pack("<IHHIIqIII", 0x50445557, 1, flags, source, event & 0xFFFFFFFF, 0, part, parts, len(payload))
    return head + struct.pack("<I", wire.crc32c(head + payload)) + payload


def foreign(source, event, payload, part=0, parts=1):
    """A datagram as the partition file describes it, filled up to the least frame of Ethernet."""
    head = struct.pack(">HHBBBxH", 0xCAFE, len(payload), source & 0xFF, part, parts, event & 0xFFFF)
    return (head + payload).ljust(46, b"\0")


class UdpBoard(threading.Thread):
    """A front-end that sends each fragment once, and a network behind it that loses, doubles and disorders."""

    def __init__(self, port, sources, events, *, make, seed, lose=0.0, double=0.0, disorder=1, part_size=None, before=None):
        super().__init__(daemon=True)
        self.to, self.sources, self.events, self.make, self.part_size = ("127.0.0.1", port), sources, events, make, part_size
        self.random, self.lose, self.double, self.disorder = random.Random(seed), lose, double, disorder
        self.sent, self.doubled, self.failure = 0, 0, None
        self.lost = {source: set() for source in sources}  # events of which something was lost on the way
        self.unconfirmed = set()  # events whose datagram came, and was refused as a jump
        self.before = before or {}  # datagrams that go before those of an event

    def datagrams(self, source, event):
        payload = payload_of(source, event)
        size = self.part_size or max(len(payload), 1)
        pieces = [payload[at:at + size] for at in range(0, len(payload), size)] or [b""]
        return [self.make(source, event, piece, part, len(pieces)) for part, piece in enumerate(pieces)]

    def run(self):
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as self.socket:
                on_the_way = []
                for event in range(FIRST, FIRST + self.events + AFTER):
                    certain = event >= FIRST + self.events
                    for datagram in self.before.get(event, ()):
                        self.send(datagram)
                    for source in self.sources:
                        for datagram in self.datagrams(source, event):
                            if not certain and self.random.random() < self.lose:
                                self.lost[source].add(event)
                                continue
                            on_the_way.append(datagram)
                            if self.random.random() < self.double:
                                self.doubled += 1
                                on_the_way.append(datagram)
                    while len(on_the_way) > self.disorder:
                        self.send(on_the_way.pop(self.random.randrange(len(on_the_way))))
                for datagram in on_the_way:
                    self.send(datagram)
        except Exception as error:  # shown by the test
            self.failure = error

    def send(self, datagram):
        self.socket.sendto(datagram, self.to)
        self.sent += 1
        if self.sent % 10 == 0:
            time.sleep(0.001)  # as a board that is triggered; there is no credit


class Hostile:
    """Datagrams that no board sends, and how many of each kind."""

    def __init__(self, seed):
        self.random, self.sent = random.Random(seed), {"ros-1": Counter(), "ros-2": Counter()}

    def send(self, ports):
        draw = self.random
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            def one(station, word, datagram):
                out.sendto(datagram, ("127.0.0.1", ports[station]))
                self.sent[station][word] += 1
                if sum(self.sent[station].values()) % 10 == 0:
                    time.sleep(0.001)

            for i in range(100):
                event = FIRST + draw.randrange(1000)
                one("ros-1", "too_short", draw.randbytes(draw.randrange(40)))
                one("ros-1", "foreign", b"\0" + draw.randbytes(40 + draw.randrange(200)))
                good = bytearray(own(OWN, event, b"not what the board sent"))
                at = draw.choice([i for i in range(8, len(good)) if not 24 <= i < 36])  # no length or part, which are looked at first
                good[at] ^= 1 + draw.randrange(255)
                one("ros-1", "wrong_checksum", good)
                one("ros-1", "wrong_length", own(OWN, event, b"four")[:-1])
                one("ros-1", "wrong_parts", own(PARTED, event, b"x", 7, 7))
                one("ros-1", "wrong_flags", own(OWN, event, b"x", flags=0x8001))
                one("ros-1", "unknown_source", own(0x999999, event, b"of nobody"))
                one("ros-1", "no_counter", own(PARTED, 0, b"x", 0, 2, flags=0x10))
                one("ros-1", "jumped", own(PARTED, 0x7000_0000 - 1000 * i, b"a wild value"))
                one("ros-2", "too_short", b"\xca\xfe" + draw.randbytes(draw.randrange(8)))
                one("ros-2", "foreign", b"\0" + draw.randbytes(60))
                one("ros-2", "wrong_length", foreign(FOREIGN, event, bytes(1000))[:500])
                one("ros-2", "wrong_parts", foreign(FOREIGN, event, b"x", 0, 0))
                one("ros-2", "unknown_source", foreign(0x430077, event, b"of nobody"))


class UdpTest(BoardsTest):
    def begin(self, events, incomplete_max="0.1% or 10"):
        """A run that goes on until the test stops it; the ports of its readouts."""
        file = self.folder / "udp.toml"
        file.write_text(PARTITION.format(first=FIRST, events=events, incomplete_max=incomplete_max))
        self.process = Partition(self.folder, file, source=None)
        self.addCleanup(self.process.__exit__)
        self.directory = self.process.directory
        wait_until(lambda: self.process.get()["state"] == "running", "the run")
        return {name: int(self.counters(name)[key])
                for name, key in (("ros-1", "input_udp_port"), ("ros-2", "input_udp_port"), ("ros-3", "input_port"))}

    def counters(self, station):
        """Of a station, as it says itself."""
        with urllib.request.urlopen(f"http://{self.process.station(station)['control']}/status", timeout=60) as answer:
            return json.load(answer)["counters"]

    def end(self, events, code):
        self.process.until_built(events)
        run("run", "stop", "--dir", self.directory)  # 0, too, when run control has ended before it asks how the run was
        return self.assertEnds(self.process.wait(), code)

    def until_counted(self, station, sent):
        """Every datagram that was sent to a readout is under one reason."""
        def all_of_them():
            found = self.counters(station)
            return found if found["input_udp_datagrams"] + found["input_udp_kernel_drops"] >= sent else None
        found = wait_until(all_of_them, f"{sent} datagrams at {station}")
        self.assertEqual(found["input_udp_datagrams"] + found["input_udp_kernel_drops"], sent, found)
        self.assertEqual(found["input_udp_datagrams"], sum(found["input_udp_" + word] for word in WORDS), found)
        self.assertEqual(found["input_udp_no_run"], 0)
        return found

    def compare_with(self, report, events, boards):
        """The files with what the boards sent. What is missing beyond what the test itself lost was counted by weir."""
        recorded = self.recorded()
        self.assertEqual(sorted(recorded), list(range(FIRST, FIRST + events)))
        counters = {one["name"]: one["counters"] for one in report["stations"]}
        sources = {int(one["source"], 16): one for one in report["sources"]}
        for board in boards:
            for source, lost in board.lost.items():
                empty = {event for event, robs in recorded.items() if robs[source] is None}
                self.assertEqual(lost - empty, set(), f"{source:#x}: events have what was never sent")
                for event in set(recorded) - empty:
                    payload = payload_of(source, event)
                    _, data, words = recorded[event][source]
                    self.assertEqual(data[:len(payload)], payload, f"event {event}, source {source:#x}")
                    self.assertEqual(words, (0, len(payload)))
                counted, readout = sources[source], counters[sources[source]["readout"]]
                self.assertEqual(counted["missing"], len(empty), counted)
                # A full socket, or a machine that stands still for longer than udp_wait, may cost more: weir has counted that.
                more = readout["input_udp_kernel_drops"] + counted["late"] + readout["input_udp_duplicate"] - board.doubled
                self.assertLessEqual(len(empty - lost), more, (counted, readout))
                if more == 0:
                    self.assertEqual(counted["lost"], len(lost - board.unconfirmed), counted)
        return recorded, sources

    def assertTcpWhole(self, recorded):
        for event, robs in recorded.items():
            payload = payload_of(BY_TCP, event)
            self.assertEqual(robs[BY_TCP][1][:len(payload)], payload, event)

    def lossy(self, lose):
        events = 1500
        ports = self.begin(events)
        boards = [UdpBoard(ports["ros-1"], [OWN], events, make=own, seed=1, lose=lose, double=0.05, disorder=8),
                  UdpBoard(ports["ros-1"], [PARTED], events, make=own, seed=2, lose=lose, double=0.05, disorder=8, part_size=700),
                  UdpBoard(ports["ros-2"], [FOREIGN, FOREIGN_2], events, make=foreign, seed=3, lose=lose, double=0.05, disorder=8, part_size=1400)]
        by_tcp = Board(ports["ros-3"], [BY_TCP], events, name="board", first=FIRST)
        for board in (*boards, by_tcp):
            board.start()
        for board in (*boards, by_tcp):
            board.join(240)
            self.assertEqual((board.is_alive(), board.failure), (False, None))
        self.until_counted("ros-1", boards[0].sent + boards[1].sent)
        self.until_counted("ros-2", boards[2].sent)
        boards[0].doubled = boards[1].doubled = boards[0].doubled + boards[1].doubled  # the readout counts both together
        ended = self.end(events, 1)
        recorded, sources = self.compare_with(ended.json, events, boards)
        self.assertTcpWhole(recorded)
        self.assertEqual((sources[BY_TCP]["missing"], sources[BY_TCP]["arrived"]), (0, events))
        # A bad run, which says of which source how much is missing.
        incomplete = sum(any(rob is None for rob in robs.values()) for robs in recorded.values())
        self.assertEqual(ended.json["events"]["incomplete"], incomplete)
        problem, = ended.json["problems"]
        self.assertIn(f"{incomplete} of {events} events are incomplete", problem)
        for source in (OWN, PARTED, FOREIGN, FOREIGN_2):
            self.assertGreater(sources[source]["disordered"], 0)
            self.assertGreater(sources[source]["lost"], 0)
            self.assertEqual(sources[source]["jumps"], 0, "a counter that wraps")
            self.assertIn(f"source {source:#x} of {sources[source]['readout']} was missing in {sources[source]['missing']} of {events}", problem)

    def test_of_5_percent_lost_doubled_and_disordered_each_missing_fragment_is_counted_and_named(self):
        self.lossy(0.05)

    def test_of_1_percent_lost_doubled_and_disordered_each_missing_fragment_is_counted_and_named(self):
        self.lossy(0.01)

    def test_garbage_wrong_ids_and_a_counter_that_jumps_and_returns_shift_nobody(self):
        events, jump = 1000, FIRST + 400
        ports = self.begin(events, incomplete_max="100%")  # what a full socket costs is counted, and compared below
        astray = [own(OWN, 0x5000_0000 + i, b"astray") for i in range(10)]
        boards = [UdpBoard(ports["ros-1"], [OWN], events, make=own, seed=1, disorder=0, before={jump: astray}),
                  UdpBoard(ports["ros-1"], [PARTED], events, make=own, seed=2, part_size=700),
                  UdpBoard(ports["ros-2"], [FOREIGN, FOREIGN_2], events, make=foreign, seed=3)]
        boards[0].lost[OWN] = boards[0].unconfirmed = {jump}  # nothing confirms yet that the board counts from there
        by_tcp = Board(ports["ros-3"], [BY_TCP], events, name="board", first=FIRST)
        hostile = Hostile(4)
        for board in (*boards, by_tcp):
            board.start()
        hostile.send(ports)
        for board in (*boards, by_tcp):
            board.join(240)
            self.assertEqual((board.is_alive(), board.failure), (False, None))
        for station, sent in (("ros-1", boards[0].sent + boards[1].sent), ("ros-2", boards[2].sent)):
            found = self.until_counted(station, sent + sum(hostile.sent[station].values()))
            if found["input_udp_kernel_drops"] == 0:
                for word, count in hostile.sent[station].items():
                    self.assertEqual(found["input_udp_" + word], count + (2 if word == "jumped" else 0), (word, found))
        alarms = {alarm["name"]: alarm["text"] for alarm in self.process.get("/alarms")["alarms"]}
        self.assertRegex(alarms["counter_jumped"], r"source 0x420000")
        ended = self.end(events, 0)
        recorded, sources = self.compare_with(ended.json, events, boards)
        self.assertTcpWhole(recorded)
        self.assertEqual([sources[source]["jumps"] for source in (OWN, PARTED, FOREIGN, FOREIGN_2)], [2, 0, 0, 0])
        self.assertIn("a datagram was discarded: ", (self.directory / "log/ros-1.log").read_text())


class WrongDescriptions(ProgramTest):
    def test_a_header_that_contradicts_itself_is_one_line_that_names_the_key(self):
        for lines, words in (('input_udp = "127.0.0.1:0"\nudp_header_size = 8\nudp_source = "0:4"', ["udp_counter is needed"]),
                             ('input_udp = "127.0.0.1:0"\nudp_header_size = 8\nudp_source = "6:4"\nudp_counter = "0:4"', ["udp_source", "8 bytes"]),
                             ('input_udp = "127.0.0.1:0"\nudp_counter = "four"', ["udp_counter", "OFFSET:SIZE"]),
                             ('input_udp = "127.0.0.1:0"\nudp_counter = "0:4"', ["udp_header_size"]),
                             ('input_udp = "127.0.0.1:0"\nudp_counter_bits = 16', ["udp_header_size"]),
                             ('input_udp = "127.0.0.1:0"\nudp_header_size = 8\nudp_fixed_source = "0x420001"\nudp_counter = "0:4"', ["0x420001", "sources"]),
                             ('input = "127.0.0.1:0"\nudp_wait = "1s"', ["input_udp"]),
                             ('input_udp = "0.0.0.0:0"', ["plain = true"]),
                             ("", ["input_udp"])):
            file = self.folder / "wrong.toml"
            file.write_text('[partition]\nname = "wrong"\n[readout.ros-1]\nsource = "network"\nsources = ["0x420000"]\n' + lines +
                            "\n[supervise.l2sv]\n[assign.dfm]\n[build.sfi-1]\n[record.rec-1]\n")
            self.assertOneLine(run("config", "check", file), 2, *words)


if __name__ == "__main__":
    weir_program.main()
