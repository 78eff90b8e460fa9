# SPDX-License-Identifier: Apache-2.0
"""weir ls, verify and recover on what a recorder wrote: list, prove, damage, kill, repair."""
import pathlib

import weir_program
from weir_program import ProgramTest, Recorder, run

RUN = 7
EVENTS = 60


class Recorded(ProgramTest):
    def record(self, *arguments, events=EVENTS):
        with Recorder(self.folder, *arguments, run_number=RUN) as recorder:
            sent = self.assertEnds(run("send", "--to", recorder.address, "--profile", "atlas2018", "--run", RUN,
                                       "--events", events, "--json"), 0).json
            self.assertEqual(sent["events"]["acknowledged"], events)
            return self.assertEnds(recorder.stop(), 0).json

    def listed(self, *arguments):
        return self.assertEnds(run("ls", "--json", self.folder, *arguments), 0).json["files"]

    def largest(self):
        return max(self.listed(), key=lambda file: file["events"])

    def verified(self, code):
        return self.assertEnds(run("verify", "--json", self.folder), code).json


class Ls(Recorded):
    def test_lists_every_copy_that_was_stored(self):
        report = self.record()
        files = self.listed()
        self.assertEqual(sum(file["events"] for file in files), report["copies"]["stored"])
        self.assertEqual(len(files), report["files"])
        for file in files:
            self.assertEqual(pathlib.Path(file["path"]).stat().st_size, file["bytes"])
            self.assertRegex(file["sums"]["adler32"], "^[0-9a-f]{8}$")
            self.assertEqual((file["run"], file["file_state"], file["transfer_state"], file["file_health"]),
                             (RUN, "CLOSED", "ONDISK", "SANE"))

    def test_chooses_by_run_stream_and_state(self):
        self.record()
        stream = self.largest()["stream"]
        self.assertEqual({file["stream"] for file in self.listed("--stream", stream)}, {stream})
        self.assertEqual(self.listed("--run", RUN + 1), [])
        self.assertEqual(self.listed("--state", "opened"), [])
        self.assertEqual(self.listed("--state", "CLOSED"), self.listed())

    def test_shows_people_a_table_with_a_sum(self):
        self.record()
        lines = self.assertEnds(run("ls", self.folder), 0).out.splitlines()
        self.assertTrue(lines[0].startswith("run"))
        self.assertIn(f"{len(self.listed())} file", lines[-1])
        self.assertEqual(len(lines), len(self.listed()) + 2)

    def test_a_directory_without_catalogue_is_missing(self):
        self.assertOneLine(run("ls", self.folder), 3, "no catalogue")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_damaged_catalogue_is_reported_and_not_changed(self):
        (self.folder / "weir.catalogue").write_bytes(b"garbage" * 1000)
        self.assertOneLine(run("ls", self.folder), 1, "weir.catalogue")
        self.assertEqual((self.folder / "weir.catalogue").read_bytes(), b"garbage" * 1000)


class Verify(Recorded):
    def test_what_was_recorded_is_good(self):
        report = self.record()
        verdict = self.verified(0)
        self.assertEqual((verdict["files"], verdict["ok"], verdict["bad"]), (report["files"], report["files"], []))
        self.assertEqual((verdict["events"], verdict["without_index"], verdict["notes"]), (report["copies"]["stored"], 0, []))

    def test_one_flipped_bit_is_named_by_file_event_and_offset(self):
        self.record()
        file = self.largest()
        events = self.assertEnds(run("cat", "--json", file["path"]), 0).json["events"]
        hit = events[len(events) // 2]
        path = pathlib.Path(file["path"])
        data = bytearray(path.read_bytes())
        data[hit["offset"] + hit["bytes"] // 2] ^= 4
        path.write_bytes(data)
        verdict = self.verified(1)
        self.assertEqual(verdict["ok"], verdict["files"] - 1)
        self.assertEqual({damage["path"] for damage in verdict["bad"]}, {str(path)})
        named = [damage for damage in verdict["bad"] if damage["event"] is not None]
        self.assertEqual({damage["event"] for damage in named}, {hit["number"]})
        for damage in named:
            self.assertTrue(hit["offset"] <= damage["offset"] < hit["offset"] + hit["bytes"], damage)
        output = self.assertEnds(run("verify", self.folder), 1).out
        self.assertIn(f"event {hit['number']}", output)

    def test_a_file_that_vanished_is_damage(self):
        self.record()
        path = self.largest()["path"]
        pathlib.Path(path).unlink()
        verdict = self.verified(1)
        self.assertIn((path, None), {(damage["path"], damage["event"]) for damage in verdict["bad"]})
        self.assertEqual(verdict["ok"], verdict["files"] - 1)

    def test_a_single_file_is_held_against_its_catalogue(self):
        self.record()
        file = self.largest()
        self.assertEnds(run("verify", file["path"]), 0)
        pathlib.Path(file["path"]).with_suffix(".index").unlink()
        self.assertIn("index", self.assertEnds(run("verify", file["path"]), 1).out)

    def test_a_directory_that_was_moved_is_still_good(self):
        self.record()
        moved = self.folder / "moved"
        moved.mkdir()
        for path in [path for path in self.folder.iterdir() if path != moved]:
            path.rename(moved / path.name)
        self.assertEnds(run("verify", moved), 0)

    def test_another_run_has_no_files(self):
        self.record()
        self.assertEqual(self.assertEnds(run("verify", "--json", "--run", RUN + 1, self.folder), 0).json["files"], 0)


class Recover(Recorded):
    def test_after_a_kill_every_acknowledged_event_is_in_a_closed_file(self):
        with Recorder(self.folder, run_number=RUN) as recorder:
            sent = self.assertEnds(run("send", "--to", recorder.address, "--profile", "atlas2018", "--run", RUN,
                                       "--events", EVENTS, "--json"), 0).json
            self.assertEqual(sent["events"]["acknowledged"], EVENTS)
            recorder.kill()
        self.assertGreater(len(list(self.folder.glob("*.writing"))), 0)
        recovered = self.assertEnds(run("recover", "--json", self.folder), 0).json
        self.assertEqual(list(self.folder.glob("*.writing")), [])
        files = self.listed()
        self.assertEqual({file["file_state"] for file in files}, {"CLOSED"})
        self.assertEqual({file["file_health"] for file in files}, {"TRUNCATED"})
        self.assertEqual(sum(file["events"] for file in recovered["files"]), sum(file["events"] for file in files))
        self.assertGreaterEqual(sum(file["events"] for file in files), EVENTS)
        self.assertEqual(self.verified(0)["bad"], [])
        self.assertEqual(self.assertEnds(run("recover", self.folder), 0).out, "nothing to do\n")

    def test_a_directory_in_use_is_refused(self):
        with Recorder(self.folder, run_number=RUN) as recorder:
            self.assertOneLine(run("recover", self.folder), 1, "in use", str(recorder.process.pid))
            self.assertEnds(recorder.stop(), 0)

    def test_files_and_directories_are_not_mixed(self):
        file = self.folder / "x.writing"
        file.touch()
        self.assertOneLine(run("recover", self.folder, file), 2, "cannot be mixed")


if __name__ == "__main__":
    weir_program.main()
