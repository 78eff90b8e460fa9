# SPDX-License-Identifier: Apache-2.0
"""Memory is bounded: 64 connections of 1 MB events, with a fast disk and with one that is slower than the network.

The slow disk is the real one with a brake: a library that is loaded before libc lets pwrite return only as fast as
a disk of a given rate would. It needs a C compiler (the build had one) but no rights and no special kernel. io_uring
goes past libc, so the recorder is configured to write without it there.
"""
import os
import shutil
import subprocess
import time

from recorder_files import ids_by_stream, listed
from weir_process import RecorderProcess, SenderProcess, main_without
from weir_program import PROGRAM, ProgramTest, run, sanitized

MIB = 1 << 20
LIMIT = 256 * MIB
ALLOWED = LIMIT + 100 * 1_000_000
SMALL = '[record]\nmemory = "256MiB"\nstreams_max = 16\nevent_max = "8MiB"\n'
CONNECTIONS = 64
SLOW_BYTES_PER_SECOND = 60_000_000

BRAKE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t one_head = PTHREAD_MUTEX_INITIALIZER; /* as of a disk: writers wait for each other */

static ssize_t slowly(ssize_t written) {
    if (written > 0) {
        const long long ns = written * 1000000000LL / BYTES_PER_SECOND;
        const struct timespec time = {ns / 1000000000LL, ns % 1000000000LL};
        pthread_mutex_lock(&one_head);
        nanosleep(&time, 0);
        pthread_mutex_unlock(&one_head);
    }
    return written;
}

ssize_t pwrite(int fd, const void* from, size_t size, off_t offset) {
    ssize_t (*real)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    return slowly(real(fd, from, size, offset));
}

ssize_t pwrite64(int fd, const void* from, size_t size, off_t offset) { return pwrite(fd, from, size, offset); }
"""


def compiler():
    for name in (os.environ.get("CC"), "cc", "gcc", "gcc-12", "clang", "clang-19"):
        if name and shutil.which(name):
            return name
    raise AssertionError("no C compiler found, the slow disk cannot be made; name one with CC")


class Memory(ProgramTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "data"
        self.source = self.make_source()

    def make_source(self):
        """A raw file of events of about 1 MB: the main stream of the workload."""
        directory = self.folder / "source"
        with RecorderProcess(self.folder, directory) as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", 7, "--events", 60), 0)
            self.assertEnds(recorder.stop(), 0)
        files = {file["stream"]: file for file in listed(directory)}
        main_stream = files["physics_Main"]
        self.assertGreater(main_stream["bytes"] / main_stream["events"], 900_000)
        return main_stream["path"]

    def record(self, recorder, events):
        """Everything is sent over 64 connections at once. What the recorder needed at most, in memory and in time."""
        begin, samples = time.monotonic(), []
        with SenderProcess(self.folder, recorder.port, "--source", self.source, "--stream", "physics_Main", "--events", events,
                           "--connections", CONNECTIONS) as sender:
            while sender.running():
                now = recorder.metrics()
                samples.append((now["weir_connections"], now["weir_event_memory_bytes"], now["weir_segments_free"]))
                time.sleep(0.05)
            sent = sender.report()
        self.assertEqual(sent["events"], {"sent": events, "acknowledged": events, "rejected": 0})
        self.assertEqual(sent["reconnects"], 0)
        seconds = time.monotonic() - begin
        connections, in_events, free = zip(*samples)
        self.assertEqual(max(connections), CONNECTIONS)
        self.assertLessEqual(max(in_events), LIMIT)
        peak = recorder.memory_peak()
        print(f"\n  peak {peak / 1e6:.0f} MB resident of {ALLOWED / 1e6:.0f} allowed, {max(in_events) / 1e6:.0f} MB in events, "
              f"{min(free):.0f} blocks free at least, {seconds:.1f} s", flush=True)
        if not sanitized():
            self.assertLess(peak, ALLOWED)
        return seconds, min(free)

    def check_nothing_is_lost(self, recorder, events):
        report = self.assertEnds(recorder.stop(), 0).json
        self.assertEqual(report["copies"], {"received": events, "stored": events, "rejected": {}})
        self.assertEqual({name: sorted(ids) for name, ids in ids_by_stream(self.directory).items()},
                         {"physics_Main": list(range(1, events + 1))})
        self.assertEqual(self.assertEnds(run("verify", "--json", self.directory, timeout=300), 0).json["bad"], [])
        return report

    def test_64_connections_stay_below_the_limit(self):
        config = self.folder / "small.toml"
        config.write_text(SMALL)
        with RecorderProcess(self.folder, self.directory, "--config", config) as recorder:
            self.record(recorder, 1200)
            self.check_nothing_is_lost(recorder, 1200)

    def test_senders_wait_for_a_slow_disk_and_nothing_is_lost(self):
        brake = self.folder / "brake.so"
        (self.folder / "brake.c").write_text(BRAKE)
        made = subprocess.run([compiler(), "-shared", "-fPIC", "-O1", f"-DBYTES_PER_SECOND={SLOW_BYTES_PER_SECOND}LL", "-o", brake,
                               self.folder / "brake.c", "-ldl"], capture_output=True, text=True, timeout=60)
        self.assertEqual(made.returncode, 0, made.stderr)
        config = self.folder / "slow.toml"
        config.write_text(SMALL + 'direct = "off"\n')
        events = 600
        with RecorderProcess(self.folder, self.directory, "--config", config,
                             prefix=["env", f"LD_PRELOAD={brake}", "ASAN_OPTIONS=verify_asan_link_order=0"]) as recorder:
            self.assertIn("pwrite", recorder.err)
            seconds, free = self.record(recorder, events)
            report = self.check_nothing_is_lost(recorder, events)
        self.assertGreater(seconds, 0.8 * report["bytes_stored"] / SLOW_BYTES_PER_SECOND)  # the disk was slow indeed
        self.assertEqual(free, 0)  # and every block was waiting for it, so the senders waited too


if __name__ == "__main__":
    main_without("the limit of resident memory, as the program was built with a sanitizer" if sanitized() else None)
