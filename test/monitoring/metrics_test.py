# SPDX-License-Identifier: Apache-2.0
"""What every kind of station shows to Prometheus: promtool has no remark on it, it is small, counters never fall in a run, and the
number of a run stands in weir_run_info alone."""
import re
import subprocess
import sys
import unittest
import urllib.request

import monitored
import weir_program
from free_port import free_port
from weir_process import Process, RecorderProcess, main_without, wait_until
from weir_program import run

SERIES_MAX, SIZE_MAX = 300, 64 * 1024


def series(text):
    return {name: float(value) for name, value in
            (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))}


def counters(text):
    """The series that may not fall: of counters, and of histograms all but the sum of nothing."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    family = lambda name: re.sub(r"_(bucket|sum|count)$", "", name) if re.sub(r"_(bucket|sum|count)$", "", name) in kinds else name
    return {name: value for name, value in series(text).items() if kinds[family(name.split("{")[0])] in ("counter", "histogram")}


class Metrics(weir_program.ProgramTest):
    def assertWell(self, who, text):
        if monitored.PROMTOOL:
            checked = subprocess.run([monitored.PROMTOOL, "check", "metrics"], input=text, text=True, capture_output=True, timeout=60)
            self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""), who)
        found = series(text)
        self.assertLessEqual(len(found), SERIES_MAX, f"series of {who}")
        self.assertLessEqual(len(text), SIZE_MAX, f"bytes of {who}")
        print(f"{who}: {len(found)} series, {len(text)} bytes", file=sys.stderr)
        for name in found:
            if re.search(r'[{,]run="', name):
                self.assertTrue(name.startswith("weir_run_info{"), name)
        return found

    def test_every_kind_of_station_of_a_run(self):
        with monitored.Partition(self.folder, changes=monitored.MONITOR | monitored.NOTIFIER) as partition:
            partition.until_recorded(2000)
            wait_until(lambda: any(file.is_file() for file in partition.there.rglob("*.data")), "a file is handed over")
            wait_until(lambda: series(partition.text("/metrics")).get('weir_notifications_total{notifier="shift",outcome="sent"}', 0) > 0, "the start was told to the notifier")
            targets = partition.targets()
            self.assertEqual({kind for _, kind in targets.values()},
                             {"readout", "supervise", "select", "assign", "build", "filter", "record", "handoff", "monitor"})
            read = lambda: {"run": partition.text("/metrics"), **{name: monitored.get(url) for name, (url, _) in targets.items()}}
            first = read()
            all_series = {who: self.assertWell(who, text) for who, text in first.items()}
            partition.until_recorded(4000)
            for who, text in read().items():
                now = counters(text)
                for name, before in counters(first[who]).items():
                    self.assertGreaterEqual(now.get(name, 0), before, f"{name} of {who}")
        self.assertEqual(all_series["run"]['weir_partition_state{state="running"}'], 1)
        self.assertEqual(all_series["run"]['weir_run_info{run="1"}'], 1)
        self.assertGreater(all_series["run"]["weir_partition_recorded_events_total"], 0)
        self.assertGreater(all_series["dfm"]["weir_assign_event_duration_seconds_count"], 0)
        self.assertGreater(all_series["l2sv"]["weir_supervise_decision_duration_seconds_count"], 0)
        self.assertGreater(all_series["rec-1"]["weir_acknowledgement_duration_seconds_count"], 0)
        syncs = [value for name, value in all_series["rec-1"].items() if name.startswith("weir_sync_duration_seconds_count")]
        self.assertTrue(syncs and all(syncs), syncs)
        for who, found in all_series.items():
            self.assertTrue(any(name.startswith("weir_build_info{") for name in found), who)
            self.assertGreaterEqual(found["weir_clock_error_max_seconds"], 0, who)
            if who != "run":
                self.assertGreater(found['weir_station_transition_duration_seconds_count{transition="start"}'], 0, who)

    def test_an_agent(self):
        address = f"127.0.0.1:{free_port()}"
        with Process(self.folder, "host", "--name", "h1", "--listen", address, "--dir", self.folder / "h1") as agent:
            wait_until(lambda: "agent at" in agent.out_path.read_text(), "it listens")
            found = self.assertWell("weir host", monitored.get(f"http://{address}/metrics"))
            self.assertTrue(any(name.startswith("weir_build_info{") for name in found))
            self.assertEnds(agent.stop(), 0)

    def test_a_recorder_alone_and_a_scrub(self):
        disks = [word for i in range(7) for word in ("--dir", self.folder / f"disk-{i}")]  # eight, with the first
        with RecorderProcess(self.folder, self.folder / "data", *disks, "--metrics", "127.0.0.1:0") as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", 7, "--events", 300), 0)
            port = recorder.printed(r"metrics on port (\d+)").group(1)
            found = self.assertWell("weir record", monitored.get(f"http://127.0.0.1:{port}/metrics"))
            self.assertEqual(sum(name.startswith("weir_volume_full{") for name in found), 8)
            self.assertEnds(recorder.stop(), 0)
        self.assertEnds(run("sum", "-r", "-o", self.folder / "sums", self.folder / "data"), 0)
        file = self.folder / "scrub.prom"
        run("scrub", self.folder / "data", "--metrics", file)
        self.assertWell("weir scrub", file.read_text())


if __name__ == "__main__":
    main_without(monitored.MISSING if not monitored.PROMTOOL else None)
