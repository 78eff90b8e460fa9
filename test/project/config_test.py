# SPDX-License-Identifier: Apache-2.0
"""`weir config check` and `weir run` refuse the same partition files, with the same line, before anything runs."""

import pathlib
import re

from weir_program import ProgramTest, main, run

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

WHOLE = """[data]
[readout.ros-1]
[supervise.l2sv]
[select.l2pu-1]
[assign.dfm]
[build.sfi-1]
[filter.ef-1]
[record.rec-1]
"""

# section, key and value, words of the error
WRONG_KEYS = [
    ("data", 'level1_offset = ["0xa80010"]', "is not SOURCE:N"),
    ("data", 'level1_exempt = ["x"]', "is no source"),
    ("data", 'sources = ["0x1", "rob"]', '"rob" is not a source'),
    ("data", 'sources = ["0x1", "1"]', "0x1 is named twice"),
    ("data", 'format = "event-4.0"', "is none of"),
    ("run", 'poll = "1us"', "too small"),
    ("run", 'pol = "1s"', 'did you mean "poll"'),
    ("readout.ros-1", 'part = "7/6"', "is no share"),
    ("readout.ros-1", 'sources = ["x"]', "is no source"),
    ("readout.ros-1", 'first_source = "x"', "is no source"),
    ("readout.ros-1", 'listen = "9000"', "is not an address"),
    ("readout.ros-1", 'source = "tape"', "fills no readout"),
    ("supervise.l2sv", 'listen = "localhost"', "is not an address"),
    ("select.l2pu-1", 'selection = "most"', "is no selection"),
    ("select.l2pu-1", 'selection = "fraction:2"', "a number from 0 to 1"),
    ("select.l2pu-1", 'selection = "sleep:1"', '"1" is not a duration'),
    ("select.l2pu-1", 'link = "ip"', "is none of"),
    ("build.sfi-1", 'tag = "physics"', "is not a stream"),
    ("build.sfi-1", 'threads = "two"', "is none of"),
    ("build.sfi-1", 'link = "ip"', "is none of"),
    ("assign.dfm", 'link = "ip"', "is none of"),
    ("filter.ef-1", 'streams = ["physics_Main", "x"]', '"x" is not a stream'),
    ("filter.ef-1", 'listen = "9000"', "is not an address"),
    ("network", 'data = "10.77.0.1/40"', "is not a network"),
    ("network", 'control = "here"', "is not a network"),
    ("record.rec-1", 'listen = "127.0.0.1"', "is not an address"),
    ("record.rec-1", 'mode = "fast"', "is none of"),
]

# The values are good, but not together: the line is that of the station.
WRONG_TOGETHER = [
    ("readout.ros-1", 'source = "network"', "what may come"),
    ("readout.ros-1", 'source = "network"\nsources = ["0x420000"]', "needs a port"),
    ("readout.ros-1", 'input = "127.0.0.1:0"', 'source = "network"'),
    ("readout.ros-1", 'source = "network"\nsources = ["0x420000"]\ninput = "0.0.0.0:0"', "reached by other machines"),
    ("readout.ros-1", 'source = "file"\nfile = "missing.raw"', '"missing.raw" is not there'),
    ("readout.ros-1", 'source = "missing.py"\nsources = ["0x1"]', "is not there"),
    ("supervise.l2sv", 'source = "plug-in:missing.so"', "is not there"),
    ("select.l2pu-1", 'selection = "missing/plug-in.so"', "is not there"),
    ("filter.ef-1", 'selection = "missing.py"', "is not there"),
    ("readout.ros-1", 'robs = 4096\nrob_size = "16MiB"', "raise memory"),
    ("select.l2pu-1", 'reask_min = "2s"\nreask_max = "1s"', "reask_min is longer than reask_max"),
    ("build.sfi-1", 'window_min = "2MiB"\nwindow_max = "1MiB"', "window_min"),
    ("filter.ef-1", "streams = []", "streams is empty"),
    ("record.rec-1", 'memory = "1MiB"', "memory"),
    ("record.rec-1", 'tls_certificate = "a.pem"\ntls_key = "k.pem"\ntls_ca = "ca.pem"', "plain TCP"),
    ("record.rec-1", 'listen = "0.0.0.0:0"', "reached by other machines"),
]


