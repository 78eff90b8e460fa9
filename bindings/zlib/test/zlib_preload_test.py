# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs under LD_PRELOAD=libweir-zlib.so: Python's zlib gives equal sums, faster; compressing
programs write what others read, and still notice damage."""
import gzip
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY = os.environ["WEIR_ZLIB_LIBRARY"]
CMAKE = os.environ.get("WEIR_CMAKE", "cmake")

# Runs with and without the library: every sum it makes, as JSON.
SUMS = r"""
import array, json, random, sys, zlib
random = random.Random(20261121)
data = random.randbytes(1 << 20)
result = []
for size in [*range(600), *(random.randrange(1 << 20) for _ in range(300)), 1 << 20]:
    at = random.randrange(min(64, (1 << 20) - size) + 1)
    part = memoryview(data)[at:at + size]
    value = random.choice([0, 1, 0xffffffff, random.randrange(1 << 32)])
    result += [zlib.adler32(part), zlib.crc32(part), zlib.adler32(part, value), zlib.crc32(part, value)]
result += [zlib.adler32(b""), zlib.crc32(b""), zlib.crc32(array.array("d", [1.5] * 99)), zlib.adler32(bytearray(70000))]
stream = zlib.compress(data[:200000] * 3)
result.append(zlib.crc32(zlib.decompress(stream)))
json.dump(result, sys.stdout)
"""

# The library of this process's adler32, and GB/s of both sums at 1 MiB.
SPEED = r"""
import ctypes, json, sys, time, zlib
address = ctypes.cast(ctypes.CDLL(None).adler32 if len(sys.argv) > 1 else ctypes.CDLL("libz.so.1").adler32, ctypes.c_void_p).value
owner = [line.split()[-1] for line in open("/proc/self/maps")
         if int(line.split("-")[0], 16) <= address < int(line.split("-")[1].split()[0], 16)]
data = bytes(range(256)) * 4096
def speed(function):
    best = 0
    for _ in range(15):
        begin = time.perf_counter()
        for _ in range(20):
            function(data)
        best = max(best, 20 * len(data) / (time.perf_counter() - begin) / 1e9)
    return best
json.dump({"owner": owner[0], "adler32": speed(zlib.adler32), "crc32": speed(zlib.crc32)}, sys.stdout)
"""


def environment(preloaded):
    result = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if preloaded:
        result["LD_PRELOAD"] = LIBRARY
    return result


def run(*command, preloaded, **more):
    return subprocess.run([*map(str, command)], env=environment(preloaded), stdin=more.pop("stdin", subprocess.DEVNULL),
                          capture_output=True, timeout=120, **more)


def python(script, *arguments, preloaded):
    ended = run(sys.executable, "-c", script, *arguments, preloaded=preloaded)
    if ended.returncode != 0 or ended.stderr:
        raise AssertionError(ended.stderr.decode())
    return json.loads(ended.stdout)


class Preload(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "data"
        self.file.write_bytes(random.Random(1).randbytes(500_000) + bytes(range(256)) * 5000)

    def test_pythons_zlib_gives_equal_sums(self):
        self.assertEqual(python(SUMS, preloaded=True), python(SUMS, preloaded=False))

    def test_the_functions_are_ours_and_their_speed(self):
        ours, zlib = python(SPEED, "ours", preloaded=True), python(SPEED, preloaded=False)
        self.assertIn("libweir-zlib", ours["owner"])
        self.assertNotIn("libweir-zlib", zlib["owner"])
        for name in ("adler32", "crc32"):
            print(f"zlib.{name} of 1 MiB in Python: {ours[name]:.1f} GB/s, zlib {zlib[name]:.1f} GB/s, "
                  f"ratio {ours[name] / zlib[name]:.1f}")

    def test_gzip_files_of_python_are_read_by_gzip_and_back(self):
        packed = self.folder / "a.gz"
        ended = run(sys.executable, "-m", "gzip", self.file, preloaded=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(gzip.decompress(self.file.with_suffix(".gz").read_bytes()), self.file.read_bytes())
        ended = run("gzip", "-dc", self.file.with_suffix(".gz"), preloaded=True)
        self.assertEqual((ended.returncode, ended.stdout), (0, self.file.read_bytes()), ended.stderr)

        packed.write_bytes(run("gzip", "-c", self.file, preloaded=True).stdout)
        read = "import gzip, sys; sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())"
        ended = run(sys.executable, "-c", read, packed, preloaded=True)
        self.assertEqual((ended.returncode, ended.stdout), (0, self.file.read_bytes()), ended.stderr)

        damaged = bytearray(packed.read_bytes())
        damaged[-6] ^= 1  # in the crc32 at the end
        packed.write_bytes(damaged)
        ended = run(sys.executable, "-c", read, packed, preloaded=True)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn(b"CRC check failed", ended.stderr)

    def test_archives_of_libarchive_survive(self):
        for kind, read in (("z", "gzip"), ("J", "xz")):
            archive = self.folder / f"a.tar.{read}"
            ended = run(CMAKE, "-E", "tar", f"c{kind}f", archive, "data", preloaded=True, cwd=self.folder)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            other = self.folder / read
            other.mkdir()
            ended = run("tar", f"x{kind}f", archive, preloaded=False, cwd=other)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual((other / "data").read_bytes(), self.file.read_bytes())
            (other / "data").unlink()
            ended = run(CMAKE, "-E", "tar", f"x{kind}f", archive, preloaded=True, cwd=other)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual((other / "data").read_bytes(), self.file.read_bytes())

    def test_a_xz_round_trip(self):
        packed = run("xz", "-c", self.file, preloaded=True)
        self.assertEqual(packed.returncode, 0, packed.stderr)
        (self.folder / "a.xz").write_bytes(packed.stdout)
        self.assertEqual(run("xz", "-dc", self.folder / "a.xz", preloaded=True).stdout, self.file.read_bytes())

    def test_threads_forks_and_exit_are_safe(self):
        script = r"""
import atexit, os, threading, zlib
atexit.register(lambda: zlib.crc32(bytes(100000)))
data = bytes(1 << 20)
expected = zlib.adler32(data), zlib.crc32(data)
def work():
    for _ in range(50):
        assert (zlib.adler32(data), zlib.crc32(data)) == expected
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    children.append(child)
for thread in threads: thread.join()
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""
        ended = run(sys.executable, "-W", "ignore", "-c", script, preloaded=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
