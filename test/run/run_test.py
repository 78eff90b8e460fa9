# SPDX-License-Identifier: Apache-2.0
"""Whole partitions: real processes, real events, real files; their runs, and partitions that cannot be run."""
import http.client
import json
import os
import pathlib
import signal
import struct
import subprocess
import time
import unittest

import weir_program
from recorder_files import EVENT, ROB, ROD, ROS, SUB_DETECTOR, RawFile, expect, listed
from weir_process import Process, wait_until
from weir_program import BES3, ProgramTest, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPLAY = ROOT / "examples" / "replay.toml"
GENERATOR = ROOT / "examples" / "generator.toml"
AHEAD, UNNUMBERED = 0xA80010, 0x7C0000  # the source that counts one ahead, the one that does not count
ROB_LOST = 0x20000000                   # a bit of the first status word: this ROB was made in place of one that did not come
EVENT_NUMBER = 36                       # offset of it in an event 3.0 with one status word


def robs_of(event):
    """{source: (level-1 id of its ROD, status words, the ROB with that id made 0)} of an event of format 3.0."""
    word = lambda at: struct.unpack_from("<I", event, at)[0]
    expect(word(0) == EVENT and 4 * word(4) == len(event), "not an event")
    found, pending = {}, [(4 * word(8), len(event))]
    while pending:
        at, end = pending.pop()
        while at < end:
            marker, size, header = word(at), 4 * word(at + 4), 4 * word(at + 8)
            expect(marker in (SUB_DETECTOR, ROS, ROB) and header <= size <= end - at, f"fragment {marker:#x} at {at}")
            if marker == ROB:
                rob = bytearray(event[at:at + size])
                status = struct.unpack_from(f"<{word(at + 20)}I", event, at + 24)
                level1 = None
                if header < size:
                    expect(word(at + header) == ROD, "a ROB without a ROD")
                    level1 = word(at + header + 20)
                    struct.pack_into("<I", rob, header + 20, 0)
                expect(word(at + 16) not in found, f"source {word(at + 16):#x} twice")
                found[word(at + 16)] = (level1, status, bytes(rob))
            else:
                pending.append((at + header, at + size))
            at += size
    return found


ORIGINALS = [robs_of(data) for _, data in RawFile(BES3).events()] if BES3.exists() else []


def partition_of(**changes):
    """The example, with other keys in sections: supervise={"rate": "500"}."""
    lines = []
    for line in REPLAY.read_text().splitlines():
        lines.append(line)
        if line.startswith("["):
            kind = line.strip("[]").split(".")[0]
            section = changes.get(kind, {})
            lines += [f"{key} = {value}" for key, value in section.items()]
        else:
            for section in changes.values():
                if line.split("=")[0].strip() in section:
                    lines.pop()
                    break
    return "\n".join(lines) + "\n"


class Partition(Process):
    """weir run in the background."""

    def __init__(self, folder, file, *arguments, directory=None, source=BES3):
        self.directory = directory or pathlib.Path(folder) / f"D{Process.count}"
        sources = ["--source", source] if source else []
        super().__init__(folder, "run", file, *sources, "--dir", self.directory, "--json", *arguments)

    def place(self):
        """Address and port of run control, once it is there."""
        place = wait_until(lambda: self._place() or not self.running(), lambda: f"run-control.json; {self.err}")
        expect(isinstance(place, str), f"weir run has ended: {self.err}")
        return place

    def get(self, path="/partition"):
        host, port = self.place().split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def _place(self):
        try:
            return json.loads((self.directory / "run-control.json").read_text())["control"]
        except FileNotFoundError:
            return None

    def until_built(self, events):
        wait_until(lambda: self.get()["events"]["built"] >= events, f"{events} events built; {self.err}", poll=0.05)

    def station(self, name):
        return next(s for s in self.get()["stations"] if s["name"] == name)


