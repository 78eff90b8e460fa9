# SPDX-License-Identifier: Apache-2.0
"""Whole partitions whose readouts run front-ends: those of examples/front_end and docs/front-ends.md, in C++ and in Python,
read out on request of software triggers; and ones that fail. What was recorded is compared with what they say they sent."""
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess

import weir_program
from recorder_files import EVENT, ROB, ROD, ROS, SUB_DETECTOR, RawFile, expect, listed
from run_test import EVENT_NUMBER, ROB_LOST, Partition, RunTest
from weir_process import wait_until
from weir_program import run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (SOURCE / "docs" / "front-ends.md").read_text()
COMPILE = re.search(r"^    (g\+\+ .*lib/readout/include.*)$", GUIDE, re.MULTILINE).group(1)  # from weir's source folder
EXAMPLES = SOURCE / "examples" / "front_end"
ROB_MASKED = 0x80000000                 # a bit of the first status word: nothing waited for this ROB


def example(name):
    return re.search(rf"<!-- test: {re.escape(name)} -->\n```\w+\n(.*?)```", GUIDE, re.DOTALL).group(1)


def payloads_of(event):
    """(level-1 id, {source: payload, or None where the ROB is an empty one: lost or masked}) of an event of format 3.0."""
    word = lambda at: struct.unpack_from("<I", event, at)[0]
    expect(word(0) == EVENT and 4 * word(4) == len(event), "not an event")
    found, level1, pending = {}, set(), [(4 * word(8), len(event))]
    while pending:
        at, end = pending.pop()
        while at < end:
            marker, size, header = word(at), 4 * word(at + 4), 4 * word(at + 8)
            expect(marker in (SUB_DETECTOR, ROS, ROB) and header <= size <= end - at, f"fragment {marker:#x} at {at}")
            if marker != ROB:
                pending.append((at + header, at + size))
            elif word(at + 24) & (ROB_LOST | ROB_MASKED):
                found[word(at + 16)] = None
            else:
                rod, trailer = at + header, at + size - 12
                expect(word(rod) == ROD and word(trailer + 8) == 1, "a ROB without a ROD whose status stands behind its data")
                status, data = word(trailer), word(trailer + 4)
                begin = rod + 4 * word(rod + 4)
                expect(begin + 4 * (data + status) == trailer and status >= 2, "a ROD that is not as long as it says")
                length = word(begin + 4 * data + 4)
                expect(4 * data - 3 <= length + (3 if not data else 0) and length <= 4 * data, "a payload longer than its ROD")
                found[word(at + 16)] = bytes(event[begin:begin + length])
                level1.add(word(rod + 20))
            at += size
    expect(len(level1) <= 1, f"several level-1 ids in one event: {level1}")
    return (level1.pop() if level1 else None), found


class FrontEnds(RunTest):
    TAIL = """
        [assign.dfm]
        [build.sfi-1]
        [build.sfi-2]
        [record.rec-1]
        project = "data_crate"
    """

    def compiled(self, text, name="mine"):
        """Built as in the guide."""
        source, library = self.folder / f"{name}.cpp", self.folder / f"{name}.so"
        source.write_text(text)
        command = [{"front_end.cpp": str(source), "front_end.so": str(library)}.get(word, word) for word in shlex.split(COMPILE)]
        built = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        return library

    def partition(self, readouts, triggers, more=""):
        file = self.folder / "p.toml"
        sections = "".join(f'[readout.{name}]\n' + "".join(f"{key} = {value}\n" for key, value in keys.items())
                           for name, keys in readouts.items())
        file.write_text('[data]\nformat = "event-3.0"\n' + sections + f'[supervise.l2sv]\nsource = "{triggers}"\n'
                        + re.sub("^ +", "", self.TAIL, flags=re.MULTILINE) + more)
        return file

    def run_crates(self, readouts, events, triggers="periodic:1kHz", more="", code=0):
        file, self.directory = self.partition(readouts, triggers, more), self.folder / "D"
        ended = run("run", file, "--events", events, "--dir", self.directory, "--json", timeout=300,
                    env=dict(os.environ, ADC_CRATE_RECORD=str(self.folder)))
        self.assertEnds(ended, code)
        self.assertBalances(ended.json)
        return ended

    def recorded(self):
        """{level-1 id: {source: payload}}"""
        self.assertEnds(run("verify", self.directory, timeout=300), 0)
        found = {}
        for file in listed(self.directory):
            for _, event in RawFile(file["path"]).events():
                number = struct.unpack_from("<I", event, EVENT_NUMBER)[0]
                level1, payloads = payloads_of(event)
                self.assertTrue(level1 in (number, None), (level1, number))
                self.assertNotIn(number, found, "an event was recorded twice")
                found[number] = payloads
        return found

    def counters(self, ended, name):
        return next(s for s in ended.json["stations"] if s["name"] == name)["counters"]


