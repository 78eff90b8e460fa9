# SPDX-License-Identifier: Apache-2.0
"""What tests of the monitoring share: a partition of all kinds of stations, a real Prometheus that finds them by run control, and the
rules of monitoring/ with shorter times."""
import http.client
import json
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import run_test
from free_port import free_port
from weir_process import Process, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "monitoring" / "weir.rules.yml"
GENERATOR = ROOT / "examples" / "generator.toml"
PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
MISSING = "alerts and metrics with a real Prometheus: install Debian's prometheus (tools/setup --dev)"


def get(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


# Of the partition's file, for a test that wants to see all there is: a monitor, and a notifier with something to tell.
MONITOR = {"monitor.beam": {"monitor": f'"{ROOT}/examples/testbeam/beam_monitor.py"'}}
NOTIFIER = {"notify.shift": {"command": '["true"]', "on": '["start", "stop"]'}}


class Partition(run_test.Partition):
    """The generator's partition with a hand-off to a directory, in the background. `changes`: keys by section."""

    def __init__(self, folder, *arguments, changes=None, more="", text=None):
        self.folder = pathlib.Path(folder)
        self.directory, self.there = self.folder / f"D{Process.count}", self.folder / f"there{Process.count}"
        self.there.mkdir()
        self.file = self.folder / f"p{Process.count}.toml"
        changes = {"record.rec-1": {"file_events_max": "500"}, **(changes or {})}
        lines = []
        for line in (text or GENERATOR.read_text()).splitlines():
            lines.append(line)
            section = re.match(r"\[(.+)\]", line)
            lines += [f"{key} = {value}" for key, value in changes.pop(section.group(1), {}).items()] if section else []
        lines += [f"[handoff.out]\ndestinations = [\"{self.there}\"]\npoll = \"50ms\""] if text is None else []
        for section, keys in changes.items():
            lines += [f"[{section}]", *(f"{key} = {value}" for key, value in keys.items())]
        self.file.write_text("\n".join(lines) + f"\n{more}\n")
        super().__init__(folder, self.file, *arguments, directory=self.directory, source=None)
        self.address = self.place()

    def text(self, path):
        return get(f"http://{self.address}{path}")

    def post(self, path, **document):
        host, port = self.address.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        try:
            connection.request("POST", path, json.dumps(document), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def until_recorded(self, events):
        wait_until(lambda: self.get()["events"]["recorded"] >= events, lambda: f"{events} events recorded; {self.err}", poll=0.1)

    def __exit__(self, *_):
        """Its stations end before it does: what they write is in a folder that goes."""
        if self.running():
            self.signal(signal.SIGCONT)
            self.stop()
        super().__exit__()

    def targets(self):
        """{station: (where its metrics are, kind)}, as Prometheus finds them."""
        return {entry["labels"]["station"]: (f"http://{entry['targets'][0]}{entry['labels']['__metrics_path__']}", entry["labels"]["kind"])
                for entry in self.get("/targets")}


# The rules, in a test's time --------------------------------------------------------------------------

def seconds_of(duration):
    return sum(int(number) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit] for number, unit in re.findall(r"(\d+)([smhd])", duration))


def scaled_rules(text, by=900, window_least=5, thresholds=()):
    """The rules with `for` and windows `by` times shorter. A window keeps some scrapes of a second each, and that of rules with an
    increase above 0 so many that a stall of the machine does not hide it. Limits in hours
    ("N * 3600") or minutes ("N * 60") of the alerts in `thresholds` are `by` times smaller too; all other limits are as they are."""
    rules = []
    for rule in re.split(r"(?m)^(?=      - alert: )", text):
        rule = re.sub(r"(?m)^(\s+for: )(\S+)$", lambda m: f"{m[1]}{max(1, round(seconds_of(m[2]) * 1000 / by))}ms", rule)
        least = window_least * 3 if re.search(r"increase\([^)]*\) > 0", rule) else window_least
        rule = re.sub(r"\[(\w+)\]", lambda m: f"[{max(least, round(seconds_of(m[1]) / by))}s]", rule)
        name = re.search(r"- alert: (\w+)", rule)
        if name and name[1] in thresholds:
            rule = re.sub(r"(\d+) \* (3600|60)\b", lambda m: f"{int(m[1]) * int(m[2]) / by:g}", rule)
        rules.append(rule)
    return "".join(rules)


class Prometheus:
    """A real one, which scrapes each second. `run`: address of a run control; `stations`: {name: address} that no run control names."""

    def __init__(self, folder, run=None, partition="generator", stations=None, thresholds=("HandoffStuck", "NoTriggersInRun"), rules=True):
        self.folder = pathlib.Path(folder) / f"prometheus-{free_port()}"
        self.folder.mkdir()
        self.address = f"127.0.0.1:{free_port()}"
        jobs = []
        if run:
            jobs.append({"job_name": "weir-run", "static_configs": [{"targets": [run], "labels": {"partition": partition}}]})
        found = {"http_sd_configs": [{"url": f"http://{run}/targets", "refresh_interval": "1s"}]} if run else {}
        given = [{"targets": [address], "labels": {"station": name}} for name, address in (stations or {}).items()]
        jobs.append({"job_name": "weir", **found, "static_configs": given})
        (self.folder / "rules.yml").write_text(scaled_rules(RULES.read_text(), thresholds=thresholds))
        settings = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "500ms"},
                    "rule_files": [str(self.folder / "rules.yml")] if rules else [], "scrape_configs": jobs}
        (self.folder / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
        self.err = open(self.folder / "err", "wb")
        self.process = subprocess.Popen([PROMETHEUS, f"--config.file={self.folder / 'prometheus.yml'}", f"--storage.tsdb.path={self.folder / 'data'}",
                                         f"--web.listen-address={self.address}", "--log.level=warn"], stdout=self.err, stderr=self.err)
        wait_until(self._ready, lambda: f"Prometheus is ready; {(self.folder / 'err').read_text()}")

    def _ready(self):
        try:
            return bool(get(f"http://{self.address}/-/ready"))
        except (urllib.error.URLError, ConnectionError):
            if self.process.poll() is not None:
                raise AssertionError(f"Prometheus has ended: {(self.folder / 'err').read_text()}") from None
            return False

    def query(self, expression):
        """[(labels, value)] now."""
        text = get(f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        return [(entry["metric"], float(entry["value"][1])) for entry in json.loads(text)["data"]["result"]]

    def alerts(self):
        """{name of an alert that fires: [it]}"""
        firing = {}
        for alert in json.loads(get(f"http://{self.address}/api/v1/alerts"))["data"]["alerts"]:
            if alert["state"] == "firing":
                firing.setdefault(alert["labels"]["alertname"], []).append(alert)
        return firing

    def until_fires(self, *names):
        """Waits for all of them; returns the first of each."""
        wait_until(lambda: set(names) <= set(self.alerts()), lambda: f"{names} fire; there are {sorted(self.alerts())}", poll=0.1)
        fired = {name: self.alerts().get(name, [None])[0] for name in names}
        for name, alert in fired.items():
            text = json.dumps(alert["annotations"]) if alert else ""
            if "<no value>" in text or "<error" in text:
                raise AssertionError(f"{name}: {text}")
        return fired

    def until_clear(self, *names):
        wait_until(lambda: not set(names) & set(self.alerts()), lambda: f"{names} are clear; there are {sorted(self.alerts())}", poll=0.1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.err.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.err.close()
