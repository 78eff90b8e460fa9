# SPDX-License-Identifier: Apache-2.0
"""The record of a run: what `weir run show` prints of it is enough to take the run again, wherever the record is kept."""
import hashlib
import json
import os
import pathlib
import pwd
import re
import shlex
import sqlite3
import struct
import unittest

import postgres_server
import weir_program
from recorder_files import RawFile
from run_test import Partition
from weir_process import wait_until
from weir_program import ProgramTest, run

FIRST = 0x430000  # of three sources that are made
MASKED = 0x80000020

PARTITION = """# "quotes", 'more' and ünusual
[partition]
name = "record"
[run]
masked = ["0x430002"]
[readout.ros-1]
source = "generator"
robs = 3
first_source = "0x430000"
rob_size = "400B"
[supervise.l2sv]
events = 0
rate = 200
[assign.dfm]
[build.sfi-1]
[record.rec-1]
project = "data_record"
"""


class RecordTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.file, self.directory = self.folder / "p.toml", self.folder / "D"
        self.file.write_text(PARTITION)

    def command(self, *arguments, directory=None, code=0):
        return self.assertEnds(run("run", *arguments, "--dir", directory or self.directory), code)

    def take(self, file, *options, events=30, during=lambda partition: None, directory=None):
        """A run of which so many events are built at least, and `during` after them; its number."""
        with Partition(self.folder, file, *options, directory=directory or self.directory, source=None) as partition:
            partition.until_built(events)
            during(partition)
            self.command("stop", "--reason", "enough", directory=directory)
            return self.assertEnds(partition.wait(), 0).json["run"]

    def mask_and_replace(self, partition):
        """A source is masked; meanwhile somebody edits the file, which nobody in this run reads any more."""
        self.file.write_text("this is no partition file")
        self.command("mask", f"{FIRST:#x}", "--person", "ann")
        masked = lambda: next(s for s in partition.get()["sources"] if s["source"] == f"{FIRST:#x}")["masked_events"]
        wait_until(lambda: masked() > 20, "events with the mask")
        self.command("replace", "sfi-1")
        built = partition.get()["events"]["built"]
        partition.until_built(built + 20)

    def robs(self, number, directory=None):
        """{level-1 id: {source: (status, payload)}} of a run's events (format 5.0)."""
        found = {}
        for path in sorted((directory or self.directory).glob(f"*.{number:08}.*.data")):
            for _, event in RawFile(path).events():
                word = lambda at: struct.unpack_from("<I", event, 4 * at)[0]
                at, robs = word(2), {}
                while at < word(1):
                    data, end = at + word(at + 2) + 9, at + word(at + 1)  # behind the headers of ROB and ROD, which has the run
                    robs[word(at + 4)] = (word(at + 6), event[4 * data:4 * end])
                    at = end
                self.assertNotIn(word(14 + word(5)), found)
                found[word(14 + word(5))] = robs
        self.assertGreater(len(found), 20)
        return found

    def shown(self, number, *where):
        return json.loads(self.assertEnds(run("run", "show", number, "--json", *(where or ("--dir", self.directory))), 0).out)

    def differences(self, first, second):
        diff = json.loads(self.command("diff", first, second, "--json").out)
        return [(d["section"], d["what"], d["first"], d["second"]) for d in diff["differences"]], diff