class Examples(FrontEnds):
    # Nothing is meant to be late, however busy the machine is.
    TAIL = re.sub(r"(\[build\..*\])", r'\1\nevent_deadline = "120s"\nsuspect_deadline = "120s"', FrontEnds.TAIL)

    def partition(self, readouts, triggers, more=""):
        return super().partition({name: {**keys, "time_limit": '"120s"', "start_limit": '"120s"'} for name, keys in readouts.items()},
                                 triggers, more)

    def test_cpp_and_python_in_one_partition_are_recorded_bit_for_bit_as_they_say_they_sent(self):
        (self.folder / "mine.py").write_text((EXAMPLES / "adc_crate.py").read_text())
        library = self.compiled((EXAMPLES / "adc_crate.cpp").read_text())
        ended = self.run_crates({
            "crate-1": {"source": f'"{library}"', "sources": '["0x420000", "0x420001"]'},
            "crate-2": {"source": f'"{self.folder / "mine.py"}"', "sources": '["0x430000"]'}}, 2000)
        self.assertEqual(ended.json["problems"], [])
        found = self.recorded()
        self.assertEqual(sorted(found), list(range(1, 2001)))
        own = {}
        for record in self.folder.glob("adc_crate_*"):
            for line in record.read_text().splitlines():
                level1, source, payload = line.split()
                own.setdefault(int(level1), {})[int(source)] = bytes.fromhex(payload)
        self.assertEqual(found, own)
        self.assertEqual({len(payloads) for payloads in found.values()}, {3})
        for name in ("crate-1", "crate-2"):
            self.assertEqual(self.counters(ended, name)["front_end_triggers"], 2000)
        sources = {source["source"]: (source["arrived"], source["expected"], source["missing"]) for source in ended.json["sources"]}
        self.assertEqual(sources, dict.fromkeys(("0x420000", "0x420001", "0x430000"), (2000, 2000, 0)))

    def test_a_library_in_a_process_is_recorded_likewise(self):
        library = self.compiled((EXAMPLES / "adc_crate.cpp").read_text())
        self.run_crates({"crate-1": {"source": f'"{library}"', "sources": '["0x420000"]', "runs_in": '"process"'}}, 500)
        found = self.recorded()
        (record,) = self.folder.glob("adc_crate_*")
        own = {int(line.split()[0]): {0x420000: bytes.fromhex(line.split()[2])} for line in record.read_text().splitlines()}
        self.assertEqual(found, own)

    def test_those_of_the_guide_do_what_it_shows_with_random_triggers(self):
        file = self.folder / "front_end.py"
        file.write_text(example("front_end.py"))
        library = self.compiled(example("front_end.cpp"), "guide")
        self.run_crates({"crate-1": {"source": f'"{library}"', "sources": '["0x420000"]'},
                         "crate-2": {"source": f'"{file}"', "sources": '["0x430000"]'}}, 100, "random:1kHz")
        for number, payloads in self.recorded().items():
            for source in (0x420000, 0x430000):
                self.assertEqual(struct.unpack("<2I", payloads[source])[1], number)


