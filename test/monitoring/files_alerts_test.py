# SPDX-License-Identifier: Apache-2.0
"""Alerts of recorders, disks, hand-offs, the shared catalogue, certificates and scrubs, each fired by its real fault and clear after it."""
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import monitored
import postgres_server
import weir_program
import xrootd_server
from free_port import free_port
from full_disk import fill
from mounting import why_no_mount
from recorder_certificates import Authority
from weir_process import Process, RecorderProcess, SenderProcess, main_without, wait_until
from weir_program import run

NODE_EXPORTER = shutil.which("prometheus-node-exporter")
NO_MOUNT = why_no_mount()
NOT_DONE = [why for why in (None if monitored.PROMETHEUS else monitored.MISSING,
                            NO_MOUNT and f"RecordingPaused by a full disk: {NO_MOUNT}",
                            postgres_server.absent() and f"CatalogueBehind: {postgres_server.absent()}",
                            xrootd_server.absent() and f"destinations that lie: {xrootd_server.absent()}",
                            None if shutil.which("strace") else "slow syncs: strace is not there",
                            None if NODE_EXPORTER else "ScrubBad: install prometheus-node-exporter") if why]

# Answers of `xrootd.chksum ... PROGRAM`: called with the kind and the path, prints the sum.
SUMS = """#!/usr/bin/python3
import os, sys, zlib
path = %r + sys.argv[-1]  # the server gives the path below its root
honest = lambda: zlib.adler32(open(path, 'rb').read())
%s
"""


def sums(folder, body):
    """What the server answers when it is asked for a sum, as its line of the configuration. It may be replaced at any time."""
    program = pathlib.Path(folder) / "sums"
    new = program.with_suffix(".new")
    new.write_text(SUMS % (f"{folder}/server/data", body))
    new.chmod(0o755)
    new.rename(program)
    return f"max 2 adler32 {program}"


def damage(path):
    """One bit of a file is another one."""
    with open(path, "r+b") as file:
        file.seek(-200, os.SEEK_END)
        byte = file.read(1)
        file.seek(-200, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))