class Again(RecordTest):
    def test_what_is_shown_of_a_run_is_enough_to_take_it_again_and_diff_says_what_changed(self):
        first = self.take(self.file, "--masked", "0x430001", "--comment", "it's a test", during=self.mask_and_replace)
        record = self.shown(first)
        self.assertEqual(record["partition_file"], PARTITION)
        self.assertEqual(record["sha256"], hashlib.sha256(PARTITION.encode()).hexdigest())
        self.assertEqual("weir " + record["weir"], run("--version").out.strip())
        self.assertEqual(record["file"], str(self.file))
        self.assertEqual((record["parameters"]["comment"], record["parameters"]["stop reason"]), ("it's a test", "enough"))
        user = pwd.getpwuid(os.getuid()).pw_name
        changes = [(c["what"], c["subject"], c["who"], c["why"]) for c in record["changes"]]
        self.assertEqual(changes, [("mask", "0x430001", "partition file", "from the begin of the run"), ("mask", "0x430000", "ann", ""),
                                   ("replace", "sfi-1", user, ""), ("stop", "", user, "enough")])
        times = [c["time"] for c in record["changes"]]
        self.assertEqual(times, sorted(times))
        from_event = record["changes"][1]["from_level1_id"]
        events = self.robs(first)
        for level1, robs in events.items():  # what the record has is what the events have
            self.assertEqual(robs[FIRST + 1][0], MASKED)
            self.assertEqual(robs[FIRST + 2][0], 0, "the option goes before the file")
            self.assertEqual(robs[FIRST][0], MASKED if level1 >= from_event else 0, level1)

        shown = self.command("show", first).out
        self.assertTrue(shown.endswith(PARTITION))
        self.assertIn("# comment = it's a test\n", shown)
        self.assertRegex(shown, rf"(?m)^#   \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}} UTC mask 0x430000 from event {from_event} \(level-1 id\) on, ann$")
        again = self.folder / "again.toml"
        again.write_text(shown)
        line = re.search(r"(?m)^# taken again by: (.*)$", shown)[1]
        words = shlex.split(line)
        self.assertEqual(words[:3], ["weir", "run", "FILE"])
        second = self.take(again, *words[3:], events=100)
        self.assertEqual(second, first + 1)
        other = self.robs(second)
        both = sorted(set(events) & set(other))
        self.assertGreater(len(both), 20)
        for level1 in both:
            for source in (FIRST + 1, FIRST + 2):
                self.assertEqual(other[level1][source], events[level1][source], (level1, hex(source)))
            if level1 < from_event:
                self.assertEqual(other[level1], events[level1], level1)

        differences, diff = self.differences(first, second)
        self.assertEqual((differences, diff["same_text"]), ([], False))  # the comments are new
        text = self.command("diff", first, second).out
        self.assertIn("only comments or the layout", text)
        self.assertIn(f"in run {first}: ", text)
        again.write_text(shown.replace("rate = 200", "rate = 100"))
        third = self.take(again, *words[3:])
        self.assertEqual(self.differences(second, third)[0], [("supervise.l2sv", "rate", 200, 100)])
        self.assertRegex(self.command("diff", second, third).out, r"(?m)^\[supervise\.l2sv\] rate +200 +100$")

    def test_the_record_itself_is_taken_again_with_its_options(self):
        first = self.take(self.file, "--masked", "none")
        saved = self.folder / "run.json"
        saved.write_text(self.command("show", first, "--json").out)
        elsewhere = self.folder / "E"
        second = self.take(saved, directory=elsewhere)
        record = self.shown(second, "--dir", elsewhere)
        self.assertEqual((record["partition_file"], record["changes"][:-1]), (PARTITION, []))
        self.assertEqual({rob[0] for robs in self.robs(second, elsewhere).values() for rob in robs.values()}, {0}, "nothing is masked")
        saved.write_text(saved.read_text().replace("rate = 200", "rate = 900"))
        self.assertOneLine(run("run", saved, "--dir", elsewhere), 1, "run.json", "the partition file in it was changed", record["sha256"])
        saved.write_text(saved.read_text()[:-100])
        self.assertOneLine(run("run", saved, "--dir", elsewhere), 1, "run.json", "no record of a run")

    def test_what_cannot_be_shown_is_one_line(self):
        self.assertOneLine(run("run", "show", 7, "--dir", self.folder), 3, "no record of run 7")
        self.assertOneLine(run("run", "diff", 7, 8, "--dir", self.folder), 3, "no record of run 7")
        self.assertOneLine(run("run", "show", "seven"), 2, "seven")
        self.assertOneLine(run("run", "show", 7, "--catalogue", self.folder / "absent"), 3, "absent")
        self.assertOneLine(run("run", self.file, "--dir", self.directory, "--masked", "0x1,x"), 2, '"x" is no source')
        (self.folder / "weir.run.00000007.json").write_text("{}")
        self.assertOneLine(run("run", "show", 7, "--dir", self.folder), 1, "weir.run.00000007.json", "weir_run_record")


class Applied(RecordTest):
    def test_a_changed_file_is_applied_between_runs_and_only_the_stations_that_it_concerns_start_anew(self):
        with Partition(self.folder, self.file, "--wait", directory=self.directory, source=None) as partition:
            ready = lambda: partition.get()["state"] == "ready" and all(s["state"] == "connected" for s in partition.get()["stations"])
            wait_until(ready, "the partition is ready")
            pids = lambda: {s["name"]: s["pid"] for s in partition.get()["stations"]}

            def take():
                self.command("start")
                partition.until_built(20)
                refused = run("run", "apply", "--dir", self.directory)
                self.assertOneLine(refused, 1, "cannot apply a partition file: the partition is ")
                self.command("stop")
                last = partition.get()["last"]
                self.assertEqual(last["problems"], [])
                return last["run"]

            first, before = take(), pids()
            self.assertIn("nothing that counts", self.command("apply").out)
            self.file.write_text(PARTITION.replace("0x430002", "0x430001").replace("[build.sfi-1]", '[build.sfi-1]\nevent_deadline = "7s"'))
            applied = self.command("apply").out
            self.assertEqual(applied, "counts from now on: [run] masked\nstarted anew: sfi-1\n")
            wait_until(lambda: pids()["sfi-1"] not in (0, before["sfi-1"]), "another builder")
            wait_until(ready, "the partition is ready again")
            after = pids()
            self.assertEqual({name for name in after if after[name] != before[name]}, {"sfi-1"})
            second = take()
            differences, _ = self.differences(first, second)
            self.assertEqual(differences, [(None, "masked from the begin", ["0x430002"], ["0x430001"]),
                                           ("build.sfi-1", "event_deadline", None, "7s"),
                                           ("run", "masked", ["0x430002"], ["0x430001"])])
            self.assertEqual({robs[FIRST + 1][0] for robs in self.robs(second).values()}, {MASKED})
            good = self.file.read_text()
            for wrong, code, *words in ((good + "[build.sfi-2]\n", 1, "nothing was applied", "other stations"),
                                        (good + '[network]\nlink = "tcp"\n', 1, "[network] link is of all stations"),
                                        (good + 'catalogue = "x"\n', 1, "[record.rec-1] catalogue is read by run control when it starts"),
                                        (good + "memroy = 1\n", 2, "p.toml:", 'did you mean "memory"')):
                self.file.write_text(wrong)
                self.assertOneLine(run("run", "apply", "--dir", self.directory), code, *words)
            self.assertEqual(pids(), after)
            self.assertEnds(partition.stop(), 0)


