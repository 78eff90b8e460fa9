# SPDX-License-Identifier: Apache-2.0
"""Objects of a whole partition: what level 2 found in real events, an event that a builder saw, a station's numbers. weir cat
prints them, and uproot reads them with examples/objects, with equal values."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import time
import unittest
import urllib.request

import python_venv
import weir_program
from recorder_files import listed
from run_test import ORIGINALS, ROOT, Partition, partition_of
from weir_process import main_without, wait_until
from weir_program import BES3, ProgramTest, run

UPROOT = "uproot==5.7.7"
SKIPPED = "objects with uproot, as WEIR_UPROOT_ABSENT=ok" if os.environ.get("WEIR_UPROOT_ABSENT") == "ok" else None
PSEUDO = 0x7B0000  # the source of level 2's results

SELECTION = """
def select(event):
    words = sum(len(rob) for rob in event.fragments.values())
    return {"accept": True, "result": {"global_id": event.global_id, "robs": len(event.fragments), "words": words}}
"""

READ = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
from read_objects import CLASSES, ObjectReader, plain
reader = ObjectReader({**CLASSES, ("Thing", 0): {"a": "int"}})
json.dump([[plain(each) for each in reader.objects(pathlib.Path(path).read_bytes())] for path in sys.argv[2:]], sys.stdout)
"""


def python_is_there():
    return subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode == 0


def with_uproot(*files):
    """For each file its objects, as dictionaries, read by examples/objects/read_objects.py."""
    python = python_venv.python_with(UPROOT, "uproot", weir_program.PROGRAM)
    ended = subprocess.run([python, "-B", "-W", "ignore", "-c", READ, ROOT / "examples/objects", *files], capture_output=True,
                           text=True, timeout=120)
    if ended.returncode != 0:
        raise AssertionError(f"uproot cannot read {files}: {ended.stderr}")
    return json.loads(ended.stdout)


