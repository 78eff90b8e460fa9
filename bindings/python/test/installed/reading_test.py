# SPDX-License-Identifier: Apache-2.0
"""weir.open: recorded events as arrays, beside readers that share nothing with it, and damaged files."""
import os
import pathlib
import random
import struct
import sys
import tempfile
import threading
import unittest

import awkward
import numpy
import weir

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "test" / each) for each in ("support", "run", "objects")]
import recorder_files
from objects_test import SELECTION
from run_input_test import BoardsTest, payload_of
from run_test import partition_of
from weir_program import BES3, ProgramTest, Recorder, run

ANSWER_IN_TIME = 120.0  # seconds that a loaded machine may need
CORPUS = ROOT / "lib" / "event" / "fuzz" / "corpus" / "event_fuzz"


def with_program(case):
    return unittest.skipUnless("WEIR_PROGRAM" in os.environ, "the program weir is not built here")(case)


@with_program
class Boards(BoardsTest):
    def test_what_boards_sent_is_read_bit_for_bit_without_a_copy(self):
        events, sources = 400, {0x420000: 0, 0x420001: 0, 0x430000: 1}
        self.partition(events)
        ports, failures = self.ports(), []

        def board(source, port):
            try:
                with weir.FragmentSender(f"127.0.0.1:{port}", f"board-{source:x}", close_timeout=ANSWER_IN_TIME) as to:
                    for event in range(1, events + 1):
                        to.send(source, event, payload_of(source, event), status_words=[event, source])
            except Exception as error:  # shown by the test
                failures.append(error)

        threads = [threading.Thread(target=board, args=(source, ports[readout])) for source, readout in sources.items()]
        for thread in threads:
            thread.start()
        report = self.finish()
        for thread in threads:
            thread.join(ANSWER_IN_TIME)
        self.assertEqual(failures, [])

        recorded = weir.open(self.directory)
        self.assertEqual(len(recorded), events)
        seen = []
        for event in recorded:
            seen.append(event.level1_id)
            self.assertEqual((event.run, event.status), (report["run"], 0))
            self.assertEqual(sorted(event.robs), sorted(sources))
            for source in sources:
                payload = payload_of(source, event.level1_id)
                self.assertEqual(event[source].tobytes(), payload + bytes(-len(payload) % 4))
                self.assertEqual(event.robs[source].status_words.tolist(), [0, len(payload), event.level1_id, source])
                self.assertEqual((event.robs[source].level1_id, event.robs[source].status), (event.level1_id, 0))
                if payload:
                    self.assertTrue(numpy.shares_memory(event[source], event.file._bytes))
                    self.assertFalse(event[source].flags.writeable)
                    self.assertEqual(event[source].dtype, numpy.dtype("<u4"))
        self.assertEqual(sorted(seen), list(range(1, events + 1)))
        self.assertTrue(all(file.complete for file in recorded.files))

        array = recorded.to_awkward()
        self.assertEqual(awkward.to_list(array.level1_id), seen)
        for event, record in zip(recorded, array):
            self.assertEqual({rob["source"]: rob["data"] for rob in awkward.to_list(record.robs)},
                             {source: rob.data.tolist() for source, rob in event.robs.items()})

        found = recorded.verify()
        self.assertTrue(found, found.faults)
        self.assertEqual((found.events, found.counts["robs"]), (events, 3 * events))
        self.assertEqual(len(weir.open(self.directory, run=report["run"])), events)
        with self.assertRaisesRegex(FileNotFoundError, rf"no closed raw file of run 999; there are runs \[{report['run']}\]"):
            weir.open(self.directory, run=999)
        before = os.getcwd()
        os.chdir(self.directory)
        try:
            self.assertEqual((len(weir.open(report["run"])), len(weir.open())), (events, events))
            with self.assertRaisesRegex(ValueError, "name one of them"):
                weir.open(report["run"], run=999)
        finally:
            os.chdir(before)


@with_program
class Selections(ProgramTest):
    @unittest.skipUnless(BES3.exists(), "recorded events are absent")
    def test_results_are_those_that_the_program_prints(self):
        plugin, file, directory = self.folder / "counting.py", self.folder / "p.toml", self.folder / "D"
        plugin.write_text(SELECTION)
        select = {"selection": f'"{plugin}"', "workers": "1", "python": f'"{sys.executable}"'}
        file.write_text(partition_of(select=select) + '[readout.pros]\nsource = "level2"\n')
        self.assertEnds(run("run", file, "--source", BES3, "--events", 40, "--dir", directory, "--json", timeout=300), 0)
        recorded = weir.open(directory)
        printed = {}
        for each in recorded.files:
            for event in run("cat", "--json", each.path).json["events"]:
                result, = event["results"]
                printed[event["global_id"]] = {result["members"]["selection"]:
                                               {one["name"]: one["value"] for one in result["members"]["quantities"]}}
        self.assertEqual(len(printed), 40)
        self.assertEqual({event.global_id: event.results for event in recorded}, printed)


