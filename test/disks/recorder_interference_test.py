# SPDX-License-Identifier: Apache-2.0
"""What others do to the directory of a recorder that runs: rm, mv, cp. It is noticed within seconds, has an alarm of its
own, costs no acknowledged event, and the recorder ends with 1."""
import json
import shutil
import subprocess

from recorder_files import ids_by_stream, listed
from weir_process import RecorderProcess, SenderProcess, main_without, wait_until
from weir_program import ProgramTest, run

CONFIG = """[record]
streams_max = 16
segment = "256KiB"
sync_interval = "5ms"
"""
EVENTS = 200


class Interference(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"
        self.sent = 0

    def record(self, *more, **how):
        config = self.folder / "c.toml"
        config.write_text(CONFIG)
        return RecorderProcess(self.folder, self.directory, "--config", config, "--memory", "64MiB", "--event-max", "4MiB", *more, **how)

    def report(self, sender, recorder):
        try:
            return sender.report()
        except AssertionError as problem:
            code = recorder.process.poll()
            state = "runs" if code is None else f"has ended with {code}"
            raise AssertionError(f"{problem}\nthe recorder {state}: {recorder.err[-3000:]}") from None

    def send(self, recorder, name, events=EVENTS):
        with SenderProcess(self.folder, recorder.port, "--events", events, "--connections", 2, "--name", name, "--first-id",
                           self.sent + 1) as sender:
            report = self.report(sender, recorder)
        self.assertEqual(report["events"]["acknowledged"], events)
        self.sent += events

    def sending(self, recorder, name, events=EVENTS):
        """A sender that takes its time, so that something can be done meanwhile."""
        first, self.sent = self.sent + 1, self.sent + events
        return SenderProcess(self.folder, recorder.port, "--events", events, "--rate", 100, "--connections", 2, "--name", name, "--first-id", first)

    def alarmed(self, recorder, name):
        recorder.printed(f"ALARM {name}")
        self.assertNotIn("ALARM disk full", recorder.err)

    def assertAllIsThere(self, recorder, code=1):
        ended = self.assertEnds(recorder.stop(), code)
        copies = json.loads(ended.out)["copies"]
        verified = self.assertEnds(run("verify", "--json", self.directory, timeout=300), 0).json
        self.assertEqual(verified["bad"], [])
        self.assertEqual(verified["quarantined"], 0)
        self.assertEqual(sum(row["events"] for row in listed(self.directory)), copies["stored"])
        self.assertEqual(copies["received"], copies["stored"] + sum(copies["rejected"].values()))
        for stream, ids in ids_by_stream(self.directory).items():
            self.assertEqual(len(ids), len(set(ids)), f"{stream}: an event is there twice")
        self.assertEqual(json.loads(ended.out)["events"]["acknowledged"], self.sent)
        return ended

    def removed_while_sending(self, pattern, alarm):
        with self.record() as recorder:
            self.send(recorder, "before")
            with self.sending(recorder, "meanwhile") as sender:
                files = wait_until(lambda: sorted(self.directory.glob(pattern)), pattern)
                subprocess.run(["rm", *files], check=True)
                self.alarmed(recorder, alarm)
                self.report(sender, recorder)
            self.send(recorder, "after")
            ended = self.assertAllIsThere(recorder)
        self.assertIn("interfered", ended.err)

    def test_a_file_of_events_that_is_removed_is_saved_from_its_descriptor(self):
        self.removed_while_sending("*0001.writing", "file removed: .*writing")

    def test_a_file_of_events_that_is_removed_just_before_the_stop_is_saved(self):
        with self.record() as recorder:
            self.send(recorder, "only")
            subprocess.run(["rm", *self.directory.glob("*0001.writing")], check=True)
            self.assertAllIsThere(recorder)

    def test_a_file_of_events_that_is_moved_away_is_saved_too(self):
        with self.record() as recorder:
            self.send(recorder, "before")
            (self.folder / "aside").mkdir()
            subprocess.run(["mv", *self.directory.glob("*0001.writing"), self.folder / "aside"], check=True)
            self.alarmed(recorder, "file removed")
            self.send(recorder, "after")
            self.assertAllIsThere(recorder)

    def test_an_index_that_is_removed_is_written_again(self):
        self.removed_while_sending("*.index.writing", "file removed: .*index.writing")

    def test_an_index_that_is_removed_just_before_the_stop_is_written_again(self):
        with self.record() as recorder:
            self.send(recorder, "only")
            subprocess.run(["rm", *self.directory.glob("*.index.writing")], check=True)
            self.assertAllIsThere(recorder)
        self.assertTrue(all(row["events"] for row in listed(self.directory)))
        self.assertEqual(len(list(self.directory.glob("*.index"))), len(listed(self.directory)))

    def test_a_journal_that_is_removed_is_written_again(self):
        self.removed_while_sending("weir.journal.*", "file removed: weir.journal")
        with self.record(run=8) as recorder:
            with SenderProcess(self.folder, recorder.port, "--events", EVENTS, "--name", "run-8", run=8) as sender:
                self.report(sender, recorder)
            subprocess.run(["rm", *self.directory.glob("weir.journal.*")], check=True)
            recorder.printed("ALARM file removed: weir.journal")
            recorder.kill()
        recovered = self.assertEnds(run("recover", "--json", self.directory), 0).json
        self.assertEqual(recovered["doubts"], [])
        self.assertGreaterEqual(sum(file["events"] for file in recovered["files"]), EVENTS)

    def test_a_catalogue_that_is_removed_is_written_again(self):
        for pattern in ("weir.catalogue*", "weir.catalogue"):
            with self.subTest(pattern):
                self.removed_while_sending(pattern, "catalogue removed")
                self.sent = 0
                shutil.rmtree(self.directory)

    def test_a_catalogue_that_is_removed_just_before_the_stop_is_written_again(self):
        with self.record() as recorder:
            self.send(recorder, "only")
            subprocess.run(["rm", *self.directory.glob("weir.catalogue*")], check=True)
            self.assertAllIsThere(recorder)

    def test_everything_that_is_removed_is_written_again(self):
        with self.record() as recorder:
            self.send(recorder, "before")
            subprocess.run(["rm", *(file for file in self.directory.iterdir() if file.is_file())], check=True)
            self.alarmed(recorder, "file removed: .*writing")
            self.alarmed(recorder, "file removed: weir.journal")
            self.alarmed(recorder, "catalogue removed")
            self.send(recorder, "after")
            self.assertAllIsThere(recorder)

    def test_a_foreign_file_under_a_final_name_is_set_aside_and_never_taken_for_ours(self):
        with self.record() as recorder:
            self.send(recorder, "before")
            files = sorted(self.directory.glob("*0001.writing"))
            for file in files:
                subprocess.run(["cp", "/etc/passwd", file.with_suffix(".data")], check=True)
            self.alarmed(recorder, "foreign file")
            self.send(recorder, "after")
            self.assertAllIsThere(recorder)
        for file in files:
            self.assertEqual(file.with_suffix(".data.foreign-1").read_bytes(), open("/etc/passwd", "rb").read())

    def test_a_directory_that_is_renamed_takes_no_event_until_it_is_back(self):
        away = self.folder / "away"
        with self.record() as recorder:
            self.send(recorder, "before")
            subprocess.run(["mv", self.directory, away], check=True)
            self.alarmed(recorder, "directory gone")
            with self.sending(recorder, "meanwhile") as sender:
                recorder.printed("ALARM volume dropped")
                wait_until(lambda: recorder.metrics()["weir_recording_paused"] == 1, "paused")
                self.assertTrue(sender.running())
                self.assertFalse(self.directory.exists())
                subprocess.run(["mv", away, self.directory], check=True)
                self.report(sender, recorder)
            self.send(recorder, "after")
            self.assertAllIsThere(recorder)

    def test_a_directory_that_is_not_back_at_the_stop_ends_with_1_and_recovers_later(self):
        away = self.folder / "away"
        with self.record() as recorder:
            self.send(recorder, "before")
            subprocess.run(["mv", self.directory, away], check=True)
            self.alarmed(recorder, "directory gone")
            ended = self.assertEnds(recorder.stop(), 1)
        self.assertFalse(self.directory.exists())
        self.assertNotIn("disk full", ended.err)
        subprocess.run(["mv", away, self.directory], check=True)
        self.assertEnds(run("recover", self.directory), 0)
        verified = self.assertEnds(run("verify", "--json", self.directory), 0).json
        self.assertEqual((verified["bad"], verified["quarantined"]), ([], 0))
        self.assertEqual(verified["events"], json.loads(ended.out)["copies"]["stored"])

    def test_a_file_in_quarantine_that_is_good_again_is_released_and_handed_over(self):
        target = self.folder / "target"
        target.mkdir()
        with self.record() as recorder:
            self.send(recorder, "only")
            self.assertEnds(recorder.stop(), 0)
        victim = max(self.directory.glob("*.data"), key=lambda file: file.stat().st_size)
        good = victim.read_bytes()
        with open(victim, "r+b") as file:
            file.seek(len(good) // 2)
            file.write(bytes([good[len(good) // 2] ^ 1]))
        hand_off = ("handoff", "--dir", self.directory, "--to", target, "--once")
        self.assertEnds(run(*hand_off), 1)
        self.assertEnds(run("verify", "--release", self.directory), 1)
        self.assertFalse((target / victim.name).exists())
        with open(victim, "r+b") as file:
            file.write(good)
        held = self.assertEnds(run("verify", "--json", self.directory), 0).json
        self.assertEqual((held["quarantined"], held["released"]), (1, []))
        released = self.assertEnds(run("verify", "--release", "--json", self.directory), 0).json
        self.assertEqual((released["quarantined"], released["released"]), (0, [str(victim)]))
        self.assertEnds(run(*hand_off), 0)
        self.assertTrue(list(target.rglob(victim.name)))


if __name__ == "__main__":
    main_without("")
