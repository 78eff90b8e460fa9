# SPDX-License-Identifier: Apache-2.0
"""Far more small files than a recorder has blocks: 100 streams with 10 lumi blocks each, files of 1 MiB, as fast as they are
taken. Then a stop: every file is closed, and every acknowledged event is in one of them.

WEIR_CLOSING_SECONDS sets for how long (./run closing 600). Closed files are read and removed while it goes on, as hand-off
does, so that the disk does not fill.
"""
import collections
import os
import sqlite3
import struct
import sys
import threading
import time

import recorder_wire as wire
from recorder_files import RawFile
from weir_process import RecorderProcess
from weir_program import ProgramTest, main, run

RUN, STREAMS, BLOCKS = 7, 100, 10
SECONDS = float(os.environ.get("WEIR_CLOSING_SECONDS") or 3)
PAYLOADS = [os.urandom(size) for size in (200, 9_000, 60_000, 240_000)]
SUMS = {payload: wire.crc32c(payload) for payload in PAYLOADS}


class Sender(threading.Thread):
    """Events for all streams and blocks in turn; it remembers how many of each stream were acknowledged."""

    def __init__(self, port, number, until):
        super().__init__(daemon=True)
        self.port, self.number, self.until = port, number, until
        self.sent, self.problem, self.rejected = 0, None, 0

    def run(self):
        try:
            with wire.Peer(self.port, timeout=600) as peer:
                self.peer = peer
                peer.send(wire.hello(RUN, b"many-%d" % self.number))
                assert peer.receive()[0] == wire.WELCOME
                answers = threading.Thread(target=self.listen, daemon=True)
                answers.start()
                while time.monotonic() < self.until or self.sent % STREAMS:
                    self.sent += 1
                    peer.send(self.event(self.sent))
                self.all_sent = True
                answers.join(600)
                assert not answers.is_alive(), f"{self.sent} events were sent, {self.acknowledged} acknowledged"
        except Exception as problem:  # reported by the test, not by this thread
            self.problem = problem

    acknowledged, all_sent = 0, False

    def listen(self):
        while not (self.all_sent and self.acknowledged == self.sent):
            kind, meta = self.peer.receive()
            if kind == wire.REJECT:
                self.rejected += 1
            elif kind == wire.ACK:
                self.acknowledged, = struct.unpack_from("<Q", meta, 8)

    def event(self, sequence):
        stream, block = sequence % STREAMS, 1 + sequence // STREAMS % BLOCKS
        payload = PAYLOADS[sequence // 7 % len(PAYLOADS)]
        id = (self.number << 40) + sequence
        meta = struct.pack("<QQQIIIHxx", sequence, 1, id, sequence & 0xFFFFFFFF, block, SUMS[payload], 1)
        name = b"S%d" % stream
        meta += struct.pack("<BBBxHH", 11, len(name), 1, 0, 0) + b"calibration" + name
        return wire.header(wire.EVENT, meta, len(payload)) + meta + payload


class ManyFiles(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"
        self.events, self.files, self.stored = collections.Counter(), 0, 0

    def read_and_remove_closed_files(self, all_of_them=False):
        """Reads the files that are closed; of every second all is looked at."""
        for path in sorted(self.directory.glob("*.data")):
            if not all_of_them and time.time() - path.stat().st_mtime < 1:
                continue
            self.files += 1
            if self.files % 50 == 0:
                self.assertEnds(run("cat", path, "--json"), 0)
            file = RawFile(path)
            stream = path.name.split("_S", 1)[1].split(".")[0]
            self.events[stream] += sum(1 for _ in file.events()) if self.files % 2 else file.events_stated
            self.stored += path.stat().st_size
            path.unlink()

    def test_are_all_closed_and_hold_every_acknowledged_event(self):
        config = self.folder / "record.toml"
        config.write_text(f'[record]\nfile_size_max = "1MiB"\nlumi_blocks_open_max = {BLOCKS}\nstreams_max = 128\nevent_max = "1MiB"\n')
        with RecorderProcess(self.folder, self.directory, "--config", config, run=RUN) as recorder:
            begun = time.monotonic()
            senders = [Sender(recorder.port, number, begun + SECONDS) for number in (1, 2)]
            for sender in senders:
                sender.start()
            open_most = 0
            while any(sender.is_alive() for sender in senders):
                open_most = max(open_most, sum(1 for _ in self.directory.glob("*.writing")))
                self.read_and_remove_closed_files()
                time.sleep(0.2)
            for sender in senders:
                self.assertIsNone(sender.problem)
                self.assertEqual(sender.rejected, 0)
            ended = self.assertEnds(recorder.stop(seconds=600), 0)
            seconds = time.monotonic() - begun
        alarms = [line for line in recorder.err.splitlines() if "alarm" in line]
        self.read_and_remove_closed_files(all_of_them=True)
        self.assertEqual(list(self.directory.glob("*.writing*")), [])
        sent = sum(sender.sent for sender in senders)
        self.assertEqual(sum(self.events.values()), sent)
        self.assertEqual({stream: count for stream, count in self.events.items()},
                         {str(stream): sum((sender.sent + STREAMS - stream) // STREAMS - (stream == 0) for sender in senders) for stream in range(STREAMS)})
        database = sqlite3.connect(self.directory / "weir.catalogue")
        rows = database.execute("SELECT file_state, COUNT(*), SUM(events) FROM files GROUP BY file_state").fetchall()
        database.close()
        self.assertEqual(rows, [("CLOSED", self.files, sent)])
        self.assertEqual(ended.json["copies"]["stored"], sent)
        print(f"{sent} events in {self.files} files, {self.stored / 1e9:.2f} GB, at most {open_most} open, in {seconds:.1f} s with the stop: "
              f"{self.files / seconds:.0f} files/s closed; alarms: {alarms or 'none'}", file=sys.stderr)


if __name__ == "__main__":
    main()
