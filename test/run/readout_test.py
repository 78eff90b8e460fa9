# SPDX-License-Identifier: Apache-2.0
"""weir readout as run control meets it, and weir bench readout at its smallest."""
import json
import signal
import subprocess
import urllib.request

import weir_program
from weir_program import BES3, PROGRAM, ProgramTest, run

PARTITION = """
[partition]
name = "test"
[data]
format = "event-3.0"
level1_offset = ["0xa80010:1"]
level1_exempt = ["0x7c0000"]
[readout.ros-1]
source = "file"
events_max = 100
[readout.ros-2]
robs = 4
rob_size = "600B"
"""


class Readout(ProgramTest):
    def setUp(self):
        super().setUp()
        self.partition = self.folder / "partition.toml"
        self.partition.write_text(PARTITION)

    def begin(self, *arguments):
        process = subprocess.Popen([PROGRAM, "readout", self.partition, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.control = json.loads(process.stdout.readline())["control"]
        return process

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.control}{path}", timeout=30) as answer:
            return json.load(answer)

    def transition(self, name, **more):
        body = json.dumps({"name": name, **more}).encode()
        request = urllib.request.Request(f"http://{self.control}/transition", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["state"]

    def run_once(self, run):
        self.assertEqual(self.transition("start", run=run), "running")
        while self.get("/status")["counters"]["events_held"] < 100:
            pass
        self.assertEqual(self.transition("stop", deadline=10), "connected")
        ledger = self.get("/status")["ledger"]
        self.assertEqual(ledger["in_hand"], 0)
        self.assertEqual(ledger["received"], ledger["stored"] + sum(ledger["rejected"].values()))
        return ledger

    def test_serves_its_part_of_the_real_file_run_after_run_and_ends_on_sigterm(self):
        process = self.begin("--name", "ros-1", "--source", BES3, "--part", "2/6")
        self.assertEqual(self.transition("configure"), "configured")
        self.assertEqual(len(self.get("/status")["self"]["sources"]), 7)
        self.assertEqual(self.transition("connect", peers=[]), "connected")
        for run in (7, 8):
            self.assertEqual(self.run_once(run)["received"], 700)
        self.assertEqual(self.get("/status")["alarms"], [])
        self.assertEqual(self.transition("start", run=9), "running")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)

    def test_a_wrong_key_value_or_file_is_one_clear_line(self):
        self.assertOneLine(run("readout", self.partition, "--name", "ros-1"), 2, "--source")
        for option, words in ((("--part", "7/6"), "7/6"), (("--wait", "sleep"), "sleep")):
            self.assertOneLine(run("readout", self.partition, "--name", "ros-1", "--source", BES3, *option), 2, words)


class Bench(ProgramTest):
    def test_the_bench_measures_every_strategy_and_the_published_load(self):
        done = subprocess.run([PROGRAM, "bench", "readout", "--quick", "--json"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["rows"]
        points = {(row["parameters"]["strategy"], row["parameters"]["handlers"]) for row in rows if row["name"] == "request_rate"}
        self.assertEqual(points, {(s, h) for s in ("yield", "spin", "park") for h in (1, 12)} | {("none", 0)})
        rates = [row for row in rows if row["name"] == "level2_rate"]
        self.assertTrue(rates and all(row["value"] > 0 for row in rates), rates)
        inputs = {(row["parameters"]["input"], row["parameters"]["fragment_size"]): row["value"] for row in rows if row["name"] == "input_rate"}
        ways = ("tcp", "bare loop", "udp", "bare loop of datagrams", "plug-in", "bare loop of calls", "plug-in in a process",
                "bare loop of a socket", "plug-in in Python", "bare loop of Python")
        self.assertEqual(set(inputs), {(way, size) for way in ways for size in (1000, 10000)})
        self.assertTrue(all(rate > 0 for rate in inputs.values()), inputs)

        built = {row["parameters"]["input"]: row["value"] for row in rows if row["name"] == "input_built_rate"}
        self.assertEqual(set(built), {"tcp", "client library", "udp", "plug-in", "plug-in in a process", "plug-in in Python"})
        self.assertTrue(all(rate > 0 for rate in built.values()), built)
        stages = {row["parameters"]["stage"] for row in rows if row["name"] == "input_built_cpu"}
        self.assertEqual(stages, {"sender", "readout input", "readout answers", "supervisor", "dfm", "builder", "builder output", "recorder"})
        limits = {row["parameters"]["input"]: row["parameters"]["stage"] for row in rows if row["name"] == "input_limiting_stage"}
        self.assertEqual(set(limits), set(built))
        self.assertLessEqual(set(limits.values()), stages)
        triggers = {row["parameters"]["triggers"]: row["value"] for row in rows if row["name"] == "trigger_rate"}
        self.assertEqual(set(triggers), {"made", "client library", "plug-in", "plug-in in Python"})
        self.assertTrue(all(rate > 0 for rate in triggers.values()), triggers)


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
