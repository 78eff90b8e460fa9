# SPDX-License-Identifier: Apache-2.0
"""One of several disks is full, and it is the one with the catalogue: the others go on. On one that is full from the
beginning nothing starts, and the line names what to do. The disks are small tmpfs, which takes root."""
import os
import subprocess

from mounting import why_no_mount
from recorder_files import listed
from weir_process import RecorderProcess, SenderProcess, main_without, wait_until
from weir_program import ProgramTest, run

CONFIG = """[record]
streams_max = 16
segment = "256KiB"
disk_retry = "20ms"
disk_reserve = "1MiB"
disk_headroom = "1MiB"
"""
EVENTS = 60


class FullFirstDisk(ProgramTest):
    def disk(self, name, size):
        where = self.folder / name
        where.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", where], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", where], check=True)
        return where

    def fill(self, disk):
        """To the last byte, as another program would."""
        with open(disk / "filler", "ab", buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass
        self.assertEqual(os.statvfs(disk).f_bavail, 0)

    def record(self, *directories):
        config = self.folder / "c.toml"
        config.write_text(CONFIG)
        others = [argument for directory in directories[1:] for argument in ("--dir", directory)]
        return RecorderProcess(self.folder, directories[0], *others, "--memory", "64MiB", "--event-max", "4MiB", "--config", config)

    def send(self, recorder, name):
        with SenderProcess(self.folder, recorder.port, "--events", EVENTS, "--name", name) as sender:
            self.assertEqual(sender.report()["events"]["acknowledged"], EVENTS)

    def test_the_others_go_on_when_the_disk_with_the_catalogue_is_full(self):
        first, second = self.disk("first", "200m"), self.disk("second", "400m")
        with self.record(first / "data", second / "data") as recorder:
            self.send(recorder, "before")
            self.fill(first)
            for n in range(3):
                self.send(recorder, f"full-{n}")
            wait_until(lambda: f"ALARM disk full: {first}" in recorder.err, "the alarm of the first disk")
            self.assertEqual(recorder.metrics()["weir_recording_paused"], 0)
            ended = self.assertEnds(recorder.stop(), 0)
        copies = ended.json["copies"]
        self.assertEqual(copies["received"], copies["stored"] + sum(copies["rejected"].values()))
        self.assertEqual(ended.json["events"]["acknowledged"], 4 * EVENTS)
        self.assertEqual(sum(row["events"] for row in listed(first / "data")), copies["stored"])
        self.assertEqual(self.assertEnds(run("verify", "--json", first / "data"), 0).json["bad"], [])

    def test_a_start_on_a_full_disk_reports_what_to_do_and_goes_on_when_that_is_done(self):
        disk = self.disk("first", "16m")
        data = disk / "data"
        data.mkdir()
        (data / "weir.volume").touch()
        self.fill(disk)
        config = self.folder / "c.toml"
        config.write_text(CONFIG)
        options = ("record", "--dir", data, "--listen", "127.0.0.1:0", "--memory", "64MiB", "--event-max", "4MiB", "--config", config)
        refused = self.assertEnds(run(*options), 1)
        self.assertEqual(refused.err.count("\n"), 1, refused.err)
        for words in ("No space left", "free some space", str(data)):
            self.assertIn(words, refused.err)
        (disk / "filler").unlink()
        with self.record(data) as recorder:
            self.assertEnds(recorder.stop(), 0)


if __name__ == "__main__":
    missing = why_no_mount()
    if missing:
        del FullFirstDisk
    main_without(f"a first disk that is full: {missing}" if missing else "")