class Faults(FrontEnds):
    def crates(self, keys):
        """crate-1, and beside it the guide's in Python, which is good however slow the machine is."""
        file = self.folder / "front_end.py"
        file.write_text(example("front_end.py"))
        patient = {"time_limit": '"120s"', "start_limit": '"120s"'}
        return {"crate-1": {"sources": '["0x420000"]', **keys}, "crate-2": {"source": f'"{file}"', "sources": '["0x430000"]', **patient}}

    def recorded_of_both(self):
        """What was recorded of crate-1, {level-1 id: payload or None}; of crate-2 everything is there."""
        found = self.recorded()
        self.assertEqual(sorted(found), list(range(1, len(found) + 1)))
        for number, payloads in found.items():
            self.assertEqual(struct.unpack("<2I", payloads[0x430000])[1], number)
        mine = {number: payloads[0x420000] for number, payloads in found.items()}
        for number, payload in mine.items():
            self.assertTrue(payload is None or struct.unpack("<I", payload) == (number,), (number, payload))
        return mine

    def beside_a_good_one(self, keys, events, triggers, code, limits=""):
        ended = self.run_crates(self.crates(keys), events, triggers, limits, code)
        mine = self.recorded_of_both()
        self.assertEqual(len(mine), events)
        return ended, mine

    def beside_a_good_one_until(self, condition, what, keys, code, more=""):
        """The run is stopped when `condition` is true, of crate-1 as a station and of its source, and the events that waited
        for fragments that do not come are built: a stop would give up some of those."""
        file = self.partition(self.crates(keys), "periodic:100Hz", more)
        with Partition(self.folder, file, source=None) as run_control:
            def look():
                state = run_control.get()
                station = next(s for s in state["stations"] if s["name"] == "crate-1")
                source = next((s for s in state["sources"] if s["source"] == "0x420000"), None)
                waiting = state["events"]["accepted"] - state["events"]["built"]
                return state if source is not None and condition(station, source) and waiting < 50 else None
            state = wait_until(look, what)
            run("run", "stop", "--dir", run_control.directory)
            ended = self.assertEnds(run_control.wait(), code)
            self.directory = run_control.directory
        self.assertBalances(ended.json)
        return ended, self.recorded_of_both(), state

    def assertNamedAsMissing(self, ended):
        """A bad run, for the source that failed and for no other."""
        self.assertTrue(any("0x420000" in problem for problem in ended.json["problems"]), ended.json["problems"])
        self.assertFalse(any("0x430000" in problem for problem in ended.json["problems"]), ended.json["problems"])

    def assertAlarm(self, ended, what, why):
        self.assertTrue(any(what in alarm and why in alarm for alarm in ended.json["alarms"]), ended.json["alarms"])

    def script(self, fault):
        file = self.folder / "faulty.py"
        file.write_text("import time\n\n\ndef read_out(trigger, out):\n    if " + fault
                        + '\n    out.send(0x420000, trigger.level1_id.to_bytes(4, "little"))\n')
        return f'"{file}"'

    THROWS = """
        #include <stdexcept>
        #include <weir/readout/front_end.hpp>
        struct Throwing final : weir::readout::FrontEnd {
            void read_out(const weir::readout::Trigger& trigger, weir::readout::FragmentSink& out) override {
                const auto id = number(trigger.level1_id);
                if (id % 10 == 5) throw std::runtime_error("no data in module 7");
                out.send({.source = weir::SourceId{0x420000}, .payload = std::as_bytes(std::span(&id, 1))});
            }
        };
        WEIR_FRONT_END(Throwing)"""

    def test_one_that_throws_loses_that_trigger_and_the_run_names_its_source(self):
        python = self.script('trigger.level1_id % 10 == 5:\n        raise RuntimeError("no data in module 7")')
        for source in (f'"{self.compiled(self.THROWS)}"', python):
            ended, mine = self.beside_a_good_one({"source": source}, 200, "periodic:500Hz", 1)
            self.assertEqual(sorted(number for number, payload in mine.items() if payload is None), list(range(5, 200, 10)))
            self.assertAlarm(ended, "front-end threw", "in read_out: ")
            self.assertAlarm(ended, "front-end threw", "no data in module 7")
            self.assertNamedAsMissing(ended)
            self.assertEqual(self.counters(ended, "crate-1")["front_end_threw"], 20)
            shutil.rmtree(self.directory)

    def test_a_python_one_that_hangs_is_killed_and_goes_on(self):
        source = self.script("trigger.level1_id == 50:\n        time.sleep(3600)")
        ended, mine, _ = self.beside_a_good_one_until(
            lambda station, source: source["arrived"] >= 100, "fragments behind the one at which it hung",
            {"source": source, "time_limit": '"4s"'}, 1)
        lost = sorted(number for number, payload in mine.items() if payload is None)
        self.assertEqual(lost, list(range(50, 50 + len(lost))))
        self.assertNamedAsMissing(ended)
        self.assertAlarm(ended, "front-end hangs", "does not return within time_limit")
        counters = self.counters(ended, "crate-1")
        self.assertEqual((counters["front_end_hung"], counters["front_end_restarts"]), (1, 1))

    HANGS = """
        #include <chrono>
        #include <filesystem>
        #include <fstream>
        #include <string>
        #include <thread>
        #include <weir/readout/front_end.hpp>
        struct Hanging final : weir::readout::FrontEnd {
            void read_out(const weir::readout::Trigger& trigger, weir::readout::FragmentSink& out) override {
                const auto id = number(trigger.level1_id);
                const std::string once = "ONCE";
                if (id >= 50 && !std::filesystem::exists(once)) {
                    std::ofstream(once).put('x');
                    std::this_thread::sleep_for(std::chrono::hours(1));
                }
                out.send({.source = weir::SourceId{0x420000}, .payload = std::as_bytes(std::span(&id, 1))});
            }
        };
        WEIR_FRONT_END(Hanging)"""

    def test_one_that_hangs_in_a_thread_is_named_and_its_readout_replaced(self):
        library = self.compiled(self.HANGS.replace("ONCE", str(self.folder / "hung_once")))
        ended, mine, _ = self.beside_a_good_one_until(
            lambda station, source: source["arrived"] >= 100,  # 49 of them can be of the one that hung
            "fragments of the readout that was started again", {"source": f'"{library}"', "time_limit": '"2s"'}, 1,
            '[run]\nhanging_after = "1s"\n')
        self.assertIsNone(mine[50])
        self.assertIsNotNone(mine[1])
        self.assertTrue(any(payload is not None for number, payload in mine.items() if number > 50))
        self.assertNamedAsMissing(ended)
        self.assertIn("front-end hangs", ended.err)
        self.assertIn("had a front-end that hung for 1s and was killed", ended.err)
        self.assertEqual({s["name"]: s["restarts"] for s in ended.json["stations"] if s["restarts"]}, {"crate-1": 1})

    CRASHES = """
        #include <cstdlib>
        #include <weir/readout/front_end.hpp>
        struct Crashing final : weir::readout::FrontEnd {
            void read_out(const weir::readout::Trigger& trigger, weir::readout::FragmentSink& out) override {
                const auto id = number(trigger.level1_id);
                if (id % 100 == 50) std::abort();
                out.send({.source = weir::SourceId{0x420000}, .payload = std::as_bytes(std::span(&id, 1))});
            }
        };
        WEIR_FRONT_END(Crashing)"""

    def test_a_process_that_crashes_again_and_again_costs_its_own_fragments_and_no_others(self):
        library = self.compiled(self.CRASHES)
        ended, mine, _ = self.beside_a_good_one_until(
            lambda station, source: station["counters"].get("front_end_crashed", 0) >= 3, "three crashes",
            {"source": f'"{library}"', "runs_in": '"process"'}, 1, '[run]\nincomplete_max = 0\n')
        lost = sum(payload is None for payload in mine.values())
        self.assertNamedAsMissing(ended)
        self.assertAlarm(ended, "front-end crashed", "signal 6")
        counters = self.counters(ended, "crate-1")
        crashed = counters["front_end_crashed"]
        self.assertIn(counters["front_end_restarts"], (crashed - 1, crashed))
        self.assertTrue(3 <= crashed <= lost < len(mine), (crashed, lost, len(mine)))
        self.assertIn("its process was ended by signal 6", ended.err)

    def test_masked_from_the_begin_on_one_that_only_throws_leaves_a_good_run(self):
        source = self.script('True:\n        raise RuntimeError("the crate is off")')
        ended, mine = self.beside_a_good_one({"source": source}, 200, "periodic:500Hz", 0, '[run]\nmasked = ["0x420000"]\n')
        self.assertEqual(set(mine.values()), {None})
        self.assertEqual(ended.json["problems"], [])
        self.assertEqual(ended.json["events"]["incomplete"], 0)
        source = next(s for s in ended.json["sources"] if s["source"] == "0x420000")
        self.assertEqual((source["missing"], source["masked_events"], source["masked"]), (0, 200, True))
        self.assertAlarm(ended, "front-end threw", "the crate is off")

    def test_one_that_crashes_at_each_trigger_is_masked_by_the_rule_and_events_are_complete_from_there_on(self):
        file = self.folder / "crashing.py"
        file.write_text("import os\n\n\ndef read_out(trigger, out):\n    os.abort()\n")
        ended, mine, state = self.beside_a_good_one_until(
            lambda station, source: source["masked_events"] > 20, "events with the mask", {"source": f'"{file}"'}, 0,
            '[run]\nmask_after = "20 events"\nincomplete_max = 1000000\n')
        (change,) = state["changes"]
        self.assertEqual((change["what"], change["subject"], change["who"]), ("mask", "0x420000", "rule mask_after"))
        self.assertEqual(ended.json["problems"], [])
        self.assertGreater(len(mine), change["from_level1_id"])
        self.assertEqual(set(mine.values()), {None})

    def test_a_begin_that_throws_lets_the_start_fail_with_its_text(self):
        file = self.folder / "front_end.py"
        file.write_text('def begin_run(run, sources):\n    raise RuntimeError("the crate is off")\n\ndef poll(out):\n    pass\n')
        partition = self.folder / "p.toml"
        partition.write_text(f'[readout.crate-1]\nsource = "{file}"\nsources = ["0x420000"]\n[supervise.l2sv]\n'
                             + re.sub("^ +", "", self.TAIL, flags=re.MULTILINE))
        ended = run("run", partition, "--events", 10, "--dir", self.folder / "D", timeout=120)
        self.assertEnds(ended, 1)
        self.assertIn("the crate is off", ended.err)

    def test_a_file_that_is_not_there_or_no_front_end_is_named_before_a_run(self):
        partition, empty = self.folder / "p.toml", self.folder / "empty.py"
        empty.write_text("")
        tail = "[supervise.l2sv]\n" + re.sub("^ +", "", self.TAIL, flags=re.MULTILINE)
        for keys, why in (('source = "none.so"\nsources = ["0x420000"]', "none.so is not there"),
                          ('source = "crate"', "fills no readout"),
                          (f'source = "{empty}"', "needs the sources that it reads out")):
            partition.write_text(f"[readout.crate-1]\n{keys}\n{tail}")
            self.assertIn(why, self.assertEnds(run("config", "check", partition), 2).err)


if __name__ == "__main__":
    weir_program.main()