class ConfigTest(ProgramTest):
    def file_with(self, section, lines):
        text = WHOLE if f"[{section}]\n" in WHOLE else f"{WHOLE}[{section}]\n"
        file = self.folder / "p.toml"
        file.write_text(text.replace(f"[{section}]\n", f"[{section}]\n{lines}\n"))
        return file, file.read_text().splitlines().index(f"[{section}]") + 1

    def assert_refused(self, file, line, *words):
        checked = run("config", "check", file)
        self.assertOneLine(checked, 2, f"p.toml:{line}: ", *words)
        ran = run("run", file, "--dir", self.folder / "D")
        self.assertEqual(ran.err.replace("weir run: ", ""), checked.err.replace("weir config check: ", ""))
        self.assertEnds(ran, 2)

    def test_a_wrong_value_is_refused_by_check_and_run_with_its_line(self):
        for section, lines, words in WRONG_KEYS:
            with self.subTest(section=section, lines=lines):
                file, at = self.file_with(section, lines)
                self.assert_refused(file, at + 1, words)

    def test_values_that_do_not_go_together_are_refused_with_the_line_of_their_station(self):
        for section, lines, words in WRONG_TOGETHER:
            with self.subTest(section=section, lines=lines):
                file, at = self.file_with(section, lines)
                self.assert_refused(file, at, f"[{section}]", words)

    def test_a_text_of_a_list_has_its_own_line(self):
        file, at = self.file_with("data", 'sources = ["0x1",\n  "rob"]')
        self.assert_refused(file, at + 2, '"rob" is not a source')

    def test_a_source_of_two_readouts_is_refused_with_both_places(self):
        file, at = self.file_with("readout.ros-2", 'sources = ["0x420000"]')
        file.write_text(file.read_text().replace("[readout.ros-1]\n", '[readout.ros-1]\nsources = ["0x420000"]\n'))
        self.assert_refused(file, at + 2, "source 0x420000 of [readout.ros-2]", "of [readout.ros-1] already (line 3)")

    def test_a_replay_that_no_file_is_named_for_is_refused_by_run_before_it_starts(self):
        ended = run("run", EXAMPLES / "replay.toml", "--dir", self.folder / "D")
        self.assertOneLine(ended, 2, "replay.toml:", "--source")
        self.assertFalse((self.folder / "D").exists())

    def test_the_examples_are_good(self):
        for file in sorted(EXAMPLES.glob("*.toml")):
            with self.subTest(file=file.name):
                self.assertIn(": good, ", self.assertEnds(run("config", "check", file), 0).out)

    def test_the_schema_has_every_section_that_a_file_can_have(self):
        schema = self.assertEnds(run("config", "schema"), 0).out
        sections = re.findall(r"^### \[(.*)\]$", schema, re.MULTILINE)
        kinds = ["readout", "assign", "build", "supervise", "select", "filter", "record", "handoff", "monitor"]
        self.assertEqual(sorted(sections), sorted(["partition", "data", "network", "security", "run", "notify.NAME", *(f"{kind}.NAME" for kind in kinds)]))

    def test_what_is_in_effect_can_be_checked_again(self):
        file, _ = self.file_with("run", 'poll = "300ms"')
        effective = self.assertEnds(run("config", "effective", file), 0).out
        self.assertIn('poll = "300ms"  # default', effective)
        again = self.folder / "again.toml"
        again.write_text(effective)
        self.assertEnds(run("config", "check", again), 0)


if __name__ == "__main__":
    main()
