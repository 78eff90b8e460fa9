# SPDX-License-Identifier: Apache-2.0
"""Alarms of a real recorder: raised by what happens, latched over a crash, acknowledged by name, running or not."""
import recorder_wire as wire
from recorder_wire import Peer
from weir_process import RecorderProcess, wait_until
from weir_program import ProgramTest, main, run


class Alarms(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"

    def alarms(self, code):
        return self.assertEnds(run("alarms", "--dir", self.directory, "--json"), code).json

    def raise_a_gap(self, recorder):
        with Peer(recorder.port) as peer:
            peer.send(wire.hello(7, b"gappy", incarnation=recorder.pid))
            peer.receive_only(wire.WELCOME)
            peer.send(wire.event(1, b"one") + wire.event(5, b"five"))  # 2 to 4 never came
            while True:  # 5 is acknowledged by a range: the cumulative number stays at 1
                meta = peer.receive_only(wire.ACK)
                if int.from_bytes(meta[16:20], "little") > 0:
                    break

    def test_a_gap_is_counted_and_latched_until_it_is_acknowledged_by_name(self):
        with RecorderProcess(self.folder, self.directory) as recorder:
            self.assertEqual(self.alarms(0), {"alarms": [], "latched": 0, "recorder_runs": True, "hand_off_runs": False})
            self.raise_a_gap(recorder)
            document = self.alarms(1)
            alarm, = document["alarms"]
            self.assertEqual((alarm["name"], alarm["latched"], alarm["raised"]), ("sequence gap", True, 1))
            self.assertIn("3 sequences are missing", alarm["text"])
            metrics = recorder.metrics()
            self.assertEqual(metrics['weir_alarm{name="sequence gap"}'], 1)
            self.assertEqual(metrics["weir_skipped_sequences_total"], 3)
            self.assertOneLine(run("alarms", "--dir", self.directory, "--acknowledge", "gap"), 3, '"gap"', "latched")
            wait_until(lambda: b"sequence gap" in (self.directory / "weir.alarms").read_bytes(), "the alarm is on disk")
            recorder.kill()
        # No recorder runs: the file is read. Then a recorder latches it again.
        document = self.alarms(1)
        self.assertEqual((document["latched"], document["recorder_runs"]), (1, False))
        with RecorderProcess(self.folder, self.directory) as recorder:
            self.assertRegex(recorder.err, r"1 alarm is latched; see weir alarms")
            self.assertEqual(recorder.metrics()['weir_alarm{name="sequence gap"}'], 1)
            acknowledged = run("alarms", "--dir", self.directory, "--acknowledge", "sequence gap", "--by", "anna", "--json")
            alarm, = self.assertEnds(acknowledged, 0).json["alarms"]
            self.assertEqual((alarm["latched"], alarm["acknowledged_by"]), (False, "anna"))
            self.assertEqual(recorder.metrics()['weir_alarm{name="sequence gap"}'], 0)
            self.raise_a_gap(recorder)
            self.assertEqual(self.alarms(1)["latched"], 1)
            self.assertEnds(recorder.stop(), 0)
        acknowledged = run("alarms", "--dir", self.directory, "--acknowledge", "sequence gap", "--json")
        self.assertFalse(self.assertEnds(acknowledged, 0).json["recorder_runs"])
        self.assertEqual(self.alarms(0)["latched"], 0)

    def test_a_directory_of_no_recorder_is_not_one_without_alarms(self):
        self.directory.mkdir()
        (self.directory / "photographs").mkdir()
        self.assertOneLine(run("alarms", "--dir", self.directory), 3, str(self.directory), "no recorder", "--dir")

    def test_a_directory_of_several_recorders_stands_for_each(self):
        """As weir run makes it: each recorder has its own below."""
        for name in ("sfo-1", "sfo-2"):
            with RecorderProcess(self.folder, self.directory / name) as recorder:
                if name == "sfo-2":
                    self.raise_a_gap(recorder)
                self.assertEnds(recorder.stop(), 0)
        alarm, = self.alarms(1)["alarms"]
        self.assertEqual((alarm["name"], alarm["directory"]), ("sequence gap", str(self.directory / "sfo-2")))
        self.assertIn("sfo-2  sequence gap", run("alarms", "--dir", self.directory).out)
        self.assertEnds(run("alarms", "--dir", self.directory, "--acknowledge", "sequence gap"), 0)
        files = self.assertEnds(run("ls", self.directory, "--json"), 0).json["files"]
        self.assertEqual([file["path"].split("/")[-2] for file in files], ["sfo-2"])
        verified = self.assertEnds(run("verify", self.directory, "--json"), 0).json
        self.assertEqual((verified["files"], verified["ok"]), (1, 1))

    def test_a_directory_that_is_not_there_is_named(self):
        self.assertOneLine(run("alarms", "--dir", self.folder / "no"), 3, str(self.folder / "no"), "--dir")


if __name__ == "__main__":
    main()
