# SPDX-License-Identifier: Apache-2.0
"""Alerts of a run, each fired by its real fault in a real partition that a real Prometheus finds by run control, and clear after it."""
import os
import re
import signal
import unittest

import monitored
import weir_program
from free_port import free_port
from weir_process import Process, main_without, wait_until

QUICK = {"run": {"source_silent_after": '"1s"', "silent_after": '"1min"', "restarts_max": "1", "stop_deadline": '"15s"'},
         "supervise.l2sv": {}, "build.sfi-1": {"event_deadline": '"500ms"'}, "build.sfi-2": {"event_deadline": '"500ms"'},
         "record.rec-1": {"file_events_max": "100"}}


def slow_triggers():
    """100 events a second: the credit of the DFM lasts for twenty. Small ones, which fill no disk within two hours."""
    return monitored.GENERATOR.read_text().replace("rate = 1000 ", "rate = 100 ").replace('"2kB"', '"100B"')


@unittest.skipUnless(monitored.PROMETHEUS, monitored.MISSING)
class RunAlerts(weir_program.ProgramTest):
    def setUp(self):
        super().setUp()
        there = self.folder / "there"
        there.mkdir()
        self.there = there
        self.listen = f"127.0.0.1:{free_port()}"
        self.file_text = slow_triggers() + f'[handoff.out]\ndestinations = ["{there}"]\npoll = "50ms"\nretry_most = "500ms"\n'

    def partition(self):
        partition = monitored.Partition(self.folder, "--wait", "--listen", self.listen, changes=dict(QUICK), text=self.file_text)
        self.addCleanup(partition.__exit__)
        return partition

    def frozen(self, partition, name):
        """Its process stands still until this is signalled SIGCONT."""
        pid = partition.station(name)["pid"]
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(self.thawed, pid)
        return pid

    @staticmethod
    def thawed(pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def command(self, partition, command, **more):
        status, text = partition.post("/run", command=command, **more)
        self.assertEqual(status, 200, text)

    def until(self, partition, state):
        wait_until(lambda: partition.get()["state"] == state, lambda: f"the partition is {state}; {partition.err}", poll=0.1)

    def test_every_fault_of_a_run_fires_its_alert_which_clears_when_the_fault_is_gone(self):
        partition = self.partition()
        prometheus = monitored.Prometheus(self.folder, run=partition.address)
        self.addCleanup(prometheus.__exit__)
        self.until(partition, "ready")
        self.command(partition, "start")
        partition.until_recorded(200)
        wait_until(lambda: prometheus.query("sum(rate(weir_copies_stored_total[5s])) > 0"), "Prometheus has two scrapes of the recorder")
        wait_until(lambda: not prometheus.alerts(), lambda: f"nothing is wrong, once all have begun; {prometheus.alerts()}", poll=0.5)

        with self.subTest("a readout stands still: its sources are silent, events lack their fragments, it answers nobody"):
            pid = self.frozen(partition, "ros-2")
            prometheus.until_fires("SourceSilent", "IncompleteEvents", "ScrapeMissing")
            firing = lambda name: prometheus.alerts().get(name, [])
            wait_until(lambda: any("12 sources" in alert["annotations"]["summary"] for alert in firing("SourceSilent")),
                       lambda: f"all its sources are silent; {firing('SourceSilent')}", poll=0.1)
            wait_until(lambda: "ros-2" in {alert["labels"]["station"] for alert in firing("ScrapeMissing")},
                       lambda: f"ros-2 is not scraped; {firing('ScrapeMissing')}", poll=0.1)
            self.thawed(pid)
            prometheus.until_clear("SourceSilent", "IncompleteEvents", "ScrapeMissing")

        with self.subTest("the recorder stands still: events are accepted and none is recorded"):
            pid = self.frozen(partition, "rec-1")
            prometheus.until_fires("EventsNotRecorded")
            self.thawed(pid)
            prometheus.until_clear("EventsNotRecorded")

        with self.subTest("the supervisor stands still: no triggers"):
            pid = self.frozen(partition, "l2sv")
            prometheus.until_fires("NoTriggersInRun")
            self.thawed(pid)
            prometheus.until_clear("NoTriggersInRun")

        with self.subTest("the place of the hand-off is gone: files wait"):
            self.there.rename(self.folder / "away")
            fired = prometheus.until_fires("DestinationDown", "HandoffStuck")
            self.assertIn(str(self.there), fired["DestinationDown"]["labels"]["destination"])
            (self.folder / "away").rename(self.there)
            prometheus.until_clear("DestinationDown", "HandoffStuck")

        with self.subTest("a builder dies: it is replaced; again, which is too often: it stays away until it is replaced by hand"):
            os.kill(partition.station("sfi-2")["pid"], signal.SIGKILL)
            fired = prometheus.until_fires("StationRestarts", "AlarmLatched")
            self.assertEqual(fired["StationRestarts"]["labels"]["station"], "sfi-2")
            wait_until(lambda: partition.station("sfi-2")["state"] == "running", "it runs again", poll=0.1)
            os.kill(partition.station("sfi-2")["pid"], signal.SIGKILL)
            fired = prometheus.until_fires("StationDown")
            self.assertEqual(fired["StationDown"]["labels"]["station"], "sfi-2")
            self.command(partition, "replace", station="sfi-2")
            prometheus.until_clear("StationDown", "StationRestarts")
            for station, address in {"run": partition.address}.items():
                for alarm in partition.get("/alarms")["alarms"]:
                    if alarm["station"] == station and alarm["latched"]:
                        self.assertEqual(partition.post("/alarms/acknowledge", name=alarm["name"], person="ann")[0], 200)
            wait_until(lambda: not [a for a in prometheus.alerts().get("AlarmLatched", []) if a["labels"]["job"] == "weir-run"],
                       lambda: f"no alarm of run control is latched; {prometheus.alerts()}")

        with self.subTest("so the run has ended, and was a bad one; the next one is good"):
            self.until(partition, "ready")
            prometheus.until_fires("RunHadProblems")
            self.command(partition, "start")
            wait_until(lambda: partition.get()["events"]["recorded"] > 50, "events are recorded")
            self.command(partition, "stop")
            self.until(partition, "ready")
            prometheus.until_clear("RunHadProblems")

        with self.subTest("run control is killed, and started again"):
            partition.kill()
            prometheus.until_fires("RunControlGone")
            again = self.partition()
            self.until(again, "ready")
            prometheus.until_clear("RunControlGone")
            self.assertEnds(again.stop(), 0)

    def test_an_agent_that_stands_still_makes_its_machine_suspected_until_it_answers_again(self):
        agents, text = {}, monitored.GENERATOR.read_text()
        for name in ("h1", "h2"):
            address = f"127.0.0.1:{free_port()}"
            agents[name] = Process(self.folder, "host", "--name", name, "--listen", address, "--dir", self.folder / name)
            self.addCleanup(agents[name].__exit__)
            text += f'[hosts.{name}]\naddress = "{address}"\n'
        on_one = {section: {"host": '"h1"'} for section in re.findall(r"(?m)^\[(\w+\.[\w-]+)\]", text) if not section.startswith("hosts.")}
        partition = monitored.Partition(self.folder, "--wait", changes=on_one, text=text)
        self.addCleanup(partition.__exit__)
        prometheus = monitored.Prometheus(self.folder, run=partition.address)
        self.addCleanup(prometheus.__exit__)
        self.until(partition, "ready")
        wait_until(lambda: len(prometheus.query('up{job="weir",host="h1"} == 1')) == 12, "Prometheus reads the stations and their agent through it")
        wait_until(lambda: len(prometheus.query("weir_host_up == 1")) == 2, "both machines are up")
        os.kill(agents["h2"].pid, signal.SIGSTOP)
        fired = prometheus.until_fires("HostSuspected")
        self.assertEqual(fired["HostSuspected"]["labels"]["host"], "h2")
        os.kill(agents["h2"].pid, signal.SIGCONT)
        prometheus.until_clear("HostSuspected")
        self.assertEnds(partition.stop(), 0)
        for agent in agents.values():
            self.assertEnds(agent.stop(), 0)


if __name__ == "__main__":
    main_without(None if monitored.PROMETHEUS else monitored.MISSING)