class Kept(RecordTest):
    def catalogue_record(self, number):
        with sqlite3.connect(f"file:{self.directory}/weir.catalogue?mode=ro", uri=True) as catalogue:
            row = catalogue.execute("SELECT value FROM run_parameters WHERE run = ? AND name = 'record'", (number,)).fetchone()
        return json.loads(row[0]) if row else None

    def test_a_catalogue_that_is_rebuilt_has_the_record_from_the_file_beside_the_files(self):
        number = self.take(self.file, "--comment", "cosmics")
        record = self.catalogue_record(number)
        beside = self.directory / f"weir.run.{number:08}.json"
        self.assertEqual(record, json.loads(beside.read_text()))
        for path in self.directory.glob("weir.catalogue*"):
            path.unlink()
        rebuilt = self.assertEnds(run("recover", "--rebuild", "--json", self.directory), 0).json
        self.assertEqual((rebuilt["catalogue"]["run_records"], rebuilt["failed"]), (1, []))
        self.assertEqual(self.catalogue_record(number), record)
        beside.unlink()
        self.assertEqual(self.shown(number), record)
        with sqlite3.connect(self.directory / "weir.catalogue") as catalogue:
            parameters = dict(catalogue.execute("SELECT name, value FROM run_parameters WHERE run = ?", (number,)))
        del parameters["record"]
        self.assertEqual(parameters, record["parameters"])
        self.assertEqual(parameters["comment"], "cosmics")

    def test_a_run_control_that_is_killed_leaves_the_changes_of_its_run_and_the_next_one_keeps_them(self):
        with Partition(self.folder, self.file, directory=self.directory, source=None) as partition:
            partition.until_built(10)
            number = partition.get()["run"]
            pids = [station["pid"] for station in partition.get()["stations"]]
            self.command("mask", f"{FIRST:#x}", "--person", "ann")
            noted = lambda: len(self.shown(number)["changes"]) == 2
            wait_until(noted, "the mask is in the record")
            self.assertEqual(len(self.catalogue_record(number)["changes"]), 1)
            partition.kill()
        wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids), "all stations have ended")
        self.assertEqual(self.shown(number)["changes"][1]["who"], "ann")
        (self.directory / "run-control.json").unlink()  # of the one that was killed
        self.take(self.file)
        record = self.catalogue_record(number)
        self.assertEqual([(c["subject"], c["who"]) for c in record["changes"]], [("0x430002", "partition file"), ("0x430000", "ann")])
        self.assertIn("run control ended without stopping the run", record["parameters"]["stop reason"])

    def test_with_several_recorders_each_has_it_beside_its_files(self):
        named = self.folder / "disk"
        named.mkdir()
        (named / "weir.volume").touch()
        self.file.write_text(PARTITION + f'[record.rec-2]\nproject = "data_other"\n[record.rec-3]\ndirectories = ["{named}"]\n')
        number = self.take(self.file)
        records = [json.loads((place / f"weir.run.{number:08}.json").read_text())
                   for place in (self.directory, self.directory / "rec-1", self.directory / "rec-2", named)]
        self.assertEqual(records[1:], records[:1] * 3)
        self.assertEqual(self.shown(number), records[0])
        self.assertEqual(self.shown(number, "--dir", named), records[0])
        self.assertEqual(self.shown(number, "--catalogue", named / "weir.catalogue"), records[0])


@unittest.skipIf(postgres_server.absent(), postgres_server.absent())
class Shared(RecordTest):
    def test_a_catalogue_in_postgresql_has_the_record_too(self):
        with postgres_server.PostgresServer(self.folder / "postgres") as server:
            self.file.write_text(PARTITION + f'catalogue = "{server.uri}"\n')
            first = self.take(self.file, during=self.mask_and_replace)
            self.assertEnds(run("recover", self.directory, "--catalogue", server.uri, timeout=120), 0)  # what still waits is carried over
            record = self.shown(first)
            self.assertEqual([c["what"] for c in record["changes"]], ["mask", "mask", "replace", "stop"])
            self.assertEqual(self.shown(first, "--catalogue", server.uri), record)
            shown = self.assertEnds(run("run", "show", first, "--catalogue", server.uri), 0).out
            self.assertEqual(shown, self.command("show", first).out)
            again = self.folder / "again.toml"
            again.write_text(shown)
            second = self.take(again)
            self.assertEqual(self.differences(first, second)[0], [])


if __name__ == "__main__":
    weir_program.main()
