# SPDX-License-Identifier: Apache-2.0
"""The rules of monitoring/weir.rules.yml in made series, by promtool: each alert is silent before its fault, waits for its `for`, fires
in the fault and is clear after it; each has its severity and a page."""
import json
import re
import subprocess
import unittest

import monitored
import weir_program
from weir_process import main_without

STEP = 15                        # seconds between samples
FINE, FAULT, AFTER = 40, 80, 480  # samples: 10 minutes, 20 minutes, 2 hours


def level(good, bad):
    return [good] * FINE + [bad] * FAULT + [good] * AFTER


def counter(good, bad):
    """By what a counter rises from sample to sample."""
    values, sum_of_all = [], 0
    for step in level(good, bad):
        sum_of_all += step
        values.append(sum_of_all)
    return values


def histogram(name, labels, good, bad):
    """Every time is `good`, in the fault every time is `bad` (the upper ends of their bins)."""
    bins = ["0.25", "1", "2.5", "10", "+Inf"]
    steps = lambda end: (5 if bins.index(good) <= bins.index(end) else 0, 5 if bins.index(bad) <= bins.index(end) else 0)
    return {f'{name}_bucket{{{labels},le="{end}"}}': counter(*steps(end)) for end in bins}


RUN = 'partition="p"'
REC = 'partition="p",station="rec-1"'
OUT = 'partition="p",station="out",destination="d"'
# What happens: series by name. The fault lies between FINE and FINE + FAULT.
CASES = {
    "StationDown": {f'weir_station_up{{{RUN},station="a"}}': level(1, 0)},
    "StationRestarts": {f'weir_station_restarts_total{{{RUN},station="a"}}': counter(0, 1)},
    "ScrapeMissing": {f'up{{job="weir",{REC}}}': level(1, 0)},
    "RunControlGone": {f'up{{job="weir-run",{RUN}}}': level(1, 0)},
    "HostSuspected": {f'weir_host_up{{{RUN},host="h"}}': level(1, 0)},
    "NoTriggersInRun": {f'weir_partition_state{{{RUN},state="running"}}': level(1, 1), f"weir_partition_triggers_total{{{RUN}}}": counter(10, 0),
                        f"weir_partition_run_seconds{{{RUN}}}": level(1000, 1000)},
    "EventsNotRecorded": {f"weir_partition_accepted_events_total{{{RUN}}}": counter(10, 10),
                          f"weir_partition_recorded_events_total{{{RUN}}}": counter(10, 0)},
    "RunHadProblems": {f"weir_last_run_problems{{{RUN}}}": level(0, 2)},
    "IncompleteEvents": {f"weir_partition_incomplete_events_total{{{RUN}}}": counter(0, 1)},
    "SourceSilent": {f"weir_partition_silent_sources{{{RUN}}}": level(0, 3)},
    "SyncSlow": histogram("weir_sync_duration_seconds", f'{REC},volume="/d"', "0.25", "2.5"),
    "AcknowledgementSlow": histogram("weir_acknowledgement_duration_seconds", REC, "0.25", "10"),
    "VolumeFailed": {f'weir_volume_failed{{{REC},volume="/d"}}': level(0, 1)},
    "VolumeFullSoon": {f"weir_until_full_seconds{{{REC}}}": level(100_000, 7000)},
    "RecordingPaused": {f"weir_recording_paused{{{REC}}}": level(0, 1)},
    "FileQuarantined": {f"weir_handoff_quarantined_files_total{{{RUN}}}": counter(0, 1)},
    "FileQuarantined, by a recorder": {f'weir_alarm{{{REC},name="file quarantined: data.00000001"}}': level(0, 1)},
    "HandoffStuck": {f"weir_handoff_oldest_seconds{{{OUT}}}": level(60, 3700)},
    "DestinationDown": {f"weir_handoff_destination_up{{{OUT}}}": level(1, 0)},
    "DestinationLies": {f"weir_handoff_wrong_bytes_total{{{OUT}}}": counter(0, 1)},
    "UnverifiedFiles": {f"weir_handoff_unverified_total{{{OUT}}}": counter(0, 1)},
    "CatalogueBehind": {f"weir_catalogue_changes_waiting{{{REC}}}": level(0, 7)},
    "CertificateEnds": {f'weir_tls_certificate_ends_timestamp_seconds{{{REC},port="data"}}': level(400_000, 100_000)},
    "AlarmLatched": {f'weir_alarm{{{REC},name="disk full: /d"}}': level(0, 1)},
    "ScrubBad": {'weir_scrub_files{directory="/d",status="mismatch"}': level(0, 1)},
}


