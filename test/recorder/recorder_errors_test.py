# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around a recorder: each is one line with what, where and what to do, and stops nothing else."""
import os
import shutil
import socket
import struct
import subprocess

import recorder_wire as wire
from recorder_files import listed
from recorder_wire import Peer
from weir_process import Process, RecorderProcess, SenderProcess, wait_until
from weir_program import PROGRAM, Ended, ProgramTest, main, run

LISTEN = ("--listen", "127.0.0.1:0")


class Start(ProgramTest):
    """Errors before the recorder runs."""

    def test_a_port_in_use_is_named_and_no_run_begins(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = "127.0.0.1:%d" % other.getsockname()[1]
            self.assertRefused(run("record", "--dir", self.folder, "--listen", address), 1, address, "in use", "--listen")
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name != "weir.lock"], [])

    def test_a_directory_that_cannot_be_written_is_named(self):
        directory = self.folder / "other"
        directory.mkdir()
        directory.chmod(0o555)
        prefix = []
        if os.geteuid() == 0:  # root may write everywhere, unless it gives that right up
            prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        ended = subprocess.run([*prefix, PROGRAM, "record", "--dir", directory, "--create", *LISTEN], capture_output=True, text=True, timeout=60)
        self.assertRefused(Ended(ended.returncode, ended.stdout, ended.stderr), 1, str(directory), "Permission denied", "--dir")

    def test_what_is_no_directory_is_named(self):
        file = self.folder / "file"
        file.touch()
        self.assertRefused(run("record", "--dir", file, *LISTEN), 3, str(file), "Not a directory", "--dir")

    def test_a_directory_is_taken_into_use_once_so_that_a_disk_that_is_not_mounted_is_noticed(self):
        directory = self.folder / "disk"  # the place of one that is not mounted: another directory, or none
        self.assertRefused(run("record", "--dir", directory, *LISTEN), 3, str(directory), "No such file", "mount its disk", "--create")
        self.assertFalse(directory.exists())
        directory.mkdir()
        self.assertRefused(run("record", "--dir", directory, *LISTEN), 1, str(directory), "mount its disk", "--create")
        self.assertEqual(list(directory.iterdir()), [])
        marker = directory / "weir.volume"
        for by_hand in (False, True):
            if by_hand:
                marker.touch()
            for create in ([] if by_hand else ["--create"], []):
                with Process(self.folder, "record", "--dir", directory, *LISTEN, *create) as recorder:
                    recorder.printed("listening on port")
                    self.assertEnds(recorder.stop(), 0)
                self.assertIn("id ", marker.read_text())
            shutil.rmtree(directory)
            directory.mkdir()

    def test_a_directory_whose_marker_is_gone_is_refused_until_it_is_taken_into_use_again(self):
        directory = self.folder / "data"
        with RecorderProcess(self.folder, directory) as recorder:
            self.assertEnds(recorder.stop(), 0)
        (directory / "weir.volume").unlink()
        self.assertRefused(run("record", "--dir", directory, *LISTEN), 1, str(directory), "has no weir.volume", "--create")
        with Process(self.folder, "record", "--dir", directory, "--create", *LISTEN) as again:
            again.printed("listening on port")
            self.assertEnds(again.stop(), 0)
        self.assertTrue((directory / "weir.volume").exists())

    def test_a_directory_in_use_is_named_with_the_process_that_uses_it(self):
        directory = self.folder / "data"
        with RecorderProcess(self.folder, directory) as first:
            self.assertRefused(run("record", "--dir", directory, *LISTEN), 1, str(directory), "in use", str(first.pid))
            self.assertTrue(first.running())
            self.assertEnds(first.stop(), 0)

    def test_an_unknown_option_is_answered_with_the_near_one(self):
        self.assertRefused(run("record", "--dir", self.folder, "--listne", ":0"), 2, "--listne", "did you mean --listen?")

    def test_an_unknown_key_is_answered_with_the_near_one_and_its_line(self):
        config = self.folder / "c.toml"
        config.write_text('[record]\nlisten = "127.0.0.1:0"\n\nmemroy = "1GiB"\n')
        self.assertRefused(run("record", "--dir", self.folder, "--config", config), 2, f"{config}:4", "memroy",
                           'did you mean "memory"?')
        config.write_text('# ours\n[recrod]\nlisten = "127.0.0.1:0"\n')
        self.assertRefused(run("record", "--dir", self.folder, "--config", config), 2, f"{config}:2", 'did you mean "record"?')

    def test_a_value_without_sense_is_named_with_its_line(self):
        config = self.folder / "c.toml"
        config.write_text('[record]\nmemory = "12 bananas"\n')
        self.assertRefused(run("record", "--dir", self.folder, "--config", config), 2, f"{config}:2", "12 bananas", "64MiB")

    def test_the_number_of_a_closed_run_is_refused(self):
        directory = self.folder / "data"
        with RecorderProcess(self.folder, directory, run=7) as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", 7, "--events", 5), 0)
            self.assertEnds(recorder.stop(), 0)
        before = sorted((path.name, path.stat().st_size) for path in directory.glob("*.data"))
        self.assertRefused(run("record", "--dir", directory, "--run", 7, *LISTEN), 1, "run 7", "closed", "choose another number")
        self.assertEqual(sorted((path.name, path.stat().st_size) for path in directory.glob("*.data")), before)
        with RecorderProcess(self.folder, directory, run=8) as recorder:  # the directory is as good as before
            self.assertEnds(recorder.stop(), 0)

    def test_a_file_that_is_no_raw_file_is_named_by_those_who_read_it(self):
        file = self.folder / "notes.raw"
        for content in (b"", b"these are notes, not events\n" * 100):
            file.write_bytes(content)
            self.assertRefused(run("send", "--to", "127.0.0.1:1", "--source", file), 1, str(file), "raw file")
            self.assertRefused(run("show", file), 1, str(file), "not a raw file")

    def assertRefused(self, ended, code, *words):
        self.assertEqual(ended.code, code, repr(ended))
        self.assertEqual(ended.out, "", repr(ended))
        self.assertEqual(ended.err.count("\n"), 1, repr(ended))
        for word in words:
            self.assertIn(word, ended.err)


