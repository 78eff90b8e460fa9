# SPDX-License-Identifier: Apache-2.0
"""Destinations that lie, refuse, hang or disappear: nothing is deleted here, nothing is called TRANSFERRED that is not
proven, and what comes of it in the end is right. A real XRootD server of Debian; its checksums come from
a program that the test gives it (xrootd.chksum), as sites do it."""
import os
import pathlib
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest
import zlib

import weir_process
import weir_program
import xrootd_server
from mounting import why_no_mount
from weir_process import Process, wait_until
from weir_program import run

QUICK = ("--retry-first", "50ms", "--retry-most", "400ms", "--poll", "50ms", "--metrics", "")

# Answers of `xrootd.chksum ... PROGRAM`: called with the kind and the path, prints the sum.
LIAR = """#!/usr/bin/python3
import os, sys, time, zlib
path = %r + sys.argv[-1]  # the server gives the path below its root
honest = lambda: zlib.adler32(open(path, 'rb').read())
%s
"""


def liar(folder, body, server="server"):
    """A program that makes the sums of this server, as its line of the configuration. It may be replaced at any time."""
    program = pathlib.Path(folder) / f"sums-of-{server}"
    new = program.with_suffix(".new")
    new.write_text(LIAR % (f"{folder}/{server}/data", body))
    new.chmod(0o755)
    new.rename(program)
    return f"max 2 adler32 {program}"


