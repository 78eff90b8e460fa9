# SPDX-License-Identifier: Apache-2.0
"""Disks that fail under the real program: system calls that end with an error (strace), a file system that aborts (ext4)."""
import shutil
import signal
import subprocess

from mounting import why_no_mount
from recorder_files import ids_by_stream, listed
from weir_process import Process, RecorderProcess, SenderProcess, main_without, wait_until
from weir_program import ProgramTest, run, sanitized

CONFIG = """[record]
streams_max = 16
segment = "256KiB"
direct = "off"
disk_retry = "20ms"
disk_reserve = "1MiB"
disk_headroom = "1MiB"
"""
EVENTS = 100


def why_no_strace():
    """The reason why no call of another process can be made to fail here; empty: it can."""
    if sanitized():
        return "strace and sanitizers do not go together; the preset release has them"
    if not shutil.which("strace"):
        return "strace is not there, install it"
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        tried = subprocess.run(["timeout", "1", "strace", "-qq", "-p", str(sleeper.pid), "-o", "/dev/null"], capture_output=True, text=True)
        sleeper.kill()
    return "" if tried.returncode == 124 else f"strace may not look at other processes ({tried.stderr.strip()})"


class DiskErrors(ProgramTest):
    def record(self, *directories, more="", prefix=()):
        config = self.folder / "c.toml"
        config.write_text(CONFIG + more)
        others = [argument for directory in directories[1:] for argument in ("--dir", directory)]
        return RecorderProcess(self.folder, directories[0], "--memory", "64MiB", "--event-max", "4MiB", "--sync-interval", "5ms",
                               "--config", config, *others, prefix=prefix)

    def send(self, recorder, name, *more, events=EVENTS):
        with SenderProcess(self.folder, recorder.port, "--events", events, "--connections", 2, "--name", name, *more) as sender:
            report = sender.report()
        self.assertEqual(report["events"]["acknowledged"], events)

    def assertAllIsThere(self, copies, directory):
        """`directory` has the catalogue, which knows the files of all."""
        self.assertEqual(copies["received"], copies["stored"] + sum(copies["rejected"].values()))
        self.assertEqual(self.assertEnds(run("verify", "--json", directory), 0).json["bad"], [])
        self.assertEqual(sum(row["events"] for row in listed(directory)), copies["stored"])


class Injected(DiskErrors):
    def test_a_call_that_fails_costs_no_event_and_does_not_end_the_recording(self):
        for call, error in (("fdatasync", "EIO"), ("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fsync", "EIO"), ("fdatasync", "EDQUOT"),
                            ("renameat2", "EIO")):
            with self.subTest(f"{call} {error}"):
                directory, trace = self.folder / f"{call}-{error}", self.folder / f"{call}-{error}.trace"
                with self.record(directory, more='file_age_max = "1s"\n') as recorder:  # so that files are closed meanwhile
                    self.send(recorder, "before")
                    # The first such call of each thread, as long as strace is attached.
                    strace = subprocess.Popen(["strace", "-f", "-qq", "-p", str(recorder.pid), "-o", trace, "-e", f"trace={call}", "-e",
                                               f"inject={call}:error={error}:when=1"], stderr=subprocess.DEVNULL)
                    try:
                        wait_until(trace.exists, "strace has begun")
                        with SenderProcess(self.folder, recorder.port, "--rate", 200, "--name", "during") as sender:  # however late strace is
                            wait_until(lambda: "(INJECTED)" in trace.read_text(), "a call has failed")
                            strace.terminate()
                            strace.wait()
                            acknowledged = lambda: recorder.metrics()["weir_acknowledged_events_total"]
                            goal = acknowledged() + EVENTS
                            wait_until(lambda: acknowledged() >= goal, "events are acknowledged after the failure")
                            sender.signal(signal.SIGTERM)
                            sent = sender.report()["events"]
                            self.assertEqual(sent["acknowledged"], sent["sent"])
                    finally:
                        strace.kill()
                        strace.wait()
                    self.send(recorder, "after")
                    self.assertTrue(recorder.running())
                    ended = self.assertEnds(recorder.stop(), 0)
                self.assertAllIsThere(ended.json["copies"], directory)


