# SPDX-License-Identifier: Apache-2.0
"""What each engine that starts agents can, as ssh and Slurm are in Debian: a run comes up, takes data and ends, and the agents with it; machines
lose power; run control is killed. `ssh_engine_test.py` and `slurm_engine_test.py` run it."""
import json
import os
import pathlib
import signal
import stat

from brought_machines import BroughtMachines
from weir_process import wait_until

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
            first, = machines.agents_of("h1")
            os.kill(first, signal.SIGKILL)  # what it has is used again
            machines.until_another_agent("h1", first)
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
        with self.brought(quick_loss=True) as machines:
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
            first, = machines.agents_of("h3")
            os.kill(first, signal.SIGKILL)
            machines.until_another_agent("h3", first)
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
            machines.start_run("--take-over")
            machines.until_state("running")
            machines.until_built(500)
            self.assertEqual({name: machines.agents_of(name) for name in machines.names}, agents, "those that were there are used")
            self.assertEqual({name: set(machines.words(name)) for name in machines.names}, before, "and so are their stations")
            code, _ = machines.stop()
            self.assertEqual(code, 0, machines.errors())
            machines.until_gone()
