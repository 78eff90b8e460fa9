# SPDX-License-Identifier: Apache-2.0
"""The real program, driven by tests: how to run it, where the recorded events are, a recorder to send to."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ.get("WEIR_PROGRAM", "weir")
DATA = pathlib.Path(os.environ.get("WEIR_TEST_DATA") or pathlib.Path(__file__).resolve().parents[3] / "shared" / "data")
BES3 = DATA / "bes3" / "run_0091668_SFO-1_10events.raw"
SKIPPED = 77  # ctest shows such a test as skipped


class Ended:
    """The result of a run of the program: exit code, stdout and stderr."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit code {self.code}\nstdout:\n{self.out}\nstderr:\n{self.err}"

    @property
    def json(self):
        return json.loads(self.out)


def run(*arguments, binary=False, timeout=60, **more):
    ended = subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=timeout, **more)
    out = ended.stdout if binary else ended.stdout.decode()
    return Ended(ended.returncode, out, ended.stderr.decode())


def sanitized():
    """Sanitizers keep shadows of all memory: what is resident means nothing then."""
    program = pathlib.Path(PROGRAM).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


class Recorder:
    """A running `weir record` on a free port of this machine."""

    def __init__(self, directory, *arguments, run_number=7):
        self.process = subprocess.Popen(
            [PROGRAM, "record", "--listen", "127.0.0.1:0", "--dir", str(directory), "--create", "--run", str(run_number), "--json",
             *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.printed = []
        for line in self.process.stderr:  # it prints where it listens, or ends
            self.printed.append(line)
            found = re.search(r"listening on port (\d+)", line)
            if found:
                self.address = f"127.0.0.1:{found.group(1)}"
                return
        raise AssertionError(f"the recorder did not start: {''.join(self.printed)}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self._end()

    def kill(self):
        self.process.kill()
        return self._end()

    def _end(self):
        out, err = self.process.communicate(timeout=60)
        return Ended(self.process.returncode, out, "".join(self.printed) + err)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class ProgramTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def assertEnds(self, ended, code):
        self.assertEqual(ended.code, code, repr(ended))
        return ended

    def assertOneLine(self, ended, code, *words):
        """An error: nothing on stdout, one line on stderr that has these words."""
        self.assertEnds(ended, code)
        self.assertEqual(ended.out, "", repr(ended))
        self.assertEqual(ended.err.count("\n"), 1, repr(ended))
        self.assertTrue(ended.err.startswith("weir"), repr(ended))
        for word in words:
            self.assertIn(word, ended.err)


def main(needs_recorded_events=False):
    if needs_recorded_events and not BES3.exists():
        print(f"NOT TESTED: {BES3} is absent; WEIR_TEST_DATA names the folder that holds bes3/, "
              "WEIR_TEST_DATA_ABSENT=ok allows to go without", file=sys.stderr)
        sys.exit(SKIPPED if os.environ.get("WEIR_TEST_DATA_ABSENT") == "ok" else 1)
    result = unittest.main(exit=False).result
    for test, why in result.skipped:
        print(f"NOT TESTED: {test}: {why}", file=sys.stderr)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun and result.testsRun == len(result.skipped) else 0)
