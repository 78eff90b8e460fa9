# SPDX-License-Identifier: Apache-2.0
"""What tests of sum, check and scrub share: files, sums by Python's own libraries, tools that may be absent."""
import ctypes
import hashlib
import mmap
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib

from weir_process import wait_until
from weir_program import PROGRAM, Ended, ProgramTest, run

OK, MISMATCH, USAGE, MISSING, READ_ERROR, MALFORMED, CHANGED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
MIB = 1 << 20


def adler32(data):
    return f"{zlib.adler32(data):08x}"


def crc32(data):
    return f"{zlib.crc32(data):08x}"


def md5(data):
    return hashlib.md5(data).hexdigest()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def not_tested(what, why):
    """Loud: a part of a test that this machine cannot run."""
    print(f"NOT TESTED: {what}: {why}", file=sys.stderr)


class SumTest(ProgramTest):
    """Runs inside its folder, so that names are short and relative."""

    def weir(self, *arguments, **more):
        return run(*arguments, cwd=more.pop("cwd", self.folder), **more)

    def write(self, name, data=b"some bytes\n"):
        path = self.folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def sums(self, *arguments, code=OK, **more):
        """The files of `weir sum --json`, by path."""
        ended = self.assertEnds(self.weir("sum", "--json", *arguments, **more), code)
        return {file["path"]: file for file in ended.json["files"]}

    def checked(self, *arguments, code, **more):
        ended = self.assertEnds(self.weir("check", "--json", *arguments, **more), code)
        return {file["path"]: file for file in ended.json["files"]}

    def tool(self, name):
        """Whether it is installed; reports it loudly when it is not."""
        if shutil.which(name):
            return True
        not_tested(f"{self.id()} with {name}", "it is not installed")
        return False

    def wrong(self, how):
        """The environment in which this machine computes wrong sums: always, or rarely. See wrong_sums.c."""
        library = os.environ.get("WEIR_WRONG_SUMS")
        if not library:
            not_tested(self.id(), "WEIR_WRONG_SUMS does not name the built weir_wrong_sums")
            self.skipTest("WEIR_WRONG_SUMS is not set")
        return os.environ | {"LD_PRELOAD": library, "WEIR_TEST_WRONG": how, "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def outside(self, *command, **more):
        ended = subprocess.run(list(map(str, command)), cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **more)
        return Ended(ended.returncode, ended.stdout.decode(errors="backslashreplace"), ended.stderr.decode(errors="backslashreplace"))

    def start(self, *arguments, **more):
        return subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=more.pop("folder", self.folder), stdin=more.pop("stdin", subprocess.DEVNULL),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def wait_until_it_reads(process, path, count=1 << 16):
    """Until the program has a file open at or below the path, and has read `count` bytes of anything: the file's stamp was taken."""
    place, end = os.path.realpath(path), time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        for fd in os.listdir(f"/proc/{process.pid}/fd"):
            try:
                name = os.readlink(f"/proc/{process.pid}/fd/{fd}")
            except FileNotFoundError:  # closed meanwhile
                continue
            if (name == place or name.startswith(place + "/")) and not os.path.isdir(name):
                with open(f"/proc/{process.pid}/io") as io:
                    if int(io.readline().split()[1]) >= count:  # rchar
                        return
        time.sleep(0.005)
    raise AssertionError(f"{path} was not read: {process.poll()}")


def wait_until_it_heeds(process, number=signal.SIGINT):
    """Until the signal does not simply kill the program any more: it is blocked, to be taken in good order."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        blocked = re.search(r"^SigBlk:\s*([0-9a-f]+)", pathlib.Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
        if int(blocked.group(1), 16) >> number - 1 & 1:
            return
        time.sleep(0.005)
    raise AssertionError(f"signal {int(number)} is not blocked: {process.poll()}")


def resident_pages(path):
    """How many pages of a file are in the page cache, by mincore(2); and of how many."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    size = os.path.getsize(path)
    pages = -(-size // mmap.PAGESIZE)
    with open(path, "rb") as file:
        at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    try:
        seen = ctypes.create_string_buffer(pages)
        if libc.mincore(at, size, seen) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        libc.munmap(at, size)
    return sum(byte & 1 for byte in seen.raw), pages


class LoopImage:
    """A file system on a loop device with one file in it, of which a byte can be flipped below it."""

    KIND, MAKE, BYTES = "ext4", ("mkfs.ext4", "-q"), 64 * MIB
    SIZE, FLIPPED_AT = 8 * MIB, 5 * MIB

    def __init__(self, folder):
        self.image, self.place = folder / f"{self.KIND}.img", folder / self.KIND

    @classmethod
    def why_not(cls):
        if os.geteuid() != 0:
            return "not root"
        for tool in (cls.MAKE[0], "losetup", "mount"):
            if not shutil.which(tool):
                return f"{tool} is not installed"
        if cls.KIND not in pathlib.Path("/proc/filesystems").read_text():
            return f"the kernel has no {cls.KIND}"
        if subprocess.run(["losetup", "-f"], capture_output=True).returncode != 0:
            return "there is no loop device"
        return None

    @staticmethod
    def do(*command):
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
        if ended.returncode != 0:
            raise AssertionError(f"{command}: {ended.stdout}{ended.stderr}")

    def mount(self):
        self.do("mount", "-o", "loop", self.image, self.place)

    def __enter__(self):
        with open(self.image, "wb") as file:
            file.truncate(self.BYTES)
        self.do(*self.MAKE, self.image)
        self.place.mkdir()
        self.mount()
        data = bytearray(os.urandom(self.SIZE))
        self.mark = b"the byte that goes bad: " + os.urandom(40)
        data[self.FLIPPED_AT:self.FLIPPED_AT + len(self.mark)] = self.mark
        self.data = bytes(data)
        (self.place / "bad").write_bytes(self.data)
        (self.place / "a").write_bytes(b"good\n")
        (self.place / "z").write_bytes(b"good too\n")
        os.sync()
        return self

    def flip(self):
        whole = self.image.read_bytes()
        with open(self.image, "r+b") as file:
            file.seek(whole.index(self.mark))
            file.write(b"T")
            os.fsync(file.fileno())

    def __exit__(self, *_):
        subprocess.run(["umount", str(self.place)], capture_output=True, timeout=60)


class BtrfsImage(LoopImage):
    """The flipped byte lies under a checksum: reading it is an I/O error of the kernel, as a bad disk gives one."""

    KIND, MAKE, BYTES = "btrfs", ("mkfs.btrfs", "-q"), 200 * MIB

    def __enter__(self):
        super().__enter__()
        self.do("umount", self.place)
        # Where another test made a mount namespace meanwhile, it is mounted there until that ends, with all that it keeps in memory.
        wait_until(lambda: not subprocess.run(["losetup", "-j", self.image], capture_output=True, text=True).stdout, "it is mounted nowhere", seconds=300)
        self.flip()
        self.mount()
        return self
