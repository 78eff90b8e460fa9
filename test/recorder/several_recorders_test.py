# SPDX-License-Identifier: Apache-2.0
"""Three recorders of one run with one catalogue in PostgreSQL, of which one after the other is killed under load, of
`weir send` and of a program with the C library. Afterwards each acknowledged event is in exactly one place over all
of them, for each of its streams: counted from the files by a reader of its own, and from the shared catalogue.

WEIR_KILLS is how many die (./run recorders 50); WEIR_SEED repeats which and when.
"""
import collections
import json
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

import postgres_server
from recorder_files import RawFile, expect
from weir_process import RecorderProcess, SenderProcess, wait_until
from weir_program import SKIPPED, ProgramTest, main, run

RUN = 7
KILLS = int(os.environ.get("WEIR_KILLS") or 5)
SEED = int(os.environ.get("WEIR_SEED") or time.time_ns() % 1_000_000)
SEND_MANY = os.environ.get("WEIR_SEND_MANY")
NAMES = ("east", "north", "west")
BATCH = ("--events", 250, "--seed", 4, "--rate", 120, "--give-up-after", "0s")
STREAM = "calibration_Test"  # of the program with the C library
EACH_AWAY = 4  # one kill of so many is followed by a longer absence than senders wait for
AWAY = 4.5  # s: longer than the 3 s after which what a recorder was never sent goes to the others


def word(data, at):
    return struct.unpack_from("<I", data, at)[0]


def global_id(event):
    """Of an event of format 5.0: header, status words, type of checksum; then two times and the id."""
    expect(word(event, 0) == 0xAA1234AA and word(event, 12) >> 16 == 0x0500, "not an event of format 5.0")
    at = 4 * (7 + word(event, 20)) + 8
    return word(event, at) | word(event, at + 4) << 32


def ids_below(directories):
    """Every copy in every file below the directories, as the names of the files say its stream; nothing is asked of weir."""
    streams = collections.defaultdict(list)
    for directory in directories:
        for path in sorted(directory.glob("*.data")):
            stream = path.name.split(".")[2]
            for _, event in RawFile(path).events():
                if stream == STREAM:
                    id = int.from_bytes(event[:8], "little")
                    expect(event[8:] == bytes([id % 251]) * (id % 3000), f"event {id} is not as it was sent")
                    streams[stream].append(id)
                else:
                    streams[stream].append(global_id(event))
    return streams


def sequences(text):
    """How many are in "1-40007,40010"."""
    return sum(int(part.split("-")[-1]) - int(part.split("-")[0]) + 1 for part in text.split(",") if part)


class Batches(threading.Thread):
    """One `weir send` after the other to all recorders, each with the same events under new ids."""

    def __init__(self, folder, to, on=None):
        super().__init__(daemon=True)
        self.folder, self.to, self.on = folder, to, on
        self.reports, self.problem, self.ending = [], None, threading.Event()

    @staticmethod
    def first(batch):
        return 1 << 48 | batch << 24

    def run(self):
        try:
            while not self.ending.is_set():
                number = len(self.reports)
                with SenderProcess(self.folder, self.to[0], "--to", *self.to[1:], *BATCH, "--first-id", self.first(number) + 1,
                                   "--name", f"batch-{number}", run=RUN, on=self.on) as sender:
                    report = sender.report(900)
                assert report["events"] == {"sent": BATCH[1], "acknowledged": BATCH[1], "rejected": 0}, report
                assert report["in_doubt"] == 0, report
                self.reports.append(report)
        except Exception as problem:  # reported by the test, not by this thread
            self.problem = problem


