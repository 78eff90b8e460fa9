# SPDX-License-Identifier: Apache-2.0
"""Run control's machine is lost with its directory, and another one with a directory of its own goes on with the run, by what stands in
the recorders' database."""
import json
import signal
import sys
import time

import postgres_server
import weir_program
from hosts import main_with_hosts
from postgres_server import PostgresServer
from run_hosts_test import Machines
from take_over_test import TakeOver
from weir_process import wait_until
from weir_program import PROGRAM


class SharedDatabase(Machines):
    """Run control and recorder share a database, and one that stands by is on h3, with a directory of its own."""

    def __init__(self, test):
        super().__init__(test)
        self.server = PostgresServer(self.bed.shared / "pg")  # its socket is in a file system that all machines have
        self.file.write_text(self.file.read_text().replace("[record.rec-1]", f'[record.rec-1]\ncatalogue = "{self.server.uri}"'))
        self.first_directory = self.bed.control.directory / "run"
        self.other_directory = self.bed["h3"].directory / "run"

    def __exit__(self, *more):
        super().__exit__(*more)
        self.server.__exit__(*more)

    def start_other(self, *arguments):
        words = [PROGRAM, "run", self.file, "--dir", self.other_directory, "--json", *arguments]
        self.other = self.bed["h3"].start(words, **self.output_to("next"))
        return self.other

    def go_to_other(self):
        """What is asked from now on is asked there."""
        self.run, self.directory = self.other, self.other_directory
        self.command = lambda *arguments: self.bed["h3"].run([PROGRAM, "run", *arguments, "--dir", self.directory])


class SharedLeaseTest(TakeOver):
    """The directory of the run control that is lost is lost with it."""

    def test_another_machine_goes_on_with_a_run_whose_directory_is_lost(self):
        with SharedDatabase(self) as machines:
            before = self.begin(machines)
            other = machines.start_other("--standby")
            machines.until_built(500)
            self.assertIsNone(other.poll(), "it waits")
            self.assertEnds(machines.command("mask", "0x420001"), 0)
            wait_until(lambda: any(s["masked"] for s in machines.status()["sources"]), "the mask has begun", poll=0.1)
            machines.until_built(500)
            begin = time.monotonic()
            machines.bed.control.power_off()
            machines.go_to_other()
            wait_until(lambda: (s := machines.status()) and s["state"] == "running", f"the run goes on; {machines.errors()}", poll=0.1)
            print(f"a standby with a shared database has the run {time.monotonic() - begin:.1f} s after the loss", file=sys.stderr)
            self.assertGoesOn(machines, before)
            with self.subTest("what was changed in the run is known"):
                shown = machines.status()
                self.assertIn("0x420001", [s["source"] for s in shown["sources"] if s["masked"]], shown["sources"])
            machines.until_built(500)
            machines.bed.control.power_on()
            result = self.assertEndsWell(machines)
            self.assertEqual(result["run"], before["run"])
            with self.subTest("no number is given out twice"):
                self.assertEqual(int((machines.other_directory / "run-number").read_text()), before["run"])
                later = machines.bed["h3"].run([PROGRAM, "run", machines.file, "--dir", machines.other_directory, "--duration", "1s", "--json"])
                self.assertEqual(json.loads(self.assertEnds(later, 0).out)["run"], before["run"] + 1)

    def test_of_two_run_controls_that_live_the_older_one_ends_and_no_station_does(self):
        with SharedDatabase(self) as machines:
            before = self.begin(machines)
            first = machines.run
            other = machines.start_other("--standby")
            first.send_signal(signal.SIGSTOP)
            machines.go_to_other()
            self.assertGoesOn(machines, before)
            first.send_signal(signal.SIGCONT)
            self.assertEqual(first.wait(120), 1)
            self.assertRegex(machines.errors(), "superseded: .*; this run control ends, and leaves stations and run to that one")
            machines.until_built(500)
            self.assertGoesOn(machines, before)
            self.assertIsNone(other.poll())
            self.assertEndsWell(machines)

    def test_while_one_lives_no_other_begins_and_what_stands_by_for_one_that_ends_properly_ends_too(self):
        with SharedDatabase(self) as machines:
            self.begin(machines)
            for more in ((), ("--take-over",)):
                refused = machines.bed["h3"].run([PROGRAM, "run", machines.file, "--dir", machines.other_directory, *more])
                self.assertEqual(refused.code, 1, refused)
                self.assertRegex(refused.err, r"ctl:.* is run control of partition spread, and was heard .* ago; weir run --standby waits")
            other = machines.start_other("--standby")
            machines.until_built(200)
            first = machines.run
            self.assertEnds(machines.command("stop"), 0)
            self.assertEqual(first.wait(120), 0)
            self.assertEqual(other.wait(120), 0)
            self.assertIn("nothing to take over", (self.folder / "next.out").read_text())

    def test_a_directory_without_the_authority_of_the_partition_is_told_what_it_needs(self):
        with SharedDatabase(self) as machines:
            self.begin(machines)
            begin, end = machines.file.read_text().split("tls_certificate", 1)
            machines.file.write_text(begin + "own_authority = true\n" + end[end.index("[hosts."):])
            ended = machines.bed["h3"].run([PROGRAM, "run", machines.file, "--dir", machines.other_directory, "--standby"])
            self.assertEqual(ended.code, 2, ended)
            self.assertRegex(ended.err, "has no authority, without which no machine obeys; copy the folder authority from the directory of ctl:/")

    @staticmethod
    def holder(machines):
        return machines.server.rows("weir_run_leases")[0][1]

    def test_without_the_database_the_run_goes_on_and_its_own_directory_takes_it_over(self):
        with SharedDatabase(self) as machines:
            before = self.begin(machines)
            machines.server.stop()
            wait_until(lambda: "what run control must remember does not reach the database" in machines.errors(), "it says so", poll=0.2)
            machines.until_built(200)
            machines.run.send_signal(signal.SIGKILL)
            machines.run.wait(60)
            self.take_over(machines)
            self.assertGoesOn(machines, before)
            machines.server.start()
            wait_until(lambda: self.holder(machines) == (machines.directory / "run-lease").read_text().split()[0], f"the lease is taken; {machines.errors()}", poll=0.2)
            wait_until(lambda: (machines.directory / "run-control.json").read_text() in [row[2] for row in machines.server.rows("weir_run_documents")],
                       "what is left is in the database", poll=0.2)
            machines.start_other("--standby")
            machines.run.send_signal(signal.SIGKILL)
            machines.go_to_other()
            self.assertGoesOn(machines, before)
            self.assertEndsWell(machines)


if __name__ == "__main__":
    if why := postgres_server.absent():
        print(f"NOT TESTED: a run that is taken over from a shared database: {why}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    main_with_hosts("run control that takes a run over from a shared database")