@with_program
class OfManyFormats(ProgramTest):
    def assertAsShown(self, path):
        """Header, ROBs and their places are those that `weir show` prints."""
        for event in weir.open(path):
            shown = run("show", path, "--event", event.number, "--json").json
            self.assertEqual((event.run, event.global_id, event.level1_id, event.lumi_block, event.block),
                             tuple(shown[name] for name in ("run", "global_id", "level1_id", "lumi_block", "block")))
            self.assertEqual([(rob.source, len(rob.words) * 4, rob.status) for rob in event.rob_list],
                             [(rob["source"], rob["bytes"], rob["status"]) for rob in shown["rob_list"]])

    @unittest.skipUnless(BES3.exists(), "recorded events are absent")
    def test_real_events_of_bes_iii(self):
        file, = weir.open(BES3).files
        self.assertEqual((file.format, file.version, file.stream, file.complete), ("event-3.0", 2, None, True))
        for event, (_, data) in zip(file, recorder_files.RawFile(BES3).events(), strict=True):
            self.assertEqual(event.data.tobytes(), data)
            self.assertEqual(event.words.tobytes(), data)
            self.assertEqual(event.verify()["robs"], len(event.rob_list))
            for rob in event.rob_list:
                self.assertEqual(rob.words[0], recorder_files.ROB)
                at = rob._row[1]
                self.assertEqual(rob.words.tobytes(), data[at:at + rob._row[2]])
                rod = data[at + 4 * int(rob.words[2]):at + rob._row[2]]
                status, words, after = struct.unpack("<III", rod[-12:])
                begin = 36 if after else 36 + 4 * status
                self.assertEqual(rob.data.tobytes(), rod[begin:begin + 4 * words])
        self.assertAsShown(BES3)

    def test_opaque_events_of_any_size_are_bytes(self):
        payloads = [random.Random(size).randbytes(size) for size in range(1, 40)]
        with Recorder(self.folder / "D") as recorder:
            with weir.Sender(recorder.address, "python", close_timeout=ANSWER_IN_TIME) as to:
                for event, payload in enumerate(payloads, 1):
                    to.send(payload, event, "calibration_Test")
            self.assertEqual(recorder.stop().code, 0)
        recorded = weir.open(self.folder / "D", stream="calibration_Test")
        self.assertEqual(sorted(event.data.tobytes() for event in recorded), sorted(payloads))
        event = next(event for event in recorded if len(event.data) == 7)
        with self.assertRaisesRegex(weir.ReadError, "7 bytes are not whole words"):
            event.words
        self.assertTrue(recorded.verify())

    def test_compressed_events_are_unpacked(self):
        packed = (CORPUS / "event_5_0_zlib").read_bytes()
        with Recorder(self.folder / "D", run_number=357750) as recorder:
            with weir.Sender(recorder.address, "python", format="event-5.0", close_timeout=ANSWER_IN_TIME) as to:
                to.send(packed, 1, "calibration_Test")
            self.assertEqual(recorder.stop().code, 0)
        event, = weir.open(self.folder / "D")
        self.assertEqual(event.data.tobytes(), packed)
        self.assertGreater(len(event.rob_list), 0)
        self.assertEqual(event.verify()["robs"], len(event.rob_list))


class Damaged(unittest.TestCase):
    """A raw file of version 6, kept in hex."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.whole = bytes.fromhex((ROOT / "lib" / "event" / "test" / "vectors" / "small_v6.hex").read_text())

    def read_all(self, data):
        """Everything that a user could ask for. ReadError is the only failure."""
        path = self.folder / "damaged.data"
        path.write_bytes(data)
        try:
            recorded = weir.open(path)
        except weir.ReadError:
            return None
        words = 0
        try:
            for event in recorded:
                for read in (lambda: (event.run, event.streams, event.level1_words.sum()), lambda: [rob.words.sum() for rob in event.rob_list],
                             lambda: [rob.data.sum() + rob.status_words.sum() for rob in event.rob_list], lambda: event.results, event.verify):
                    try:
                        read()
                        words += 1
                    except weir.ReadError:
                        pass
        except weir.ReadError:
            pass
        recorded.verify()
        return words

    def test_a_file_that_is_cut_anywhere_gives_its_whole_events_and_says_so(self):
        path = self.folder / "cut.data"
        path.write_bytes(self.whole)
        events = [event.data.tobytes() for event in weir.open(path)]
        self.assertTrue(weir.open(path).files[0].complete)
        self.assertGreater(len(events), 0)
        for size in range(0, len(self.whole), 4):
            path.write_bytes(self.whole[:size])
            try:
                file, = weir.open(path).files
            except weir.ReadError as error:
                self.assertIn(str(path), str(error))
                continue
            self.assertFalse(file.complete)
            got = []
            try:
                got.extend(event.data.tobytes() for event in file)
            except weir.ReadError as error:
                self.assertIn(str(path), str(error))
            self.assertEqual(got, events[:len(got)])
            self.assertFalse(file.verify())

    def test_flipped_bytes_never_lead_outside_the_file(self):
        self.assertGreater(self.read_all(self.whole), 0)
        drawn = random.Random(7)
        for _ in range(3000):
            data = bytearray(self.whole)
            for _ in range(drawn.choice((1, 1, 2, 5))):
                data[drawn.randrange(len(data))] = drawn.choice((0, 1, 0x7F, 0x80, 0xFF, drawn.randrange(256)))
            self.read_all(data[:drawn.choice((len(data), len(data), drawn.randrange(len(data) + 1)))])

    def test_what_is_no_raw_file_is_named(self):
        path = self.folder / "x.data"
        for content, words in ((b"", "is empty"), (b"no raw file at all, this", "not a raw file that can be read")):
            path.write_bytes(content)
            with self.assertRaisesRegex(weir.ReadError, f"{path} {'is ' * (not words.startswith('is'))}{words}"):
                weir.open(path)
        with self.assertRaises(FileNotFoundError):
            weir.open(self.folder / "absent.data")
        path.unlink()
        with self.assertRaisesRegex(FileNotFoundError, "has no closed raw file"):
            weir.open(self.folder)


if __name__ == "__main__":
    unittest.main()
