# SPDX-License-Identifier: Apache-2.0
"""Groups of machines whose nodes Debian's Slurm chooses: a run is taken, a node loses its power and another one is handed out, run control is killed
and the next one finds the agents again, a pinned machine gets its node back."""
import os
import signal
import sys

import hosts as beds
import weir_program
from brought_machines import PROGRAM, BroughtMachines
from slurm import absent
from weir_process import wait_until
from weir_program import ProgramTest

NODES = ("h1", "h2", "h3", "h4", "h5")
PARTITION = """
[partition]
name = "grouped"
[network]
data = "10.77.0.0/16"
link = "tcp"
[run]
hosts_deadline = "{deadline}"
[security]
{security}
[engine.slurm]
program = "{program}"
dir = "/run/disk/weir"
certificates = "/run/disk/certificates"
{engine}
[hosts.disk]
count = 1
address = ":7400"
engine = "slurm"
constraint = "disk"
pinned = true
kinds = ["record", "readout", "supervise", "assign"]
[hosts.worker]
count = 2
spare = 1
address = "10.77.0.0/16:7400"
engine = "slurm"
constraint = "worker"
kinds = ["build"]
{worker}
[readout.ros-1]
source = "generator"
robs = 2
first_source = "0x420000"
rob_size = "1kB"
[supervise.l2sv]
events = 0
rate = 1000
[assign.dfm]
[build.sfi-1]
host = "worker-1"
[build.sfi-2]
host = "worker"
[record.rec-1]
"""


class GroupMachines(BroughtMachines):
    """Run control on `ctl`, and five nodes: h1 has a disk for a recorder, the others are for workers. `/run/disk` on each is its disk."""

    def __init__(self, test, joins=False, worker="", deadline="120s", disks=("h1",), quick_loss=False):
        super().__init__(test, "slurm", names=NODES, joins=joins, quick_loss=quick_loss, features={name: "disk" if name in disks else "worker" for name in NODES})
        for name in NODES:
            self.add_disk(name)
        certificate, key = self.files["ctl"]
        place = f"{self.bed.control.address}:7300"
        security = (f'own_authority = true\njoin = "{place}"' if joins else
                    f'tls_certificate = "{certificate}"\ntls_key = "{key}"\ntls_ca = "{self.authority.certificate}"')
        self.partition = PARTITION.format(program=PROGRAM, security=security, worker=worker, deadline=deadline,
                                          engine=f'join = "{place}"' if joins else "")

    def __enter__(self):
        super().__enter__()
        self.file.write_text(self.partition)
        return self

    def add_disk(self, name):
        host = self.bed[name]
        self.test.assertEnds(host.run(["ln", "-s", host.directory, "/run/disk"]), 0)

    def power_on(self, name):
        super().power_on(name)
        self.add_disk(name)

    def take_nodes(self, *names):
        """Jobs of others, each on a whole node; their numbers."""
        jobs = [self.slurm.submit("#!/bin/sh\nexec sleep infinity\n", "--exclusive", f"--nodelist={name}", "--job-name=others") for name in names]
        for job in jobs:
            self.slurm.until_state(job, "RUNNING")
        return jobs

    def nodes(self):
        """Which node each machine has, by its name; of those that are up."""
        status = self.status()
        return {host["name"]: host["node"] for host in status["hosts"] if host["state"] == "up"} if status else {}

    def until_all_up(self, *names):
        names = names or ("disk-1", "worker-1", "worker-2", "worker-3")
        wait_until(lambda: set(names) <= set(self.nodes()), f"{names} are up; {self.nodes()} {self.errors()}", poll=0.05)
        return self.nodes()

    def trouble(self, name):
        status = self.status()
        return next((host["trouble"] for host in status["hosts"] if host["name"] == name), "") if status else ""

    def until_runs_on(self, station, host):
        wait_until(lambda: (s := self.station(station)) and (s["host"], s["state"]) == (host, "running"), f"{station} runs on {host}; {self.errors()}",
                   poll=0.05)


