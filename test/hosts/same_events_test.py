# SPDX-License-Identifier: Apache-2.0
"""Recorded events of BES III on five machines, whose agents run already, are started by ssh, or by Slurm: the same events in files, bit for
bit, as on one machine. `./run engines EVENTS` takes many. Files are compared by a reader that shares nothing with the program. Times are
printed, and not judged: a machine may be busy."""
import hashlib
import json
import os
import shutil
import signal
import struct
import sys
import time

import hosts as beds
import weir_program
from brought_machines import BroughtMachines, absent
from recorder_files import RawFile, listed
from weir_process import wait_until
from weir_program import BES3, ProgramTest, run

EVENTS = int(os.environ.get("WEIR_EVENTS", 300))
LONG = 3600.0  # seconds: many events, on a machine that may be busy
NAMES = ("h1", "h2", "h3", "h4", "h5")
SHARED = """
[partition]
name = "same"
key = 91668
[data]
format = "event-3.0"
level1_offset = ["0xa80010:1"]
level1_exempt = ["0x7c0000"]
[network]
link = "tcp"
{network}
{security}
{hosts}
"""
REPLAYS = ("h1", "h2")  # the machines of stations with a raw file
STATIONS = [("readout.ros-1", "h1", 'source = "file"\npart = "1/2"'), ("readout.ros-2", "h2", 'source = "file"\npart = "2/2"'),
            ("supervise.l2sv", "h1", 'source = "file"\nrate = 0\nregions = 3'), ("select.l2pu-1", "h2", 'selection = "all"\nworkers_are = "threads"'),
            ("assign.dfm", "h1", ""), ("build.sfi-1", "h3", ""), ("build.sfi-2", "h4", ""),
            ("filter.ef-1", "h5", 'selection = "all"\nworkers_are = "threads"\nstreams = ["physics_Replay"]'), ("record.rec-1", "h5", 'project = "data_replay"')]
SECURITY = '[security]\ntls_certificate = "{certificate}"\ntls_key = "{key}"\ntls_ca = "{ca}"'


def stations(on_hosts):
    return "".join(f"[{section}]\n" + (f'host = "{host}"\n' if on_hosts else "") + f"{keys}\n" for section, host, keys in STATIONS)


def events_of(directory):
    """The digest of each event by its global id, out of the files; each file is verified before."""
    ended = run("verify", directory, timeout=LONG)
    assert ended.code == 0, ended
    found = {}
    for file in listed(directory):
        for _, event in RawFile(file["path"]).events():
            number = global_id(event)
            assert number not in found, f"event {number} is there twice"
            found[number] = hashlib.sha256(event).digest()
    return found


def global_id(event):
    """Format 3.0: the second of the specific words, behind the status words."""
    return struct.unpack_from("<I", event, 4 * (7 + struct.unpack_from("<I", event, 20)[0]) + 4)[0]


class SameMachines(BroughtMachines):
    def __init__(self, test, engine):
        super().__init__(test, engine, names=NAMES, recorder="h5")
        certificate, key = self.files["ctl"]
        hosts = "".join(f'[hosts.{name}]\naddress = "{self.bed[name].address}:7400"\n' for name in NAMES)
        self.file.write_text(SHARED.format(network='data = "10.77.0.0/16"', hosts=hosts, security=SECURITY.format(
            certificate=certificate, key=key, ca=self.authority.certificate)) + stations(True))


class SameEvents(ProgramTest):
    @classmethod
    def setUpClass(cls):
        test = ProgramTest("run")
        test.setUp()
        cls.addClassCleanup(test.doCleanups)
        file, directory = test.folder / "p.toml", test.folder / "D"
        file.write_text(SHARED.format(network="", hosts="", security="") + stations(False))
        ended = run("run", file, "--source", BES3, "--events", EVENTS, "--dir", directory, "--json", timeout=LONG)
        assert ended.code == 0, ended
        cls.expected = events_of(directory)
        assert sorted(cls.expected) == list(range(1, EVENTS + 1))

    def same_with(self, engine):
        with SameMachines(self, engine) as machines:
            for name in REPLAYS:  # on the disks of these machines alone, and not where run control is
                host = machines.bed[name]
                shutil.copyfile(BES3, host.directory / "events.raw")
                self.assertEnds(host.run(["ln", "-s", host.directory, "/run/disk"]), 0)
            machines.start_run("--wait", "--source", "/run/disk/events.raw", "--events", EVENTS)
            began = time.monotonic()
            there = wait_until(lambda: all(machines.host_states().get(name) == "up" for name in NAMES) and time.monotonic(),
                               f"all machines are there; {machines.errors()}", poll=0.01)
            connected = wait_until(lambda: machines.state() == "ready" and time.monotonic(), f"the stations are connected; {machines.errors()}", poll=0.01)
            self.assertEnds(machines.command("start"), 0)
            over = wait_until(lambda: (s := machines.status()) and s["runs"] == 1 and s["state"] == "ready" and time.monotonic(),
                              f"the run is over; {machines.errors()}", LONG, 0.2)
            machines.run.send_signal(signal.SIGINT)
            self.assertEqual(machines.run.wait(120), 0, machines.errors())
            result = json.loads((machines.folder / "run.out").read_text())
            if engine:
                machines.until_gone()
            self.assertEqual(result["problems"], [])
            self.assertEqual(result["events"], {"triggers": EVENTS, "accepted": EVENTS, "rejected": 0, "built": EVENTS, "incomplete": 0, "recorded": EVENTS})
            self.assertEqual((result["account"]["lost"], result["account"]["twice"]["events"]), ([], 0))
            for station in result["stations"]:
                ledger = station["ledger"]
                self.assertEqual(ledger["received"], ledger["stored"] + sum(ledger["rejected"].values()) + ledger["in_hand"], station)
                self.assertEqual(ledger["in_hand"], 0, station)
            found = events_of(machines.bed["h5"].directory / "weir" / "rec-1")
            self.assertEqual(found.keys(), self.expected.keys())
            self.assertEqual([number for number in found if found[number] != self.expected[number]], [], "their bytes are those of one machine")
            print(f"{engine or 'agents that run already'}: {len(found)} events, the same as on one machine; machines there {there - began:.2f} s after weir run "
                  f"began, stations connected {connected - there:.2f} s later; the run took {over - connected:.1f} s", file=sys.stderr)

    def test_with_agents_that_run_already(self):
        self.same_with("")

    def test_with_agents_that_ssh_starts(self):
        self.same_with("ssh")

    def test_with_agents_in_jobs_of_slurm(self):
        self.same_with("slurm")


if __name__ == "__main__":
    if absent():
        print(f"NOT TESTED: the same events with engines: {absent()}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    if not BES3.exists():
        weir_program.main(needs_recorded_events=True)
    beds.main_with_hosts("the same events with engines")
