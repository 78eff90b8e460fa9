# SPDX-License-Identifier: Apache-2.0
"""What every command costs before it does anything, and what it needs of the system for that."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import weir_program
from sum_program import OK, READ_ERROR, SumTest, not_tested
from weir_program import PROGRAM


CPU_US, RESIDENT_KIB = 5000, 8 << 10  # for the sum of one byte
WHOLE = pathlib.Path(PROGRAM).parent / "../libexec/weir/weir-whole"  # what takes over for the commands that need much


def loaded_by(program):
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=60, check=True).stdout
    return set(re.findall(r"^\s*(lib[A-Za-z_]+)", loaded, re.MULTILINE))


class Start(SumTest):
    def test_what_few_commands_need_is_not_loaded(self):
        clients = {"libXrdCl", "libXrdUtils", "libpq", "libldap", "libgssapi_krb", "libxml", "libsystemd"}
        self.assertEqual(loaded_by(WHOLE) & clients, set())
        self.assertEqual(loaded_by(PROGRAM) & (clients | {"libcrypto", "libssl", "libsqlite", "libspdlog", "libprometheus", "liburing", "libz"}), set())

    def test_the_sum_of_one_byte(self):
        """Its CPU time is the least of many runs: what a busy machine adds to it is not the program's."""
        cost_of = os.environ.get("WEIR_COST_OF")
        if not cost_of:
            not_tested(self.id(), "WEIR_COST_OF does not name the built weir_cost_of")
            return self.skipTest("WEIR_COST_OF is not set")
        if weir_program.sanitized():
            not_tested(self.id(), "sanitizers cost more than the program")
            return self.skipTest("sanitized")
        self.write("x", b"1")
        measured = self.assertEnds(self.outside(cost_of, 200, PROGRAM, "sum", "x"), OK)
        cpu_us, resident_kib = map(int, measured.out.split())
        print(f"weir sum of one byte: {cpu_us} us of CPU, {resident_kib} KiB", file=sys.stderr)
        self.assertLessEqual(resident_kib, RESIDENT_KIB)
        self.assertLessEqual(cpu_us, CPU_US)

    def test_without_openssl_its_sums_are_made_all_the_same(self):
        self.write("x", bytes(range(256)) * 1000)
        (self.folder / "lib").mkdir()
        self.write("lib/libcrypto.so.3", b"")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder / "lib")}
        right = self.sums("-a", "all", "x")
        self.assertEqual(right["x"]["sums"]["sha512"], hashlib.sha512(bytes(range(256)) * 1000).hexdigest())
        self.assertEqual(self.sums("-a", "all", "x", env=environment), right)

    def closed(self, which, *arguments):
        """Started without one of its standard descriptors."""
        return self.outside("sh", "-c", f'exec "$@" {which}', "sh", PROGRAM, *arguments)

    def test_a_descriptor_that_is_closed_is_no_other_file(self):
        self.write("x", b"abc")
        with open(self.folder / "err", "w+b") as err:  # regular files, so that a sum of them would look good
            ended = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", PROGRAM, "sum", "-"], cwd=self.folder, stdout=subprocess.PIPE, stderr=err, timeout=60)
            err.seek(0)
            self.assertEqual((ended.returncode, ended.stdout), (READ_ERROR, b""))
            self.assertIn(b"Bad file descriptor", err.read())
        ended = self.assertEnds(self.closed(">&-", "sum", "x"), READ_ERROR)
        self.assertIn("cannot write to stdout", ended.err)
        self.assertEqual(self.assertEnds(self.closed("2>&-", "sum", "x"), OK).out, "ADLER32 (x) = 024d0127\n")
        self.assertEnds(self.closed("<&- >&- 2>&-", "sum", "x", "-o", "out"), OK)
        self.assertEqual((self.folder / "out").read_text(), "ADLER32 (x) = 024d0127\n")
        self.assertEqual((self.folder / "x").read_bytes(), b"abc")

    def test_a_part_that_is_absent_is_one_line(self):
        (self.folder / "lib").mkdir()
        self.write("lib/libpq.so.5", b"")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder / "lib")}
        ended = self.outside(PROGRAM, "ls", "--catalogue", "postgresql://127.0.0.1:1/x", env=environment)
        self.assertEqual(ended.err.count("\n"), 1, ended.err)
        for word in ("libpq.so.5", "package libpq5"):
            self.assertIn(word, ended.err)
        for place, program in (("bin", PROGRAM), ("libexec/weir", WHOLE)):  # a copy without what lies beside them
            (self.folder / place).mkdir(parents=True)
            shutil.copy(program, self.folder / place)
        with weir_program.Recorder(self.folder / "recorded", "--metrics", "") as recorder:  # its catalogue is opened before
            self.assertEnds(recorder.stop(), OK)
        ended = self.outside(self.folder / "bin/weir", "handoff", "--dir", self.folder / "recorded", "--to", "root://127.0.0.1:1//x", "--once")
        self.assertNotEqual(ended.code, OK)
        if "built without" in ended.err:
            not_tested("a hand-off without its module", "this weir has none")
        else:
            self.assertEqual(ended.err.count("\n"), 1, ended.err)
            for word in ("weir-handoff-xrootd.so", "WEIR_HANDOFF_XROOTD", "libxrdcl3"):
                self.assertIn(word, ended.err)
        for arguments in (("bench", "record"), ("bench",), ("bench", "--help")):
            ended = self.outside(self.folder / "bin/weir", *arguments)
            self.assertOneLine(ended, 1, "weir bench: cannot start", "libexec/weir/weir-bench: No such file or directory", "build the target weir-bench")
        (self.folder / "libexec/weir/weir-whole").unlink()
        ended = self.outside(self.folder / "bin/weir", "ls", ".")
        self.assertOneLine(ended, 1, "libexec/weir/weir-whole: No such file or directory", "install weir as a whole")
        self.write("x", b"abc")
        self.assertEqual(self.outside(self.folder / "bin/weir", "sum", "x").out, "ADLER32 (x) = 024d0127\n")


if __name__ == "__main__":
    weir_program.main()
