# SPDX-License-Identifier: Apache-2.0
"""A run in which stations are killed, machines lose their power and cables are out, one after the other, and every event that was
accepted is in the files once. Times are printed, and not judged: a machine may be busy. `./run losses KILLS POWER_OFFS CABLES` does it often."""
import json
import os
import random
import signal
import statistics
import sys
import time

import hosts as beds
from run_hosts_test import Machines
from run_security_test import context_of
from weir_process import wait_until
from weir_program import ProgramTest

KILLS, POWER_OFFS, CABLES = (int(os.environ.get(f"WEIR_{name}", default)) for name, default in (("KILLS", 2), ("POWER_OFFS", 1), ("CABLES", 0)))
CABLE_OUT = 20.0  # seconds
PARTITION = """
[partition]
name = "losses"
[network]
data = "10.77.0.0/16"
link = "tcp"
[run]
restarts_max = 1000
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
rate = 500
[assign.dfm]
host = "h1"
[select.l2pu-1]
selection = "all"
workers_are = "threads"
host = "h2"
[build.sfi-1]
host = "h2"
[build.sfi-2]
host = "h3"
[filter.ef-1]
selection = "all"
workers_are = "threads"
host = "h4"
[record.rec-1]
host = "h1"
"""
MOVABLE = ("l2pu-1", "sfi-1", "sfi-2", "ef-1")


class LosingMachines(Machines):
    def __init__(self, test):
        super().__init__(test, names=("h1", "h2", "h3", "h4"))
        certificate, key = self.files["ctl"]
        lines = "".join(f'[hosts.{name}]\naddress = "{self.bed[name].address}:7400"\n' for name in self.names)
        self.file.write_text(PARTITION.format(certificate=certificate, key=key, ca=self.authority.certificate, hosts=lines))
        self.context = context_of(self.authority.certificate, self.files["ctl"])
        self.context.check_hostname = False

    def status(self):
        """Over run control's port: quicker than a command."""
        try:
            place = json.loads((self.directory / "run-control.json").read_text())["control"]
            return json.loads(self.bed.control.ask(place, "/partition", context=self.context)[1])
        except FileNotFoundError:
            return None

    def runs(self, name, but=None, but_host=None):
        """It runs, but not as the process `but`, or on that machine. The same number is another process on another machine."""
        station = self.station(name)
        return station and station["state"] == "running" and (station["host"], station["pid"]) != but and station["host"] != but_host

    def until(self, condition, what):
        """Seconds until it is so."""
        begin = time.monotonic()
        wait_until(condition, f"{what}; {self.errors()[-3000:]}", poll=0.02)
        return time.monotonic() - begin


class LossesTest(ProgramTest):
    def test_every_accepted_event_is_in_the_files_once_whatever_is_lost(self):
        chance = random.Random(int(os.environ.get("WEIR_SEED", 1)))
        kills, power, cables = [], [], []
        with LosingMachines(self) as machines:
            machines.start_run()
            machines.until_built(200)
            faults = ["kill"] * KILLS + ["power"] * POWER_OFFS + ["cable"] * CABLES
            chance.shuffle(faults)
            for number, fault in enumerate(faults, 1):
                if fault == "kill":
                    kills.append(self.kill(machines, chance.choice((*MOVABLE, "ros-1", "rec-1"))))
                else:
                    host = chance.choice(sorted({s["host"] for s in machines.status()["stations"]} - {"h1", ""}))
                    (power if fault == "power" else cables).append(
                        self.power_off(machines, host) if fault == "power" else self.unplug(machines, host))
                machines.until_built(100)
                if len(faults) > 10 and (number % 10 == 0 or number == len(faults)):
                    print(f"{number} of {len(faults)} faults", file=sys.stderr)
            code, result = machines.stop()
            for name, times, asked in (("kill", kills, 2), ("power-off", power, 10), ("cable: superseded ended", cables, 2)):
                if times:
                    print(f"{name}: {len(times)}, median {statistics.median(times):.2f} s, {min(times):.2f} to {max(times):.2f} s; "
                          f"{sum(seconds > asked for seconds in times)} above {asked} s", file=sys.stderr)
            self.assertEqual(result["account"]["lost"], [], machines.errors()[-3000:])
            self.assertEqual(result["account"]["twice"]["events"], 0)
            ids = sorted(machines.recorded_ids())
            self.assertEqual(len(ids), len(set(ids)), "events are in files twice")
            self.assertEqual(len(ids), result["events"]["recorded"])
            self.assertEqual(ids[-1] - ids[0] + 1, len(ids), "the ids of accepted events have no hole: all were accepted")
            print(f"{len(ids)} events, each once", file=sys.stderr)
            if not any("lost" in problem or "twice" in problem for problem in result["problems"]):
                return
            self.fail(result["problems"])

    def kill(self, machines, name):
        station = machines.station(name)
        pid = machines.pid_of(station["host"], name)
        os.kill(pid, signal.SIGKILL)
        return machines.until(lambda: machines.runs(name, but=(station["host"], station["pid"])), f"{name} is back after its kill")

    def power_off(self, machines, host):
        there = [s["name"] for s in machines.status()["stations"] if s["host"] == host]
        machines.bed[host].power_off()
        seconds = machines.until(lambda: all(machines.runs(name, but_host=host) for name in there), f"{there} run elsewhere than on {host}")
        machines.bed[host].power_on()
        machines.start_agent(host)
        machines.until(lambda: self.is_up(machines, host), f"{host} is up again")
        return seconds

    def unplug(self, machines, host):
        there = [s["name"] for s in machines.status()["stations"] if s["host"] == host]
        machines.bed[host].unplug()
        begin = time.monotonic()
        machines.until(lambda: all(machines.runs(name, but_host=host) for name in there), f"{there} run elsewhere than on {host}")
        time.sleep(max(0, begin + CABLE_OUT - time.monotonic()))
        machines.bed[host].plug()
        seconds = machines.until(lambda: all(machines.pid_of(host, name) is None for name in there), f"{there} end on {host}")
        machines.until(lambda: self.is_up(machines, host), f"{host} is up again")
        return seconds

    @staticmethod
    def is_up(machines, host):
        return next(h for h in machines.status()["hosts"] if h["name"] == host)["state"] == "up"


if __name__ == "__main__":
    beds.main_with_hosts("losses on several machines")
