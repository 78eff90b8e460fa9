# SPDX-License-Identifier: Apache-2.0
"""Data between the stations of a partition: at addresses in the network that it names, and under mutual TLS, where nobody else can
send a byte to any port."""
import json
import socket
import ssl
import urllib.error

import weir_program
from recorder_certificates import Authority
from run_security_test import Secured, ask, context_of, listening
from station_test import Station
from weir_process import wait_until
from weir_program import ProgramTest, run

PARTITION = """
[partition]
name = "secured-data"
[network]
{network}
[security]
tls_certificate = "{certificate}"
tls_key = "{key}"
tls_ca = "{ca}"
[readout.ros-1]
source = "generator"
robs = 2
first_source = "0x420000"
rob_size = "1kB"
[supervise.l2sv]
events = 0
rate = 2000
[select.l2pu-1]
selection = "all"
workers_are = "threads"
[assign.dfm]
[build.sfi-1]
[filter.ef-1]
selection = "all"
workers_are = "threads"
[record.rec-1]
{recorder}
"""
OF_LOOPS = {"ros-1", "l2sv", "l2pu-1", "dfm", "sfi-1"}  # they speak the dataflow protocol
OF_EVENTS = {"ef-1", "rec-1"}                           # they take whole events


def without_security(text):
    return text.split("[security]")[0] + "[readout.ros-1]" + text.split("[readout.ros-1]")[1]


def old_tls(context):
    """TLS 1.2: the handshake has an end for the client only when the server has taken its certificate."""
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    return context


