# SPDX-License-Identifier: Apache-2.0
"""weir's object bytes against ROOT itself, on random values of every kind of class: the same bytes, each reads what the
other has written, and ROOT prints nothing about it on stderr. `./run root` installs ROOT and runs this."""
import os
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib/serial/test/root"))
import oracle  # noqa: E402
from weir_program import SKIPPED  # noqa: E402

VALUES = os.environ.get("WEIR_SERIAL_VALUES", "serial_values")
SEED = int(os.environ.get("WEIR_SEED") or random.randrange(1 << 32))
COUNT = int(os.environ.get("WEIR_SERIAL_OBJECTS") or 100)  # of each class, in each of four ways
BUILD = pathlib.Path(os.environ.get("WEIR_BUILD_DIR") or pathlib.Path(VALUES).resolve().parents[1]) / "root-oracle"


class AgainstRoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"WEIR_SEED={SEED} repeats this; {COUNT} objects of each class in each way", file=sys.stderr)
        cls.root = oracle.build(BUILD)
        cls.ours, cls.roots = BUILD / "weir.bin", BUILD / "root.bin"
        cls.printed = cls.run_program(VALUES, "write", cls.ours), cls.run_program(cls.root, "write", cls.roots)

    @staticmethod
    def run_program(program, command, path):
        more = [str(SEED), str(COUNT)] if command == "write" else []
        return subprocess.run([program, command, str(path), *more], capture_output=True, text=True, timeout=120)

    def assertQuiet(self, ended):
        print(ended.stdout.splitlines()[-1] if ended.stdout else "", file=sys.stderr)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout[:4000])

    def test_both_write_without_a_word(self):
        for ended in self.printed:
            self.assertQuiet(ended)

    def test_both_write_the_same_bytes(self):
        self.assertEqual(self.ours.read_bytes() == self.roots.read_bytes(), True,
                         f"compare `{VALUES} list {SEED} {COUNT}` with `{self.root} list {SEED} {COUNT}`")

    def test_root_reads_what_weir_wrote_uses_all_of_it_and_writes_it_again(self):
        self.assertQuiet(self.run_program(self.root, "check", self.ours))

    def test_weir_reads_what_root_wrote_uses_all_of_it_and_writes_it_again(self):
        self.assertQuiet(self.run_program(VALUES, "check", self.roots))


if __name__ == "__main__":
    if oracle.root_folder() is None:
        print("NOT TESTED: object bytes against ROOT, which is not installed (600 MB); "
              "./run root installs it and runs this",
              file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
