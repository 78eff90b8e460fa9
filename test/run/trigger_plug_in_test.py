# SPDX-License-Identifier: Apache-2.0
"""Partitions whose triggers come from a plug-in: those of examples/trigger_plug_in and docs/trigger-plug-ins.md, in C++ and in Python;
and ones that fail. What was recorded is compared with what they say they sent."""
import os
import pathlib
import re
import shlex
import subprocess

import weir_program
from recorder_files import RawFile, listed
from run_network_triggers_test import header_of
from run_test import RunTest
from weir_program import run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (SOURCE / "docs" / "trigger-plug-ins.md").read_text()
COMPILE = re.search(r"^    (g\+\+ .*lib/selection/include.*)$", GUIDE, re.MULTILINE).group(1)  # from weir's source folder
EXAMPLES = SOURCE / "examples" / "trigger_plug_in"

PARTITION = """
[run]
start_deadline = "300s"
[readout.ros-1]
robs = 2
[supervise.l2sv]
source = "plug-in:{file}"
{keys}
[assign.dfm]
events_max = 64
[build.sfi-1]
event_deadline = "120s"
suspect_deadline = "120s"
[record.rec-1]
"""
PATIENT = 'time_limit = "120s"\nstart_limit = "120s"'


def example(name):
    return re.search(rf"<!-- test: {re.escape(name)} -->\n```\w+\n(.*?)```", GUIDE, re.DOTALL).group(1)


