# SPDX-License-Identifier: Apache-2.0
"""A partition whose triggers come from outside: a trigger unit that speaks the documented protocol over real sockets, and one in C
with the client library, beside boards that bring the fragments. Each keeps a record of its own, which is compared with the files."""
import pathlib
import random
import socket
import struct
import subprocess

import recorder_wire as wire
import weir_program
from recorder_files import EVENT, RawFile, expect
from run_input_test import Board, BoardsTest, payload_of, robs_of
from weir_process import Process, wait_until
from weir_program import PROGRAM, run

TRIGGERS, REFUSED = 5, 8
DUPLICATE, OUT_OF_ORDER = 3, 10  # why a record was refused

PARTITION = """
[partition]
name = "triggers"
[run]
incomplete_max = "{limit}"
[readout.ros-1]
source = "network"
input = "127.0.0.1:0"
sources = ["0x420000"]
{ros_1}
[readout.ros-2]
source = "network"
input = "127.0.0.1:0"
sources = ["0x430000"]
[supervise.l2sv]
source = "network"
input = "127.0.0.1:0"
events = {events}
[assign.dfm]
{dfm}
[build.sfi-1]
event_deadline = "60s"
suspect_deadline = "60s"
[record.rec-1]
"""
SOURCES = (0x420000, 0x430000)


def words_of(event):
    return [event ^ 0xABCD, 7 * event & 0xFFFFFFFF][:event % 3]


def time_of(event):
    return 1_700_000_000_000_000_000 + 1_000_003 * event


def trigger(event):
    """One record, as docs/formats/input-protocol.md has it."""
    words = words_of(event)
    body = struct.pack("<IqIIHHI", event, time_of(event), 0x80 | event % 8, event % 3564, 0, len(words), 0)
    body += struct.pack(f"<{len(words)}I", *words)
    return struct.pack("<I", 4 + len(body)) + body


class TriggerUnit(Board):
    """Sends the triggers of `ids` in this order, so many in a block, and keeps what has no answer."""

    def __init__(self, port, ids, *, name="unit", incarnation=1, every=5):
        super().__init__(port, (), 0, name=name, incarnation=incarnation)
        self.form, self.ids, self.blocks = TRIGGERS, {}, {}
        for number, first in enumerate(range(0, len(ids), every), 1):
            self.ids[number] = ids[first:first + every]
            self.blocks[number] = b"".join(trigger(event) for event in self.ids[number])
        self.open = dict(self.blocks)

    def fates(self):
        """{reason: ids} of the triggers that were refused."""
        found = {}
        for sequence, records in self.refused.items():
            for place, reason in records:
                found.setdefault(reason, []).append(self.ids[sequence][place])
        return {reason: sorted(ids) for reason, ids in found.items()}


def header_of(event):
    """Level-1 id, time, trigger type, bunch crossing and level-1 trigger words of an event of format 5.0."""
    word = lambda at: struct.unpack_from("<I", event, 4 * at)[0]
    expect(word(0) == EVENT, "not an event")
    at = 7 + word(5)  # behind the status words and the type of the checksum
    seconds, nanoseconds = word(at), word(at + 1)
    return {"time": seconds * 1_000_000_000 + nanoseconds, "level1_id": word(at + 7), "bunch_crossing": word(at + 8),
            "type": word(at + 9), "words": [word(at + 13 + i) for i in range(word(at + 12))]}


