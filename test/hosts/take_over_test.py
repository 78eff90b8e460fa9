# SPDX-License-Identifier: Apache-2.0
"""Run control's machine loses its power in a run, and another run control takes the run over: the next one on that machine, or one that
stood by on another."""
import json
import os
import signal
import statistics
import sys
import time

from hosts import main_with_hosts
from run_hosts_test import PORT, Machines
from run_security_test import context_of
from weir_process import wait_until
from weir_program import PROGRAM, ProgramTest


TAKE_OVERS = int(os.environ.get("WEIR_TAKE_OVERS", 1))
SECONDS = int(os.environ.get("WEIR_SECONDS", 3))  # that run control is away, each time


class TakeOver(ProgramTest):
    def begin(self, machines):
        machines.start_run("--comment", "cosmics")
        machines.until_built(1000)
        return machines.status()

    def take_over(self, machines, *more):
        machines.run = machines.start_control("next", "--take-over", *more)

    def assertGoesOn(self, machines, before):
        after = wait_until(machines.status, f"run control answers; {machines.errors()}", poll=0.1)
        after = wait_until(lambda: (s := machines.status()) and s["state"] == "running" and s, f"the run goes on; {machines.errors()}", poll=0.1)
        for key in ("run", "comment"):
            self.assertEqual(after[key], before[key], key)
        self.assertAlmostEqual(after["started"], before["started"], places=3)
        pids = lambda status: {s["name"]: s["pid"] for s in status["stations"]}
        self.assertEqual(pids(after), pids(before), "no station was started again")
        self.assertGreater(after["events"]["built"], before["events"]["built"])

    def assertEndsWell(self, machines):
        code, result = machines.stop("next")
        self.assertEqual((code, result["problems"]), (0, []), machines.errors())
        ids = machines.recorded_ids()
        self.assertEqual((len(ids), len(set(ids))), (result["events"]["recorded"],) * 2)
        return result