class RunTest(ProgramTest):
    def assertRecorded(self, directory, numbers=None, incomplete=0):
        """Files are whole; every event has its 42 ROBs, bit for bit; returns the event numbers, and how many have empty ROBs."""
        self.assertEnds(run("verify", directory, timeout=300), 0)
        found, empty = [], 0
        for file in listed(directory):
            for _, event in RawFile(file["path"]).events():
                number = struct.unpack_from("<I", event, EVENT_NUMBER)[0]
                found.append(number)
                original = ORIGINALS[(number - 1) % len(ORIGINALS)]
                robs = robs_of(event)
                self.assertEqual(sorted(robs), sorted(original), f"sources of event {number}")
                lost = [source for source, (_, status, _) in robs.items() if status[0] & ROB_LOST]
                empty += bool(lost)
                for source, (level1, status, data) in robs.items():
                    if source in lost:
                        continue
                    if data != original[source][2]:
                        self.fail(f"event {number}: the ROB of {source:#x} is not the original's")
                    expected = {AHEAD: number + 1, UNNUMBERED: original[source][0]}.get(source, number)
                    self.assertEqual(level1, expected, f"level-1 id of {source:#x} in event {number}")
        self.assertEqual(len(found), len(set(found)), "an event was recorded twice")
        if numbers is not None:
            self.assertEqual(sorted(found), list(numbers))
        if incomplete is not None:
            self.assertEqual(empty, incomplete)
        return sorted(found), empty

    def assertBalances(self, result):
        for station in result["stations"]:
            ledger = station["ledger"]
            self.assertEqual(ledger["received"], ledger["stored"] + sum(ledger["rejected"].values()) + ledger["in_hand"], station)
            self.assertEqual(ledger["in_hand"], 0, station)


