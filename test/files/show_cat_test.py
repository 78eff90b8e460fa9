# SPDX-License-Identifier: Apache-2.0
"""weir show, cat and verify on real events: ten of BES III, in a file of another recorder (version 2)."""
import os
import shutil
import struct
import subprocess
import zlib

import weir_program
from weir_program import BES3, ProgramTest, run

# As in the provenance of the file, and as an independent reader finds them.
EVENT_NUMBERS = [199781, 199784, 199785, 199787, 199788, 199786, 199790, 199789, 199793, 199794]
SEPARATOR = 0x1234CCCC


def places(data):
    """Offset and size of every event, found without weir."""
    found = []
    at = data.index(struct.pack("<II", SEPARATOR, 4))
    while struct.unpack_from("<I", data, at)[0] == SEPARATOR:
        size = struct.unpack_from("<I", data, at + 12)[0]
        found.append((at + 16, size))
        at += 16 + size
    return found


class RealEvents(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = BES3.read_bytes()
        self.places = places(self.data)
        self.file = self.folder / "events.raw"

    def put(self, data):
        self.file.write_bytes(data)
        return self.file


class Show(RealEvents):
    def test_shows_the_records_of_a_file_of_version_2(self):
        shown = self.assertEnds(run("show", "--json", BES3), 0).json
        self.assertEqual((shown["version"], shown["format"], shown["state"]), (2, "event-3.0", "complete"))
        self.assertEqual((shown["events"], shown["bytes"]), (10, 118568))
        self.assertEqual(shown["run_parameters"]["run"], 91668)
        self.assertEqual(shown["application"], "SFO-1")
        self.assertEqual(shown["metadata"], [])
        self.assertEqual(shown["end"]["events_in_file"], 10)
        self.assertEqual(shown["event_bytes"], sum(size for _, size in self.places))
        self.assertEqual(shown["event_bytes_max"], max(size for _, size in self.places))

    def test_shows_people_the_same(self):
        shown = self.assertEnds(run("show", BES3), 0).out
        for words in ["118,568 bytes", "version 2", "SFO-1", "91668", "10 events of event-3.0"]:
            self.assertIn(words, shown)

    def test_shows_an_event_with_its_42_robs(self):
        shown = self.assertEnds(run("show", "--json", "--event", "3", BES3), 0).json
        self.assertEqual((shown["number"], shown["global_id"], shown["run"]), (3, 199785, 91668))
        self.assertEqual((shown["robs"], len(shown["rob_list"])), (42, 42))
        self.assertEqual((shown["offset"], shown["bytes"]), self.places[2])
        # One source counts one ahead, the event filter's does not count at all.
        differing = {rob["source"] for rob in shown["rob_list"] if rob["rod"]["level1_id"] != shown["level1_id"]}
        self.assertEqual(differing, {0xA80010, 0x7C0000})

    def test_shows_people_an_event_as_a_table(self):
        shown = self.assertEnds(run("show", "--event", "1", BES3), 0).out
        self.assertIn("ROB source", shown)
        self.assertIn("0x00a80010", shown)
        self.assertEqual(sum(line.startswith("0x") for line in shown.splitlines()), 42)

    def test_an_event_that_is_not_there_is_missing(self):
        self.assertOneLine(run("show", "--event", "11", BES3), 3, "no event 11", "10")
        self.assertOneLine(run("show", "--event", "0", BES3), 2, "counted from 1")

    def test_reports_where_a_file_is_cut_short_wherever_that_is(self):
        end_of_third = self.places[2][0] + self.places[2][1]
        for size in [*range(end_of_third, end_of_third + 20), end_of_third + 1000, len(self.data) - 40, len(self.data) - 1]:
            with self.subTest(size=size):
                shown = self.assertEnds(run("show", "--json", self.put(self.data[:size])), 0).json
                self.assertEqual(shown["state"], "cut short")
                self.assertEqual(shown["events"], 10 if size >= len(self.data) - 40 else 3)
                self.assertIsNone(shown["end"])

    def test_space_that_a_recorder_took_ahead_is_not_damage(self):
        whole = self.data[:self.places[3][0] + self.places[3][1]]
        shown = self.assertEnds(run("show", "--json", self.put(whole + bytes(100000))), 0).json
        self.assertEqual((shown["state"], shown["events"], shown["bytes_behind_events"]), ("cut short", 4, 100000))

    def test_what_stands_behind_the_last_event_of_an_open_file_is_not_damage(self):
        self.file = self.folder / "events.writing"
        whole = self.data[:self.places[3][0] + self.places[3][1]]
        self.assertEqual(self.assertEnds(run("show", "--json", self.put(whole + b"rest" * 100)), 0).json["state"], "cut short")

    def test_reports_where_the_structure_breaks(self):
        offset = self.places[4][0] - 16
        damaged = bytearray(self.data)
        damaged[offset] ^= 1
        ended = self.assertEnds(run("show", "--json", self.put(damaged)), 1)
        self.assertEqual((ended.json["state"], ended.json["events"]), ("broken", 4))
        self.assertIn(str(offset), ended.json["reason"])

    def test_no_byte_of_a_damaged_head_crashes_it(self):
        for at in range(0, self.places[0][0] - 16, 3):
            damaged = bytearray(self.data)
            damaged[at] ^= 0xFF
            ended = run("show", "--json", self.put(damaged))
            self.assertIn(ended.code, (0, 1), repr(ended))
            if ended.out:
                self.assertIn("version", ended.json)

    def test_text_from_a_file_never_reaches_the_terminal_as_it_is(self):
        named = self.data.replace(b"SFO-1", b"\x1b[2J!", 1)
        ended = self.assertEnds(run("show", self.put(named)), 0)
        self.assertNotIn("\x1b", ended.out)
        self.assertIn(r"\x1b[2J!", ended.out)
        not_utf8 = self.data.replace(b"SFO-1", b"\xff\xfe\xc0\x80!", 1)
        self.assertEqual(self.assertEnds(run("show", "--json", self.put(not_utf8)), 0).json["application"], r"\xff\xfe\xc0\x80!")

    def test_a_file_that_is_not_raw_is_refused_in_one_line(self):
        for content in [b"", b"hello", b"\0" * 4096, bytes(range(256)) * 40]:
            with self.subTest(content=content[:8]):
                self.assertOneLine(run("show", self.put(content)), 1, str(self.file), "not a raw file")

    def test_a_file_that_is_not_there_is_missing(self):
        self.assertOneLine(run("show", self.folder / "none"), 3, "none")

    def test_a_directory_is_not_a_file(self):
        self.assertOneLine(run("show", self.folder), 2, "is a directory")


class Cat(RealEvents):
    def test_prints_a_line_for_each_event_in_the_order_of_the_file(self):
        lines = [line.split() for line in self.assertEnds(run("cat", BES3), 0).out.splitlines() if not line.startswith("#")]
        self.assertEqual([int(line[1]) for line in lines], EVENT_NUMBERS)
        for line, (offset, size) in zip(lines, self.places):
            self.assertEqual(int(line[4]), size)
            self.assertEqual(line[5], "42")
            self.assertEqual(int(line[6], 16), zlib.adler32(self.data[offset:offset + size]))

    def test_json_is_one_document_with_all_events(self):
        document = self.assertEnds(run("cat", "--json", BES3, BES3), 0).json
        self.assertEqual([event["global_id"] for event in document["events"]], EVENT_NUMBERS * 2)
        self.assertTrue(document["complete"])
        self.assertEqual(document["events"][0]["path"], str(BES3))

    def test_payload_is_the_bytes_of_the_events_and_nothing_else(self):
        ended = run("cat", "--payload", BES3, binary=True)
        self.assertEqual(ended.code, 0)
        self.assertEqual(ended.out, b"".join(self.data[offset:offset + size] for offset, size in self.places))
        offset, size = self.places[6]
        self.assertEqual(run("cat", "--payload", "--event", "7", BES3, binary=True).out, self.data[offset:offset + size])

    def test_words_are_the_words_of_the_event(self):
        lines = self.assertEnds(run("cat", "--words", "--event", "2", BES3), 0).out.splitlines()[1:]
        words = [int(word, 16) for line in lines for word in line.split()[1:]]
        offset, size = self.places[1]
        self.assertEqual(words, list(struct.unpack_from(f"<{size // 4}I", self.data, offset)))
        self.assertEqual(int(lines[3].split()[0], 16), 3 * 32)

    def test_events_without_a_file_around_them_are_shown_as_those_in_one(self):
        """As GET /sample of a control port gives one, and --payload several."""
        in_file = self.assertEnds(run("cat", "--json", BES3), 0).json["events"]
        bare = self.put(self.assertEnds(run("cat", BES3, "--payload", binary=True), 0).out)
        shown = self.assertEnds(run("cat", "--json", bare), 0).json["events"]
        names = ("number", "bytes", "adler32", "global_id", "level1_id", "robs", "tags")
        self.assertEqual([[event[name] for name in names] for event in shown], [[event[name] for name in names] for event in in_file])
        self.assertEqual(self.assertEnds(run("cat", bare, "--event", "2", "--payload", binary=True), 0).out,
                         self.data[self.places[1][0]:sum(self.places[1])])
        self.assertOneLine(run("cat", bare, "--event", "11"), 3, "10 events")
        whole = bare.read_bytes()
        self.put(whole[:-4])
        cut = self.assertEnds(run("cat", "--json", bare), 1)
        self.assertEqual(len(cut.json["events"]), 9)
        self.assertIn("its header gives", cut.err)

    def test_events_limits_how_many(self):
        self.assertEqual(len(self.assertEnds(run("cat", "--json", "--events", "4", BES3), 0).json["events"]), 4)

    def test_a_cut_file_gives_its_whole_events_and_reports_it(self):
        ended = self.assertEnds(run("cat", "--json", self.put(self.data[:self.places[5][0] + 5])), 0)
        self.assertEqual(len(ended.json["events"]), 5)
        self.assertFalse(ended.json["complete"])
        self.assertIn("cut short after 5 events", ended.err)

    def test_a_damaged_event_is_named_and_hides_no_other(self):
        offset, _ = self.places[3]
        damaged = bytearray(self.data)
        damaged[offset] ^= 0x10  # its marker
        ended = self.assertEnds(run("cat", "--json", self.put(damaged)), 1)
        self.assertEqual(len(ended.json["events"]), 10)
        self.assertEqual([event["number"] for event in ended.json["events"] if "error" in event], [4])

    def test_forms_of_output_exclude_each_other(self):
        self.assertOneLine(run("cat", "--json", "--payload", BES3), 2, "choose one")

    def test_bytes_never_go_to_a_terminal(self):
        ours, its = os.openpty()
        self.addCleanup(os.close, ours)
        ended = subprocess.run([weir_program.PROGRAM, "cat", "--payload", BES3], stdin=subprocess.DEVNULL, stdout=its,
                               stderr=subprocess.PIPE, timeout=60)
        os.set_blocking(ours, False)
        os.close(its)
        self.assertEqual(ended.returncode, 2)
        self.assertIn(b"stdout is a terminal", ended.stderr)
        with self.assertRaises(OSError):  # nothing was written
            os.read(ours, 1)


class Verify(RealEvents):
    def test_a_good_file_without_index_is_checked_as_far_as_that_goes(self):
        ended = self.assertEnds(run("verify", "--json", BES3), 0).json
        self.assertEqual((ended["files"], ended["ok"], ended["bad"], ended["without_index"]), (1, 1, [], 1))
        self.assertEqual((ended["events"], ended["bytes"]), (10, len(self.data)))

    def test_reports_that_people_get_less_proof_without_an_index(self):
        self.assertIn("1 file without", self.assertEnds(run("verify", BES3), 0).out)

    def test_a_cut_file_is_damaged(self):
        ended = self.assertEnds(run("verify", "--json", self.put(self.data[:-40])), 1).json
        self.assertEqual((ended["ok"], len(ended["bad"])), (0, 1))
        self.assertEqual(ended["bad"][0]["path"], str(self.file))

    def test_a_broken_fragment_is_named_by_event_and_offset(self):
        offset, size = self.places[8]
        damaged = bytearray(self.data)
        at = damaged.index(struct.pack("<I", 0xDD1234DD), offset)
        damaged[at] ^= 1
        bad = self.assertEnds(run("verify", "--json", self.put(damaged)), 1).json["bad"]
        self.assertEqual([damage["event"] for damage in bad], [9])
        self.assertTrue(offset <= bad[0]["offset"] < offset + size)
        self.assertIn("event 9", self.assertEnds(run("verify", self.file), 1).out)

    def test_without_looking_into_events_only_the_structure_is_checked(self):
        damaged = bytearray(self.data)
        damaged[self.places[8][0] + 100] ^= 1
        self.assertEnds(run("verify", "--depth", "none", self.put(damaged)), 0)

    def test_a_folder_is_searched_for_data_files(self):
        shutil.copy(BES3, self.folder / "a.data")
        (self.folder / "b.data").write_bytes(b"no raw file")
        ended = self.assertEnds(run("verify", "--json", self.folder), 1).json
        self.assertEqual((ended["files"], ended["ok"]), (2, 1))
        self.assertEqual([damage["path"] for damage in ended["bad"]], [str(self.folder / "b.data")])

    def test_a_file_that_is_named_twice_is_read_once(self):
        self.assertEqual(self.assertEnds(run("verify", "--json", BES3, BES3), 0).json["files"], 1)

    def test_what_is_not_there_is_missing(self):
        self.assertOneLine(run("verify", self.folder / "none"), 3, "none")
        self.assertOneLine(run("verify", self.folder), 3, "neither a catalogue nor .data files")


class Recover(RealEvents):
    def test_an_open_file_without_journal_is_closed_behind_its_last_whole_event(self):
        name = "data_test.00091668.physics_Main.daq.RAW._lb0001._SFO-1._0001"
        writing = self.folder / f"{name}.writing"
        cut = self.places[6][0] + 77
        writing.write_bytes(self.data[:cut])
        ended = self.assertEnds(run("recover", "--json", writing), 0).json
        self.assertEqual((ended["files"][0]["events"], ended["files"][0]["bytes_cut"]), (6, 16 + 77))
        self.assertFalse(writing.exists())
        shown = self.assertEnds(run("show", "--json", self.folder / f"{name}.data"), 0).json
        self.assertEqual((shown["state"], shown["events"], shown["end"]["events_in_file"]), ("complete", 6, 6))
        # Nothing proves that the part of an event behind the last whole one was not acknowledged: an operator looks at it.
        self.assertIn(f"{name}.cut-1: offset 0: recovery has set this aside", self.assertEnds(run("verify", self.folder), 1).out)
        (self.folder / f"{name}.cut-1").unlink()
        self.assertEnds(run("verify", self.folder), 0)
        self.assertOneLine(run("recover", writing), 3, "is not there")
        self.assertEqual(self.assertEnds(run("recover", self.folder), 0).out, "nothing to do\n")

    def test_a_file_that_is_not_open_is_not_touched(self):
        self.put(self.data)
        self.assertOneLine(run("recover", self.file), 2, ".writing")
        self.assertEqual(self.file.read_bytes(), self.data)

    def test_a_directory_that_is_not_there_is_not_made(self):
        self.assertOneLine(run("recover", self.folder / "none"), 3, "is not there")
        self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
