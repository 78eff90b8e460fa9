# SPDX-License-Identifier: Apache-2.0
"""weir check: every form of manifest, written by us and by the usual tools, and what is wrong with manifests."""
import csv
import os
import random
import re
import subprocess

import weir_program
from sum_program import (MALFORMED, MIB, MISMATCH, MISSING, OK, READ_ERROR, USAGE, SumTest, adler32, crc32, md5, not_tested, sha256)
from weir_program import run

SEED = 20260811
NAMES = [b"plain", b"with blank", b"-dash", b"*star", b"back\\slash", b"new\nline", b"carriage\rreturn", b"caf\xc3\xa9", b"not utf-8 \xff\xfe",
         b"quote\"'", b"a, comma", b") = 00000000", b"deep/er/name", b" leading", b"trailing ", b"#hash", b"; semicolon", b"{brace", b"x" * 255,
         b"/".join([b"y" * 200] * 20)]


class RoundTrips(SumTest):
    def setUp(self):
        super().setUp()
        self.names = []
        for number, name in enumerate(NAMES):
            self.write(name, b"content of number %d" % number)
            self.names.append(name)

    def relative(self):
        return [b"./" + name for name in self.names]

    def test_every_form_holds_its_names_or_refuses_them(self):
        for form, more, cannot in (("bsd", ("-a", "adler32,sha256"), ()), ("gnu", ("-a", "md5"), ()), ("json", ("-a", "all"), ()),
                                   ("sfv", (), (b"\n", b"\r", b"trailing ")), ("cksum", (), (b"\n", b"\r")),
                                   ("hashdeep", ("-a", "md5,sha256"), (b"\n", b"\r")), ("csv", ("-a", "adler32,md5"), ()),
                                   ("xrootd", ("-a", "crc32c"), (b"\n", b"\r"))):
            with self.subTest(form=form):
                refused = [name for name in self.names if any(mark in name for mark in cannot)]
                ended = self.outside(weir_program.PROGRAM, "sum", "-f", form, *more, "-o", "manifest", "--", *map(os.fsdecode, self.relative()))
                self.assertEqual(ended.code, READ_ERROR if refused else OK, repr(ended))
                self.assertEqual(ended.err.count(f"--format {form} cannot hold"), len(refused), repr(ended))
                checked = self.assertEnds(self.weir("check", "--json", "manifest"), OK).json
                # What was refused stands in JSON only, which has a line for every file.
                self.assertEqual((checked["ok"], len(checked["files"])), (len(self.names) - len(refused),) * 2)

    def test_lines_that_end_with_nul_hold_every_name(self):
        for form in ("bsd", "gnu"):
            self.outside(weir_program.PROGRAM, "sum", "-a", "md5", "-f", form, "--zero", "-o", "manifest", "--", *map(os.fsdecode, self.relative()))
            self.assertEqual(self.assertEnds(self.weir("check", "--zero", "--json", "-a", "md5", "manifest"), OK).json["ok"], len(self.names))

    def test_the_usual_tools_read_ours(self):
        names = list(map(os.fsdecode, self.relative()))
        for tool, form, algorithm, check in (("md5sum", "gnu", "md5", ("-c",)), ("md5sum", "bsd", "md5", ("-c",)), ("sha1sum", "gnu", "sha1", ("-c",)),
                                             ("sha256sum", "gnu", "sha256", ("-c",)), ("cksum", "bsd", "sha256", ("-c",)), ("sha224sum", "gnu", "sha224", ("-c",)),
                                             ("sha384sum", "bsd", "sha384", ("-c",)), ("sha512sum", "gnu", "sha512", ("-c",)), ("sha512sum", "bsd", "sha512", ("-c",)),
                                             ("b2sum", "gnu", "blake2b", ("-c",)), ("b2sum", "bsd", "blake2b", ("-c",)), ("cksum", "bsd", "sha512", ("-c",))):
            if self.tool(tool):
                with self.subTest(tool=tool, form=form):
                    self.outside(weir_program.PROGRAM, "sum", "-f", form, "-a", algorithm, "-o", "manifest", "--", *names)
                    self.assertEnds(self.outside(tool, *check, "--strict", "manifest"), 0)
        self.write("plain name", b"1")
        for tool, form, algorithm, check in (("b3sum", "gnu", "blake3", ("-c",)), ("xxhsum", "bsd", "xxh3-128", ("-c",)), ("xxhsum", "gnu", "xxh64", ("-c",)), ("xxhsum", "bsd", "xxh3-64", ("-c",)), ("xxhsum", "gnu", "xxh32", ("-c",)), ("xxhsum", "bsd", "xxh32", ("-c",)),
                                             ("rhash", "bsd", "sha512", ("-c",)), ("rhash", "bsd", "sha3-256", ("-c",)), ("rhash", "bsd", "blake2b", ("-c",)),
                                             ("rhash", "sfv", "crc32", ("-c",)), ("rhash", "bsd", "crc32", ("-c",)), ("rhash", "gnu", "md5", ("-c",)),
                                             ("hashdeep", "hashdeep", "md5,sha256", ("-l", "-a", "-k"))):
            if self.tool(tool):
                with self.subTest(tool=tool, form=form):
                    self.assertEnds(self.weir("sum", "-f", form, "-a", algorithm, "-o", "manifest", "plain name", "plain"), OK)
                    more = ("plain name", "plain") if tool == "hashdeep" else ()
                    self.assertEnds(self.outside(tool, *check, "manifest", *more), 0)
                    self.write("plain", b"not what it was")
                    self.assertNotEqual(self.outside(tool, *check, "manifest", *more).code, 0)
                    self.write("plain", b"content of number 0")

    def test_lines_of_xxh3_are_those_of_newer_xxhsums(self):
        """Up to 0.8.1 xxhsum had no lines of GNU's form for this sum, and wrote the other form."""
        if not self.tool("xxhsum"):
            return
        self.write("x", b"abc")
        self.assertEnds(self.weir("sum", "-f", "gnu", "-a", "xxh3-64", "-o", "manifest", "x"), OK)
        version = re.search(r"(\d+)\.(\d+)\.(\d+)", "".join(vars(self.outside("xxhsum", "--version"))[part] for part in ("out", "err")))
        if tuple(map(int, version.groups())) < (0, 8, 2):
            return not_tested(f"{self.id()} with xxhsum", f"it is {version.group()}, and 0.8.2 is the first that has them")
        self.assertEnds(self.outside("xxhsum", "-c", "manifest"), 0)
        self.assertEqual((self.folder / "manifest").read_text(), self.outside("xxhsum", "-H3", "x").out)

    def test_we_read_those_of_the_usual_tools(self):
        names = ["plain", "with blank", "a, comma"]
        for tool, arguments, more in (("md5sum", (), ()), ("md5sum", ("--tag",), ()), ("md5sum", ("-b",), ()), ("sha1sum", (), ()),
                                      ("sha256sum", (), ()), ("cksum", (), ()), ("cksum", ("-a", "sha256"), ()), ("b3sum", (), ()),
                                      ("xxhsum", ("-H3",), ()), ("xxhsum", ("-H1",), ()), ("xxhsum", ("-H128",), ()), ("xxhsum", ("--tag", "-H128"), ()),
                                      ("rhash", ("--sfv",), ()), ("rhash", ("--bsd", "--crc32c"), ()), ("rhash", ("--crc32", "--simple"), ()),
                                      ("hashdeep", ("-l", "-c", "md5,sha1,sha256,tiger"), ()),
                                      ("sha224sum", (), ()), ("sha384sum", (), ()), ("sha384sum", ("--tag",), ()), ("sha512sum", (), ()), ("sha512sum", ("--tag",), ()),
                                      ("b2sum", (), ()), ("b2sum", ("--tag",), ()), ("cksum", ("-a", "blake2b"), ()), ("cksum", ("-a", "sha384"), ()),
                                      ("xxhsum", ("-H0",), ()), ("xxhsum", ("-H0", "--tag"), ()), ("rhash", ("--bsd",), ()),
                                      ("rhash", ("--bsd", "--md5", "--sha1", "--sha224", "--sha512", "--sha3-256", "--blake2b"), ()), ("rhash", ("--sha512",), ()),
                                      ("openssl", ("md5",), ()), ("openssl", ("sha512",), ()), ("openssl", ("dgst", "-sha3-256"), ()), ("openssl", ("blake2b512",), ()),
                                      ("sha256deep", ("-z", "-l"), ()), ("md5deep", ("-z", "-l"), ()), ("sha1deep", ("-l",), ())):
            if not self.tool(tool):
                continue
            with self.subTest(tool=tool, arguments=arguments):
                made = self.outside(tool, *arguments, *names)
                self.assertEnds(made, 0)
                self.write("made", made.out.encode())
                checked = self.assertEnds(self.weir("check", "--json", *more, "made"), OK).json
                self.assertEqual(checked["ok"], 3)
                before = self.write("plain", b"not what it was")
                self.assertEnds(self.weir("check", *more, "made"), MISMATCH)
                before.write_bytes(b"content of number 0")

    def test_names_with_line_breaks_of_the_usual_tools(self):
        if self.tool("md5sum"):
            self.write("made", self.outside("md5sum", "new\nline", "back\\slash").out.encode())
            self.assertEnds(self.weir("check", "made"), OK)


