# SPDX-License-Identifier: Apache-2.0
"""A whole partition in a network namespace that drops datagrams at random, or all of them for two seconds."""
import os
import shutil
import subprocess
import threading
import time

from run_test import REPLAY, RunTest
from weir_process import wait_until
from weir_program import BES3, PROGRAM, Ended
import weir_program

NAMESPACE = f"weir-loss-{os.getpid()}"


def command(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


def why_not():
    """What is missing to have a network of our own that loses; nothing: it works."""
    if os.geteuid() != 0:
        return "a network namespace takes root; run the tests as root"
    for tool, package in (("ip", "iproute2"), ("nft", "nftables")):
        if not shutil.which(tool):
            return f"{tool} is not there; install {package}"
    made = command("ip", "netns", "add", NAMESPACE)
    if made.returncode:
        return f"no network namespace can be made here: {made.stderr.strip()}"
    up = command("ip", "-n", NAMESPACE, "link", "set", "lo", "up")
    rules = command("ip", "netns", "exec", NAMESPACE, "nft", "add", "table", "inet", "probe")
    if up.returncode or rules.returncode:
        command("ip", "netns", "del", NAMESPACE)
        return f"nft does not work here: {(up.stderr + rules.stderr).strip()}"
    return None


class Lossy(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.missing = why_not()

    @classmethod
    def tearDownClass(cls):
        if not cls.missing:
            command("ip", "netns", "del", NAMESPACE)
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        if self.missing:
            self.skipTest(f"NOT TESTED: {self.missing}")

    def nft(self, rules):
        set_up = command("ip", "netns", "exec", NAMESPACE, "nft", "-f", "-", input=rules)
        if set_up.returncode:
            self.skipTest(f"NOT TESTED: this kernel's nftables cannot: {set_up.stderr.strip()}")

    def lose(self, per_mille, twice=0, late=0):
        """So many of a thousand datagrams: all of them lost at 1000, none at 0; come twice; go through a slow queue, so that
        others overtake them. What is lost is counted; at 0 what comes."""
        which = {0: "counter", 1000: "counter drop"}.get(per_mille, f"numgen random mod 1000 < {per_mille} counter drop")
        rule = f"  meta l4proto udp {which}\n"
        rules = f"flush ruleset\ntable inet loss {{\n chain in {{\n  type filter hook input priority 0; policy accept;\n{rule} }}\n}}\n"
        if twice:
            rules += ("table netdev twice {\n chain in {\n  type filter hook ingress device lo priority 0; policy accept;\n"
                      f"  meta l4proto udp numgen random mod 1000 < {twice} counter dup to \"lo\"\n }}\n}}\n")
        if late:
            for words in ("qdisc add dev lo root handle 1: htb default 1", "class add dev lo parent 1: classid 1:1 htb rate 10gbit",
                          "class add dev lo parent 1: classid 1:3 htb rate 60mbit ceil 60mbit"):
                set_up = command("tc", "-n", NAMESPACE, *words.split())
                if set_up.returncode:
                    self.skipTest(f"NOT TESTED: this kernel has no slow queue: tc {words}: {set_up.stderr.strip()}")
            rules += ("table inet late {\n chain out {\n  type route hook output priority mangle; policy accept;\n"
                      f"  meta l4proto udp numgen random mod 1000 < {late} counter meta priority set 1:3\n }}\n}}\n")
        self.nft(rules)

    def counted(self, table="inet loss"):
        """Datagrams that its rule has met."""
        rules = command("ip", "netns", "exec", NAMESPACE, "nft", "list", "table", *table.split()).stdout
        return int(rules.split("counter packets ")[1].split()[0])

    def run_there(self, events, directory):
        ended = subprocess.run(["ip", "netns", "exec", NAMESPACE, PROGRAM, "run", str(REPLAY), "--source", str(BES3), "--events", str(events),
                                "--dir", str(directory), "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def assertWhole(self, ended, events, directory):
        result = self.assertEnds(ended, 0).json
        self.assertEqual(result["events"], {"triggers": events, "accepted": events, "rejected": 0, "built": events, "incomplete": 0,
                                            "recorded": events})
        self.assertBalances(result)
        self.assertRecorded(directory, range(1, events + 1))

    def test_one_and_five_per_cent_of_the_datagrams_lost_cost_no_event_and_no_bit(self):
        for per_mille in (10, 50):
            with self.subTest(per_mille=per_mille):
                self.lose(per_mille)
                directory = self.folder / f"lost{per_mille}"
                ended = self.run_there(1500, directory)
                self.assertGreater(self.counted(), 20, f"nothing was lost: this test tests nothing; {ended}")
                self.assertWhole(ended, 1500, directory)

    def test_doubles_and_datagrams_that_are_overtaken_on_top_of_losses_cost_no_event_and_no_bit(self):
        self.lose(10, twice=30, late=50)
        directory = self.folder / "disorder"
        ended = self.run_there(1500, directory)
        for table in ("inet loss", "netdev twice", "inet late"):
            self.assertGreater(self.counted(table), 20, f"{table} met nothing: this test tests nothing; {ended}")
        result = self.assertEnds(ended, 0).json
        counters = [station["counters"] for station in result["stations"] if station["kind"] == "build"]
        self.assertGreater(sum(builder["late_or_double"] for builder in counters), 0, counters)
        self.assertWhole(ended, 1500, directory)

    def test_two_seconds_without_any_datagram_are_a_pause(self):
        self.lose(0)
        directory = self.folder / "dark"
        dropped = []

        def go_dark():
            wait_until(lambda: self.counted() > 2000, "the run takes data")
            self.lose(1000)
            time.sleep(2.0)
            dropped.append(self.counted())
            self.lose(0)

        dark = threading.Thread(target=go_dark)
        dark.start()
        ended = self.run_there(20000, directory)
        dark.join()
        self.assertGreater(dropped[0], 20, f"the run was over before: this test tests nothing; {ended}")
        result = self.assertEnds(ended, 0).json
        self.assertEqual(result["events"]["recorded"], 20000)
        self.assertEqual(result["events"]["incomplete"], 0)
        self.assertBalances(result)


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
