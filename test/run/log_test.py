# SPDX-License-Identifier: Apache-2.0
"""Logs of a partition: filtered by weir run log, as JSON lines on stderr, with fields in systemd's journal."""
import json
import os
import re
import signal
import socket
import subprocess
import unittest

import mounting
import weir_program
from run_test import GENERATOR, Partition
from weir_process import Process, wait_until
from weir_program import PROGRAM, ProgramTest, run

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class LogTest(ProgramTest):
    def partition(self, *arguments, directory=None, **more):
        partition = Partition(self.folder, GENERATOR, *arguments, source=None, directory=directory, **more)
        self.addCleanup(self.end, partition)
        return partition

    def end(self, partition):
        if partition.running():
            partition.signal(signal.SIGINT)
        return partition.wait()

    def lines(self, directory, *filters):
        return [json.loads(line) for line in self.assertEnds(run("run", "log", "--dir", directory, "--json", *filters), 0).out.splitlines()]

    def two_runs(self, *arguments):
        partition = self.partition("--wait", *arguments)
        partition.place()
        self.assertEnds(run("run", "start", "--dir", partition.directory, timeout=150), 0)
        os.kill(partition.station("rec-1")["pid"], signal.SIGKILL)
        wait_until(lambda: any(line["station"] == "rec-1" for line in self.lines(partition.directory)), "the recorder that is back reports")
        self.assertEnds(run("run", "stop", "--dir", partition.directory, timeout=150), 0)
        self.assertEnds(run("run", "start", "--dir", partition.directory, timeout=150), 0)
        self.assertEnds(run("run", "stop", "--dir", partition.directory, timeout=150), 0)
        return partition

    def assertFiltered(self, directory):
        """The same of a run control that works and of one that has ended."""
        lines = self.lines(directory)
        self.assertEqual({"time", "station", "severity", "text"}, set(lines[0]))
        for line in lines:
            self.assertRegex(line["time"], TIME)
        self.assertTrue({"run", "rec-1"} <= {line["station"] for line in lines})
        recorder = self.lines(directory, "--station", "rec-1")
        self.assertTrue(recorder)
        self.assertEqual({line["station"] for line in recorder}, {"rec-1"})
        both = self.lines(directory, "--station", "rec-1", "--station", "run")
        self.assertEqual({line["station"] for line in both}, {"rec-1", "run"})
        bad = self.lines(directory, "--severity", "warning")
        self.assertTrue(any("rec-1" in line["text"] for line in bad))
        self.assertTrue({line["severity"] for line in bad} <= {"warning", "error", "fatal"})
        first, second = (self.lines(directory, "--run", n, "--station", "run") for n in (1, 2))
        self.assertTrue(any("run 1 is over" in line["text"] for line in first))
        self.assertFalse(any("run 2 is over" in line["text"] for line in first))
        self.assertTrue(any("run 2 is over" in line["text"] for line in second))
        middle = second[0]["time"]
        before, after = self.lines(directory, "--until", middle), self.lines(directory, "--since", middle)
        self.assertEqual(len(before) + len(after), len(lines))
        self.assertTrue(all(line["time"] < middle for line in before))
        self.assertTrue(all(line["time"] >= middle for line in after))
        nothing = self.assertEnds(run("run", "log", "--dir", directory, "--since", "1h", "--until", "30min"), 0)
        self.assertEqual(nothing.out, "")
        self.assertRegex(nothing.err, r"^weir run log: no line of \d+ matches\n$")
        for more in ([], ["--json"], ["--follow"], ["--station", "run"]):
            unknown = run("run", "log", "--dir", directory, "--station", "rec1", *more)
            self.assertOneLine(unknown, 3, 'has no station "rec1"; did you mean "rec-1"?; there are ', "rec-1, ", "run")
        text = self.assertEnds(run("run", "log", "--dir", directory, "--station", "run", "--run", 2), 0).out
        self.assertIn("run 2 is over", text)
        text = self.assertEnds(run("run", "log", "--dir", directory), 0).out.splitlines()
        self.assertEqual(len(text), len(lines))
        for shown, line in zip(text, lines):
            self.assertTrue(shown.startswith(f"{line['time']} {line['severity']} {line['station']}: "), (shown, line))
            self.assertEqual(len(TIME.findall(shown)), 1, shown)

    def test_is_filtered_by_station_severity_run_and_time_while_it_works_and_afterwards(self):
        partition = self.two_runs()
        self.assertFiltered(partition.directory)
        self.assertOneLine(run("run", "log", "--dir", partition.directory, "--severity", "bad"), 2, "--severity bad is none")
        self.assertOneLine(run("run", "log", "--dir", partition.directory, "--since", "soon"), 2, '"soon" is no time')
        self.end(partition)
        self.assertFiltered(partition.directory)
        self.assertOneLine(run("run", "log", "--dir", partition.directory, "--run", 77), 3, "77")
        records = sorted(partition.directory.glob("weir.run.*.json"))
        self.assertEqual(len(records), 2)
        records[1].rename(records[0].with_name("weir.run.00000005.json"))  # as if numbers were left out
        first = self.lines(partition.directory, "--run", 1)
        self.assertTrue(any("run 1 is over" in line["text"] for line in first))
        self.assertFalse(any("run 2 starts" in line["text"] for line in first), first)

    def test_as_json_each_line_of_stderr_is_a_document_of_any_station(self):
        partition = self.two_runs("--log-format", "json")
        self.end(partition)
        lines = [json.loads(line) for line in partition.err.splitlines() if not line.startswith("weir run: run control is at")]
        self.assertTrue({"run", "rec-1"} <= {line["station"] for line in lines})
        for line in lines:
            self.assertEqual(line["partition"], "generator")
            self.assertRegex(line["time"], TIME)
        over = [line for line in lines if "run 2 is over" in line["text"]]
        self.assertEqual([(line["station"], line["run"], line["severity"]) for line in over], [("run", 2, "information")])

    def test_a_recorder_alone_logs_json_too(self):
        with Process(self.folder, "record", "--listen", "127.0.0.1:0", "--dir", self.folder / "R", "--create", "--run", 7,
                     "--log-format", "json") as recorder:
            port = int(recorder.printed(r"listening on port (\d+)").group(1))
            with socket.create_connection(("127.0.0.1", port), 60) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
                recorder.printed(r'\{"time"')
            recorder.stop()
        log = [json.loads(line) for line in recorder.err.splitlines() if line.startswith("{")]
        self.assertTrue(log, recorder.err)
        self.assertEqual((log[0]["run"], log[0]["severity"]), (7, "warning"))
        self.assertNotIn("partition", log[0])


