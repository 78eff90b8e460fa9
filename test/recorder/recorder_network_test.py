# SPDX-License-Identifier: Apache-2.0
"""What the network and the system do to a recorder: streams that break off or change at any byte, ten thousand silent
connections, stopped processes, clocks that step, no more descriptors, a log that is not read. A good sender is there all
the time and must not notice."""
import os
import resource
import signal
import socket
import subprocess
import unittest

import recorder_wire as wire
from free_port import free_port
from recorder_files import RawFile, listed
from recorder_memory_test import compiler
from recorder_wire import Peer
from weir_process import SLOW, RecorderProcess, SenderProcess, main_without, wait_until
from weir_program import ProgramTest, run, sanitized

IDLE = 10_000 if not sanitized() else 1_000
SPARE = 500  # descriptors of this test besides those of its connections
OPEN_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
ENOUGH_FILES = OPEN_FILES == resource.RLIM_INFINITY or OPEN_FILES >= IDLE + SPARE
RECORDED = "calibration_Test"  # the stream of events that a test makes itself


class Network(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"

    def enter(self, context):
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def record(self, config="", prefix=()):
        file = self.folder / "config.toml"
        file.write_text(f'[record]\nevent_max = "8MiB"\n{config}')
        self.recorder = self.enter(RecorderProcess(self.folder, self.directory, "--config", file, prefix=prefix))
        return self.recorder

    def good_sender(self, *arguments):
        self.good = self.enter(SenderProcess(self.folder, self.recorder.port, "--events", 1_000_000, "--rate", 50, "--name", "good",
                                             *arguments))
        self.goes_on()

    def metric(self, name):
        return self.recorder.metrics().get(name, 0)

    def goes_on(self):
        before = self.metric("weir_acknowledged_events_total")
        wait_until(lambda: self.metric("weir_acknowledged_events_total") > before, "the good sender goes on")

    def connect(self, name=b"bad", **more):
        peer = self.enter(Peer(self.recorder.port, SLOW))
        peer.send(wire.hello(7, name, **more))
        peer.receive_only(wire.WELCOME)
        return peer

    def finish(self, others=0, may_reconnect=False):
        """The good sender ends well; everything it sent, and this much of others, is stored and proven."""
        self.goes_on()
        self.good.signal(signal.SIGINT)
        sent = self.good.report()
        self.assertEqual(sent["events"]["sent"], sent["events"]["acknowledged"])
        if not may_reconnect:
            self.assertEqual((sent["reconnects"], sent["resent"]), (0, 0))
        ended = self.assertEnds(self.recorder.stop(), 0).json
        copies = ended["copies"]
        self.assertEqual(copies["received"], copies["stored"] + sum(copies["rejected"].values()))
        self.assertEqual(self.assertEnds(run("verify", "--json", self.directory), 0).json["bad"], [])
        stored = sum(file["events"] for file in listed(self.directory) if file["stream"] == RECORDED)
        if others is not None:
            self.assertEqual(stored, others)
        return ended

    def test_a_stream_of_three_events_cut_at_any_byte_counts_exactly_the_whole_ones(self):
        self.record()
        self.good_sender()
        whole = 0
        events = [wire.event(n, b"payload %d" % n) for n in (1, 2, 3)]
        for size in range(len(wire.hello(7, b"cut")) + sum(map(len, events)) + 1):
            greeting = wire.hello(7, b"cut", incarnation=size + 1)  # each is a session of its own
            ends = [len(greeting) + sum(map(len, events[:n])) for n in (1, 2, 3)]
            with Peer(self.recorder.port, SLOW) as peer:
                peer.send((greeting + b"".join(events))[:size])
                peer.socket.shutdown(socket.SHUT_WR)
                peer.expect_end_after_bye()
            whole += sum(size >= end for end in ends)
        report = self.finish(others=whole)
        self.assertEqual(report["copies"]["rejected"], {})

    def test_a_stream_of_three_events_changed_at_any_byte_stores_no_changed_event(self):
        self.record()
        self.good_sender()
        stored = corrupt = malformed = 0
        payloads = [b"payload %d" % n for n in (1, 2, 3)]
        events = [wire.event(n, payload) for n, payload in enumerate(payloads, start=1)]
        for at in range(len(wire.hello(7, b"bad")) + sum(map(len, events))):
            greeting = wire.hello(7, b"bad", incarnation=at + 1)
            data = bytearray(greeting + b"".join(events))
            data[at] ^= 0x10
            with Peer(self.recorder.port, SLOW) as peer:
                peer.send(bytes(data))
                peer.socket.shutdown(socket.SHUT_WR)
                peer.expect_end_after_bye()
            begin, before = len(greeting), 0
            if at < begin:
                malformed += 1
                continue
            while at >= begin + len(events[before]):
                begin, before = begin + len(events[before]), before + 1
            if at >= begin + len(events[before]) - len(payloads[before]):
                corrupt, stored = corrupt + 1, stored + 2
            else:
                malformed, stored = malformed + 1, stored + before
        closed = {name: value for name, value in self.recorder.metrics().items() if name.startswith("weir_connections_closed_total")}
        reasons = ("malformed", "unsupported_version")
        counted = sum(closed[f'weir_connections_closed_total{{reason="{reason}"}}'] for reason in reasons)
        self.assertLessEqual(counted, malformed)
        self.assertGreaterEqual(counted, malformed - 2 * 4)  # a length that grew waits for bytes that never come: just an end
        report = self.finish(others=stored)
        self.assertEqual(report["copies"]["rejected"], {"corrupt_payload": corrupt})

    def test_duplicates_and_replays_are_not_stored_again_counted_and_answered(self):
        self.record()
        self.good_sender()
        stream = b"".join(wire.event(n, b"payload %d" % n) for n in (1, 2, 3))
        for duplicates in (3, 10):  # within a connection, and after a reconnect
            peer = self.connect()
            for _ in range(2):
                peer.send(stream)
            wait_until(lambda: self.metric("weir_acknowledged_events_total") > 0, "answers")
            peer.send(wire.event(4, b"the last"))
            peer.receive_acknowledgement_of(4)  # after the reconnect that of any of the four shows it
            wait_until(lambda: self.metric("weir_duplicate_events_total") >= duplicates, "all duplicates are counted")
            self.assertEqual(self.metric("weir_duplicate_events_total"), duplicates)
            peer.close()
        report = self.finish(others=4)
        self.assertEqual(report["copies"]["rejected"], {"duplicate": 10})

    def test_the_same_sequence_with_other_bytes_is_answered_as_before_and_changes_nothing(self):
        self.record()
        self.good_sender()
        peer = self.connect()
        peer.send(wire.event(1, b"the first"))
        peer.receive_acknowledgement_of(1)
        for other in (b"other bytes", b"the f1rst"):
            peer.send(wire.event(1, other))
            peer.receive_only(wire.ACK)
        peer.close()
        report = self.finish(others=1)
        self.assertEqual(report["copies"]["rejected"], {"duplicate": 2})
        file, = (file for file in listed(self.directory) if file["stream"] == RECORDED)
        self.assertEqual([payload for _, payload in RawFile(file["path"]).events()], [b"the first"])

    def test_after_a_bye_or_a_half_close_nothing_is_answered_until_the_session_comes_again(self):
        # A round begins so long after the one before that no event has its answer before the sender's BYE.
        self.record('sync_interval = "3s"\n')
        self.good_sender()
        bye = wire.header(wire.BYE, b"\1\0\0\0") + b"\1\0\0\0"
        for name, end in ((b"bye", lambda peer: peer.send(bye)), (b"half", lambda peer: peer.socket.shutdown(socket.SHUT_WR))):
            with self.subTest(name.decode()):
                peer = self.connect(name)
                peer.send(wire.event(1, b"an event of " + name))
                end(peer)
                peer.expect_end()  # the very next thing
                again = self.connect(name)
                again.send(wire.event(2, b"another of " + name))
                again.receive_acknowledgement_of(2)  # and of the first with it
                again.close()
        self.finish(others=4)

    def test_a_recorder_gives_its_name_and_an_instance_that_is_new_at_each_start(self):
        instances = set()
        for _ in range(2):
            self.record('recorder = "west"\n')
            for connection in range(2):
                with Peer(self.recorder.port, SLOW) as peer:
                    peer.send(wire.hello(7, b"any", connection=connection))
                    instance, name = wire.instance_and_name(peer.receive_only(wire.WELCOME))
                    self.assertEqual(name, b"west")
                    instances.add(instance)
            self.recorder.kill()
        self.assertEqual(len(instances), 2)

    @unittest.skipUnless(ENOUGH_FILES, "reported at the end")
    def test_ten_thousand_idle_connections_and_a_hundred_of_a_byte_at_a_time_take_nothing_from_a_good_one(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (IDLE + SPARE, OPEN_FILES))
        self.record(f'memory = "256MiB"\nstreams_max = 16\nconnections_max = {IDLE + SPARE}\nheader_deadline = "1h"\n')
        self.good_sender()
        idle = []
        self.addCleanup(lambda: [one.close() for one in idle])
        for _ in range(IDLE):
            idle.append(socket.create_connection(("127.0.0.1", self.recorder.port), SLOW))
        wait_until(lambda: self.metric("weir_connections") == IDLE + 1, f"{IDLE} connections are there")
        greeting = wire.hello(7, b"slow")
        for byte in greeting[:-1]:  # the last never comes
            for one in idle[:100]:
                one.send(bytes([byte]))
            if byte % 8 == 0:
                self.goes_on()
        peak = self.recorder.memory_peak()
        print(f"\n  {IDLE} connections: peak {peak / 1e6:.0f} MB", flush=True)
        if not sanitized():
            self.assertLess(peak, 256 * 2**20 + 100_000_000)
        self.finish()

    def test_a_sender_that_is_stopped_costs_its_connection_at_most_and_none_of_its_events(self):
        self.record('payload_idle_max = "3s"\n')
        self.good_sender()
        other = self.enter(SenderProcess(self.folder, self.recorder.port, "--events", 300, "--first-id", 10_000_000, "--rate", 60, "--name", "other"))
        wait_until(lambda: self.metric("weir_connections") == 2, "both are there")
        other.signal(signal.SIGSTOP)
        peer = self.connect()
        peer.send(wire.event(1, b"y" * 1000, size=1_000_000))  # stopped within an event
        reason, _ = peer.receive_bye()
        self.assertEqual(reason, 5)  # too slow
        self.goes_on()
        other.signal(signal.SIGCONT)
        self.assertEqual(other.report()["events"], {"sent": 300, "acknowledged": 300, "rejected": 0})
        self.finish()

    def test_a_recorder_that_is_stopped_is_waited_for(self):
        self.record()
        self.good_sender("--give-up-after", "1h")
        for _ in range(2):
            self.recorder.signal(signal.SIGSTOP)
            state = lambda: open_text(f"/proc/{self.recorder.pid}/stat").rsplit(")", 1)[1].split()[0]
            wait_until(lambda: state() == "T", "it is stopped")
            self.recorder.signal(signal.SIGCONT)
            self.goes_on()
        self.finish()

    def test_descriptors_run_out_for_connections_and_never_for_files(self):
        self.record('idle_when_full = "1h"\n', prefix=["prlimit", "--nofile=256:256"])
        self.assertRegex(self.recorder.err, r"at most \d+ connections")
        self.good_sender()
        peer = self.connect()
        crowd = []
        self.addCleanup(lambda: [one.close() for one in crowd])
        for _ in range(400):
            crowd.append(socket.create_connection(("127.0.0.1", self.recorder.port), SLOW))
        wait_until(lambda: self.metric('weir_connections_closed_total{reason="too_many_connections"}') > 0, "some are refused")
        peer.send(wire.event(1, b"a new stream", tag=(b"calibration", b"Test")))  # wants a new file
        peer.receive_acknowledgement_of(1)
        for one in crowd:
            one.close()
        wait_until(lambda: self.metric("weir_connections") == 2, "they are gone")
        self.connect(b"another").close()
        self.finish(others=1)

    def test_silent_sessions_keep_no_place_from_a_sender_that_has_events(self):
        self.record('connections_max = 300\nidle_when_full = "1s"\n')
        self.good_sender()
        silent = [self.connect(b"silent-%d" % n) for n in range(299)]
        sent = run("send", "--to", self.recorder.address, "--events", 20, "--first-id", 10_000_000, "--name", "late", "--json")
        self.assertEqual(self.assertEnds(sent, 0).json["events"]["acknowledged"], 20)
        self.assertGreater(self.metric('weir_connections_closed_total{reason="too_many_connections"}'), 0)
        for one in silent:
            one.close()
        self.finish()

    def test_a_hostile_scraper_disturbs_no_other(self):
        self.record()
        self.good_sender()
        port = int(self.recorder.printed(r"metrics on port (\d+)").group(1))
        scrapers = [socket.create_connection(("127.0.0.1", port), SLOW) for _ in range(40)]
        for _ in range(40):
            self.assertIsNotNone(self.scraped(), "a whole request is answered while half ones wait")
        for n, one in enumerate(scrapers):
            try:
                one.send((b"GET /metr", bytes(range(256)) * 4, b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000)[n % 3])
            except OSError:
                pass  # closed already: there were too many
        peer = self.connect()
        peer.send(wire.event(1, b"while they scrape"))
        peer.receive_acknowledgement_of(1)
        for one in scrapers:
            one.close()
        wait_until(lambda: self.scraped() is not None, "a good scraper is served again")
        self.finish(others=1)

    def scraped(self):
        try:
            return self.recorder.metrics()
        except OSError:
            return None

    @unittest.skipIf(sanitized(), "reported at the end")
    def test_a_clock_that_steps_an_hour_moves_labels_only(self):
        source, library, step = self.folder / "step.c", self.folder / "step.so", self.folder / "step"
        source.write_text(STEP)
        made = subprocess.run([compiler(), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], capture_output=True, text=True, timeout=60)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.record('file_age_max = "30min"\n', prefix=["env", f"LD_PRELOAD={library}", f"WEIR_TEST_STEP={step}",
                                                        "ASAN_OPTIONS=verify_asan_link_order=0"])
        self.good_sender()
        peer = self.connect()
        for sequence, seconds in enumerate((3600, -3600, 3600, 0), start=1):
            step.write_text(f"{seconds}\n")
            peer.send(wire.event(sequence, b"after a step"))
            peer.receive_acknowledgement_of(sequence)
            self.goes_on()
        self.finish(others=4)
        files = [file for file in listed(self.directory) if file["stream"] == RECORDED]
        self.assertEqual(len(files), 1, files)  # an hour did not pass: no file grew too old


STEP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
    static int (*real)(clockid_t, struct timespec*);
    char text[32] = {0};
    int result, fd;
    if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
    result = real(clock, now);
    if (result != 0 || clock != CLOCK_REALTIME || !getenv("WEIR_TEST_STEP")) return result;
    fd = open(getenv("WEIR_TEST_STEP"), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return result;
    if (read(fd, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
    close(fd);
    return result;
}
"""


def open_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Log(ProgramTest):
    """The log has no reader, or no room: the recorder records."""

    def setUp(self):
        super().setUp()
        self.port = free_port()

    def record(self, stderr):
        recorder = subprocess.Popen([os.environ.get("WEIR_PROGRAM", "weir"), "record", "--listen", f"127.0.0.1:{self.port}", "--dir",
                                     self.folder / "data", "--create", "--run", "7", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        return recorder

    def events_are_recorded(self, recorder):
        def connected():
            self.assertIsNone(recorder.poll(), "the recorder has ended")
            try:
                return Peer(self.port, SLOW)
            except ConnectionRefusedError:
                return None
        for _ in range(100):  # each is a line of the log, or of those that are held back
            with wait_until(connected, "it listens") as peer:
                peer.send(b"garbage that is named in the log" * 2)
                peer.expect_end_after_bye()
        ended = run("send", "--to", f"127.0.0.1:{self.port}", "--run", 7, "--events", 20, "--json")
        self.assertEqual(self.assertEnds(ended, 0).json["events"]["acknowledged"], 20)
        recorder.send_signal(signal.SIGTERM)
        self.assertEqual(recorder.wait(SLOW), 0)
        self.assertEqual(self.assertEnds(run("verify", "--json", self.folder / "data"), 0).json["bad"], [])

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            self.events_are_recorded(self.record(full))

    def test_a_pipe_that_is_not_read(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, bytes(4096))  # it is full before the first word
        except BlockingIOError:
            os.set_blocking(writing, True)
        os.read(reading, 8192)  # room for the few lines of the start, and no more
        recorder = self.record(writing)
        os.close(writing)
        self.events_are_recorded(recorder)

    def test_a_pipe_whose_reader_is_gone(self):
        reading, writing = os.pipe()
        recorder = self.record(writing)
        os.close(writing)
        os.close(reading)
        self.events_are_recorded(recorder)


if __name__ == "__main__":
    main_without(f"{IDLE} connections, as this process may open {OPEN_FILES} files; raise ulimit -Hn" if not ENOUGH_FILES else
                 "a clock that steps, as the sanitizer in the program asks for the time itself" if sanitized() else None)
