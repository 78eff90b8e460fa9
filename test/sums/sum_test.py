# SPDX-License-Identifier: Apache-2.0
"""weir sum: what it prints for what it read."""
import hashlib
import json
import os
import random
import subprocess
import time

import weir_program
from sum_program import (MALFORMED, MIB, MISSING, OK, READ_ERROR, USAGE, SumTest, adler32, crc32, md5, not_tested,
                         resident_pages, sha256)
from weir_process import wait_until
from weir_program import run

SEED = 20260811


class Sums(SumTest):
    def test_several_algorithms_in_one_read(self):
        data = random.Random(SEED).randbytes(3 * MIB + 17)
        self.write("x", data)
        sums = self.sums("-a", "adler32,crc32,md5,sha256", "x")["x"]["sums"]
        self.assertEqual(sums, {"adler32": adler32(data), "crc32": crc32(data), "md5": md5(data), "sha256": sha256(data)})

    def test_the_document_has_the_promised_fields(self):
        self.write("x", b"abc")
        document = self.assertEnds(self.weir("sum", "--json", "x"), OK).json
        self.assertEqual(document["files"][0] | {"read": ""}, {"path": "x", "size": 3, "sums": {"adler32": "024d0127"}, "status": "ok",
                                                             "error": None, "read": ""})
        for key in ("seconds", "gb_per_s"):
            self.assertIsInstance(document[key], (int, float))

    def test_big_files_are_the_same_in_one_thread_and_in_many(self):
        path = self.folder / "big"
        data = random.Random(SEED).randbytes(MIB)
        with open(path, "wb") as file:
            for part in range(70):
                file.write(part.to_bytes(4, "little") + data)
        algorithms = "adler32,crc32,cksum,crc32c,crc64-xz,crc64-nvme,crc64-ecma182"
        one = self.sums("-a", algorithms, "--blocks", "1MiB", "-j", 1, "big")["big"]
        for jobs in (2, 3, 8):
            with self.subTest(jobs=jobs):
                self.assertEqual(self.sums("-a", algorithms, "--blocks", "1MiB", "-j", jobs, "big")["big"], one)
        self.assertEqual(one["sums"]["adler32"], adler32(path.read_bytes()))

    def test_names_come_in_order_whichever_is_ready_first(self):
        names = [f"f{n:03}" for n in range(200)]
        for n, name in enumerate(names):
            self.write(f"d/{name}", b"x" * (300_000 if n % 7 == 0 else n))
        listed = [line.split("(")[1].split(")")[0] for line in self.assertEnds(self.weir("sum", "-r", "-j", 4, "d"), OK).out.splitlines()]
        self.assertEqual(listed, [f"d/{name}" for name in names])

    def test_stdin_and_pipes_that_give_little_at_a_time(self):
        with self.start("sum", "-a", "crc32", "-", stdin=subprocess.PIPE) as process:
            for part in (b"ab", b"", b"c" * 70_000, b"d"):
                process.stdin.write(part)
                process.stdin.flush()
                time.sleep(0.02)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(out.decode(), f"CRC32 (-) = {crc32(b'ab' + b'c' * 70_000 + b'd')}\n")

    def test_sparse_and_empty_files(self):
        self.write("empty", b"")
        with open(self.folder / "sparse", "wb") as file:
            file.truncate(40 * MIB + 1)
        sums = self.sums("-a", "crc32", "empty", "sparse")
        self.assertEqual(sums["empty"]["sums"]["crc32"], "00000000")
        self.assertEqual(sums["sparse"]["sums"]["crc32"], crc32(bytes(40 * MIB + 1)))

    def test_a_file_above_4_gib(self):
        with open(self.folder / "large", "wb") as file:
            file.truncate((4 << 30) + 5)
            file.seek(4 << 30)
            file.write(b"tail!")
        one = self.sums("-a", "adler32,crc32c", "-j", 1, "large")["large"]
        self.assertEqual(one["size"], (4 << 30) + 5)
        self.assertEqual(self.sums("-a", "adler32,crc32c", "-j", 4, "large")["large"], one)
        # adler32 of n zeros is n mod 65521 above and 1 below; then the tail.
        a, b = 1, (4 << 30) % 65521
        for byte in b"tail!":
            a = (a + byte) % 65521
            b = (b + a) % 65521
        self.assertEqual(one["sums"]["adler32"], f"{b:04x}{a:04x}")

    def test_direct_and_nocache_give_the_same_and_report_what_was_done(self):
        data = random.Random(SEED).randbytes(5 * MIB + 123)
        path = self.write("x", data)
        os.sync()
        for option, word in ((None, {"cache"}), ("--nocache", {"dropped"}), ("--direct", {"direct", "dropped"})):
            with self.subTest(option=option):
                file = self.sums("-a", "adler32,md5", *([option] if option else []), "x")["x"]
                self.assertEqual((file["sums"]["adler32"], file["sums"]["md5"]), (adler32(data), md5(data)))
                self.assertIn(file["read"], word)
        path.write_bytes(b"")

    def test_a_cold_file_stays_cold_without_cache(self):
        for size in (5000, 200_000, 5 * MIB + 123, 40 * MIB):
            with self.subTest(size=size):
                path = self.write("x", os.urandom(size))
                with open(path, "r+b") as file:
                    os.fsync(file)
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                if resident_pages(path)[0] > 0:
                    not_tested("--nocache", f"{path} cannot be thrown out of the page cache (tmpfs?)")
                    return self.skipTest("no cold files here")
                self.assertEnds(self.weir("sum", "--nocache", "x"), OK)
                self.assertEqual(resident_pages(path)[0], 0, "pages stayed")
                self.assertEnds(self.weir("sum", "x"), OK)
                self.assertEqual(*resident_pages(path))
                self.assertEnds(self.weir("sum", "--nocache", "x"), OK)  # what was there before stays
                self.assertEqual(*resident_pages(path))

    def test_the_bandwidth_limit_holds(self):
        self.write("x", bytes(4 * MIB))
        begin = time.monotonic()
        self.assertEnds(self.weir("sum", "--bwlimit", "8MiB", "x"), OK)
        self.assertGreater(time.monotonic() - begin, 0.35)

    def test_an_idle_sum_is_idle_in_every_thread(self):
        os.mkfifo(self.folder / "fifo")
        process = self.start("sum", "--idle", "fifo")
        with open(self.folder / "fifo", "wb") as fifo:  # it waits for more
            fifo.write(b"abc")
            fifo.flush()
            threads = lambda: os.listdir(f"/proc/{process.pid}/task")  # idle threads wait while others work
            wait_until(lambda: len(threads()) > 1, "it has threads")
            for thread in threads():
                wait_until(lambda: os.sched_getscheduler(int(thread)) == os.SCHED_IDLE, f"thread {thread} is idle")
                if self.tool("ionice"):
                    wait_until(lambda: self.outside("ionice", "-p", thread).out == "idle\n", f"thread {thread} reads when no other program does")
        out, err = process.communicate(timeout=300)
        self.assertEqual((process.returncode, out, err), (OK, b"ADLER32 (fifo) = 024d0127\n", b""))

    def test_names_from_a_list_by_line_and_by_nul(self):
        self.write("a b", b"1")
        self.write("c\nd", b"2")
        (self.folder / "names").write_bytes(b"a b\0c\nd\0")
        self.assertEqual(set(self.sums("--files-from", "names", "--from0")), {"a b", "c\nd"})
        (self.folder / "names").write_bytes(b"a b\n")
        self.assertEqual(set(self.sums("--files-from", "names")), {"a b"})