def rules():
    """{alert: (its severity, its `for` in seconds, its runbook)}"""
    found = {}
    for rule in re.split(r"(?m)^(?=      - alert: )", monitored.RULES.read_text())[1:]:
        value = lambda key, default=None: (re.search(rf"(?m)\b{key}: (\S+?)}}?$", rule) or [None, default])[1]
        found[value("alert")] = (value("severity"), monitored.seconds_of(value("for", "0s")), value("runbook"))
    return found


class Rules(weir_program.ProgramTest):
    def promtool(self, *arguments):
        ended = subprocess.run([monitored.PROMTOOL, *map(str, arguments)], text=True, capture_output=True, timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    @unittest.skipUnless(monitored.PROMTOOL, monitored.MISSING)
    def test_each_fires_after_its_time_in_its_fault_and_is_clear_before_and_after(self):
        self.promtool("check", "rules", monitored.RULES)
        tests = []
        waiting = {alert: waits for alert, (_, waits, _) in rules().items()}
        for case, happens in CASES.items():
            alert = case.split(",")[0]
            waits = waiting[alert]
            fires = lambda at, count: {"expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)', "eval_time": f"{at}s",
                                       "exp_samples": [{"labels": "{}", "value": count}]}
            begins, ends = FINE * STEP, (FINE + FAULT) * STEP
            checks = [fires(begins - STEP, 0), fires(ends - 2 * STEP, 1), fires(ends + 3700, 0)]
            if waits > STEP:
                checks.append(fires(begins + waits - STEP, 0))
            tests.append({"interval": f"{STEP}s", "promql_expr_test": checks,
                          "input_series": [{"series": name, "values": " ".join(map(str, values))} for name, values in happens.items()]})
        file = self.folder / "tests.yml"
        file.write_text(json.dumps({"rule_files": [str(monitored.RULES)], "evaluation_interval": f"{STEP}s", "tests": tests}))  # JSON is YAML
        self.promtool("test", "rules", file)

    @unittest.skipUnless(monitored.PROMTOOL, monitored.MISSING)
    def test_rules_in_a_test_s_time_are_rules(self):
        file = self.folder / "scaled.yml"
        file.write_text(monitored.scaled_rules(monitored.RULES.read_text(), thresholds=("HandoffStuck",)))
        self.promtool("check", "rules", file)
        self.assertIn("weir_handoff_oldest_seconds > 4\n", file.read_text())
        self.assertIn("weir_until_full_seconds < 2 * 3600\n", file.read_text())

    def test_each_has_a_severity_and_a_page_that_says_what_to_do(self):
        self.assertEqual(set(rules()), {case.split(",")[0] for case in CASES})
        for alert, (severity, _, runbook) in rules().items():
            self.assertIn(severity, ("critical", "warning"), alert)
            self.assertEqual(runbook, f"docs/alerts/{alert}.md")
            page = (monitored.ROOT / runbook).read_text()
            self.assertTrue(page.startswith(f"# {alert}\n"), alert)
            for part in ("What it means", "What to look at", "What to do"):
                self.assertIn(f"\n## {part}\n", page, alert)
        pages = {file.stem for file in (monitored.ROOT / "docs" / "alerts").glob("*.md")} - {"README"}
        self.assertEqual(pages, set(rules()))

    def test_every_metric_of_a_rule_is_one_that_is_documented(self):
        documented = (monitored.ROOT / "docs" / "metrics.md").read_text() + (monitored.ROOT / "docs" / "apps" / "scrub.md").read_text()
        for metric in set(re.findall(r"\bweir_[a-z_]+", "".join(re.findall(r"expr: \|\n((?: {10}.*\n)+)", monitored.RULES.read_text())))):
            self.assertIn(re.sub("_bucket$", "", metric), documented)


if __name__ == "__main__":
    main_without(None if monitored.PROMTOOL else monitored.MISSING)