class OutsideTest(BoardsTest):
    """A partition in which triggers and fragments come from outside."""

    def begin_with(self, text, names):
        """The ports of these stations."""
        file = self.folder / "outside.toml"
        file.write_text(text)
        self.directory = self.folder / "D"
        self.process = Process(self.folder, "run", file, "--dir", self.directory, "--json")
        self.addCleanup(self.process.__exit__)

        def look():
            answer = run("run", "status", "--dir", self.directory, "--json")
            if answer.code != 0:
                return not self.process.running()
            stations = {one["name"]: one.get("counters", {}) for one in answer.json["stations"]}
            found = [stations.get(name, {}).get("input_port") for name in names]
            return [int(port) for port in found] if all(found) else None
        ports = wait_until(look, f"the ports of {names}")
        expect(isinstance(ports, list), f"weir run has ended: {self.process.err}")
        return ports

    def join(self, *senders):
        for sender in senders:
            sender.join(120)
            self.assertEqual((sender.open, sender.failure), ({}, None))

    def end(self, code=0):
        ended = self.process.wait(300)
        self.assertEqual(ended.code, code, ended)
        for station in ended.json["stations"]:
            ledger = station["ledger"]
            self.assertEqual(ledger["received"], ledger["stored"] + sum(ledger["rejected"].values()), station)
            self.assertEqual(ledger["in_hand"], 0, station)
        return ended.json

    def ledger(self, report):
        return next(one["ledger"] for one in report["stations"] if one["name"] == "l2sv")


