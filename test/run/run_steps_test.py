# SPDX-License-Identifier: Apache-2.0
"""Whole partitions whose selection requests its data in steps, as docs/selections.md shows it: each readout is asked for
the fragments of the steps that an event came to and for no others, and a partial stream has the fragments that were named."""
import json
import re
import struct
import unittest

import weir_program
from recorder_files import ROB, RawFile, listed
from run_selection_test import GUIDE, PluginTest, python_is_there
from run_test import EVENT_NUMBER, ORIGINALS, partition_of, robs_of
from weir_program import BES3, run

FLIGHT, CHAMBER = [0xA20000, 0xA20001], [0xA10000, 0xA10001, 0xA10002, 0xA10003]  # the steps of the guide's example
FLIGHT_MIN, CHAMBER_MIN = 250, 800                                                # bytes below which it rejects
PARTIAL = [0xA30000, 0xA30001]
EVENTS, READOUTS = 50, 6


def sources_in_order(event):
    """The sources of an event as they lie in it: readouts share a file in this order."""
    places = {}
    for source, (_, _, rob) in robs_of(event).items():
        at = event.find(struct.pack("<I", ROB))
        while at >= 0 and struct.unpack_from("<I", event, at + 16)[0] != source:
            at = event.find(struct.pack("<I", ROB), at + 4)
        places[source] = at
    return sorted(places, key=places.get)


def bytes_of(number, sources):
    original = ORIGINALS[(number - 1) % len(ORIGINALS)]
    return sum(len(original[source][2]) for source in sources)


class Steps(PluginTest):
    def example(self, heading, language):
        return re.search(rf"## {heading}\n.*?```{language}\n(.*?)```", GUIDE, re.DOTALL).group(1)

    def in_steps(self, plugin, regions, regions_table=None):
        """The first fragment of the first step is a region of interest, the others are requested."""
        wait = {"reask_min": '"20s"', "reask_max": '"30s"'}  # a fragment is requested once, so that the counts are exact
        supervise = {"regions": f'"{regions}"', **({"regions_table": json.dumps(regions_table)} if regions_table else {})}
        file, directory = self.folder / "p.toml", self.folder / "D"
        file.write_text(partition_of(network={"link": '"tcp"'}, supervise=supervise, build=wait,
                                     select={"selection": f'"{plugin}"', **wait}, filter={"selection": f'"{plugin}"'}))
        ended = self.assertEnds(run("run", file, "--source", BES3, "--events", EVENTS, "--dir", directory, "--json", timeout=300), 0)
        result = ended.json
        self.assertEqual(result["problems"], [])
        self.assertBalances(result)
        self.assertAskedInSteps(result)
        self.assertStreams(directory)

    def assertAskedInSteps(self, result):
        numbers = range(1, EVENTS + 1)
        second = [number for number in numbers if bytes_of(number, FLIGHT) >= FLIGHT_MIN]
        accepted = [number for number in second if bytes_of(number, CHAMBER) >= CHAMBER_MIN]
        self.assertTrue(0 < len(accepted) < len(second) < EVENTS, "the example rejects after each step")
        self.assertEqual(result["events"]["accepted"], len(accepted))
        asked = dict.fromkeys(FLIGHT, EVENTS) | dict.fromkeys(CHAMBER, len(second))
        order = sources_in_order(next(data for _, data in RawFile(BES3).events()))
        share = len(order) // READOUTS
        self.assertEqual(len(order), share * READOUTS)
        counters = {station["name"]: station["counters"] for station in result["stations"]}
        silent = 0
        for n in range(READOUTS):
            sources, counts = order[n * share:(n + 1) * share], counters[f"ros-{n + 1}"]
            by_level2 = sum(asked.get(source, 0) for source in sources)
            self.assertEqual(counts["robs_sent"], by_level2 + len(accepted) * share, f"ROBs that ros-{n + 1} sent")
            if by_level2 == 0:
                silent += 1
                self.assertEqual(counts["requests_level2"], 0, f"requests of level 2 at ros-{n + 1}")
            else:
                self.assertGreater(counts["requests_level2"], 0, f"requests of level 2 at ros-{n + 1}")
        self.assertGreater(silent, 0, "there are readouts that no step asks")
        units = [counters["l2pu-1"], counters["l2pu-2"]]
        self.assertEqual(sum(unit["steps"] for unit in units), EVENTS + len(second))
        self.assertEqual(sum(unit["fragments"] for unit in units), sum(asked.values()))
        self.accepted = accepted

    def assertStreams(self, directory):
        self.assertEnds(run("verify", directory, timeout=300), 0)
        found = {"physics_Main": {}, "calibration_Calorimeter": {}}
        for file in listed(directory):
            for _, event in RawFile(file["path"]).events():
                at = 4 * struct.unpack_from("<I", event, 20)[0]  # status words: a partial event may have one more
                number = struct.unpack_from("<I", event, EVENT_NUMBER - 4 + at)[0]
                found[file["stream"]][number] = robs_of(event)
        for stream, events in found.items():
            self.assertEqual(sorted(events), self.accepted, stream)
            for number, robs in events.items():
                original = ORIGINALS[(number - 1) % len(ORIGINALS)]
                self.assertEqual(sorted(robs), PARTIAL if stream == "calibration_Calorimeter" else sorted(original))
                for source, (_, _, rob) in robs.items():
                    self.assertEqual(rob, original[source][2], f"{source:#x} of event {number} in {stream}")

    def test_a_library_in_cpp_with_regions_of_a_library(self):
        regions = self.compiled(self.example("Regions of interest", "cpp")).rename(self.folder / "regions.so")
        self.in_steps(self.compiled(self.example("Data in steps", "cpp")), regions)

    @unittest.skipUnless(python_is_there(), "NOT TESTED: the example in Python needs /usr/bin/python3 with NumPy")
    def test_a_selection_in_python_with_regions_of_a_table(self):
        plugin = self.folder / "steps.py"
        plugin.write_text(self.example("Data in steps", "python"))
        self.in_steps(plugin, "table", [f"all = {FLIGHT[0]:#x}"])


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
