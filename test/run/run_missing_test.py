# SPDX-License-Identifier: Apache-2.0
"""Sources of which fragments are missing: runs that are bad for it, and name the source."""
import http.client
import json
import struct
import unittest

from recorder_files import RawFile
from run_test import Partition
from weir_process import wait_until
from weir_program import ProgramTest, run

SILENT, SENDING = 0x420000, 0x430000


def partition(run_keys="", sources=(SILENT,), others=True, supervise="events = 82", build='event_deadline = "300ms"'):
    """One readout whose sources are to send from outside, and from which nothing comes; another that makes its fragments."""
    listed = ", ".join(f'"{source:#x}"' for source in sources)
    generator = f'[readout.ros-2]\nsource = "generator"\nrobs = 2\nfirst_source = "{SENDING:#x}"\n' if others else ""
    return f"""[partition]
name = "missing"
[run]
{run_keys}
[readout.ros-1]
source = "network"
input = "127.0.0.1:0"
sources = [{listed}]
{generator}
[assign.dfm]
[build.sfi-1]
{build}
[supervise.l2sv]
{supervise}
regions = 0
[select.l2pu-1]
selection = "all"
data_timeout = "100ms"
[filter.ef-1]
selection = "all"
streams = ["physics_Main"]
[record.rec-1]
project = "data_missing"
"""


