# SPDX-License-Identifier: Apache-2.0
"""many_stations.py [HOSTS STATIONS SECONDS]: what run control costs with so many stations (50, 1000) over agents, and how soon it sees
that one of them has died. Agents and stations are simulated by one program (many_stations), of which only processes and ports are real. Prints
one line of JSON; `./run stations` runs it."""
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")
WEIR = os.environ["WEIR_PROGRAM"]


def until(condition, what, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    sys.exit(f"waited {seconds} s, and not: {what}")


def cpu_seconds(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def threads(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


class Partition:
    def __init__(self, folder, hosts, stations):
        self.stations = stations
        simulator = pathlib.Path(WEIR).with_name("many_stations")
        self.simulator = subprocess.Popen([simulator, str(hosts), str(stations), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.simulator.stdout.readline() != "ready\n":
            sys.exit("many_stations did not come up")
        self.directory = folder / "run"
        self.begin = time.monotonic()
        self.run = subprocess.Popen([WEIR, "run", folder / "partition.toml", "--dir", self.directory, "--json"], stdout=subprocess.DEVNULL,
                                    stderr=open(folder / "run.err", "w"))

    def get(self, path="/partition"):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=60) as answer:
            return json.loads(answer.read())

    def until_runs(self):
        place = self.directory / "run-control.json"
        self.address = until(lambda: place.exists() and json.loads(place.read_text())["control"], "run control answers")
        log = self.directory / "log" / "run.log"
        until(lambda: log.exists() and "is ready" in log.read_text(), "the partition is ready")
        ready = time.monotonic() - self.begin
        until(lambda: "run 1 runs" in log.read_text(), "the run runs")
        return ready, time.monotonic() - self.begin

    def simulated(self):
        """CPU seconds of agents and stations so far."""
        task = f"/proc/{self.simulator.pid}/task/{self.simulator.pid}/children"
        return sum(cpu_seconds(pid) for pid in [self.simulator.pid, *pathlib.Path(task).read_text().split()])

    def death(self, station):
        """Seconds until run control has seen that it died, by its log."""
        name, log = station["name"], self.directory / "log" / "run.log"
        size = log.stat().st_size
        os.kill(station["pid"], signal.SIGKILL)
        begin = time.monotonic()

        def seen():
            with open(log) as file:
                file.seek(size)
                return f"station {name} on {station['host']} was ended by" in file.read()

        until(seen, f"{name} is missed", 60)
        seconds = time.monotonic() - begin
        until(lambda: next(s for s in self.get()["stations"] if s["name"] == name)["state"] == "running", f"{name} is back")
        return seconds

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Also when a wait was in vain: nothing of it is left behind."""
        self.run.send_signal(signal.SIGINT)
        try:
            self.run.wait(120)
        except subprocess.TimeoutExpired:
            self.run.kill()
        self.simulator.stdin.close()
        self.simulator.wait(120)


def main():
    hosts, stations, seconds = (int(word) for word in (sys.argv[1:4] + ["50", "1000", "20"][len(sys.argv) - 1:]))
    with tempfile.TemporaryDirectory(prefix="weir-stations-") as folder, Partition(pathlib.Path(folder), hosts, stations) as partition:
        ready, runs = partition.until_runs()
        time.sleep(3)
        before, begin = cpu_seconds(partition.run.pid), time.monotonic()
        simulated = partition.simulated()
        time.sleep(seconds)
        passed = time.monotonic() - begin
        cores = (cpu_seconds(partition.run.pid) - before) / passed
        simulated = (partition.simulated() - simulated) / passed
        chance = random.Random(1)
        victims = chance.sample([s for s in partition.get()["stations"] if s["kind"] == "build"], 10)
        deaths = [partition.death(station) for station in victims]
        print(json.dumps({"hosts": hosts, "stations": stations, "ready_s": round(ready, 2), "running_s": round(runs, 2),
                          "run_control_cores": round(cores, 3), "run_control_threads": threads(partition.run.pid),
                          "simulator_cores": round(simulated, 3), "death_seen_s": {"median": round(statistics.median(deaths), 3),
                                                                                  "max": round(max(deaths), 3)}}))


if __name__ == "__main__":
    main()