@unittest.skipUnless(monitored.PROMETHEUS, monitored.MISSING)
class FilesAlerts(weir_program.ProgramTest):
    def recorder(self, *arguments, directory=None, **more):
        self.metrics_at = f"127.0.0.1:{free_port()}"
        recorder = RecorderProcess(self.folder, directory or self.folder / "data", "--metrics", self.metrics_at, *arguments, **more)
        self.addCleanup(recorder.__exit__)
        return recorder

    def sender(self, recorder, *arguments, rate=200):
        sender = SenderProcess(self.folder, recorder.port, "--rate", rate, *arguments)
        self.addCleanup(sender.__exit__)
        return sender

    def prometheus(self, **stations):
        prometheus = monitored.Prometheus(self.folder, stations=stations)
        self.addCleanup(prometheus.__exit__)
        return prometheus

    def in_order(self, prometheus, metric):
        """The station is scraped twice, and nothing is wrong."""
        wait_until(lambda: prometheus.query(f"count_over_time({metric}[5s]) > 1"), f"{metric} is scraped")
        self.assertLessEqual(set(prometheus.alerts()), {"ScrapeMissing"})  # which a machine that stalls for a second is reason for
        wait_until(lambda: not prometheus.alerts(), lambda: f"nothing fires; {prometheus.alerts()}")

    @unittest.skipIf(NO_MOUNT, NO_MOUNT)
    def test_a_disk_that_fills_pauses_the_recording_until_there_is_space(self):
        disk = self.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        recorder = self.recorder(directory=disk / "data")
        prometheus = self.prometheus(rec=self.metrics_at)
        self.in_order(prometheus, "weir_recording_paused")
        sender = self.sender(recorder, rate=5)
        fired = prometheus.until_fires("VolumeFullSoon")  # at this rate
        self.assertEqual(fired["VolumeFullSoon"]["labels"]["station"], "rec")
        filler = disk / "filler"
        fill(disk, filler, 1 << 20)
        prometheus.until_fires("RecordingPaused", "AlarmLatched")
        filler.unlink()
        prometheus.until_clear("RecordingPaused")
        sender.stop()

    def test_a_directory_that_is_gone_takes_its_disk_out_of_use_until_it_is_back(self):
        second = self.folder / "second"
        recorder = self.recorder("--dir", second)
        prometheus = self.prometheus(rec=self.metrics_at)
        self.in_order(prometheus, "weir_volume_failed")
        self.sender(recorder, rate=20)
        second.rename(self.folder / "away")
        fired = prometheus.until_fires("VolumeFailed")
        self.assertEqual(fired["VolumeFailed"]["labels"]["volume"], str(second.resolve()))
        (self.folder / "away").rename(second)
        prometheus.until_clear("VolumeFailed")

    @unittest.skipUnless(shutil.which("strace"), "strace is not there")
    def test_a_disk_that_syncs_slowly_holds_up_acknowledgements(self):
        recorder = self.recorder()
        prometheus = self.prometheus(rec=self.metrics_at)
        self.in_order(prometheus, "weir_recording_paused")
        self.sender(recorder, rate=500)
        calls = "fdatasync,fsync,sync_file_range"
        slow = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(recorder.pid), "-e", f"trace={calls}",
                                 "-e", f"inject={calls}:delay_enter=1500000"], stderr=subprocess.DEVNULL)
        try:
            fired = prometheus.until_fires("SyncSlow", "AcknowledgementSlow")
            self.assertEqual(fired["SyncSlow"]["labels"]["volume"], str((self.folder / "data").resolve()))
        finally:
            slow.send_signal(signal.SIGINT)  # it lets go of the recorder
            slow.wait(60)
        prometheus.until_clear("SyncSlow", "AcknowledgementSlow")

    def test_a_certificate_that_ends_tomorrow_fires_until_there_is_a_new_one(self):
        authority = Authority(self.folder)
        for number, days in ((7, 1), (8, 100)):
            recorder = self.recorder(*authority.options(f"recorder-{days}", days=days), run=number)
            with monitored.Prometheus(self.folder, stations={"rec": self.metrics_at}) as prometheus:
                if days == 1:
                    fired = prometheus.until_fires("CertificateEnds")
                    self.assertEqual(fired["CertificateEnds"]["labels"]["port"], "data")
                else:
                    wait_until(lambda: prometheus.query("up == 1"), "it is scraped")
                    prometheus.until_clear("CertificateEnds")
            self.assertEnds(recorder.stop(), 0)

    @unittest.skipIf(xrootd_server.absent(), xrootd_server.absent())
    def test_a_destination_that_lies_and_one_that_gives_no_sum(self):
        self.folder.chmod(0o755)
        recorded, at = self.folder / "recorded", f"127.0.0.1:{free_port()}"
        with weir_program.Recorder(recorded, "--metrics", "") as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", 7, "--events", 30, "--seed", 5), 0)
            self.assertEnds(recorder.stop(), 0)
        server = xrootd_server.XrootdServer(self.folder / "server", checksum=sums(self.folder, "print('0')"))
        self.addCleanup(server.stop)
        handing = Process(self.folder, "handoff", "--dir", recorded, "--to", server.url("raw"), "--retry-first", "50ms", "--retry-most", "400ms",
                          "--poll", "50ms", "--metrics", at, "--answer", "2s", env=xrootd_server.QUICK)
        self.addCleanup(handing.__exit__)
        prometheus = self.prometheus(out=at)
        fired = prometheus.until_fires("DestinationLies")
        self.assertEqual(fired["DestinationLies"]["labels"]["station"], "out")
        sums(self.folder, "")
        prometheus.until_fires("UnverifiedFiles")
        prometheus.until_clear("DestinationLies")
        sums(self.folder, "print('%08x' % honest())")
        prometheus.until_clear("UnverifiedFiles")

    def test_a_file_that_was_damaged_here_is_put_aside(self):
        recorded, there, at = self.folder / "recorded", self.folder / "there", f"127.0.0.1:{free_port()}"
        there.mkdir()
        with weir_program.Recorder(recorded, "--metrics", "") as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", 7, "--events", 30, "--seed", 5), 0)
            self.assertEnds(recorder.stop(), 0)
        there.rename(self.folder / "away")  # its hand-off cannot begin
        handing = Process(self.folder, "handoff", "--dir", recorded, "--to", there, "--retry-first", "50ms", "--retry-most", "400ms", "--poll", "50ms",
                          "--metrics", at)
        self.addCleanup(handing.__exit__)
        prometheus = self.prometheus(out=at)
        prometheus.until_fires("DestinationDown")
        damage(next(iter(sorted(recorded.rglob("*.data")))))
        (self.folder / "away").rename(there)
        prometheus.until_fires("FileQuarantined")
        prometheus.until_clear("FileQuarantined", "DestinationDown")

    @unittest.skipIf(postgres_server.absent(), postgres_server.absent())
    def test_a_shared_catalogue_that_is_away_is_behind_until_it_is_back(self):
        with postgres_server.PostgresServer(self.folder / "pg") as server:
            settings = self.folder / "c.toml"
            settings.write_text("[record]\nfile_events_max = 20\n")
            recorder = self.recorder("--config", settings, "--catalogue", server.uri, "--recorder", "rec")
            prometheus = self.prometheus(rec=self.metrics_at)
            self.in_order(prometheus, "weir_catalogue_changes_waiting")
            server.stop()
            self.sender(recorder, rate=100)
            fired = prometheus.until_fires("CatalogueBehind")
            self.assertEqual(fired["CatalogueBehind"]["labels"]["station"], "rec")
            server.start()
            prometheus.until_clear("CatalogueBehind")

    @unittest.skipUnless(NODE_EXPORTER, "prometheus-node-exporter is not there")
    def test_a_scrub_that_finds_a_damaged_file_is_seen_through_the_node_exporter(self):
        data, texts = self.folder / "data", self.folder / "texts"
        data.mkdir(), texts.mkdir()
        (data / "a").write_bytes(b"good")
        self.assertEnds(run("sum", "-r", "--xattr", "write", data), 0)
        times = (data / "a").stat()

        def rot(content):  # as a disk does it: the time of the file stays
            with open(data / "a", "r+b") as file:
                file.write(content)
            os.utime(data / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
        at = f"127.0.0.1:{free_port()}"
        exporter = subprocess.Popen([NODE_EXPORTER, "--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={texts}",
                                     f"--web.listen-address={at}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(exporter.wait, 60)
        self.addCleanup(exporter.terminate)
        prometheus = self.prometheus(disks=at)
        scrub = lambda: run("scrub", data, "--metrics", texts / "scrub.prom", timeout=300)  # it takes only what nobody else wants
        scrub()
        self.in_order(prometheus, "weir_scrub_complete")
        rot(b"evil")
        scrub()
        fired = prometheus.until_fires("ScrubBad")
        self.assertEqual(fired["ScrubBad"]["labels"]["status"], "mismatch")
        rot(b"good")
        scrub()
        prometheus.until_clear("ScrubBad")


if __name__ == "__main__":
    main_without("; ".join(NOT_DONE) or None)
