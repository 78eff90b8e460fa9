# SPDX-License-Identifier: Apache-2.0
"""A package that cannot be had skips its tests and reports it; in CI they fail."""
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

import python_venv

LATE = subprocess.TimeoutExpired(["pip", "install"], python_venv.SECONDS)
FAILED = subprocess.CompletedProcess(["pip", "install"], 1, "", "no matching distribution")


class PythonVenv(unittest.TestCase):
    def ask(self, outcome, ci):
        with tempfile.TemporaryDirectory() as build, unittest.mock.patch.object(python_venv, "skipped", []) as skipped, \
             unittest.mock.patch.object(python_venv, "failed", {}):
            with unittest.mock.patch.dict(os.environ, {"WEIR_BUILD_DIR": build, "CI": ci}), \
                 unittest.mock.patch.object(python_venv.subprocess, "run", side_effect=[outcome]):
                try:
                    for _ in range(2):  # the second time it is known, and nothing is tried
                        try:
                            python_venv.python_with("nowhere==1", "nowhere", pathlib.Path(build) / "bin/weir")
                        except (unittest.SkipTest, AssertionError) as ended:
                            raised = ended
                    raise raised
                finally:
                    self.skipped = list(skipped)

    def test_an_installation_that_fails_or_hangs_skips_the_tests_and_reports_it(self):
        for outcome, why in ((FAILED, "no matching distribution"), (LATE, "timed out after 200 seconds")):
            with self.assertRaisesRegex(unittest.SkipTest, f"nowhere==1: it cannot be installed(.|\n)*{why}"):
                self.ask(outcome, ci="")
            self.assertEqual(len(self.skipped), 2)

    def test_in_ci_it_is_a_failure(self):
        for outcome in (FAILED, LATE):
            with self.assertRaisesRegex(AssertionError, "nowhere==1: it cannot be installed"):
                self.ask(outcome, ci="1")
            self.assertEqual(self.skipped, [])


if __name__ == "__main__":
    unittest.main()
