# SPDX-License-Identifier: Apache-2.0
"""Machines on which no agent runs, and a run control that has them started by an engine: ssh or Slurm."""
import json
import pathlib
import shutil

import slurm as slurm_bed
import ssh as ssh_bed
import weir_program
from run_hosts_test import Machines
from run_security_test import context_of
from weir_process import wait_until

ENGINES = ("ssh", "slurm")
PROGRAM = pathlib.Path(shutil.which(weir_program.PROGRAM) or weir_program.PROGRAM).resolve()
OF_ENGINES = """
[engine.ssh]
program = "{program}"
command = {client}
[engine.slurm]
program = "{program}"
"""


def absent():
    """What is missing here for both engines; empty: nothing."""
    return "; ".join(filter(None, (ssh_bed.absent(), slurm_bed.absent())))


class BroughtMachines(Machines):
    """`engine`: "ssh", "slurm", or "" for agents that the test starts. `joins`: no machine has a certificate; each gets one of the
    partition's own authority with a token. `quick_loss`: Slurm notices within seconds that a machine is lost; on a busy one it takes
    a machine for lost that is slow, and ends its job."""

    def __init__(self, test, engine, names=("h1", "h2", "h3"), joins=False, features=None, quick_loss=False, **more):
        super().__init__(test, names=names, **more)
        self.features = features  # of nodes of Slurm
        self.timeout_s = 5 if quick_loss else 60
        self.engine, self.ssh, self.slurm, self.environment, self.joins = engine, None, None, None, joins
        if joins:
            place = f"{self.bed.control.address}:7300"
            text = "".join(line for line in self.file.read_text().splitlines(keepends=True) if not line.startswith("tls_"))
            self.file.write_text(text.replace("[security]\n", f'[security]\nown_authority = true\njoin = "{place}"\n')
                                 + "".join(f'[engine.{engine}]\njoin = "{place}"\n' for engine in ENGINES))
        for name in () if joins else names:
            there = self.bed[name].directory / "certificates"
            there.mkdir()
            certificate, key = self.files[name]
            for source, target in ((certificate, "host.crt"), (key, "host.key"), (self.authority.certificate, "ca.crt")):
                shutil.copy(source, there / target)

    @property
    def context(self):
        own = self.bed.control.directory / "run" / "authority"
        context = (context_of(own / "ca.crt", (own / "partition.crt", own / "partition.key")) if self.joins
                   else context_of(self.authority.certificate, self.files["ctl"]))
        context.check_hostname = False
        return context

    def __enter__(self):
        if self.engine == "ssh":
            self.ssh = ssh_bed.Ssh(self.bed)
        elif self.engine == "slurm":
            self.slurm = slurm_bed.Slurm(self.bed, timeout_s=self.timeout_s, cred_expire_s=60, features=self.features)
            self.environment = self.slurm.environment
        else:
            return super().__enter__()
        client = json.dumps(self.ssh.client if self.ssh else ["ssh"])
        text = self.file.read_text()
        for name in self.names:
            directory = self.bed[name].directory
            text = text.replace(f"[hosts.{name}]\n", f'[hosts.{name}]\ndir = "{directory}/weir"\ncertificates = "{directory}/certificates"\n')
        of_engines = OF_ENGINES.format(program=PROGRAM, client=client)
        if self.joins:  # the sections are there already
            for section in of_engines.strip().split("[engine.")[1:]:
                head, keys = section.split("]\n", 1)
                text = text.replace(f"[engine.{head}]\n", f"[engine.{head}]\n{keys.strip()}\n")
            of_engines = ""
        self.file.write_text(text + of_engines)
        return self

    def errors(self):
        return super().errors() + (self.slurm.logs() if self.slurm else "")

    def start_run(self, *more, env=None):
        control = self.bed.control
        self.directory = control.directory / "run"
        engine = ["--engine", self.engine] if self.engine else []
        environment = {**(self.environment or {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}), **(env or {})}
        self.run = control.start([weir_program.PROGRAM, "run", self.file, "--dir", self.directory, "--json", *engine, *more], env=environment,
                                 **self.output_to("run"))
        return self.run

    def power_on(self, name):
        """With what starts by itself on such a machine."""
        host = self.bed[name]
        host.power_on()
        if self.ssh:
            self.ssh.start_server(host)
        if self.slurm:
            self.slurm.start_daemon(host)

    def status(self):
        """Over run control's port: quicker than a command."""
        try:
            place = json.loads((self.directory / "run-control.json").read_text())["control"]
            return json.loads(self.bed.control.ask(place, "/partition", context=self.context)[1])
        except (FileNotFoundError, ConnectionError):
            return None

    def state(self):
        status = self.status()
        return status["state"] if status else None

    def until_state(self, *states):
        wait_until(lambda: self.state() in states, f"the partition is {' or '.join(states)}; {self.errors()}", poll=0.05)

    def host_states(self):
        status = self.status()
        return {host["name"]: host["state"] for host in status["hosts"]} if status else {}

    def until_up(self, *names):
        wait_until(lambda: all(self.host_states().get(name) == "up" for name in names), f"{names} are up; {self.errors()}", poll=0.05)

    def until_another_agent(self, name, than):
        """One with another pid, which run control hears."""
        wait_until(lambda: (pids := self.agents_of(name)) and than not in pids, f"another agent on {name}; {self.errors()}", poll=0.05)
        self.until_up(name)

    def words(self, name):
        """The command lines of weir on a machine, by pid as the test sees it."""
        found = {}
        for pid in self.bed[name].processes():
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue  # it has ended meanwhile
            if words[0] and pathlib.Path(words[0]).name.startswith("weir"):
                found[pid] = words
        return found

    def agents_of(self, name):
        return [pid for pid, words in self.words(name).items() if words[1] == "host"]

    def until_gone(self):
        """No agent and no station is left on any machine, and no job."""
        for name in self.names:
            wait_until(lambda: not self.words(name), f"nothing of weir is left on {name}", poll=0.05)
        if self.slurm:
            wait_until(lambda: not self.jobs(), "no job is left", poll=0.1)

    def jobs(self):
        return self.slurm.command("squeue", "--noheader", "--format=%i %T %N").split("\n")[:-1]
