# SPDX-License-Identifier: Apache-2.0
"""The system's ssh over the test bed: what our use of it relies on."""
import sys

from hosts import Hosts, main_with_hosts
from ssh import Ssh, absent, make_key
from weir_program import PROGRAM, SKIPPED, ProgramTest

FAILED = 255  # of ssh itself


class Commands(ProgramTest):
    def setUp(self):
        super().setUp()
        self.hosts = Hosts(self.folder / "hosts", ["h1", "h2"])
        self.addCleanup(self.hosts.close)
        self.ssh = Ssh(self.hosts)
        self.h1, self.h2 = self.hosts["h1"], self.hosts["h2"]

    def test_a_command_runs_on_each_machine_with_its_input_its_output_and_its_exit_code(self):
        for host in self.ssh.machines:
            self.assertEqual(self.assertEnds(self.ssh.run(host, "hostname"), 0).out, f"{host.name}\n")
        ended = self.assertEnds(self.ssh.run(self.h1, f"cat >{self.h1.directory}/got; echo said >&2; exit 7", input="a line\n"), 7)
        self.assertEqual(ended.err, "said\n")
        self.assertEqual((self.h1.directory / "got").read_text(), "a line\n")
        self.assertRegex(self.assertEnds(self.ssh.run(self.h2, PROGRAM, "--version"), 0).out, r"^weir \d")

    def test_machines_and_users_with_another_key_are_refused(self):
        other = self.hosts.control.directory / "other_key"
        make_key(other)
        self.ssh.key.rename(self.ssh.key.with_name("away"))
        ended = self.assertEnds(self.ssh.run(self.h1, "hostname", options=["-i", other]), FAILED)
        self.assertIn("Permission denied (publickey)", ended.err)
        self.ssh.key.with_name("away").rename(self.ssh.key)
        lines = self.ssh.known.read_text().splitlines()
        self.ssh.known.write_text(lines[0].replace("h1,", "h2,") + "\n" + lines[1].replace("h2,", "h1,") + "\n")
        ended = self.assertEnds(self.ssh.run(self.h1, "hostname"), FAILED)
        self.assertIn("Host key verification failed", ended.err)

    def test_a_machine_without_power_is_not_reached_and_is_again_when_its_server_runs(self):
        self.h1.power_off()
        ended = self.assertEnds(self.ssh.run(self.h1, "hostname", options=["-o", "ConnectTimeout=1"]), FAILED)
        self.assertRegex(ended.err, "timed out|No route to host")
        self.h1.power_on()
        self.ssh.start_server(self.h1)
        self.assertEqual(self.assertEnds(self.ssh.run(self.h1, "hostname"), 0).out, "h1\n")


if __name__ == "__main__":
    if absent():
        print(f"NOT TESTED: ssh over several machines: {absent()}", file=sys.stderr)
        sys.exit(SKIPPED)
    main_with_hosts("ssh over several machines")
