# SPDX-License-Identifier: Apache-2.0
"""weir.sum: sums of files, and that no sum is given for what could not be read."""
import errno
import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

import weir


def is_open(path, fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}") == os.path.realpath(path)
    except OSError:
        return False  # closed meanwhile


class File(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_sums_of_a_file(self):
        for size in (0, 1, 262_143, 262_144, 3_000_000):
            data = random.Random(size).randbytes(size)
            path = self.folder / f"f{size}"
            path.write_bytes(data)
            self.assertEqual(weir.sum(path), {"adler32": f"{zlib.adler32(data):08x}"})
            self.assertEqual(weir.sum(str(path), ["md5", "crc32"]),
                             {"md5": hashlib.md5(data).hexdigest(), "crc32": f"{zlib.crc32(data):08x}"})
            self.assertEqual(weir.sum(os.fsencode(path), algorithms="sha256"), {"sha256": hashlib.sha256(data).hexdigest()})

    def test_names_with_any_bytes(self):
        path = os.fsencode(self.folder) + b"/a\nb\xff"
        with open(path, "wb") as file:
            file.write(b"x")
        self.assertEqual(weir.sum(path), weir.sum(os.fsdecode(path)))

    def test_errors_name_the_file(self):
        absent = self.folder / "absent"
        with self.assertRaises(FileNotFoundError) as raised:
            weir.sum(absent)
        self.assertEqual((raised.exception.filename, raised.exception.errno), (absent, errno.ENOENT))
        with self.assertRaises(IsADirectoryError) as raised:
            weir.sum(str(self.folder))
        self.assertEqual(raised.exception.filename, str(self.folder))
        with self.assertRaises(OSError) as raised:
            weir.sum("/proc/self/mem")  # can be opened; its first byte cannot be read
        self.assertEqual((raised.exception.filename, raised.exception.errno), ("/proc/self/mem", errno.EIO))
        with self.assertRaises(ValueError):
            weir.sum("a\0b")
        with self.assertRaises(TypeError):
            weir.sum(5)
        with self.assertRaisesRegex(ValueError, "there is no algorithm"):
            weir.sum(absent, "md6")

    def sum_while(self, path, size, change):
        """Calls `change` when weir.sum has opened the file of `size` zeros and has not read it to its end."""
        with open(path, "wb") as file:
            file.truncate(size)

        def changing():
            deadline = time.monotonic() + 30
            while not any(is_open(path, fd) for fd in os.listdir("/proc/self/fd")) and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.02)
            change()

        thread = threading.Thread(target=changing)
        thread.start()
        try:
            return weir.sum(path, "md5")  # the slowest
        finally:
            thread.join()

    def test_a_file_that_changes_meanwhile_has_no_sum(self):
        path = self.folder / "changing"

        def write():
            with open(path, "r+b") as file:
                file.write(b"x")

        for change, words in ((lambda: os.truncate(path, 100), "shrank from 1073741824 to 100 bytes"),
                              (lambda: os.truncate(path, 2 << 30), "grew from 1073741824 to 2147483648 bytes"),
                              (write, "was written to")):
            with self.assertRaisesRegex(OSError, f"changed while it was read: it {words}") as raised:
                self.sum_while(path, 1 << 30, change)
            self.assertEqual((raised.exception.errno, raised.exception.filename), (errno.EBUSY, path))

    def test_a_minus_is_a_file(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        pathlib.Path("-").write_bytes(b"123456789")
        self.assertEqual(weir.sum("-"), {"adler32": "091e01de"})

    def test_no_descriptor_stays_open(self):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            weir.sum(__file__)
            self.assertRaises(OSError, weir.sum, self.folder)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_a_pipe_is_read_while_other_threads_run(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        data = random.Random(9).randbytes(1_000_000)
        writer = threading.Thread(target=lambda: path.write_bytes(data))
        writer.start()
        self.assertEqual(weir.sum(path, "crc32"), {"crc32": f"{zlib.crc32(data):08x}"})
        writer.join()

    def test_ctrl_c_ends_it(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        process = subprocess.Popen([sys.executable, "-c", f"import weir\nweir.sum({str(pipe)!r})"], stderr=subprocess.PIPE, text=True)
        with open(pipe, "wb"):  # never a byte
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            _, printed = process.communicate(timeout=120)
        self.assertIn("KeyboardInterrupt", printed)

    def test_a_pipe_without_a_writer_waits_and_receives_signals(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        program = ("import os, signal, weir\n"
                   "received = []\n"
                   "def receive(*_):\n"
                   "    received.append(1)\n"
                   "    if len(received) < 3: return\n"
                   "    signal.setitimer(signal.ITIMER_REAL, 0)\n"
                   "    raise TimeoutError\n"
                   "signal.signal(signal.SIGALRM, receive)\n"
                   "signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)\n"
                   "before = len(os.listdir('/proc/self/fd'))\n"
                   f"try: weir.sum({str(pipe)!r})\n"
                   "except TimeoutError: print(len(received), len(os.listdir('/proc/self/fd')) - before)\n")
        # In a program of its own: where it hangs, it is this test that fails.
        output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual(output.stdout, "3 0\n", output.stderr)


if __name__ == "__main__":
    unittest.main()
