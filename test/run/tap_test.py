# SPDX-License-Identifier: Apache-2.0
"""weir tap beside partitions that take data: what it selects, its forms of output, and that no data waits for it."""
import http.client
import json
import signal
import subprocess
import threading
import unittest

import screen
import weir_program
from recorder_files import RawFile
from run_test import GENERATOR, Partition, partition_of, robs_of
from weir_process import wait_until
from weir_program import BES3, PROGRAM, ProgramTest, run


def ask(address, path):
    connection = http.client.HTTPConnection(*address.split(":"), timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()
    finally:
        connection.close()


class Tap(ProgramTest):
    def partition(self, *arguments, file=GENERATOR, source=None):
        partition = Partition(self.folder, file, *arguments, source=source)

        def end():
            if partition.running():
                partition.process.send_signal(signal.SIGINT)
                partition.process.wait(timeout=120)

        self.addCleanup(end)
        partition.until_built(100)
        return partition

    def tap(self, partition, *arguments):
        return run("tap", *arguments, "--dir", partition.directory, timeout=120)

    def test_lines_words_documents_and_a_raw_file_of_events_by_station_stream_source_and_size(self):
        partition = self.partition()
        lines = self.assertEnds(self.tap(partition, "--count", 3, "--rate", 0), 0).out.splitlines()
        self.assertEqual(len(lines), 4, lines)
        self.assertIn("global id", lines[0])
        self.assertTrue(all(line.startswith("ef-1 ") for line in lines[1:]), lines)
        self.assertLess(max(map(len, lines)), 80, "in a terminal of 80 columns no line is broken")
        words = self.assertEnds(self.tap(partition, "sfi-2", "--count", 1, "--hex"), 0).out.splitlines()
        self.assertEqual(words[0], "# from sfi-2")
        self.assertIn(" aa1234aa", words[2])
        self.assertGreater(len(words), 100)
        self.assertLess(max(map(len, words)), 80, "in a terminal of 80 columns no line is broken")
        documents = [json.loads(line) for line in self.assertEnds(
            self.tap(partition, "sfi-1", "sfi-2", "--count", 6, "--json", "--rate", 0), 0).out.splitlines()]
        self.assertEqual(len(documents), 6)
        self.assertTrue({d["station"] for d in documents} <= {"sfi-1", "sfi-2"}, documents)
        self.assertTrue(all(d["robs"] >= 24 and "error" not in d for d in documents), documents)
        self.assertEqual(len({d["global_id"] for d in documents}), 6)
        file = self.folder / "tapped.data"
        source = partition.get()["sources"][-1]["source"]
        self.assertIn("5 events", self.assertEnds(
            self.tap(partition, "--count", 5, "--rate", 0, "--stream", "physics_Main", "--source", source, "--raw", file), 0).out)
        self.assertEqual(len(list(RawFile(file).events())), 5)
        self.assertIn("last of its sequence", self.assertEnds(run("show", file), 0).out)
        self.assertEqual(len(self.assertEnds(run("cat", file, "--json"), 0).json["events"]), 5)
        again = self.tap(partition, "--count", 1, "--raw", file)
        self.assertOneLine(again, again.code, "tapped.data")
        self.assertNotEqual(again.code, 0)
        one = self.assertEnds(run("tap", "--at", partition.station("ef-1")["control"], "--count", 1), 0)
        self.assertIn("ef-1", one.out)

    def test_events_that_do_not_pass_are_waited_for_and_wrong_wishes_are_refused(self):
        partition = self.partition()
        control = partition.station("ef-1")["control"]
        for wish in ("stream=physics_Other", "source=0x999999", "size_min=100000000", "size_max=1", "incomplete=1"):
            with self.subTest(wish=wish):
                def passed():  # while it waited: none, where the filter itself had to wait for so long
                    status, kind, body = ask(control, f"/tap?wait=300&{wish}")
                    self.assertEqual((status, kind), (200, "application/json"), body)
                    return body if json.loads(body)["passed"] else None
                body = wait_until(passed, "events pass")
                self.assertEqual("physics_Main" in json.loads(body)["streams"], wish.startswith("stream="), body)
        for wish in ("wait=20000", "size_min=x", "nonsense=1", "source=%00", "stream=" + "x" * 4000):
            with self.subTest(wish=wish[:20]):
                self.assertEqual(ask(control, f"/tap?{wish}")[0], 400)
        self.assertEqual(ask(partition.station("rec-1")["control"], "/tap")[0], 404)
        self.assertOneLine(self.tap(partition, "rec-1"), 2, "rec-1 is a station of kind record")
        self.assertOneLine(self.tap(partition, "ef-9"), 3, "no station ef-9")
        self.assertOneLine(self.tap(partition, "--source", "x"), 2, "--source")
        self.assertOneLine(self.tap(partition, "--hex", "--json"), 2, "choose one")

    def test_who_misspells_a_stream_reads_which_ones_pass(self):
        partition = self.partition()
        tap = subprocess.Popen([PROGRAM, "tap", "--dir", partition.directory, "--stream", "physics_Mian"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(tap.kill)
        said = tap.stderr.readline()  # after ten seconds
        self.assertRegex(said, r"^weir tap: no such event among [\d,]+ that were looked at, of streams .*physics_Main.*; still asking$")
        tap.send_signal(signal.SIGINT)
        self.assertEqual(tap.communicate(timeout=120)[0].count("\n"), 1, "the titles alone")
        self.assertEqual(tap.returncode, 0)

    def test_many_tap_at_once_and_the_run_balances(self):
        partition = self.partition("--events", "6000")
        taps = [subprocess.Popen([PROGRAM, "tap", "--dir", partition.directory, "--rate", "0", "--json", *stations], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for stations in ([], [], ["sfi-1"], ["sfi-1", "sfi-2", "ef-1"])]
        out = [None] * len(taps)
        threads = [threading.Thread(target=lambda i=i: out.__setitem__(i, taps[i].communicate(timeout=300))) for i in range(len(taps))]
        for thread in threads:
            thread.start()
        ended = partition.wait(300)
        self.assertEqual(ended.code, 0, ended)
        self.assertEqual(ended.json["events"]["recorded"], 6000)
        self.assertEqual(ended.json["problems"], [])
        for thread in threads:
            thread.join(timeout=120)
        for tap, (shown, _) in zip(taps, out):
            self.assertEqual(tap.returncode, 1)  # run control is gone
            self.assertGreater(len(shown.splitlines()), 0)
            for line in shown.splitlines():
                self.assertNotIn("error", json.loads(line))

    def test_ctrl_c_closes_the_raw_file(self):
        partition = self.partition()
        file = self.folder / "tapped.data"
        tap = subprocess.Popen([PROGRAM, "tap", "--dir", partition.directory, "--rate", "50", "--raw", file], text=True, stdout=subprocess.PIPE)
        wait_until(lambda: file.exists() and file.stat().st_size > 200_000, "some events in the file")
        tap.send_signal(signal.SIGINT)
        self.assertIn("events", tap.communicate(timeout=120)[0])
        self.assertEqual(tap.returncode, 0)
        self.assertIn("last of its sequence", self.assertEnds(run("show", file), 0).out)

    @unittest.skipIf(screen.NO_TMUX, screen.NO_TMUX)
    def test_words_fit_into_a_terminal_of_80_columns(self):
        partition = self.partition()
        with screen.Screen(self.folder) as terminal:
            terminal.type("sh", "-c", f"{PROGRAM} tap sfi-2 --dir {partition.directory} --count 1 --hex | head -n 15; echo all of it")
            terminal.until("# from sfi-2", "\nall of it")
            lines = terminal.text().splitlines()
        words = [line for line in lines[lines.index("# from sfi-2") + 2:] if line.strip()]
        words = words[:words.index("all of it")]
        self.assertEqual(len(words), 13)
        for line in words:
            self.assertRegex(line, r"^[0-9a-f]{6} ( [0-9a-f]{8}){8}$")

    @unittest.skipUnless(BES3.exists(), "no recorded events")
    def test_real_events_of_bes3_are_a_raw_file_that_others_read(self):
        partition = self.partition("--events", "100000", file=self.file(partition_of(supervise={"rate": "500"})), source=BES3)
        file = self.folder / "tapped.raw"
        self.assertEnds(self.tap(partition, "--count", 4, "--raw", file), 0)
        events = [data for _, data in RawFile(file).events()]
        self.assertEqual([len(robs_of(event)) for event in events], [42] * 4)

    def file(self, text):
        path = self.folder / "partition.toml"
        path.write_text(text)
        return path


if __name__ == "__main__":
    weir_program.main()