class Replay(RunTest):
    def test_every_built_event_has_the_robs_of_the_original_bit_for_bit(self):
        directory = self.folder / "D"
        ended = self.assertEnds(run("run", REPLAY, "--source", BES3, "--events", 2000, "--dir", directory, "--json", timeout=300), 0)
        result = ended.json
        self.assertEqual(result["events"], {"triggers": 2000, "accepted": 2000, "rejected": 0, "built": 2000, "incomplete": 0, "recorded": 2000})
        self.assertEqual(result["reason"], "all events are done")
        self.assertEqual(result["problems"], [])
        self.assertEqual(result["directory"], str(directory))
        self.assertBalances(result)
        self.assertRecorded(directory, range(1, 2001))

    def test_run_numbers_parameters_and_commands_over_several_runs(self):
        with Partition(self.folder, REPLAY, "--events", 200, "--wait") as partition:
            wait_until(lambda: partition.get()["state"] == "ready", "the partition is ready")
            at = ["--dir", partition.directory, "--json"]
            runs = []
            for comment in ("first", "second"):
                self.assertEnds(run("run", "start", *at, "--comment", comment, "--parameter", "beam=off"), 0)
                wait_until(lambda: partition.get()["runs"] == len(runs) + 1, "the run is over")
                last = partition.get()["last"]
                self.assertEqual(last["events"]["recorded"], 200)
                runs.append(last["run"])
            self.assertEqual(runs[1], runs[0] + 1)
            refused = run("run", "stop", "--dir", partition.directory)
            self.assertOneLine(refused, 1, "the partition is ready")
            (partition.directory / "run-number").unlink()
            self.assertIn("run 1 is over", run("run", "log", "--dir", partition.directory).out)
            ended = self.assertEnds(partition.stop(), 0)
        self.assertEqual(ended.json["run"], runs[1])
        with Partition(self.folder, REPLAY, "--events", 10, directory=partition.directory) as third:
            self.assertEqual(self.assertEnds(third.wait(), 0).json["run"], runs[1] + 1, "the catalogue knows the numbers too")

    def test_a_run_is_paused_resumed_and_stopped_by_command(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "400"}))
        with Partition(self.folder, file, "--events", 100_000, "--wait") as partition:
            wait_until(lambda: partition.get()["state"] == "ready", "the partition is ready")
            at = ["--dir", partition.directory]
            self.assertEnds(run("run", "start", *at), 0)
            partition.until_built(100)
            self.assertEnds(run("run", "pause", *at), 0)
            wait_until(lambda: partition.station("l2sv")["state"] == "paused", "the supervisor pauses")
            time.sleep(0.5)
            before = partition.get()["events"]["triggers"]
            time.sleep(1)
            self.assertEqual(partition.get()["events"]["triggers"], before)
            self.assertEnds(run("run", "resume", *at), 0)
            partition.until_built(before + 100)
            status = self.assertEnds(run("run", "status", *at), 0).out.splitlines()
            self.assertRegex(status[2], r"station +kind +state +received +rate/s +stored +rejected +in hand")
            shown = next(line for line in status if line.lstrip().startswith("l2sv"))
            self.assertRegex(shown, r"l2sv +supervise +running +[\d,]+ +[1-9]\d* +[\d,]+ +0 ")
            stopped = self.assertEnds(run("run", "stop", *at, "--json", "--reason", "enough"), 0).json
            self.assertEqual(stopped["reason"], "enough")
            self.assertBalances(stopped)
            self.assertEqual(stopped["events"]["triggers"], stopped["events"]["recorded"])
            self.assertEnds(partition.stop(), 0)
        self.assertRecorded(partition.directory, range(1, stopped["events"]["recorded"] + 1))

    def test_ctrl_c_stops_the_run_and_keeps_every_event_that_was_accepted(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "400"}))
        with Partition(self.folder, file, "--events", 100_000) as partition:
            partition.until_built(200)
            partition.signal(signal.SIGINT)
            result = self.assertEnds(partition.wait(), 0).json
        self.assertEqual(result["reason"], "interrupted")
        self.assertBalances(result)
        self.assertRecorded(partition.directory, range(1, result["events"]["recorded"] + 1))


    def test_a_run_that_ends_by_itself_loses_nothing_though_its_filters_are_slower_than_the_stop_deadline(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(run={"stop_deadline": '"5s"'}, select={"selection": '"all"'}, filter={"selection": '"sleep:100ms"'}))
        with Partition(self.folder, file, "--events", 1000) as partition:
            partition.printed("stops: all events are done", 300)
            begun = time.monotonic()
            result = self.assertEnds(partition.wait(300), 0).json
            self.assertGreater(time.monotonic() - begun, 5, "the filters still had work for longer than the stop's deadline")
        self.assertEqual(result["problems"], [])
        self.assertEqual(result["account"]["lost"], [])
        self.assertRecorded(partition.directory, range(1, 1001))

    def test_what_an_operators_stop_abandons_is_listed_by_global_id_and_is_exactly_what_no_file_has(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(run={"stop_deadline": '"15s"'}, select={"selection": '"all"'}, filter={"selection": '"sleep:200ms"'}))
        with Partition(self.folder, file, "--events", 100_000) as partition:
            partition.until_built(20)
            partition.signal(signal.SIGINT)
            ended = self.assertEnds(partition.wait(300), 1)
        result = ended.json
        recorded, _ = self.assertRecorded(partition.directory)
        causes = {part["cause"] for part in result["account"]["lost"]}
        if "dfm did not answer stop" in ended.err:  # on a machine that is very busy: what it rejected as unfinished is unknown
            self.assertEqual(causes, {"the DFM died; filters may have rejected some of them"})
        else:
            self.assertIn("abandoned at the stop", causes)
            self.assertNotIn("nobody knows what became of them", causes)
        lost = set()
        for part in (part for cause in result["account"]["lost"] for part in cause["ids"].split(",")):
            first, _, last = part.partition("-")
            lost |= set(range(int(first), int(last or first) + 1))
        self.assertEqual(set(recorded) | lost, set(range(1, result["events"]["accepted"] + 1)))
        self.assertEqual(set(recorded) & lost, set())
        for cause in causes:
            self.assertIn(f"in no file: {cause}", ended.err)

    def test_a_second_ctrl_c_ends_all_at_once_and_leaves_a_result(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(select={"selection": '"all"'}, filter={"selection": '"sleep:200ms"'}))
        with Partition(self.folder, file, "--events", 100_000) as partition:
            partition.until_built(20)
            partition.signal(signal.SIGINT)
            partition.printed("stops: interrupted")
            begun = time.monotonic()
            partition.signal(signal.SIGINT)
            ended = self.assertEnds(partition.wait(), 1)
            self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual(ended.json["reason"], "interrupted")
        self.assertIn("interrupted twice", ended.json["problems"][0])

    def test_the_stop_of_a_finished_run_takes_less_than_10_s(self):
        with Partition(self.folder, REPLAY, "--events", 500) as partition:
            partition.printed("stops: all events are done")
            begun = time.monotonic()
            self.assertEnds(partition.wait(), 0)
            self.assertLess(time.monotonic() - begun, 10)

    def test_a_stop_by_command_is_a_success_though_run_control_ends_with_the_run(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "400"}))
        with Partition(self.folder, file, "--events", 100_000) as partition:
            partition.until_built(100)
            self.assertEnds(run("run", "stop", "--dir", partition.directory, "--reason", "enough"), 0)
            self.assertEqual(self.assertEnds(partition.wait(), 0).json["reason"], "enough")
        log = self.assertEnds(run("run", "log", "--dir", partition.directory), 0)
        self.assertIn("stops: enough", log.out)
        for line in (partition.directory / "log/run.log").read_text().splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S")

    def test_of_a_run_control_that_was_killed_the_commands_say_what_to_do(self):
        with Partition(self.folder, GENERATOR, "--wait", source=None) as partition:
            partition.place()
            partition.process.kill()
            partition.process.wait(timeout=120)
            for command in ("status", "start", "stop"):
                self.assertOneLine(run("run", command, "--dir", partition.directory), 1, "does not answer", "Connection refused; run control has ended",
                                   f"weir run PARTITION.toml --dir {partition.directory} begins anew", "--take-over")

    def test_a_stop_that_takes_long_shows_what_run_control_waits_for(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "400"}))
        for more in ([], ["--json"]):
            with Partition(self.folder, file, "--events", 100_000, directory=self.folder / f"D{len(more)}") as partition:
                partition.until_built(100)
                recorder = partition.station("rec-1")["pid"]
                os.kill(recorder, signal.SIGSTOP)
                try:
                    with open(self.folder / "stop.err", "w+") as err:
                        stop = subprocess.Popen([weir_program.PROGRAM, "run", "stop", "--dir", partition.directory, *more],
                                                stdout=subprocess.PIPE, stderr=err, text=True)
                        if not more:
                            shown = wait_until(lambda: "accepted events that are not final" in (self.folder / "stop.err").read_text() and
                                               (self.folder / "stop.err").read_text(), "what run control waits for")
                            self.assertIn("weir run stop: waits until the run has stopped; Ctrl-C ends this command only", shown)
                            self.assertRegex(shown, r"\nweir run stop: run control: run 1 waits for \d+ accepted events that are not final\n")
                        else:
                            partition.printed("accepted events that are not final")
                finally:
                    os.kill(recorder, signal.SIGCONT)
                out, _ = stop.communicate(timeout=150)
                if more:
                    self.assertEqual(json.loads(out)["run"], 1)
                    self.assertNotIn("waits", (self.folder / "stop.err").read_text())
                partition.wait()

    def test_a_stop_whose_run_control_has_ended_when_it_asks_again_shows_the_result_all_the_same(self):
        file = self.folder / "p.toml"
        file.write_text(partition_of(supervise={"rate": "400"}))
        with Partition(self.folder, file, "--events", 100_000) as partition:
            partition.until_built(100)
            stop = subprocess.Popen([weir_program.PROGRAM, "run", "stop", "--dir", partition.directory, "--json"], stdout=subprocess.PIPE, text=True)
            partition.printed("stops: stopped by ")
            stop.send_signal(signal.SIGSTOP)  # it answers no sooner than run control is gone
            ended = self.assertEnds(partition.wait(), 0).json
            stop.send_signal(signal.SIGCONT)
            shown = json.loads(stop.communicate(timeout=120)[0])
            self.assertEqual(stop.returncode, 0)
            self.assertEqual((shown["run"], shown["problems"], shown["events"]), (ended["run"], [], ended["events"]))


