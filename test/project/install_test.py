# SPDX-License-Identifier: Apache-2.0
"""What is not built as a whole is not installed in part."""
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LITTLE = [f"-DWEIR_{part}=OFF" for part in ("PROGRAM", "TESTS", "BENCHES", "FUZZERS")]


class Install(unittest.TestCase):
    def test_a_build_that_is_not_complete_installs_nothing_and_reports_what_to_do(self):
        with tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
            build, prefix = pathlib.Path(folder) / "build", pathlib.Path(folder) / "prefix"
            made = subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *LITTLE], capture_output=True, text=True, timeout=300)
            self.assertEqual(made.returncode, 0, made.stderr)
            ended = subprocess.run(["cmake", "--install", build, "--prefix", prefix], capture_output=True, text=True, timeout=300)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn("cmake --build", " ".join(ended.stderr.split()))
            self.assertFalse(prefix.exists())
            # What any of its scripts takes from the build is looked for before. (Beside a library its other names are installed.)
            looked_for = (build / "installed_files.txt").read_text().split()
            scripts = "".join(script.read_text() for script in build.rglob("cmake_install.cmake"))
            taken = {path for path in re.findall(f'"({re.escape(str(build))}/[^"$]+)"', scripts) if not pathlib.Path(path).exists()}
            self.assertTrue(taken)
            self.assertEqual({path for path in taken if not any(file.startswith(path) for file in looked_for)}, set())


if __name__ == "__main__":
    unittest.main()
