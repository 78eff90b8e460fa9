# SPDX-License-Identifier: Apache-2.0
"""docs/first-data.md, as a new user follows it: its commands, letter for letter, with boards and a trigger unit that are programs
outside; their own records are compared with the files by a program that uses nothing of weir."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "test" / "support")]
from weir_program import ProgramTest

PAGE = ROOT / "docs" / "first-data.md"
NAMESPACE = f"weir-testbeam-{os.getpid()}"
PORTS = (9100, 9101, 9200, 9300)
# Only root gets a buffer of the kernel that a busy machine cannot overflow at the rate of the page.
TRIGGERS, RATE = (int(os.environ.get("WEIR_TESTBEAM_TRIGGERS", "20000")), 2000) if os.geteuid() == 0 else (2000, 200)


def blocks():
    """{heading: the commands below it}."""
    found = {}
    for heading, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        found[heading] = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return found


@unittest.skipUnless("WEIR_PROGRAM" in os.environ, "the program weir is not built here")
class Testbeam(ProgramTest):
    def setUp(self):
        super().setUp()
        build = pathlib.Path(os.environ["WEIR_BUILD_DIR"])
        home = self.folder / "home"
        subprocess.run(["cmake", "--install", build, "--prefix", home / "weir"], check=True, capture_output=True, timeout=300)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        (home / "weir-python" / "bin").mkdir(parents=True)
        for name in ("python", "python3"):  # this one, in which the module is installed as the page says
            (home / "weir-python" / "bin" / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "$@"\n')
            (home / "weir-python" / "bin" / name).chmod(0o755)
        self.environment = {**os.environ, "HOME": str(home)}
        # Where it can be made, the network is one of its own: the ports of the page are free there.
        self.inside = []
        works = lambda *words: subprocess.run(["ip", *words], capture_output=True).returncode == 0
        if os.geteuid() == 0 and shutil.which("ip") and works("netns", "add", NAMESPACE):
            self.addCleanup(subprocess.run, ["ip", "netns", "del", NAMESPACE])
            # Not in a chroot whose root is no mount: the ports of the machine are used there.
            if works("-n", NAMESPACE, "link", "set", "lo", "up") and works("netns", "exec", NAMESPACE, "true"):
                self.inside = ["ip", "netns", "exec", NAMESPACE]
        for port in () if self.inside else PORTS:
            with socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    one.bind(("127.0.0.1", port))
                except OSError as error:
                    self.skipTest(f"NOT TESTED: docs/first-data.md, whose port {port} is taken here ({error}); root has a network of its own")

    def bash(self, text):
        out, err, status = self.bash_anyhow(text)
        self.assertEqual(status, 0, f"{text}\n{out}\n{err}")
        return out

    def bash_anyhow(self, text):
        """In a session of its own, that nothing is left when it fails."""
        running = subprocess.Popen([*self.inside, "bash", "-c", text], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, err = running.communicate(timeout=540)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, 9)
        return out, err, running.returncode

    def test_the_page_leads_to_data_that_are_those_of_the_boards(self):
        page = blocks()
        (_, shell, compile_board), (take, without_a_board), (look,) = page["Build, once"], page["Take data"], page["Look at it"]
        take = re.sub(r"(--events|--triggers) 20000\b", rf"\1 {TRIGGERS}", take).replace("--rate 2000", f"--rate {RATE}")
        self.assertTrue(take.endswith("\nwait\n"), take)
        wait_for_each = 'for job in $(jobs -p); do wait "$job" || { echo "job $job: $?"; bad=1; }; done; exit ${bad:-0}\n'
        taken = self.bash(f"set -e\n{shell}{compile_board}set +e\n{take.removesuffix('wait' + chr(10))}{wait_for_each}")
        for board in ("board-420000", "board-420001", "board-430000"):
            self.assertIn(f"{board}: {TRIGGERS} fragments taken", taken)
        self.assertIn(f"udp board: {TRIGGERS} datagrams sent", taken)
        self.assertIn(f"trigger unit: {TRIGGERS} triggers in", taken)
        # weir's account of the run, and the boards': what they sent is what arrived, and what became of it.
        for source in ("0x420000 +ros-1", "0x420001 +ros-1", "0x430000 +ros-1", "0x440000 +ros-2"):  # expected, missing, arrived, and 4 more
            self.assertRegex(taken, rf"(?m)^{source} +{TRIGGERS:,} +0 +{TRIGGERS:,} +0 +0 +0 +0 *$")
        # Each fourth event has a hit in the calorimeter and is kept; of the others each tenth, when its number is divisible by 10.
        expected = sum(1 for number in range(1, TRIGGERS + 1) if number % 4 == 0 or number % 10 == 0)
        self.assertIn(f"{TRIGGERS:,} triggers: {TRIGGERS:,} accepted, 0 rejected; {TRIGGERS:,} built, 0 of them incomplete; {expected:,} recorded", taken)
        self.assertIn("all well: every ledger balances", taken)
        looked = self.bash(f"set -e\n{shell}{look}")
        compared = re.search(r"^(\d+) events: (\d+) payloads as the boards sent them, 0 missing, 0 wrong$", looked, re.MULTILINE)
        self.assertTrue(compared, looked)
        events, equal = map(int, compared.groups())
        self.assertEqual((events, equal), (expected, 4 * expected), looked)
        self.assertRegex(looked, rf"physics_Main +{TRIGGERS // 4} events")
        (read,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        (self.folder / "read.py").write_text(read + "    print(len(payload))\n")
        sizes = self.bash(f"set -e\n{shell}python read.py | sort | uniq -c")
        self.assertEqual(sizes.split(), [str(expected), str(4 + 2 * 32)])
        # Without one of the boards: the run ends as a bad one, by the name of the source.
        out, err, status = self.bash_anyhow(f"{shell}{without_a_board.removesuffix('wait' + chr(10))}{wait_for_each}")
        self.assertEqual((status, len(re.findall(r"^job \d+: 1$", out, re.MULTILINE)), out.count("job ")), (1, 1, 1), f"{out}\n{err}")
        self.assertRegex(out, r"(?m)^0x430000 +ros-1 +200 +200 +0 ")


if __name__ == "__main__":
    unittest.main()
