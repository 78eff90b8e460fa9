# SPDX-License-Identifier: Apache-2.0
"""Partitions with boards that know no level-1 ids: they stamp their fragments with clocks of their own, which are elsewhere, drift and
scatter. They send over the network, or are read by a front-end that a readout runs. What they sent for each trigger has to be in that trigger's event, and what fits none in no event."""
import random
import socket
import struct

import weir_program
from recorder_files import RawFile, expect
from run_input_test import Board, payload_of, robs_of
from run_network_triggers_test import OutsideTest, TriggerUnit, header_of
from weir_process import wait_until
from weir_program import Recorder

PARTITION = """
[partition]
name = "matching"
[run]
incomplete_max = "{limit}"
[readout.ros-1]
source = "network"
input = "127.0.0.1:0"
sources = ["0x420000", "0x420001"]
match = "time:200ns"
match_wait = "120s"
match_unmatched = "{recorder}"
lost_after = 64
[readout.ros-2]
source = "network"
input = "127.0.0.1:0"
sources = ["0x430000"]
[readout.ros-3]
source = "network"
input_udp = "127.0.0.1:0"
sources = ["0x440000"]
match = "time:200ns"
match_wait = "120s"
lost_after = 64
udp_header_size = 12
udp_magic = "0:4:0xb0a4d001"
udp_fixed_source = "0x440000"
udp_time = "4:8"
[supervise.l2sv]
source = "network"
input = "127.0.0.1:0"
events = {events}
[assign.dfm]
[build.sfi-1]
event_deadline = "120s"
suspect_deadline = "120s"
[record.rec-1]
"""
PLUG_IN = """
[partition]
name = "matching"
[run]
incomplete_max = "{limit}"
[readout.crate-1]
source = "{plug_in}"
sources = ["0x420000", "0x420001"]
time_limit = "120s"
start_limit = "120s"
match = "time:200ns"
match_wait = "120s"
lost_after = 64
[readout.ros-2]
source = "network"
input = "127.0.0.1:0"
sources = ["0x430000"]
[supervise.l2sv]
source = "network"
input = "127.0.0.1:0"
events = {events}
[assign.dfm]
[build.sfi-1]
event_deadline = "120s"
suspect_deadline = "120s"
[record.rec-1]
"""
# Two boards with their own clocks, which are read again and again; what they have to give stands in a file.
BOARDS = """
import struct

def begin_run(run, sources):
    global data
    data = open({record!r}, "rb")

def poll(out):
    for _ in range(20):
        head = data.read(16)
        if len(head) < 16:
            return
        source, size, time_ns = struct.unpack("<IIq", head)
        out.send(source, data.read(size), time_ns=time_ns)
"""
BEGIN = 1_700_000_000_000_000_000
FIRST, SECOND, BY_UDP = 0x420000, 0x420001, 0x440000


def times(events):
    """Of the triggers, at random."""
    drawn, at, found = random.Random(5), BEGIN, {}
    for event in range(1, events + 1):
        at += 5_000 + int(drawn.expovariate(1) * 100_000)
        found[event] = at
    return found


class Clock:
    """Of a board: it was switched on at its own time, runs faster or slower, and scatters."""

    def __init__(self, offset, drift, seed):
        self.offset, self.drift, self.drawn = offset, drift, random.Random(seed)

    def stamp(self, time_ns):
        return self.offset + int((time_ns - BEGIN) * (1 + self.drift)) + round(max(-150, min(150, self.drawn.gauss(0, 40))))


def stamped(source, time_ns, payload):
    """One record with a time and without a level-1 id, as docs/formats/input-protocol.md has it."""
    body = struct.pack("<IIHHqII", source, 0, 2, 0, time_ns, len(payload), 0) + payload + bytes(-len(payload) % 4)
    return struct.pack("<I", 4 + len(body)) + body


class StampingBoard(Board):
    """Sends these (time, payload), in this order, some in a block."""

    def __init__(self, port, source, fragments, *, every=9):
        super().__init__(port, (), 0, name=f"board-{source:x}")
        self.blocks = {number: b"".join(stamped(source, *one) for one in fragments[first:first + every])
                       for number, first in enumerate(range(0, len(fragments), every), 1)}
        self.open = dict(self.blocks)


