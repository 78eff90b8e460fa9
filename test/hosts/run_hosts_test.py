# SPDX-License-Identifier: Apache-2.0
"""A partition on several machines: agents under mutual TLS, each with a certificate of its own; stations are killed, machines lose
power and cables, and a machine that comes back."""
import json
import pathlib
import signal
import ssl
import sys
import time

import hosts as beds
import weir_program
from recorder_certificates import Authority
from recorder_files import RawFile, assert_verified_after_a_loss_of_power, listed
from run_secured_data_test import old_tls
from run_security_test import context_of, listening
from weir_process import wait_until
from weir_program import ProgramTest

PORT = 7400
EVENT_ID = 40  # offset of the global id in an event of format 5.0


PARTITION = """
[partition]
name = "spread"
[network]
data = "10.77.0.0/16"
link = "tcp"
[security]
tls_certificate = "{certificate}"
tls_key = "{key}"
tls_ca = "{ca}"
{hosts}
[readout.ros-1]
host = "h1"
source = "generator"
robs = 2
first_source = "0x420000"
rob_size = "1kB"
[supervise.l2sv]
host = "h1"
events = 0
rate = {rate}
[assign.dfm]
host = "h1"
[build.sfi-1]
host = "h2"
[build.sfi-2]
host = "h3"
[record.rec-1]
host = "{recorder}"
"""


