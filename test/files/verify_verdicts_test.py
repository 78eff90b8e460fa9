# SPDX-License-Identifier: Apache-2.0
"""A script acts on the result of `weir verify` for a recorder's directory: 0 only when all that was acknowledged is there."""
import shutil
import struct

import recorder_wire as wire
from recorder_files import ROB, RawFile, listed
from weir_process import RecorderProcess, SenderProcess
from weir_program import ProgramTest, main, run

EVENTS = 50
EVENT_5_0 = 1


class Verdicts(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"

    def record(self, *more, crash=False):
        with RecorderProcess(self.folder, self.directory, *more) as recorder:
            with SenderProcess(self.folder, recorder.port, "--events", EVENTS, "--connections", 2) as sender:
                self.assertEqual(sender.report()["events"]["acknowledged"], EVENTS)
            if crash:
                recorder.kill()
            else:
                self.assertEnds(recorder.stop(), 0)

    def test_an_open_file_that_was_removed_is_damage(self):
        self.record(crash=True)
        victim = max(self.directory.glob("*0001.writing"), key=lambda file: file.stat().st_size)
        self.assertEnds(run("verify", self.directory), 0)  # open files are not verified, and that is reported
        victim.unlink()
        damaged = self.assertEnds(run("verify", "--json", self.directory), 1).json["bad"]
        self.assertEqual([each["path"] for each in damaged], [str(victim)])

    def test_an_open_file_that_is_gone_with_its_journal_is_named_and_its_run_can_be_closed(self):
        self.record(crash=True)
        victim = max(self.directory.glob("*0001.writing"), key=lambda file: file.stat().st_size)
        aside = self.folder / victim.name
        shutil.move(victim, aside)
        index = victim.with_suffix(".index.writing")
        shutil.move(index, self.folder / index.name)
        for journal in self.directory.glob("weir.journal.*"):
            journal.write_bytes(b"")
        with RecorderProcess(self.folder, self.directory) as recorder:
            recorder.printed("ALARM acknowledged events in doubt")
            self.assertEnds(recorder.stop(), 0)
        missing = self.assertEnds(run("verify", "--json", self.directory), 1).json["bad"]
        self.assertIn(str(victim.with_suffix(".data")), [each["path"] for each in missing])
        shutil.move(aside, victim)
        shutil.move(self.folder / index.name, index)
        recovered = run("recover", "--json", self.directory).json["files"]
        self.assertEqual([file["path"] for file in recovered], [str(victim.with_suffix(".data"))])
        self.assertEqual(self.assertEnds(run("verify", "--json", self.directory), 0).json["bad"], [])

    def test_a_file_in_quarantine_is_read_and_its_damage_named(self):
        target = self.folder / "target"
        target.mkdir()
        self.record()
        victim = max(self.directory.glob("*.data"), key=lambda file: file.stat().st_size)
        with open(victim, "r+b") as file:
            file.seek(victim.stat().st_size // 2)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 1]))
        self.assertEnds(run("handoff", "--dir", self.directory, "--to", target, "--once"), 1)
        ended = self.assertEnds(run("verify", "--json", self.directory), 1).json
        self.assertEqual((ended["quarantined"], {each["path"] for each in ended["bad"]}), (1, {str(victim)}))

    def test_an_event_that_its_sender_made_badly_is_malformed_and_not_damaged(self):
        self.record()
        _, event = max((event for file in self.directory.glob("*Main*.data") for event in RawFile(file).events()), key=lambda each: len(each[1]))
        bad = bytearray(event)
        bad[bad.index(struct.pack("<I", ROB))] ^= 1
        shutil.rmtree(self.directory)
        with RecorderProcess(self.folder, self.directory, "--check", "header") as recorder:
            peer = wire.Peer(recorder.port)
            peer.send(wire.hello(7, form=EVENT_5_0))
            peer.send(wire.event(1, event) + wire.event(2, bytes(bad)))
            peer.receive_acknowledgement_of(2)
            self.assertEnds(recorder.stop(), 0)
        ended = self.assertEnds(run("verify", "--json", self.directory), 4).json
        self.assertEqual((ended["bad"], [each["event"] for each in ended["malformed"]]), ([], [2]))
        self.assertIn("malformed, as it was received", self.assertEnds(run("verify", self.directory), 4).out)
        self.assertEnds(run("verify", "--depth", "header", self.directory), 0)

    def test_an_empty_directory_beside_a_full_one_is_a_note(self):
        self.record()
        empty = self.folder / "empty"
        empty.mkdir()
        ended = self.assertEnds(run("verify", "--json", self.directory, empty), 0).json
        self.assertEqual(ended["ok"], len(listed(self.directory)))
        self.assertTrue(any(str(empty) in note for note in ended["notes"]))
        self.assertEnds(run("verify", empty), 3)


if __name__ == "__main__":
    main()
