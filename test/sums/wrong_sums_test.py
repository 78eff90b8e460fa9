# SPDX-License-Identifier: Apache-2.0
"""A machine that computes wrong sums: it is found, reported, and nothing is printed or stored."""
import os

import weir_program
from sum_program import OK, READ_ERROR, USAGE, SumTest, md5


class SelfTest(SumTest):
    def test_a_sum_is_made_when_its_own_kernels_are_right(self):
        """The others are not tested: their libraries are not even started."""
        self.write("x", b"abc")
        self.assertEqual(self.assertEnds(self.weir("sum", "x", env=self.wrong("always")), OK).out, "ADLER32 (x) = 024d0127\n")

    def test_a_wrong_kernel_stops_every_command_before_it_begins(self):
        self.write("d/x", b"abc")
        (self.folder / "MD5SUMS").write_text(f"{md5(b'abc')}  d/x\n")
        before = sorted(os.listdir(self.folder))
        for command in (("sum", "-a", "md5", "d/x"), ("sum", "-a", "adler32,md5", "-o", "new", "d/x"), ("sum", "--xattr", "write", "d/x"), ("sum", "--json", "-a", "md5", "d/x"),
                        ("check", "MD5SUMS"), ("scrub", "d", "--state", "cursor")):
            with self.subTest(command=command):
                ended = self.weir(*command, env=self.wrong("always"))
                self.assertOneLine(ended, READ_ERROR, 'self-test of md5 kernel "openssl"', "store nothing with it")
                self.assertEqual(sorted(os.listdir(self.folder)), before)
                self.assertEqual([name for name in os.listxattr(self.folder / "d/x") if name.startswith("user.")], [])

class CrossCheck(SumTest):
    """A sum that is wrong for some data only: known answers do not find it."""

    def setUp(self):
        super().setUp()
        self.data = {"a": b"good\n" * 10, "b": b"x" * 3000 + b"unlucky bytes" + b"y" * 100_000, "c": b"good too\n"}
        for name, data in self.data.items():
            self.write(name, data)

    def test_without_it_nothing_shows_the_wrong_sum(self):
        # --direct: of cached files md5 is made in sessions, which are right here.
        sums = self.sums("-a", "md5", "--direct", *self.data, env=self.wrong("rarely"))
        self.assertEqual([sums[name]["sums"]["md5"] == md5(data) for name, data in self.data.items()], [True, False, True])

    def test_a_difference_is_an_error_of_this_file_and_the_others_go_on(self):
        for more in ((), ("--xattr", "write"), ("-j", "1"), ("--blocks", "4KiB")):
            with self.subTest(more=more):
                ended = self.assertEnds(self.weir("sum", "-a", "md5", "--json", "--paranoid", *more, *self.data,
                                                  env=self.wrong("rarely")), READ_ERROR)
                self.assertIn("no sum of b was made: its md5 is ", ended.err)
                files = {file["path"]: file for file in ended.json["files"]}
                self.assertEqual((files["b"]["status"], files["b"]["sums"]), ("error", {}))
                for name in "ac":
                    self.assertEqual((files[name]["status"], files[name]["sums"]["md5"]), ("ok", md5(self.data[name])))
                self.assertEqual([name for name in os.listxattr(self.folder / "b") if name.startswith("user.")], [])

    def test_a_check_does_not_call_it_a_mismatch(self):
        (self.folder / "MD5SUMS").write_text("".join(f"{md5(data)}  {name}\n" for name, data in self.data.items()))
        files = self.checked("MD5SUMS", "--paranoid", code=READ_ERROR, env=self.wrong("rarely"))
        self.assertEqual([file["status"] for file in files.values()], ["ok", "error", "ok"])

    def test_a_right_machine_gives_the_same_sums_of_every_algorithm(self):
        for name, data in (("empty", b""), ("odd", bytes(range(256)) * 4100 + b"!")):
            self.write(name, data)
        names = ("empty", "odd", *self.data)
        plain = self.sums("-a", "all", "--blocks", "64KiB", *names)
        self.assertEqual(self.sums("-a", "all", "--blocks", "64KiB", "--paranoid", *names), plain)
        self.assertOneLine(self.weir("sum", "--paranoid", "--xattr", "read", "a"), USAGE, "--paranoid")


if __name__ == "__main__":
    weir_program.main()
