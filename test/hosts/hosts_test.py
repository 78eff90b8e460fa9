# SPDX-License-Identifier: Apache-2.0
"""The test bed of several machines itself: what other tests rely on when they take away power, cables and packets; and that weir runs in it."""
import contextlib
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest

from hosts import Hosts, main_with_hosts
from recorder_certificates import Authority
from recorder_files import RawFile, listed
from weir_process import RecorderProcess, SenderProcess, wait_until
from weir_program import PROGRAM, ProgramTest, run

PORT = 7000  # a machine has all ports for itself
AT_ONCE = 0.3  # seconds in which a connection would be there that must not come
LINE = ["sh", "-c", "echo started; exec sleep infinity"]


def alive(pids):
    """Those of them that have not ended."""
    found = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX":
                found.append(pid)
    return found


class Bed(ProgramTest):
    names = ["h1", "h2"]

    def setUp(self):
        super().setUp()
        self.hosts = Hosts(self.folder / "hosts", self.names)
        self.addCleanup(self.hosts.close)
        self.h1, self.h2 = self.hosts["h1"], self.hosts["h2"]

    def server(self, host):
        """A port of a machine that takes connections, until the test ends."""
        server = host.call(socket.create_server, (host.address, PORT))
        self.addCleanup(server.close)
        server.settimeout(120)
        return server

    def pair(self, one, other):
        """Both ends of a connection from one machine to the other."""
        with self.server(other) as server:
            near = one.connect(f"{other.address}:{PORT}")
            self.addCleanup(near.close)
            far, _ = server.accept()
        self.addCleanup(far.close)
        far.settimeout(120)
        return near, far

    def assertCut(self, one, other):
        with self.assertRaises(OSError):
            one.connect(f"{other.address}:{PORT}", timeout=AT_ONCE)

    def assertReached(self, one, other):
        def reached():
            try:
                one.connect(f"{other.address}:{PORT}").close()
            except OSError:  # its address is asked for once a second
                return False
            return True
        wait_until(reached, f"{one.name} reaches {other.name}")

    def started(self, host):
        """A process that waits for ever, once it does."""
        process = host.start(LINE, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b"started\n")
        return process


