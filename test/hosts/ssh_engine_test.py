# SPDX-License-Identifier: Apache-2.0
"""Agents that ssh starts, Debian's client and servers."""
import sys

import hosts as beds
import weir_program
from engine_tests import Brought
from ssh import absent
from weir_process import wait_until
from weir_program import ProgramTest


class OfSsh(Brought, ProgramTest):
    engine = "ssh"

    def test_what_ssh_cannot_do_is_said_once_and_the_run_waits(self):
        with self.brought() as machines:
            key = machines.ssh.key
            key.rename(key.with_name("away"))
            machines.start_run()
            said = lambda name: [line for line in machines.errors().splitlines() if f"ssh did not bring {name}" in line]
            wait_until(lambda: all(said(name) for name in machines.names), f"it is said of each; {machines.errors()}", poll=0.05)
            self.assertIn("Permission denied (publickey)", machines.errors())
            key.with_name("away").rename(key)
            machines.until_built(200)
            for name in machines.names:
                self.assertEqual(len(said(name)), len(set(said(name))), f"once, and not with each attempt: {said(name)}")
            self.ends_well(machines)


class Words(ProgramTest):
    def test_engines_that_are_not_there_or_lack_something_are_one_line(self):
        file = self.folder / "p.toml"
        stations = "[readout.ros-1]\n[supervise.l2sv]\n[assign.dfm]\n[build.sfi-1]\n[record.rec-1]\n"
        host = '[hosts.h1]\naddress = "10.77.0.11:7400"\n'
        file.write_text(stations + host)
        self.assertOneLine(weir_program.run("run", file, "--engine", "shh"), 2, "there are ssh and slurm")
        self.assertOneLine(weir_program.run("run", file, "--engine", "ssh", "--dir", self.folder / "D"), 2, "p.toml:6: [hosts.h1] is brought by ssh and has no dir")
        file.write_text(stations)
        self.assertOneLine(weir_program.run("run", file, "--engine", "ssh"), 2, "the partition has no machines")
        file.write_text(stations + host + 'engine = "shh"\n')
        self.assertOneLine(weir_program.run("config", "check", file), 2, "p.toml:8: ", "engine")
        file.write_text(stations + host + "[engine.none]\n")
        self.assertOneLine(weir_program.run("config", "check", file), 2, "[engine.none] is no engine; there are [engine.ssh] and [engine.slurm]")


if __name__ == "__main__":
    if absent():
        print(f"NOT TESTED: agents that ssh starts: {absent()}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    beds.main_with_hosts("agents that ssh starts")
