# SPDX-License-Identifier: Apache-2.0
"""Programs that run while a test does something else: recorders, senders, and what they printed so far.

What they print goes to files, so that a program that prints much never waits for the test to read it.
"""
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import python_venv
import weir_program
from free_port import free_port
from weir_program import PROGRAM, Ended

SLOW = 120.0  # seconds that a loaded machine may need for anything that should be quick


def wait_until(condition, what, seconds=SLOW, poll=0.02):
    """The first true value of `condition`; a test waits for things, never for a time. `what` may be a function: it is called when the
    wait was in vain."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(poll)


class Process:
    """A weir command in the background. `folder` takes what it prints. `on`: a machine of hosts.Hosts, else this one."""

    count = 0

    def __init__(self, folder, *arguments, prefix=(), env=None, on=None):
        Process.count += 1
        base = pathlib.Path(folder) / f"{arguments[0]}-{Process.count}"
        self.out_path, self.err_path = base.with_suffix(".out"), base.with_suffix(".err")
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            start = on.start if on else subprocess.Popen
            self.process = start([*prefix, PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=err, env={**os.environ, **(env or {})})

    @property
    def pid(self):
        return self.process.pid

    @property
    def err(self):
        return self.err_path.read_text(errors="replace")

    def running(self):
        return self.process.poll() is None

    def printed(self, pattern, seconds=SLOW):
        """The match of `pattern` in what it printed on stderr, once it is there."""
        def look():
            found = re.search(pattern, self.err)
            if not found and not self.running():
                found = re.search(pattern, self.err)
                if not found:
                    raise AssertionError(f"ended with {self.process.returncode} without printing {pattern!r}: {self.err}")
            return found
        return wait_until(look, f"{pattern!r} on stderr of process {self.pid}, which printed: {self.err}", seconds)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=SLOW):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"process {self.pid} did not end within {seconds:g} s; it printed: {self.err}") from None
        return Ended(code, self.out_path.read_text(), self.err)

    def stop(self, seconds=SLOW):
        self.signal(signal.SIGTERM)
        return self.wait(seconds)

    def kill(self):
        self.process.kill()
        return self.wait()

    def memory_peak(self):
        """VmHWM in bytes: the most that was ever resident."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmHWM in /proc; has the process ended?")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.running():
            self.signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


class RecorderProcess(Process):
    """A recorder, from the moment on that it listens. `port` None: any free one, which stays free for its next life."""

    def __init__(self, folder, directory, *arguments, port=None, run=7, prefix=(), on=None):
        self.on, host = on, on.address if on else "127.0.0.1"
        super().__init__(folder, "record", "--listen", f"{host}:{port or free_port()}", "--dir", directory, "--create", "--run", run, "--json",
                         *arguments, prefix=prefix, on=on)
        try:
            self.port = int(self.printed(r"listening on port (\d+)").group(1))
        except AssertionError:
            self.__exit__()
            raise
        self.address = f"{host}:{self.port}"

    def metrics(self):
        """The lines that Prometheus would read, as a dictionary."""
        port = int(re.search(r"metrics on port (\d+)", self.err).group(1))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SLOW)
        if self.on:
            connection.sock = self.on.connect(f"127.0.0.1:{port}")
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))}


class SenderProcess(Process):
    """`to`: a port of this machine, or "host:port"."""

    def __init__(self, folder, to, *arguments, run=7, on=None):
        to = to if ":" in str(to) else f"127.0.0.1:{to}"
        super().__init__(folder, "send", "--to", to, "--run", run, "--json", *arguments, on=on)

    def report(self, seconds=SLOW):
        """What it prints at its end."""
        ended = self.wait(seconds)
        if ended.code != 0:
            raise AssertionError(f"the sender failed: {ended!r}")
        return json.loads(ended.out)


def main_without(what, needs_recorded_events=False):
    """Runs the tests. When they pass although something was skipped, ctest shows that."""
    try:
        weir_program.main(needs_recorded_events)
    except SystemExit as end:
        missing = [what] * bool(what) + python_venv.skipped
        if end.code or not missing:
            raise
        for each in missing:
            print(f"NOT TESTED: {each}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
