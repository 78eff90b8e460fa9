# SPDX-License-Identifier: Apache-2.0
"""weir sum --xattr: sums in the attributes of files, XRootD's and ours."""
import os

import weir_program
from sum_program import CHANGED, MIB, MISMATCH, MISSING, OK, READ_ERROR, SumTest, adler32, not_tested, sha256, wait_until_it_reads
from weir_program import PROGRAM


class Attributes(SumTest):
    def setUp(self):
        super().setUp()
        self.path = self.write("x", b"some bytes that matter")
        try:
            os.setxattr(self.path, "user.weir.probe", b"1")
            os.removexattr(self.path, "user.weir.probe")
        except OSError as error:
            not_tested(self.id(), f"{self.folder} has no attributes: {error}")
            self.skipTest("no attributes here")

    def verify(self, code):
        ended = self.assertEnds(self.weir("sum", "--json", "--xattr", "verify", "x"), code)
        return ended.json["files"][0]

    def test_what_was_written_is_as_xrootd_has_it_and_is_verified(self):
        self.assertEnds(self.weir("sum", "-a", "adler32,cksum,md5,blake3", "--xattr", "write", "x"), OK)
        names = set(os.listxattr(self.path))
        self.assertEqual(names, {"user.XrdCks.adler32", "user.XrdCks.crc32", "user.XrdCks.md5", "user.weir.sum"})
        value = os.getxattr(self.path, "user.XrdCks.adler32")
        self.assertEqual(len(value), 96)
        self.assertEqual(value[:16], b"adler32".ljust(16, b"\0"))
        self.assertEqual(int.from_bytes(value[16:24], "big"), int(self.path.stat().st_mtime))
        self.assertEqual((value[28:31], value[31], value[32:36].hex()), (b"\0\0\0", 4, adler32(self.path.read_bytes())))
        self.assertEqual(value[36:], bytes(60))
        self.assertRegex(os.getxattr(self.path, "user.weir.sum").decode(),
                         r"^v1 size=22 mtime_ns=\d+ ino-gen=\d+-\d+ at=\d+ at_ns=\d+ adler32=\w{8} cksum=\w{8} md5=\w{32} blake3=\w{64}$")
        self.assertEqual(self.verify(OK)["status"], "ok")

    def test_rot_under_the_same_time_is_a_mismatch(self):
        self.assertEnds(self.weir("sum", "--xattr", "write", "x"), OK)
        before = self.path.stat()
        with open(self.path, "r+b") as file:
            file.write(b"S")
        os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(self.verify(MISMATCH)["status"], "mismatch")
        self.assertIn("MISMATCH", self.assertEnds(self.weir("sum", "--xattr", "verify", "x"), MISMATCH).out)

    def test_an_attribute_of_an_older_file_is_stale_and_not_ok(self):
        self.assertEnds(self.weir("sum", "--xattr", "write", "x"), OK)
        os.utime(self.path, (1_000_000_000, 1_000_000_000))
        file = self.verify(MISSING)
        self.assertEqual(file["status"], "stale")
        self.assertEqual({one["status"] for one in file["attributes"]}, {"stale"})
        self.assertIn("STALE", self.weir("sum", "--xattr", "verify", "x").out)

    def rot(self):
        before = self.path.stat()
        data = self.path.read_bytes()
        with open(self.path, "r+b") as file:
            file.write(bytes([data[0] ^ 1]))
        os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def stored(self):
        return {name: os.getxattr(self.path, name) for name in os.listxattr(self.path)}

    def test_verify_prints_findings_whatever_the_form_of_manifests(self):
        self.assertEnds(self.weir("sum", "--xattr", "write", "x"), OK)
        for form in ("bsd", "sfv", "cksum", "hashdeep", "csv"):
            self.assertEqual(self.assertEnds(self.weir("sum", "--xattr", "verify", "-f", form, "x"), OK).out, "x: OK\n", form)

    def test_write_does_not_make_rot_look_good(self):
        self.assertEnds(self.weir("sum", "-a", "sha256,adler32", "--xattr", "write", "x"), OK)
        before = self.stored()
        self.rot()
        for algorithm in ("adler32", "md5"):  # also one that was not stored
            with self.subTest(algorithm=algorithm):
                self.assertOneLine(self.weir("sum", "-a", algorithm, "--xattr", "write", "x"), MISMATCH, "x is not as in its attributes",
                                   "user.weir.sum", "--xattr replace")
                self.assertEqual(self.stored(), before)
        self.assertEqual(self.assertEnds(self.weir("sum", "--json", "--xattr", "write", "x"), MISMATCH).json["files"][0]["status"], "mismatch")
        self.assertEqual(self.verify(MISMATCH)["status"], "mismatch")
        replaced = self.assertEnds(self.weir("sum", "-a", "md5", "--xattr", "replace", "x"), OK)
        self.assertIn("warning: x: user.weir.sum", replaced.err)
        self.assertEqual(self.verify(OK)["status"], "ok")
        self.assertEqual({one["algorithm"] for one in self.verify(OK)["attributes"]}, {"md5", "sha256", "adler32"})

    def test_write_keeps_the_sums_that_are_there(self):
        self.assertEnds(self.weir("sum", "-a", "sha256,blake3", "--xattr", "write", "x"), OK)
        self.assertEqual(self.assertEnds(self.weir("sum", "-a", "adler32", "--xattr", "write", "x"), OK).out, f"ADLER32 (x) = {adler32(self.path.read_bytes())}\n")
        text = os.getxattr(self.path, "user.weir.sum").decode()
        for word in (" adler32=", f" sha256={sha256(self.path.read_bytes())}", " blake3="):
            self.assertIn(word, text)
        self.assertEqual(self.verify(OK)["status"], "ok")
        self.path.write_bytes(b"another content on purpose")
        os.utime(self.path, (1_000_000_000, 1_000_000_000))
        self.assertEnds(self.weir("sum", "-a", "adler32", "--xattr", "write", "x"), OK)
        self.assertNotIn("sha256", os.getxattr(self.path, "user.weir.sum").decode())
        self.assertEnds(self.weir("sum", "-a", "adler32", "--xattr", "replace", "x"), OK)
        self.assertEqual(self.verify(OK)["status"], "ok")

    def test_a_file_written_again_within_the_second_is_stale_and_no_mismatch(self):
        second = 1_700_000_000_000_000_000
        os.utime(self.path, ns=(second, second + 1000))
        self.assertEnds(self.weir("sum", "--xattr", "write", "x"), OK)
        self.path.write_bytes(b"other bytes that matter")
        os.utime(self.path, ns=(second, second + 2000))
        self.assertEqual(self.verify(MISSING)["status"], "stale")
        self.assertEnds(self.weir("sum", "--xattr", "write", "x"), OK)
        self.assertEqual(self.verify(OK)["status"], "ok")
        os.removexattr(self.path, "user.weir.sum")  # without it there is the second only
        self.path.write_bytes(b"third bytes that matter")
        os.utime(self.path, ns=(second, second + 3000))
        self.assertEqual(self.verify(MISMATCH)["status"], "mismatch")

    def test_attributes_that_contradict_each_other_are_not_taken(self):
        self.assertEnds(self.weir("sum", "-a", "adler32,md5", "--xattr", "write", "x"), OK)
        value = bytearray(os.getxattr(self.path, "user.XrdCks.md5"))
        value[40] ^= 1
        os.setxattr(self.path, "user.XrdCks.md5", bytes(value))
        ended = self.assertEnds(self.weir("sum", "--json", "--xattr", "read", "x"), OK)
        self.assertEqual((ended.json["files"][0]["read"], ended.json["files"][0]["status"]), ("cache", "ok"))
        self.assertIn("contradict", ended.err)

    def test_an_attribute_that_travelled_with_a_copy_is_stale(self):
        self.assertEnds(self.weir("sum", "-a", "blake3", "--xattr", "write", "x"), OK)
        copied = self.outside("cp", "--preserve=all", "x", "y")
        self.assertEnds(copied, 0)
        self.assertIn("STALE", self.assertEnds(self.weir("sum", "--xattr", "verify", "y"), MISSING).out)

    def test_what_others_put_there_is_not_trusted(self):
        for value in (b"", b"short", b"adler32".ljust(16, b"\0") + bytes(80), bytes(96), b"x" * 4000):
            with self.subTest(value=value[:10]):
                os.setxattr(self.path, "user.XrdCks.adler32", value)
                ended = self.assertEnds(self.weir("sum", "--json", "--xattr", "verify", "x"), MISSING)
                self.assertEqual(ended.json["files"][0]["status"], "unverified")
                self.assertIn("user.XrdCks.adler32", ended.err)

    def test_read_takes_current_sums_and_gives_that_nothing_was_read(self):
        self.assertEnds(self.weir("sum", "--xattr", "write", "x"), OK)
        file = self.sums("--xattr", "read", "x")["x"]
        self.assertEqual((file["status"], file["read"], file["sums"]["adler32"]), ("unverified", "attribute", adler32(self.path.read_bytes())))
        self.assertEqual(self.assertEnds(self.weir("sum", "--xattr", "read", "x"), OK).err,
                         "weir sum: 1 sum comes from attributes; the bytes were not read\n")
        self.path.write_bytes(b"now longer than it was before")
        os.utime(self.path, (1_000_000_000, 1_000_000_000))
        file = self.sums("--xattr", "read", "x")["x"]
        self.assertEqual((file["status"], file["read"], file["sums"]["adler32"]), ("ok", "cache", adler32(self.path.read_bytes())))

    def test_nothing_is_stored_for_a_file_that_changed(self):
        self.path.write_bytes(bytes(8 * MIB))
        process = self.start("sum", "--xattr", "write", "--bwlimit", "4MiB", "x")
        wait_until_it_reads(process, self.path)
        with open(self.path, "ab") as file:
            file.write(b"more")
        process.communicate(timeout=60)
        self.assertEqual((process.returncode, os.listxattr(self.path)), (CHANGED, []))

    def test_where_attributes_cannot_be_set_the_sum_is_printed_and_it_is_no_success(self):
        if not self.tool("strace"):
            return self.skipTest("strace is not installed")
        for error, word in (("EOPNOTSUPP", "has no attributes"), ("EPERM", "Operation not permitted"), ("ENOSPC", "No space left on device")):
            with self.subTest(error=error):
                ended = self.outside("strace", "-f", "-o", "/dev/null", "-e", f"inject=fsetxattr:error={error}", PROGRAM, "sum", "--xattr", "write", "x")
                if "ptrace" in ended.err:
                    not_tested("a file system without attributes", ended.err)
                    return self.skipTest("strace may not trace here")
                self.assertEnds(ended, READ_ERROR)  # what was asked for was not done
                self.assertIn(adler32(self.path.read_bytes()), ended.out)
                self.assertRegex(ended.err, f"warning: x: .*{word}; the sum was not stored")
                self.assertIn("the sums of 1 file were printed and not stored", ended.err)
                document = self.assertEnds(self.outside("strace", "-f", "-o", "/dev/null", "-e", f"inject=fsetxattr:error={error}", PROGRAM,
                                                        "sum", "--json", "--xattr", "write", "x"), READ_ERROR).json
                self.assertEqual((document["files"][0]["status"], document["files"][0]["not_stored"], document["not_stored"]), ("ok", True, 1))
        document = self.assertEnds(self.weir("sum", "--json", "--xattr", "write", "x"), OK).json
        self.assertEqual((document["files"][0].get("not_stored"), document["not_stored"]), (None, 0))


if __name__ == "__main__":
    weir_program.main()