class BadPartitions(ProgramTest):
    """One clear line each, before anything runs."""

    def refused(self, text, *words, code=2):
        file = self.folder / "bad.toml"
        file.write_text(text)
        ended = run("run", file, "--source", BES3, "--dir", self.folder / "D")
        self.assertOneLine(ended, code, *words)

    def test_an_unknown_key_is_named_with_file_line_and_the_nearest(self):
        self.refused(partition_of(supervise={"rtae": "7"}), "bad.toml:", 'unknown key "rtae" in [supervise.l2sv]', 'did you mean "rate"?')

    def test_an_unknown_section(self):
        self.refused(REPLAY.read_text() + "[bild.sfi-3]\n", "bad.toml:", "unknown section [bild.sfi-3]", "build")

    def test_a_part_of_the_file_that_no_readout_has(self):
        self.refused(REPLAY.read_text().replace('[readout.ros-5]\nsource = "file"\npart = "5/6"\n', ""),
                     "do not cover the file: no readout has its sources from 4/6 to 5/6")

    def test_two_dfms(self):
        self.refused(REPLAY.read_text() + "[assign.dfm-2]\n", "a second assign station beside [assign.dfm]")

    def test_a_source_that_no_readout_serves(self):
        file = self.folder / "bad.toml"
        file.write_text(partition_of(data={"sources": '["0x123456"]'}))
        ended = run("run", file, "--source", BES3, "--dir", self.folder / "D")
        self.assertEnds(ended, 1)
        self.assertEqual(ended.err.count("source 0x123456 of [data] sources is served by no readout"), 1, repr(ended))

    def test_a_partition_file_that_is_not_there(self):
        self.assertOneLine(run("run", self.folder / "none.toml", "--dir", self.folder / "D"), 3, "none.toml is not there")

    def test_no_run_control_in_a_directory(self):
        self.assertOneLine(run("run", "status", "--dir", self.folder), 3, "no run control works in")


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
