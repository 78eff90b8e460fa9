# SPDX-License-Identifier: Apache-2.0
"""Whole partitions with a hand-off: what the recorder closes arrives at another directory and at a real XRootD server,
and a hand-off that dies, or has no destination, costs the run nothing."""
import os
import pathlib
import signal
import unittest
import zlib

import weir_program
import xrootd_server
from recorder_files import listed
from run_test import Partition, RunTest, partition_of
from weir_process import main_without, wait_until
from weir_program import BES3, run

EVENTS = 1000


class HandOff(RunTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.there = self.folder / "there"
        self.file = self.folder / "p.toml"

    def write(self, *destinations, recorders="", **keys):
        """A partition whose recorder closes a file every 100 events, and a hand-off."""
        rate = keys.pop("events_a_second", 0)
        places = ", ".join('"%s"' % to for to in destinations)
        self.file.write_text(partition_of(run={"stop_deadline": '"15s"'}, supervise={"rate": str(rate)},
                                          record={"file_events_max": "100"}) + recorders
                             + f"[handoff.out]\ndestinations = [{places}]\n"
                             + 'poll = "50ms"\nretry_first = "50ms"\nretry_most = "500ms"\n'
                             + "".join(f"{key} = {value}\n" for key, value in keys.items()))

    def start(self):
        return Partition(self.folder, self.file, "--events", EVENTS)

    def assertArrived(self, directory, root, more_than=5):
        """Every file of the catalogue is there, byte for byte, and nothing else."""
        files = {pathlib.Path(file["path"]).name: file for file in listed(directory)}
        there = {path.name: path for path in pathlib.Path(root).rglob("*") if path.is_file()}
        self.assertGreater(len(files), more_than)
        self.assertEqual(set(there), set(files))
        for name, file in files.items():
            self.assertEqual(file["transfer_state"], "TRANSFERRED", name)
            data = there[name].read_bytes()
            self.assertEqual((len(data), f"{zlib.adler32(data):08x}"), (file["bytes"], file["sums"]["adler32"]), name)

    def assertHandedOver(self, ended, directory, root):
        result = self.assertEnds(ended, 0).json
        files = len(listed(directory))
        self.assertEqual(result["hand_off"], {"closed": files, "handed_over": files, "left": 0, "names": []})
        self.assertEqual(result["files"], files)
        self.assertEqual(result["problems"], [])
        self.assertBalances(result)
        self.assertArrived(directory, root)
        self.assertRecorded(directory, range(1, EVENTS + 1))
        return result


class ToDirectory(HandOff):
    def test_every_file_of_the_run_is_there_when_the_run_is_over(self):
        self.there.mkdir()
        self.write(f"backup={self.there}/{{run}}")
        with self.start() as partition:
            result = self.assertHandedOver(partition.wait(200), partition.directory, self.there)
        out = next(station for station in result["stations"] if station["name"] == "out")
        self.assertEqual((out["kind"], out["ledger"]["what"], out["ledger"]["stored"]), ("handoff", "files", result["files"]))
        # the result as people read it, of a second run in the same directory: the hand-off finds only the new files
        again = self.assertEnds(run("run", self.file, "--source", BES3, "--dir", partition.directory, "--events", 300, timeout=200), 0)
        self.assertRegex(again.out, r"\nhand-off +(\d+) of \1 files handed over\n")

    def test_of_two_recorders_only_files_of_the_one_that_it_names_are_counted(self):
        self.there.mkdir()
        self.write(self.there, recorders='[record.rec-2]\nfile_events_max = 100\n', recorder='"rec-1"')
        with self.start() as partition:
            result = self.assertEnds(partition.wait(200), 0).json
        files, others = (len(listed(partition.directory / name)) for name in ("rec-1", "rec-2"))
        self.assertGreater(others, 0)
        self.assertEqual(result["hand_off"], {"closed": files, "handed_over": files, "left": 0, "names": []})
        self.assertEqual((result["files"], result["problems"]), (files + others, []))
        self.assertArrived(partition.directory / "rec-1", self.there, more_than=0)

    def test_one_that_is_killed_in_the_run_is_started_again_and_nothing_is_left(self):
        self.there.mkdir()
        self.write(self.there, events_a_second=150)
        with self.start() as partition:
            wait_until(lambda: len([*self.there.glob("*.data")]) > 2, "files arrive", poll=0.02)
            os.kill(partition.station("out")["pid"], signal.SIGKILL)
            result = self.assertHandedOver(partition.wait(200), partition.directory, self.there)
        self.assertEqual({s["name"]: s["restarts"] for s in result["stations"] if s["restarts"]}, {"out": 1})

    def test_without_its_destination_the_run_is_good_and_names_what_is_left_which_goes_later(self):
        self.write(self.there)  # not mounted
        with self.start() as partition:
            ended = partition.wait(200)
        result = self.assertEnds(ended, 0).json
        files = {pathlib.Path(file["path"]).name for file in listed(partition.directory)}
        self.assertEqual((result["hand_off"]["closed"], result["hand_off"]["handed_over"], result["hand_off"]["left"]), (len(files), 0, len(files)))
        self.assertLessEqual(set(result["hand_off"]["names"]), files)
        self.assertEqual(len(result["hand_off"]["names"]), min(10, len(files)))
        self.assertIn(f"{len(files)} of {len(files)} files are not handed over yet: {result['hand_off']['names'][0]}", ended.err)
        self.assertRecorded(partition.directory, range(1, EVENTS + 1))
        self.there.mkdir()
        self.assertEnds(run("handoff", "--dir", partition.directory, "--to", self.there, "--once"), 0)
        self.assertArrived(partition.directory, self.there)

    def test_files_without_the_sum_that_it_compares_stay_and_are_not_promised_for_later(self):
        self.there.mkdir()
        self.write(self.there, checksum='"md5"')  # the recorder makes none
        with self.start() as partition:
            ended = partition.wait(200)
        result = self.assertEnds(ended, 0).json
        files = len(listed(partition.directory))
        left = result["hand_off"]
        self.assertEqual((left["closed"], left["handed_over"], left["left"], len(left["names"])), (files, 0, files, min(10, files)))
        self.assertIn(f"{files} of {files} files are not handed over and stay here, {files} without a sum: ", ended.err)
        self.assertNotIn("handed over yet", ended.err)

    def test_a_destination_that_comes_back_gets_the_files_between_runs(self):
        self.write(self.there)
        with Partition(self.folder, self.file, "--events", EVENTS, "--wait") as partition:
            wait_until(lambda: partition.get()["state"] == "ready", "the partition is ready")
            stopped = self.assertEnds(run("run", "start", "--dir", partition.directory), 0)
            wait_until(lambda: partition.get()["runs"] == 1, f"the run is over; {stopped.err}")
            self.assertGreater(partition.get()["last"]["hand_off"]["left"], 5)
            self.there.mkdir()
            wait_until(lambda: {file["transfer_state"] for file in listed(partition.directory)} == {"TRANSFERRED"}, "all is handed over")
            self.assertArrived(partition.directory, self.there)
            self.assertEnds(partition.stop(), 0)


@unittest.skipUnless(not xrootd_server.absent(), "needs an XRootD server")
class ToXrootd(HandOff):
    def test_every_file_of_the_run_is_there_when_the_run_is_over(self):
        with xrootd_server.XrootdServer(self.folder / "server") as server:
            self.write(server.url("raw/{run}"))
            with self.start() as partition:
                self.assertHandedOver(partition.wait(200), partition.directory, server.data)


class Mistakes(HandOff):
    def refused(self, *words):
        for command in (("config", "check", self.file), ("run", self.file, "--source", BES3, "--dir", self.folder / "D")):
            self.assertOneLine(run(*command), 2, *words)

    def test_each_is_one_line_before_anything_runs(self):
        self.write()
        self.refused("p.toml:", "[handoff.out]", "no destination")
        self.write("s3://bucket")
        self.refused("p.toml:", "destinations", "s3://bucket")
        self.write(self.there, self.folder / "x" / ".." / "there")
        self.refused("p.toml:", "are one place")
        self.write(self.there, priorities='["x"]')
        self.refused("p.toml:", "PATTERN=NUMBER")
        self.write(self.there, recorder='"rec-7"')
        self.refused("p.toml:", 'there is no [record.rec-7]; did you mean "rec-1"?')
        self.write(self.there, recorders="[record.rec-2]\n")
        self.refused("p.toml:", "[handoff.out]: whose files?")

    def test_options_of_one_that_runs_alone_and_a_partition_do_not_go_together(self):
        self.write(self.there)
        self.assertOneLine(run("handoff", self.file, "--name", "out", "--to", self.there), 2, "--to and a partition file", "[handoff.NAME]")
        self.assertOneLine(run("handoff", self.file, "--name", "out"), 2, "no directory to hand over from")


if __name__ == "__main__":
    main_without(xrootd_server.absent() and f"the hand-off to a server: {xrootd_server.absent()}", needs_recorded_events=True)
