# SPDX-License-Identifier: Apache-2.0
"""Whole partitions in which a station, or run control, dies or stands still in a run."""
import json
import os
import pathlib
import re
import signal
import time
import urllib.request

import weir_program
from run_test import Partition, RunTest, partition_of
from weir_process import wait_until
from weir_program import run


def recorded_counter(partition):
    """weir_partition_recorded_events_total of run control."""
    with urllib.request.urlopen(f"http://{partition.place()}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return int(re.search(r"^weir_partition_recorded_events_total (\d+)$", text, re.MULTILINE)[1])


class Faults(RunTest):
    """A run of some seconds, in which a station dies or stands still."""
    EVENTS = 2500

    def disturbed(self, name, disturb):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "500"}))
        with Partition(self.folder, file, "--events", self.EVENTS) as partition:
            partition.until_built(300)
            disturb(partition.station(name)["pid"])
            ended = partition.wait(200)
        self.directory = partition.directory
        result = json.loads(ended.out)
        for station in result["stations"]:
            if station["restarts"] == 0 and station["name"] != name:
                ledger = station["ledger"]
                self.assertEqual(ledger["received"], ledger["stored"] + sum(ledger["rejected"].values()) + ledger["in_hand"], station)
        return ended, result

    @staticmethod
    def kill(pid):
        os.kill(pid, signal.SIGKILL)

    @staticmethod
    def pause(pid):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(5)
        os.kill(pid, signal.SIGCONT)

    def replaced(self, name):
        ended, result = self.disturbed(name, self.kill)
        self.assertEnds(ended, 0)
        self.assertEqual({s["name"]: s["restarts"] for s in result["stations"] if s["restarts"]}, {name: 1})
        self.assertEqual(result["reason"], "all events are done")
        self.assertRecorded(self.directory, range(1, self.EVENTS + 1))
        self.assertEqual(result["events"]["recorded"], self.EVENTS)
        self.assertEqual(result["account"]["recorded"], self.EVENTS)

    def test_a_builder_that_is_killed_is_replaced_and_its_events_are_built_by_others(self):
        self.replaced("sfi-1")

    def test_a_selection_unit_that_is_killed_is_replaced(self):
        self.replaced("l2pu-1")

    def test_a_filter_that_is_killed_is_replaced(self):
        self.replaced("ef-1")

    def test_a_recorder_that_is_killed_continues_its_run(self):
        self.replaced("rec-1")

    def test_what_a_recorder_had_recorded_when_it_was_killed_stays_counted_and_is_counted_once(self):
        """Also while the new process reads its files. The counter for Prometheus is read between two looks at the partition."""
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "500"}))
        with Partition(self.folder, file) as partition:
            def look():
                seen = [partition.get(), recorded_counter(partition), partition.get()]
                seen = [seen[0]["events"]["recorded"], seen[1], seen[2]["events"]["recorded"]]
                self.assertEqual(seen, sorted(seen))
                self.assertGreaterEqual(seen[0], self.seen)
                self.seen = seen[-1]
                return partition.station("rec-1")
            self.seen = 0
            wait_until(lambda: look() and self.seen >= 600, "600 events recorded", poll=0.05)
            killed, before = partition.station("rec-1")["pid"], self.seen
            self.kill(killed)
            wait_until(lambda: look()["pid"] not in (0, killed), "another process", poll=0.01)
            wait_until(lambda: look()["state"] == "running" and self.seen > before, "it records again", poll=0.01)
            self.assertEnds(run("run", "stop", "--dir", partition.directory, timeout=200), 0)
            result = self.assertEnds(partition.wait(200), 0).json
        self.assertEqual(result["events"]["recorded"], result["events"]["accepted"])

    def test_a_readout_that_is_killed_leaves_empty_robs_with_status_bits(self):
        ended, result = self.disturbed("ros-1", self.kill)
        _, empty = self.assertRecorded(self.directory, range(1, self.EVENTS + 1), incomplete=None)
        self.assertEndsAsIncomplete(ended, result, empty)
        self.assertEqual(result["events"]["incomplete"], empty)
        self.assertLess(empty, self.EVENTS - 300)

    def assertEndsAsIncomplete(self, ended, result, empty):
        """A good run, unless more than ten events have empty ROBs, which is then its only problem and names their sources."""
        self.assertEnds(ended, 1 if empty > 10 else 0)
        missing = {s["source"]: s["missing"] for s in result["sources"] if s["missing"] > 0}
        self.assertEqual(max(missing.values(), default=0), empty)
        if empty > 10:
            problem, = result["problems"]
            self.assertIn(f"{empty} of {self.EVENTS} events are incomplete, more than incomplete_max (0.1% or 10): source ", problem)

    def stopped(self, name):
        ended, result = self.disturbed(name, self.kill)
        self.assertEnds(ended, 1)
        self.assertIn(f"station {name} was ended by signal 9", result["reason"])
        recorded, _ = self.assertRecorded(self.directory)
        self.assertGreaterEqual(len(recorded), 250, "300 events were built before")

    def test_the_run_stops_when_the_dfm_is_killed(self):
        self.stopped("dfm")

    def test_the_run_stops_when_the_supervisor_is_killed(self):
        self.stopped("l2sv")

    def survived(self, name, incomplete_max=0):
        ended, result = self.disturbed(name, self.pause)
        self.assertBalances(result)
        self.assertEqual(sum(s["restarts"] for s in result["stations"]), 0)
        _, empty = self.assertRecorded(self.directory, range(1, self.EVENTS + 1), incomplete=None)
        self.assertEndsAsIncomplete(ended, result, empty)
        self.assertLessEqual(empty, incomplete_max)
        self.assertEqual(result["events"]["incomplete"], empty)

    def test_a_builder_that_stands_still_for_5_s(self):
        self.survived("sfi-1")

    def test_a_selection_unit_that_stands_still_for_5_s(self):
        self.survived("l2pu-1")

    def test_a_filter_that_stands_still_for_5_s(self):
        self.survived("ef-1")

    def test_a_recorder_that_stands_still_for_5_s(self):
        self.survived("rec-1")

    def test_a_readout_that_stands_still_for_5_s(self):
        self.survived("ros-1", incomplete_max=self.EVENTS - 300)

    def test_a_dfm_that_stands_still_for_5_s(self):
        self.survived("dfm")

    def test_a_supervisor_that_stands_still_for_5_s(self):
        self.survived("l2sv")

    def test_a_run_control_that_stood_still_for_13_s_kills_no_station(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "500"}))
        with Partition(self.folder, file, "--events", 2000) as partition:
            partition.until_built(300)
            partition.signal(signal.SIGSTOP)
            time.sleep(13)
            partition.signal(signal.SIGCONT)
            result = self.assertEnds(partition.wait(200), 0).json
        self.assertEqual(sum(s["restarts"] for s in result["stations"]), 0)
        self.assertRecorded(partition.directory, range(1, 2001))

    def test_a_filter_is_replaced_by_command(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "500"}))
        with Partition(self.folder, file, "--events", 1_000_000) as partition:
            partition.until_built(300)
            self.assertEnds(run("run", "replace", "ef-1", "--dir", partition.directory), 0)
            self.assertOneLine(run("run", "replace", "dfm", "--dir", partition.directory), 1, "only it knows which events there are")
            partition.until_built(partition.get()["events"]["built"] + 300)
            self.assertEnds(run("run", "stop", "--dir", partition.directory), 0)
            result = self.assertEnds(partition.wait(200), 0).json
        self.assertEqual({s["name"]: s["restarts"] for s in result["stations"] if s["restarts"]}, {"ef-1": 1})
        self.assertBalances(result)
        self.assertRecorded(partition.directory, range(1, result["events"]["triggers"] + 1))

    def test_no_station_outlives_a_run_control_that_is_killed(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "400"}))
        with Partition(self.folder, file, "--events", 100_000) as partition:
            partition.until_built(100)
            pids = [station["pid"] for station in partition.get()["stations"]]
            partition.kill()
        wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids), "all stations have ended")
        recorded, _ = self.assertRecorded(partition.directory)
        self.assertGreaterEqual(len(recorded), 50, "100 events were built before")
        with Partition(self.folder, file, "--events", 10, directory=partition.directory) as after:
            after.printed("run 1 was not stopped: the run control before this one was killed")
            self.assertEnds(after.wait(), 0)


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