def fetch(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as answer:
        return answer.read()


@unittest.skipUnless(python_is_there(), "needs /usr/bin/python3 with NumPy")
class Objects(ProgramTest):
    """One run for all tests; nothing in it is changed by them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        holder = tempfile.TemporaryDirectory(prefix="weir-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.place = pathlib.Path(holder.name)
        plugin = cls.place / "counting.py"
        plugin.write_text(SELECTION)
        file = cls.place / "p.toml"
        file.write_text(partition_of(select={"selection": f'"{plugin}"', "workers": "1"}, supervise={"rate": "100"}) +
                        '[readout.pros]\nsource = "level2"\n')
        with Partition(cls.place, file) as partition:
            partition.until_built(50)
            address = partition.station("ef-1")["control"]
            cls.sample = wait_until(lambda: fetch(address, "/sample/object"), "a sampled event")
            cls.snapshot = fetch(partition.station("sfi-1")["control"], "/status/object")
            cls.ended = partition.stop()
            cls.directory = partition.directory
        for name in ("sample", "snapshot"):
            (cls.place / f"{name}.object").write_bytes(getattr(cls, name))
        cls.files = [entry["path"] for entry in listed(cls.directory)]

    def cat(self, *arguments):
        ended = self.assertEnds(run("cat", "--json", *arguments), 0)
        self.assertTrue(ended.json["complete"])
        return ended.json

    def file_of_results(self):
        path = self.place / "results.object"
        path.write_bytes(subprocess.run([weir_program.PROGRAM, "cat", "--results", *self.files], capture_output=True,
                                        timeout=60, check=True).stdout)
        return path

    def test_cat_prints_what_level_2_found_in_every_recorded_event(self):
        self.assertEnds(self.ended, 0)
        events = self.cat(*self.files)["events"]
        self.assertEqual(len(events), self.ended.json["events"]["recorded"])
        self.assertEqual(sorted(event["global_id"] for event in events), list(range(1, len(events) + 1)))
        for event in events:
            result, = event["results"]
            self.assertEqual((result["source"], result["class"]), (PSEUDO, "weir::selection::Findings"))
            self.assertEqual(result["members"]["selection"], "counting")
            found = {each["name"]: each["value"] for each in result["members"]["quantities"]}
            self.assertEqual((found["global_id"], found["robs"]), (event["global_id"], 3))
            self.assertGreater(found["words"], 3 * 9)
        text = self.assertEnds(run("cat", self.files[0]), 0).out
        self.assertIn("level-2 result 0x007b0000: weir::selection::Findings, ", text)
        self.assertRegex(text, rf"\n +global_id +{events[0]['global_id']}\n")

    def test_the_results_are_objects_in_a_file(self):
        objects = self.cat(self.file_of_results())["objects"]
        self.assertEqual([each["members"] for each in objects],
                         [event["results"][0]["members"] for event in self.cat(*self.files)["events"]])

    def test_a_sampled_event_is_one_of_the_real_ones(self):
        sample, = self.cat(self.place / "sample.object")["objects"]
        self.assertEqual(sample["class"], "weir::SampledEvent")
        event = sample["members"]
        self.assertEqual(event["station"], "ef-1")
        original = ORIGINALS[(event["global_id"] - 1) % len(ORIGINALS)]
        fragments = {each["source"]: struct.pack(f"<{len(each['words'])}I", *each["words"]) for each in event["fragments"]}
        self.assertEqual(sorted(fragments), sorted([*original, PSEUDO]))
        for source, (_, _, rob) in original.items():  # but for the level-1 ids, which a replay gives anew
            ours = robs_like(fragments[source])
            self.assertEqual(ours, rob, f"{source:#x}")

    def test_a_snapshot_reports_what_the_station_counts(self):
        snapshot, = self.cat(self.place / "snapshot.object")["objects"]
        station = snapshot["members"]
        self.assertEqual((station["station"], station["kind"], station["state"]), ("sfi-1", "build", "running"))
        rejected = sum(each["value"] for each in station["rejected"])
        self.assertEqual(station["received"], station["stored"] + rejected + station["in_hand"])
        self.assertLess(abs(station["time"] - time.time()), 600)
        self.assertIn("kernel_drops", {each["name"] for each in station["counters"]})

    def test_uproot_reads_them_all_with_equal_values(self):
        if SKIPPED:
            self.skipTest(SKIPPED)
        paths = [self.file_of_results(), self.place / "sample.object", self.place / "snapshot.object"]
        read = with_uproot(*paths)
        for path, objects in zip(paths, read):
            self.assertEqual(objects, [each["members"] for each in self.cat(path)["objects"]], path)
        self.assertGreaterEqual(len(read[0]), 50)


def robs_like(rob):
    """The ROB with the level-1 id of its ROD made 0, as robs_of() has it."""
    header = 4 * struct.unpack_from("<I", rob, 8)[0]
    changed = bytearray(rob)
    struct.pack_into("<I", changed, header + 20, 0)
    return bytes(changed)


class HostileObjects(ProgramTest):
    """Whatever a file of objects holds: one line, no crash."""

    THING = b"\x40\x00\x00\x18\xff\xff\xff\xffThing\0\x40\x00\x00\x0a\x00\x00\x00\x0d\xa4\xf8\x00\x00\x00\x01"

    def put(self, data):
        path = self.folder / "x.object"
        path.write_bytes(data)
        return path

    def test_a_class_that_is_not_known_is_shown_by_name_size_and_bytes(self):
        path = self.put(self.THING)
        self.assertEqual(self.assertEnds(run("cat", path), 0).out, "Thing, 28 bytes\n  40000018ffffffff5468696e67004000 ...\n")
        objects = self.assertEnds(run("cat", "--json", path), 0).json["objects"]
        self.assertEqual(objects, [{"class": "Thing", "bytes": 28, "hex": self.THING.hex(), "path": str(path)}])

    def test_uproot_reads_it_when_it_is_given_its_members(self):
        if SKIPPED:
            self.skipTest(SKIPPED)
        self.assertEqual(with_uproot(self.put(self.THING * 2)), [[{"a": 1}, {"a": 1}]])

    def test_names_reach_no_terminal_as_they_are(self):
        path = self.put(self.THING.replace(b"Thing", b"\x1b[2J\xff"))
        self.assertIn("\\x1b[2J\\xff, 28 bytes", self.assertEnds(run("cat", path), 0).out)

    def test_a_known_class_that_is_damaged_gives_where_and_is_shown_as_bytes(self):
        name = b"weir::selection::Findings\0"
        body = b"\x40\x00\x00\x0a\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff"
        data = struct.pack(">I", 0x40000000 | 4 + len(name + body)) + b"\xff\xff\xff\xff" + name + body
        ended = self.assertEnds(run("cat", self.put(data)), 1)
        self.assertIn("ROOT buffer, offset", ended.out)
        shown = run("cat", "--json", self.put(data)).json["objects"][0]
        self.assertEqual((shown["hex"], "members" in shown), (data.hex(), False))

    def test_a_file_that_is_cut_or_goes_on_with_something_else_is_one_line(self):
        self.assertOneLine(run("cat", self.put(self.THING[:-1])), 1, "28 bytes, 27 are here")
        self.assertEqual(run("cat", self.put(self.THING + b"garbage...")).code, 1)
        document = run("cat", "--json", self.put(self.THING + b"garbage..."))
        self.assertEqual((document.json["complete"], len(document.json["objects"])), (False, 1))

    def test_what_is_for_events_is_refused(self):
        for option in ("--words", "--payload", "--results", "--event=1", "--events=1"):
            self.assertOneLine(run("cat", option, self.put(self.THING)), 2, "no events")

    def test_objects_stand_behind_the_events_of_raw_files(self):
        document = self.assertEnds(run("cat", "--json", self.put(self.THING), BES3), 0).json
        self.assertEqual((len(document["events"]), len(document["objects"]), document["complete"]), (10, 1, True))


if __name__ == "__main__":
    main_without(SKIPPED, needs_recorded_events=True)
