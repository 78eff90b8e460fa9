# SPDX-License-Identifier: Apache-2.0
"""The recorder as a service: its notifications to its manager through a real NOTIFY_SOCKET, and how little its unit may do.

A hung disk is the real one with a stop in it: a library that is loaded before libc lets syncs return only while a file is
not there. STATUS comes once a second in any case and is the clock of these tests: no time is measured.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

import recorder_wire as wire
from recorder_memory_test import compiler
from recorder_wire import Peer
from weir_process import SLOW, RecorderProcess, main_without, wait_until
from weir_program import ProgramTest

ANALYZE = shutil.which("systemd-analyze")
UNIT = os.environ.get("WEIR_SERVICE_UNIT")
EXPOSURE_MAX = 2.5

STOP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_while_there_is(const char* variable) {
    const char* file = getenv(variable);
    while (file && access(file, F_OK) == 0) usleep(10000);
}
int fdatasync(int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    wait_while_there_is("WEIR_TEST_HUNG");
    return real(fd);
}
int renameat2(int from, const char* old, int to, const char* new, unsigned flags) {
    int (*real)(int, const char*, int, const char*, unsigned) = dlsym(RTLD_NEXT, "renameat2");
    wait_while_there_is("WEIR_TEST_HUNG_CLOSING");
    return real(from, old, to, new, flags);
}
"""


class Manager:
    """What systemd is to a service: a datagram socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(SLOW)
        self.environment = {"NOTIFY_SOCKET": str(path)}

    def receive(self):
        return self.socket.recv(65536).decode()

    def receive_until(self, pattern):
        """Everything up to the first datagram that matches, which is the last."""
        received = [self.receive()]
        while not re.match(pattern, received[-1]):
            received.append(self.receive())
        return received

    def close(self):
        self.socket.close()


class Service(ProgramTest):
    def setUp(self):
        super().setUp()
        self.manager = Manager(self.folder / "notify")
        self.addCleanup(self.manager.close)
        self.directory = self.folder / "data"

    def start(self, *arguments, **environment):
        env = [f"{name}={value}" for name, value in {**self.manager.environment, **environment}.items()]
        return RecorderProcess(self.folder, self.directory, *arguments, prefix=["env", *env])

    def test_it_gives_ready_alive_and_stopping(self):
        with self.start() as recorder:
            self.assertEqual(self.manager.receive(), "READY=1")
            received = self.manager.receive_until("STATUS=run 7 ")
            self.assertIn("WATCHDOG=1", received)
            recorder.signal(15)
            self.manager.receive_until("STOPPING=1$")
            received = self.manager.receive_until("EXTEND_TIMEOUT_USEC=")
            self.assertIn("WATCHDOG=1", received)
            self.assertEnds(recorder.wait(), 0)

    def test_a_manager_that_reads_nothing_or_is_not_there_does_not_hold_it_up(self):
        self.manager.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        for place in (self.manager.environment["NOTIFY_SOCKET"], str(self.folder / "nobody"), "@weir-nobody", "nonsense", "/" + "x" * 500):
            with self.subTest(place), self.start(NOTIFY_SOCKET=place) as recorder:
                self.assertEnds(recorder.stop(), 0)
            shutil.rmtree(self.directory)

    def hanging_library(self):
        library = self.folder / "stop.so"
        (self.folder / "stop.c").write_text(STOP)
        made = subprocess.run([compiler(), "-shared", "-fPIC", "-O1", "-o", library, self.folder / "stop.c", "-ldl"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(made.returncode, 0, made.stderr)
        return library

    def receives_no_watchdog(self):
        """Over three lines of status, after what was underway."""
        self.manager.socket.setblocking(False)
        try:
            while True:
                self.manager.receive()  # what was sent before
        except BlockingIOError:
            self.manager.socket.settimeout(SLOW)
        for _ in range(2):
            self.manager.receive_until("STATUS=")  # what was underway
        received = [line for _ in range(3) for line in self.manager.receive_until("STATUS=")]
        self.assertNotIn("WATCHDOG=1", received)

    def test_a_hung_disk_starves_the_watchdog_until_it_answers_again(self):
        library, hung = self.hanging_library(), self.folder / "hung"
        with self.start(LD_PRELOAD=library, WEIR_TEST_HUNG=hung, ASAN_OPTIONS="verify_asan_link_order=0") as recorder, \
                Peer(recorder.port, timeout=SLOW) as peer:
            self.manager.receive_until("WATCHDOG=1$")
            peer.send(wire.hello(7))
            peer.receive_only(wire.WELCOME)
            peer.send(wire.event(1, b"written"))
            peer.receive_acknowledgement_of(1)
            hung.touch()
            peer.send(wire.event(2, b"in hand"))
            in_hand = lambda: recorder.metrics().get('weir_copies_in_hand{stream="calibration_Test"}') == 1
            wait_until(in_hand, "the event is in hand")
            self.receives_no_watchdog()
            hung.unlink()
            peer.receive_acknowledgement_of(2)
            self.manager.receive_until("WATCHDOG=1$")
            peer.close()
            self.assertEnds(recorder.stop(), 0)

    def test_files_that_are_not_closed_any_more_starve_the_watchdog_although_events_are_taken(self):
        library, hung = self.hanging_library(), self.folder / "hung"
        config = self.folder / "record.toml"
        config.write_text("[record]\nfile_events_max = 1\n")
        with self.start("--config", config, LD_PRELOAD=library, WEIR_TEST_HUNG_CLOSING=hung,
                        ASAN_OPTIONS="verify_asan_link_order=0") as recorder, Peer(recorder.port, timeout=SLOW) as peer:
            self.manager.receive_until("WATCHDOG=1$")
            hung.touch()
            peer.send(wire.hello(7))
            peer.receive_only(wire.WELCOME)
            for sequence in (1, 2, 3):
                peer.send(wire.event(sequence, b"recorded"))
                peer.receive_acknowledgement_of(sequence)
            wait_until(lambda: recorder.metrics().get("weir_files_waiting") == 2, "two files wait to be closed")
            self.receives_no_watchdog()
            peer.send(wire.event(4, b"recorded all the same"))
            peer.receive_acknowledgement_of(4)
            hung.unlink()
            self.manager.receive_until("WATCHDOG=1$")
            peer.close()
            self.assertEnds(recorder.stop(), 0)


class Unit(ProgramTest):
    @unittest.skipUnless(ANALYZE and UNIT, "reported at the end")
    def test_the_unit_may_do_little(self):
        ended = subprocess.run([ANALYZE, "security", "--offline=true", "--no-pager", UNIT], capture_output=True, text=True, timeout=60)
        found = re.search(r"Overall exposure level for weir-record.service: ([0-9.]+)", ended.stdout)
        self.assertIsNotNone(found, ended.stdout + ended.stderr)
        print(f"\n  exposure {found.group(1)}, {EXPOSURE_MAX} allowed", flush=True)
        self.assertLessEqual(float(found.group(1)), EXPOSURE_MAX)

    @unittest.skipUnless(UNIT, "reported at the end")
    def test_the_unit_waits_for_ready_and_watches_the_write_path(self):
        text = pathlib.Path(UNIT).read_text()
        for line in ("Type=notify", "WatchdogSec=", "Restart=on-failure"):
            self.assertIn(f"\n{line}", text)


if __name__ == "__main__":
    main_without("the exposure of the unit, as there is no systemd-analyze; apt install systemd" if not ANALYZE else
                 "the unit, as WEIR_SERVICE_UNIT does not name it; ctest does" if not UNIT else None)
