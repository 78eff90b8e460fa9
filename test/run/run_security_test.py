# SPDX-License-Identifier: Apache-2.0
"""A partition whose control ports, run control's and the stations', are under mutual TLS: what each certificate may do, and
what is answered without one."""
import http.client
import json
import pathlib
import re
import signal
import socket
import ssl
import subprocess

import weir_program
from recorder_certificates import Authority
from run_test import Partition
from weir_process import wait_until
from weir_program import ProgramTest, run

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "apps" / "run.md"
PARTITION = """
[partition]
name = "secured"
[security]
tls_certificate = "{certificate}"
tls_key = "{key}"
tls_ca = "{ca}"
readers = ["by-name"]
[readout.ros-1]
source = "generator"
robs = 2
first_source = "0x420000"
rob_size = "1kB"
[supervise.l2sv]
events = 0
rate = 2000
[assign.dfm]
[build.sfi-1]
[record.rec-1]
"""


class Secured(Partition):
    """weir run, asked with the partition's own certificate."""

    def __init__(self, folder, file, context, *arguments):
        self.context = context
        super().__init__(folder, file, *arguments, source=None)

    def __exit__(self, *failed):
        """Its stations end before it does, so that nobody writes any more."""
        if self.running():
            self.signal(signal.SIGINT)
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                pass
        super().__exit__(*failed)

    def get(self, path="/partition"):
        place = wait_until(lambda: self._place() or not self.running(), f"run-control.json; {self.err}")
        assert isinstance(place, str), f"weir run has ended: {self.err}"
        return json.loads(ask(place, self.context, path)[1])


def ask(address, context, path, body=None):
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPSConnection("127.0.0.1" if host == "0.0.0.0" else host, int(port), timeout=60, context=context)
    try:
        connection.request("POST" if body is not None else "GET", path, body, {"Content-Type": "application/json"} if body is not None else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def context_of(ca, files=None):
    context = ssl.create_default_context(cafile=ca)
    if files:
        context.load_cert_chain(*files)
    return context


def listening(pid):
    """(address, port) of each TCP port that a process listens at."""
    inodes = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink()))
        except OSError:
            continue
        if found:
            inodes.add(found.group(1))
    ports = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address, port = fields[1].split(":")
                ports.append((address, int(port, 16)))
    return ports


class SecurityTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.ours, self.theirs = Authority(self.folder, "ours"), Authority(self.folder, "theirs")
        certificate, key = self.ours.files("partition", age=10)
        self.file = self.folder / "p.toml"
        self.file.write_text(PARTITION.format(certificate=certificate, key=key, ca=self.ours.certificate))
        self.own = context_of(self.ours.certificate, (certificate, key))

    def partition(self, *arguments):
        return Secured(self.folder, self.file, self.own, *arguments)

    def test_each_role_may_what_it_may_and_the_run_is_a_run_like_any_other(self):
        with self.partition("--wait", "--listen", "0.0.0.0:0") as partition:
            partition.get()  # it is coming up: a start waits for that
            port = partition._place().rsplit(":", 1)[1]
            as_who = lambda who, unit=None, **more: ["--at", f"127.0.0.1:{port}", *self.ours.options(who, unit=unit, **more)]
            alice, bob = as_who("alice", "weir-operator"), as_who("bob", "weir-reader")
            self.assertEnds(run("run", "start", *alice), 0)
            partition.until_built(100)
            self.assertIn("running", self.assertEnds(run("run", "status", *bob), 0).out)
            for who, options in (("bob", bob), ("by-name", as_who("by-name"))):
                ended = self.assertEnds(run("run", "stop", *options), 1)
                self.assertRegex(ended.err, rf"certificate of {who} gives the role reader, and a command needs the role operator")
            for what, options, prints in (
                    ("without a role", as_who("nobody", "accounting"), "nobody gives no role here"),
                    ("expired", as_who("late", "weir-operator", days=-1), "does not take our certificate.*expired"),
                    ("of another authority", ["--at", f"127.0.0.1:{port}", *self.theirs.options("eve", ca=self.ours, unit="weir-operator")],
                     "does not take our certificate"),
                    ("without TLS", ["--at", f"127.0.0.1:{port}"], "does not answer")):
                with self.subTest(what):
                    ended = self.assertEnds(run("run", "stop", *options), 1)
                    self.assertRegex(ended.err, prints)
                    self.assertEqual(len(ended.err.splitlines()), 1, ended.err)
            wait_until(lambda: "certificate has expired" in partition.err and "nobody gives no role" in partition.err,
                       "run control names who was refused, and why", poll=0.05)
            alarms = {alarm["name"]: alarm["text"] for alarm in partition.get("/alarms")["alarms"]}
            self.assertRegex(alarms["certificate"], r"partition.crt ends on \d{4}-")
            with self.subTest("the log of run control elsewhere is not that of a directory here"):
                log = self.assertEnds(run("run", "log", *as_who("nobody", "accounting"), "--dir", partition.directory), 1)
                self.assertIn("gives no role", log.err)
            self.assertEnds(run("run", "mask", "0x420001", "--person", "somebody else", *alice), 0)
            self.assertEqual([(c["what"], c["who"]) for c in partition.get()["changes"]], [("mask", "alice")], "as the certificate says")
            replaced = partition.station("ros-1")["pid"]
            self.ours.files("partition", days=90, renew=True)
            self.assertEnds(run("run", "replace", "ros-1", "--dir", partition.directory), 0)
            wait_until(lambda: (lambda s: s["pid"] not in (0, None, replaced) and s["state"] == "running")(partition.station("ros-1")),
                       "a station that was started with the renewed certificate works beside the others", poll=0.05)
            # Who may read run control's own key, on its machine, needs no other certificate.
            stopped = self.assertEnds(run("run", "stop", "--dir", partition.directory, "--json"), 0).json
            self.assertEqual(stopped["problems"], [])
            self.assertGreaterEqual(stopped["events"]["built"], 100)
        self.assertEnds(run("verify", partition.directory), 0)

    def test_the_certificates_that_the_document_makes_serve_as_it_says(self):
        text = DOCUMENT.read_text().split("## From another machine")[1].split("\n## ")[0]
        lines = re.findall(r"^\$ ((?:export|printf|openssl) .*)$", text, re.MULTILINE)
        self.assertEqual(len(lines), 10)
        subprocess.run(["sh", "-ec", "\n".join(lines).replace("192.168.10.5", "127.0.0.1")], check=True, capture_output=True,
                       cwd=self.folder, timeout=120)
        section = re.search(r"\[security\]\n(?:.+\n)+", text).group().replace("/etc/weir", str(self.folder))
        self.file.write_text(re.sub(r"\[security\]\n(?:.+\n)+?(?=\[)", lambda _: section, self.file.read_text()))
        own, bob = (context_of(self.folder / "ca.pem", [self.folder / f"{who}.{end}" for end in ("pem", "key")]) for who in ("partition", "bob"))
        with Secured(self.folder, self.file, own, "--wait", "--listen", "0.0.0.0:0") as partition:
            partition.get()
            at = partition._place()
            files = ["--tls-certificate", "bob.pem", "--tls-key", "bob.key", "--tls-ca", "ca.pem"]
            self.assertIn("secured", self.assertEnds(run("run", "status", "--at", at, *files, cwd=self.folder), 0).out)
            self.assertEqual(ask(at, bob, "/partition")[0], 200)
            self.assertEqual(ask(at, bob, "/run", '{"command":"stop"}')[0], 403)
            for command in ("take", "force"):  # the operator's lease: a reader looks at the page, and controls nothing
                self.assertEqual(ask(at, bob, "/control", '{"command":"%s","person":"bob"}' % command)[0], 403)
            self.assertEqual(ask(at, bob, "/live")[0], 200)
            ended = self.assertEnds(run("run", "stop", "--at", at, *files, cwd=self.folder), 1)
            self.assertIn("certificate of bob gives the role reader", ended.err)
            alice = [text.replace("bob", "alice") for text in files]
            self.assertEnds(run("run", "start", "--at", at, *alice, cwd=self.folder), 0)
            self.assertEnds(run("run", "stop", "--at", at, *alice, "--reason", "shift ends", cwd=self.folder), 0)
            self.assertEqual(partition.get()["last"]["reason"], "shift ends (alice)")

    def test_no_control_port_answers_without_a_certificate(self):
        with self.partition("--wait", "--listen", "0.0.0.0:0") as partition:
            view = wait_until(lambda: (lambda now: all(s["pid"] and s["control"] for s in now["stations"]) and now)(partition.get()),
                              "all stations are there", poll=0.05)
            control = {int(s["control"].rsplit(":", 1)[1]) for s in view["stations"]} | {int(partition._place().rsplit(":", 1)[1])}
            owner = {int(s["control"].rsplit(":", 1)[1]): s["pid"] for s in view["stations"]}
            owner[int(partition._place().rsplit(":", 1)[1])] = partition.pid
            asked = set()
            bare = context_of(self.ours.certificate)
            for pid in [partition.pid, *(s["pid"] for s in view["stations"])]:
                for address, port in listening(pid):
                    if port not in control and address == "0100007F":
                        continue  # of data, within this machine
                    self.assertEqual(pid, owner.get(port), f"port {port} is no control port of this process")
                    asked.add(port)
                    with self.subTest(pid=pid, port=port):
                        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
                            plain.sendall(b"GET /status HTTP/1.0\r\n\r\n")
                            try:
                                self.assertNotIn(b"HTTP/", plain.recv(4096))
                            except ConnectionResetError:
                                pass
                        with self.assertRaises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                            ask(f"127.0.0.1:{port}", bare, "/status")
                        self.assertIn(ask(f"127.0.0.1:{port}", self.own, "/metrics")[0], (200, 404))
            self.assertEqual(asked, control, "each control port was asked, and nothing else is reached by other machines")

    def test_what_other_machines_reach_is_not_served_without_certificates(self):
        self.file.write_text(re.sub(r"\[security\](\n.+)+?\n\[readout", "[readout", self.file.read_text()))
        ended = self.assertEnds(run("run", self.file, "--dir", self.folder / "D", "--listen", "0.0.0.0:0"), 2)
        self.assertIn("a control port there needs TLS", ended.err)
        ended = self.assertEnds(run("record", "--dir", self.folder / "R", "--create", "--metrics", "0.0.0.0:0"), 2)
        self.assertIn("a control port there needs TLS", ended.err)
        ended = self.assertEnds(run("run", "stop", "--at", "192.0.2.1:9400"), 2)
        self.assertIn("under TLS only", ended.err)

    def test_a_certificate_that_has_ended_is_refused_at_the_start_and_one_that_soon_will_is_an_alarm(self):
        for days, code, prints in ((-1, 2, "partition.crt ended on"), (2, 0, "ALARM certificate: .*ends on")):
            with self.subTest(days=days):
                self.ours.files("partition", days, age=10)
                ended = self.assertEnds(run("run", self.file, "--dir", self.folder / f"D{days}", "--events", 10), code)
                self.assertRegex(ended.err, prints)

    def test_a_section_that_is_not_whole_is_refused_with_what_is_missing(self):
        whole = self.file.read_text()
        for line, prints in (("tls_key", "tls_certificate, tls_key and tls_ca together"), ("tls_ca", "together")):
            self.file.write_text(re.sub(rf"^{line} = .*\n", "", whole, flags=re.MULTILINE))
            ended = self.assertEnds(run("config", "check", self.file), 2)
            self.assertIn(prints, ended.err)


if __name__ == "__main__":
    weir_program.main()
