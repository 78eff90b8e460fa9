# SPDX-License-Identifier: Apache-2.0
"""What a reader of the catalogue sees, who has nothing but sqlite3 or psql and the documented views, while recorders are
killed and events come late. What is right is counted from the sender's side, and over the bytes of the files."""
import collections
import csv
import io
import itertools
import os
import random
import re
import sqlite3
import subprocess
import unittest

import postgres_server
import recorder_wire as wire
from weir_process import RecorderProcess, main_without, wait_until
from weir_program import ProgramTest, run

RUN = 7
KILLS = os.environ.get("WEIR_KILLS")  # of recorders in each test; nothing: 50 in SQLite, 20 in PostgreSQL. ./run blocks N sets it
STREAMS = {"physics_Main": (b"physics", b"Main"), "express_express": (b"express", b"express"), "debug_Rare": (b"debug", b"Rare")}
POLLED = "run, stream_type, stream_name, lumi_block, state, files, events"


class KeepingSender:
    """Keeps what has no answer, and sends it again to a recorder that comes back. Knows what it sent and what was acknowledged."""

    def __init__(self, name):
        self.name = name.encode()
        self.peer, self.events, self.answered = None, [], 0
        self.acknowledged = collections.defaultdict(set)  # (stream, block): ids

    def send(self, port, number, streams, block):
        """Whether the recorder took it; else it is sent again by the next call of settle()."""
        sequence = len(self.events) + 1
        payload = b"event %016d;" % number
        message = wire.event(sequence, payload, id=number, tags=[STREAMS[stream] for stream in streams], block=block)
        self.events.append((number, streams, block, message))
        if self.peer:
            try:
                self.peer.send(message)
            except OSError:
                self.lose()

    def lose(self):
        if self.peer:
            self.peer.close()
        self.peer = None

    def settle(self, port):
        """Everything that was sent is acknowledged, however often it has to be sent."""
        def done():
            try:
                if not self.peer:
                    self.peer = wire.Peer(port)
                    self.peer.send(wire.hello(RUN, self.name, incarnation=1))
                    self.peer.receive_only(wire.WELCOME)
                    self.peer.send(b"".join(event[3] for event in self.events[self.answered:]))
                if self.answered < len(self.events):
                    self.peer.receive_acknowledgement_of(len(self.events))
                for number, streams, block, _ in self.events[self.answered:]:
                    for stream in streams:
                        self.acknowledged[stream, block].add(number)
                self.answered = len(self.events)
                return True
            except (OSError, wire.Closed):
                self.lose()
                return False
        wait_until(done, "all events are acknowledged")


