# SPDX-License-Identifier: Apache-2.0
"""docs/many-machines.md, followed literally: from one machine to five, by each engine. The file is put together from the page's own blocks, and
what it types is typed; only directories, the place of the program and the configuration of ssh are those of the test bed."""
import json
import pathlib
import re
import shlex
import shutil
import signal
import sys

import hosts as beds
import slurm as slurm_bed
import ssh as ssh_bed
import weir_program
from brought_machines import PROGRAM, absent
from weir_process import wait_until
from weir_program import ProgramTest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "many-machines.md"
NAMES = ["h1", "h2", "h3", "h4", "h5"]


def sections():
    """Of the page: its blocks of TOML, and the lines that are typed, as (where, what)."""
    found = {}
    for part in PAGE.read_text().split("\n## ")[1:]:
        title, text = part.split("\n", 1)
        blocks = re.findall(r"^```(toml)?\n(.*?)^```$", text, re.M | re.S)
        typed = [line.split("$ ", 1) for kind, block in blocks if not kind for line in block.splitlines() if re.match(r"(ctl|h1)\$ ", line)]
        found[title] = [block for kind, block in blocks if kind], typed
    return found


class Page(ProgramTest):
    def setUp(self):
        super().setUp()
        self.bed = beds.Hosts(self.folder / "bed", NAMES)
        self.addCleanup(self.bed.close)
        self.ctl = self.bed.control
        self.page = sections()
        self.environment = {"PATH": f"{PROGRAM.parent}:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        self.client = '["ssh"]'

    def here(self, text):
        """A text of the page, with the places of the test bed."""
        text = text.replace("/data/weir", "/run/weir").replace("/etc/weir", "/run/weir-etc")
        text = text.replace('program = "weir"', f'program = "{PROGRAM}"')
        return text.replace('command = ["ssh"]', f"command = {self.client}")

    def typed(self, title, where, words):
        """The line of a section that begins so."""
        return next(what for place, what in self.page[title][1] if place == where and what.startswith(words))

    def type(self, host, line):
        ended = self.assertEnds(host.run(["sh", "-c", self.here(line)], env=self.environment), 0)
        return ended.out

    def start(self, host, line):
        """A command that goes on."""
        output = open(self.folder / f"{host.name}.log", "a")
        self.addCleanup(output.close)
        return host.start(shlex.split(self.here(line)), env=self.environment, stdout=output, stderr=output)

    def log(self):
        return "".join(path.read_text()[-3000:] for path in self.folder.glob("*.log"))

    def status(self):
        ended = self.ctl.run(["weir", "run", "status", "--dir", "D", "--json"], env=self.environment)
        return json.loads(ended.out) if ended.code == 0 else {}

    def run_with(self, engine, count):
        """Run control with the partition of that many machines, one or five, and a run."""
        blocks = [*self.page["On one machine"][0], *self.page["What all machines need"][0], *self.page[engine][0][:1 if count == 1 else 2]]
        self.run_of(blocks, engine, NAMES[:count])

    def run_of(self, blocks, engine, names):
        (self.ctl.directory / "partition.toml").write_text(self.here("\n".join(blocks)))
        control = self.start(self.ctl, self.typed(engine, "ctl", "weir run partition.toml"))
        if engine == "Agents that run already":
            for name in names:
                self.start_agent(engine, name)
        wait_until(lambda: self.status().get("state") == "ready" or control.poll() is not None, f"the partition is ready; {self.log()}", poll=0.2)
        self.assertIsNone(control.poll(), self.log())
        wait_until(lambda: {host["state"] for host in self.status()["hosts"]} == {"up"}, f"all machines are up; {self.log()}", poll=0.2)
        said = {}
        for place, line in self.page["Take a run"][1]:
            said[line] = self.type(self.ctl, line)
            if line.startswith("weir run start"):
                wait_until(lambda: self.status()["events"]["built"] > 0, f"events are built; {self.log()}", poll=0.2)
        shown = said["weir run hosts --dir D"].splitlines()[1:]
        self.assertEqual([line.split()[:2] for line in shown], [[name, "up"] for name in names], shown)
        control.send_signal(signal.SIGINT)
        self.assertEqual(control.wait(120), 0, self.log())

    def start_agent(self, engine, name):
        """What the page types on h1, on any machine."""
        host = self.bed[name]
        of_it = lambda line: line.replace("h1", name).replace("10.77.0.11", host.address)
        if not (host.directory / "joined").exists():
            wait_until(self.status, f"run control is there; {self.log()}", poll=0.2)
            self.type(self.ctl, of_it(self.typed(engine, "ctl", "weir run token")))
            shutil.move(self.ctl.directory / f"{name}.token", host.directory / f"{name}.token")
            self.type(host, of_it(self.typed(engine, "h1", "weir run join")))
            (host.directory / "joined").touch()
            self.start(host, of_it(self.typed(engine, "h1", "weir host")))

    def test_one_machine(self):
        (self.ctl.directory / "partition.toml").write_text(self.page["On one machine"][0][0])
        self.type(self.ctl, self.typed("On one machine", "ctl", "weir run"))

    def test_agents_that_run_already(self):
        for count in (1, 5):
            self.run_with("Agents that run already", count)

    def test_agents_that_ssh_starts(self):
        ssh = ssh_bed.Ssh(self.bed)
        self.client = "[" + ", ".join(f'"{word}"' for word in ssh.client) + "]"
        for count in (1, 5):
            self.run_with("Agents that ssh starts", count)

    def test_agents_in_jobs_of_slurm(self):
        slurm = slurm_bed.Slurm(self.bed)
        self.environment["SLURM_CONF"] = slurm.environment["SLURM_CONF"]
        self.assertIn("Submitted batch job", self.type(self.ctl, self.typed("Agents in jobs of Slurm", "ctl", "sbatch")))
        for count in (1, 5):
            self.run_with("Agents in jobs of Slurm", count)

    def test_machines_that_slurm_chooses(self):
        slurm = slurm_bed.Slurm(self.bed)
        self.environment["SLURM_CONF"] = slurm.environment["SLURM_CONF"]
        section = "Machines that Slurm chooses"
        blocks = [*self.page["On one machine"][0], *self.page["What all machines need"][0], self.page["Agents in jobs of Slurm"][0][0],
                  self.page[section][0][0]]
        self.run_of(blocks, section, ["h1", *(f"worker-{number}" for number in range(1, 5))])


if __name__ == "__main__":
    if absent():
        print(f"NOT TESTED: docs/many-machines.md: {absent()}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    beds.main_with_hosts("docs/many-machines.md")