class Missing(ProgramTest):
    def file(self, *arguments, **keys):
        file = self.folder / "p.toml"
        file.write_text(partition(*arguments, **keys))
        return file

    def run_partition(self, *arguments, **keys):
        return run("run", self.file(*arguments, **keys), "--dir", self.folder / "D", "--json", timeout=120)

    def test_82_events_that_all_lack_their_only_source_are_a_bad_run_that_names_it(self):
        ended = self.assertEnds(self.run_partition(others=False), 1)
        result = ended.json
        self.assertEqual(result["events"]["incomplete"], 82)
        self.assertEqual(result["events"]["recorded"], 82)
        self.assertEqual(result["problems"], ["82 of 82 events are incomplete, more than incomplete_max (0.1% or 10): "
                                              "source 0x420000 of ros-1 was missing in 82 of 82"])
        self.assertIn("0x420000", ended.err)
        source, = result["sources"]
        self.assertEqual((source["source"], source["readout"], source["expected"], source["missing"], source["arrived"]),
                         ("0x420000", "ros-1", 82, 82, 0))
        shown = run("run", self.file(others=False), "--dir", self.folder / "D")
        self.assertEnds(shown, 1)
        self.assertRegex(shown.out, r"0x420000 +ros-1 +82 +82 +0 ")

    def test_the_limit_is_the_partition_files(self):
        self.assertEnds(self.run_partition("incomplete_max = 82"), 0)
        ended = self.assertEnds(self.run_partition('incomplete_max = "99%"', build='event_deadline = "3s"'), 1)
        self.assertIn("(99%)", ended.json["problems"][0])
        sound = [s for s in ended.json["sources"] if s["source"] != "0x420000"]
        self.assertEqual([(s["source"], s["expected"], s["missing"]) for s in sound],
                         [("0x430000", 82, 0), ("0x430001", 82, 0)])
        self.assertTrue(all(s["arrived"] >= 82 and s["bytes"] > 82 * 100 for s in sound), sound)
        wrong = run("run", self.file('incomplete_max = "much"'), "--dir", self.folder / "D")
        self.assertOneLine(wrong, 2, "incomplete_max", "0.1% or 10")

    def test_a_silent_source_has_an_alarm_while_the_run_goes_on_and_metrics(self):
        file = self.file('source_silent_after = "1s"', supervise="events = 0\nrate = 50", build='event_deadline = "500ms"')
        with Partition(self.folder, file, source=None) as run_control:
            alarm = lambda: next((a for a in run_control.get("/alarms")["alarms"]
                                  if a["name"] == "source 0x420000 is silent"), None)
            raised = wait_until(alarm, "the alarm", 60)
            self.assertEqual(raised["station"], "run")
            self.assertIn("source 0x420000 of ros-1 is silent: no fragment for ", raised["text"])
            place = json.loads((run_control.directory / "run-control.json").read_text())["control"]
            connection = http.client.HTTPConnection(place, timeout=60)
            connection.request("GET", "/metrics")
            metrics = connection.getresponse().read().decode()
            self.assertIn('weir_partition_silent_sources 1', metrics)
            self.assertRegex(metrics, r'weir_source_missing_fragments_total\{source="0x420000"\} [1-9]')
            status = self.assertEnds(run("run", "status", "--dir", run_control.directory), 0).out
            self.assertRegex(status, r"0x420000 +ros-1 .*SILENT")
            run("run", "stop", "--dir", run_control.directory)
            self.assertIn("0x420000", self.assertEnds(run_control.wait(), 1).json["problems"][0])

    def robs(self, directory):
        """[(level-1 id, {source: status}, status of the event)] of all recorded events (format 5.0)."""
        found = []
        for path in sorted(directory.glob("*.data")):
            for _, event in RawFile(path).events():
                word = lambda at: struct.unpack_from("<I", event, 4 * at)[0]
                at, robs = word(2), {}
                while at < word(1):
                    robs[word(at + 4)] = word(at + 6)
                    at += word(at + 1)
                found.append((word(14 + word(5)), robs, word(6)))
        return found

    def test_a_masked_source_makes_it_a_good_run_and_its_robs_say_so(self):
        ended = self.assertEnds(self.run_partition('masked = ["0x420000"]', build='event_deadline = "60s"'), 0)
        self.assertEqual(ended.json["events"]["incomplete"], 0)
        source = next(s for s in ended.json["sources"] if s["source"] == "0x420000")
        self.assertEqual((source["expected"], source["missing"], source["masked_events"], source["masked"]), (0, 0, 82, True))
        events = self.robs(self.folder / "D")
        self.assertEqual(len(events), 82)
        for _, robs, status in events:
            self.assertEqual(robs, {SILENT: 0x80000020, SENDING: 0, SENDING + 1: 0})
            self.assertEqual(status, 0x20)

    def test_a_source_is_masked_and_unmasked_in_a_run_from_a_known_event_on(self):
        file = self.file('masked = ["0x420000"]', supervise="events = 0\nrate = 100", build='event_deadline = "60s"')
        with Partition(self.folder, file, source=None) as run_control:
            at = ["--dir", run_control.directory, "--person", "ann"]
            run_control.until_built(5)
            self.assertEnds(run("run", "mask", f"{SENDING:#x}", *at), 0)
            wait_until(lambda: self.source(run_control, SENDING)["masked_events"] > 20, "events with the mask")
            self.assertOneLine(run("run", "mask", f"{SENDING:#x}", *at), 1, "masked already")
            self.assertOneLine(run("run", "mask", "0x999999", *at), 2, "no readout serves")
            self.assertOneLine(run("run", "mask", "seven", *at), 2, "no source")
            self.assertEnds(run("run", "unmask", f"{SENDING:#x}", *at), 0)
            unmasked = run_control.get()["changes"][-1]["from_level1_id"]
            wait_until(lambda: run_control.get()["events"]["built"] > unmasked + 20, "events behind the mask")
            changes = run_control.get()["changes"]
            run("run", "stop", "--dir", run_control.directory)
            self.assertEnds(run_control.wait(), 0)
        self.assertEqual([(c["what"], c["subject"], c["who"]) for c in changes],
                         [("mask", "0x420000", "partition file"), ("mask", "0x430000", "ann"), ("unmask", "0x430000", "ann")])
        first, behind = (c["from_level1_id"] for c in changes[1:])
        for level1, robs, _ in self.robs(run_control.directory):
            self.assertEqual(robs[SENDING], 0x80000020 if first <= level1 < behind else 0, level1)
            self.assertEqual(robs[SENDING + 1], 0)

    def source(self, run_control, id):
        return next(s for s in run_control.get()["sources"] if s["source"] == f"{id:#x}") if run_control.get()["sources"] else {"masked_events": 0}

    def test_the_rule_masks_a_source_without_a_person(self):
        file = self.file('mask_after = "20 events"\nincomplete_max = 1000000', supervise="events = 0\nrate = 100",
                         build='event_deadline = "300ms"')
        with Partition(self.folder, file, source=None) as run_control:
            wait_until(lambda: self.source(run_control, SILENT)["masked_events"] > 20, "events with the mask")
            change, = run_control.get()["changes"]
            self.assertEqual((change["what"], change["subject"], change["who"]), ("mask", "0x420000", "rule mask_after"))
            run("run", "stop", "--dir", run_control.directory)
            self.assertEnds(run_control.wait(), 0)


if __name__ == "__main__":
    unittest.main()
