# SPDX-License-Identifier: Apache-2.0
"""docs/monitoring.md, typed as it stands: a run, Prometheus, Alertmanager and the webhook, with other ports; a builder that dies is a line
of the webhook. And that the example files are good for the programs that read them."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

import monitored
import weir_program
from free_port import free_port
from weir_process import main_without, wait_until

PAGE = monitored.ROOT / "docs" / "monitoring.md"
PORTS = ("9400", "9090", "9093", "9095")
AMTOOL, ALERTMANAGER = shutil.which("amtool"), shutil.which("prometheus-alertmanager")
ABSENT = None if monitored.PROMETHEUS and AMTOOL and ALERTMANAGER else "docs/monitoring.md: install prometheus and prometheus-alertmanager (tools/setup --dev)"


class Page(weir_program.ProgramTest):
    def check(self, *command):
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    @unittest.skipIf(ABSENT, str(ABSENT))
    def test_what_the_page_says_is_typed_and_an_alert_arrives(self):
        ports = {port: str(free_port()) for port in PORTS}
        moved = lambda text: re.sub(r"\b(%s)\b" % "|".join(PORTS), lambda m: ports[m[1]], text)
        place = self.folder / "place"
        (place / "examples").mkdir(parents=True)
        shutil.copy(monitored.GENERATOR, place / "examples")
        shutil.copytree(monitored.ROOT / "monitoring", place / "monitoring")
        for example in (place / "monitoring").glob("*.example.yml"):
            example.write_text(moved(example.read_text()))
        self.check(monitored.PROMTOOL, "check", "config", place / "monitoring" / "prometheus.example.yml")
        self.check(AMTOOL, "check-config", place / "monitoring" / "alertmanager.example.yml")

        text = PAGE.read_text()
        typed = re.search(r"(?s)```sh\n(.*?)```", text)[1].splitlines()
        promised = re.search(r"(?m)^FIRING .*$", text)[0]
        outputs, processes = [], []
        for number, line in enumerate(typed):
            words = shlex.split(moved(line))
            words[:1] = [weir_program.PROGRAM] if words[0] == "weir" else [sys.executable, "-B", words[0]] if "/" in words[0] else words[:1]
            outputs.append(self.folder / f"output-{number}")
            with open(outputs[-1], "wb") as output:
                processes.append(subprocess.Popen(words, cwd=place, stdin=subprocess.DEVNULL, stdout=output, stderr=output))
            self.addCleanup(self.end, processes[-1])
        heard = lambda: [output.read_text(errors="replace")[-1500:] for output in outputs]
        run_control = json.loads(wait_until(lambda: self.read(place / "D" / "run-control.json"), lambda: f"run control; {heard()}"))["control"]
        partition = lambda: json.loads(monitored.get(f"http://{run_control}/partition"))
        wait_until(lambda: partition()["state"] == "running", lambda: f"a run; {heard()}")
        scraped = "increase(weir_station_restarts_total[15m])"

        def seen_by_prometheus():
            try:
                return len(json.loads(monitored.get(f"http://127.0.0.1:{ports['9090']}/api/v1/query?query={scraped}"))["data"]["result"]) == 11
            except OSError:
                return False
        wait_until(seen_by_prometheus, lambda: f"Prometheus has read run control twice; {heard()}", poll=0.2)
        builder = next(station for station in partition()["stations"] if station["name"] == "sfi-1")
        os.kill(builder["pid"], signal.SIGKILL)
        wait_until(lambda: promised in outputs[3].read_text().splitlines(), lambda: f"{promised!r}; {heard()}", poll=0.2)

    @staticmethod
    def read(path):
        try:
            return path.read_text()
        except FileNotFoundError:
            return None

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def test_the_page_names_every_alert_and_every_link_leads_somewhere(self):
        text = PAGE.read_text()
        for name in re.findall(r"- alert: (\w+)", monitored.RULES.read_text()):
            self.assertIn(f"[{name}](alerts/{name}.md)", text)
        for page in [PAGE, monitored.ROOT / "docs" / "metrics.md", *(monitored.ROOT / "docs" / "alerts").glob("*.md")]:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")


if __name__ == "__main__":
    main_without(ABSENT)
