# SPDX-License-Identifier: Apache-2.0
"""Whole partitions whose selection is a plug-in that fails: it costs no event, and is said where the run was begun."""
import subprocess
import unittest

import weir_program
from run_test import RunTest, partition_of
from weir_program import BES3, run


def python_is_there():
    return subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode == 0


@unittest.skipUnless(python_is_there(), "needs /usr/bin/python3 with NumPy")
class Selections(RunTest):
    EVENTS = 50

    def run_with(self, body):
        plugin = self.folder / "cut.py"
        plugin.write_text("import time\n\n\ndef select(event):\n" + body)
        file = self.folder / "p.toml"
        file.write_text(partition_of(filter={"selection": f'"{plugin}"', "time_limit": '"300ms"', "workers": "1"}))
        directory = self.folder / "D"
        ended = self.assertEnds(run("run", file, "--source", BES3, "--events", self.EVENTS, "--dir", directory, "--json"), 0)
        self.assertBalances(ended.json)
        self.assertEqual(ended.json["problems"], [])
        self.assertRecorded(directory, range(1, self.EVENTS + 1))
        return ended, ended.json

    def assertToldOnce(self, ended, result, what):
        for name in ("ef-1", "ef-2"):
            lines = [line for line in ended.err.splitlines() if f"{name}: selection" in line]
            self.assertLessEqual(len(lines), 1, ended.err)
        told = [line for line in ended.err.splitlines() if f": selection {what}: {self.folder}/cut.py: on event" in line]
        self.assertTrue(told, ended.err)
        self.assertTrue(any(f"selection {what}" in alarm for alarm in result["alarms"]), result["alarms"])

    def test_a_selection_that_throws_is_told_once_and_its_events_are_kept(self):
        ended, result = self.run_with('    raise ValueError("no such chamber")\n')
        self.assertToldOnce(ended, result, "threw")
        self.assertIn("no such chamber", ended.err)
        self.assertEqual(result["selection"], {"forced": 50, "threw": 50, "timed_out": 0, "crashed": 0, "hanging": 0})

    def test_a_selection_that_hangs_on_some_events_is_told_once_and_they_are_kept(self):
        ended, result = self.run_with("    if event.global_id % 25 == 0:\n        time.sleep(3600)\n    return True\n")
        self.assertToldOnce(ended, result, "timed out")
        self.assertEqual(result["selection"], {"forced": 2, "threw": 0, "timed_out": 2, "crashed": 0, "hanging": 0})


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