class SeveralRecorders(ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = postgres_server.PostgresServer(self.folder / "postgres")
        self.addCleanup(self.server.__exit__)
        self.config = self.folder / "record.toml"
        self.config.write_text("[record]\nfile_events_max = 80\nstreams_max = 16\n")
        self.random = random.Random(SEED)

    def directory(self, name):
        return self.folder / f"data-{name}"

    def recorder(self, name, port=None, *more, on=None):
        return RecorderProcess(self.folder, self.directory(name), "--config", self.config, "--catalogue", self.server.uri, "--recorder", name,
                               "--memory", "256MiB", "--event-max", "8MiB", *more, run=RUN, port=port, on=on)

    def lose(self, name, recorder, away):
        """The recorder dies, and is back after so many seconds."""
        recorder.kill()
        time.sleep(away)
        return self.recorder(name, recorder.port)

    senders_on = None  # a machine of hosts.Hosts; none: this one

    def expected_of_a_batch(self):
        """Ids by stream of an undisturbed batch: the same seed gives the same tags."""
        directory = self.folder / "undisturbed"
        with RecorderProcess(self.folder, directory, run=RUN) as recorder:
            with SenderProcess(self.folder, recorder.port, *BATCH[:4], run=RUN) as sender:
                sender.report()
            self.assertEnds(recorder.stop(), 0)
        return {name: set(ids) for name, ids in ids_below([directory]).items()}

    def acknowledged(self, recorder):
        return recorder.metrics()["weir_acknowledged_events_total"]

    def test_lost_one_after_the_other_they_have_each_event_once_among_them(self):
        print(f"{KILLS} recorders die; again: WEIR_KILLS={KILLS} WEIR_SEED={SEED}", file=sys.stderr)
        recorders = {name: self.recorder(name) for name in NAMES}
        self.addCleanup(lambda: [recorder.__exit__() for recorder in recorders.values()])
        to = [recorder.address for recorder in recorders.values()]
        batches = Batches(self.folder, to, self.senders_on)
        with open(self.folder / "many.out", "wb") as out, open(self.folder / "many.err", "wb") as err:
            start = self.senders_on.start if self.senders_on else subprocess.Popen
            many = start([SEND_MANY, ",".join(to), str(RUN), "many", "1000", "300"], stdout=out, stderr=err)
        self.addCleanup(many.wait)
        self.addCleanup(many.kill)
        batches.start()
        for kill in range(KILLS):
            name = self.random.choice(NAMES)
            before = self.acknowledged(recorders[name])
            wait_until(lambda: self.acknowledged(recorders[name]) > before + 20 or batches.problem, f"{name} records after {kill} kills")
            self.assertIsNone(batches.problem)
            time.sleep(self.random.uniform(0, 0.3))  # any moment of its work
            recorders[name] = self.lose(name, recorders[name], AWAY if kill % EACH_AWAY == EACH_AWAY - 1 else self.random.uniform(0, 0.5))
        batches.ending.set()
        batches.join(900)
        self.assertFalse(batches.is_alive())
        self.assertIsNone(batches.problem)
        many.send_signal(signal.SIGTERM)
        self.assertEqual(many.wait(900), 0, (self.folder / "many.err").read_text())
        report = json.loads((self.folder / "many.out").read_text())
        self.assertEqual((report["acknowledged"], report["rejected"], report["in_doubt"]), (report["sent"], 0, 0))
        ended = {name: self.assertEnds(recorder.stop(), 0).json for name, recorder in recorders.items()}
        for name, end in ended.items():  # the accounts, in both directions
            self.assertEqual(end["copies"]["received"], end["copies"]["stored"] + sum(end["copies"]["rejected"].values()), name)
        copies = self.check_files(batches, report["sent"])
        self.check_catalogue(batches, report["sent"], copies)
        resent = report["resent"] + sum(batch["resent"] for batch in batches.reports)
        reconnects = report["reconnects"] + sum(batch["reconnects"] for batch in batches.reports)
        print(f"{KILLS} recorders died; {report['sent']} events of the C library and {BATCH[1] * len(batches.reports)} of weir send, "
              f"{sum(copies.values())} copies; {reconnects} connections were made again, {resent} events sent again; 0 lost, 0 twice",
              file=sys.stderr)

    def check_files(self, batches, sent):
        of_a_batch = self.expected_of_a_batch()
        found = ids_below([self.directory(name) for name in NAMES])
        self.assertEqual([path for name in NAMES for path in self.directory(name).glob("*.writing")], [])
        expected = {STREAM: set(range(1000, 1000 + sent))}
        for stream, ids in of_a_batch.items():
            expected[stream] = {batches.first(number) + id for number in range(len(batches.reports)) for id in ids}
        self.assertEqual(set(found), set(expected))
        for stream, ids in found.items():
            twice = [id for id, count in collections.Counter(ids).items() if count > 1]
            self.assertEqual(twice, [], f"of {stream} these are twice")
            self.assertEqual(expected[stream] - set(ids), set(), f"of {stream} these are lost")
            self.assertEqual(set(ids) - expected[stream], set(), f"of {stream} these were never sent")
        return {stream: len(ids) for stream, ids in found.items()}

    def check_catalogue(self, batches, sent, copies):
        events = collections.Counter()
        for row in self.server.rows("(SELECT stream_type || '_' || stream_name, events, file_state, reader_files.recorder FROM reader_files) AS f"):
            self.assertEqual(row[2], "CLOSED", row)
            events[row[0]] += int(row[1])
        self.assertEqual(dict(events), copies)
        recorded = collections.Counter()
        for row in self.server.rows("(SELECT sender, durable FROM lane_marks WHERE sender <> '*') AS m"):
            recorded[row[0]] += sequences(row[1])
        self.assertEqual(dict(recorded), {"many": sent, **{f"batch-{number}": BATCH[1] for number in range(len(batches.reports))}})
        self.assertEqual({row[2] for row in self.server.rows("runs")}, {"CLOSED"})
        self.assertVerified()

    def assertVerified(self):
        verdict = self.assertEnds(run("verify", "--json", "--run", RUN, "--catalogue", self.server.uri, *map(self.directory, NAMES),
                                      timeout=600), 0).json
        self.assertEqual((verdict["files"], verdict["bad"]), (verdict["ok"], []))


if __name__ == "__main__":
    if postgres_server.absent() or not SEND_MANY:
        print(f"NOT TESTED: {postgres_server.absent() or 'no client library was built (WEIR_SEND_MANY)'}", file=sys.stderr)
        sys.exit(SKIPPED)
    main()