class TakeOverTest(TakeOver):
    def test_run_controls_machine_loses_its_power_and_the_run_goes_on_when_it_is_back(self):
        with Machines(self) as machines:
            before = self.begin(machines)
            machines.bed.control.power_off()
            machines.bed.control.power_on()
            self.take_over(machines)
            self.assertGoesOn(machines, before)
            machines.until_built(500)
            self.assertIn("rec-1", self.assertEnds(machines.command("log"), 0).out)
            result = self.assertEndsWell(machines)
            self.assertEqual(result["run"], before["run"])
            with self.subTest("its record is whole"):
                shown = self.assertEnds(machines.command("show", str(before["run"])), 0).out
                self.assertIn("cosmics", shown)

    def test_data_are_taken_at_the_same_rate_while_there_is_no_run_control(self):
        with Machines(self) as machines:
            context = context_of(machines.authority.certificate, machines.files["ctl"])
            context.check_hostname = False
            agent = f"{machines.bed['h1'].address}:{PORT}"
            recorded = lambda: json.loads(machines.bed["h2"].ask(agent, "/stations/rec-1/status", context=context)[1])["ledger"]["stored"]
            self.begin(machines)

            def rates():
                """Of each second."""
                counts = [(time.monotonic(), recorded())]
                for _ in range(SECONDS):
                    time.sleep(1)
                    counts.append((time.monotonic(), recorded()))
                return [(after[1] - before[1]) / (after[0] - before[0]) for before, after in zip(counts, counts[1:])]

            with_control = statistics.median(rates())
            seconds_to_adopt = []
            for _ in range(TAKE_OVERS):
                machines.bed.control.power_off()
                without = rates()
                self.assertGreater(sum(without), 0, "events are recorded without run control")
                machines.bed.control.power_on()
                begin = time.monotonic()
                self.take_over(machines)
                wait_until(lambda: (s := machines.status()) and s["state"] == "running", f"the run goes on; {machines.errors()}", poll=0.02)
                seconds_to_adopt.append(time.monotonic() - begin)
                print(f"without run control: slowest second {min(without) / with_control:.2f}, median {statistics.median(without) / with_control:.2f} of the "
                      f"rate before ({with_control:.0f}/s); adopted {seconds_to_adopt[-1]:.2f} s after its start", file=sys.stderr)
            self.assertEndsWell(machines)

    def test_a_station_that_died_in_the_meantime_is_started_again(self):
        with Machines(self) as machines:
            before = self.begin(machines)
            pid_of_sfi = machines.pid_of("h2", "sfi-1")
            machines.run.send_signal(signal.SIGKILL)
            machines.run.wait(60)
            os.kill(pid_of_sfi, signal.SIGKILL)
            self.take_over(machines)
            wait_until(lambda: (s := machines.station("sfi-1")) and s["state"] == "running", f"sfi-1 is back; {machines.errors()}", poll=0.2)
            self.assertEqual(machines.status()["run"], before["run"])
            machines.until_built(500)
            self.assertEndsWell(machines)

    def test_one_that_stands_by_takes_over_by_itself(self):
        with Machines(self) as machines:
            before = self.begin(machines)
            first = machines.run
            other = machines.start_control("next", "--standby")
            machines.until_built(200)
            self.assertIsNone(other.poll(), "it waits")
            first.send_signal(signal.SIGKILL)
            first.wait(60)
            machines.run = other
            self.assertGoesOn(machines, before)
            self.assertEndsWell(machines)

    def test_one_that_cannot_begin_leaves_the_run_as_it_is(self):
        with Machines(self) as machines:
            before = self.begin(machines)
            machines.run.send_signal(signal.SIGKILL)
            machines.run.wait(60)
            ended = machines.bed.control.run([PROGRAM, "run", "--dir", machines.directory, "--take-over", "--listen", "203.0.113.9:9400"])
            self.assertEqual(ended.code, 1, ended)
            self.assertIn("203.0.113.9:9400", ended.err)
            self.take_over(machines)
            self.assertGoesOn(machines, before)
            self.assertEndsWell(machines)

    def test_a_run_control_of_another_directory_that_takes_the_machines_ends_the_older_one(self):
        with Machines(self) as machines:
            self.begin(machines)
            other = [PROGRAM, "run", machines.file, "--dir", machines.bed.control.directory / "other", "--duration", "1s", "--take-over"]
            self.assertEnds(machines.bed.control.run(other), 0)
            self.assertEqual(machines.run.wait(120), 1)
            self.assertRegex(machines.errors(), "superseded: spread .*; this run control ends, and leaves stations and run to that one")
            self.assertTrue((machines.directory / "run-open.json").exists(), "the older one keeps its run to itself")

    def test_a_machine_that_is_away_at_the_take_over_is_lost_as_any_other(self):
        with Machines(self) as machines:
            before = self.begin(machines)
            machines.bed.control.power_off()
            machines.bed["h3"].power_off()
            machines.bed.control.power_on()
            self.take_over(machines)
            wait_until(lambda: (s := machines.station("sfi-2")) and s["state"] == "running" and s["host"] != "h3", f"sfi-2 elsewhere; {machines.errors()}",
                       poll=0.2)
            self.assertEqual(machines.status()["run"], before["run"])
            machines.until_built(500)
            self.assertEndsWell(machines)

    def test_what_stands_by_for_a_run_control_that_ends_properly_ends_too(self):
        with Machines(self) as machines:
            self.begin(machines)
            first, other = machines.run, machines.start_control("next", "--standby")
            self.assertEnds(machines.command("stop"), 0)
            self.assertEqual(first.wait(120), 0)
            self.assertEqual(other.wait(120), 0)
            self.assertIn("nothing to take over", (self.folder / "next.out").read_text())


if __name__ == "__main__":
    main_with_hosts("run control that takes a run over")
