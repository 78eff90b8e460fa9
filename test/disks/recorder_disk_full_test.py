# SPDX-License-Identifier: Apache-2.0
"""Disks that get full, in earnest: a tmpfs and an ext4 image, where space ends at every part of a record.

Each round leaves a little space, sends more than fits, and looks: every file is closed, nothing is lost, the alarm is
there; then there is space again, and recording goes on by itself. By default the end of space moves in steps of 128
bytes over a record (on ext4 of 1024); WEIR_EVERY_BYTE=1 moves it by one (on ext4 by 16), which takes about half an hour.
"""
import os
import pathlib
import select
import struct
import subprocess

import recorder_wire as wire
from full_disk import fill
from mounting import why_no_mount
from recorder_files import listed
from weir_process import RecorderProcess, main_without, wait_until
from weir_program import ProgramTest, run, sanitized

RECORD = 4096  # bytes of an event, about
STEP = 1 if os.environ.get("WEIR_EVERY_BYTE") else 512 if sanitized() else 128
ROOM = 40 << 20  # that the recorder sees, and fills
CONFIG = """[record]
streams_max = 4
segment = "64KiB"
direct = "%s"
disk_reserve = "1MiB"
disk_headroom = "1B"
disk_retry = "10ms"
"""


class Keeper:
    """A sender that keeps what has no answer, and sends it again on its next connection."""

    def __init__(self, port):
        self.port, self.peer, self.sequence, self.kept = port, None, 0, {}

    def connect(self):
        self.peer = wire.Peer(self.port, timeout=120)
        self.peer.send(wire.hello(7, b"keeper"))
        durable = self.peer.receive_only(wire.WELCOME)
        count, cumulative = struct.unpack_from("<I", durable, 4)[0], struct.unpack_from("<Q", durable, 24)[0]
        self.settle(cumulative, [struct.unpack_from("<QQ", durable, 32 + 16 * i) for i in range(count)])
        for sequence in sorted(self.kept):
            self.peer.send(self.kept[sequence])

    def settle(self, cumulative, ranges):
        for sequence in list(self.kept):
            if sequence <= cumulative or any(first <= sequence <= last for first, last in ranges):
                del self.kept[sequence]

    def send(self, size):
        self.sequence += 1
        self.kept[self.sequence] = wire.event(self.sequence, struct.pack("<Q", self.sequence) + bytes(size - 8))
        self.attempt(lambda: self.peer.send(self.kept[self.sequence]))

    def attempt(self, action):
        try:
            if self.peer is None:
                return self.connect()
            action()
        except (wire.Closed, OSError):
            self.peer = None

    def receive_answers(self):
        """Takes the answers that are there; True when everything has one."""
        def answers():
            while select.select([self.peer.socket], [], [], 0)[0]:
                kind, meta = self.peer.receive()
                if kind == wire.BYE:
                    self.peer.close()
                    raise wire.Closed
                if kind == wire.REJECT:
                    raise AssertionError(f"rejected: {meta!r}")
                if kind == wire.ACK:
                    _, cumulative, count = struct.unpack_from("<QQI", meta)
                    self.settle(cumulative, [struct.unpack_from("<QQ", meta, 24 + 16 * i) for i in range(count)])
        self.attempt(answers)
        return not self.kept


class DiskFull(ProgramTest):
    def mount(self, *arguments):
        where = self.folder / "disk"
        where.mkdir()
        subprocess.run(["mount", *arguments, where], check=True, capture_output=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", where], check=True)
        return where

    def rounds(self, disk, direct, step):
        config = self.folder / "c.toml"
        config.write_text(CONFIG % direct)
        data, filler, rest = disk / "data", disk / "filler", disk / "rest"
        fill(disk, rest, ROOM)
        with RecorderProcess(self.folder, data, "--memory", "16MiB", "--event-max", "1MiB", "--sync-interval", "5ms", "--config",
                             config) as recorder:
            keeper = Keeper(recorder.port)
            for _ in range(20):
                keeper.send(RECORD)
            wait_until(keeper.receive_answers, "the first events are acknowledged")
            self.assertEqual(recorder.metrics()["weir_recording_paused"], 0)
            wait_until(lambda: "weir_until_full_seconds" in recorder.metrics(), "the time until the disk is full is a metric")
            wait_until(lambda: "disks full soon" in recorder.err, "the alarm comes before the disk is full")
            for shift in range(0, RECORD, step):
                fill(disk, filler, 64 * 1024)
                keeper.send(RECORD + 8 + shift)

                def paused_after_some_more():  # what was taken ahead for a file on ext4 is filled first
                    for _ in range(30):
                        keeper.send(RECORD)
                    keeper.receive_answers()
                    return recorder.metrics()["weir_recording_paused"] == 1
                wait_until(paused_after_some_more, f"it pauses, shift {shift}: {recorder.err[-2000:]}", poll=0)
                wait_until(lambda: keeper.receive_answers() or not list(data.glob("*.writing")), f"every file is closed, shift {shift}: {recorder.err[-2000:]}")
                filler.unlink()
                if os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize < ROOM // 2:  # what was recorded stays there
                    os.truncate(rest, max(rest.stat().st_size - ROOM // 2, 0))
                try:
                    wait_until(keeper.receive_answers, "recording goes on by itself")
                except AssertionError as problem:
                    raise AssertionError(f"{problem}, shift {shift}, {len(keeper.kept)} without an answer: {recorder.err[-3000:]}") from None
            self.assertIn("disk full", recorder.err)
            self.assertGreater(recorder.metrics()['weir_alarm{name="disk full: %s"}' % data.resolve()], 0)
            self.assertTrue(recorder.running())
            ended = self.assertEnds(recorder.stop(), 0)
        copies = ended.json["copies"]
        self.assertEqual(copies["received"], copies["stored"] + sum(copies["rejected"].values()))
        self.assertEqual(copies["stored"], keeper.sequence)
        self.assertEqual(self.assertEnds(run("verify", "--json", data), 0).json["bad"], [])
        self.assertEqual(sum(file["events"] for file in listed(data)), keeper.sequence)
        self.assertGreater(len(listed(data)), RECORD // step // 2)

    def test_a_tmpfs_whose_space_ends_at_any_part_of_a_record(self):
        self.rounds(self.mount("-t", "tmpfs", "-o", f"size={ROOM + RECORD // STEP * 256 * 1024}", "tmpfs"), "off", STEP)

    def test_an_ext4_image_whose_space_ends_at_any_part_of_a_record(self):
        image, step = self.folder / "image", max(16, 8 * STEP)  # its syncs are real, and it takes space ahead
        with open(image, "wb") as file:
            file.truncate(ROOM + RECORD // step * ROOM)  # what was taken ahead for a file is filled in each round
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
        self.rounds(self.mount("-o", "loop", image), "auto", step)


if __name__ == "__main__":
    missing = why_no_mount(image=True)
    if missing:
        del DiskFull
    main_without(f"disks that are full: {missing}" if missing else "")
