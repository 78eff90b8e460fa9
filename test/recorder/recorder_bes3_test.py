# SPDX-License-Identifier: Apache-2.0
"""Real detector events through the recorder into version-2 files: an independent reader agrees with every file,
and every stored event is the sent one byte for byte."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import python_venv
import weir_program
from recorder_files import RawFile, level1_places, listed
from weir_process import RecorderProcess, SenderProcess, main_without

EVENTS = 100_000
CONNECTIONS = 8
RUN = 91668
EVENT_NUMBER = 36  # its offset in an event 3.0 with one status word
PYBES3 = "pybes3==0.5.6"
SKIPPED = "the independent reader, as WEIR_PYBES3_ABSENT=ok" if os.environ.get("WEIR_PYBES3_ABSENT") == "ok" else None

# Runs where pybes3 is installed: event numbers, and a fingerprint of what the detectors saw, of each event.
READ = r"""
import json, sys
import awkward, pybes3
result = []
for path in sys.argv[1:]:
    file = pybes3.open_raw(path)
    numbers, seen = [], []
    for begin in range(0, file.entries, 5000):
        part = file.arrays(entry_start=begin, entry_stop=min(begin + 5000, file.entries))
        numbers += part.evt_header.evt_no.tolist()
        columns = [part.evt_header[name].tolist() for name in ("evt_time", "evt_tag1", "evt_tag2", "evt_tag4")]
        columns += [awkward.num(part[name]).tolist() for name in ("cgem", "mdc", "tof", "emc", "muc", "trigGTD")]
        seen += zip(*columns)
    result.append({"entries": file.entries, "run": file.run_number, "version": file.file_version,
                   "number": file.file_number, "numbers": numbers, "seen": seen})
json.dump(result, sys.stdout)
"""


def read_with_pybes3(*paths):
    ended = subprocess.run([python_venv.python_with(PYBES3, "pybes3", weir_program.PROGRAM), "-c", READ, *paths], capture_output=True, text=True, timeout=300)
    if ended.returncode != 0:
        raise AssertionError(f"pybes3 cannot read what was recorded: {ended.stderr}")
    return json.loads(ended.stdout)


class Original:
    """One of the ten real events, and where its ids stand."""

    def __init__(self, data):
        self.data = data
        all_places = level1_places(data)
        self.level1 = struct.unpack_from("<I", data, all_places[1])[0]
        self.places = []  # those that follow the event; the distance of some sources is not 0
        for at in all_places:
            distance = struct.unpack_from("<I", data, at)[0] - self.level1
            if abs(distance) <= 16:
                self.places.append((at, distance))

    def with_number(self, number):
        """What must have been stored under this event number: nothing but the ids is different."""
        result = bytearray(self.data)
        for at, distance in self.places:
            struct.pack_into("<I", result, at, number + distance)
        return result


class Bes3(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weir-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.directory = pathlib.Path(cls.folder.name) / "data"
        with RecorderProcess(cls.folder.name, cls.directory, "--file-size-max", "200MiB", run=RUN) as recorder:
            with SenderProcess(cls.folder.name, recorder.port, "--source", weir_program.BES3, "--events", EVENTS,
                               "--connections", CONNECTIONS, run=RUN) as sender:
                cls.sent = sender.report()
            ended = recorder.stop()
        if ended.code != 0:
            raise AssertionError(repr(ended))
        cls.recorded = ended.json
        cls.files = sorted(file["path"] for file in listed(cls.directory))

    def test_every_event_was_acknowledged_and_stored(self):
        self.assertEqual(self.sent["events"], {"sent": EVENTS, "acknowledged": EVENTS, "rejected": 0})
        self.assertEqual(self.recorded["copies"], {"received": EVENTS, "stored": EVENTS, "rejected": {}})
        self.assertGreater(len(self.files), 3)
        self.assertEqual(len(self.files), self.recorded["files"])

    def test_the_payload_of_every_stored_event_is_the_sent_one_byte_for_byte(self):
        originals = {len(data): Original(data) for _, data in RawFile(weir_program.BES3).events()}
        self.assertEqual(len(originals), 10, "the ten events are distinguished by their sizes")
        self.assertTrue(all(len(original.places) > 40 for original in originals.values()))
        block_expected = 1
        for number_in_sequence, path in enumerate(self.files, start=1):
            file = RawFile(path)
            self.assertEqual((file.version, file.run, file.file_number), (2, RUN, number_in_sequence))
            for block, event in file.events():
                self.assertEqual(block, block_expected)
                block_expected += 1
                number = struct.unpack_from("<I", event, EVENT_NUMBER)[0]
                if event != originals[len(event)].with_number(number):
                    self.fail(f"{path}, event number {number} is not what was sent")
            self.assertEqual(file.events_stated_so_far, block_expected - 1)
        self.assertEqual(block_expected - 1, EVENTS)

    def test_pybes3_reads_every_file_with_equal_event_numbers(self):
        if SKIPPED:
            self.skipTest(SKIPPED)
        original, *files = read_with_pybes3(weir_program.BES3, *self.files)
        seen_in_original = {tuple(seen) for seen in original["seen"]}
        self.assertEqual(len(seen_in_original), 10)
        numbers = []
        for sequence, (path, file) in enumerate(zip(self.files, files), start=1):
            self.assertEqual((file["run"], file["version"], file["number"]), (RUN, 2, sequence))
            self.assertEqual({tuple(seen) for seen in file["seen"]}, seen_in_original, path)
            ours = [struct.unpack_from("<I", event, EVENT_NUMBER)[0] for _, event in RawFile(path).events()]
            self.assertEqual(file["numbers"], ours, path)
            numbers += file["numbers"]
        self.assertEqual(sorted(numbers), list(range(1, EVENTS + 1)))

    def test_verify_finds_every_stored_byte_good(self):
        verdict = weir_program.run("verify", "--json", self.directory, timeout=300)
        self.assertEqual(verdict.code, 0, repr(verdict))
        self.assertEqual((verdict.json["ok"], verdict.json["events"], verdict.json["bad"]), (len(self.files), EVENTS, []))


if __name__ == "__main__":
    main_without(SKIPPED, needs_recorded_events=True)
