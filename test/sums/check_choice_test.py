# SPDX-License-Identifier: Apache-2.0
"""weir check of a part of the files, without those that did not change, and with those that no manifest names."""
import hashlib
import os
import re
import subprocess
import time

import weir_program
from sum_program import MALFORMED, MISMATCH, MISSING, OK, READ_ERROR, USAGE, SumTest, not_tested


class Extra(SumTest):
    def setUp(self):
        super().setUp()
        for name in ("data/a", "data/run7/b", "data/run7/deep/c", "elsewhere/z"):
            self.write(name)
        self.assertEnds(self.weir("sum", "-r", "data", "-o", "sums"), OK)

    def extra(self, *arguments, code):
        return sorted(name for name, file in self.checked("--extra", *arguments, code=code).items() if file["status"] == "extra")

    def test_nothing_is_extra_below_the_directory_of_the_manifest(self):
        ended = self.assertEnds(self.weir("check", "--extra", "sums"), OK)
        self.assertIn("0 files that no manifest names below data\n", ended.err)

    def test_files_that_no_manifest_names_are_reported_counted_and_end_with_3(self):
        for name in ("data/new", "data/run8/x", "data/run7/new\nline", "other"):
            self.write(name)
        os.mkfifo(self.folder / "data" / "fifo")
        os.symlink("a", self.folder / "data" / "link")
        self.assertEqual(self.extra("sums", code=MISSING), ["data/new", "data/run7/new\nline", "data/run8/x"])
        document = self.weir("check", "--extra", "--json", "sums").json
        self.assertEqual((document["ok"], document["extra"], document["skipped"]), (3, 3, {"special": 1, "links": 1}))
        text = self.assertEnds(self.weir("check", "--extra", "-q", "sums"), MISSING)
        self.assertIn("data/new: EXTRA (no manifest names it)\n", text.out)
        self.write("data/a", b"something else")
        self.extra("sums", code=MISMATCH)

    def test_an_audit_distinguishes_moved_and_duplicate_files_from_new_ones(self):
        for number, name in enumerate(("data/a", "data/run7/b", "data/run7/deep/c", "data/twice")):
            self.write(name, b"content %d" % (number % 3))
        self.assertEnds(self.weir("sum", "-a", "adler32,sha512", "-r", "data", "-o", "sums"), OK)
        os.rename(self.folder / "data/run7/b", self.folder / "data/moved")
        self.write("data/another", b"content 1")  # of the one that was moved
        self.write("data/copy", b"content 2")
        self.write("data/new", b"content 9")
        self.write("data/run7/deep/c", b"Content 2")  # what it was is where its copy is
        files = self.checked("--audit", "sums", code=MISMATCH)
        found = {name: (file["status"], file.get("same_as")) for name, file in files.items()}
        self.assertEqual(found, {"data/a": ("ok", None), "data/twice": ("ok", None), "data/run7/b": ("missing", None), "data/run7/deep/c": ("mismatch", None),
                                 "data/another": ("moved", "data/run7/b"), "data/moved": ("duplicate", "data/run7/b"),
                                 "data/copy": ("moved", "data/run7/deep/c"), "data/new": ("extra", None)})
        document = self.weir("check", "--audit", "--json", "sums").json
        self.assertEqual([document[kind] for kind in ("ok", "missing", "moved", "duplicate", "extra")], [2, 1, 2, 1, 1])
        text = self.weir("check", "--audit", "sums")
        self.assertIn("data/copy: MOVED (its bytes are those of data/run7/deep/c, which is not at its place)\n", text.out)
        self.assertIn("data/moved: DUPLICATE (its bytes are those of data/run7/b)\n", text.out)
        self.assertRegex(text.out, r"(?s)as in the manifests +2\n.*moved +2\nduplicate +1\nnew +1\n")
        self.assertIn("2 moved, 1 more that are duplicates, 1 more that no manifest names", text.err)
        self.assertOneLine(self.weir("check", "--audit", "--sample", "10%", "sums"), USAGE, "--audit")

    def test_an_audit_by_a_manifest_elsewhere(self):
        """Names begin at the directory of -C, and lines do not name their algorithm."""
        self.write("data/a", b"one")
        self.write("sums", f"{hashlib.sha512(b'one').hexdigest()}  data/a\n".encode())
        os.rename(self.folder / "data/a", self.folder / "data/b")
        (self.folder / "here").mkdir()
        files = self.checked("--audit", "../sums", "-C", "..", code=MISSING, cwd=self.folder / "here")
        self.assertEqual({name: file["status"] for name, file in files.items()},
                         {"data/a": "missing", "data/b": "moved", "data/run7/b": "extra", "data/run7/deep/c": "extra"})

    def test_a_manifest_is_not_extra_nor_is_what_another_one_names(self):
        self.assertEnds(self.weir("sum", "data/a", "data/run7/b", "-o", "data/SUMS"), OK)
        self.assertEqual(self.extra("data/SUMS", code=MISSING), ["data/run7/deep/c"])
        self.assertEqual(self.extra("data/SUMS", "sums", code=OK), [])
        with open(self.folder / "data" / "report", "wb") as out:  # what is written meanwhile is not either
            subprocess.run([weir_program.PROGRAM, "check", "--extra", "sums", "data/SUMS"], cwd=self.folder, stdout=out, check=True, stderr=subprocess.DEVNULL)

    def test_each_manifest_has_its_own_directory(self):
        self.assertEnds(self.weir("sum", "-r", "elsewhere", "-o", "sums2"), OK)
        self.write("other")  # beside both, below neither
        self.write("elsewhere/new")
        self.assertEqual(self.extra("sums", "sums2", code=MISSING), ["elsewhere/new"])

    def test_names_without_a_directory_mean_the_one_where_they_begin(self):
        self.assertEnds(self.weir("sum", "a", "-o", "SUMS", cwd=self.folder / "data"), OK)
        self.assertEqual(self.extra("data/SUMS", "-C", "data", code=MISSING), ["run7/b", "run7/deep/c"])

    def test_names_are_the_same_however_they_are_written(self):
        (self.folder / "odd").write_text((self.folder / "sums").read_text().replace("data/a", "./data//run7/../a"))
        self.assertEqual(self.extra("odd", code=OK), [])

    def test_nothing_is_called_extra_when_not_all_names_are_known(self):
        self.write("data/new")
        sums = (self.folder / "sums").read_text()
        self.write("empty", b"")
        self.write("cut", sums[:sums.rindex(" = ")].encode())
        os.mkdir(self.folder / "directory")
        for manifests, code in ((("cut",), MALFORMED), (("sums", "empty"), MALFORMED), (("sums", "gone"), MISSING), (("sums", "directory"), READ_ERROR)):
            with self.subTest(manifests=manifests):
                self.assertEqual(self.extra(*manifests, code=code), [])
                ended = self.weir("check", "--extra", *manifests)
                self.assertEqual((ended.code, ended.err.count("--extra: the manifests were not read as a whole")), (code, 1), ended.err)
        self.write("outside", (sums + f"ADLER32 ({self.folder}/../x) = 024d0127\n").encode())  # its names are known
        self.assertEqual(self.extra("outside", code=MALFORMED), ["data/new"])

    def test_a_directory_that_cannot_be_read_is_an_error(self):
        self.write("data/secret/x")
        os.chmod(self.folder / "data" / "secret", 0)
        self.addCleanup(os.chmod, self.folder / "data" / "secret", 0o700)
        prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else []
        if prefix and not self.tool("setpriv"):
            return self.skipTest("root may read everything")
        ended = self.assertEnds(self.outside(*prefix, weir_program.PROGRAM, "check", "--extra", "--json", "sums"), READ_ERROR)
        self.assertEqual({file["path"]: file["status"] for file in ended.json["files"]}["data/secret"], "error")
        self.assertIn("cannot open data/secret: Permission denied", ended.err)


