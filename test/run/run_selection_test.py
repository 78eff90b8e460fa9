# SPDX-License-Identifier: Apache-2.0
"""Whole partitions whose selection is a plug-in: as docs/selections.md shows it, and one that fails: it costs no event,
and is reported where the run was begun."""
import pathlib
import re
import shlex
import subprocess
import unittest

import weir_program
from recorder_files import listed
from run_test import RunTest, partition_of
from weir_program import BES3, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (SOURCE / "docs" / "selections.md").read_text()
COMPILE = re.search(r"^    (g\+\+ .*mine\.cpp.*)$", GUIDE, re.MULTILINE).group(1)  # from weir's source folder


def python_is_there():
    return subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode == 0


class PluginTest(RunTest):
    def compiled(self, text):
        """The plug-in, built as in the guide."""
        source, library = self.folder / "mine.cpp", self.folder / "mine.so"
        source.write_text(text)
        command = [{"mine.cpp": str(source), "mine.so": str(library)}.get(word, word) for word in shlex.split(COMPILE)]
        built = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        return library

    def run_filters(self, plugin, events, **keys):
        file = self.folder / "p.toml"
        file.write_text(partition_of(filter={"selection": f'"{plugin}"', **keys}))
        directory = self.folder / "D"
        ended = self.assertEnds(run("run", file, "--source", BES3, "--events", events, "--dir", directory, "--json"), 0)
        self.assertBalances(ended.json)
        return ended, ended.json, directory

    def copies(self, directory, stream):
        return sum(file["events"] for file in listed(directory) if file["stream"] == stream)


class Guide(PluginTest):
    def example(self, language):
        return re.search(rf"## In {re.escape(language[0])}\n\n```{language[1]}\n(.*?)```", GUIDE, re.DOTALL).group(1)

    def assertFourOfTen(self, plugin):
        _, result, directory = self.run_filters(plugin, 10)
        self.assertEqual(result["problems"], [])
        self.assertEqual(result["selection"]["forced"], 0)
        self.assertEqual(sum(file["events"] for file in listed(directory)), 4)

    def test_the_example_in_cpp_is_built_by_its_line_and_keeps_four_of_the_ten_events(self):
        self.assertFourOfTen(self.compiled(self.example(("C++", "cpp"))))

    @unittest.skipUnless(python_is_there(), "NOT TESTED: the example in Python needs /usr/bin/python3 with NumPy")
    def test_the_example_in_python_keeps_the_same(self):
        plugin = self.folder / "mine.py"
        plugin.write_text(self.example(("Python", "python")))
        self.assertFourOfTen(plugin)


class CrashInCpp(PluginTest):
    """A plug-in that ends its process, always on the same event."""
    EVENTS, BAD = 200, 77

    def crash(self, **keys):
        plugin = self.compiled(f"""
            #include <cstdlib>
            #include <weir/selection/selection.hpp>
            static void select(const weir::selection::Event& event, weir::selection::Decision& decision) {{
                if (number(event.global_id) == {self.BAD}) std::abort();
                decision.accept("physics_Main");
            }}
            WEIR_SELECTION(select)""")
        ended, result, directory = self.run_filters(plugin, self.EVENTS, **keys)
        self.assertRecorded(directory, range(1, self.EVENTS + 1))
        self.assertEqual(self.copies(directory, "debug_SelectionError"), 1)
        self.assertEqual(self.copies(directory, "physics_Main"), self.EVENTS - 1)
        self.assertIn(f"on event {self.BAD}, which goes to a debug stream: its process was ended by signal 6", ended.err)
        self.assertEqual(result["selection"]["crashed"], 1)
        return {station["name"]: station["restarts"] for station in result["stations"] if station["restarts"]}

    def test_costs_a_process_and_no_station(self):
        self.assertEqual(self.crash(), {})

    def test_costs_a_station_once_where_workers_are_threads(self):
        restarts = self.crash(workers_are='"threads"')
        self.assertEqual(list(restarts.values()), [1])
        self.assertTrue(restarts.keys() <= {"ef-1", "ef-2"}, restarts)