class Running(ProgramTest):
    """What comes over the network. A good sender is there all the time and must not notice."""

    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"
        self.recorder = self.enterContext(RecorderProcess(self.folder, self.directory, "--event-max", "8MiB"))
        self.good = self.enterContext(SenderProcess(self.folder, self.recorder.port, "--events", 1_000_000, "--rate", 50,
                                                    "--name", "good"))
        wait_until(lambda: self.acknowledged() > 0, "the good sender has an acknowledged event")

    def acknowledged(self):
        return self.recorder.metrics()["weir_acknowledged_events_total"]

    def enterContext(self, context):
        """unittest has it from Python 3.11 on."""
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def connect(self, name=b"bad", **more):
        peer = self.enterContext(Peer(self.recorder.port))
        peer.send(wire.hello(7, name, **more))
        peer.receive_only(wire.WELCOME)
        return peer

    def assertSaidOnce(self, *words):
        """One line on stderr has all these words."""
        line = lambda: [line for line in self.recorder.err.splitlines() if all(word in line for word in words)]
        wait_until(line, f"a line with {words} in: {self.recorder.err}")
        self.assertEqual(len(line()), 1, self.recorder.err)

    def finish(self, expected_of_others=0):
        """The good sender goes on, ends well, and everything it sent is stored, with this much of others."""
        before = self.acknowledged()
        wait_until(lambda: self.acknowledged() > before, "the good sender goes on")
        self.good.signal(2)
        sent = self.good.report()
        self.assertEqual(sent["events"]["sent"], sent["events"]["acknowledged"])
        self.assertEqual((sent["reconnects"], sent["resent"]), (0, 0))
        ended = self.assertEnds(self.recorder.stop(), 0)
        events = sent["events"]["sent"] + expected_of_others
        self.assertEqual(ended.json["events"]["received"] - sum(ended.json["copies"]["rejected"].values()), events)
        copies = ended.json["copies"]
        self.assertEqual(copies["received"], copies["stored"] + sum(copies["rejected"].values()))
        self.assertEqual(self.assertEnds(run("verify", "--json", self.directory), 0).json["bad"], [])
        return ended.json

    def test_malformed_frames_close_their_connection_and_no_other(self):
        good_hello = wire.hello(7, b"bad")
        cases = {
            "garbage": bytes(range(256)) * 4,
            "magic": wire.header(wire.HELLO, magic=b"REIW"),
            "text": b"GET / HTTP/1.1\r\nHost: recorder\r\n\r\n",
            "version": wire.header(wire.HELLO, version=9),
            "meta length": wire.header(wire.HELLO, meta_size=0xFFFFFFFF),
            "payload length": wire.header(wire.EVENT, b"", 2**63),
            "checksum": wire.header(wire.HELLO, crc=1),
            "event before hello": wire.event(1, b"abcd"),
            "hello twice": good_hello + good_hello,
            "empty event": good_hello + wire.event(1, b""),
            "short meta": good_hello + wire.header(wire.EVENT, b"12345678", 4) + b"12345678" + b"abcd",
        }
        for what, data in cases.items():
            with self.subTest(what), Peer(self.recorder.port) as peer:
                peer.send(data)
                reason, text = peer.receive_bye()
                self.assertIn(reason, (wire.MALFORMED, wire.UNSUPPORTED_VERSION))
                self.assertNotEqual(text, "")
                self.assertSaidOnce(peer.name, text)
        with self.subTest("protocol version"), Peer(self.recorder.port) as peer:
            peer.send(wire.hello(7, b"old", protocol=1))
            reason, text = peer.receive_bye()
            self.assertEqual(reason, wire.UNSUPPORTED_VERSION)
            self.assertSaidOnce(peer.name, text)
        report = self.finish()
        self.assertEqual(report["copies"]["rejected"], {})

    def test_a_wrong_payload_costs_only_that_event(self):
        peer = self.connect()
        broken = bytearray(wire.event(1, b"0123456789abcdef"))
        broken[-1] ^= 1
        peer.send(bytes(broken) + wire.event(2, b"0123456789abcdef", id=1 << 40))
        sequence, reason = struct.unpack_from("<QH", peer.receive_only(wire.REJECT))
        self.assertEqual((sequence, reason), (1, 2))
        peer.receive_acknowledgement_of(2)
        self.assertSaidOnce(peer.name, "crc32c")
        report = self.finish(expected_of_others=1)
        self.assertEqual(report["copies"]["rejected"], {"corrupt_payload": 1})

    def test_a_sender_that_dies_inside_an_event_leaves_nothing(self):
        peer = self.connect()
        peer.send(wire.event(1, b"x" * 1000, id=1 << 40))
        peer.receive_acknowledgement_of(1)
        peer.send(wire.event(2, b"y" * 1000, size=1_000_000, id=2 << 40))
        wait_until(lambda: self.recorder.metrics()["weir_connections"] == 2, "two connections")
        peer.close()
        wait_until(lambda: self.recorder.metrics()["weir_connections"] == 1, "the recorder has noticed")
        self.finish(expected_of_others=1)
        stored = [file for file in listed(self.directory) if file["stream"] == "calibration_Test"]
        self.assertEqual([file["events"] for file in stored], [1])
        self.assertEqual(run("cat", "--payload", stored[0]["path"], binary=True).out, b"x" * 1000)

    def test_an_event_larger_than_the_limit_is_rejected_and_named(self):
        peer = self.connect()
        size = 9 << 20
        peer.send(wire.event(1, b"", size=size))
        for _ in range(9):
            peer.send(bytes(1 << 20))
        sequence, reason, length = struct.unpack_from("<QHH", text := peer.receive_only(wire.REJECT))
        self.assertEqual((sequence, reason), (1, wire.TOO_LARGE))
        self.assertRegex(text[12:12 + length].decode(), f"{size} bytes.*8")
        peer.send(wire.event(2, b"small enough", id=1 << 40))
        peer.receive_acknowledgement_of(2)
        report = self.finish(expected_of_others=1)
        self.assertEqual(report["copies"]["rejected"], {"too_large": 1})

    def test_events_too_large_for_the_recorder_cost_only_themselves(self):
        with RecorderProcess(self.folder, self.folder / "small", "--event-max", "64KiB") as recorder:
            ended = self.assertEnds(run("send", "--to", recorder.address, "--run", 7, "--events", 100, "--json"), 1)
            self.assertEqual(ended.err.count("\n"), 1, repr(ended))
            self.assertRegex(ended.err, r"too_large \d+\); (.*\d+ bytes is larger than .*65536.*--event-max|the log of the recorder has the reason)")
            sent = ended.json
            self.assertEqual(sent["events"]["sent"], 100)
            self.assertGreater(sent["events"]["rejected"], 0)
            self.assertGreater(sent["events"]["acknowledged"], 0)
            self.assertEqual(sent["rejected_by_reason"], {"too_large": sent["events"]["rejected"]})
            self.assertEqual(sent["events"]["acknowledged"] + sent["events"]["rejected"], sent["events"]["sent"])
            recorded = self.assertEnds(recorder.stop(), 0).json
            self.assertEqual(recorded["events"]["received"] - sum(recorded["copies"]["rejected"].values()),
                             sent["events"]["acknowledged"])

    def test_another_run_is_refused_by_both_sides(self):
        with Peer(self.recorder.port) as peer:
            peer.send(wire.hello(8, b"bad"))
            reason, text = peer.receive_bye()
            self.assertEqual(reason, wire.WRONG_RUN)
            self.assertIn("7", text)
            self.assertSaidOnce(peer.name, "refused", "run")
        self.finish()


if __name__ == "__main__":
    main()
