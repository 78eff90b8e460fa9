# SPDX-License-Identifier: Apache-2.0
"""A stream with several open files on several disks, as an operator meets it: the option, the metric, and what the other
commands make of these files: list, verify, hand over, drain, and bring back into a catalogue that was lost."""
import collections
import pathlib

from recorder_files import RawFile, listed
from weir_process import RecorderProcess, SenderProcess
from weir_program import ProgramTest, main, run

RUN = 7
EVENTS = 400


class SeveralFiles(ProgramTest):
    def setUp(self):
        super().setUp()
        self.disks = [self.folder / name for name in "abc"]

    def record(self, *arguments):
        """One stream has most of the data. What was acknowledged, and the most files of it that were open."""
        others = [word for disk in self.disks[1:] for word in ("--dir", disk)]
        with RecorderProcess(self.folder, self.disks[0], *others, *arguments, run=RUN) as recorder:
            sender = SenderProcess(self.folder, recorder.port, "--events", EVENTS, "--seed", 4, "--connections", 3, run=RUN)
            of_now = lambda: max((value for name, value in recorder.metrics().items() if name.startswith("weir_stream_files_open{")), default=0)
            open_files = 0
            while sender.running():
                open_files = max(open_files, of_now())
            self.assertEqual(sender.report()["events"]["acknowledged"], EVENTS)
            open_files = max(open_files, of_now())  # however quick the sender was
            self.assertEnds(recorder.stop(), 0)
        return open_files

    def blocks(self):
        """Of each file, its block numbers, as a reader finds them that knows nothing of weir."""
        return {file["path"]: [block for block, _ in RawFile(file["path"]).events()] for file in listed(self.disks[0])}

    def assertGood(self):
        verdict = self.assertEnds(run("verify", "--json", self.disks[0], timeout=600), 0).json
        self.assertEqual((verdict["ok"], verdict["bad"]), (len(listed(self.disks[0])), []))

    def test_by_default_a_stream_has_one_file_open_and_its_numbers_run_on(self):
        open_files = self.record("--file-size-max", "8MiB")
        self.assertGreaterEqual(open_files, 1)
        self.assertLessEqual(open_files, len({file["lumi_block"] for file in listed(self.disks[0])}))
        self.assertGood()
        sequences = collections.defaultdict(list)
        for file in sorted(listed(self.disks[0]), key=lambda file: file["sequence"]):
            sequences[file["stream"], file["lumi_block"]] += [block for block, _ in RawFile(file["path"]).events()]
        for blocks in sequences.values():
            self.assertEqual(blocks, list(range(1, len(blocks) + 1)))

    def test_with_the_option_it_has_some_each_on_its_disk_with_numbers_of_its_own(self):
        open_files = self.record("--file-size-max", "8MiB", "--files-per-stream", 3, "--sync-interval", "500ms")
        self.assertGreater(open_files, 1)
        self.assertLessEqual(open_files, 3 * len({file["lumi_block"] for file in listed(self.disks[0])}))
        self.assertGood()
        for path, blocks in self.blocks().items():
            self.assertEqual(blocks, list(range(1, len(blocks) + 1)), path)
        of_stream = collections.defaultdict(set)
        for file in listed(self.disks[0]):
            of_stream[file["stream"], file["lumi_block"]].add(pathlib.Path(file["path"]).parent)
        self.assertEqual(max(map(len, of_stream.values())), 3)

    def test_other_commands_take_these_files_as_any(self):
        self.record("--file-size-max", "8MiB", "--files-per-stream", 3, "--sync-interval", "500ms")
        before = {file["guid"]: (file["stream"], file["sequence"], file["events"], file["sums"]) for file in listed(self.disks[0])}
        known = lambda: {file["guid"]: (file["stream"], file["sequence"], file["events"], file["sums"]) for file in listed(self.disks[0])}

        for path in self.disks[0].glob("weir.catalogue*"):
            path.unlink()
        self.assertEnds(run("recover", "--rebuild", *self.disks), 0)
        self.assertEqual(known(), before)
        self.assertGood()

        self.assertEnds(run("drain", self.disks[1], "--to", self.disks[2], "--dir", self.disks[0]), 0)
        self.assertEqual(known(), before)
        self.assertGood()

        there = self.folder / "there"
        there.mkdir()
        self.assertEnds(run("handoff", "--dir", self.disks[0], "--to", there, "--once", timeout=600), 0)
        self.assertEqual({file["transfer_state"] for file in listed(self.disks[0])}, {"TRANSFERRED"})
        self.assertEqual({path.name for path in there.rglob("*.data")}, {pathlib.Path(f["path"]).name for f in listed(self.disks[0])})


if __name__ == "__main__":
    main()