class CatalogueReader(ProgramTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(17)
        self.recorders, self.senders, self.directories, self.number, self.polls = [], [], [], 0, 0
        self.settings = self.folder / "weir.toml"
        self.settings.write_text('[record]\nstreams_max = 16\nlumi_block_grace = "300ms"\n', encoding="ascii")
        self.server = None
        self.addCleanup(self.end)

    def end(self):
        for sender in self.senders:
            sender.lose()
        for recorder in self.recorders:
            recorder.__exit__()
        if self.server:
            self.server.__exit__()

    def recorder(self, index, port=None):
        shared = ("--catalogue", self.server.uri) if self.server else ()
        return RecorderProcess(self.folder, self.directories[index], "--config", self.settings, "--recorder", f"recorder-{index}",
                               "--memory", "128MiB", "--event-max", "1MiB", *shared, run=RUN, port=port)

    def start(self, count):
        self.directories = [self.folder / f"data-{index}" for index in range(count)]
        for index in range(count):
            self.recorders.append(self.recorder(index))
            self.senders.append(KeepingSender(f"sender-{index}"))
            self.senders[index].settle(self.recorders[index].port)

    def kill(self, index):
        port = self.recorders[index].port
        self.recorders[index].kill()
        self.recorders[index] = self.recorder(index, port)
        self.assertIn("continued", self.recorders[index].err)

    def ask(self, statement):
        """As a reader does."""
        if self.server:
            output = subprocess.run([postgres_server.programs() / "psql", "--csv", "-t", "-d", self.server.uri, "-c", statement],
                                  check=True, capture_output=True, text=True, timeout=120)
            return [tuple(row) for row in csv.reader(io.StringIO(output.stdout))]
        catalogue = sqlite3.connect(self.directories[0] / "weir.catalogue", timeout=60)
        try:
            return [tuple("" if value is None else str(value) for value in row) for row in catalogue.execute(statement)]
        finally:
            catalogue.close()

    def send_some(self, block):
        for index, (sender, recorder) in enumerate(zip(self.senders, self.recorders)):
            for _ in range(4):
                self.number += 1
                late = self.random.random() < 0.15 and block > 3
                streams = self.random.sample(sorted(STREAMS), self.random.randint(1, len(STREAMS)))
                sender.send(recorder.port, self.number, streams, block - 3 if late else block)

    def settle(self):
        for sender, recorder in zip(self.senders, self.recorders):
            sender.settle(recorder.port)

    def blocks(self):
        """(stream, block): state and events, as the view has them."""
        self.polls += 1
        rows = self.ask(f"SELECT {POLLED} FROM reader_blocks WHERE run = {RUN}")
        return {(f"{row[1]}_{row[2]}", int(row[3])): (row[4], int(row[6])) for row in rows}

    def counted(self):
        """The same from the sender's side: how many events were acknowledged."""
        total = collections.defaultdict(int)
        for sender in self.senders:
            for key, ids in sender.acknowledged.items():
                total[key] += len(ids)
        return total

    def expect_states_are_right(self):
        """A reader that begins with a block that is complete has every event of it that was acknowledged by then."""
        acknowledged = self.counted()
        if self.server:  # what a recorder knows is carried over behind the recording
            for recorder in self.recorders:
                wait_until(lambda: recorder.metrics()["weir_catalogue_changes_waiting"] == 0, "the catalogue has all changes")
        for key, (state, events) in self.blocks().items():
            if state != "OPENED":
                self.assertEqual(events, acknowledged[key], (key, state))

    def expect_overlaps_are_those_of_the_files(self):
        by_stream = collections.defaultdict(set)
        for row in self.ask("SELECT volume, name, stream_type, stream_name, events, first_event, last_event FROM reader_files"):
            with open(f"{row[0]}/{row[1]}", "rb") as file:
                ids = [int(number) for number in re.findall(rb"event (\d{16});", file.read())]
            self.assertEqual((len(ids), f"{min(ids):016x}", f"{max(ids):016x}"), (int(row[4]), row[5], row[6]), row)
            by_stream[f"{row[2]}_{row[3]}"].update(ids)
        expected = sorted((first, second, str(len(by_stream[first])), str(len(by_stream[second])),
                           str(len(by_stream[first] & by_stream[second])))
                          for first, second in itertools.combinations(sorted(by_stream), 2) if by_stream[first] & by_stream[second])
        self.assertEqual(len(expected), 3)
        columns = "first_stream, second_stream, events_first, events_second, events_both"
        self.assertEqual(sorted(self.ask(f"SELECT {columns} FROM reader_overlaps WHERE run = {RUN}")), expected)
        sent = collections.defaultdict(set)
        for sender in self.senders:
            for (stream, _), ids in sender.acknowledged.items():
                sent[stream] |= ids
        self.assertEqual(dict(by_stream), dict(sent))

    def expect_the_end_is_right(self):
        for sender in self.senders:
            sender.lose()
        for recorder in self.recorders:
            self.assertEnds(recorder.stop(), 0)
        self.assertEqual(self.blocks(), {key: ("COMPLETE", events) for key, events in self.counted().items()})
        self.assertEqual([row[0] for row in self.ask(f"SELECT state FROM reader_runs WHERE run = {RUN}")], ["COMPLETE"])
        self.expect_overlaps_are_those_of_the_files()

    def record(self, kills, rounds=10):
        kills = int(KILLS or kills)
        for block in range(1, rounds + 1):
            self.send_some(block)
            self.settle()
            self.expect_states_are_right()
            for _ in range(kills * block // rounds - kills * (block - 1) // rounds):
                self.send_some(block)  # some of it is in hand when the recorder dies
                self.kill(self.random.randrange(len(self.recorders)))
                self.settle()
                self.expect_states_are_right()
        # Without the end of the run: the grace time is enough for all but the newest.
        def all_but_the_newest():
            self.expect_states_are_right()
            return {block for (_, block), (state, _) in self.blocks().items() if state == "OPENED"} <= {rounds}
        wait_until(all_but_the_newest, "the blocks are complete")
        print(f"{kills} kills of {len(self.recorders)} recorders, {self.number} events, {self.polls} polls", flush=True)
        return rounds

    def test_blocks_and_overlaps_are_right_through_50_kills(self):
        self.start(1)
        newest = self.record(kills=50)
        listed = self.assertEnds(run("ls", self.directories[0], "--complete", "--json"), 0).json["files"]
        self.assertEqual({file["lumi_block"] for file in listed}, set(range(1, newest)))
        self.expect_the_end_is_right()

    @unittest.skipIf(postgres_server.absent(), postgres_server.absent())
    def test_two_recorders_in_postgresql_are_right_at_every_poll_through_20_kills(self):
        self.server = postgres_server.PostgresServer(self.folder / "postgres")
        self.start(2)
        self.record(kills=20)
        refused = run("ls", self.directories[0], "--complete")
        self.assertOneLine(refused, 1, "shared catalogue", "--catalogue")
        self.expect_the_end_is_right()

    def test_what_a_reader_notes_stays_and_hand_over_makes_a_block_transferred(self):
        self.start(1)
        self.send_some(1)
        self.settle()
        catalogue = sqlite3.connect(self.directories[0] / "weir.catalogue", timeout=60)
        with catalogue:
            catalogue.execute("UPDATE lumi_blocks SET reader_state = 'RUNNING' WHERE lumi_block = 1")
        catalogue.close()
        self.kill(0)
        self.senders[0].lose()
        self.assertEnds(self.recorders[0].stop(), 0)
        self.assertEqual({state for _, (state, _) in self.blocks().items()}, {"COMPLETE"})
        disk = self.folder / "disk"
        disk.mkdir()
        self.assertEnds(run("handoff", "--dir", self.directories[0], "--to", disk, "--once"), 0)
        self.assertEqual({state for _, (state, _) in self.blocks().items()}, {"TRANSFERRED"})
        self.assertEqual(self.ask("SELECT state FROM reader_runs"), [("TRANSFERRED",)])
        self.assertEnds(run("recover", self.directories[0], "--rebuild"), 0)
        noted = self.ask("SELECT DISTINCT state, reader_state FROM reader_recorder_blocks")
        self.assertEqual(noted, [("TRANSFERRED", "RUNNING")])


if __name__ == "__main__":
    main_without(f"readers of a catalogue in PostgreSQL: {postgres_server.absent()}" if postgres_server.absent() else "")
