# SPDX-License-Identifier: Apache-2.0
"""kill -9, of the recorder and of senders, while events are underway: what was acknowledged is there exactly once."""

import signal

from recorder_files import ids_by_stream, listed
from weir_process import RecorderProcess, SenderProcess, wait_until
from weir_program import ProgramTest, main, run

RUN = 7
SEED = 4
WORKLOAD = ("--seed", SEED, "--connections", 3, "--give-up-after", "0s")  # however slowly recorders start


class Crash(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"

    def acknowledged(self, recorder):
        return recorder.metrics()["weir_acknowledged_events_total"]

    def wait_for_more(self, recorder, count):
        goal = self.acknowledged(recorder) + count
        wait_until(lambda: self.acknowledged(recorder) >= goal, f"{count} more events are acknowledged")

    def kill_under_load(self, recorder, sender):
        """Kills in the middle of the sending, and returns which files the dead recorder was writing."""
        self.wait_for_more(recorder, 20)
        self.assertTrue(sender.running(), "it should be in the middle of sending")
        recorder.kill()
        return {path.name.removesuffix(".writing") for path in self.directory.glob("*.writing")
                if not path.name.endswith(".index.writing")}

    def undisturbed(self, events):
        """The same seed gives the same events with the same tags: what every stream has to hold."""
        directory = self.folder / "undisturbed"
        with RecorderProcess(self.folder, directory, run=RUN) as recorder:
            with SenderProcess(self.folder, recorder.port, *WORKLOAD, "--events", events, run=RUN) as sender:
                sender.report()
            self.assertEnds(recorder.stop(), 0)
        streams = {name: sorted(ids) for name, ids in ids_by_stream(directory).items()}
        self.assertEqual(set().union(*streams.values()), set(range(1, events + 1)))
        return streams

    def check_after(self, events, killed_while_writing):
        """Every stream holds exactly what it would hold without the crashes, and every byte is good."""
        stored = {name: sorted(ids) for name, ids in ids_by_stream(self.directory).items()}
        sent = set().union(*stored.values())
        self.assertEqual(len(sent), events)  # which are all but those that a connection had not sent yet when it was stopped
        would_be = {name: [each for each in ids if each in sent] for name, ids in self.undisturbed(max(sent)).items()}
        self.assertEqual(stored, {name: ids for name, ids in would_be.items() if ids})
        files = listed(self.directory)
        self.assertEqual({file["file_state"] for file in files}, {"CLOSED"})
        truncated = {file["path"].rsplit("/", 1)[1].removesuffix(".data") for file in files if file["file_health"] == "TRUNCATED"}
        self.assertGreater(len(truncated), 0)
        self.assertLessEqual(truncated, killed_while_writing)
        self.assertEqual({file["file_health"] for file in files if file["path"].rsplit("/", 1)[1].removesuffix(".data")
                          not in killed_while_writing}, {"SANE"})
        self.assertEqual(list(self.directory.glob("*.writing")), [])
        verdict = self.assertEnds(run("verify", "--json", self.directory, timeout=300), 0).json
        self.assertEqual((verdict["ok"], verdict["bad"]), (len(files), []))

    def test_a_recorder_that_is_killed_and_started_again_goes_on_where_it_was(self):
        self.crash_and_restart(lambda: None)

    def test_recover_before_the_restart_changes_nothing_of_that(self):
        def recover():
            recovered = self.assertEnds(run("recover", "--json", self.directory), 0).json
            self.assertEqual(recovered["failed"], [])
            self.assertGreater(sum(file["events"] for file in recovered["files"]), 0)
            self.assertEqual(list(self.directory.glob("*.writing")), [])
        self.crash_and_restart(recover)

    def crash_and_restart(self, between):
        while_writing = set()
        port, recorder, sender = 0, None, None
        try:
            for crash in range(3):
                recorder = RecorderProcess(self.folder, self.directory, port=port, run=RUN)
                port = recorder.port
                if crash == 0:  # it sends without an end: on a slow machine too there is something left for the last recorder
                    sender = SenderProcess(self.folder, port, *WORKLOAD, "--rate", 30, run=RUN)
                else:
                    self.assertIn("continued", recorder.err)
                while_writing |= self.kill_under_load(recorder, sender)
                between()
            recorder = RecorderProcess(self.folder, self.directory, port=port, run=RUN)
            self.wait_for_more(recorder, 20)
            sender.signal(signal.SIGTERM)
            sent = sender.report()
            events = sent["events"]["sent"]
            self.assertEqual(sent["events"], {"sent": events, "acknowledged": events, "rejected": 0})
            self.assertGreaterEqual(sent["reconnects"], 3)
            report = self.assertEnds(recorder.stop(), 0).json
            self.assertEqual(report["copies"]["received"],
                             report["copies"]["stored"] + sum(report["copies"]["rejected"].values()))
        finally:
            for process in (recorder, sender):
                if process:
                    process.__exit__()
        self.check_after(events, while_writing)

    def test_a_run_that_crashed_and_went_on_is_closed_like_any_other(self):
        with RecorderProcess(self.folder, self.directory, run=RUN) as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", RUN, "--events", 20), 0)
            recorder.kill()
        with RecorderProcess(self.folder, self.directory, run=RUN) as recorder:
            self.assertEnds(recorder.stop(), 0)
        ended = run("record", "--listen", "127.0.0.1:0", "--dir", self.directory, "--run", RUN)
        self.assertEqual((ended.code, ended.err.count("\n")), (1, 1), repr(ended))
        self.assertIn(f"run {RUN} was closed", ended.err)

    def test_senders_that_are_killed_leave_whole_events_only(self):
        with RecorderProcess(self.folder, self.directory, run=RUN) as recorder:
            for victim in range(4):  # without a pause between events, so each dies inside one
                with SenderProcess(self.folder, recorder.port, "--connections", 4, "--first-id", 1 + (victim << 32),
                                   "--name", f"victim-{victim}", run=RUN) as sender:
                    self.wait_for_more(recorder, 100)
                    sender.kill()
            wait_until(lambda: recorder.metrics()["weir_connections"] == 0, "the recorder has noticed")
            with SenderProcess(self.folder, recorder.port, "--events", 50, "--first-id", 1 << 40, run=RUN) as sender:
                self.assertEqual(sender.report()["events"]["acknowledged"], 50)
            partial = recorder.metrics()["weir_partial_events_total"]
            report = self.assertEnds(recorder.stop(), 0).json
        self.assertGreater(partial, 0)
        copies = report["copies"]
        self.assertEqual(copies["rejected"], {})
        self.assertEqual(copies["received"], copies["stored"])
        streams = ids_by_stream(self.directory)
        self.assertEqual(sum(map(len, streams.values())), copies["stored"])
        everything = set().union(*streams.values())
        self.assertEqual(len(everything), report["events"]["received"])
        self.assertLessEqual(set(range(1 << 40, (1 << 40) + 50)), everything)
        for name, ids in streams.items():
            self.assertEqual(len(ids), len(set(ids)), name)
        self.assertEqual(self.assertEnds(run("verify", "--json", self.directory, timeout=300), 0).json["bad"], [])


if __name__ == "__main__":
    main()
