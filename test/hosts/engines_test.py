# SPDX-License-Identifier: Apache-2.0
"""Run control has agents started by an engine, ssh or Slurm, as these are in Debian: a run comes up, takes data and ends, and the agents
with it; machines lose power; Slurm's controller is dead; run control is killed."""
import json
import os
import pathlib
import signal
import stat
import sys

import hosts as beds
import weir_program
from brought_machines import BroughtMachines, absent
from weir_process import wait_until
from weir_program import ProgramTest

SECRET = "a-secret-of-run-control"


class Brought:
    """What each engine can; `engine` is its name."""

    def brought(self, **more):
        return BroughtMachines(self, self.engine, **more)

    def ends_well(self, machines):
        code, result = machines.stop()
        self.assertEqual((code, result["problems"]), (0, []), machines.errors())
        machines.until_gone()
        ids = machines.recorded_ids()
        self.assertEqual((len(ids), len(set(ids))), (result["events"]["recorded"],) * 2)

    def test_a_run_comes_up_takes_data_and_ends_and_its_agents_end_with_it(self):
        with self.brought() as machines:
            machines.start_run(env={"WEIR_TEST_SECRET": SECRET})
            machines.until_built(1000)
            agents = {name: machines.agents_of(name) for name in machines.names}
            self.assertEqual({name: len(pids) for name, pids in agents.items()}, {"h1": 1, "h2": 1, "h3": 1}, "one on each machine")
            self.assertEqual([pid for pid in machines.bed.control.processes() if self.name_of(pid) == "ssh"], [], "no client is needed any more")
            key = (machines.bed["h1"].directory / "certificates" / "host.key").read_text().splitlines()[1]
            for name, (pid,) in agents.items():
                for part in ("cmdline", "environ"):
                    text = pathlib.Path(f"/proc/{pid}/{part}").read_bytes().decode()
                    self.assertFalse(SECRET in text or key in text, f"{part} of the agent on {name}")
            if machines.slurm:
                shown = machines.slurm.command("scontrol", "show", "job", "--details") + "".join(
                    machines.slurm.command("scontrol", "write", "batch_script", line.split()[0], "-") for line in machines.jobs())
                self.assertIn("weir-h1", shown)
                self.assertFalse(SECRET in shown or key in shown or "PRIVATE KEY" in shown, shown)
            self.ends_well(machines)

    def test_machines_without_a_certificate_join_with_a_token_that_only_stdin_has(self):
        with self.brought(joins=True) as machines:
            machines.start_run()
            machines.until_built(500)
            given = json.loads((machines.directory / "authority" / "tokens").read_text())["tokens"]
            self.assertEqual([(token["host"], token["by"].split(":")[0]) for token in sorted(given, key=lambda token: token["host"])],
                             [(name, machines.bed[name].address) for name in machines.names], "each was used once, by its machine")
            key = machines.bed["h1"].directory / "certificates" / "host.key"
            self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
            before = key.read_bytes()
            os.kill(machines.agents_of("h1")[0], signal.SIGKILL)  # what it has is used again
            wait_until(lambda: machines.host_states().get("h1") == "lost", f"h1 is lost; {machines.errors()}", poll=0.05)
            machines.until_up("h1")
            self.assertEqual(key.read_bytes(), before)
            machines.run.send_signal(signal.SIGINT)
            machines.run.wait(120)
            machines.until_gone()

    @staticmethod
    def name_of(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return None

    def test_a_machine_that_lost_its_power_gets_an_agent_when_it_is_back(self):
        with self.brought() as machines:
            machines.start_run()
            machines.until_built(500)
            machines.bed["h3"].power_off()
            wait_until(lambda: machines.host_states().get("h3") == "lost", f"h3 is lost; {machines.errors()}", poll=0.05)
            machines.until_built(500)
            machines.power_on("h3")
            machines.until_up("h3")
            self.assertEqual(len(machines.agents_of("h3")), 1)
            machines.until_built(500)
            self.ends_well(machines)

    def test_an_agent_that_was_killed_is_started_again_with_the_stations_of_its_machine(self):
        with self.brought(recorder="h3") as machines:
            machines.start_run()
            machines.until_built(500)
            os.kill(machines.agents_of("h3")[0], signal.SIGKILL)
            wait_until(lambda: machines.host_states().get("h3") == "lost", f"h3 is lost; {machines.errors()}", poll=0.05)
            machines.until_up("h3")
            wait_until(lambda: (s := machines.station("rec-1")) and s["host"] == "h3" and s["state"] == "running",
                       f"the recorder runs on h3; {machines.errors()}", poll=0.05)
            machines.until_built(500)
            self.ends_well(machines)

    def test_agents_and_stations_outlive_a_run_control_that_was_killed_and_end_with_the_next(self):
        with self.brought() as machines:
            machines.start_run()
            machines.until_built(500)
            before = {name: set(machines.words(name)) for name in machines.names}
            machines.run.kill()
            machines.run.wait(120)
            self.assertEqual({name: set(machines.words(name)) for name in machines.names}, before, "nothing has ended")
            agents = {name: machines.agents_of(name) for name in machines.names}
            (machines.directory / "run-control.json").unlink(missing_ok=True)
            machines.start_run("--take-over")
            machines.until_built(500)
            self.assertEqual({name: machines.agents_of(name) for name in machines.names}, agents, "those that were there are used")
            code, _ = machines.stop()
            self.assertEqual(code, 0, machines.errors())
            machines.until_gone()


class OfSsh(Brought, ProgramTest):
    engine = "ssh"

    def test_what_ssh_cannot_do_is_said_once_and_the_run_waits(self):
        with self.brought() as machines:
            key = machines.ssh.key
            key.rename(key.with_name("away"))
            machines.start_run()
            wait_until(lambda: "Permission denied (publickey)" in machines.errors(), f"it is said; {machines.errors()}", poll=0.05)
            key.with_name("away").rename(key)
            machines.until_built(200)
            self.assertEqual(machines.errors().count("ssh did not bring h1"), 1)
            self.ends_well(machines)


class OfSlurm(Brought, ProgramTest):
    engine = "slurm"

    def test_a_run_goes_on_without_the_controller_of_slurm_and_so_do_start_replacement_and_stop(self):
        with self.brought() as machines:
            machines.start_run("--wait")
            machines.until_state("ready")
            machines.slurm.controller.kill()
            machines.slurm.controller.wait(120)
            self.assertEnds(machines.command("start"), 0)
            machines.until_built(500)
            pid = next(pid for pid, words in machines.words("h2").items() if words[1] == "build")
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: (s := machines.station("sfi-1")) and s["state"] == "running" and s["restarts"] == 1, f"sfi-1 is replaced; {machines.errors()}",
                       poll=0.05)
            machines.until_built(500)
            machines.bed["h3"].power_off()  # only another machine cannot be had
            wait_until(lambda: "slurm did not bring h3" in machines.errors(), f"it is said; {machines.errors()}", poll=0.05)
            wait_until(lambda: (s := machines.station("sfi-2")) and s["host"] != "h3" and s["state"] == "running", f"sfi-2 runs elsewhere; {machines.errors()}",
                       poll=0.05)
            machines.until_built(500)
            self.assertEnds(machines.command("stop"), 0)
            machines.until_state("ready")
            self.assertEqual(machines.errors().count("slurm did not bring h3"), 1, "once, and not with each attempt")
            machines.run.send_signal(signal.SIGINT)
            self.assertEqual(machines.run.wait(120), 0, machines.errors())
            for name in ("h1", "h2"):
                wait_until(lambda: not machines.words(name), f"nothing of weir is left on {name}", poll=0.05)
            self.assertIn("of h3 may still be there", machines.errors())


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
        print(f"NOT TESTED: engines that bring machines: {absent()}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    beds.main_with_hosts("engines that bring machines")
