# SPDX-License-Identifier: Apache-2.0
"""Files are kept whatever becomes of their catalogue, their recorder or their disk: rebuild, adopt, drain, and the
ledger that proves that nothing was lost."""
import fcntl
import shutil
import sqlite3
import unittest

from recorder_files import ids_by_stream, listed
from weir_process import Process, RecorderProcess, SenderProcess, main_without
from weir_program import ProgramTest, run

RUN = 7
NO_STRACE = "no strace here (apt install strace): a drain that is killed at a system call"


class Keeping(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"

    def record(self, directory, events=60, name="weir", crash=False):
        with RecorderProcess(self.folder, directory, "--recorder", name, run=RUN) as recorder:
            with SenderProcess(self.folder, recorder.port, "--events", events, "--connections", 2) as sender:
                sent = sender.report()
            if crash:
                recorder.kill()
            else:
                self.assertEnds(recorder.stop(), 0)
        self.assertEqual(sent["events"]["acknowledged"], events)

    def verified(self, *directories):
        """The result of verify for the run when everything is well."""
        ended = self.assertEnds(run("verify", "--json", "--run", RUN, *directories, timeout=300), 0)
        self.assertEqual(ended.json["bad"], [])
        return ended.json

    def facts(self, directory):
        """What the catalogue must have again after it was lost."""
        return sorted((f["guid"], f["stream"], f["events"], f["bytes"], f["sums"]["adler32"], f["file_state"]) for f in listed(directory))

    def test_a_lost_catalogue_is_rebuilt_from_the_files(self):
        self.record(self.directory)
        before = self.facts(self.directory)
        self.assertGreater(len(before), 2)
        for file in self.directory.glob("weir.catalogue*"):
            file.unlink()
        for added in (len(before), 0):
            rebuilt = self.assertEnds(run("recover", "--rebuild", "--json", self.directory), 0).json["catalogue"]
            self.assertEqual((rebuilt["files"], rebuilt["files_added"]), (len(before), added))
            self.assertEqual(self.facts(self.directory), before)
        ledgers = self.verified(self.directory)["ledgers"]
        self.assertEqual(sum(row["stored"] for row in ledgers), sum(file[2] for file in before))

    def test_record_with_recover_does_what_a_restart_does_and_ends(self):
        self.record(self.directory, crash=True)
        self.assertTrue(list(self.directory.glob("*.writing")))
        recovered = self.assertEnds(run("record", "--recover", "--json", "--dir", self.directory), 0).json
        self.assertEqual(recovered["failed"], [])
        self.assertGreater(len(recovered["files"]), 2)
        self.assertEqual(list(self.directory.glob("*.writing")), [])
        with RecorderProcess(self.folder, self.directory, run=RUN) as recorder:
            recorder.printed(r"run 7 \(continued\)")
            self.assertEnds(recorder.stop(), 0)
        self.verified(self.directory)

    def test_a_damaged_catalogue_is_set_aside_and_the_recorder_reports_what_to_do(self):
        self.record(self.directory)
        before = self.facts(self.directory)
        catalogue = self.directory / "weir.catalogue"
        catalogue.write_bytes(b"\0" * 8192)
        ended = run("record", "--listen", "127.0.0.1:0", "--dir", self.directory)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("weir recover --rebuild", ended.err)
        text = self.assertEnds(run("recover", "--rebuild", self.directory), 0).out
        self.assertIn("weir.catalogue.damaged-1", text)
        self.assertEqual(self.facts(self.directory), before)

    def test_the_ledger_of_a_run_is_printed_and_an_event_that_is_there_twice_is_damage(self):
        self.record(self.directory)
        text = self.assertEnds(run("verify", "--run", RUN, self.directory), 0).out
        self.assertRegex(text, r"physics_Main +weir +[\d,]+ +[\d,]+ +[\d,]+ +none")
        file = next(self.directory.glob("*physics_Main*.data"))
        duplicate = file.name.replace("._0001.", "._0002.")
        shutil.copy(file, self.directory / duplicate)
        shutil.copy(file.with_suffix(".index"), (self.directory / duplicate).with_suffix(".index"))
        ended = run("verify", "--run", RUN, self.directory)
        self.assertEqual(ended.code, 1, repr(ended))
        self.assertIn("is stored a second time", ended.out)

    def test_what_recover_closed_is_known_when_it_is_handed_over_and_deleted(self):
        self.record(self.directory, crash=True)
        self.assertEnds(run("recover", self.directory), 0)
        database = sqlite3.connect(self.directory / "weir.catalogue")
        marks = database.execute("SELECT durable FROM lane_marks").fetchall()
        database.close()
        self.assertIn(len(marks), (1, 2))  # of each connection that carried events: on a busy machine one may carry all
        self.assertTrue(all(durable for durable, in marks), marks)

    def test_nothing_is_drained_while_a_hand_off_works(self):
        old, new = self.folder / "old", self.folder / "new"
        self.record(old)
        new.mkdir()
        with open(old / "weir-handoff.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ended = run("drain", old, "--to", new)
            self.assertEqual(ended.code, 1, repr(ended))
            self.assertIn("by another process", ended.err)
        self.assertEqual(list(new.iterdir()), [])
        self.assertEnds(run("drain", old, "--to", new), 0)

    def test_a_copy_that_came_and_is_nowhere_is_damage(self):
        self.record(self.directory)
        self.assertEnds(run("verify", "--run", RUN, self.directory), 0)
        for received, stored, problem in ((1, 0, "copies were received, but"), (1, 1, "copies were stored, its files hold"),
                                       (-1, -1, "events, the ledger counts")):
            with self.subTest(problem):
                self.add_to_ledger(received, stored)
                ended = run("verify", "--run", RUN, self.directory)
                self.assertEqual(ended.code, 1, repr(ended))
                self.assertIn(problem, ended.out)
                self.add_to_ledger(-received, -stored)
        self.assertEnds(run("verify", "--run", RUN, self.directory), 0)

    def add_to_ledger(self, received, stored):
        database = sqlite3.connect(self.directory / "weir.catalogue")
        with database:
            database.execute("UPDATE ledgers SET received = received + ?, stored = stored + ? WHERE stream_name = 'Main'", (received, stored))
        database.close()

    def test_the_volumes_of_a_dead_recorder_are_adopted_while_the_successor_records(self):
        dead, successor = self.folder / "dead", self.directory
        self.record(dead, name="SFO-2", crash=True)
        with RecorderProcess(self.folder, successor, "--recorder", "SFO-1", run=RUN) as recorder:
            adopted = self.assertEnds(run("recover", "--json", successor, "--adopt", dead), 0).json
            self.assertEqual(adopted["failed"], [])
            self.assertGreater(adopted["catalogue"]["files_added"], 2)
            with SenderProcess(self.folder, recorder.port, "--events", 20) as sender:
                sender.report()
            self.assertEnds(recorder.stop(), 0)
        files = listed(successor)
        self.assertEqual({file["path"].split("/")[-2] for file in files}, {"dead", "data"})
        self.verified(successor)
        self.assertFalse((dead / "weir.catalogue").exists())

    def test_a_volume_is_drained_while_the_recorder_writes_to_another(self):
        old, new = self.folder / "old", self.folder / "new"
        self.record(old)
        ids = ids_by_stream(old)
        new.mkdir()
        drained = self.assertEnds(run("drain", "--json", old, "--to", new), 0).json
        self.assertEqual((drained["open"], drained["unknown"], drained["failed"]), (0, 0, []))
        self.assertEqual(list(old.glob("*.data")) + list(old.glob("*.index")), [])
        self.assertEqual(ids_by_stream(old), ids)  # by the catalogue, which stays where it is
        self.verified(old)
        text = self.assertEnds(run("drain", old, "--to", new), 0).out
        self.assertIn("holds no file of events", text)
        self.assertEqual(run("drain", old, "--to", old).code, 2)
        self.assertEqual(run("drain", new, "--to", self.folder).code, 3)

    @unittest.skipUnless(shutil.which("strace"), NO_STRACE)
    def test_a_drain_that_is_killed_goes_on(self):
        old, new = self.folder / "old", self.folder / "new"
        self.record(old, events=150)
        new.mkdir()
        files = len(list(old.glob("*.data")))
        for syscall, when in (("fdatasync", 1), ("fdatasync", 3), ("renameat2", 1), ("renameat2", 2), ("unlink", 1), ("unlink", 2)):
            with Process(self.folder, "drain", old, "--to", new,
                         prefix=["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={syscall}:signal=KILL:when={when}"]) as drain:
                drain.wait()
        self.assertEnds(run("drain", old, "--to", new), 0)
        self.assertEqual(len(list(new.glob("*.data"))), files)
        self.assertEqual(list(new.glob("*.draining")), [])
        self.assertEqual(list(old.glob("*.data")) + list(old.glob("*.index")), [])
        self.verified(old)


if __name__ == "__main__":
    main_without("" if shutil.which("strace") else NO_STRACE)