class OnlyChanged(SumTest):
    def setUp(self):
        super().setUp()
        for name in "abc":
            self.write(name, name.encode() * 1000)
        ended = self.assertEnds(self.weir("sum", "-a", "adler32,crc32c", "--xattr", "write", "-o", "sums", "a", "b", "c"), OK)
        if "no attributes" in ended.err:
            not_tested(self.id(), "this file system has no attributes")
            self.skipTest("no attributes")

    def statuses(self, *arguments, code):
        return {name: file["status"] for name, file in self.checked(*arguments, "sums", code=code).items()}

    def rot(self, name):
        """Other bytes, the same size and time; only the ctime shows it, some time after the attribute."""
        path = self.folder / name
        times = os.stat(path)
        while os.stat(path).st_ctime_ns <= times.st_ctime_ns + 200_000_000:
            with open(path, "r+b") as file:
                file.write(b"!")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def test_what_was_not_written_to_is_not_read_and_not_called_good(self):
        ended = self.assertEnds(self.weir("check", "--only-changed", "sums"), OK)
        self.assertEqual(ended.out, "".join(f"{name}: UNCHANGED (not read: its attribute is current, and as expected)\n" for name in "abc"))
        self.assertIn("0 of 3 files good, 3 unchanged and not read; 0 B in", ended.err)
        document = self.weir("check", "--only-changed", "--json", "sums").json
        self.assertEqual((document["ok"], document["unchanged"], document["bytes"], document["files"][0]["sums"]), (0, 3, 0, {}))
        self.assertEqual(self.weir("check", "--only-changed", "-q", "sums").out, "")

    def test_what_was_written_is_read(self):
        self.write("b", b"other")
        self.write("c", b"c" * 1000)  # the same bytes, written again
        self.assertEqual(self.statuses("--only-changed", code=MISMATCH), {"a": "unchanged", "b": "mismatch", "c": "ok"})

    def test_what_was_written_with_its_time_restored_is_read(self):
        self.rot("a")
        self.assertEqual(self.statuses("--only-changed", code=MISMATCH), {"a": "mismatch", "b": "unchanged", "c": "unchanged"})

    def test_an_attribute_with_other_sums_is_not_used(self):
        text = (self.folder / "sums").read_text()
        (self.folder / "sums").write_text(re.sub(r"(ADLER32 \(a\) = )\w+", r"\g<1>00000001", text))
        self.assertEqual(self.statuses("--only-changed", code=MISMATCH), {"a": "mismatch", "b": "unchanged", "c": "unchanged"})

    def test_a_sum_that_the_attribute_does_not_have_is_made(self):
        self.assertEnds(self.weir("sum", "-a", "adler32,md5", "-o", "sums", "a", "b", "c"), OK)
        self.assertEqual(set(self.statuses("--only-changed", code=OK).values()), {"ok"})

    def test_attributes_of_xrootd_alone_are_not_enough(self):
        os.removexattr(self.folder / "a", "user.weir.sum")
        self.assertEqual(self.statuses("--only-changed", code=OK), {"a": "ok", "b": "unchanged", "c": "unchanged"})

    def made_ago(self, name, seconds):
        path = self.folder / name
        text = re.sub(r"at=\d+", f"at={int(time.time()) - seconds}", os.getxattr(path, "user.weir.sum").decode())
        while True:  # as if the file's ctime were that old too
            at_ns = time.time_ns()
            os.setxattr(path, "user.weir.sum", re.sub(r"at_ns=\d+", f"at_ns={at_ns}", text).encode())
            if os.stat(path).st_ctime_ns <= at_ns + 40_000_000:
                return

    def test_an_age_limit_reads_what_was_proven_long_ago(self):
        day = 86400
        self.made_ago("a", 29 * day)
        self.made_ago("b", 31 * day)
        self.made_ago("c", -day)  # of a clock that was wrong: its age is unknown
        for more in ((), ("--only-changed",)):
            self.assertEqual(self.statuses("--max-age", "30d", *more, code=OK), {"a": "unchanged", "b": "ok", "c": "ok"})
        self.assertEqual(set(self.statuses("--only-changed", code=OK).values()), {"unchanged"})

    def test_what_reads_everything_does_not_go_with_it(self):
        self.assertOneLine(self.weir("check", "--only-changed", "--paranoid", "sums"), USAGE, "--paranoid")
        self.assertOneLine(self.weir("check", "--max-age", "30", "sums"), USAGE, "30d")


