# SPDX-License-Identifier: Apache-2.0
"""A partition without a trigger unit: an event begins when a fragment of one source arrives at its readout."""
import weir_program
from recorder_files import RawFile, expect
from run_input_test import Board, fragment, payload_of, robs_of
from run_network_triggers_test import SOURCES, OutsideTest, header_of
from weir_program import run

PARTITION = """
[partition]
name = "first"
[run]
incomplete_max = "{limit}"
[readout.ros-1]
source = "network"
input = "127.0.0.1:0"
sources = ["0x420000"]
events_max = 64
[readout.ros-2]
source = "network"
input = "127.0.0.1:0"
sources = ["0x430000"]
[supervise.l2sv]
source = "first:0x420000"
events = {events}
[assign.dfm]
[build.sfi-1]
event_deadline = "60s"
suspect_deadline = "60s"
[record.rec-1]
"""


class SomeEvents(Board):
    """A board that sends the fragments of these events, in this order."""

    def __init__(self, port, source, ids, *, name, every=5):
        super().__init__(port, (), 0, name=name)
        self.blocks = {number: b"".join(fragment(source, event, payload_of(source, event), (0xABCD,)) for event in ids[first:first + every])
                       for number, first in enumerate(range(0, len(ids), every), 1)}
        self.open = dict(self.blocks)


class FirstTest(OutsideTest):
    def begin(self, events, limit="0"):
        return self.begin_with(PARTITION.format(events=events, limit=limit), ("ros-1", "ros-2"))

    def compare_events(self, ids):
        seen = []
        for path in sorted(self.directory.rglob("*.data")):
            for _, data in RawFile(path).events():
                head, robs = header_of(data), robs_of(data)
                event = head["level1_id"]
                self.assertEqual(head["time"], 1000 * event, "the time that the first fragment brought")
                self.assertEqual(sorted(robs), sorted(SOURCES))
                for source, rob in robs.items():
                    expect(rob is not None, f"event {event}: {source:#x} is missing")
                    payload = payload_of(source, event)
                    self.assertEqual((rob[0], rob[1][:len(payload)]), (event, payload))
                seen.append(event)
        self.assertEqual(sorted(seen), sorted(ids))

    def test_an_event_begins_with_a_fragment_of_its_source_and_is_built_bit_for_bit(self):
        events = 1500
        first, second = self.begin(events)
        ids = list(range(1, events + 1))
        for place in range(10, events, 50):  # within a block, and over its end
            ids[place], ids[place + 1] = ids[place + 1], ids[place]
        boards = [SomeEvents(first, 0x420000, ids, name="first"), Board(second, [0x430000], events, name="other")]
        for board in boards:
            board.start()
        report = self.end()
        self.join(*boards)
        self.compare_events(range(1, events + 1))
        self.assertEqual(report["problems"], [])
        self.assertEqual(self.ledger(report)["received"], events)
        self.assertEqual(report["triggers"]["lost"]["triggers"], 0)

    def test_an_event_whose_first_fragment_never_comes_is_named(self):
        good = [event for event in range(1, 301) if event not in (*range(40, 45), 200)]
        first, second = self.begin(len(good), limit="3")
        boards = [SomeEvents(first, 0x420000, good, name="first"), Board(second, [0x430000], 300, name="other")]
        for board in boards:
            board.start()
        report = self.end(1)
        self.join(*boards)
        self.compare_events(good)
        self.assertEqual(report["triggers"]["lost"], {"triggers": 6, "level1_ids": "40-44,200"})
        self.assertEqual(report["problems"], ["6 of 300 triggers did not become events, more than incomplete_max (3): 6 lost (level-1 ids "
                                              "40-44,200)"])
        self.assertIn("source 0x420000", "\n".join(report["alarms"]))

    def test_a_source_that_no_readout_takes_from_outside_is_said_before_the_run(self):
        file = self.folder / "first.toml"
        file.write_text(PARTITION.format(events=5, limit="0").replace("first:0x420000", "first:0x999999"))
        ended = run("run", file, "--dir", self.folder / "D", "--json", timeout=120)
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("no readout that is filled from outside serves it", ended.err)


if __name__ == "__main__":
    weir_program.main()
