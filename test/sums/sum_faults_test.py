# SPDX-License-Identifier: Apache-2.0
"""weir sum when something goes wrong: it prints nothing for what it could not read, and reports it."""
import mmap
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import weir_program
from sum_program import (CHANGED, INTERRUPTED, MIB, MISMATCH, MISSING, OK, READ_ERROR, USAGE, BtrfsImage, LoopImage, SumTest, adler32, crc32, md5,
                         not_tested, wait_until_it_heeds, wait_until_it_reads)
from weir_program import PROGRAM


class Faults(SumTest):
    """The rows C1 to C15 of the fault catalogue that concern sums."""

    def test_a_real_read_error_is_named_and_leaves_no_sum(self):
        why = BtrfsImage.why_not()
        if why:
            not_tested("a read error of a btrfs image", why)
            self.skipTest(why)
        with BtrfsImage(self.folder) as btrfs:
            for options in ((), ("--direct",), ("-j", "4", "-a", "md5,adler32"), ("--xattr", "write")):
                with self.subTest(options=options):
                    ended = self.assertEnds(self.weir("sum", "--json", "-r", *options, btrfs.place), READ_ERROR)
                    files = {os.path.basename(file["path"]): file for file in ended.json["files"]}
                    self.assertEqual({name: file["status"] for name, file in files.items()}, {"a": "ok", "bad": "error", "z": "ok"})
                    self.assertEqual(files["bad"]["sums"], {})
                    self.assertEqual((files["bad"]["error"]["errno"], files["bad"]["error"]["offset"]), (5, btrfs.FLIPPED_AT))
                    self.assertEqual(ended.err.count("\n"), 1, ended.err)
                    for word in (str(btrfs.place / "bad"), str(btrfs.FLIPPED_AT), "Input/output error"):
                        self.assertIn(word, ended.err)
                    self.assertEqual(os.listxattr(btrfs.place / "bad"), [])
            self.assertNotIn("bad", self.weir("sum", "-r", btrfs.place).out)

    def test_an_injected_read_error_at_the_first_middle_and_last_block(self):
        if not self.tool("strace"):
            return self.skipTest("strace is not installed")
        self.write("bad", bytes(1 * MIB))
        self.write("good", b"good")
        for when in (1, 3, 4):  # of four reads of 256 KiB
            with self.subTest(when=when):
                ended = self.outside("strace", "-f", "-o", "/dev/null", "-P", self.folder / "bad", "-e", f"inject=pread64:error=EIO:when={when}",
                                     PROGRAM, "sum", "--json", "-j", "1", "good", self.folder / "bad")
                if "ptrace" in ended.err:
                    not_tested("an injected read error", ended.err)
                    return self.skipTest("strace may not trace here")
                self.assertEnds(ended, READ_ERROR)
                good, bad = ended.json["files"]
                self.assertEqual((good["status"], bad["status"], bad["sums"]), ("ok", "error", {}))
                self.assertEqual(bad["error"], {"offset": (when - 1) * MIB // 4, "errno": 5, "text": "Input/output error"})

    def test_an_injected_read_error_is_no_mismatch_for_a_check(self):
        if not self.tool("strace"):
            return self.skipTest("strace is not installed")
        for name in ("bad", "good"):
            self.write(name, bytes(1 * MIB))
        self.assertEnds(self.weir("sum", self.folder / "bad", "good", "-o", "sums"), OK)
        ended = self.outside("strace", "-f", "-o", "/dev/null", "-P", self.folder / "bad", "-e", "inject=pread64:error=EIO:when=2", PROGRAM, "check", "sums")
        if "ptrace" in ended.err:
            not_tested("an injected read error", ended.err)
            return self.skipTest("strace may not trace here")
        self.assertEnds(ended, READ_ERROR)
        self.assertEqual(ended.out, f"{self.folder}/bad: ERROR (at offset {MIB // 4}: Input/output error)\ngood: OK\n")

    def test_a_direct_read_sees_the_medium_where_the_cache_looks_good(self):
        why = LoopImage.why_not()
        if why:
            not_tested("a cache that is better than its medium", why)
            self.skipTest(why)
        with LoopImage(self.folder) as disk:
            bad = disk.place / "bad"
            self.assertEnds(self.weir("sum", "-a", "adler32", "--blocks", "1MiB", "-f", "json", "-o", "sums", bad), OK)
            disk.flip()
            through = {}
            for options, code in (((), OK), (("--direct",), MISMATCH)):
                file = self.checked("sums", *options, code=code)[str(bad)]
                through[file["read"]] = file["status"]
            self.assertEqual(through, {"cache": "ok", "direct": "mismatch"})
            self.assertEqual(file["damage"]["first_offset"], disk.FLIPPED_AT)

    def test_a_thread_that_the_system_refuses_is_done_without(self):
        """A stack of this size has no room in the memory that the process may have; everything else has."""
        def limits():
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        big = self.write("big", os.urandom(40 * MIB))
        small = [str(self.write(f"d/{n}", b"%d" % n)) for n in range(20)]
        for more in (("-a", "crc32"), ("-a", "md5"), ("-a", "crc32", "--direct")):
            with self.subTest(more=more):
                ended = self.assertEnds(self.weir("sum", "--json", "-j", "4", *more, big, *small, preexec_fn=limits), OK)
                self.assertEqual([file["path"] for file in ended.json["files"]], [str(big), *small])
                value = crc32(big.read_bytes()) if "md5" not in more else md5(big.read_bytes())
                self.assertEqual(list(ended.json["files"][0]["sums"].values()), [value])
                self.assertIn("gave no more threads", ended.err)

    def test_interrupted_and_short_reads_are_gone_on_with(self):
        if not self.tool("strace"):
            return self.skipTest("strace is not installed")
        self.write("x", b"abc" * 400_000)
        ended = self.outside("strace", "-f", "-o", "/dev/null", "-P", self.folder / "x", "-e", "inject=pread64:error=EINTR:when=1+2",
                             PROGRAM, "sum", "-a", "crc32", self.folder / "x")
        if "ptrace" in ended.err:
            not_tested("interrupted reads", ended.err)
            return self.skipTest("strace may not trace here")
        self.assertEnds(ended, OK)
        self.assertIn(crc32(b"abc" * 400_000), ended.out)

    def test_a_pipe_that_has_nothing_yet_is_waited_for(self):
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)  # reading it too early is EAGAIN
        process = self.start("sum", "-", stdin=read_end)
        os.close(read_end)
        for part in (b"a", b"b", b"c"):
            time.sleep(0.1)
            os.write(write_end, part)
        os.close(write_end)
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, out, err), (OK, b"ADLER32 (-) = 024d0127\n", b""))

    def while_reading(self, change, size=8 * MIB):
        """A file that is read slowly, and changed meanwhile."""
        path = self.write("x", os.urandom(size))
        stamp = time.time() - 100
        os.utime(path, (stamp, stamp))
        process = self.start("sum", "--json", "--bwlimit", "4MiB", "-a", "md5", "x")
        wait_until_it_reads(process, path)
        change(path)
        out, err = process.communicate(timeout=60)
        ended = weir_program.Ended(process.returncode, out.decode(), err.decode())
        self.assertEnds(ended, CHANGED)
        file = ended.json["files"][0]
        self.assertEqual((file["status"], file["sums"]), ("changed", {}))
        self.assertIn("changed while it was read", ended.err)
        return file["error"]["text"]

    def test_a_file_that_shrinks(self):
        self.assertIn("shrank", self.while_reading(lambda path: os.truncate(path, 1000)))

    def test_a_file_that_grows(self):
        self.assertIn("grew", self.while_reading(lambda path: os.truncate(path, 9 * MIB)))

    def test_a_file_that_is_written_to(self):
        def write(path):
            with open(path, "r+b") as file:
                file.write(b"!")
        self.assertIn("written", self.while_reading(write))

    def test_a_file_that_is_replaced(self):
        other = self.write("other", b"other")
        self.assertIn("replaced", self.while_reading(lambda path: os.rename(other, path)))

    def test_a_file_that_is_written_with_its_time_restored(self):
        def write(path):
            before = path.stat()
            with open(path, "r+b") as file:
                file.write(b"!")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.while_reading(write)

    def test_a_file_that_is_written_to_through_a_mapping(self):
        """Its page is dirty already: without being written back first, the next write has no time of its own."""
        path = self.write("x", bytes(4 * MIB))
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
            mapping[3 * MIB] = 1
            process = self.start("sum", "--bwlimit", "1MiB", "x")
            wait_until_it_reads(process, path, MIB // 2)
            mapping[3 * MIB] = 2
            out, err = process.communicate(timeout=120)
        if os.stat(path).st_dev == os.stat("/dev/shm").st_dev or b"tmpfs" in subprocess.run(["stat", "-f", "-c", "%T", str(path)], capture_output=True).stdout:
            return not_tested(self.id(), "a file system without a medium")
        self.assertEqual((process.returncode, out), (CHANGED, b""), err)

    def test_a_file_that_is_written_to_through_a_mapping_again_and_again(self):
        """Its page is dirty again before the write-back ends, whenever that is; each write is another state of the file."""
        path = self.write("x", bytes(2 * MIB))
        writes = "import mmap,sys\nfile = open(sys.argv[1], 'r+b')\nmapping = mmap.mmap(file.fileno(), 0)\nn = 0\nprint(flush=True)\n" \
                 "while True:\n    n += 1\n    mapping[1 << 20] = n & 255"
        writer = subprocess.Popen([sys.executable, "-c", writes, path], stdout=subprocess.PIPE)
        try:
            writer.stdout.readline()
            ends = [self.weir("sum", "--bwlimit", "16MiB", "x") for _ in range(8)]
        finally:
            writer.kill()
            writer.communicate()
        if b"tmpfs" in subprocess.run(["stat", "-f", "-c", "%T", str(path)], capture_output=True).stdout:
            return not_tested(self.id(), "a file system without a medium")
        self.assertEqual([(ended.code, ended.out) for ended in ends], [(CHANGED, "")] * 8, ends[0].err)

    def test_only_what_may_be_written_to_is_written_back_before(self):
        """A file that was just written and closed is summed from the page cache, without waiting for its medium."""
        if not self.tool("strace"):
            return
        path = self.write("x", bytes(MIB))

        def times_written_back():
            self.assertEnds(self.outside("strace", "-f", "-o", "trace", "-e", "trace=sync_file_range", PROGRAM, "sum", "x"), OK)
            return (self.folder / "trace").read_text().count("sync_file_range(")

        self.assertEqual(times_written_back(), 0)
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
            file.close()
            mapping[0] = 1
            self.assertEqual(times_written_back(), 1)
        self.assertEqual(times_written_back(), 0)

    def test_a_range_of_a_file_that_is_written_to(self):
        path = self.write("x", os.urandom(4 * MIB))
        os.utime(path, (1_000_000_000, 1_000_000_000))
        process = self.start("sum", "--range", "100:", "--bwlimit", "2MiB", "x")
        wait_until_it_reads(process, path)
        with open(path, "ab") as file:
            file.write(b"!")
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (CHANGED, b""))
        self.assertIn(b"it grew", err)

    def test_a_directory_and_a_file_that_vanish_meanwhile_are_reported_and_the_rest_is_done(self):
        for number in range(1100):  # more than are looked for ahead; the first hundred are read slowly
            self.write(f"d/a/f{number:04}", bytes(4096 if number < 100 else 0))
        self.write("d/y/x")
        self.write("d/z")
        process = self.start("sum", "-r", "-j", "1", "--bwlimit", "256KiB", "--json", "d")
        wait_until_it_reads(process, self.folder / "d/a")
        shutil.rmtree(self.folder / "d/y")
        (self.folder / "d/a/f1000").unlink()
        out, err = process.communicate(timeout=60)
        ended = self.assertEnds(weir_program.Ended(process.returncode, out.decode(), err.decode()), READ_ERROR)
        wrong = {file["path"]: (file["status"], file["error"]["errno"]) for file in ended.json["files"] if file["status"] != "ok"}
        self.assertEqual(wrong, {"d/y": ("error", 2), "d/a/f1000": ("error", 2)})
        self.assertEqual((ended.json["errors"], ended.json["ok"]), (2, 1100))

    def test_more_blocks_than_a_manifest_holds_are_refused_before_reading(self):
        with open(self.folder / "huge", "wb") as file:
            file.truncate((1 << 38) + 1)  # 256 GiB
        self.assertOneLine(self.weir("sum", "--blocks", "4KiB", "huge"), READ_ERROR, "huge", "67108865 blocks", "larger blocks")

    def test_what_recursion_finds_and_cannot_read_is_skipped_and_reported(self):
        self.write("d/file", b"x")
        os.mkfifo(self.folder / "d/fifo")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(self.folder / "d/socket"))
        os.symlink("nowhere", self.folder / "d/dangling")
        os.symlink(".", self.folder / "d/loop")
        os.symlink("file", self.folder / "d/link")
        ended = self.assertEnds(self.weir("sum", "--json", "-r", "d", timeout=120), OK)
        self.assertEqual([file["path"] for file in ended.json["files"]], ["d/file"])
        self.assertEqual(ended.json["skipped"], {"special": 2, "links": 3})
        for word in ("d/fifo is a FIFO", "d/socket is a socket", "3 symbolic links"):
            self.assertIn(word, ended.err)
        followed = self.assertEnds(self.weir("sum", "--json", "-r", "--follow", "d", timeout=120), READ_ERROR)
        statuses = {file["path"]: file["status"] for file in followed.json["files"]}
        self.assertEqual(statuses, {"d/dangling": "error", "d/file": "ok", "d/link": "ok"})

    def test_a_fifo_that_is_named_is_read(self):
        os.mkfifo(self.folder / "fifo")
        writer = threading.Thread(target=lambda: (self.folder / "fifo").write_bytes(b"abc"))
        writer.start()
        self.assertEqual(self.sums("fifo")["fifo"]["sums"]["adler32"], "024d0127")
        writer.join()

    def test_other_things_that_have_names(self):
        os.symlink("loop", self.folder / "loop")
        os.symlink("nowhere", self.folder / "dangling")
        (self.folder / "directory").mkdir()
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(self.folder / "socket"))
        self.assertEqual(self.sums("/dev/null")["/dev/null"]["sums"]["adler32"], "00000001")
        version = self.sums("-a", "md5", "/proc/version")["/proc/version"]
        with open("/proc/version", "rb") as file:
            self.assertEqual(version["sums"]["md5"], md5(file.read()))
        for name, code, word in (("loop", READ_ERROR, "symbolic links"), ("dangling", MISSING, "not there"), ("nowhere", MISSING, "not there"),
                                 ("directory", READ_ERROR, "-r"), ("socket", READ_ERROR, "socket")):
            with self.subTest(name=name):
                ended = self.weir("sum", name, timeout=120)
                self.assertOneLine(ended, code, name, word)

    def test_a_directory_that_may_not_be_read_is_counted_and_the_rest_done(self):
        self.write("d/closed/x")
        self.write("d/open/y")
        (self.folder / "d/closed").chmod(0)
        self.addCleanup((self.folder / "d/closed").chmod, 0o755)
        prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else []
        if prefix and not self.tool("setpriv"):
            return self.skipTest("root may read everything")
        ended = self.outside(*prefix, PROGRAM, "sum", "-r", "--json", "d")
        self.assertEnds(ended, READ_ERROR)
        self.assertEqual({file["path"]: file["status"] for file in ended.json["files"]}, {"d/closed": "error", "d/open/y": "ok"})
        self.assertIn("Permission denied", ended.err)

    def test_output_that_does_not_arrive_is_an_error(self):
        self.write("x")
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([PROGRAM, "sum", "x"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr), (READ_ERROR, b"weir sum: cannot write to stdout: No space left on device\n"))
        self.assertOneLine(self.weir("sum", "x", "-o", "/dev/full"), READ_ERROR, "/dev/full", "No space left")
        for n in range(300):
            self.write(f"d/a-long-name-so-that-the-buffer-is-full-long-before-the-end-{n}")
        for arguments in (("-r", "d"), ("-r", "--json", "d"), ("-r", "d", "nowhere", "d")):
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                ended = subprocess.run([PROGRAM, "sum", *arguments], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, timeout=60)
                self.assertEqual((ended.returncode, ended.stderr.count(b"cannot write")), (READ_ERROR, 1), ended.stderr)
                self.assertIn(b"No space left on device", ended.stderr)

    def test_a_reader_that_goes_away_ends_it(self):
        for number in range(20_000):
            self.write(f"d/a-name-that-is-long-enough-to-fill-pipes-{number}", b"")
        ended = self.outside("bash", "-c", "$W sum -r d | head -n 1; exit ${PIPESTATUS[0]}", env=os.environ | {"W": PROGRAM})
        self.assertIn(ended.code, (READ_ERROR, 128 + signal.SIGPIPE))
        self.assertEqual(ended.out.count("\n"), 1)

    def test_output_to_a_file_is_complete_or_not_there(self):
        self.write("x", b"abc")
        self.assertEnds(self.weir("sum", "x", "-o", "out"), OK)
        self.assertEqual((self.folder / "out").read_text(), "ADLER32 (x) = 024d0127\n")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"x", "out"})
        self.assertOneLine(self.weir("sum", "x", "-o", "no/such/place"), MISSING, "no/such/place")

    def test_output_does_not_replace_what_is_to_be_summed(self):
        self.write("x", b"abc")
        self.write("d/y", b"abc")
        os.symlink("x", self.folder / "link")
        self.write("names", b"d/y\nx\n")
        for arguments in (("x", "-o", "x"), ("d/y", "link", "-o", "x"), ("--files-from", "names", "-o", "x"), ("--json", "./x", "-o", "x")):
            with self.subTest(arguments=arguments):
                ended = self.assertEnds(self.weir("sum", *arguments), USAGE)
                self.assertIn("-o x would replace", ended.err)
                self.assertEqual((self.folder / "x").read_bytes(), b"abc")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"x", "d", "link", "names"})

    def test_a_manifest_that_is_replaced_stays_for_the_same_people(self):
        self.write("x", b"abc")
        out = self.write("out", b"old")
        for mode in (0o600, 0o640, 0o444):
            out.chmod(mode)
            self.assertEnds(self.weir("sum", "x", "-o", "out"), OK)
            self.assertEqual(out.stat().st_mode & 0o7777, mode)

    def test_output_below_what_is_summed_is_not_summed(self):
        for name in ("a", "b", "z"):
            self.write(f"d/{name}", b"abc")
        good = [f"ADLER32 (d/{name}) = 024d0127" for name in "abz"]
        for before in (None, b"what was there before\n"):
            for more in ((), ("--follow",), ("--xattr", "write")):
                with self.subTest(before=before, more=more):
                    (self.folder / "d/out").unlink(missing_ok=True)
                    if before:
                        self.write("d/out", before)
                    ended = self.assertEnds(self.weir("sum", "-r", *more, "d", "-o", "d/out"), OK)
                    self.assertEqual((self.folder / "d/out").read_text().splitlines(), good)
                    self.assertEqual(ended.err.count("not summed"), 1 if before else 0, ended.err)
                    self.assertNotIn(".weir-", ended.err)
                    self.assertEqual({path.name for path in (self.folder / "d").iterdir()}, {"a", "b", "z", "out"})
        with open(self.folder / "d/out", "wb") as out:
            ended = subprocess.run([PROGRAM, "sum", "-r", "--xattr", "write", "d"], cwd=self.folder, stdout=out, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr.count(b"d/out is where these sums go; it was not summed")), (OK, 1), ended.stderr)
        self.assertEqual((self.folder / "d/out").read_text().splitlines(), good)
        self.assertEqual(os.listxattr(self.folder / "d/out"), [])
        # Another name of the same file, and a copy of an old manifest that is only a file.
        os.link(self.folder / "d/out", self.folder / "d/link")
        listed = self.assertEnds(self.weir("sum", "-r", "d", "-o", "d/link"), OK)
        self.assertEqual((self.folder / "d/link").read_text().splitlines(), good)
        self.assertIn("not summed", listed.err)

    def test_an_interrupt_leaves_what_is_done_and_reports_it(self):
        for n in range(8):
            self.write(f"d/f{n}", bytes(MIB))
        self.write("out", b"what was there before\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                process = self.start("sum", "-r", "-j", "1", "--bwlimit", "4MiB", "d", "-o", "out")
                wait_until_it_reads(process, self.folder / "d", 5 * MIB // 2)
                process.send_signal(number)
                out, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, INTERRUPTED, err)
                self.assertEqual((self.folder / "out").read_bytes(), b"what was there before\n")
                lines = (self.folder / "out.partial").read_text().splitlines()
                self.assertIn(len(lines), range(1, 8))
                self.assertEnds(self.weir("check", "-q", "out.partial"), OK)

    def test_an_interrupted_document_is_whole(self):
        self.write("x", bytes(8 * MIB))
        process = self.start("sum", "--json", "--bwlimit", "4MiB", "x")
        wait_until_it_reads(process, self.folder / "x")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        document = weir_program.Ended(process.returncode, out.decode(), err.decode()).json
        self.assertEqual((process.returncode, document["files"], document["interrupted"]), (INTERRUPTED, [], True))

    def test_stdin_has_one_reader(self):
        self.write("twice", b"-\nx\n-\n")
        self.write("x", b"abc")
        for arguments in (("-", "-"), ("--files-from", "-", "-"), ("-", "x", "/dev/stdin"), ("--files-from", "/dev/stdin", "-")):
            with self.subTest(arguments=arguments):
                self.assertOneLine(self.weir("sum", *arguments), USAGE, "stdin", "name it once")
        self.assertOneLine(self.weir("check", "-", "-"), USAGE, "stdin", "name it once")
        # In a list it is found out when it comes: the first has all of it, the second nothing.
        for arguments, code in ((("--files-from", "twice"), READ_ERROR), (("-", "--files-from", "twice"), READ_ERROR)):
            process = self.start("sum", *arguments, stdin=subprocess.PIPE)
            out, err = process.communicate(b"abc" * 100_000, timeout=120)
            self.assertEqual((process.returncode, sorted(out.decode().splitlines())),
                             (code, sorted([f"ADLER32 (-) = {adler32(b'abc' * 100_000)}", "ADLER32 (x) = 024d0127"])), err)
            self.assertIn(b"name it once", err)
        process = self.start("sum", "--files-from", "-", stdin=subprocess.PIPE)
        out, err = process.communicate(b"x\n-\n", timeout=120)
        self.assertEqual((process.returncode, out), (READ_ERROR, b"ADLER32 (x) = 024d0127\n"), err)

    def test_a_fifo_has_one_reader_whatever_its_names(self):
        os.mkfifo(self.folder / "fifo")
        os.link(self.folder / "fifo", self.folder / "hard link")
        os.symlink("fifo", self.folder / "link")
        data = os.urandom(300_000)
        for second in ("fifo", "hard link", "link", "./fifo"):
            with self.subTest(second=second):
                process = self.start("sum", "-j", 4, "fifo", second)
                (self.folder / "fifo").write_bytes(data)
                out, err = process.communicate(timeout=120)
                self.assertEqual((process.returncode, out.decode()), (READ_ERROR, f"ADLER32 (fifo) = {adler32(data)}\n"), err)
                self.assertIn(f"no sum of {second} was made: a FIFO can be read only once; name it once".encode(), err)
        process = self.start("sum", "--files-from", "fifo", "link")
        (self.folder / "fifo").write_bytes(b"")
        _, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, err.count(b"name it once")), (READ_ERROR, 1), err)
        # A pipe that is stdin and has a number, too; two pipes are two.
        for command, code in (("printf abc | $W sum - /proc/self/fd/9 9<&0", READ_ERROR), ("$W sum <(printf abc) <(printf abc)", OK)):
            ended = self.outside("bash", "-c", command, env=os.environ | {"W": PROGRAM})
            self.assertEqual((ended.code, ended.out.count("024d0127")), (code, 1 if code else 2), repr(ended))

    def test_a_silent_pipe_can_be_interrupted(self):
        process = self.start("sum", "-", stdin=subprocess.PIPE)
        wait_until_it_heeds(process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        self.assertEqual((process.returncode, out), (INTERRUPTED, b""))

    def test_many_files_take_little_memory(self):
        if weir_program.sanitized():
            not_tested("the memory of many files", "the program was built with a sanitizer")
            return self.skipTest("a sanitizer keeps shadows of all memory")
        files = 100_000
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-", dir=memory))  # files are made faster there
        self.addCleanup(shutil.rmtree, self.folder)
        folder = self.folder / "many"
        folder.mkdir()
        for n in range(files):
            os.close(os.open(folder / f"a-file-with-a-name-{n:07}", os.O_CREAT | os.O_WRONLY))
        program = "import resource,subprocess,sys;code=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL).returncode;" \
                  "print(code,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        for command, limit in ((("sum", "-r", "many", "-o", "sums"), 30_000), (("check", "sums"), 30_000), (("check", "--extra", "sums"), 40_000),
                               (("scrub", "many"), 30_000)):
            with self.subTest(command=command):
                ended = self.outside("python3", "-c", program, PROGRAM, *command)
                code, kib = map(int, ended.out.split())
                self.assertEqual(code, OK, ended.err)
                print(f"peak memory of weir {' '.join(command)}: {kib} KiB", file=sys.stderr)
                # 10 to 15 MB for the program, 30 bytes a name of the largest directory, 16 a name for --extra.
                self.assertLess(kib, limit)


if __name__ == "__main__":
    weir_program.main()