class Sample(SumTest):
    FILES = 400

    def setUp(self):
        super().setUp()
        for number in range(self.FILES):
            self.write(f"f{number:03}", b"%d" % number)
        self.assertEnds(self.weir("sum", "-r", ".", "-o", "sums"), OK)

    def sample(self, *arguments, code=OK):
        document = self.assertEnds(self.weir("check", "--json", *arguments, "sums"), code).json
        return [file["path"] for file in document["files"]], document["sample"]

    def test_about_so_many_are_checked_and_the_seed_chooses_the_same_again(self):
        names, output = self.sample("--sample", "10%")
        self.assertEqual((output["percent"], output["files"], output["of"]), (10, len(names), self.FILES))
        self.assertTrue(10 < len(names) < 90, len(names))  # 40 on average, 6 the standard deviation
        again, _ = self.sample("--sample", "10%", "--seed", output["seed"])
        self.assertEqual(again, names)
        others = [self.sample("--sample", "10%", "--seed", seed)[0] for seed in range(5)]
        self.assertEqual(len(set(map(tuple, others))), 5)
        ended = self.weir("check", "--sample", "10%", "--seed", output["seed"], "sums")
        self.assertIn(f"a sample of 10%: {len(names)} of 400 files; --seed {output['seed']} chooses the same again", ended.err)

    def test_a_sample_is_never_empty(self):
        for seed in range(20):
            names, output = self.sample("--sample", "0.001%", "--seed", seed)
            self.assertEqual((len(names), output["files"]), (1, 1))
        self.assertEqual(len(self.sample("--sample", "100%")[0]), self.FILES)

    def test_what_is_wrong_in_the_sample_or_in_the_manifest_is_found(self):
        for number in range(self.FILES):
            self.write(f"f{number:03}", b"rot")
        self.sample("--sample", "1%", code=MISMATCH)
        (self.folder / "sums").write_text("nothing\n")
        self.sample("--sample", "1%", code=MALFORMED)

    def test_files_outside_the_sample_are_not_extra(self):
        self.write("new")
        document = self.assertEnds(self.weir("check", "--json", "--extra", "--sample", "1%", "sums"), MISSING).json
        self.assertEqual([file["path"] for file in document["files"] if file["status"] == "extra"], ["new"])

    def test_what_is_no_part_is_usage(self):
        for arguments in (("--sample", "1"), ("--sample", "0%"), ("--sample", "101%"), ("--sample", "x%"), ("--seed", "1")):
            self.assertOneLine(self.weir("check", *arguments, "sums"), USAGE, arguments[0])


if __name__ == "__main__":
    weir_program.main()
