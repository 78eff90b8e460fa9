# SPDX-License-Identifier: Apache-2.0
"""A partition with an authority of its own: made at the first start, certificates for people, and machines that join with a
token. The openssl command looks at what was made, as any outsider would."""
import json
import pathlib
import re
import ssl
import stat
import subprocess

import weir_program
from recorder_certificates import Authority
from run_security_test import Secured, ask, context_of
from weir_process import Process, wait_until
from weir_program import PROGRAM, ProgramTest, run

PARTITION = """
[partition]
name = "own"
[security]
own_authority = true
join = "0.0.0.0:0"
operators = ["listed"]
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


class Own(Secured):
    """weir run, asked with the certificate that it made for itself."""

    def __init__(self, folder, file, directory, *arguments):
        self.authority = directory / "authority"
        self.directory = directory
        Process.__init__(self, folder, "run", file, "--dir", directory, "--json", "--wait", "--listen", "0.0.0.0:0", *arguments)

    def get(self, path="/partition"):
        place = wait_until(lambda: self._place() or not self.running(), f"run-control.json; {self.err}")
        assert isinstance(place, str), f"weir run has ended: {self.err}"
        return json.loads(ask(place, self.own(), path)[1])

    def own(self):
        return context_of(self.authority / "ca.crt", (self.authority / "partition.crt", self.authority / "partition.key"))

    def ports(self):
        """(of run control, of joins)"""
        self.get()
        place = json.loads((self.directory / "run-control.json").read_text())
        return place["control"], place["join"]


def openssl(*arguments, text=None, code=0):
    ended = subprocess.run(["openssl", *map(str, arguments)], input=text, capture_output=True, text=True, timeout=120)
    assert ended.returncode == code, ended
    return ended.stdout + ended.stderr


class AuthorityTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "p.toml"
        self.file.write_text(PARTITION)
        self.directory = self.folder / "D"
        self.authority = self.directory / "authority"

    def partition(self, *arguments, directory=None):
        return Own(self.folder, self.file, directory or self.directory, *arguments)

    def token(self, host, directory=None):
        return self.assertEnds(run("run", "token", host, "--dir", directory or self.directory), 0).out

    def token_file(self, host, directory=None):
        path = self.folder / f"token-{host}-{len(list(self.folder.iterdir()))}"
        path.touch(0o600)
        path.write_text(self.token(host, directory))
        return path

    def certified(self, who, role, *more):
        out = self.folder / f"files-{who}"
        self.assertEnds(run("run", "certify", who, "--role", role, "--dir", self.directory, "--out", out, *more), 0)
        return ["--tls-certificate", out / f"{who}.crt", "--tls-key", out / f"{who}.key", "--tls-ca", out / "ca.crt"]

    def test_the_first_start_makes_it_and_the_second_uses_it(self):
        with self.partition() as partition:
            partition.get()
        made = {path.name: path.read_bytes() for path in self.authority.iterdir()}
        self.assertEqual(sorted(made), ["ca.crt", "ca.key", "partition.crt", "partition.key"])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [self.authority, *self.authority.iterdir()]}
        self.assertEqual((modes["authority"], modes["ca.key"], modes["partition.key"]), (0o700, 0o600, 0o600))
        self.assertIn("OK", openssl("verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", self.authority / "ca.crt",
                                    self.authority / "partition.crt"))
        self.assertIn("OK", openssl("verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", self.authority / "ca.crt",
                                    self.authority / "partition.crt"))
        shown = openssl("x509", "-in", self.authority / "ca.crt", "-noout", "-text")
        self.assertRegex(shown, r"CN ?= ?authority of own(?s:.*)CA:TRUE, pathlen:0(?s:.*)Certificate Sign, CRL Sign")
        self.assertRegex(openssl("x509", "-in", self.authority / "partition.crt", "-noout", "-text"),
                         r"CN ?= ?own, OU ?= ?weir-operator(?s:.*)127\.0\.0\.1")
        self.assertNotIn("BEGIN", (self.directory / "run-partition.toml").read_text())
        with self.partition() as partition:
            wait_until(lambda: partition.get()["state"] == "ready", f"the partition is up; {partition.err}", poll=0.05)
        self.assertEqual({path.name: path.read_bytes() for path in self.authority.iterdir()}, made)

    def test_people_get_certificates_by_one_command_and_may_what_their_role_may(self):
        self.assertOneLine(run("run", "certify", "ann", "--dir", self.directory), 3, "has no authority", "own_authority = true")
        with self.partition() as partition:
            control = partition.ports()[0]
            at = ["--at", f"127.0.0.1:{control.rsplit(':', 1)[1]}"]
            ann, bob = self.certified("ann", "operator"), self.certified("bob", "reader")
            self.assertEqual(stat.S_IMODE(pathlib.Path(ann[3]).stat().st_mode), 0o600)
            self.assertIn("OK", openssl("verify", "-purpose", "sslclient", "-CAfile", ann[5], ann[1]))
            self.assertIn("own", self.assertEnds(run("run", "status", *at, *bob), 0).out)
            ended = run("run", "stop", *at, *bob)
            self.assertOneLine(ended, 1, "bob gives the role reader, and a command needs the role operator")
            self.assertEnds(run("run", "start", *at, *ann), 0)
            partition.until_built(100)
            self.assertEnds(run("run", "stop", *at, *ann, "--reason", "shift ends"), 0)
            self.assertEqual(partition.get()["last"]["reason"], "shift ends (ann)")
            for name, words in (("listed", "listed in [security]"), ("../x", "no name of a host"), ("ca", "the authority's own file"),
                                ("ann", "is there already")):
                ended = run("run", "certify", name, "--dir", self.directory, "--out", self.folder / "files-ann")
                self.assertIn(words, ended.err)
                self.assertEqual((ended.code != 0, ended.err.count("\n")), (True, 1))
            with self.subTest("an expired certificate, and one of another partition's authority"):
                with self.partition(directory=self.folder / "other") as other:
                    other.get()
                    key, request, late = (self.folder / f"late.{end}" for end in ("key", "csr", "crt"))
                    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=late/OU=weir-operator",
                            "-keyout", key, "-out", request)
                    openssl("x509", "-req", "-in", request, "-CA", self.authority / "ca.crt", "-CAkey", self.authority / "ca.key",
                            "-CAcreateserial", "-CAserial", self.folder / "serial", "-days", "-1", "-out", late)
                    expired = ["--tls-certificate", late, "--tls-key", key, "--tls-ca", ann[5]]
                    self.assertOneLine(run("run", "stop", *at, *expired), 1, "does not take our certificate", "expired")
                    foreign = ["--tls-certificate", other.authority / "partition.crt", "--tls-key", other.authority / "partition.key", "--tls-ca", ann[5]]
                    self.assertOneLine(run("run", "stop", *at, *foreign), 1, "does not take our certificate")
            wait_until(lambda: "certificate has expired" in partition.err and partition.err.count("its certificate is not taken") >= 1,
                       f"run control names who was refused, and why; {partition.err}", poll=0.05)

    def test_a_machine_joins_once_with_its_token_and_renews_its_certificate(self):
        host = self.folder / "host"
        with self.partition() as partition:
            control, joins = partition.ports()
            token = self.token_file("builder-1")
            unused = self.token_file("builder-2")
            joined = self.assertEnds(run("run", "join", joins, "--token-file", token, "--dir", host, "--name", "builder-1"), 0)
            self.assertIn("this machine is builder-1", joined.out)
            self.assertEqual({path.name: stat.S_IMODE(path.stat().st_mode) for path in host.iterdir() if path.suffix == ".key"}, {"host.key": 0o600})
            self.assertIn("OK", openssl("verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", host / "ca.crt", host / "host.crt"))
            shown = openssl("x509", "-in", host / "host.crt", "-noout", "-text")
            self.assertRegex(shown, r"CN ?= ?builder-1, OU ?= ?weir-station(?s:.*)DNS:builder-1, IP Address:127.0.0.1")
            self.assertOneLine(run("run", "join", joins, "--token-file", token, "--dir", self.folder / "again"), 1, "used already, from 127.0.0.1")
            self.assertFalse((self.folder / "again" / "host.key").exists())
            with self.subTest("a station asks, and does nothing else"):
                station = context_of(host / "ca.crt", (host / "host.crt", host / "host.key"))
                self.assertEqual(ask(control, station, "/partition")[0], 200)
                status, answer = ask(control, station, "/run", '{"command":"stop"}')
                self.assertEqual(status, 403)
                self.assertIn("builder-1 gives the role station", answer)
            with self.subTest("it renews its certificate"):
                before = (host / "host.crt").read_bytes(), (host / "host.key").read_bytes()
                self.assertEnds(run("run", "join", control, "--renew", "--dir", host), 0)
                self.assertNotEqual((host / "host.crt").read_bytes(), before[0])
                self.assertEqual((host / "host.key").read_bytes(), before[1])
                self.assertIn("OK", openssl("verify", "-CAfile", host / "ca.crt", host / "host.crt"))
                openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=ann/OU=weir-operator",
                        "-keyout", self.folder / "wish.key", "-out", self.folder / "wish.csr")
                request = (self.folder / "wish.csr").read_text()
                status, answer = ask(control, station, "/renew", json.dumps({"request": request}))
                self.assertEqual(status, 403, answer)
                self.assertIn("another key", answer)
            with self.subTest("what a request wishes is not in its certificate"):
                text = self.token("builder-3").strip()
                bare = ssl._create_unverified_context()
                status, answer = ask(joins.replace("0.0.0.0", "127.0.0.1"), bare, "/join", json.dumps({"token": text, "request": request}))
                self.assertEqual(status, 200, answer)
                made = openssl("x509", "-noout", "-subject", text=json.loads(answer)["certificate"])
                self.assertEqual(re.findall(r"(?:CN|OU) ?= ?([\w-]+)", made), ["builder-3", "weir-station"])
            with self.subTest("the port for joins answers nothing else"):
                for path in ("/partition", "/status", "/metrics", "/log"):
                    self.assertEqual(ask(joins, ssl._create_unverified_context(), path)[0], 404)
            with self.subTest("the authority of another partition, where nothing was sent"):
                with self.partition(directory=self.folder / "other") as other:
                    elsewhere = other.ports()[1]
                    ended = run("run", "join", elsewhere, "--token-file", unused, "--dir", self.folder / "x")
                    self.assertOneLine(ended, 1, "its authority is another one", "nothing was sent")
                    self.assertNotIn("refused at the port for joins", other.err)
            with self.subTest("no such port, no such file, and no token"):
                self.assertOneLine(run("run", "join", "127.0.0.1:1", "--token-file", unused, "--dir", self.folder / "x"), 1, "Connection refused")
                self.assertOneLine(run("run", "join", joins, "--token-file", self.folder / "none", "--dir", self.folder / "x"), 3, "none")
                (self.folder / "nonsense").write_text("nonsense")
                self.assertOneLine(run("run", "join", joins, "--token-file", self.folder / "nonsense", "--dir", self.folder / "x"), 2, "join token")
            with self.subTest("for another host"):
                ended = run("run", "join", joins, "--token-file", unused, "--dir", self.folder / "x", "--name", "builder-9")
                self.assertOneLine(ended, 1, "for the host builder-2", "builder-9")
            wait_until(lambda: "builder-1 joined" in (self.directory / "log" / "run.log").read_text(), "who joined is in the log", poll=0.05)
        with self.partition() as partition:  # a start later
            joins = partition.ports()[1]
            self.assertOneLine(run("run", "join", joins, "--token-file", token, "--dir", self.folder / "again"), 1, "used already")
            self.assertEnds(run("run", "join", joins, "--token-file", unused, "--dir", self.folder / "second"), 0)

    def test_no_secret_is_in_arguments_environments_or_logs(self):
        with self.partition() as partition:
            joins = partition.ports()[1]
            token = self.token("builder-1")
            waits = subprocess.Popen([PROGRAM, "run", "join", joins, "--token-file", "-", "--dir", str(self.folder / "host")], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                proc = pathlib.Path("/proc")
                view = partition.get()
                seen = 0
                for pid in [waits.pid, partition.pid, *(s["pid"] for s in view["stations"] if s["pid"])]:
                    for name in ("cmdline", "environ"):
                        text = (proc / str(pid) / name).read_bytes()
                        seen += bool(text)
                        self.assertNotIn(token.strip().encode(), text)
                        self.assertNotIn(b"PRIVATE KEY", text)
                self.assertGreater(seen, 3)
                out, err = waits.communicate(token, timeout=120)
                self.assertEqual(waits.returncode, 0, err)
            finally:
                waits.kill()
                waits.wait()
            kept_token = self.folder / "token"
            kept_token.write_text(token)
            ended = run("run", "join", joins, "--token-file", kept_token, "--dir", self.folder / "again")
            self.assertOneLine(ended, 1, "used already")
            said = [out, err, ended.err, partition.err, *(path.read_text() for path in (self.directory / "log").iterdir())]
            log = run("run", "log", "--dir", self.directory)
            for text in [*said, log.out]:
                self.assertNotIn(token.strip(), text)
            kept = (self.authority / "tokens").read_text()
            self.assertNotIn(token.strip()[2:22], kept, "only a hash is kept")
            self.assertEqual(stat.S_IMODE((self.authority / "tokens").stat().st_mode), 0o600)

    def test_joins_need_the_partitions_own_authority(self):
        ours = Authority(self.folder, "ours")
        certificate, key = ours.files("partition")
        with_files = PARTITION.replace("own_authority = true\n", f'tls_certificate = "{certificate}"\ntls_key = "{key}"\ntls_ca = "{ours.certificate}"\n')
        self.file.write_text(with_files)
        self.assertOneLine(run("config", "check", self.file), 2, "join in [security] needs own_authority")
        self.file.write_text(with_files.replace('join = "0.0.0.0:0"\n', ""))
        self.assertEnds(run("config", "check", self.file), 0)
        self.assertOneLine(run("run", self.file, "--dir", self.directory, "--join", "127.0.0.1:0"), 2, "--join needs own_authority")
        self.file.write_text(with_files.replace("[security]", "[security]\nown_authority = true"))
        self.assertOneLine(run("config", "check", self.file), 2, "leave them out")

    def test_the_check_of_a_partition_file_looks_at_its_certificates_and_says_file_and_line(self):
        ours, theirs = Authority(self.folder, "ours"), Authority(self.folder, "theirs")
        certificate, key = ours.files("partition")
        other = ours.files("other")[1]
        expired = ours.files("late", days=-1)
        none, text = self.folder / "none", self.folder / "text"
        text.write_text("no PEM\n")
        for name, (crt, its_key, ca), line, words in (
                ("good", (certificate, key, ours.certificate), None, ()),
                ("no certificate", (none, key, ours.certificate), 5, ("tls_certificate", "none", "No such file")),
                ("no key", (certificate, none, ours.certificate), 6, ("tls_key", "none", "No such file")),
                ("no authority", (certificate, key, none), 7, ("tls_ca", "none", "No such file")),
                ("no PEM", (text, key, ours.certificate), 5, ("tls_certificate", "no certificate in PEM")),
                ("no PEM of a key", (certificate, text, ours.certificate), 6, ("tls_key", "no private key in PEM")),
                ("another key", (certificate, other, ours.certificate), 6, ("is not the key of",)),
                ("ended", (*expired, ours.certificate), 5, ("ended on",)),
                ("another authority", (certificate, key, theirs.certificate), 7, ("is not the authority of",))):
            with self.subTest(name):
                self.file.write_text(re.sub(r'own_authority = true\njoin = .*\n', f'tls_certificate = "{crt}"\ntls_key = "{its_key}"\ntls_ca = "{ca}"\n', PARTITION))
                ended = run("config", "check", self.file)
                if line is None:
                    self.assertEnds(ended, 0)
                    continue
                self.assertOneLine(ended, 2, f"{self.file}:{line}: ", *words)
                started = run("run", self.file, "--dir", self.directory)
                self.assertEqual((started.code, started.err.replace("weir run: ", "")), (2, ended.err.replace("weir config check: ", "")))


if __name__ == "__main__":
    weir_program.main()