class Machines:
    """Three machines with agents, and run control on `ctl`."""

    def __init__(self, test, rate=2000, names=("h1", "h2", "h3"), recorder="h1"):
        self.test, self.names, self.recorder = test, names, recorder
        self.folder = test.folder
        self.bed = beds.Hosts(test.folder / "bed", list(names))
        self.authority = Authority(self.bed.shared, "ours")
        # They end soon, so that a recorder has something to say in its log.
        self.files = {name: self.authority.files(name, unit="weir-station", at=[self.bed[name].address], age=10) for name in names}
        self.files["ctl"] = self.authority.files("partition", unit="weir-operator")
        self.agents, self.run, self.files_open = {}, None, []
        lines = "".join(f'[hosts.{name}]\naddress = "{self.bed[name].address}:{PORT}"\n' for name in names)
        certificate, key = self.files["ctl"]
        self.file = self.bed.shared / "p.toml"
        self.file.write_text(PARTITION.format(certificate=certificate, key=key, ca=self.authority.certificate, hosts=lines, rate=rate, recorder=recorder))

    def __enter__(self):
        for name in self.names:
            self.start_agent(name)
        return self

    def __exit__(self, *_):
        self.bed.close()
        for file in self.files_open:
            file.close()

    def tls(self, name):
        certificate, key = self.files[name]
        return ["--tls-certificate", certificate, "--tls-key", key, "--tls-ca", self.authority.certificate]

    def start_agent(self, name):
        host = self.bed[name]
        self.agents[name] = host.start([weir_program.PROGRAM, "host", "--name", name, "--listen", f"{host.address}:{PORT}", "--dir", host.directory / "weir",
                                        *self.tls(name)], **self.output_to(name))

    def output_to(self, name):
        """Files of the test for what a process prints; closed with the machines."""
        files = {"stdout": open(self.folder / f"{name}.out", "w"), "stderr": open(self.folder / f"{name}.err", "a")}
        self.files_open += files.values()
        return files

    def start_run(self, *more):
        self.directory = self.bed.control.directory / "run"
        self.run = self.start_control("run", self.file, *more)
        return self.run

    def start_control(self, name, *arguments):
        """A run control on `ctl`; `name`: of the files for what it prints."""
        return self.bed.control.start([weir_program.PROGRAM, "run", *arguments, "--dir", self.directory, "--json"], **self.output_to(name))

    def command(self, *arguments):
        return self.bed.control.run([weir_program.PROGRAM, "run", *arguments, "--dir", self.directory])

    def status(self):
        """What run control says, or nothing while it cannot be asked."""
        ended = self.command("status", "--json")
        return json.loads(ended.out) if ended.code == 0 else None

    def station(self, name):
        status = self.status()
        return next((s for s in status["stations"] if s["name"] == name), None) if status else None

    def pid_of(self, host, station):
        """Of a station's process on a machine, as the test sees it."""
        for pid in self.bed[host].processes():
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"--name" in words and words[words.index(b"--name") + 1] == station.encode() and b"host" not in words[:2]:
                return pid
        return None

    def built(self):
        status = self.status()
        return status["events"]["built"] if status else 0

    def until_built(self, more):
        begin = self.built()
        wait_until(lambda: self.built() >= begin + more, lambda: f"{more} more events; {self.errors()}", poll=0.2)

    def stop(self, name="run"):
        """The result of the run, from its process; `name` as it was started."""
        self.test.assertEnds(self.command("stop", "--wait", "120s"), 0) if self.status() else None
        code = self.run.wait(120)
        return code, json.loads((self.folder / f"{name}.out").read_text())

    def errors(self):
        """What all run controls have said."""
        return "".join(path.read_text() for name in ("run", "next") if (path := self.folder / f"{name}.err").exists())

    def open_ports(self):
        """"address:port" of each TCP port that any process of any machine, `ctl` too, has open for other machines."""
        ports = set()
        for host in self.bed.all():
            for pid in host.processes():
                for address, port in listening(pid):
                    if not address.endswith("7F"):  # 127.*, as the kernel writes it
                        ports.add(f"{host.address}:{port}")
        return ports

    def enters(self, address, context):
        """It gets in there with these certificates, from `ctl`."""
        try:
            with self.bed.control.connect(address) as plain, context.wrap_socket(plain):
                return True
        except (ssl.SSLError, ConnectionError):
            return False

    def answer_in_plain(self, address):
        with self.bed.control.connect(address) as plain:
            plain.sendall(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n" + bytes(200))
            try:
                return plain.recv(4096)
            except ConnectionError:
                return b""

    def recorded_ids(self, lost_power=False):
        """The global id of each event in the recorder's files, each file verified."""
        directory = self.bed[self.recorder].directory / "weir" / "rec-1"
        verified = weir_program.run("verify", directory, timeout=300)
        if lost_power:
            assert_verified_after_a_loss_of_power(self.test, verified, directory)
        else:
            self.test.assertEnds(verified, 0)
        ids = []
        for file in listed(directory):
            for _, event in RawFile(file["path"]).events():
                ids.append(int.from_bytes(event[EVENT_ID:EVENT_ID + 8], "little"))
        return ids


class RunHostsTest(ProgramTest):
    def test_stations_of_three_machines_take_data(self):
        with Machines(self) as machines:
            machines.start_run()
            machines.until_built(2000)
            by_host = {s["name"]: s["host"] for s in machines.status()["stations"]}
            self.assertEqual(by_host, {"ros-1": "h1", "l2sv": "h1", "dfm": "h1", "sfi-1": "h2", "sfi-2": "h3", "rec-1": "h1"})
            shown = self.assertEnds(machines.command("hosts"), 0).out
            self.assertEqual([line.split()[:3] for line in shown.splitlines()[1:]], [["h1", "up", "4"], ["h2", "up", "1"], ["h3", "up", "1"]], shown)
            self.assertIn("rec-1", self.assertEnds(machines.command("log"), 0).out)
            code, result = machines.stop()
            self.assertEqual((code, result["problems"]), (0, []), machines.errors())
            ids = machines.recorded_ids()
            self.assertEqual((len(ids), len(set(ids))), (result["events"]["recorded"],) * 2)

    def test_a_file_that_is_missing_on_a_machine_is_named_with_the_machine(self):
        with Machines(self) as machines:
            text = machines.file.read_text()
            begin, end = text.index('source = "generator"'), text.index("[supervise.l2sv]")
            machines.file.write_text(text[:begin] + 'source = "file"\nfile = "/data/none.raw"\n' + text[end:])
            self.assertEqual(machines.start_run().wait(120), 1)
            self.assertRegex(machines.errors(), r'readout station ros-1 on h1 ended with code 2: .*\[readout.ros-1\]: file = "/data/none.raw" is not there')

    def test_a_plug_in_is_needed_on_the_machine_of_its_station_alone(self):
        with Machines(self) as machines:
            plug_in = machines.bed["h2"].directory / "selection.py"  # run control sees no disk of h2
            machines.file.write_text(machines.file.read_text() + f'[filter.ef-1]\nhost = "h2"\nselection = "{plug_in}"\n')
            with self.subTest("where it is missing it is named with the machine"):
                self.assertEqual(machines.start_run().wait(120), 1)
                self.assertRegex(machines.errors(), rf"filter station ef-1 on h2 ended with code 2: .*\[filter.ef-1\]: the selection {plug_in} is not there")
            plug_in.write_text("def select(event):\n    return event.level1_id % 2 == 0\n")
            machines.start_run()
            machines.until_built(200)
            code, result = machines.stop()
            self.assertEqual((code, result["problems"]), (0, []), machines.errors())
            self.assertGreater(result["events"]["recorded"], 0)
            self.assertLess(result["events"]["recorded"], result["events"]["built"])

    def test_no_port_that_other_machines_reach_answers_without_a_certificate_of_the_authority(self):
        with Machines(self) as machines:
            machines.start_run()
            machines.until_built(200)
            ports = machines.open_ports()
            for name in machines.names:
                self.assertIn(f"{machines.bed[name].address}:{PORT}", ports)
            self.assertGreaterEqual(len(ports), 4, "three agents, and the recorder")
            theirs = Authority(machines.bed.shared, "theirs")
            nobody = context_of(machines.authority.certificate)
            foreign = context_of(machines.authority.certificate, theirs.files("eve", unit="weir-station"))
            expired = context_of(machines.authority.certificate, machines.authority.files("late", days=-1, unit="weir-station"))
            for port in sorted(ports):
                with self.subTest(port):
                    self.assertNotIn(b"HTTP/1.1 2", machines.answer_in_plain(port))
                    for context in (nobody, foreign, expired):
                        self.assertFalse(machines.enters(port, old_tls(context)))
            control = machines.bed.control
            agent = f"{machines.bed['h1'].address}:{PORT}"
            reader = old_tls(context_of(machines.authority.certificate, machines.authority.files("bob", unit="weir-reader")))
            self.assertEqual(control.ask(agent, "/host", context=reader)[0], 200)
            status, text = control.ask(agent, "/poll", "{}", context=reader)
            self.assertEqual((status, "bob" in text and "reader" in text), (403, True), text)
            other = old_tls(context_of(machines.authority.certificate, machines.files["h2"]))
            self.assertEqual(control.ask(agent, "/poll", "{}", context=other)[0], 403, "a machine does not command another")
            self.assertEqual(machines.stop()[0], 0, machines.errors())

    def test_a_builder_goes_on_elsewhere_when_its_machine_loses_power_and_no_event_is_lost_or_twice(self):
        with Machines(self) as machines:
            machines.start_run()
            machines.until_built(2000)
            machines.bed["h3"].power_off()
            begin = time.monotonic()
            wait_until(lambda: (s := machines.station("sfi-2")) and s["host"] != "h3" and s["state"] == "running",
                       f"sfi-2 runs elsewhere; {machines.errors()}", poll=0.1)
            print(f"sfi-2 ran elsewhere {time.monotonic() - begin:.1f} s after the power-off", file=sys.stderr)
            machines.until_built(2000)
            code, result = machines.stop()
            self.assertEqual(code, 0, machines.errors())
            ids = machines.recorded_ids()
            self.assertEqual((len(ids), len(set(ids))), (result["events"]["recorded"],) * 2)
            self.assertEqual((result["account"]["lost"], result["account"]["twice"]["events"]), ([], 0))

    def test_a_machine_that_comes_back_ends_what_was_started_elsewhere(self):
        with Machines(self) as machines:
            machines.start_run()
            machines.until_built(2000)
            h3 = machines.bed["h3"]
            before = machines.station("sfi-2")["pid"]
            h3.unplug()
            wait_until(lambda: (s := machines.station("sfi-2")) and s["host"] != "h3" and s["state"] == "running",
                       f"sfi-2 runs elsewhere; {machines.errors()}", poll=0.1)
            running = lambda: str(before) in h3.run(["pgrep", "-f", "name sfi-2"]).out.split()
            self.assertTrue(running(), "it knows nothing of what happened")
            h3.plug()
            begin = time.monotonic()
            wait_until(lambda: not running(), f"the superseded sfi-2 ends; {machines.errors()}", poll=0.05)
            print(f"the superseded station ended {time.monotonic() - begin:.1f} s after the cable was in", file=sys.stderr)
            machines.until_built(2000)
            code, result = machines.stop()
            self.assertEqual(code, 0, machines.errors())
            ids = machines.recorded_ids()
            self.assertEqual((len(ids), len(set(ids))), (result["events"]["recorded"],) * 2)

    def test_a_recorder_waits_for_its_machine_and_goes_on_with_the_run(self):
        with Machines(self, names=("h1", "h2", "h3", "h4"), recorder="h4") as machines:
            machines.start_run()
            machines.until_built(2000)
            machines.bed["h4"].power_off()
            wait_until(lambda: "h4 is lost" in machines.errors(), f"h4 is lost; {machines.errors()}")
            machines.bed["h4"].power_on()
            machines.start_agent("h4")
            wait_until(lambda: (s := machines.station("rec-1")) and s["state"] == "running", f"rec-1 runs again; {machines.errors()}")
            machines.until_built(2000)
            code, result = machines.stop()
            self.assertEqual((code, result["problems"]), (0, []), machines.errors())
            ids = machines.recorded_ids(lost_power=True)
            self.assertEqual((len(ids), len(set(ids))), (result["events"]["recorded"],) * 2)

    def test_a_run_whose_supervisor_is_lost_with_its_machine_ends_by_that_name(self):
        with Machines(self, names=("h1", "h2", "h3", "h4")) as machines:
            file = machines.file
            file.write_text(file.read_text().replace('[supervise.l2sv]\nhost = "h1"', '[supervise.l2sv]\nhost = "h4"'))
            machines.start_run()
            machines.until_built(2000)
            machines.bed["h4"].power_off()
            code = machines.run.wait(120)
            result = json.loads((machines.folder / "run.out").read_text())
            self.assertEqual(code, 1, machines.errors())
            self.assertTrue(any("supervise station l2sv is lost with h4" in problem for problem in result["problems"]), result["problems"])

    def test_a_second_run_control_is_refused_and_one_that_takes_over_ends_the_first(self):
        with Machines(self) as machines:
            machines.start_run()
            machines.until_built(200)
            other = [weir_program.PROGRAM, "run", machines.file, "--dir", machines.bed.control.directory / "other", "--duration", "1s"]
            ended = machines.bed.control.run(other)
            self.assertEqual(ended.code, 1, ended)
            self.assertIn("end it first, or take over with --take-over", ended.err)
            machines.until_built(200)  # the first goes on
            ended = machines.bed.control.run([*other, "--take-over"])
            self.assertEqual(ended.code, 0, ended)
            wait_until(lambda: "obeys another run control: superseded: spread (ctl" in machines.errors(), f"the first says so; {machines.errors()}")
            machines.run.send_signal(signal.SIGINT)
            self.assertEqual(machines.run.wait(120), 1)


if __name__ == "__main__":
    beds.main_with_hosts("partitions on several machines")
