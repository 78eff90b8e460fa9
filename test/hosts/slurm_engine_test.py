# SPDX-License-Identifier: Apache-2.0
"""Agents in jobs of Debian's Slurm; its controller is dead for a whole run."""
import os
import signal
import sys

import hosts as beds
import weir_program
from engine_tests import Brought
from slurm import absent
from weir_process import wait_until
from weir_program import ProgramTest


class OfSlurm(Brought, ProgramTest):
    engine = "slurm"

    def test_a_run_goes_on_without_the_controller_of_slurm_and_so_do_start_replacement_and_stop(self):
        with self.brought(quick_loss=True) as machines:
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
            said = [line for line in machines.errors().splitlines() if "slurm did not bring h3" in line]
            self.assertEqual(len(said), len(set(said)), "once, and not with each attempt")
            machines.run.send_signal(signal.SIGINT)
            self.assertEqual(machines.run.wait(120), 0, machines.errors())
            for name in ("h1", "h2"):
                wait_until(lambda: not machines.words(name), f"nothing of weir is left on {name}", poll=0.05)
            self.assertIn("of h3 may still be there", machines.errors())


if __name__ == "__main__":
    if absent():
        print(f"NOT TESTED: agents in jobs of Slurm: {absent()}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    beds.main_with_hosts("agents in jobs of Slurm")
