# SPDX-License-Identifier: Apache-2.0
"""weir top in a terminal of 80 x 24, beside a partition that takes data, stands still, and goes."""
import os
import signal
import subprocess
import unittest

import screen
import weir_program
from run_test import GENERATOR, Partition
from weir_process import wait_until
from weir_program import PROGRAM, ProgramTest, run

HOSTILE = "cosmics \x1b]0;owned\x07\u202egnp.exe"


class Top(ProgramTest):
    def partition(self):
        partition = Partition(self.folder, GENERATOR, "--comment", "shift of the night", source=None)
        self.addCleanup(self.end, partition)
        partition.until_built(100)
        return partition

    def end(self, partition):
        if partition.running():
            partition.process.send_signal(signal.SIGINT)
            partition.process.wait(timeout=120)

    def test_once_is_a_page_of_text_for_pipes(self):
        partition = self.partition()
        shown = self.assertEnds(run("top", "--dir", partition.directory, "--once"), 0).out
        for word in ("generator  RUNNING  run 1", "shift of the night", "events/s", "rec-1", "sfi-2", "free"):
            self.assertIn(word, shown)
        self.assertNotIn("\x1b", shown)
        self.assertTrue(all(len(line) <= 80 for line in shown.splitlines()), shown)
        document = self.assertEnds(run("top", "--dir", partition.directory, "--json"), 0).json
        self.assertEqual([s["state"] for s in document["stations"]], ["running"] * 11)
        self.assertGreater(document["rates"]["accepted"], 0)
        one = self.assertEnds(run("top", "--at", partition.station("ef-1")["control"], "--once"), 0).out
        self.assertIn("ef-1", one)
        self.assertIn("filter", one)
        self.assertOneLine(run("top", "--dir", self.folder / "none", "--once"), 3, "no run control works in")
        self.assertOneLine(run("top", "--dir", partition.directory), 2, "stdin and stdout have to be a terminal")

    @unittest.skipIf(screen.NO_TMUX, screen.NO_TMUX)
    def test_in_a_terminal_it_shows_opens_sorts_goes_stale_comes_back_and_leaves_the_terminal_as_it_was(self):
        partition = self.partition()
        with screen.Screen(self.folder) as terminal:
            before = terminal.settings()
            terminal.type(PROGRAM, "top", "--dir", partition.directory)
            terminal.until("generator  RUNNING  run 1", "events/s", "ros-1", "rec-1", "q quit")
            self.show(terminal, "partition")
            for sort in ("rate", "in hand", "name", "trouble", "file"):
                terminal.press("s")
                terminal.until(f"sort: {sort}")
            terminal.press("End")
            terminal.press("Enter")
            terminal.until("station   rec-1, record, running", "physics_Main", "bytes_stored")
            self.show(terminal, "recorder")
            terminal.press("Escape")
            terminal.until("events/s")
            terminal.press("l")
            terminal.until("esc back", without=["events/s"])
            self.show(terminal, "log")
            terminal.press("?")
            terminal.until("choose a station")
            self.show(terminal, "help")
            terminal.press("Escape")

            sfi = partition.station("sfi-1")["pid"]
            os.kill(sfi, signal.SIGKILL)
            terminal.until("ALARMS", "sfi-1")
            self.show(terminal, "alarm")
            terminal.press("a")
            terminal.until("esc back", "sfi-1 ")
            self.show(terminal, "alarms")
            terminal.press("Escape")

            os.kill(partition.pid, signal.SIGSTOP)
            terminal.until("STALE: what is shown is")
            self.show(terminal, "stale")
            os.kill(partition.pid, signal.SIGCONT)
            terminal.until("generator  RUNNING", without=["STALE"])

            terminal.resize(132, 40)
            terminal.until("q quit")
            wait_until(lambda: len(terminal.text().splitlines()) == 40, "drawn anew after the terminal has grown")
            terminal.resize(40, 10)
            terminal.until("generator")
            terminal.resize(80, 24)
            terminal.until("rec-1")

            partition.process.send_signal(signal.SIGKILL)
            terminal.until("STALE")
            again = Partition(self.folder, GENERATOR, "--comment", HOSTILE, directory=partition.directory, source=None)
            self.addCleanup(self.end, again)
            terminal.until("RUNNING  run 2", r"cosmics \x1b]0;owned\x07\u{202e}gnp.exe", without=["STALE"])

            terminal.press("q")
            terminal.until("ready>", without=["events/s"])
            self.assertEqual(terminal.settings(), before)
            for number in (signal.SIGINT, signal.SIGTERM):
                terminal.type(PROGRAM, "top", "--dir", partition.directory)
                terminal.until("events/s")
                found = subprocess.run(["pgrep", "-f", f"top --dir {partition.directory}"], capture_output=True, text=True)
                os.kill(int(found.stdout.split()[0]), number)
                terminal.until("ready>", without=["events/s"])
            terminal.type(PROGRAM, "top", "--dir", partition.directory)
            terminal.until("events/s")
            terminal.press("C-z")
            terminal.until("ready>", without=["events/s"])
            terminal.type("fg")
            terminal.until("events/s")
            terminal.press("C-c")
            terminal.until("ready>", without=["events/s"])

    def show(self, terminal, name):
        """For who looks at them: WEIR_SCREENS is a folder."""
        if folder := os.environ.get("WEIR_SCREENS"):
            with open(os.path.join(folder, f"{name}.txt"), "w") as file:
                file.write(terminal.text())


if __name__ == "__main__":
    weir_program.main()
