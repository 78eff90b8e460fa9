# SPDX-License-Identifier: Apache-2.0
"""The same run with its stations as children of run control, and through an agent: as fast, and as costly. Pairs, in an order that changes.
Builders have credit for more events than the recorder syncs at once, so that the processors are the limit. The figures are printed, and not
judged: a machine may be busy. `./run throughput PAIRS EVENTS` takes more."""
import json
import os
import resource
import socket
import statistics
import subprocess
import sys

import weir_program
from free_port import free_port
from weir_process import wait_until
from weir_program import ProgramTest

PAIRS, EVENTS = int(os.environ.get("WEIR_PAIRS", 1)), int(os.environ.get("WEIR_EVENTS", 2000))
PARTITION = """
[partition]
name = "throughput"
[network]
link = "tcp"
{hosts}
[readout.ros-1]
source = "generator"
robs = 6
first_source = "0x420000"
rob_size = "1kB"
[readout.ros-2]
source = "generator"
robs = 6
first_source = "0x430000"
rob_size = "1kB"
[supervise.l2sv]
events = {events}
[assign.dfm]
events_max = 8000
[build.sfi-1]
events_max = 2000
[build.sfi-2]
events_max = 2000
[record.rec-1]
"""


def cpu_seconds():
    """Of all that this process has started and that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def answers(address):
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), 60).close()
        return True
    except ConnectionRefusedError:
        return False


class AgentThroughputTest(ProgramTest):
    def take(self, name, hosts):
        """Events a second, and events a CPU-second."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "p.toml").write_text(PARTITION.format(hosts=hosts, events=EVENTS))
        begin = cpu_seconds()
        agent = None
        if hosts:
            address = hosts.split('"')[1]
            agent = subprocess.Popen([weir_program.PROGRAM, "host", "--name", "h1", "--listen", address, "--dir", folder / "agent"],
                                     stdout=subprocess.DEVNULL)
        try:
            if agent:
                wait_until(lambda: answers(address), "the agent listens", poll=0.05)
            ended = weir_program.run("run", folder / "p.toml", "--dir", folder / "run", "--json", timeout=600)
        finally:
            if agent:
                agent.terminate()
                agent.wait(60)
        result = json.loads(self.assertEnds(ended, 0).out)
        self.assertEqual((result["events"]["recorded"], result["problems"]), (EVENTS, []))
        return EVENTS / result["seconds"], EVENTS / (cpu_seconds() - begin)

    def test_a_run_through_an_agent_records_what_one_without_does(self):
        rates, costs = [], []
        for pair in range(PAIRS):
            found = {}
            for through_agent in (False, True) if pair % 2 == 0 else (True, False):
                hosts = f'[hosts.h1]\naddress = "127.0.0.1:{free_port()}"' if through_agent else ""
                found[through_agent] = self.take(f"{pair}-{'with' if through_agent else 'without'}", hosts)
            rates.append(found[True][0] / found[False][0])
            costs.append(found[True][1] / found[False][1])
            print(f"pair {pair + 1} of {PAIRS}: {found[True][0]:,.0f} events/s with an agent, {found[False][0]:,.0f} without", file=sys.stderr)
        for what, ratios in (("events a second", rates), ("events a CPU-second", costs)):
            print(f"{what}, with an agent to without: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}", file=sys.stderr)


if __name__ == "__main__":
    weir_program.main()