class Machines(Bed):
    def test_each_machine_has_its_name_its_address_its_boots_and_its_own_files(self):
        files = [path for path in ("/proc/sys/kernel/random/boot_id", "/etc/machine-id") if os.path.exists(path)]
        ids = set()
        for host in self.hosts.all():
            with self.subTest(host.name):
                said = self.assertEnds(host.run(["sh", "-c", f"hostname; ip -br address show eth0; cat {' '.join(files)}"]), 0).out.split()
                self.assertEqual(said[0], host.name)
                self.assertIn(f"{host.address}/16", said)
                ids.update(said[-len(files):])
                self.assertEqual(host.call(socket.gethostbyname, "h2"), self.h2.address)
        self.assertEqual(len(ids), 3 * len(files), "each has its own")
        self.h1.power_off()
        self.h1.power_on()
        again = self.assertEnds(self.h1.run(["cat", *files]), 0).out.split()
        self.assertEqual([word in ids for word in again], [False, True][:len(files)], "another boot of the same machine")
        (self.hosts.shared / "for-all").write_text("shared\n")
        for host in (self.h1, self.h2):
            self.assertEnds(host.run(["sh", "-c", f"cat {self.hosts.shared}/for-all >kept; echo {host.name} >>kept; "
                                                  "cp kept /tmp/lost; cp kept /run/lost"]), 0)
        self.assertEqual((self.h1.directory / "kept").read_text(), "shared\nh1\n")
        self.assertEqual((self.h2.directory / "kept").read_text(), "shared\nh2\n")
        outside = self.folder / "outside"
        outside.write_text("of this machine\n")
        for hidden in (outside, self.h2.directory, self.h2.directory / "kept"):
            self.assertEnds(self.h1.run(["test", "!", "-e", hidden]), 0)
        self.assertFalse(any(pathlib.Path(place, "lost").exists() for place in ("/tmp", "/run")))

    def test_processes_are_children_of_the_test_and_see_only_their_own_machine(self):
        process = self.started(self.h1)
        self.assertIn(process.pid, self.h1.processes())
        self.assertNotIn(process.pid, self.h2.processes())
        self.assertEnds(self.h2.run(["sh", "-c", f"kill -0 {process.pid}"]), 1)
        process.terminate()
        self.assertEqual(process.wait(120), -15)
        self.assertEnds(self.h1.run(["sh", "-c", "cat >got; exit 3"], input="a line\n"), 3)
        self.assertEqual((self.h1.directory / "got").read_text(), "a line\n")
        with self.subTest("what lost its parent and ended is taken away"):
            self.assertEnds(self.h1.run(["sh", "-c", "(sleep 0.01 &)"]), 0)
            wait_until(lambda: len(self.h1.processes()) == 1, "only the first process is left")

    def test_a_power_off_ends_all_processes_says_goodbye_to_nobody_and_leaves_the_disk(self):
        near, _ = self.pair(self.h1, self.h2)
        process = self.started(self.h2)
        self.assertEnds(self.h2.run(["sh", "-c", "echo data >kept; echo data >/tmp/lost; setsid sleep infinity >/dev/null 2>&1 &"]), 0)
        answers = self.h2.start([sys.executable, "-c", f"import socket\nserver = socket.create_server(('{self.h2.address}', {PORT + 1}))\n"
                                 "print('listens', flush=True)\nheld, _ = server.accept()\nprint(held.recv(9), flush=True)\nheld.recv(9)"],
                                stdout=subprocess.PIPE)
        self.addCleanup(answers.stdout.close)
        self.assertEqual(answers.stdout.readline(), b"listens\n")
        with self.h1.connect(f"{self.h2.address}:{PORT + 1}") as partner:
            partner.send(b"hello")
            self.assertEqual(answers.stdout.readline(), b"b'hello'\n")
            there = self.h2.processes()
            self.assertEqual(len(there), 4, "the first, two that sleep and one that answers")
            self.h2.power_off()
            self.assertFalse(self.h2.running)
            self.assertEqual(alive(there), [])
            self.assertEqual([process.returncode, answers.returncode], [-9, -9])
            partner.setblocking(False)
            with self.assertRaises(BlockingIOError):
                partner.recv(1)
            self.assertCut(self.h1, self.h2)
            with self.assertRaisesRegex(AssertionError, "h2 is off"):
                self.h2.run(["true"])
            self.h2.power_on()
            with self.subTest("who comes back knows nothing of a connection"):
                partner.setblocking(True)
                partner.settimeout(120)
                with self.assertRaises(ConnectionResetError):
                    partner.send(b"more")
                    partner.recv(1)
        self.assertEqual(len(self.h2.processes()), 1)
        self.assertEqual(self.assertEnds(self.h2.run(["cat", "kept"]), 0).out, "data\n")
        self.assertEnds(self.h2.run(["test", "!", "-e", "/tmp/lost"]), 0)

    def test_nothing_is_left_when_the_test_is_killed(self):
        program = ("import sys\nfrom hosts import Hosts\nhosts = Hosts(sys.argv[1], ['h1'])\nhosts['h1'].start(['sleep', 'infinity'])\n"
                   "print(*(pid for host in hosts.all() for pid in host.processes()), flush=True)\nsys.stdin.read()")
        with subprocess.Popen([sys.executable, "-c", program, str(self.folder / "killed")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as test:
            there = [int(word) for word in test.stdout.readline().split()]
            self.assertEqual(alive(there), there)
            self.assertEqual(len(there), 3, "the first of two machines, and one more")
            test.kill()
        wait_until(lambda: not alive(there), "no process of its machines is left")
        self.assertNotIn(str(self.folder), pathlib.Path("/proc/self/mountinfo").read_text())


class Network(Bed):
    names = ["h1", "h2", "h3"]

    def test_a_connection_stands_still_while_the_cable_is_out_and_goes_on(self):
        near, far = self.pair(self.h1, self.h2)
        near.sendall(b"before")
        self.assertEqual(far.recv(100), b"before")
        server = self.server(self.h2)
        self.h2.unplug()
        wait_until(lambda: "NO-CARRIER" in self.h2.run(["ip", "link", "show", "eth0"]).out, "the machine notices that there is no carrier")
        near.sendall(b"during")
        self.assertCut(self.h1, self.h2)
        far.setblocking(False)
        with self.assertRaises(BlockingIOError):
            far.recv(100)
        self.h2.plug()
        far.settimeout(120)
        self.assertEqual(far.recv(100), b"during")
        self.assertReached(self.h1, self.h2)
        with self.subTest("also a machine that was off meanwhile"):
            self.h1.unplug()
            self.h1.power_off()
            self.h1.power_on()
            self.assertCut(self.h1, self.h2)
            self.h1.plug()
            self.assertReached(self.h1, self.h2)
        server.close()

    def test_a_split_separates_its_sides_and_only_them(self):
        h3 = self.hosts["h3"]
        for host in self.hosts.all():
            self.server(host)
        self.hosts.split({self.h1, self.h2}, {h3})
        self.assertCut(self.h1, h3)
        self.assertCut(h3, self.h2)
        self.assertReached(self.h1, self.h2)
        self.assertReached(h3, h3)
        for host in (self.h1, h3):
            self.assertReached(self.hosts.control, host)
        self.hosts.split({"h1"}, {"h2", "ctl"})
        self.assertReached(h3, self.h2)
        self.assertReached(h3, self.h1)
        self.assertCut(self.hosts.control, self.h1)
        self.hosts.heal()
        self.assertReached(self.hosts.control, self.h1)
        self.assertReached(self.h1, self.h2)

    def test_a_share_of_the_packets_is_lost_and_each_of_them_is_counted(self):
        receiver = self.h2.call(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
        sender = self.h1.call(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
        with receiver, sender:
            receiver.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE: all of them find room
            receiver.bind((self.h2.address, PORT))
            receiver.setblocking(False)
            for share, least, most in ((0.25, 0.15, 0.35), (1, 1, 1), (0, 0, 0)):
                with self.subTest(share=share):
                    self.h2.lose(share)
                    count, before, received = 2000, self.h2.lost, []
                    for number in range(count):
                        sender.sendto(number.to_bytes(4, "little"), (self.h2.address, PORT))
                        if number % 100 == 99:  # no queue between them overflows
                            wait_until(lambda: self.received(receiver, received) + self.h2.lost - before == number + 1, "each is received or lost")
                    self.assertEqual(len(set(received)), len(received))
                    self.assertGreaterEqual(self.h2.lost - before, least * count)
                    self.assertLessEqual(self.h2.lost - before, most * count)

    @staticmethod
    def received(receiver, all_of_them):
        """How many datagrams there are with those that have come since the last call."""
        with contextlib.suppress(BlockingIOError):
            while True:
                all_of_them.append(receiver.recv(100))
        return len(all_of_them)

    def test_a_slow_line_lets_through_no_more_than_it_may(self):
        rate, size, held = 2_000_000, 1_000_000, 200_000  # bytes; what the line holds at first is below 200 kB
        for near, far in (self.pair(self.h1, self.h2), self.pair(self.h2, self.h1)):
            self.h1.slow(rate)
            near.settimeout(120)
            began = time.monotonic()
            self.carry(near, far, size)
            self.assertGreater(time.monotonic() - began, (size - held) / rate)
            self.h1.slow(None)
            self.assertNotIn("tbf", self.h1.run(["tc", "qdisc", "show", "dev", "eth0"]).out)
            self.carry(near, far, size)
        self.h1.slow(rate)
        self.h1.power_off()
        self.h1.power_on()
        self.assertIn("tbf", self.h1.run(["tc", "qdisc", "show", "dev", "eth0"]).out)

    @staticmethod
    def carry(near, far, size):
        """So many bytes from one end of a connection to the other."""
        sends = threading.Thread(target=near.sendall, args=(bytes(size),), daemon=True)
        sends.start()
        while size:
            size -= len(far.recv(min(size, 65536)))
        sends.join()


@unittest.skipUnless(shutil.which("openssl"), "NOT TESTED: there is no openssl command that makes certificates; apt install openssl")
class Weir(Bed):
    def test_the_program_runs_in_a_machine(self):
        self.assertRegex(self.assertEnds(self.h1.run([PROGRAM, "--version"]), 0).out, r"^weir \d")

    def test_one_machine_asks_another_over_https_for_its_metrics(self):
        authority = Authority(self.hosts.shared)
        with RecorderProcess(self.folder, self.h2.directory / "data", "--metrics", f"{self.h2.address}:{PORT}",
                             *authority.options("recorder", at=[self.h2.address]), on=self.h2) as recorder:
            context = ssl.create_default_context(cafile=authority.certificate)
            context.load_cert_chain(*authority.files("prometheus", unit="weir-reader"))
            status, text = self.h1.ask(f"{self.h2.address}:{PORT}", "/metrics", context=context)
            self.assertEqual(status, 200)
            self.assertIn("weir_acknowledged_events_total 0", text.splitlines())
            self.assertEnds(recorder.stop(), 0)

    def test_events_go_under_tls_from_one_machine_to_another_also_over_a_cable_that_was_out(self):
        authority = Authority(self.hosts.shared)
        directory = self.h2.directory / "data"
        with contextlib.ExitStack() as running:
            recorder = running.enter_context(
                RecorderProcess(self.folder, directory, *authority.options("recorder", at=[self.h2.address]), on=self.h2))
            self.assertEqual(recorder.address.split(":")[0], self.h2.address)
            sender = running.enter_context(SenderProcess(self.folder, recorder.address, "--events", 1_000_000, "--rate", 50, "--name", "sender",
                                                         *authority.options("sender"), on=self.h1))
            acknowledged = lambda: recorder.metrics()["weir_acknowledged_events_total"]
            wait_until(lambda: acknowledged() > 0, "the first events are acknowledged")
            self.h1.unplug()
            time.sleep(2)  # so long it is out
            before = acknowledged()
            self.h1.plug()
            wait_until(lambda: acknowledged() > before, "events are acknowledged again")
            sender.signal(signal.SIGINT)
            sent = sender.report()["events"]
            self.assertEqual(sent, {"sent": sent["sent"], "acknowledged": sent["sent"], "rejected": 0})
            self.assertEnds(recorder.stop(), 0)
        self.assertEqual(self.assertEnds(run("verify", "--json", directory), 0).json["bad"], [])
        streams = {}
        for file in listed(directory):
            streams.setdefault(file["stream"], []).extend(hashlib.sha256(event).digest() for _, event in RawFile(file["path"]).events())
        for stream, stored in streams.items():
            self.assertEqual(len(set(stored)), len(stored), f"none twice in {stream}")
        self.assertEqual(len(set().union(*streams.values())), sent["sent"])
        self.assertEqual(list(self.h1.directory.iterdir()), [])


if __name__ == "__main__":
    main_with_hosts("machines as namespaces, a test bed of several on this one")
