# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the package, at a tiny size, so that it stays runnable."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import weir

ROOT = pathlib.Path(__file__).resolve().parents[4]
BENCH = ROOT / "bindings" / "python" / "bench"
CLIENT = pathlib.Path(os.environ.get("WEIR_BUILD_DIR", "")) / "bindings" / "client"


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def command(self, *words):
        ended = subprocess.run([*map(str, words)], capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": str(CLIENT)}, timeout=300)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout

    @unittest.skipUnless("WEIR_PROGRAM" in os.environ and (CLIENT / "libweir-client.so").exists(), "weir and libweir-client are not built here")
    def test_sends_by_each_way(self):
        program = self.folder / "send_events"
        self.command("cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", BENCH / "send_events.c", "-I", ROOT / "bindings" / "client" / "include",
                     "-I", ROOT / "lib" / "delivery" / "include", "-L", CLIENT, "-lweir-client", "-o", program)
        rates = json.loads(self.command(sys.executable, BENCH / "python_bench.py", "send", "--program", os.environ["WEIR_PROGRAM"], "--send-events", program,
                                        "--events", 20, "--bytes", 100_000, "--repeat", 2, "--dir", self.folder))
        self.assertEqual([len(each) for each in rates.values()], [2, 2, 2])
        self.assertTrue(all(rate > 0 for each in rates.values() for rate in each), rates)

    def test_reads_by_each_way(self):
        path = self.folder / "small.data"
        path.write_bytes(bytes.fromhex((ROOT / "lib" / "event" / "test" / "vectors" / "small_v6.hex").read_text()))
        self.assertTrue(weir.open(path).verify())
        rates = json.loads(self.command(sys.executable, BENCH / "python_bench.py", "read", path, "--repeat", 3))
        self.assertEqual({len(each) for each in rates.values()}, {3})
        self.assertGreaterEqual(len(rates), 3)


if __name__ == "__main__":
    unittest.main()
