# SPDX-License-Identifier: Apache-2.0
"""Debian's Slurm over the test bed: what our use of it relies on, one job of one machine for each machine."""
import sys

from hosts import Hosts, main_with_hosts
from slurm import Slurm, absent
from weir_process import wait_until
from weir_program import PROGRAM, SKIPPED, ProgramTest

REPORT = f"#!/bin/sh\nhostname\n{PROGRAM} --version\n"
WAIT = "#!/bin/sh\nexec sleep infinity\n"
COUNT = "#!/bin/sh\nwhile echo . >>counted; do sleep 0.05; done\n"


class Jobs(ProgramTest):
    def setUp(self):
        super().setUp()
        self.hosts = Hosts(self.folder / "hosts", ["h1", "h2", "h3"])
        self.addCleanup(self.hosts.close)

    def start(self, timeout_s=60):
        self.slurm = Slurm(self.hosts, timeout_s)

    def until_counts(self, host):
        counted = host.directory / "counted"
        size = lambda: counted.stat().st_size if counted.exists() else 0
        before = size()
        wait_until(lambda: size() > before, f"the job on {host.name} counts", poll=0.05)

    def test_a_job_of_one_machine_runs_on_each_of_them_and_knows_its_name(self):
        self.start()
        machines = self.slurm.machines
        jobs = [self.slurm.submit(REPORT, "--exclusive", f"--nodelist={host.name}") for host in machines]
        for host, job in zip(machines, jobs):
            self.slurm.until_state(job, "COMPLETED")
            name, version = self.slurm.output(host, job).read_text().splitlines()
            self.assertEqual(name, host.name)
            self.assertRegex(version, r"^weir \d")
        with self.subTest("jobs that take a machine whole are spread over all"):
            jobs = [self.slurm.submit(WAIT, "--exclusive") for _ in machines]
            for job in jobs:
                self.slurm.until_state(job, "RUNNING")
            wait_until(lambda: set(self.slurm.nodes().values()) == {"allocated"}, "each machine has one", poll=0.1)
            self.slurm.command("scancel", *jobs)
            for job in jobs:
                self.slurm.until_state(job, "CANCELLED")
            self.slurm.until_idle(*machines)

    def test_a_job_ends_with_the_power_of_its_machine_and_the_machine_takes_another_when_it_is_back(self):
        self.start(timeout_s=5)
        host = self.hosts["h2"]
        job = self.slurm.submit(COUNT, "--no-requeue", "--nodelist=h2", f"--chdir={host.directory}")
        self.until_counts(host)
        host.power_off()
        self.slurm.until_state(job, "NODE_FAIL")
        wait_until(lambda: "down" in self.slurm.nodes()["h2"], "the machine is down", poll=0.1)
        host.power_on()
        self.slurm.start_daemon(host)
        self.slurm.until_idle(host)
        again = self.slurm.submit(REPORT, "--nodelist=h2")
        self.slurm.until_state(again, "COMPLETED")
        self.assertEqual(self.slurm.output(host, again).read_text().split()[0], "h2")

    def test_jobs_live_on_without_the_machine_of_the_controller(self):
        self.start()
        host = self.hosts["h1"]
        self.slurm.submit(COUNT, "--no-requeue", "--nodelist=h1", f"--chdir={host.directory}")
        self.until_counts(host)
        self.hosts.control.power_off()
        self.until_counts(host)


if __name__ == "__main__":
    if absent():
        print(f"NOT TESTED: jobs of Slurm over several machines: {absent()}", file=sys.stderr)
        sys.exit(SKIPPED)
    main_with_hosts("jobs of Slurm over several machines")