class Ranges(SumTest):
    def setUp(self):
        super().setUp()
        self.data = random.Random(SEED).randbytes(3 * MIB + 17)
        self.write("x", self.data)

    def test_the_sums_of_a_part_in_any_way_of_reading(self):
        for text, begin, end in (("0:4KiB", 0, 4096), ("1MiB:1000", MIB, MIB + 1000), ("4097:2MiB", 4097, 4097 + 2 * MIB), ("3MiB:", 3 * MIB, None),
                                 ("5:", 5, None), (f"{len(self.data)}:0", len(self.data), None), ("7:0", 7, 7)):
            for more in ((), ("--direct",), ("--nocache",)):
                with self.subTest(range=text, more=more):
                    part = self.data[begin:end]
                    ended = self.assertEnds(self.weir("sum", "-a", "adler32,sha256", "--range", text, *more, "x"), OK)
                    self.assertEqual(ended.out, f"adler32 (x)[{begin}:{len(part)}] = {adler32(part)}\nsha256 (x)[{begin}:{len(part)}] = {sha256(part)}\n")

    def test_it_is_no_manifest_of_the_whole_file(self):
        for more in ((), ("--json",)):
            out = self.assertEnds(self.weir("sum", "--range", f"0:{len(self.data)}", *more, "x"), OK).out
            (self.folder / "part").write_text(out)
            self.assertEqual(self.weir("check", "part").code, MALFORMED)
        document = self.weir("sum", "--range", "1:2", "--json", "x", "gone").json
        self.assertEqual(document, {"ranges": [{"path": "x", "offset": 1, "length": 2, "sums": {"adler32": adler32(self.data[1:3])}, "status": "ok", "error": None},
                                               {"path": "gone", "offset": 1, "length": None, "sums": {}, "status": "missing",
                                                "error": {"offset": None, "errno": 2, "text": "No such file or directory"}}], "interrupted": False})
        odd = os.fsdecode(b"\xff")
        self.write(odd, self.data)
        self.assertEqual([(one["path"], one.get("path_hex")) for one in self.weir("sum", "--range", "1:2", "--json", "x", odd).json["ranges"]],
                         [("x", None), ("\\xff", "ff")])
        for more in (("-r",), ("-o", "f"), ("--xattr", "write"), ("-f", "gnu"), ("--blocks", "1MiB"), ("--files-from", "x"), ("--zero",), ("--paranoid",)):
            self.assertOneLine(self.weir("sum", "--range", "0:1", *more, "x"), USAGE, "--range")

    def test_what_is_not_there_has_no_sum(self):
        for text in (f"0:{len(self.data) + 1}", f"{len(self.data) + 1}:", "1:18446744073709551615", "18446744073709551615:"):
            self.assertOneLine(self.weir("sum", "--range", text, "x"), READ_ERROR, f"it has {len(self.data)} bytes")
        self.assertOneLine(self.weir("sum", "--range", "0:1", "gone"), MISSING, "gone")
        self.assertOneLine(self.weir("sum", "--range", "0:1", "-"), READ_ERROR, "no regular file")
        for text in ("x", "1:x", "-1:2", ":5", "", "1:2:3"):
            self.assertOneLine(self.weir("sum", f"--range={text}", "x"), USAGE, "--range")

    def test_one_number_alone_gives_neither_where_it_begins_nor_how_long_it_is(self):
        self.assertOneLine(self.weir("sum", "--range", "5", "x"), USAGE, '"5" is not a range', "OFF:LEN", "OFF: ")