class Tables(SumTest):
    def test_a_table_is_what_other_programs_read(self):
        names = ["plain", 'quote"s', "new\nline", "a, comma", " blank "]
        for name in names:
            self.write(name, name.encode())
        self.assertEnds(self.weir("sum", "-f", "csv", "-a", "md5,adler32", "-o", "table.csv", *names), OK)
        with open(self.folder / "table.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, strict=True))
        self.assertEqual(rows, [["path", "size", "md5", "adler32"], *([n, str(len(n)), md5(n.encode()), adler32(n.encode())] for n in names)])
        self.write("new\nline", b"rot")
        self.assertEqual([file["status"] for file in self.checked("table.csv", code=MISMATCH).values()], ["ok", "ok", "mismatch", "ok", "ok"])

    def test_lines_are_those_of_the_tools_of_xrootd(self):
        self.write("x", b"abc")
        for tool, algorithm in (("xrdadler32", "adler32"), ("xrdcrc32c", "crc32c")):
            if self.tool(tool):
                theirs = self.assertEnds(self.outside(tool, "x"), 0)
                self.assertEqual(self.assertEnds(self.weir("sum", "-f", "xrootd", "-a", algorithm, "x"), OK).out, theirs.out)
        self.assertEqual(self.weir("sum", "-f", "xrootd", "x").out, "024d0127 x\n")

    def test_what_they_cannot_hold_is_refused(self):
        self.write("12 monkeys")
        self.write("x")
        self.assertOneLine(self.weir("sum", "-f", "xrootd", "12 monkeys"), READ_ERROR, "a number in front")
        self.assertOneLine(self.weir("sum", "-f", "xrootd", "-a", "md5,sha1", "x"), USAGE, "one algorithm")
        for form in ("csv", "xrootd"):
            self.assertOneLine(self.weir("sum", "-f", form, "--zero", "x"), USAGE, "--zero")
            self.assertOneLine(self.weir("sum", "-f", form, "--blocks", "1MiB", "x"), USAGE, "--blocks")


class Verdicts(SumTest):
    def setUp(self):
        super().setUp()
        self.write("x", b"abc")

    def check(self, manifest, code, *arguments):
        self.write("manifest", manifest if isinstance(manifest, bytes) else manifest.encode())
        return self.assertEnds(self.weir("check", *arguments, "manifest"), code)

    def test_each_exit_code(self):
        good = f"MD5 (x) = {md5(b'abc')}\n"
        wrong = f"MD5 (x) = {md5(b'abd')}\n"
        absent = f"MD5 (absent) = {md5(b'abc')}\n"
        self.check(good, OK)
        self.assertIn("x: MISMATCH (md5 is 9001", self.check(wrong, MISMATCH).out)
        self.assertIn("absent: MISSING", self.check(good + absent, MISSING).out)
        self.check(good + "rubbish\n", MALFORMED)
        self.check(absent + "rubbish\n" + wrong, MISMATCH)
        self.check("MD5 (.) = " + md5(b"abc") + "\n", READ_ERROR)
        self.assertIn("cannot open the manifest nowhere", self.assertEnds(self.weir("check", "nowhere"), MISSING).err)
        self.assertOneLine(self.weir("check"), USAGE, "MANIFEST is missing")

    def test_a_manifest_without_sums_proves_nothing(self):
        for text in (b"", b"\n\n", b"# only a comment\n", b"; only a comment\n", b"\xef\xbb\xbf", b'{"files":[]}', b"%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n"):
            with self.subTest(text=text):
                self.assertIn("has no sums in it", self.check(text, MALFORMED).err)

    def test_what_is_malformed_hides_nothing_behind_it(self):
        ended = self.check(f"MD5 (x) = 900150983cd24fb0d6963f7d28e17f7\n\nADLER32 x = 1\nMD5 (x) = {md5(b'abc')}\nMD5 (x", MALFORMED)
        self.assertIn("x: OK", ended.out)
        for line in ("manifest:1:", "manifest:3:", "manifest:5:"):
            self.assertIn(line, ended.err)

    def test_windows_line_ends_byte_order_marks_and_capitals(self):
        self.check(b"\xef\xbb\xbf" + md5(b"abc").upper().encode() + b" *x\r\n" + md5(b"abc").encode() + b"  x\r\n", OK)
        self.check(b"; a comment\r\nx " + crc32(b"abc").upper().encode() + b"\r\n", OK)
        self.check("md5 (x) = " + md5(b"abc").upper(), OK)
        self.assertIn("UTF-16", self.check("MD5 (x) = 1\n".encode("utf-16"), MALFORMED).err)

    def test_an_adler32_without_its_leading_zeros_is_taken_with_a_warning(self):
        self.assertTrue(adler32(b"abc").startswith("0"))
        self.assertIn("leading zeros", self.check(f"ADLER32 (x) = {adler32(b'abc')[1:]}\n", OK).err)
        self.assertIn("leading zeros", self.check(f"{adler32(b'abc')[1:]} x\n", OK, "-a", "adler32").err)
        self.check(f"CRC32 (x) = {crc32(b'abc')[1:]}\n", MALFORMED)

    def test_one_name_with_two_sums_cannot_be_good(self):
        ended = self.check(f"MD5 (x) = {md5(b'abc')}\nMD5 (x) = {md5(b'abd')}\n", MISMATCH)
        self.assertEqual(sorted(line.split(":")[1].split()[0] for line in ended.out.splitlines()), ["MISMATCH", "OK"])
        self.check(f"{md5(b'abc')}  x\n{md5(b'abc')}  x\n", OK)

    def test_the_wrong_algorithm_is_no_mismatch_but_malformed(self):
        self.check(f"{md5(b'abc')}  x\n", MALFORMED, "-a", "sha256")
        self.check(f"{sha256(b'abc')}  x\n", OK, "-a", "sha256")
        self.check(f"{sha256(b'abc')}  x\n", MISMATCH, "-a", "blake3")
        self.assertIn("tried", self.check(f"{sha256(b'abc')}  x\n", OK).err)

    def test_names_outside_need_permission(self):
        (self.folder / "inner").mkdir()
        line = f"MD5 (../x) = {md5(b'abc')}\n"
        self.write("inner/manifest", line.encode())
        ended = self.assertEnds(self.weir("check", "manifest", cwd=self.folder / "inner"), MALFORMED)
        self.assertIn("--allow-outside", ended.out)
        self.assertEnds(self.weir("check", "--allow-outside", "manifest", cwd=self.folder / "inner"), OK)
        self.check("MD5 (/etc/passwd) = " + md5(b"abc"), MALFORMED)
        self.check(f"MD5 (inner/../x) = {md5(b'abc')}\n", OK)
        self.check(f"MD5 ({self.folder}/x) = {md5(b'abc')}\n", OK)  # absolute, and inside

    def test_a_fifo_in_a_manifest_is_not_waited_for(self):
        os.mkfifo(self.folder / "fifo")
        self.assertIn("a FIFO", self.check(f"MD5 (fifo) = {md5(b'')}\n", READ_ERROR).out)

    def test_a_directory_in_a_manifest_is_an_error_without_advice_that_a_check_does_not_take(self):
        (self.folder / "inner").mkdir()
        ended = self.check(f"MD5 (inner) = {md5(b'')}\n", READ_ERROR)
        self.assertIn("inner is a directory, and the manifest has the sum of a file", ended.err)
        self.assertNotIn("-r ", ended.err)

    def test_missing_files_can_be_ignored_unless_all_are(self):
        absent = f"MD5 (absent) = {md5(b'abc')}\n"
        self.check(f"MD5 (x) = {md5(b'abc')}\n" + absent, OK, "--ignore-missing")
        self.assertIn("nothing was checked", self.check(absent, MISSING, "--ignore-missing").err)

    def test_a_file_of_which_no_sum_was_made_is_not_ok(self):
        self.assertIn("x: UNVERIFIED", self.check('{"files":[{"path":"x","size":3,"sums":{},"status":"error"}]}', MISSING).out)

    def test_a_document_that_is_cut_off_is_malformed(self):
        document = self.assertEnds(self.weir("sum", "--json", "x"), OK).out
        for size in range(1, len(document) - 3, 7):
            self.check(document[:size], MALFORMED)

    def test_standard_input(self):
        ended = self.outside("sh", "-c", f"'{weir_program.PROGRAM}' sum -a md5 x | '{weir_program.PROGRAM}' check -")
        self.assertEqual((ended.code, ended.out), (OK, "x: OK\n"))

    def test_output_that_does_not_arrive_is_no_mismatch(self):
        self.write("manifest", f"MD5 (x) = {md5(b'abc')}\n".encode())
        for arguments in ((), ("--json",)):
            with open("/dev/full", "wb") as full:
                ended = subprocess.run([weir_program.PROGRAM, "check", *arguments, "manifest"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual((ended.returncode, ended.stderr.count(b"cannot write to stdout: No space left on device")), (READ_ERROR, 1), ended.stderr)

    def test_names_begin_in_the_directory_that_was_given(self):
        self.write("manifest", f"MD5 (x) = {md5(b'abc')}\n".encode())
        self.assertEnds(run("check", "-C", self.folder, self.folder / "manifest"), OK)
        self.assertEnds(run("check", self.folder / "manifest", cwd="/"), MISSING)

    def test_json_has_every_file_and_its_status(self):
        self.write("manifest", f"MD5 (x) = {md5(b'abc')}\nMD5 (x) = {md5(b'y')}\nMD5 (absent) = {md5(b'')}\n".encode())
        document = self.assertEnds(self.weir("check", "--json", "manifest"), MISMATCH).json
        self.assertEqual([file["status"] for file in document["files"]], ["ok", "mismatch", "missing"])
        self.assertEqual(document["files"][1]["expected"], {"md5": md5(b"y")})
        self.assertEqual((document["ok"], document["mismatch"], document["missing"]), (1, 1, 1))


class Blocks(SumTest):
    def test_the_damaged_block_is_named(self):
        data = bytearray(random.Random(SEED).randbytes(5 * MIB + 1000))
        self.write("x", bytes(data))
        for form, algorithm in (("bsd", "adler32"), ("json", "md5"), ("gnu", "md5"), ("sfv", "crc32"), ("hashdeep", "md5")):
            self.assertEnds(self.weir("sum", "-a", algorithm, "-f", form, "--blocks", "1MiB", "-o", f"{form}.m", "x"), OK)
            self.assertEnds(self.weir("check", f"{form}.m"), OK)
        damaged = bytearray(data)
        damaged[3 * MIB + 77] ^= 1
        self.write("x", bytes(damaged))
        for form in ("bsd", "json", "gnu", "sfv", "hashdeep"):
            with self.subTest(form=form):
                ended = self.assertEnds(self.weir("check", f"{form}.m"), MISMATCH)
                self.assertIn(f"1 block differs of 6, the first at offset {3 * MIB}", ended.out)
                damage = self.checked(f"{form}.m", code=MISMATCH)["x"]["damage"]
                self.assertEqual((damage["different"], damage["first_offset"], damage["size"]), (1, 3 * MIB, MIB))
        self.write("x", bytes(data[:2 * MIB]))
        self.assertIn(f"the first at offset {2 * MIB}", self.assertEnds(self.weir("check", "bsd.m"), MISMATCH).out)

    def test_a_map_sees_what_adler32_does_not(self):
        data = bytearray(2 * MIB)
        changed = bytearray(data)
        for at, by in ((1000, 1), (1001, 255), (1002, 255), (1003, 1)):  # +1 -1 -1 +1: no change of either sum
            data[at] = 100
            changed[at] = 100 + by if by == 1 else 99
        self.assertEqual(adler32(data), adler32(changed))
        self.write("x", bytes(data))
        self.assertEnds(self.weir("sum", "--blocks", "64KiB", "-o", "m", "x"), OK)
        self.write("x", bytes(changed))
        self.assertEnds(self.weir("check", "m"), MISMATCH)


if __name__ == "__main__":
    weir_program.main()