class MatchingTest(OutsideTest):
    def begin(self, events, recorder, limit="0"):
        ports = self.begin_with(PARTITION.format(events=events, limit=limit, recorder=recorder), ("ros-1", "ros-2", "l2sv"))
        wait_until(lambda: self.status()["state"] == "running", "the run")
        return *ports, int(self.counters("ros-3")["input_udp_port"])

    def status(self):
        return weir_program.run("run", "status", "--dir", self.directory, "--json").json

    def counters(self, name):
        return next(one["counters"] for one in self.status()["stations"] if one["name"] == name)

    def unit(self, port, when):
        """A trigger unit with these times."""
        unit = TriggerUnit(port, list(when))
        for number, ids in unit.ids.items():
            unit.blocks[number] = b"".join(struct.pack("<IIqIIHHI", 32, event, when[event], 1, 0, 0, 0, 0) for event in ids)
        unit.open = dict(unit.blocks)
        return unit

    def compare_events(self, events, lacking, sources=(FIRST, SECOND, 0x430000, BY_UDP)):
        """Each event has what its boards sent for it; `lacking`: {source: events without it}."""
        seen = []
        for path in sorted(self.directory.rglob("*.data")):
            for _, data in RawFile(path).events():
                event, robs = header_of(data)["level1_id"], robs_of(data)
                for source, rob in robs.items():
                    if event in lacking.get(source, ()):
                        self.assertIsNone(rob, f"event {event} has data of {source:#x}, which none were sent for")
                        continue
                    expect(rob is not None, f"event {event}: {source:#x} is missing")
                    payload = payload_of(source, event)
                    self.assertEqual((rob[0], rob[1][:len(payload)]), (event, payload), f"event {event}, source {source:#x}")
                self.assertEqual(sorted(robs), sorted(sources))
                seen.append(event)
        self.assertEqual(sorted(seen), list(range(1, events + 1)))

    def test_fragments_are_in_the_events_of_their_triggers_and_what_fits_none_is_in_none(self):
        events, when = 1000, times(1000)
        recorder = Recorder(self.folder / "unmatched")
        self.addCleanup(recorder.__exit__)
        first, second, unit_port, udp_port = self.begin(events, recorder.address, limit="40")
        clocks = {FIRST: Clock(5_000_000, 10e-6, 1), SECOND: Clock(-3_600_000_000_000, -10e-6, 2), BY_UDP: Clock(0, 3e-6, 3)}
        sent = {source: [(clock.stamp(when[event]), payload_of(source, event)) for event in when] for source, clock in clocks.items()}
        lost = set(range(400, 410)) | {700}
        sent[FIRST] = [one for event, one in zip(when, sent[FIRST]) if event not in lost]
        noise = [(clocks[SECOND].stamp((when[event] + when[event + 1]) // 2), b"noise") for event in range(500, 520)
                 if when[event + 1] - when[event] > 2_000]
        sent[SECOND] = sorted(sent[SECOND] + noise)
        boards = [StampingBoard(first, source, sent[source]) for source in (FIRST, SECOND)]
        boards += [Board(second, [0x430000], events, name="counts"), self.unit(unit_port, when)]
        for board in boards:
            board.start()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
            for number, (time_ns, payload) in enumerate(sent[BY_UDP], 1):
                board.sendto(struct.pack(">Iq", 0xb0a4d001, time_ns) + payload, ("127.0.0.1", udp_port))
                if number % 50 == 0 and number < events:  # however busy the machine is, the kernel's buffer does not overflow
                    wait_until(lambda: self.counters("ros-3")["input_udp_datagrams"] == number, f"{number} datagrams")
        report = self.end()
        self.join(*boards)
        self.compare_events(events, {FIRST: lost})
        sources = {int(one["source"], 0): one for one in report["sources"]}
        self.assertEqual((sources[FIRST]["arrived"], sources[FIRST]["missing"]), (events - len(lost), len(lost)))
        self.assertEqual((sources[SECOND]["arrived"], sources[SECOND]["refused"], sources[SECOND]["missing"]), (events, len(noise), 0))
        self.assertEqual((sources[BY_UDP]["arrived"], sources[BY_UDP]["missing"]), (events, 0))
        ledger = next(one["ledger"] for one in report["stations"] if one["name"] == "ros-1")
        self.assertEqual(ledger["rejected"], {"no_trigger": len(noise)})
        self.assertEqual(recorder.stop().code, 0)
        kept = [data for path in (self.folder / "unmatched").rglob("*debug_unmatched*.data") for _, data in RawFile(path).events()]
        self.assertEqual(sorted(kept), sorted(stamped(SECOND, *one) for one in noise))
        self.assertEqual(report["problems"], [])

    def test_a_front_end_whose_boards_count_no_triggers_is_matched_likewise(self):
        events, when = 1000, times(1000)
        clocks = {FIRST: Clock(-2_000_000_000 - BEGIN, 8e-6, 4), SECOND: Clock(77_000_000_000, -10e-6, 5)}  # one counts from below zero
        lost, noise = set(range(300, 310)) | {600}, []
        sent = [(when[event], source, clock.stamp(when[event]), payload_of(source, event)) for event in when
                for source, clock in clocks.items() if source == SECOND or event not in lost]
        for event in range(500, 520):
            middle = (when[event] + when[event + 1]) // 2
            if when[event + 1] - when[event] > 2_000:
                noise.append((middle, SECOND, clocks[SECOND].stamp(middle), b"noise"))
        record, plug_in = self.folder / "record", self.folder / "boards.py"
        record.write_bytes(b"".join(struct.pack("<IIq", source, len(payload), stamp) + payload
                                    for _, source, stamp, payload in sorted(sent + noise)))
        plug_in.write_text(BOARDS.format(record=str(record)))
        second, unit_port = self.begin_with(PLUG_IN.format(events=events, limit=40, plug_in=plug_in), ("ros-2", "l2sv"))
        boards = [Board(second, [0x430000], events, name="counts"), self.unit(unit_port, when)]
        for board in boards:
            board.start()
        report = self.end()
        self.join(*boards)
        self.compare_events(events, {FIRST: lost}, (FIRST, SECOND, 0x430000))
        sources = {int(one["source"], 0): one for one in report["sources"]}
        self.assertEqual((sources[FIRST]["arrived"], sources[FIRST]["missing"]), (events - len(lost), len(lost)))
        self.assertEqual((sources[SECOND]["arrived"], sources[SECOND]["refused"], sources[SECOND]["missing"]), (events, len(noise), 0))
        crate = next(one for one in report["stations"] if one["name"] == "crate-1")
        self.assertEqual(crate["ledger"]["rejected"], {"no_trigger": len(noise)})
        self.assertEqual(crate["counters"]["front_end_fragments"], len(sent) + len(noise))
        self.assertEqual(crate["counters"]["match_matched"], len(sent))
        self.assertEqual(report["problems"], [])


if __name__ == "__main__":
    weir_program.main()
