# SPDX-License-Identifier: Apache-2.0
"""Stop always ends: what is in hand is written, files and run are closed, and the counts balance."""
import signal

import recorder_wire as wire
from recorder_files import ids_by_stream, listed
from recorder_wire import Peer
from weir_process import RecorderProcess, SenderProcess, wait_until
from weir_program import ProgramTest, main, run

RUN = 7
ENDLESS = ("--events", 10_000_000)


class Stop(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"

    def acknowledged(self, recorder):
        return recorder.metrics()["weir_acknowledged_events_total"]

    def check_closed(self, ended, run_number=RUN):
        """It reported that all went well, and the files agree."""
        report = self.assertEnds(ended, 0).json
        copies = report["copies"]
        self.assertEqual(copies["received"], copies["stored"] + sum(copies["rejected"].values()))
        self.assertEqual(list(self.directory.glob("*.writing")), [])
        files = [file for file in listed(self.directory) if file["run"] == run_number]
        self.assertLessEqual({(file["file_state"], file["file_health"]) for file in files}, {("CLOSED", "SANE")})
        self.assertEqual(sum(file["events"] for file in files), copies["stored"])
        self.assertEqual(len(files), report["files"])
        verdict = self.assertEnds(run("verify", "--json", "--run", run_number, self.directory, timeout=300), 0).json
        self.assertEqual((verdict["ok"], verdict["bad"]), (len(files), []))
        return report

    def test_a_signal_under_load_drains_and_closes(self):
        for number, stop in enumerate((signal.SIGTERM, signal.SIGINT), start=RUN):
            with self.subTest(stop.name), RecorderProcess(self.folder, self.directory, run=number) as recorder:
                with SenderProcess(self.folder, recorder.port, *ENDLESS, "--connections", 8, "--give-up-after", "1s",
                                   run=number) as sender:
                    wait_until(lambda: self.acknowledged(recorder) > 200, "events flow")
                    recorder.signal(stop)
                    report = self.check_closed(recorder.wait(), number)
                    ended = sender.wait()
                self.assertEnds(ended, 1)  # not everything was answered: it reports that
                self.assertEqual(ended.err.count("\n"), 1, repr(ended))
                sent = ended.json["events"]
                self.assertGreater(report["events"]["received"], 200)
                self.assertLessEqual(sent["acknowledged"], report["events"]["received"])
                self.assertEqual(sent["acknowledged"] + sent["rejected"] + ended.json["unanswered"], sent["sent"])

    def test_every_acknowledged_event_is_in_the_files(self):
        with RecorderProcess(self.folder, self.directory, run=RUN) as recorder:
            with SenderProcess(self.folder, recorder.port, *ENDLESS, "--rate", 400, "--connections", 2, "--give-up-after", "1s",
                               run=RUN) as sender:
                wait_until(lambda: self.acknowledged(recorder) > 100, "events flow")
                self.check_closed(recorder.stop())
                sent = self.assertEnds(sender.wait(), 1).json["events"]
        streams = ids_by_stream(self.directory)
        for name, ids in streams.items():
            self.assertEqual(len(ids), len(set(ids)), name)
        self.assertGreaterEqual(len(set().union(*streams.values())), sent["acknowledged"])
        self.assertGreater(sent["acknowledged"], 100)

    def test_without_any_traffic_it_ends_at_once(self):
        with RecorderProcess(self.folder, self.directory, run=RUN) as recorder:
            report = self.check_closed(recorder.stop(30))  # a stop may wait for answers for a minute
        self.assertEqual((report["events"]["received"], report["files"]), (0, 0))

    def test_idle_and_half_sent_connections_do_not_hold_it_up(self):
        with RecorderProcess(self.folder, self.directory, run=RUN) as recorder:
            peers = [Peer(recorder.port) for _ in range(6)]
            for peer in peers:
                self.addCleanup(peer.close)
            silent, half_header, hello_only, half_event, half_meta, good = peers
            half_header.send(wire.hello(RUN)[:11])
            for number, peer in enumerate((hello_only, half_event, half_meta, good)):
                peer.send(wire.hello(RUN, connection=number))
                peer.receive_only(wire.WELCOME)
            good.send(wire.event(1, b"whole"))
            good.receive_acknowledgement_of(1)
            half_event.send(wire.event(1, b"half", size=1_000_000))
            half_meta.send(wire.event(1, b"never")[:30])
            wait_until(lambda: recorder.metrics()["weir_connections"] == len(peers), "all are connected")
            report = self.check_closed(recorder.stop(30))
        self.assertEqual(report["copies"], {"received": 1, "stored": 1, "rejected": {}})
        for peer in peers:
            peer.expect_end_after_bye()

    def test_no_event_of_one_run_appears_in_the_next(self):
        with RecorderProcess(self.folder, self.directory, run=RUN) as first:
            old = SenderProcess(self.folder, first.port, *ENDLESS, "--rate", 300, "--connections", 4, "--name", "old",
                                "--give-up-after", "0s", run=RUN)
            with old:
                wait_until(lambda: self.acknowledged(first) > 50, "events flow")
                self.check_closed(first.stop())
                before = {file["path"]: file["sums"] for file in listed(self.directory)}
                with RecorderProcess(self.folder, self.directory, port=first.port, run=RUN + 1) as second:
                    ended = self.assertEnds(old.wait(), 1)  # it came back, and was refused
                    self.assertIn(f"run {RUN + 1} is being recorded", ended.err)
                    with SenderProcess(self.folder, second.port, "--events", 40, "--first-id", 1 << 40, run=RUN + 1) as new:
                        self.assertEqual(new.report()["events"]["acknowledged"], 40)
                    report = self.check_closed(second.stop(), RUN + 1)
        self.assertEqual(report["events"]["received"], 40)
        files = listed(self.directory)
        self.assertEqual({file["path"]: file["sums"] for file in files if file["run"] == RUN}, before)
        for file in files:
            events = self.assertEnds(run("cat", "--json", file["path"]), 0).json["events"]
            self.assertEqual({event["run"] for event in events}, {file["run"]})
            self.assertEqual({event["global_id"] >= 1 << 40 for event in events}, {file["run"] == RUN + 1})


if __name__ == "__main__":
    main()
