# SPDX-License-Identifier: Apache-2.0
"""weir send against a real recorder: every event is answered, counted and stored."""
import signal
import subprocess
import time

import weir_program
from weir_process import RecorderProcess, wait_until
from weir_program import BES3, ProgramTest, Recorder, run


class Send(ProgramTest):
    def send(self, recorder, *arguments):
        return run("send", "--to", recorder.address, "--json", *arguments)

    def test_a_workload_arrives_whole_over_several_connections(self):
        with Recorder(self.folder) as recorder:
            sent = self.assertEnds(self.send(recorder, "--run", 7, "--events", 200, "--connections", 4), 0).json
            recorded = self.assertEnds(recorder.stop(), 0).json
        self.assertEqual(sent["events"], {"sent": 200, "acknowledged": 200, "rejected": 0})
        self.assertEqual(sent["unanswered"], 0)
        self.assertGreater(sent["bytes"], 200 * 300_000)
        self.assertAlmostEqual(sent["gb_per_s"], sent["bytes"] / sent["seconds"] / 1e9, delta=1e-6)
        self.assertEqual(recorded["events"]["received"], 200)
        self.assertEqual(recorded["copies"]["stored"], recorded["copies"]["received"])

    def test_real_events_are_replayed_once_or_as_often_as_asked(self):
        for more, events in [([], 10), (["--keep-ids"], 10), (["--events", 123, "--connections", 3], 123)]:
            with self.subTest(more=more), Recorder(self.folder / f"{len(more)}", run_number=91668) as recorder:
                sent = self.assertEnds(self.send(recorder, "--source", BES3, *more), 0).json
                self.assertEqual(sent["run"], 91668)
                self.assertEqual(sent["events"], {"sent": events, "acknowledged": events, "rejected": 0})
                self.assertEqual(self.assertEnds(recorder.stop(), 0).json["events"]["received"], events)

    def test_a_sender_that_names_no_run_joins_the_one_that_is_recorded(self):
        with Recorder(self.folder, run_number=7) as recorder:
            sent = self.assertEnds(self.send(recorder, "--source", BES3), 0).json  # a file of run 91668
            self.assertEqual((sent["run"], sent["events"]["acknowledged"]), (7, 10))
            sent = self.assertEnds(self.send(recorder, "--events", 5, "--first-id", 100), 0).json
            self.assertEqual((sent["run"], sent["events"]["acknowledged"]), (7, 5))
            ended = self.assertEnds(self.send(recorder, "--source", BES3, "--keep-ids"), 1)
            self.assertIn("run 7 is being recorded here, not run 91668", ended.err)
            self.assertEnds(recorder.stop(), 0)

    def test_another_run_is_refused_in_the_words_of_the_recorder(self):
        with Recorder(self.folder, run_number=7) as recorder:
            ended = self.assertEnds(self.send(recorder, "--run", 8, "--events", 3), 1)
            self.assertEqual(ended.json["events"]["acknowledged"], 0)
            self.assertEqual(ended.err.count("\n"), 1, repr(ended))
            self.assertIn("7", ended.err)

    def test_a_signal_ends_an_endless_sending_with_everything_answered(self):
        with RecorderProcess(self.folder, self.folder / "data") as recorder:
            begin = time.monotonic()
            process = subprocess.Popen([weir_program.PROGRAM, "send", "--to", recorder.address, "--run", "7", "--source", BES3,
                                        "--events", "1000000000", "--rate", "500", "--json"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            wait_until(lambda: recorder.metrics()["weir_acknowledged_events_total"] > 50, "events flow")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
            seconds = time.monotonic() - begin
            ended = self.assertEnds(weir_program.Ended(process.returncode, out.decode(), err.decode()), 0)
            events = ended.json["events"]
            self.assertGreater(events["sent"], 50)
            self.assertLess(events["sent"], 500 * seconds + 100)  # the rate was kept
            self.assertEqual(events["sent"], events["acknowledged"])

    def test_without_a_recorder_it_ends_after_the_given_time(self):
        ended = self.assertEnds(run("send", "--to", "127.0.0.1:1", "--source", BES3, "--give-up-after", "300ms"), 1)
        self.assertEqual(ended.err.count("\n"), 1, repr(ended))
        self.assertIn("127.0.0.1:1", ended.err)

    def test_what_makes_no_sense_is_reported_in_one_line(self):
        to = ["send", "--to", "localhost:9000"]
        self.assertOneLine(run("send"), 2, "--to")
        self.assertOneLine(run("send", "--to", "localhost"), 2, "--to")
        self.assertOneLine(run(*to, "--profile", "atlas2081"), 2, 'did you mean "atlas2018"?')
        self.assertOneLine(run(*to, "--source", BES3, "--profile", "atlas2018"), 2, "--source and --profile")
        self.assertOneLine(run(*to, "--connections", 1001), 2, "1 to 1000")
        self.assertOneLine(run(*to, "--rate=-3"), 2, "--rate")
        self.assertOneLine(run(*to, "--source", BES3, "--keep-ids", "--events", 11), 2, "there are 10")
        self.assertOneLine(run(*to, "--source", BES3, "--stream", "Main"), 2, "Main")
        self.assertOneLine(run(*to, "--keep-ids"), 2, "--source")

    def test_a_file_that_is_not_there_or_no_raw_file_is_named(self):
        absent = self.assertEnds(run("send", "--to", "localhost:9000", "--source", self.folder / "absent.raw"), 3)
        self.assertIn("absent.raw", absent.err)
        (self.folder / "text.raw").write_text("not a raw file, but long enough to look at it closely\n" * 10)
        self.assertOneLine(run("send", "--to", "localhost:9000", "--source", self.folder / "text.raw"), 1, "text.raw")


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