class TriggerPlugInTest(RunTest):
    def compiled(self, text):
        """Built as in the guide."""
        source, library = self.folder / "mine.cpp", self.folder / "mine.so"
        source.write_text(text)
        command = [{"unit.cpp": str(source), "unit.so": str(library)}.get(word, word) for word in shlex.split(COMPILE)]
        built = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        return library

    def script(self, text):
        file = self.folder / "mine.py"
        file.write_text(text)
        return file

    def run_with(self, file, events, name, *, keys=PATIENT, code=0):
        partition, self.directory = self.folder / "p.toml", self.folder / name
        partition.write_text(PARTITION.format(file=file, keys=keys))
        ended = run("run", partition, "--events", events, "--dir", self.directory, "--json", timeout=500,
                    env=dict(os.environ, TRIGGER_RECORD=str(self.folder)))
        self.assertEnds(ended, code)
        self.assertBalances(ended.json)
        return ended

    def recorded(self):
        """Headers by level-1 id, each id once, from 1 on."""
        self.assertEnds(run("verify", self.directory, timeout=300), 0)
        heads = [header_of(event) for file in listed(self.directory) for _, event in RawFile(file["path"]).events()]
        found = {head["level1_id"]: head for head in heads}
        self.assertEqual(sorted(head["level1_id"] for head in heads), list(range(1, len(heads) + 1)))
        return found

    def counters(self, ended):
        return next(s for s in ended.json["stations"] if s["kind"] == "supervise")["counters"]

    def test_events_have_the_triggers_that_the_examples_say_they_sent(self):
        library = self.compiled((EXAMPLES / "scintillators.cpp").read_text())
        for name, file in (("cpp", library), ("py", self.script((EXAMPLES / "scintillators.py").read_text()))):
            ended = self.run_with(file, 1500, name)
            self.assertEqual(ended.json["problems"], [])
            (record,) = self.folder.glob("triggers_*")
            sent = {}
            for line in record.read_text().splitlines():
                level1, time_ns, kind, *words = map(int, line.split())
                sent[level1] = {"level1_id": level1, "time": time_ns, "type": kind, "words": words, "bunch_crossing": 0}
            record.unlink()
            self.assertGreaterEqual(len(sent), 1500)
            self.assertEqual(self.recorded(), {number: sent[number] for number in range(1, 1501)})
            counters = self.counters(ended)
            self.assertEqual([counters[f"trigger_plug_in_{what}"] for what in ("threw", "hung", "crashed", "restarts")], [0] * 4)
            self.assertEqual(counters["triggers_lost"], 0)
            self.assertIsNotNone(ended.json["triggers"]["dead_time"])

    def test_those_of_the_guide_send_as_fast_as_there_is_room(self):
        for name, file in (("cpp", self.compiled(example("unit.cpp"))), ("py", self.script(example("unit.py")))):
            self.run_with(file, 3000, name)
            found = self.recorded()
            self.assertEqual(len(found), 3000)
            for number, head in found.items():
                self.assertEqual((head["type"], head["words"]), (0x84, [number]))

    FAULTY = """
import os, pathlib, time
count, once = 0, pathlib.Path({once!r})

def begin_run(run, next_level1_id):
    global count
    count = next_level1_id - 1

def poll(out):
    global count
    count += 1
    if count >= 50 and not once.exists():
        once.touch()
        {fault}
    out.send(type=1, time_ns=1_700_000_000_000_000_000 + count)
"""

    def with_fault(self, fault, name, keys=PATIENT):
        file = self.script(self.FAULTY.format(once=str(self.folder / f"once_{name}"), fault=fault))
        ended = self.run_with(file, 500, name, keys=keys, code=1)
        found = self.recorded()
        self.assertEqual(len(found), 500)
        for number, head in found.items():
            self.assertEqual(head["time"], 1_700_000_000_000_000_000 + number)
        return ended

    def assertNamed(self, ended, what, why, problem):
        self.assertTrue(any(what in alarm and why in alarm and "mine.py" in alarm for alarm in ended.json["alarms"]), ended.json["alarms"])
        self.assertTrue(any(re.fullmatch(problem, line) for line in ended.json["problems"]), ended.json["problems"])
        self.assertIn("trigger plug-in", ended.err)

    def test_one_that_crashes_is_started_again_and_the_run_is_a_bad_one_that_says_so(self):
        ended = self.with_fault("os.abort()", "crashes")
        self.assertNamed(ended, "trigger plug-in crashed", "signal 6",
                         "the trigger plug-in crashed 1 time: triggers of that time are missing")
        self.assertEqual(ended.json["triggers"]["plug_in_crashed"], 1)
        self.assertEqual(self.counters(ended)["trigger_plug_in_restarts"], 1)

    def test_one_that_hangs_is_killed_and_started_again_and_the_run_is_a_bad_one_that_says_so(self):
        ended = self.with_fault("time.sleep(3600)", "hangs", 'time_limit = "4s"\nstart_limit = "120s"')
        self.assertNamed(ended, "trigger plug-in hangs", "does not return within time_limit",
                         r"the trigger plug-in hung \d+ times?: triggers of that time are missing")
        self.assertGreaterEqual(ended.json["triggers"]["plug_in_hung"], 1)

    def test_a_begin_that_throws_lets_the_start_fail_with_its_text(self):
        file = self.script('def begin_run(run, next_level1_id):\n    raise RuntimeError("the unit is off")\n\ndef poll(out):\n    pass\n')
        partition = self.folder / "p.toml"
        partition.write_text(PARTITION.format(file=file, keys=PATIENT))
        ended = run("run", partition, "--events", 10, "--dir", self.folder / "D", timeout=300)
        self.assertEnds(ended, 1)
        self.assertIn("the unit is off", ended.err)

    def test_what_is_no_trigger_plug_in_is_named_before_a_run(self):
        partition = self.folder / "p.toml"
        for source, keys, why in (("plug-in:none.so", "", "none.so is not there"), ("plug-in:", "", "names no file"),
                                  ("plug-in:unit.txt", "", "give a file NAME.so or NAME.py"),
                                  (f"plug-in:{self.script('')}", "rate = 100", "the plug-in has the rate"),
                                  ("unit.so", "", "write plug-in:unit.so")):
            partition.write_text(PARTITION.format(file="", keys=keys).replace('"plug-in:"', f'"{source}"'))
            self.assertIn(why, self.assertEnds(run("config", "check", partition), 2).err)


if __name__ == "__main__":
    weir_program.main()
