# SPDX-License-Identifier: Apache-2.0
"""Files are handed to a real XRootD server while recording goes on, and to a directory; whatever is killed meanwhile,
it ends with the same result."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import unittest
import urllib.request
import zlib

import weir_program
import xrootd_server
from weir_process import Process, RecorderProcess, SenderProcess, wait_until
from weir_program import run

QUICK = ("--answer", "30s", "--retry-first", "50ms", "--retry-most", "500ms", "--poll", "50ms")
SERVERS = not xrootd_server.absent()


class Handoff(weir_program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.recorded = self.folder / "recorded"

    def record(self, events, *arguments, size="1MiB"):
        with weir_program.Recorder(self.recorded, "--metrics", "", "--file-size-max", size, *arguments) as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", 7, "--events", events, "--seed", 11), 0)
            self.assertEnds(recorder.stop(), 0)

    def files(self):
        return run("ls", self.recorded, "--json").json["files"]

    def start(self, *arguments):
        process = Process(self.folder, "handoff", "--dir", self.recorded, "--json", *QUICK, *arguments)
        self.addCleanup(process.__exit__)
        return process

    def assertArrived(self, root):
        """Every file of the catalogue is there, byte for byte, and nothing else."""
        files = {pathlib.Path(f["path"]).name: f for f in self.files()}
        there = {path.name: path for path in pathlib.Path(root).rglob("*") if path.is_file()}
        self.assertEqual(set(there), set(files))
        for name, file in files.items():
            self.assertEqual(file["transfer_state"], "TRANSFERRED", name)
            data = there[name].read_bytes()
            self.assertEqual((len(data), f"{zlib.adler32(data):08x}"), (file["bytes"], file["sums"]["adler32"]), name)


@unittest.skipUnless(SERVERS, "needs an XRootD server")
class ToXrootd(Handoff):
    def setUp(self):
        super().setUp()
        self.server = xrootd_server.XrootdServer(self.folder / "server")
        self.addCleanup(self.server.stop)

    def sums_of_stored_bytes(self):
        """By the server, of what lies on its disk: attributes that it has kept are taken away before."""
        for name in self.server.names():
            for attribute in os.listxattr(self.server.data / name):
                if attribute.startswith("user.XrdCks"):
                    os.removexattr(self.server.data / name, attribute)
        commands = "".join(f"query checksum /{name}?cks.type=adler32\n" for name in self.server.names()) + "exit\n"
        output = subprocess.run(["xrdfs", f"127.0.0.1:{self.server.port}"], input=commands, capture_output=True, text=True, timeout=300).stdout
        return dict(zip(self.server.names(), re.findall(r"adler32 ([0-9a-f]{8})\b", output), strict=True))

    def test_two_hundred_files_while_recording_goes_on(self):
        with RecorderProcess(self.folder, self.recorded, "--file-size-max", "1MiB") as recorder:
            sender = SenderProcess(self.folder, recorder.port, "--events", 450, "--rate", 150, "--seed", 3)
            handing = self.start("--to", self.server.url("raw/{run}/{stream}"))
            wait_until(lambda: handing.running() and len([n for n in self.server.names() if n.endswith(".data")]) > 20,
                       "files arrive")
            self.assertTrue(recorder.running())
            self.assertEqual(sender.report()["events"]["acknowledged"], 450)
            self.assertEnds(recorder.stop(), 0)
        wait_until(lambda: {f["transfer_state"] for f in self.files()} == {"TRANSFERRED"}, "everything is handed over", poll=0.2)
        port = handing.printed(r"metrics on port (\d+)").group(1)
        metrics = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read().decode()
        ended = self.assertEnds(handing.stop(), 0)
        self.assertGreaterEqual(ended.json["files"], 200)
        self.assertRegex(metrics, r'weir_handoff_files_total\{destination="root://[^"]*"\} %d\b' % ended.json["files"])
        self.assertNotIn("weir_alarm{", metrics)
        files = {pathlib.Path(f["path"]).name: f["sums"]["adler32"] for f in self.files()}
        self.assertEqual({pathlib.Path(name).name: value for name, value in self.sums_of_stored_bytes().items()}, files)
        self.assertTrue(all(name.startswith("raw/00000007/") for name in self.server.names()))

    def test_killed_twenty_times_it_ends_with_the_same_result_and_no_orphan(self):
        self.record(70)
        seed = int.from_bytes(os.urandom(4), "little")
        chance = random.Random(seed)
        print(f"seed {seed}", file=sys.stderr)
        kills = 0
        for _ in range(20):
            process = self.start("--to", self.server.url("raw"), "--once", "--bwlimit", "4MB")
            before = set(self.server.names())
            wait_until(lambda: not process.running() or set(self.server.names()) - before, "something happens", poll=0.001)
            if chance.random() < 0.7:  # else at once
                count = len(self.server.names()) + chance.randrange(3)
                wait_until(lambda: not process.running() or len(self.server.names()) >= count, "it goes on", poll=0.001)
            kills += process.running()
            process.kill()
        self.assertGreater(kills, 10, "the seed is above")
        self.assertEnds(self.start("--to", self.server.url("raw"), "--once").wait(), 0)
        self.assertArrived(self.server.data)
        self.assertEnds(run("verify", self.recorded), 0)

    def test_a_stop_in_a_transfer_leaves_nothing(self):
        self.record(10, size="64MiB")
        process = self.start("--to", self.server.url("raw"), "--bwlimit", "1MB")
        wait_until(self.server.names, "a copy was begun")
        self.assertEnds(process.stop(), 0)
        self.assertFalse([name for name in self.server.names() if name.endswith(".weir-part")])
        self.assertEqual({f["file_state"] for f in self.files()}, {"CLOSED"})

    def test_a_server_that_shows_the_recorders_own_directory_has_no_copy(self):
        self.recorded = self.server.data / "recorded"
        self.record(10)
        done = self.start("--to", self.server.url("recorded"), "--once", "--delete-above", 0, "--delete-age", "0s").wait()
        self.assertIn("this very file", done.err)
        self.assertEqual({f["file_state"] for f in self.files()}, {"CLOSED"})
        self.assertTrue(all(pathlib.Path(f["path"]).exists() for f in self.files()))

    def test_a_catalogue_that_lost_its_transfers_finds_the_copies_again(self):
        self.record(10)
        self.assertEnds(self.start("--to", self.server.url("raw"), "--once").wait(), 0)
        wrote = {name: (self.server.data / name).stat().st_mtime_ns for name in self.server.names()}
        import sqlite3
        with sqlite3.connect(self.recorded / "weir.catalogue") as catalogue:
            catalogue.execute("DELETE FROM transfers")
            catalogue.execute("UPDATE files SET transfer_state = 'ONDISK'")
        catalogue.close()
        ended = self.assertEnds(self.start("--to", self.server.url("raw"), "--once").wait(), 0)
        self.assertEqual(ended.json["destinations"][0]["bytes_sent"], 0)
        self.assertArrived(self.server.data)
        self.assertEqual(wrote, {name: (self.server.data / name).stat().st_mtime_ns for name in self.server.names()})


class ToDirectory(Handoff):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()

    def test_files_arrive_are_deleted_here_and_recording_goes_on_in_the_same_run(self):
        with RecorderProcess(self.folder, self.recorded, "--file-size-max", "1MiB") as recorder:
            self.assertEqual(SenderProcess(self.folder, recorder.port, "--events", 20, "--seed", 1).report()["events"]["acknowledged"], 20)
            handing = self.start("--to", f"backup={self.disk}/{{run}}", "--delete-above", 0, "--delete-age", "0s", "--metrics", "")
            wait_until(lambda: [f for f in self.files() if f["file_state"] == "DELETED"], "files are deleted")
            self.assertEqual(SenderProcess(self.folder, recorder.port, "--events", 20, "--seed", 2).report()["events"]["acknowledged"], 20)
            self.assertEnds(recorder.stop(), 0)
        wait_until(lambda: {f["file_state"] for f in self.files()} == {"DELETED"}, "all are deleted")
        self.assertEnds(handing.stop(), 0)
        self.assertArrived(self.disk)
        self.assertFalse([*self.recorded.glob("*.data"), *self.recorded.glob("*.index")])
        # What is gone here is gone for the others too: no run is damaged, and the next one begins.
        self.assertEnds(run("recover", self.recorded), 0)
        with weir_program.Recorder(self.recorded, run_number=8) as recorder:
            self.assertEnds(recorder.stop(), 0)

    def test_the_rest_of_a_sequence_is_still_proven_after_a_file_in_its_middle_is_deleted(self):
        self.record(40)
        self.assertEnds(self.start("--to", self.disk, "--once").wait(), 0)
        main = sorted(f["path"] for f in self.files() if f["stream"] == "physics_Main")
        self.assertGreater(len(main), 5)
        for copy in self.disk.iterdir():  # of the others nothing is there, so they stay here
            if copy.name != pathlib.Path(main[2]).name:
                copy.unlink()
        self.start("--to", self.disk, "--once", "--delete-above", 0, "--delete-age", "0s").wait()
        self.assertEqual([f["path"] for f in self.files() if f["file_state"] == "DELETED"], [main[2]])
        proof = self.assertEnds(run("verify", self.recorded, "--json"), 0).json
        self.assertEqual((proof["not_verified"]["deleted"], proof["bad"]), (1, []))

    def test_killed_between_the_bytes_and_the_catalogue_a_deletion_is_finished(self):
        self.record(10)
        self.assertEnds(self.start("--to", self.disk, "--once").wait(), 0)
        gone = pathlib.Path(self.files()[0]["path"])
        gone.unlink()
        self.assertEnds(self.start("--to", self.disk, "--once", "--delete-above", 0, "--delete-age", "0s").wait(), 0)
        self.assertEqual({f["file_state"] for f in self.files()}, {"DELETED"})

    def test_a_volume_that_is_not_mounted_is_no_volume_without_files(self):
        self.record(10)
        self.assertEnds(self.start("--to", self.disk, "--once").wait(), 0)
        (self.recorded / "weir.lock").rename(self.folder / "lock")  # as if the disk below were not there
        self.assertEnds(self.start("--to", self.disk, "--once", "--delete-above", 0, "--delete-age", "0s").wait(), 0)
        self.assertEqual({f["file_state"] for f in self.files()}, {"CLOSED"})

    def test_two_hand_offs_of_one_catalogue_do_not_meet(self):
        self.record(5)
        first = self.start("--to", self.disk, "--metrics", "", "--bwlimit", "1MB")
        wait_until(lambda: any(self.disk.iterdir()), "it works")
        second = self.start("--to", self.disk, "--once").wait()
        self.assertOneLine(second, 1, str(first.pid), "another process")
        self.assertEnds(first.stop(), 0)

    def test_the_express_stream_goes_first(self):
        self.record(60)
        self.assertEnds(self.start("--to", self.disk, "--once", "--jobs", 1, "--priority", "express_*=1", "--priority", "physics_*=2").wait(), 0)
        def priority(path):
            return {"express": 1, "physics": 2}.get(path.name.split(".")[2].split("_")[0], 100)
        done = sorted((path.stat().st_mtime_ns, priority(path), path.name) for path in self.disk.iterdir())  # a tick may be of two
        order = [number for _, number, _ in done]
        self.assertEqual(order, sorted(order), done)

    def test_what_is_wrong_with_the_command_is_one_line(self):
        self.assertOneLine(run("handoff", "--to", self.disk), 2, "--dir")
        self.assertOneLine(run("handoff", "--dir", self.folder), 2, "--to")
        self.assertOneLine(run("handoff", "--dir", self.folder, "--to", self.disk), 3, "no catalogue")
        self.record(1)
        self.assertOneLine(run("handoff", "--dir", self.recorded, "--to", "s3://bucket"), 2, "s3://")
        self.assertOneLine(run("handoff", "--dir", self.recorded, "--to", self.disk, "--priority", "x"), 2, "PATTERN=NUMBER")
        self.assertOneLine(run("handoff", "--dir", self.recorded, "--to", f"{self.disk}/{{moon}}"), 2, "{run}")
        (self.folder / "link").symlink_to(self.recorded)
        for same in (self.recorded, self.folder / "link"):
            self.assertOneLine(run("handoff", "--dir", self.recorded, "--to", same), 2, "a recorder writes into")
        twice = run("handoff", "--dir", self.recorded, "--to", f"a={self.disk}", "--to", f"b={self.disk}/../{self.disk.name}/")
        self.assertOneLine(twice, 2, "one place")
        missing = run("handoff", "--dir", self.recorded, "--to", self.folder / "not-mounted", "--once", "--tries", 1, *QUICK)
        self.assertEnds(missing, 1)
        self.assertIn("mount it", missing.err)

    def test_a_catalogue_that_is_a_file_elsewhere(self):
        self.record(3, "--catalogue", self.folder / "c.catalogue")
        elsewhere = run("handoff", "--dir", self.recorded, "--catalogue", self.folder / "c.catalogue", "--to", self.disk, "--once", "--json")
        self.assertGreater(self.assertEnds(elsewhere, 0).json["files"], 0)
        self.assertOneLine(run("handoff", "--dir", self.recorded, "--catalogue", self.folder / "none", "--to", self.disk), 3, "no catalogue")

    def test_its_alarms_are_listed_until_they_are_acknowledged_by_name(self):
        self.record(10)
        damaged = pathlib.Path(self.files()[0]["path"])
        damaged.write_bytes(bytes([damaged.read_bytes()[0] ^ 1]) + damaged.read_bytes()[1:])
        run("handoff", "--dir", self.recorded, "--to", self.disk, "--once", *QUICK)
        alarm, = self.assertEnds(run("alarms", "--dir", self.recorded, "--json"), 1).json["alarms"]
        self.assertEqual((alarm["name"], alarm["station"], alarm["latched"]), ("handoff-quarantined", "hand-off", True))
        again = self.start("--to", self.disk, "--metrics", "")
        wait_until(lambda: "1 alarm is latched" in again.err, "the next one knows it")
        acknowledged = run("alarms", "--dir", self.recorded, "--acknowledge", "handoff-quarantined", "--by", "anna", "--json")
        self.assertEqual(self.assertEnds(acknowledged, 0).json["latched"], 0)
        self.assertTrue(acknowledged.json["hand_off_runs"])
        again.stop()
        self.assertEnds(run("alarms", "--dir", self.recorded), 0)

    def test_the_configuration_that_is_printed_is_one_that_it_takes(self):
        self.record(3)
        printed = run("handoff", "--dir", self.recorded, "--to", self.disk, "--print-config")
        self.assertEnds(printed, 0)
        (self.folder / "c.toml").write_text(printed.out)
        self.assertEnds(run("handoff", "--config", self.folder / "c.toml", "--once"), 0)
        self.assertArrived(self.disk)


if __name__ == "__main__":
    from weir_process import main_without
    main_without(xrootd_server.absent() and f"the hand-off to a server: {xrootd_server.absent()}")