class Usage(SumTest):
    def test_what_makes_no_sense_is_one_line(self):
        self.write("x")
        for arguments, words in ((("-a", "adler23", "x"), ("adler23", 'did you mean "adler32"?')), ((), ("FILE is missing",)),
                                 (("-f", "gnu", "-a", "md5,sha1", "x"), ("one algorithm",)), (("-f", "sfv", "-a", "md5", "x"), ("crc32",)),
                                 (("--blocks", "1000", "x"), ("multiple of 4KiB",)), (("-j", "0", "x"), ("--jobs",)),
                                 (("--zero", "--json", "x"), ("--zero",)), (("--direct", "--nocache", "x"), ("--direct",))):
            with self.subTest(arguments=arguments):
                self.assertOneLine(self.weir("sum", *arguments), USAGE, *words)


class Combine(SumTest):
    def test_the_sum_of_two_pieces(self):
        a, b = random.Random(SEED).randbytes(1000), random.Random(SEED + 1).randbytes(2345)
        for algorithm in ("adler32", "crc32", "cksum", "crc32c", "crc64-xz", "crc64-nvme", "crc64-ecma182"):
            with self.subTest(algorithm=algorithm):
                for name, data in (("a", a), ("b", b), ("ab", a + b)):
                    self.write(name, data)
                sums = {name: file["sums"][algorithm] for name, file in self.sums("-a", algorithm, "a", "b", "ab").items()}
                combined = self.assertEnds(run("combine", algorithm, sums["a"], sums["b"], len(b), len(a)), OK)
                self.assertEqual(combined.out, sums["ab"] + "\n")

    def test_what_cannot_be_combined_is_usage(self):
        self.assertOneLine(run("combine", "md5", "0" * 32, "0" * 32, 1), USAGE, "md5")
        self.assertOneLine(run("combine", "cksum", "0" * 8, "0" * 8, 1), USAGE, "LENGTH_A")
        self.assertOneLine(run("combine", "adler32", "xyz", "0" * 8, 1), USAGE, "SUM_A")
        self.assertOneLine(run("combine", "crc32", "ab", "000000cd", 3), USAGE, "SUM_A", "leading zeros")
        self.assertOneLine(run("combine", "crc32", "000000ab", "cd", 3), USAGE, "SUM_B", "leading zeros")
        self.assertOneLine(run("combine", "crc32", "000000ab"), USAGE, "--pieces")

    def test_the_sum_of_many_pieces(self):
        pieces = [random.Random(SEED + n).randbytes(100 * n) for n in range(5)]
        whole = self.write("whole", b"".join(pieces))
        for algorithm in ("adler32", "cksum", "crc64-nvme"):
            names = [str(self.write(f"p{n}", piece)) for n, piece in enumerate(pieces)]
            sums = self.sums("-a", algorithm, *names, whole)
            lines = "".join(f"{sums[name]['sums'][algorithm]} {len(piece)}\n" for name, piece in zip(names, pieces))
            self.write("pieces", lines.encode())
            combined = self.assertEnds(self.weir("combine", algorithm, "--pieces", "pieces"), OK)
            self.assertEqual(combined.out, sums[str(whole)]["sums"][algorithm] + "\n")
        self.write("pieces", b"024d0127 3\n024d0127\n")
        self.assertOneLine(self.weir("combine", "adler32", "--pieces", "pieces"), USAGE, "pieces:2")


