# SPDX-License-Identifier: Apache-2.0
"""Triggers by the clock in a whole partition: their times as they stand in the recorded events, and what happens to them while a
readout that boards fill is busy."""
import statistics
import struct

import weir_program
from recorder_files import EVENT, RawFile, expect
from run_input_test import Board, BoardsTest, payload_of, robs_of
from weir_process import Process
from weir_program import ProgramTest, run

GENERATED = """
[readout.ros-1]
robs = 2
rob_size = "100B"
[supervise.l2sv]
source = "{source}"
events = {events}
seed = 5
[assign.dfm]
[build.sfi-1]
[record.rec-1]
"""


def times_of(directory):
    """{global id: time of its trigger, ns} of events of format 5.0, each once."""
    times = {}
    for path in sorted(directory.rglob("*.data")):
        for _, data in RawFile(path).events():
            word = lambda at: struct.unpack_from("<I", data, at)[0]
            expect(word(0) == EVENT, "not an event")
            specific = 4 * (7 + word(20))  # behind the status words and the type of the checksum
            seconds, nanoseconds, low, high = struct.unpack_from("<4I", data, specific)
            expect((low, high) not in times, "an event twice")
            times[low | high << 32] = seconds * 1_000_000_000 + nanoseconds
    return times


class ClockTest(ProgramTest):
    def intervals(self, source, events):
        file, directory = self.folder / "p.toml", self.folder / "D"
        file.write_text(GENERATED.format(source=source, events=events))
        ended = run("run", file, "--dir", directory, "--json", timeout=300)
        self.assertEqual(ended.code, 0, ended)
        self.assertEqual(ended.json["problems"], [])
        times = times_of(directory)
        self.assertEqual(sorted(times), list(range(1, events + 1)))
        ordered = [times[number] for number in range(1, events + 1)]
        return [b - a for a, b in zip(ordered, ordered[1:])], ended.json

    def test_periodic_triggers_are_at_exactly_equal_times(self):
        intervals, report = self.intervals("periodic:1kHz", 1000)
        missed = sum(interval // 1_000_000 - 1 for interval in intervals)
        self.assertEqual({interval % 1_000_000 for interval in intervals}, {0})
        # What came before the DFM gave its first credit is dead time too, and no interval shows it.
        self.assertLessEqual(missed, report["triggers"]["in_dead_time"])
        if not report["triggers"]["in_dead_time"]:
            self.assertEqual(set(intervals), {1_000_000})

    def test_random_triggers_have_the_mean_rate_and_the_spread_of_a_random_process(self):
        intervals, report = self.intervals("random:1kHz", 3000)
        dead, span = report["triggers"]["in_dead_time"], sum(intervals)
        # Triggers of the dead time lengthen some intervals, or came before the first event: the mean lies between. Five sigma.
        self.assertGreater(span / len(intervals), 0.9 * 1_000_000)
        self.assertLess(span / (len(intervals) + dead), 1.1 * 1_000_000)
        if not dead:
            self.assertLess(abs(statistics.pstdev(intervals) / statistics.mean(intervals) - 1), 0.15)


class BusyTest(BoardsTest):
    """A board that is ahead fills the buffers of its readout, whose busy holds the triggers."""

    def test_triggers_that_a_busy_readout_held_are_counted_and_every_event_is_whole(self):
        events = 1000
        text = """
            [readout.ros-1]
            source = "network"
            input = "127.0.0.1:0"
            sources = ["0x420000"]
            events_max = 16
            busy_high = 50
            busy_low = 25
            [readout.ros-2]
            source = "network"
            input = "127.0.0.1:0"
            sources = ["0x430000"]
            [supervise.l2sv]
            source = "periodic:200Hz"
            events = 1000
            [assign.dfm]
            [build.sfi-1]
            event_deadline = "60s"
            suspect_deadline = "60s"
            [record.rec-1]
            """
        file = self.folder / "busy.toml"
        file.write_text("\n".join(line.strip() for line in text.splitlines()))
        self.directory = self.folder / "D"
        self.process = Process(self.folder, "run", file, "--dir", self.directory, "--json")
        self.addCleanup(self.process.__exit__)
        first, second = self.ports()
        boards = [Board(first, [0x420000], events, name="ahead"), Board(second, [0x430000], events, name="other")]
        for board in boards:
            board.start()
        report = self.finish()
        for board in boards:
            board.join(30)
            self.assertEqual((board.open, board.failure), ({}, None))
        triggers = report["triggers"]
        self.assertGreater(triggers["busy_seconds"].get("ros-1", 0), 0, triggers)
        self.assertGreater(triggers["in_dead_time"], 0, triggers)
        self.assertGreater(triggers["dead_time"], 0, triggers)
        seen = set()
        for path in sorted(self.directory.rglob("*.data")):
            for _, data in RawFile(path).events():
                for source, rob in robs_of(data).items():
                    expect(rob is not None, f"source {source:#x} is missing")
                    payload = payload_of(source, rob[0])
                    self.assertEqual(rob[1][:len(payload)], payload)
                    seen.add(rob[0])
        self.assertEqual(seen, set(range(1, events + 1)))


if __name__ == "__main__":
    weir_program.main()