class Groups(ProgramTest):
    def ends_well(self, machines):
        node = machines.nodes()["disk-1"]
        machines.recorder = node
        code, result = machines.stop()
        self.assertEqual(code, 0, machines.errors())
        machines.until_gone()
        ids = machines.recorded_ids()
        self.assertEqual((len(ids), len(set(ids))), (result["events"]["recorded"],) * 2)
        self.assertEqual((result["account"]["lost"], result["account"]["twice"]["events"]), ([], 0))

    def test_a_run_is_taken_on_nodes_that_slurm_chooses_and_is_shown_with_them(self):
        with GroupMachines(self) as machines:
            machines.start_run()
            machines.until_built(500)
            nodes = machines.until_all_up()
            self.assertEqual(nodes["disk-1"], "h1", "the only one with that feature")
            workers = [nodes[name] for name in ("worker-1", "worker-2", "worker-3")]
            self.assertEqual((len(set(workers)), "h1" in workers), (3, False), nodes)
            by_host = {s["name"]: s["host"] for s in machines.status()["stations"]}
            self.assertEqual(by_host, {"ros-1": "disk-1", "l2sv": "disk-1", "dfm": "disk-1", "rec-1": "disk-1", "sfi-1": "worker-1", "sfi-2": "worker-2"})
            shown = self.assertEnds(machines.command("hosts"), 0).out
            for name, node in nodes.items():
                line = next(line for line in shown.splitlines() if line.startswith(name + " "))
                self.assertEqual(line.split()[-2:], [f"{machines.bed[node].address}:7400", node], shown)
            self.ends_well(machines)

    def test_when_a_node_loses_its_power_its_stations_go_to_the_spare_machine_and_slurm_hands_out_another_node(self):
        with GroupMachines(self, quick_loss=True) as machines:
            machines.start_run()
            machines.until_built(500)
            before = machines.until_all_up()
            free, = set(NODES) - set(before.values())
            machines.bed[before["worker-1"]].power_off()
            machines.until_runs_on("sfi-1", "worker-3")
            machines.until_built(500)
            wait_until(lambda: machines.nodes().get("worker-1") == free, f"worker-1 has {free}; {machines.errors()}", poll=0.05)
            self.assertEqual({name: node for name, node in machines.nodes().items() if name != "worker-1"},
                             {name: node for name, node in before.items() if name != "worker-1"})
            machines.power_on(before["worker-1"])
            pid = next(pid for pid, words in machines.words(before["worker-3"]).items() if words[1] == "build")
            os.kill(pid, signal.SIGKILL)
            machines.until_runs_on("sfi-1", "worker-1")
            machines.until_built(500)
            self.ends_well(machines)

    def test_a_run_control_that_takes_over_finds_the_nodes_again(self):
        with GroupMachines(self) as machines:
            machines.start_run()
            machines.until_built(500)
            nodes = machines.until_all_up()
            jobs = sorted(machines.jobs())
            before = {name: set(machines.words(name)) for name in NODES}
            machines.run.kill()
            machines.run.wait(120)
            machines.start_run("--take-over")
            machines.until_state("running")
            machines.until_built(500)
            self.assertEqual(machines.until_all_up(), nodes)
            self.assertEqual({name: set(machines.words(name)) for name in NODES}, before, "no station and no agent is another one")
            self.assertEqual(sorted(machines.jobs()), jobs)
            self.ends_well(machines)

    def test_a_node_on_which_no_agent_comes_to_be_is_left_out(self):
        with GroupMachines(self) as machines:
            disk = "/run/disk"
            self.assertEnds(machines.bed["h2"].run(["sh", "-c", f"rm {disk} && touch {disk}"]), 0)
            machines.start_run()
            machines.until_built(500)
            self.assertNotIn("h2", machines.until_all_up().values())
            self.assertIn("and h2 is left out for 10min", machines.errors() + self.assertEnds(machines.command("log"), 0).out)
            self.ends_well(machines)

    def test_an_agent_that_comes_back_from_behind_its_cable_ends_when_its_machine_has_another_node(self):
        with GroupMachines(self, quick_loss=True) as machines:
            machines.start_run()
            machines.until_built(500)
            before = machines.until_all_up()
            node = before["worker-2"]
            machines.bed[node].unplug()
            wait_until(lambda: machines.nodes().get("worker-2", node) != node, f"worker-2 has another node; {machines.errors()}", poll=0.05)
            machines.bed[node].plug()
            wait_until(lambda: not machines.words(node), f"nothing of weir is left on {node}; {machines.errors()}", poll=0.05)
            machines.until_built(500)
            self.ends_well(machines)

    def test_a_pinned_machine_gets_its_node_back_though_others_are_free(self):
        with GroupMachines(self, quick_loss=True, disks=("h1", "h2")) as machines:
            others = machines.take_nodes("h1")
            machines.start_run()
            machines.until_built(500)
            nodes = machines.until_all_up()
            self.assertEqual(nodes["disk-1"], "h2")
            machines.slurm.command("scancel", *others)
            machines.bed["h2"].power_off()
            wait_until(lambda: machines.host_states().get("disk-1") == "lost", f"disk-1 is lost; {machines.errors()}", poll=0.05)
            machines.power_on("h2")
            self.assertEqual(machines.until_all_up("disk-1")["disk-1"], "h2")
            machines.run.send_signal(signal.SIGINT)
            machines.run.wait(120)
            machines.until_gone()
            machines.start_run()
            machines.until_built(500)
            self.assertEqual(machines.until_all_up()["disk-1"], "h2", "also in the next run control")
            code, result = machines.stop()
            self.assertEqual((code, result["problems"]), (0, []), machines.errors())
            machines.until_gone()

    def test_no_station_of_a_group_starts_before_enough_of_its_machines_are_there_and_the_status_says_so(self):
        with GroupMachines(self, worker="min = 3") as machines:
            others = machines.take_nodes("h4", "h5")
            machines.start_run()
            wait_until(lambda: "2 of the machines of worker are there, and min = 3" in machines.trouble("worker-1"), f"it is said; {machines.errors()}", poll=0.05)
            self.assertIn("and min = 3", self.assertEnds(machines.command("status"), 0).out)
            self.assertEqual([words for name in NODES for words in machines.words(name).values() if words[1] == "build"], [])
            machines.slurm.command("scancel", others[0])
            machines.until_built(500)
            self.assertEqual(machines.until_all_up()["disk-1"], "h1")
            self.ends_well_but_for(machines, others[1])

    def ends_well_but_for(self, machines, job):
        machines.slurm.command("scancel", job)
        self.ends_well(machines)

    def test_machines_of_a_group_without_certificates_join_and_have_one_each(self):
        with GroupMachines(self, joins=True) as machines:
            machines.start_run()
            machines.until_built(500)
            for name, node in machines.until_all_up().items():
                self.assertTrue((machines.bed[node].directory / "certificates" / name / "host.crt").exists(), f"{name} on {node}")
            machines.run.send_signal(signal.SIGINT)
            machines.run.wait(120)
            machines.until_gone()


if __name__ == "__main__":
    if absent():
        print(f"NOT TESTED: groups of machines that Slurm chooses: {absent()}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    beds.main_with_hosts("groups of machines that Slurm chooses")
