# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments, of recorders and of senders, under load: afterwards every acknowledged event is in exactly
one place for each of its streams, bit by bit. Once with one open file of each stream, once with three on three volumes.

WEIR_KILLS is the number of recorders that die (./run kill 200), a quarter as many senders; WEIR_SEED repeats the moments.
"""
import collections
import os
import random
import socket
import sqlite3
import struct
import sys
import threading
import time

import recorder_wire as wire
from recorder_files import RawFile, ids_by_stream, listed
from weir_process import Process, RecorderProcess, SenderProcess, wait_until
from weir_program import ProgramTest, main, run

RUN = 7
KILLS = int(os.environ.get("WEIR_KILLS") or 4)
SEED = int(os.environ.get("WEIR_SEED") or time.time_ns() % 1_000_000)
BATCH = ("--events", 150, "--seed", 4, "--connections", 3, "--give-up-after", "0s")  # however slowly recorders start
STREAM = "calibration_Test"  # of the senders that remember


class RememberingSender(threading.Thread):
    """A sender that knows what it sent and what was acknowledged. When its connection ends it comes again in the same
    session, and sends again what has no answer."""

    def __init__(self, number, port, seed):
        super().__init__(daemon=True)
        self.number, self.port, self.random = number, port, random.Random(seed)
        self.sent, self.acknowledged = {}, set()  # payloads by sequence; sequences
        self.ending, self.dying = threading.Event(), threading.Event()
        self.deaths, self.problem = 0, None

    def run(self):
        try:
            while not (self.ending.is_set() and len(self.acknowledged) == len(self.sent)):
                try:
                    self._connection()
                except (wire.Closed, OSError):
                    time.sleep(0.02)
        except Exception as problem:  # reported by the test, not by this thread
            self.problem = problem

    def _connection(self):
        with wire.Peer(self.port, timeout=120) as peer:
            peer.send(wire.hello(RUN, b"remembers-%d" % self.number))
            kind, meta = peer.receive()
            if kind == wire.BYE:
                raise wire.Closed
            assert kind == wire.WELCOME, kind
            self._learn(meta, 24, 4, 32)
            for sequence in sorted(set(self.sent) - self.acknowledged):
                peer.send(wire.event(sequence, self.sent[sequence], id=self._id(sequence)))
            while True:
                while len(self.acknowledged) < len(self.sent):
                    kind, meta = peer.receive()
                    if kind == wire.BYE:
                        raise wire.Closed
                    assert kind == wire.ACK, f"message {kind}: {meta}"
                    self._learn(meta, 8, 16, 24)
                if self.ending.is_set():
                    return
                for _ in range(self.random.randint(1, 12)):
                    sequence = len(self.sent) + 1
                    self.sent[sequence] = self.random.randbytes(self.random.randint(1, 900))
                    data = wire.event(sequence, self.sent[sequence], id=self._id(sequence))
                    if self.dying.is_set():  # in the middle of an event, without a word
                        self.dying.clear()
                        self.deaths += 1
                        peer.send(data[:self.random.randrange(len(data))])
                        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
                    peer.send(data)

    def _id(self, sequence):
        return (1000 + self.number << 40) + sequence

    def _learn(self, meta, cumulative_at, count_at, ranges_at):
        cumulative, = struct.unpack_from("<Q", meta, cumulative_at)
        count, = struct.unpack_from("<I", meta, count_at)
        ranges = [(1, cumulative)] + [struct.unpack_from("<QQ", meta, ranges_at + 16 * i) for i in range(count)]
        for first, last in ranges:
            assert last <= len(self.sent), f"{last} is acknowledged, {len(self.sent)} were sent"
            self.acknowledged.update(range(first, last + 1))


class Batches(threading.Thread):
    """One `weir send` after the other, each with the same events under new ids; now and then one is killed."""

    def __init__(self, folder, number, port):
        super().__init__(daemon=True)
        self.folder, self.number, self.port = folder, number, port
        self.complete, self.killed, self.problem = [], [], None  # first ids
        self.ending, self.sender = threading.Event(), None

    def run(self):
        try:
            for n in range(1, 1 << 20):
                if self.ending.is_set():
                    return
                first = (self.number << 48) + (n << 24)
                with SenderProcess(self.folder, self.port, *BATCH, "--first-id", first + 1, "--name",
                                   f"batch-{self.number}-{n}", run=RUN) as sender:
                    self.sender = sender
                    ended = sender.wait(600)
                if ended.code == -9:
                    self.killed.append(first)
                    continue
                assert ended.code == 0, repr(ended)
                assert ended.json["events"] == {"sent": BATCH[1], "acknowledged": BATCH[1], "rejected": 0}, ended.json
                self.complete.append(first)
        except Exception as problem:
            self.problem = problem

    def kill(self):
        sender = self.sender
        if sender and sender.running():
            sender.process.kill()


class RandomKills(ProgramTest):
    volumes, files_per_stream = 1, 1

    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"  # the first, with the catalogue
        self.others = [self.folder / f"data-{n}" for n in range(2, self.volumes + 1)]
        self.options = ["--files-per-stream", self.files_per_stream] + [word for other in self.others for word in ("--dir", other)]
        self.config = self.folder / "record.toml"
        self.config.write_text("[record]\nfile_events_max = 60\n")
        self.random = random.Random(SEED)
        print(f"{KILLS} recorders and {KILLS // 4} senders die; again: WEIR_KILLS={KILLS} WEIR_SEED={SEED}", file=sys.stderr)

    def recorder(self, port):
        return RecorderProcess(self.folder, self.directory, "--config", self.config, *self.options, port=port, run=RUN)

    def expected_of_a_batch(self):
        """Ids by stream of an undisturbed batch: the same seed gives the same tags."""
        directory = self.folder / "undisturbed"
        with RecorderProcess(self.folder, directory, run=RUN) as recorder:
            with SenderProcess(self.folder, recorder.port, *BATCH, run=RUN) as sender:
                sender.report()
            self.assertEnds(recorder.stop(), 0)
        return {name: set(ids) for name, ids in ids_by_stream(directory).items()}

    def kill_at_random(self, recorder, port, senders):
        for kill in range(KILLS):
            if kill % 4 == 3:  # while it starts: it may be in the middle of a recovery
                recorder = Process(self.folder, "record", "--listen", f"127.0.0.1:{port}", "--dir", self.directory, "--create", "--run", RUN,
                                   "--config", self.config, *self.options)
                time.sleep(self.random.uniform(0, 0.2))
                self.random.choice(senders).kill()
            else:
                recorder = recorder or self.recorder(port)
                time.sleep(self.random.uniform(0, 0.5))
            recorder.kill()
            recorder = None

    def test_what_was_acknowledged_is_there_exactly_once(self):
        recorder = self.recorder(0)
        port = recorder.port
        remembering = [RememberingSender(n, port, self.random.random()) for n in (1, 2)]
        for sender in remembering:
            sender.kill = sender.dying.set
        batches = [Batches(self.folder, n, port) for n in (1, 2)]
        threads = remembering + batches
        for thread in threads:
            thread.start()
        wait_until(lambda: all(sender.acknowledged for sender in remembering), "the load is there")
        self.kill_at_random(recorder, port, threads)
        with self.recorder(port) as recorder:
            for thread in threads:
                thread.ending.set()
            for thread in threads:
                thread.join(600)
                self.assertFalse(thread.is_alive(), f"{thread} waits for answers; the recorder printed: {recorder.err}")
                self.assertIsNone(thread.problem)
            report = self.assertEnds(recorder.stop(), 0).json
        self.assertEqual(report["copies"]["received"], report["copies"]["stored"] + sum(report["copies"]["rejected"].values()))
        stored = ids_by_stream(self.directory, opaque=(STREAM,))
        self.check_batches(batches, stored)
        copies = {name: len(ids) for name, ids in stored.items()}
        copies[STREAM] = self.check_what_was_remembered(remembering)
        self.check_catalogue(copies)
        acknowledged = sum(len(s.acknowledged) for s in remembering) + BATCH[1] * sum(len(b.complete) for b in batches)
        print(f"{KILLS} recorders and {sum(s.deaths for s in remembering) + sum(len(b.killed) for b in batches)} senders died; "
              f"{acknowledged} acknowledged events, {sum(copies.values())} copies in {len(listed(self.directory))} files; "
              "0 lost, 0 twice", file=sys.stderr)

    def check_what_was_remembered(self, senders):
        """Bit by bit: the payloads are random, so each is one event only. How many there are."""
        stored = collections.Counter()
        for file in listed(self.directory):
            if file["stream"] == STREAM:
                stored.update(data for _, data in RawFile(file["path"]).events())
        expected = collections.Counter()
        for sender in senders:
            self.assertEqual(sender.acknowledged, set(sender.sent))
            expected.update(sender.sent.values())
        self.assertEqual(stored, expected)
        return sum(stored.values())

    def check_batches(self, batches, stored):
        """Complete ones are whole in every stream; of a killed one any event may be there, but none twice."""
        of_a_batch = self.expected_of_a_batch()
        mask = (1 << 24) - 1
        for name, ids in stored.items():
            self.assertEqual(len(ids), len(set(ids)), f"something is twice in {name}")
            found = collections.defaultdict(set)
            for id in ids:
                found[id & ~mask].add(id & mask)
            expected = of_a_batch.get(name, set())
            for batch in batches:
                for first in batch.complete:
                    self.assertEqual(found.pop(first, set()), expected, f"batch {first:#x} in {name}")
                for first in batch.killed:
                    self.assertLessEqual(found.pop(first, set()), expected, f"batch {first:#x} in {name}")
            self.assertEqual(found, {}, f"{name} has events that were never sent")

    def check_catalogue(self, copies):
        files = listed(self.directory)
        self.assertEqual({file["file_state"] for file in files}, {"CLOSED"})
        for directory in (self.directory, *self.others):
            self.assertEqual(list(directory.glob("*.writing")), [])
        verdict = self.assertEnds(run("verify", "--json", self.directory, timeout=600), 0).json
        self.assertEqual((verdict["ok"], verdict["bad"]), (len(files), []))
        database = sqlite3.connect(self.directory / "weir.catalogue")
        ledger = database.execute("SELECT stream_type || '_' || stream_name, received, stored FROM ledgers WHERE run = ? AND stored > 0", (RUN,))
        self.assertEqual({name: stored for name, _, stored in ledger}, copies)
        database.close()


class RandomKillsWithSeveralFiles(RandomKills):
    volumes, files_per_stream = 3, 3


if __name__ == "__main__":
    main()