class TriggersTest(OutsideTest):
    def begin(self, events, limit="0", ros_1="", dfm=""):
        return self.begin_with(PARTITION.format(events=events, limit=limit, ros_1=ros_1, dfm=dfm), ("ros-1", "ros-2", "l2sv"))

    def boards(self, ports, events):
        boards = [Board(port, [source], events, name=f"board-{source:x}") for port, source in zip(ports, SOURCES)]
        for board in boards:
            board.start()
        return boards

    def compare_events(self, ids):
        """Every event has its trigger's header, and each board's payload bit for bit."""
        seen = []
        for path in sorted(self.directory.rglob("*.data")):
            for _, data in RawFile(path).events():
                head, robs = header_of(data), robs_of(data)
                event = head["level1_id"]
                self.assertEqual(head, {"time": time_of(event), "level1_id": event, "bunch_crossing": event % 3564,
                                        "type": 0x80 | event % 8, "words": words_of(event)})
                self.assertEqual(sorted(robs), sorted(SOURCES))
                for source, rob in robs.items():
                    expect(rob is not None, f"event {event}: {source:#x} is missing")
                    payload = payload_of(source, event)
                    self.assertEqual((rob[0], rob[1][:len(payload)]), (event, payload), f"event {event}, source {source:#x}")
                seen.append(event)
        self.assertEqual(sorted(seen), sorted(ids))

    def test_events_are_those_of_the_triggers_bit_for_bit_and_a_full_partition_makes_the_unit_wait(self):
        events = 1500
        first, second, port = self.begin(events, ros_1="events_max = 64", dfm="events_max = 32")
        unit = TriggerUnit(port, list(range(1, events + 1)))
        unit.start()
        boards = self.boards((first, second), events)
        report = self.end()
        self.join(unit, *boards)
        self.assertEqual(unit.refused, {})
        self.compare_events(range(1, events + 1))
        self.assertEqual(report["problems"], [])
        self.assertEqual(self.ledger(report), {"what": "events", "received": events, "stored": events, "in_hand": 0,
                                               "rejected": {"level 2": 0}})
        self.assertEqual(report["triggers"]["lost"], {"triggers": 0, "level1_ids": ""})
        self.assertEqual(next(one for one in report["stations"] if one["name"] == "l2sv")["counters"]["triggers_complete"], 1)

    def test_triggers_lost_doubled_and_out_of_order_are_named_on_both_sides(self):
        ids = list(range(1, 401))
        for gone in (*range(50, 60), 300):
            ids.remove(gone)
        ids.insert(100, ids[20])                  # a trigger comes twice
        late = ids.pop(200)                       # and one behind the next ones
        ids.insert(210, late)
        good = [event for event in range(1, 401) if event not in (*range(50, 60), 300, late)]
        first, second, port = self.begin(len(good), limit="10")
        unit = TriggerUnit(port, ids, every=3)
        unit.start()
        boards = self.boards((first, second), 400)
        report = self.end(1)
        self.join(unit, *boards)
        self.assertEqual(unit.fates(), {DUPLICATE: [21], OUT_OF_ORDER: [late]})
        self.compare_events(good)
        triggers = report["triggers"]
        self.assertEqual(triggers["lost"], {"triggers": 11, "level1_ids": "50-59,300"})
        self.assertEqual(triggers["doubled"], {"triggers": 1, "level1_ids": "21"})
        self.assertEqual(triggers["out_of_order"], {"triggers": 1, "level1_ids": str(late)})
        self.assertEqual(self.ledger(report)["rejected"], {"level 2": 0, "duplicate": 1, "out_of_order": 1})
        self.assertEqual(self.ledger(report)["received"], len(ids))
        self.assertEqual(report["events"]["triggers"], len(good), "those that were taken")
        self.assertEqual(report["problems"], [f"12 of {len(good) + 12} triggers did not become events, more than incomplete_max (10): "
                                              f"11 lost (level-1 ids 50-59,300), 1 out of order (level-1 id {late})"])
        alarms = "\n".join(report["alarms"])
        for alarm in ("never came", "came again", "behind later ones"):
            self.assertIn(alarm, alarms)

    def test_a_unit_that_dies_and_returns_and_hostile_bytes_cost_no_event(self):
        events = 600
        first, second, port = self.begin(events)
        boards = self.boards((first, second), events)
        half = TriggerUnit(port, list(range(1, events // 2 + 1)))
        half.start()
        drawn = random.Random(5)
        for number in range(30):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
                noise = drawn.randbytes(drawn.choice((1, 24, 500, 5000)))
                meta = struct.pack("<HBBIQIHxxQ", 2, TRIGGERS, 1, 0, number + 10, 0, 5, 1) + b"noise"
                record = trigger(1)
                block = record[:26] + b"\xff\xff" + record[28:] + noise  # more words than there are
                begin = wire.header(wire.HELLO, meta) + meta
                about = struct.pack("<QQQIIIHxx", 1, 1, 0, 0, 0, wire.crc32c(block), 0)
                try:
                    peer.sendall(noise if number % 3 == 0 else begin + noise if number % 3 == 1 else
                                 begin + wire.header(wire.EVENT, about, len(block)) + about + block)
                except OSError:
                    pass  # it was cut off
        self.join(half)
        # Its next process knows nothing of the first and begins again a bit before where that had ended.
        again = TriggerUnit(port, list(range(events // 2 - 9, events + 1)), incarnation=2)
        again.start()
        report = self.end()
        self.join(again, *boards)
        self.assertEqual(again.fates(), {DUPLICATE: list(range(events // 2 - 9, events // 2 + 1))})
        self.compare_events(range(1, events + 1))
        self.assertEqual(report["problems"], [])
        self.assertEqual(report["triggers"]["lost"]["triggers"], 0)

    def test_a_unit_in_c_with_the_client_library_hears_what_became_of_each_trigger(self):
        events = 2000
        root, build = pathlib.Path(__file__).resolve().parents[2], pathlib.Path(PROGRAM).resolve().parents[1]
        prefix = self.folder / "installed"
        made = subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", "client"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        header = next(prefix.rglob("weir_client.h")).parent
        library = next(prefix.rglob("libweir-client.so")).parent
        unit = self.folder / "unit"
        built = subprocess.run(["cc", "-std=c11", root / "examples" / "client" / "trigger_unit.c", f"-I{header}", f"-L{library}",
                                "-lweir-client", f"-Wl,-rpath,{library}", "-o", unit], capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        first, second, port = self.begin(events)
        boards = self.boards((first, second), events)
        ended = subprocess.run([unit, f"127.0.0.1:{port}", str(events)], capture_output=True, text=True, timeout=300)
        self.assertEqual((ended.returncode, ended.stdout), (0, f"{events} of {events} triggers taken\n"), ended.stderr)
        report = self.end()
        self.join(*boards)
        self.assertEqual(report["problems"], [])
        self.assertEqual(self.ledger(report)["stored"], events)
        seen = {}
        for path in sorted(self.directory.rglob("*.data")):
            for _, data in RawFile(path).events():
                head = header_of(data)
                seen[head["level1_id"]] = head["words"]
        self.assertEqual(seen, {event: [event, 2654435761 * event & 0xFFFFFFFF] for event in range(1, events + 1)})


if __name__ == "__main__":
    weir_program.main()