def handshake(port, context):
    """Nothing, or why there was none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain, context.wrap_socket(plain):
            return None
    except (ssl.SSLError, ConnectionError) as error:
        return error


def answer_in_plain(port):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        plain.sendall(b"WEIR" + bytes(200))
        try:
            return plain.recv(4096)
        except ConnectionError:
            return b""


class SecuredStation(Station):
    """A station that is driven by hand, over TLS."""

    def __init__(self, folder, context, *arguments):
        self.context = context
        super().__init__(folder, *arguments)

    def get(self, path):
        return json.loads(ask(self.address, self.context, path)[1])

    def post(self, path, document, **_):
        status, text = ask(self.address, self.context, path, json.dumps(document))
        return status, json.loads(text)


class SecuredDataTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.ours, self.theirs = Authority(self.folder, "ours"), Authority(self.folder, "theirs")
        self.files = self.ours.files("partition")
        self.own = context_of(self.ours.certificate, self.files)

    def partition_file(self, network='link = "tcp"', recorder=""):
        file = self.folder / "p.toml"
        certificate, key = self.files
        file.write_text(PARTITION.format(network=network, recorder=recorder, certificate=certificate, key=key, ca=self.ours.certificate))
        return file

    def assertRunEndsWell(self, file, events):
        directory = self.folder / f"D-{events}"
        ended = self.assertEnds(run("run", file, "--events", events, "--dir", directory, "--json", timeout=300), 0).json
        self.assertEqual(ended["problems"], [])
        self.assertEqual(ended["events"]["built"], events)
        self.assertEnds(run("verify", directory), 0)

    def test_runs_under_tls_end_well_over_tcp_and_over_datagrams(self):
        for events, link in ((500, "tcp"), (501, "udp")):
            with self.subTest(link):
                self.assertRunEndsWell(self.partition_file(f'link = "{link}"'), events)

    def test_stations_listen_at_the_address_in_the_network_of_the_data(self):
        file = self.partition_file('data = "127.0.0.0/8"')
        self.assertRunEndsWell(file, 502)
        file.write_text(without_security(file.read_text()))
        self.assertRunEndsWell(file, 503)

    def test_a_station_listens_at_the_address_that_it_is_given(self):
        file = self.partition_file('data = "127.0.0.0/8"')
        for kind, name, key in (("readout", "ros-1", "dataflow"), ("filter", "ef-1", "events"), ("record", "rec-1", "events")):
            with self.subTest(kind):
                more = ["--dir", self.folder / "R", "--create"] if kind == "record" else []
                with SecuredStation(self.folder, self.own, kind, file, "--name", name, "--address", "127.0.0.2", *more) as station:
                    station.go("configure")
                    self.assertTrue(station.get("/status")["self"][key].startswith("127.0.0.2:"), station.get("/status")["self"])
                    self.assertTrue(station.address.startswith("127.0.0.1:"), "control stays where it is")
        for address, words in (("10.0.0.1", "is not in [network] data, 127.0.0.0/8"), ("localhost", "is not an address of one machine"),
                               ("0.0.0.0", "is not an address of one machine")):
            self.assertOneLine(run("readout", file, "--address", address), 2, words)
        file.write_text(without_security(self.partition_file().read_text()))
        self.assertOneLine(run("readout", file, "--address", "192.0.2.7"), 2, "is reached by other machines", "[security]")

    def test_data_beyond_this_machine_need_certificates_or_the_word_plain(self):
        file = self.partition_file('data = "10.77.0.0/16"')
        self.assertEnds(run("config", "check", file), 0)
        file.write_text(without_security(file.read_text()))
        self.assertOneLine(run("config", "check", file), 2, "data in [network]: 10.77.0.0/16", "is reached by other machines", "plain = true")
        file.write_text(file.read_text().replace("[network]\n", "[network]\nplain = true\n"))
        self.assertEnds(run("config", "check", file), 0)
        file.write_text(without_security(self.partition_file('data = "127.0.0.0/8"', 'listen = "0.0.0.0:0"').read_text()))
        self.assertOneLine(run("config", "check", file), 2, "[record.rec-1]", "0.0.0.0:0", "is reached by other machines")
        file.write_text(self.partition_file('data = "255.255.255.255/32"').read_text())
        self.assertOneLine(run("readout", file), 1, "no address in the network 255.255.255.255/32", "127.0.0.1")

    def test_files_of_the_command_line_stand_for_those_of_the_partition(self):
        file = self.partition_file()
        file.write_text(without_security(file.read_text()))
        for kind, name in (("readout", "ros-1"), ("record", "rec-1")):
            with self.subTest(kind):
                more = ["--dir", self.folder / "R", "--create"] if kind == "record" else []
                options = self.ours.options("host-1", unit="weir-station")
                with SecuredStation(self.folder, context_of(self.ours.certificate, self.ours.files("host-1", renew=True)), kind, file, "--name", name,
                                    *options, *more) as station:
                    self.assertEqual(station.go("configure"), "configured")
                    self.assertRegex(answer_in_plain(int(station.address.rpartition(":")[2])), rb"^(\x15.*)?$")
        self.assertOneLine(run("readout", file, "--tls-key", self.files[1]), 2, "--tls-certificate, --tls-key and --tls-ca are given together")

    def test_no_port_of_a_station_takes_a_byte_from_who_is_no_part_of_the_partition(self):
        strangers = {
            "without a certificate": context_of(self.ours.certificate),
            "of another authority": context_of(self.ours.certificate, self.theirs.files("eve", unit="weir-station")),
            "expired": context_of(self.ours.certificate, self.ours.files("late", days=-1, unit="weir-station")),
            "without a role": context_of(self.ours.certificate, self.ours.files("nobody", unit="accounting")),
            "a reader": context_of(self.ours.certificate, self.ours.files("bob", unit="weir-reader")),
        }
        parts = {"with the partition's key": self.own,
                 "of another machine": context_of(self.ours.certificate, self.ours.files("host-2", unit="weir-station"))}
        for context in (*strangers.values(), *parts.values()):
            old_tls(context)
        for link, of_kinds in (("tcp", OF_LOOPS | OF_EVENTS), ("udp", OF_EVENTS)):
            with self.subTest(link), Secured(self.folder, self.partition_file(f'link = "{link}"'), self.own) as partition:
                partition.until_built(100)
                asked = {}
                for station in partition.get()["stations"]:
                    control = int(station["control"].rpartition(":")[2])
                    for address, port in listening(station["pid"]):
                        if port != control:
                            asked[port] = station["name"]
                self.assertEqual(set(asked.values()), of_kinds, "who listens at TCP")
                self.assertEqual(len(asked), len(of_kinds))
                for port, name in asked.items():
                    for who, context in strangers.items():
                        with self.subTest(name, who=who):
                            self.assertIsNotNone(handshake(port, context))
                    with self.subTest(name, who="plain"):
                        self.assertRegex(answer_in_plain(port), rb"^(\x15.*)?$", "nothing but an alert of TLS")
                    for who, context in parts.items():
                        with self.subTest(name, who=who):
                            self.assertIsNone(handshake(port, context))
                for name in set(asked.values()):
                    log = partition.directory / "log" / f"{name}.log"
                    for words in ("shows no certificate", "unable to get local issuer certificate", "certificate has expired",
                                  "nor the organizational unit weir-station", "does not speak TLS"):
                        wait_until(lambda: words in log.read_text(), f"{name} reports: {words}", poll=0.05)
                stopped = self.assertEnds(run("run", "stop", "--dir", partition.directory, "--json"), 0).json
                self.assertEqual(stopped["problems"], [])

    def test_a_recorder_with_files_of_its_own_takes_senders_of_that_authority_too(self):
        certificate, key = self.theirs.files("recorder")
        file = self.partition_file(recorder=f'tls_certificate = "{certificate}"\ntls_key = "{key}"\ntls_ca = "{self.theirs.certificate}"')
        self.assertRunEndsWell(file, 504)
        with SecuredStation(self.folder, self.own, "record", file, "--name", "rec-1", "--dir", self.folder / "R", "--create") as station:
            station.go("configure")
            station.go("connect", peers=[])
            at = station.get("/status")["self"]["events"]
            station.go("start", run=7)
            send = lambda *options: run("send", "--to", at, "--run", 7, "--events", 20, "--json", *options)
            sent = self.assertEnds(send(*self.theirs.options("sender")), 0).json
            self.assertEqual(sent["events"]["acknowledged"], 20)
            for options in (self.theirs.options("stranger", days=-1), self.ours.options("sender", ca=self.theirs), []):
                self.assertEnds(send("--give-up-after", "1s", *options), 1)
            station.go("stop")


if __name__ == "__main__":
    weir_program.main()