class Lies(weir_program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.recorded = self.folder / "recorded"
        with weir_program.Recorder(self.recorded, "--metrics", "") as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", 7, "--events", 30, "--seed", 5), 0)
            self.assertEnds(recorder.stop(), 0)
        self.before = self.files()
        self.assertGreater(len(self.before), 2)

    def files(self):
        return run("ls", self.recorded, "--json").json["files"]

    def server(self, **more):
        server = xrootd_server.XrootdServer(self.folder / "server", **more)
        self.addCleanup(server.stop)
        return server

    def handoff(self, to, *arguments, once=True, prefix=(), answer=2):
        """Deletion is on, for any volume and any age: what could be deleted would be. `answer`: seconds a server may need."""
        process = Process(self.folder, "handoff", "--dir", self.recorded, "--to", to, "--delete-above", 0, "--delete-age", "0s",
                          *(["--once", "--tries", 2] if once else []), "--json", "--answer", f"{answer}s", *QUICK, *arguments, prefix=prefix,
                          env=xrootd_server.QUICK | {"XRD_REQUESTTIMEOUT": str(answer), "XRD_STREAMTIMEOUT": str(answer)})
        self.addCleanup(process.__exit__)
        return process

    def assertNothingLost(self):
        """Every file is here, as it was, and none is called TRANSFERRED."""
        now = self.files()
        self.assertEqual({f["transfer_state"] for f in now}, {"ONDISK"})
        self.assertEqual({f["file_state"] for f in now}, {"CLOSED"})
        self.assertEnds(run("verify", self.recorded), 0)

    def assertHandedOver(self, server, directory="raw"):
        """Each one has its bytes there, no other name is there, and then it was deleted here."""
        now = self.files()
        self.assertEqual({(f["file_state"], f["transfer_state"]) for f in now}, {("DELETED", "TRANSFERRED")})
        there = {pathlib.Path(name).name: name for name in server.names()}
        self.assertEqual(set(there), {pathlib.Path(f["path"]).name for f in now})
        for file in now:
            data = (server.data / there[pathlib.Path(file["path"]).name]).read_bytes()
            self.assertEqual((len(data), f"{zlib.adler32(data):08x}"), (file["bytes"], file["sums"]["adler32"]))
            self.assertFalse(pathlib.Path(file["path"]).exists())

    def test_sums_that_are_none_or_not_of_these_bytes_never_count(self):
        """One row a lie; then the same server becomes honest, and everything arrives."""
        lies = {
            "of an older state of the file": ("print('%08x' % zlib.adler32(b''))", "wrong"),
            "of another file": ("print('%08x' % zlib.adler32(b'another file'))", "wrong"),
            "cut to its first digits": ("print(('%08x' % honest())[:5])", "wrong"),
            "zero": ("print('0')", "wrong"),
            "no number": ("print('none')", "unverified"),
            "nothing": ("", "unverified"),
            "an error": ("sys.exit(1)", "unverified"),
            "half a sum too long": ("print(('%08x' % honest()) + '1234')", "unverified"),
        }
        server = self.server(checksum=liar(self.folder, "print('%08x' % honest())"))
        for lie, (body, state) in lies.items():
            with self.subTest(lie=lie):
                liar(self.folder, body)
                ended = self.handoff(server.url("raw"), answer=20 if state == "wrong" else 2).wait()
                self.assertEnds(ended, 1)
                at = ended.json["destinations"][0]
                self.assertEqual((at["files"], ended.json["deleted"]["files"]), (0, 0), repr(ended))
                self.assertGreater(at["failed" if state == "wrong" else "unverified"], 0, repr(ended))
                self.assertNothingLost()
                self.assertFalse([name for name in server.names() if not name.endswith(".weir-part")])
        liar(self.folder, "print('%x' % honest())")  # without leading zeros, as old servers write it: that is right
        self.assertEnds(self.handoff(server.url("raw"), answer=20).wait(), 0)
        self.assertHandedOver(server)

    def test_a_right_sum_of_a_file_that_is_cut_or_empty_does_not_count(self):
        """The server answers what it was given: the sum of the whole, over bytes that are not there."""
        for what, cut in (("empty", "0"), ("cut", "os.path.getsize(path) // 2"), ("longer", "os.path.getsize(path) + 4096")):
            with self.subTest(what=what):
                body = f"sum = honest()\nos.truncate(path, {cut})\nprint('%08x' % sum)"
                server = xrootd_server.XrootdServer(self.folder / what, checksum=liar(self.folder, body, what))
                self.addCleanup(server.stop)
                self.assertEnds(self.handoff(server.url("raw")).wait(), 1)
                self.assertNothingLost()
                server.stop()

    def test_stored_bytes_that_change_behind_the_server_are_found(self):
        """Real sums by the server's own code: it reads what it stored, for the name has no attribute yet."""
        server = self.server()
        stop = threading.Event()
        flipped = []
        sizes = {f["guid"]: f["bytes"] for f in self.before}

        def long_before_its_end(path):
            """Behind a sum of the right bytes, a change would be found by no check."""
            whole = sizes[path.name.split(".")[0]]
            return whole > 4_000_000 and 1000 < path.stat().st_size < whole // 2

        def flip():
            seen = set()
            while not stop.is_set():
                for path in server.data.rglob("*.weir-part"):
                    try:
                        if path.name not in seen and long_before_its_end(path):
                            with open(path, "r+b") as file:  # while it is written: the write of this byte is over
                                first = file.read(1)
                                file.seek(0)
                                file.write(bytes([first[0] ^ 1]))
                            seen.add(path.name)
                            flipped.append(path.name)
                    except OSError:
                        pass
                time.sleep(0.0005)

        thread = threading.Thread(target=flip)
        thread.start()
        try:
            # Slowly, so that the byte is changed before the file is closed.
            ended = self.handoff(server.url("raw"), "--bwlimit", "5MB", "--jobs", 1, answer=20).wait(300)
        finally:
            stop.set()
            thread.join()
        there = {pathlib.Path(f["path"]).name: f for f in self.files()}
        for file in there.values():
            self.assertIn((file["file_state"], file["transfer_state"]), {("CLOSED", "ONDISK"), ("DELETED", "TRANSFERRED")}, repr(ended))
        for name in server.names():  # what has its final name is right, whatever was flipped in the transfer
            if not name.endswith(".weir-part"):
                data = (server.data / name).read_bytes()
                self.assertEqual(f"{zlib.adler32(data):08x}", there[pathlib.Path(name).name]["sums"]["adler32"])
        self.assertTrue(flipped)
        self.assertGreater(ended.json["destinations"][0]["failed"], 0, repr(ended))

    def test_an_attribute_that_lies_is_seen_by_reading_back(self):
        """The worst: the right sum, kept from the time of writing, over other bytes. The server's own sum cannot show it."""
        body = "sum = honest()\nwith open(path, 'r+b') as file: file.write(b'damaged!')\nprint('%08x' % sum)"
        server = self.server(checksum=liar(self.folder, body))
        self.assertEnds(self.handoff(server.url("raw"), "--verify", "both").wait(), 1)
        self.assertNothingLost()

    def test_a_copy_that_is_lost_after_it_was_verified_keeps_the_file_here(self):
        server = self.server()
        self.assertEnds(run("handoff", "--dir", self.recorded, "--to", server.url("raw"), "--once", *QUICK), 0)
        lost = server.names()[0]
        (server.data / lost).unlink()
        (server.data / server.names()[0]).write_bytes(b"shorter")
        self.handoff(server.url("raw"), answer=20).wait()
        kept = [f for f in self.files() if f["file_state"] == "CLOSED"]
        self.assertEqual(len(kept), 2)
        self.assertTrue(all(pathlib.Path(f["path"]).exists() for f in kept))

    def test_a_name_that_is_taken_is_not_touched(self):
        server = self.server()
        victim = pathlib.Path(self.before[0]["path"])
        (server.data / "raw").mkdir()
        (server.data / "raw" / victim.name).write_bytes(b"of another program")
        os.chmod(server.data / "raw", 0o777)
        ended = self.handoff(server.url("raw")).wait()
        self.assertEnds(ended, 1)
        self.assertIn("there already", ended.err)
        self.assertEqual((server.data / "raw" / victim.name).read_bytes(), b"of another program")
        self.assertTrue(victim.exists())

    def test_a_server_without_sums_never_makes_a_file_transferred(self):
        server = self.server(checksum=None)
        ended = self.handoff(server.url("raw")).wait()
        self.assertEnds(ended, 1)
        self.assertGreater(ended.json["destinations"][0]["unverified"], 0)
        self.assertNothingLost()
        self.assertEnds(self.handoff(server.url("raw"), "--verify", "read", answer=20).wait(), 0)
        self.assertHandedOver(server)

    def test_a_server_that_refuses_to_write(self):
        server = self.server(lines=["all.export / r/o"])
        ended = self.handoff(server.url("raw")).wait()
        self.assertEnds(ended, 1)
        self.assertNothingLost()
        self.assertEqual(server.names(), [])

    def test_a_server_that_is_full(self):
        if why := why_no_mount():
            self.skipTest(f"NOT TESTED: a full server: {why}")
        small = self.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "none", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        server = self.server(data=small)
        ended = self.handoff(server.url("raw")).wait()
        self.assertEnds(ended, 1)
        for file in self.files():  # small ones may have found room
            name = pathlib.Path(file["path"]).name
            if file["transfer_state"] == "TRANSFERRED":
                data = (server.data / "raw" / name).read_bytes()
                self.assertEqual(f"{zlib.adler32(data):08x}", file["sums"]["adler32"])
            else:
                self.assertTrue(pathlib.Path(file["path"]).exists())
        self.assertTrue([f for f in self.files() if f["transfer_state"] == "ONDISK"])
        self.assertFalse([name for name in server.names() if name.endswith(".weir-part")])

    def test_a_server_that_hangs_neither_holds_up_nor_keeps_the_end(self):
        server = self.server()
        with self.handoff(server.url("raw"), "--bwlimit", "5MB", once=False) as process:
            wait_until(lambda: list(server.data.rglob("*.weir-part")), "a copy was begun")
            server.signal(signal.SIGSTOP)
            process.printed("a copy (failed|is not verified)")
            self.assertEnds(process.stop(), 0)  # with the server still hanging
        for file in self.files():
            if file["transfer_state"] == "ONDISK":
                self.assertTrue(pathlib.Path(file["path"]).exists())
        server.signal(signal.SIGCONT)
        self.assertEnds(self.handoff(server.url("raw"), answer=20).wait(), 0)
        self.assertHandedOver(server)

    def test_a_server_that_disappears_and_comes_back(self):
        server = self.server()
        with self.handoff(server.url("raw"), "--bwlimit", "5MB", once=False) as process:
            wait_until(lambda: list(server.data.rglob("*.weir-part")), "a copy was begun")
            server.process.kill()
            server.process.wait()
            process.printed("a copy (failed|is not verified)")
            server.start()
            wait_until(lambda: {f["file_state"] for f in self.files()} == {"DELETED"}, "everything was handed over")
            self.assertEnds(process.stop(), 0)
        self.assertHandedOver(server)

    def test_a_server_that_is_not_there_is_no_reason_to_hang(self):
        self.assertEnds(self.handoff(f"root://127.0.0.1:{xrootd_server.free_port()}//raw").wait(), 1)
        self.assertNothingLost()

    def test_one_destination_that_hangs_does_not_hold_up_the_other(self):
        server = self.server()
        server.signal(signal.SIGSTOP)
        disk = self.folder / "disk"
        disk.mkdir()
        ended = self.handoff(server.url("raw"), "--to", disk).wait()
        self.assertEnds(ended, 1)
        by_name = {d["name"]: d for d in ended.json["destinations"]}
        self.assertEqual(by_name[str(disk)]["files"], len(self.before))
        self.assertEqual(ended.json["files"], 0)  # to both or not at all
        self.assertNothingLost()
        server.signal(signal.SIGCONT)

    def test_a_file_that_is_damaged_here_is_quarantined_and_never_handed_over(self):
        server = self.server()
        victim = pathlib.Path(self.before[0]["path"])
        with open(victim, "r+b") as file:
            file.seek(victim.stat().st_size // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0x10]))
        ended = self.handoff(server.url("raw"), answer=20).wait()
        self.assertEnds(ended, 1)
        self.assertEqual(ended.json["quarantined"], 1)
        self.assertIn(victim.name, ended.err)
        states = {pathlib.Path(f["path"]).name: f for f in self.files()}
        self.assertEqual(states[victim.name]["file_health"], "QUARANTINED")
        self.assertTrue(victim.exists())
        self.assertEqual(len(server.names()), len(self.before) - 1)
        self.assertFalse([name for name in server.names() if victim.name in name])


if __name__ == "__main__":
    if xrootd_server.absent():
        print(f"NOT TESTED: {xrootd_server.absent()}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    no_mount = why_no_mount()
    weir_process.main_without(f"a full server: {no_mount}" if no_mount else "")
