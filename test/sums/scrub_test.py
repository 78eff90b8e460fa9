# SPDX-License-Identifier: Apache-2.0
"""weir scrub: attributes and manifests below a directory, ended and gone on with."""
import os
import signal
import subprocess

import weir_program
from sum_program import INTERRUPTED, MIB, MISMATCH, MISSING, OK, READ_ERROR, USAGE, SumTest, not_tested, sha256, wait_until_it_reads


class Scrub(SumTest):
    def setUp(self):
        super().setUp()
        for n in range(6):
            self.write(f"d/sub/f{n}", b"%d" % n * 1000)
        try:
            self.assertEnds(self.weir("sum", "-r", "--xattr", "write", "d"), OK)
            self.assertIn("user.weir.sum", os.listxattr(self.folder / "d/sub/f0"))
        except (OSError, AssertionError) as error:
            not_tested(self.id(), f"no attributes here: {error}")
            self.skipTest("no attributes here")

    @property
    def d(self):
        """Reports have absolute names."""
        return os.path.realpath(self.folder / "d")

    def rot(self, name):
        path = self.folder / name
        before = path.stat()
        with open(path, "r+b") as file:
            file.write(b"!")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def scrub(self, code, *arguments):
        return self.assertEnds(self.weir("scrub", "--json", *arguments, "d"), code).json

    def test_good_files_are_good_and_rot_is_found(self):
        self.assertEqual(self.scrub(OK)["ok"], 6)
        self.rot("d/sub/f3")
        document = self.scrub(MISMATCH)
        self.assertEqual({file["path"] for file in document["files"] if file["status"] == "mismatch"}, {f"{self.d}/sub/f3"})
        self.assertIn(f"{self.d}/sub/f3: MISMATCH", self.assertEnds(self.weir("scrub", "d"), MISMATCH).out)

    def test_manifests_on_the_way_are_checked_against_their_directory(self):
        self.write("d/m/x", b"abc")
        self.write("d/m/SHA256SUMS", b"")
        self.assertEnds(self.weir("sum", "-a", "sha256", "-f", "gnu", "x", "-o", "SHA256SUMS", cwd=self.folder / "d/m"), OK)
        self.assertEqual(self.scrub(OK)["ok"], 7)
        self.rot("d/m/x")
        self.assertEqual(self.scrub(MISMATCH)["mismatch"], 1)
        (self.folder / "d/m/x").unlink()
        self.assertEqual(self.scrub(MISSING)["missing"], 1)

    def test_a_manifest_is_known_by_its_name(self):
        self.write("d/m/x", b"abc")
        for algorithm in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
            for name in (f"{algorithm.upper()}SUMS", f"x.{algorithm}"):
                with self.subTest(name=name):
                    self.assertEnds(self.weir("sum", "-a", algorithm, "-f", "gnu", "x", "-o", name, cwd=self.folder / "d/m"), OK)
                    self.assertEqual(self.scrub(OK)["ok"], 7)
                    (self.folder / "d/m" / name).unlink()

    def test_files_without_a_sum_are_counted_and_no_failure(self):
        self.write("d/new", b"new")
        self.assertEqual(self.scrub(OK)["unverified"], 1)
        self.assertIn(f"{self.d}/new: UNVERIFIED", self.weir("scrub", "d").out)
        self.assertEqual(self.weir("scrub", "-q", "d").out, "")

    def test_files_with_sums_of_an_older_state_are_counted_apart(self):
        self.write("d/new", b"new")
        os.utime(self.folder / "d/sub/f2", (1_000_000_000, 1_000_000_000))
        document = self.scrub(MISSING, "--metrics", "metrics")
        self.assertEqual((document["ok"], document["stale"], document["unverified"], document["mismatch"]), (5, 1, 1, 0))
        text = (self.folder / "metrics").read_text()
        for status in ("stale", "unverified"):
            self.assertIn(f'weir_scrub_files{{directory="{self.d}",status="{status}"}} 1\n', text)
        ended = self.assertEnds(self.weir("scrub", "-q", "d"), MISSING)
        self.assertIn(f"{self.d}/sub/f2: STALE", ended.out)
        self.assertIn("1 with sums of an older state", ended.err)

    def test_output_that_does_not_arrive_is_no_mismatch(self):
        self.write("d/new", b"new")
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([weir_program.PROGRAM, "scrub", "d"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr.count(b"cannot write to stdout: No space left on device")), (READ_ERROR, 1), ended.stderr)

    def test_after_an_interrupt_the_next_one_goes_on(self):
        for n in range(6):
            self.write(f"d/big{n}", bytes(MIB))
        self.assertEnds(self.weir("sum", "-r", "--xattr", "write", "d"), OK)
        process = self.start("scrub", "--json", "-j", "1", "--bwlimit", "2MiB", "--state", "state", "--metrics", "metrics", "d")
        wait_until_it_reads(process, self.folder / "d", 5 * MIB // 2)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
        first = weir_program.Ended(process.returncode, out.decode(), err.decode())
        self.assertEnds(first, INTERRUPTED)
        done = [file["path"] for file in first.json["files"]]
        self.assertIn(len(done), range(1, 6))
        self.assertIn(f"weir_scrub_complete{{directory=\"{self.d}\"}} 0", (self.folder / "metrics").read_text())
        second = self.scrub(OK, "--state", "state", "--metrics", "metrics")
        rest = [file["path"] for file in second["files"]]
        everything = sorted(f"{self.d}/big{n}" for n in range(6)) + [f"{self.d}/sub/f{n}" for n in range(6)]
        self.assertEqual(sorted(set(done) | set(rest)), sorted(everything))
        self.assertLess(len(rest), len(everything))
        self.assertLessEqual(len(set(done) & set(rest)), 1)
        self.assertFalse((self.folder / "state").exists())
        self.assertEqual(len(self.scrub(OK, "--state", "state")["files"]), 12)

    def test_the_numbers_for_prometheus_are_whole(self):
        self.rot("d/sub/f0")
        self.scrub(MISMATCH, "--metrics", "metrics.prom")
        text = (self.folder / "metrics.prom").read_text()
        for line in ('weir_scrub_files{directory="D",status="ok"} 5', 'weir_scrub_files{directory="D",status="mismatch"} 1',
                     'weir_scrub_bytes{directory="D"} 6000', 'weir_scrub_complete{directory="D"} 1'):
            self.assertIn(line.replace("D", self.d) + "\n", text)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"d", "metrics.prom"})

    def interrupted(self, state, directory):
        """A scrub of it that was ended in the middle; the state is that of --state."""
        process = self.start("scrub", "-j", "1", "--bwlimit", "2MiB", "--state", state, ".", folder=directory)
        wait_until_it_reads(process, directory, 5 * MIB // 2)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, INTERRUPTED)

    def test_a_state_is_of_the_directory_and_not_of_its_name(self):
        for directory in ("d", "e"):
            for n in range(6):
                self.write(f"{directory}/big{n}", bytes(MIB))
            self.assertEnds(self.weir("sum", "-r", "--xattr", "write", directory), OK)
        self.rot("e/big0")
        state = self.folder / "state"
        self.interrupted(state, self.folder / "d")
        # "." is another directory now: its front is not skipped.
        ended = self.weir("scrub", "--json", "--state", state, ".", cwd=self.folder / "e")
        self.assertOneLine(ended, USAGE, self.d, "--state")
        # The same one is gone on with under whatever name.
        (self.folder / "d").rename(self.folder / "moved")
        rest = self.assertEnds(self.weir("scrub", "--json", "--state", state, "moved"), OK).json
        self.assertLess(len(rest["files"]), 12)
        self.assertIn(rest["ok"], (12, 13))  # one file may be read and counted twice

    def test_another_directory_under_the_same_name_begins_at_the_front(self):
        for n in range(6):
            self.write(f"d/big{n}", bytes(MIB))
        state = self.folder / "state"
        self.interrupted(state, self.folder / "d")
        (self.folder / "d").rename(self.folder / "old")
        for n in range(3):
            self.write(f"d/a{n}", b"new")
        ended = self.assertEnds(self.weir("scrub", "--json", "--state", state, "d"), OK)
        self.assertEqual(ended.json["unverified"], 3)
        self.assertIn("begins at the front", ended.err)

    def test_two_scrubs_do_not_share_a_state(self):
        for n in range(6):
            self.write(f"d/big{n}", bytes(MIB))
        process = self.start("scrub", "-j", "1", "--bwlimit", "1MiB", "--state", "state", "d")
        wait_until_it_reads(process, self.folder / "d", MIB)
        self.assertOneLine(self.weir("scrub", "--state", "state", "d"), READ_ERROR, "another scrub has the state")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
        self.assertEnds(self.weir("scrub", "--state", "state", "d"), OK)

    def test_what_cannot_be_read_has_no_size(self):
        self.write("x")
        self.write("d/SHA256SUMS", "".join(f"{sha256(b'')}  {name}\n" for name in ("gone", "sub", "../x")).encode())
        document = self.scrub(READ_ERROR)
        self.assertEqual({os.path.basename(file["path"]): file["status"] for file in document["files"] if file["size"] is None},
                         {"gone": "missing", "sub": "error", "x": "unverified"})
        self.assertEqual({file["size"] for file in document["files"] if file["status"] == "ok"}, {1000})

    def test_a_state_of_something_else_is_refused(self):
        self.write("state", b"rubbish")
        self.assertOneLine(self.weir("scrub", "--state", "state", "d"), USAGE, "state", "remove it")
        self.assertOneLine(self.weir("scrub", "nowhere"), MISSING, "nowhere")


if __name__ == "__main__":
    weir_program.main()
