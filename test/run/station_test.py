# SPDX-License-Identifier: Apache-2.0
"""A recorder in a partition, driven over its control port by hand: runs, hostile requests, signals."""
import json
import os
import signal
import socket
import unittest
import urllib.error
import urllib.request

from weir_process import Process, SenderProcess, wait_until
from weir_program import ProgramTest, main, run

PARTITION = """
[partition]
name = "test"
[readout.ros-1]
[record.rec-1]
memory = "600MiB"
"""


class Station(Process):
    def __init__(self, folder, *arguments):
        super().__init__(folder, *arguments)
        line = wait_until(lambda: "\n" in self.out_path.read_text() and self.out_path.read_text(), "the first line").splitlines()[0]
        self.first = json.loads(line)
        self.address = self.first["control"]

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=60) as answer:
            return json.load(answer)

    def post(self, path, document, **headers):
        request = urllib.request.Request(f"http://{self.address}{path}", json.dumps(document).encode(),
                                         {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def go(self, name, **more):
        code, answer = self.post("/transition", {"name": name, **more})
        if code != 200:
            raise AssertionError(f"{name}: {answer}")
        return answer["state"]


class RecorderInAPartition(ProgramTest):
    def setUp(self):
        super().setUp()
        self.partition = os.path.join(self.folder, "partition.toml")
        with open(self.partition, "w") as file:
            file.write(PARTITION)

    def station(self, *arguments):
        return Station(self.folder, "record", self.partition, "--name", "rec-1", "--dir", os.path.join(self.folder, "data"), "--create", *arguments)

    def test_records_two_runs_that_run_control_starts(self):
        trace = os.path.join(self.folder, "trace.json")
        with self.station("--json", "--trace", trace) as station:
            self.assertEqual({**station.first, "control": ""}, {"station": "rec-1", "kind": "record", "control": ""})
            self.assertEqual(station.go("configure"), "configured")
            self.assertEqual(station.go("connect", peers=[]), "connected")
            port = station.get("/status")["self"]["events"].rpartition(":")[2]
            for number in (41, 42):
                self.assertEqual(station.go("start", run=number), "running")
                sent = SenderProcess(self.folder, port, "--events", 50, run=number).report()
                self.assertEqual(sent["events"]["acknowledged"], 50)
                self.assertEqual(station.go("stop"), "connected")
                ledger = station.get("/status")["ledger"]
                self.assertEqual(ledger["received"], ledger["stored"])
                self.assertEqual(ledger["in_hand"], 0)
            threads = {thread["name"] for thread in station.get("/threads")["threads"]}
            self.assertLessEqual({"frame", "watchdog", "http", "timers", "receiver", "volume", "closing"}, threads)
            station.go("exit")
            self.assertEnds(station.wait(), 0)
            last = json.loads(station.out_path.read_text().splitlines()[-1])
            self.assertEqual(last["state"], "initial")
        files = run("ls", os.path.join(self.folder, "data"), "--json").json["files"]
        self.assertEqual({file["run"] for file in files}, {41, 42})
        with open(trace) as file:
            names = {event["args"]["name"] for event in json.load(file)["traceEvents"] if event["ph"] == "M"}
        self.assertIn("receiver", names)

    def test_a_signal_stops_a_run_and_ends_with_0(self):
        with self.station() as station:
            for step in ({"name": "configure"}, {"name": "connect"}, {"name": "start", "run": 7}):
                station.go(**step)
            station.signal(signal.SIGTERM)
            self.assertEnds(station.wait(), 0)

    def test_what_is_no_request_changes_nothing(self):
        with self.station() as station:
            for document, code in ({"name": "explode"}, 400), ({"name": "start"}, 400), ([], 400), ({"name": "stop"}, 409):
                self.assertEqual(station.post("/transition", document)[0], code)
            self.assertEqual(station.post("/transition", {"name": "configure"}, Origin="http://evil.example")[0], 403)
            host, port = station.address.split(":")
            with socket.create_connection((host, int(port)), timeout=60) as raw:
                raw.sendall(b"\x16\x03\x01 no http\r\n\r\n")
                self.assertIn(b" 400 ", raw.recv(4096))
            self.assertEqual(station.get("/status")["state"], "initial")

    def test_mistakes_in_the_file_are_one_line(self):
        self.assertOneLine(run("record", self.partition, "--name", "rec-2"), 2, "rec-2", "rec-1")
        self.assertOneLine(run("record", self.partition, "--listen", "127.0.0.1:0"), 2, "--listen")
        with open(self.partition, "a") as file:
            file.write("[reedout.x]\n")
        self.assertOneLine(run("record", self.partition, "--name", "rec-1"), 2, "reedout", "readout")
        self.assertOneLine(run("config", "check", self.partition), 2, "reedout", "readout")


if __name__ == "__main__":
    main()