class Updates(SumTest):
    """A manifest that is brought up to date."""

    def setUp(self):
        super().setUp()
        for name in ("d/a", "d/b", "d/gone"):
            self.write(name, name.encode())
        self.assertEnds(self.weir("sum", "-a", "sha512,crc32c", "-r", "d", "-o", "d/SUMS"), OK)
        self.write("d/b", b"another content")
        self.write("d/deep/new", b"new")
        os.unlink(self.folder / "d/gone")
        self.before = (self.folder / "d/SUMS").read_text()
        self.added = "".join(f"{tag} (d/deep/new) = {value}\n" for tag, value in
                             (("SHA512", hashlib.sha512(b"new").hexdigest()), ("CRC32C", self.sums("-a", "crc32c", "d/deep/new")["d/deep/new"]["sums"]["crc32c"])))

    def test_new_files_are_added_and_the_others_are_not_read(self):
        os.chmod(self.folder / "d/SUMS", 0o640)
        ended = self.assertEnds(self.weir("sum", "--update", "add", "-r", "./d", "-o", "d/SUMS"), MISSING)
        self.assertIn("d/gone is not there; its sums stay in d/SUMS\n", ended.err)
        self.assertIn("d/SUMS: 1 file added, 0 made anew, 1 not there, 2 not read\n", ended.err)
        self.assertEqual((self.folder / "d/SUMS").read_text(), self.before + self.added.replace("(d/", "(./d/"))
        self.assertEqual(os.stat(self.folder / "d/SUMS").st_mode & 0o777, 0o640)
        self.assertEqual(self.weir("sum", "--update", "add", "-r", "d", "-o", "d/SUMS").err.count("0 files added"), 1)

    def test_changed_files_are_summed_anew_when_that_is_asked_for(self):
        ended = self.assertEnds(self.weir("sum", "--update", "replace", "-r", "d", "-o", "d/SUMS"), MISSING)
        self.assertIn("d/b has other bytes than in d/SUMS; its sums were made anew\n", ended.err)
        self.assertIn("d/SUMS: 1 file added, 1 made anew, 1 not there, 0 not read\n", ended.err)
        os.unlink(self.folder / "d/b")
        files = self.checked("d/SUMS", code=MISSING)
        self.assertEqual({name: file["status"] for name, file in files.items()}, {"d/a": "ok", "d/b": "missing", "d/gone": "missing", "d/deep/new": "ok"})
        self.assertEqual(files["d/b"]["expected"]["sha512"], hashlib.sha512(b"another content").hexdigest())

    def test_the_form_of_the_manifest_stays(self):
        for form, algorithm in (("gnu", "sha384"), ("csv", "md5,crc32"), ("hashdeep", "md5,sha256"), ("sfv", "crc32"), ("cksum", "cksum")):
            with self.subTest(form=form):
                self.assertEnds(self.weir("sum", "-f", form, "-a", algorithm, "d/a", "-o", "made"), OK)
                self.assertEnds(self.weir("sum", "--update", "replace", "d/deep/new", "-o", "made"), OK)
                self.assertEqual(list(self.checked("made", code=OK)), ["d/a", "d/deep/new"])

    def test_comments_stay_where_they_are(self):
        lines = self.before.splitlines(keepends=True)
        (self.folder / "d/SUMS").write_text("# of the run\n" + "".join(lines[:2]) + "# b and gone:\n# two lines\n" + "".join(lines[2:]) + "# the end\n")
        for kind in ("add", "replace"):
            before = (self.folder / "d/SUMS").read_text()
            self.assertEnds(self.weir("sum", "--update", kind, "d/deep/new", "-o", "d/SUMS"), MISSING)
            self.assertEqual([line for line in (self.folder / "d/SUMS").read_text().splitlines() if line.startswith("#")],
                             [line for line in before.splitlines() if line.startswith("#")])
        after = (self.folder / "d/SUMS").read_text().splitlines(keepends=True)
        self.assertEqual(after[:6], ["# of the run\n", *lines[:2], "# b and gone:\n", "# two lines\n", after[5]])
        self.assertIn("(d/b)", after[5])
        self.assertEqual(after[-3:], ["# the end\n", *self.added.splitlines(keepends=True)])

    def test_headers_and_block_maps_are_no_comments(self):
        for form, algorithm in (("sfv", "crc32"), ("hashdeep", "md5,sha256")):
            self.assertEnds(self.weir("sum", "-f", form, "-a", algorithm, "d/a", "-o", "made"), OK)
            before = (self.folder / "made").read_text().splitlines()
            with open(self.folder / "made", "a", encoding="ascii") as made:
                made.write("; mine\n" if form == "sfv" else "# mine\n")
            for _ in range(2):
                self.assertEnds(self.weir("sum", "--update", "add", "d/a", "-o", "made"), OK)
            after = (self.folder / "made").read_text().splitlines()
            self.assertEqual(len(after), len(before) + 1)
            self.assertEqual((after[0], after[-2:]), (before[0], [before[-1], "; mine" if form == "sfv" else "# mine"]))
        self.assertEnds(self.weir("sum", "--blocks", "4KiB", "d/a", "-o", "made"), OK)
        before = (self.folder / "made").read_text()
        self.assertEnds(self.weir("sum", "--update", "add", "d/a", "-o", "made"), OK)
        self.assertEqual((self.folder / "made").read_text(), before)

    def test_a_json_document_is_updated(self):
        self.assertEnds(self.weir("sum", "-f", "json", "-a", "md5,crc32", "d/a", "d/b", "d/none", "-o", "made.json"), MISSING)
        self.write("d/b", b"changed once more")
        self.write("d/none", b"it came")
        ended = self.assertEnds(self.weir("sum", "--update", "add", "d/none", "-o", "made.json"), OK)
        self.assertIn("made.json: 1 file added, 0 made anew, 0 not there, 2 not read\n", ended.err)
        document = json.loads((self.folder / "made.json").read_text())
        self.assertEqual([file["path"] for file in document["files"]], ["d/a", "d/b", "d/none"])
        self.assertEqual(document["files"][2]["sums"]["md5"], hashlib.md5(b"it came").hexdigest())
        ended = self.assertEnds(self.weir("sum", "--update", "replace", "-o", "made.json"), OK)
        self.assertIn("0 files added, 1 made anew", ended.err)
        self.assertEqual({name: file["status"] for name, file in self.checked("made.json", code=OK).items()},
                         {"d/a": "ok", "d/b": "ok", "d/none": "ok"})

    def test_what_cannot_be_kept_as_a_whole_is_not_touched(self):
        self.assertEnds(self.weir("sum", "-f", "json", "d/a", "-o", "made.json"), OK)
        with open(self.folder / "made.json", "a", encoding="ascii") as made:
            made.write("}")
        (self.folder / "broken").write_text(self.before + "what is this\n")
        (self.folder / "twice").write_text(self.before + self.before)
        (self.folder / "short").write_text("900150983cd24fb0d6963f7d28e17f72  d/a\n")
        for manifest, why in (("made.json", "is broken at byte"), ("broken", "line 7 is not understood"), ("twice", "names d/a again"), ("short", "name it with -a"), ("absent", "cannot open")):
            with self.subTest(manifest=manifest):
                path = self.folder / manifest
                before = path.read_bytes() if path.exists() else None
                ended = self.weir("sum", "--update", "add", "d/a", "-o", manifest)
                self.assertOneLine(ended, MISSING if before is None else USAGE, "--update", why)
                self.assertEqual(path.read_bytes() if path.exists() else None, before)
        for arguments in (("--update", "add", "d/a"), ("--update", "add", "-f", "gnu", "-o", "broken"), ("--update", "add", "-a", "md5", "-o", "d/SUMS")):
            self.assertOneLine(self.weir("sum", *arguments), USAGE, "--update")


if __name__ == "__main__":
    weir_program.main()
