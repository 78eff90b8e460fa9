# SPDX-License-Identifier: Apache-2.0
"""The ingest port under mutual TLS, and plain TCP on loopback only unless it is configured otherwise."""
import shutil
import socket
import sys
import time

import recorder_wire as wire
from recorder_certificates import Authority
from recorder_wire import Closed, Peer
from weir_process import Process, RecorderProcess, SenderProcess, wait_until
from weir_program import SKIPPED, ProgramTest, main, run


class Tls(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"
        self.ours, self.theirs = Authority(self.folder, "ours"), Authority(self.folder, "theirs")

    def send(self, recorder, *arguments):
        return run("send", "--to", recorder.address, "--run", 7, "--events", 200, "--json", *arguments)

    def test_events_arrive_over_tls_and_are_proven(self):
        with RecorderProcess(self.folder, self.directory, *self.ours.options("recorder")) as recorder:
            self.assertRegex(recorder.err, r"listening on port \d+ with TLS")
            sent = self.assertEnds(self.send(recorder, "--connections", 4, *self.ours.options("sender")), 0).json
            self.assertEqual(sent["events"], {"sent": 200, "acknowledged": 200, "rejected": 0})
            self.assertEqual(sent["reconnects"], 0)
            self.assertEqual(recorder.metrics()["weir_insecure_connections_total"], 0)
            self.assertEnds(recorder.stop(), 0)
        self.assertEqual(self.assertEnds(run("verify", "--json", self.directory), 0).json["bad"], [])

    def test_who_is_not_of_the_authority_is_closed_counted_and_named_and_a_good_sender_does_not_notice(self):
        with RecorderProcess(self.folder, self.directory, *self.ours.options("recorder")) as recorder, \
                SenderProcess(self.folder, recorder.port, "--events", 1_000_000, "--rate", 50, "--name", "good",
                              *self.ours.options("good")) as good:
            acknowledged = lambda: recorder.metrics()["weir_acknowledged_events_total"]
            wait_until(lambda: acknowledged() > 0, "the good sender has an acknowledged event")
            for what, options, sender_prints, recorder_prints in (
                    ("stranger", self.theirs.options("stranger", ca=self.ours), "certificate", "certificate is not taken"),
                    ("expired", self.ours.options("expired", days=-1), "certificate", "certificate has expired"),
                    ("plain", [], "wants TLS", "does not speak TLS")):
                with self.subTest(what):
                    before = recorder.metrics()["weir_insecure_connections_total"]
                    ended = self.assertEnds(self.send(recorder, "--give-up-after", "1s", *options), 1)
                    self.assertIn(sender_prints, ended.err)
                    self.assertIn(recorder_prints, recorder.err)
                    self.assertGreater(recorder.metrics()["weir_insecure_connections_total"], before)
            with self.subTest("garbage"), Peer(recorder.port) as peer:
                before = recorder.metrics()["weir_insecure_connections_total"]
                peer.send(bytes(range(256)) * 40)
                try:
                    while peer.socket.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
                wait_until(lambda: recorder.metrics()["weir_insecure_connections_total"] > before, "garbage is counted")
            before = acknowledged()
            wait_until(lambda: acknowledged() > before, "the good sender goes on")
            good.signal(2)
            sent = good.report()
            self.assertEqual(sent["events"]["sent"], sent["events"]["acknowledged"])
            self.assertEqual(sent["reconnects"], 0)
            ended = self.assertEnds(recorder.stop(), 0)
            self.assertEqual(ended.json["events"]["received"], sent["events"]["sent"])

    def test_a_certificate_is_good_for_its_own_name_only(self):
        with RecorderProcess(self.folder, self.directory, *self.ours.options("recorder")) as recorder:
            ended = self.assertEnds(self.send(recorder, "--give-up-after", "1s", "--name", "other", *self.ours.options("sender")), 1)
            self.assertIn("its certificate is made out to sender", ended.err)
            self.assertEqual(recorder.metrics()['weir_connections_closed_total{reason="not_allowed"}'], 1)
            self.assertEnds(self.send(recorder, "--name", "sender-2", *self.ours.options("sender")), 0)
            self.assertEnds(recorder.stop(), 0)

    def test_a_certificate_that_has_ended_or_soon_will_is_an_alarm_and_a_metric(self):
        for days, age, alarm in ((-1, 0, "ended on"), (2, 10, "ends on"), (2, 0, None), (90, 0, None)):
            with self.subTest(days=days, age=age), \
                    RecorderProcess(self.folder, self.folder / f"{days}-{age}", *self.ours.options("recorder", days=days, age=age)) as recorder:
                ends = recorder.metrics()['weir_tls_certificate_ends_timestamp_seconds{port="data"}']
                self.assertAlmostEqual(ends, time.time() + days * 86400, delta=3600)
                if alarm:
                    recorder.printed(f"ALARM certificate.*{alarm}")
                self.assertEqual("ALARM certificate" in recorder.err, alarm is not None)
                self.assertEnds(recorder.stop(), 0)

    def test_a_sender_with_tls_refuses_a_recorder_without(self):
        with RecorderProcess(self.folder, self.directory) as recorder:
            ended = self.assertEnds(self.send(recorder, "--give-up-after", "1s", *self.ours.options("sender")), 1)
            self.assertIn("does not speak TLS", ended.err)
            self.assertEqual(recorder.metrics()['weir_connections_closed_total{reason="malformed"}'] > 0, True)

    def test_the_library_holds_old_tls_back(self):
        with RecorderProcess(self.folder, self.directory, *self.ours.options("recorder")) as recorder:
            # A ClientHello of TLS 1.0, as short as it may be: record, handshake, version 3.1, random, one cipher suite.
            body = b"\x03\x01" + bytes(32) + b"\x00" + b"\x00\x02\x00\x2f" + b"\x01\x00"
            hello = b"\x01" + len(body).to_bytes(3, "big") + body
            with Peer(recorder.port) as peer:
                peer.send(b"\x16\x03\x01" + len(hello).to_bytes(2, "big") + hello)
                alert = peer.socket.recv(16)
                self.assertEqual(alert[:1], b"\x15", alert)  # an alert, and no ServerHello
            wait_until(lambda: recorder.metrics()["weir_insecure_connections_total"] == 1, "it is counted")
            self.assertIn("versions of TLS before 1.2", recorder.err)


class Plain(ProgramTest):
    def test_an_address_that_others_reach_wants_tls_or_the_word_plain(self):
        for listen in ("0.0.0.0:0", ":0", "[::]:0"):
            if listen.startswith("[") and not socket.has_ipv6:
                continue
            with self.subTest(listen):
                self.assertOneLine(run("record", "--dir", self.folder / "data", "--listen", listen), 2, "--tls-certificate", "--plain")
        self.assertFalse((self.folder / "data").exists())
        with Process(self.folder, "record", "--dir", self.folder / "data", "--create", "--plain", "--listen", "0.0.0.0:0") as recorder:
            recorder.printed("listening on port")
            self.assertEnds(recorder.stop(), 0)

    def test_one_file_without_the_others_and_files_that_are_none_are_named(self):
        listen = ("--listen", "127.0.0.1:0", "--dir", self.folder / "data", "--create")
        self.assertOneLine(run("record", *listen, "--tls-key", "x.key"), 2, "--tls-certificate", "--tls-ca")
        missing = self.folder / "missing.pem"
        ended = run("record", *listen, "--tls-key", missing, "--tls-certificate", missing, "--tls-ca", missing)
        self.assertOneLine(ended, 3, str(missing), "No such file")


if __name__ == "__main__":
    if not shutil.which("openssl"):
        print("NOT TESTED: TLS, as there is no openssl command that makes certificates; apt install openssl", file=sys.stderr)
        sys.exit(SKIPPED)
    main()