class InThreads(PluginTest):
    EVENTS = 400

    def plugin(self, condition, fault):
        return self.compiled(f"""
            #include <chrono>
            #include <cstdlib>
            #include <thread>
            #include <weir/selection/selection.hpp>
            static void select(const weir::selection::Event& event, weir::selection::Decision& decision) {{
                if (number(event.global_id) {condition}) {fault};
                decision.accept("physics_Main");
            }}
            WEIR_SELECTION(select)""")

    def run_threads(self, text):
        file = self.folder / "p.toml"
        file.write_text(text)
        directory = self.folder / "D"
        ended = self.assertEnds(run("run", file, "--source", BES3, "--events", self.EVENTS, "--dir", directory, "--json"), 0)
        self.assertEqual(ended.json["reason"], "all events are done")
        self.assertRecorded(directory, range(1, self.EVENTS + 1))
        return ended, {station["name"]: station["restarts"] for station in ended.json["stations"] if station["restarts"]}

    def test_a_crash_in_level_2_ends_each_unit_once_however_many_events_do_that(self):
        plugin = self.plugin("% 20 == 10", "std::abort()")
        ended, restarts = self.run_threads(partition_of(select={"selection": f'"{plugin}"', "workers_are": '"threads"'}))
        self.assertTrue(restarts.keys() <= {"l2pu-1", "l2pu-2"} and set(restarts.values()) == {1}, restarts)
        self.assertGreater(ended.json["selection"]["crashed"], 0)
        switched = [path.name for path in (self.folder / "D" / "log").glob("l2pu-*.log") if "runs in processes now" in path.read_text()]
        self.assertEqual(sorted(switched), sorted(f"{name}.log" for name in restarts))

    def test_a_filter_that_hangs_is_replaced_and_its_event_goes_to_the_debug_stream(self):
        plugin = self.plugin("== 77", "std::this_thread::sleep_for(std::chrono::hours{1})")
        keys = {"selection": f'"{plugin}"', "workers_are": '"threads"', "workers": "1", "time_limit": '"1s"'}
        text = partition_of(filter=keys, run={"hanging_after": '"1s"'})
        ended, restarts = self.run_threads(re.sub(r"\[filter\.ef-2\]\n(.* = .*\n)*", "", text))  # one filter
        self.assertEqual(restarts, {"ef-1": 1})
        self.assertIn("had a selection that hung for 1s and was killed", ended.err)
        self.assertIn("on event 77, which goes to a debug stream: it gave no answer within its time limit", ended.err)
        # At least: a worker process that does not run for that long on a busy machine is reported as well.
        self.assertGreaterEqual(self.copies(self.folder / "D", "debug_SelectionTimeout"), 1)


@unittest.skipUnless(python_is_there(), "NOT TESTED: selections in Python need /usr/bin/python3 with NumPy")
class Selections(RunTest):
    EVENTS = 50

    def run_with(self, body, time_limit="60s"):
        plugin = self.folder / "cut.py"
        plugin.write_text("import time\n\n\ndef select(event):\n" + body)
        file = self.folder / "p.toml"
        file.write_text(partition_of(filter={"selection": f'"{plugin}"', "time_limit": f'"{time_limit}"', "workers": "1"}))
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
        reports = [line for line in ended.err.splitlines() if f": selection {what}: {self.folder}/cut.py: on event" in line]
        self.assertTrue(reports, ended.err)
        self.assertTrue(any(f"selection {what}" in alarm for alarm in result["alarms"]), result["alarms"])

    def test_a_selection_that_throws_is_reported_once_and_its_events_are_kept(self):
        ended, result = self.run_with('    raise ValueError("no such chamber")\n')
        self.assertToldOnce(ended, result, "threw")
        self.assertIn("no such chamber", ended.err)
        self.assertEqual(result["selection"], {"forced": 50, "threw": 50, "timed_out": 0, "crashed": 0, "unjudged": 0, "hanging": 0})

    def test_a_selection_that_hangs_on_some_events_is_reported_once_and_they_are_kept(self):
        ended, result = self.run_with("    if event.global_id % 25 == 0:\n        time.sleep(3600)\n    return True\n", "3s")
        self.assertToldOnce(ended, result, "timed out")
        self.assertEqual(result["selection"], {"forced": 2, "threw": 0, "timed_out": 2, "crashed": 0, "unjudged": 0, "hanging": 0})

    def test_a_selection_that_names_too_many_streams_is_reported_and_goes_on(self):
        ended, result = self.run_with('    return [f"physics_S{n}" for n in range(33 if event.global_id == 7 else 1)]\n')
        self.assertToldOnce(ended, result, "threw")
        self.assertIn("33 streams; 32 are allowed", ended.err)
        self.assertEqual(result["selection"], {"forced": 1, "threw": 1, "timed_out": 0, "crashed": 0, "unjudged": 0, "hanging": 0})


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