class JournalTest(ProgramTest):
    """systemd's journal as a program meets it: a socket for datagrams at its place, and a stderr that JOURNAL_STREAM names."""

    @unittest.skipIf(mounting.why_no_own_mounts(), mounting.why_no_own_mounts())
    def test_behind_the_journal_each_line_has_its_partition_station_and_run(self):
        place = self.folder / "journal"
        place.mkdir()
        journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(journal.close)
        journal.bind(str(place / "socket"))
        journal.setblocking(False)
        out, err = self.folder / "run.out", self.folder / "run.err"
        script = ('mount -t tmpfs none /run && mkdir -p /run/systemd/journal && mount --bind "$1" /run/systemd/journal && shift && '
                  'JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr) exec "$@"')
        with open(out, "wb") as to, open(err, "wb") as errors:
            process = subprocess.Popen(["unshare", "-m", "sh", "-c", script, "sh", str(place), PROGRAM, "run", str(GENERATOR), "--dir",
                                        str(self.folder / "D"), "--json"], stdin=subprocess.DEVNULL, stdout=to, stderr=errors)
        entries = []
        provoked = stopped = False
        try:
            while process.poll() is None or self.waiting(journal):
                if not self.waiting(journal):
                    try:
                        process.wait(0.05)
                    except subprocess.TimeoutExpired:
                        pass
                    continue
                entries.append(dict(line.split("=", 1) for line in journal.recv(1 << 16).decode().splitlines()))
                if not provoked and entries[-1]["MESSAGE"] == "run 1 runs":
                    provoked = True
                    self.kill("rec-1")  # the one that comes back reports what it found
                if not stopped and entries[-1]["STATION"] == "rec-1":
                    stopped = True
                    process.send_signal(signal.SIGINT)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 0, err.read_text())
        self.assertTrue({"run", "rec-1"} <= {entry["STATION"] for entry in entries}, entries)
        self.assertEqual({entry["PARTITION"] for entry in entries}, {"generator"})
        over = [entry for entry in entries if "run 1 is over" in entry["MESSAGE"]]
        self.assertEqual([(entry["STATION"], entry["RUN"], entry["PRIORITY"], entry["SYSLOG_IDENTIFIER"]) for entry in over], [("run", "1", "6", "weir")])

    def kill(self, station):
        status = self.assertEnds(run("run", "status", "--dir", self.folder / "D", "--json"), 0).json
        os.kill(next(s["pid"] for s in status["stations"] if s["name"] == station), signal.SIGKILL)

    @staticmethod
    def waiting(journal):
        try:
            return journal.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return b""


if __name__ == "__main__":
    weir_program.main()