class WithoutRename(DiskErrors):
    """As on NFS, ntfs-3g and most of FUSE: no rename that keeps what is there."""

    def under_strace(self, name):
        self.trace = self.folder / name
        return ["strace", "-D", "-f", "-qq", "-o", self.trace, "-e", "trace=renameat2", "-e", "inject=renameat2:error=EINVAL"]

    def assertWasWithout(self):
        """Each of its calls was refused."""
        calls = [line for line in self.trace.read_text().splitlines() if "renameat2(" in line]
        self.assertTrue(calls)
        self.assertEqual([line for line in calls if "(INJECTED)" not in line], [])

    def test_files_get_their_names_by_link_and_unlink_and_what_a_crash_leaves_is_recovered(self):
        directory, config = self.folder / "data", "file_events_max = 7\n"  # files are closed meanwhile, and some stay open
        with self.record(directory, more=config, prefix=self.under_strace("first")) as recorder:
            recorder.printed("cannot rename without overwriting; files get their names there by link and unlink")
            self.send(recorder, "closed")
            self.send(recorder, "open", "--first-id", 1000)
            wait_until(lambda: list(directory.glob("*.data")), "files are closed")
            self.assertTrue(list(directory.glob("*.writing")))
            recorder.kill()
            self.assertWasWithout()
        with Process(self.folder, "recover", directory, prefix=self.under_strace("recover")) as recover:
            self.assertEnds(recover.wait(), 0)
            self.assertWasWithout()
        self.assertEqual(list(directory.glob("*.writing")), [])
        with self.record(directory, more=config, prefix=self.under_strace("second")) as recorder:  # goes on with the run
            self.send(recorder, "after", "--first-id", 2000)
            self.assertEnds(recorder.stop(), 0)
            self.assertWasWithout()
        self.assertEqual(self.assertEnds(run("verify", "--json", directory), 0).json["bad"], [])
        self.assertEqual(len(listed(directory)), len(list(directory.glob("*.data"))))
        streams = ids_by_stream(directory)
        for name, ids in streams.items():
            self.assertEqual(len(ids), len(set(ids)), name)
        self.assertEqual(len(set().union(*streams.values())), 3 * EVENTS)


class Aborted(DiskErrors):
    def test_a_file_system_that_becomes_read_only_is_taken_out_of_use_and_recovered_later(self):
        image, disk, small = self.folder / "image", self.folder / "disk", self.folder / "small"
        data = small / "data"
        disk.mkdir()
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m", "tmpfs", small], check=True)  # so the other one is taken first
        self.addCleanup(subprocess.run, ["umount", "--lazy", small], check=True)
        with open(image, "wb") as file:
            file.truncate(1 << 30)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        mount = ["mount", "-o", "loop,errors=remount-ro"]
        subprocess.run([*mount, image, disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], stderr=subprocess.DEVNULL)
        with self.record(data, disk / "data") as recorder:
            self.send(recorder, "before")
            with SenderProcess(self.folder, recorder.port, "--events", EVENTS, "--rate", 100, "--name", "during") as sender:
                subprocess.run(["mount", "-o", "remount,abort", disk], check=True, capture_output=True)
                self.assertEqual(sender.report()["events"]["acknowledged"], EVENTS)
            failed = 'weir_volume_failed{volume="%s"}' % (disk / "data").resolve()
            failed_early = recorder.metrics()[failed] == 1  # unless it was never written to
            ended = recorder.stop()
        copies = ended.json["copies"]
        subprocess.run(["umount", disk], check=True)
        # As an operator would, after a look; of a copy: where another test makes a mount namespace, the first one stays mounted.
        subprocess.run(["cp", "--sparse=always", image, self.folder / "looked-at"], check=True)
        subprocess.run([*mount, self.folder / "looked-at", disk], check=True)
        self.assertEnds(run("recover", data, disk / "data"), 0)
        self.assertIn(ended.code, (0, 1) if failed_early else (0,), repr(ended))
        self.assertAllIsThere(copies, data)


if __name__ == "__main__":
    missing = []
    if why := why_no_strace():
        missing.append(f"calls that fail under the recorder: {why}")
        del Injected, WithoutRename
    if why := why_no_mount(image=True):
        missing.append(f"a file system that aborts: {why}")
        del Aborted
    main_without("; ".join(missing))
