# SPDX-License-Identifier: Apache-2.0
"""What every command costs before it does anything, and what it needs of the system for that."""
import os
import re
import subprocess
import sys

import weir_program
from sum_program import OK, READ_ERROR, SumTest, not_tested
from weir_program import PROGRAM


class Start(SumTest):
    def test_what_few_commands_need_is_not_loaded(self):
        loaded = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, timeout=60, check=True).stdout
        names = set(re.findall(r"^\s*(lib[A-Za-z]+)", loaded, re.MULTILINE))
        self.assertEqual(names & {"libXrdCl", "libXrdUtils", "libpq", "libldap", "libgssapi", "libxml", "libsystemd"}, set(), loaded)

    def test_what_the_sum_of_one_byte_costs_is_measured(self):
        """Least CPU time and largest memory; how much it may be depends on the machine, so they are said and not judged."""
        cost_of = os.environ.get("WEIR_COST_OF")
        if not cost_of:
            not_tested(self.id(), "WEIR_COST_OF does not name the built weir_cost_of")
            return self.skipTest("WEIR_COST_OF is not set")
        self.write("x", b"1")
        measured = self.assertEnds(self.outside(cost_of, 20, PROGRAM, "sum", "x"), OK)
        cpu_us, resident_kib = map(int, measured.out.split())
        print(f"weir sum of one byte: {cpu_us} us of CPU, {resident_kib} KiB", file=sys.stderr)

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


if __name__ == "__main__":
    weir_program.main()
