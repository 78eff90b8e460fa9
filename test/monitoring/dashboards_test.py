# SPDX-License-Identifier: Apache-2.0
"""Grafana's dashboards: as their description says, fit to be provisioned, and each query of each panel has an answer in a real Prometheus that
scraped a real run with every kind of station."""
import json
import re
import subprocess
import sys
import unittest

import monitored
import weir_program
from weir_process import main_without, wait_until

MADE = sorted((monitored.ROOT / "monitoring" / "grafana").glob("*.json"))


class Dashboards(weir_program.ProgramTest):
    def test_they_are_what_the_description_makes(self):
        made = subprocess.run([sys.executable, "-B", monitored.ROOT / "monitoring" / "dashboards", "--check"], capture_output=True, text=True, timeout=60)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertGreater(len(MADE), 2)

    def test_each_can_be_provisioned_with_any_data_source(self):
        uids = set()
        for file in MADE:
            board = json.loads(file.read_text())
            self.assertNotIn("__inputs", board)
            self.assertNotIn("id", board)
            uids.add(board["uid"])
            self.assertEqual(file.stem, board["uid"])
            self.assertEqual([v["type"] for v in board["templating"]["list"] if v["name"] == "datasource"], ["datasource"])
            taken = set()
            for panel in board["panels"]:
                place = panel["gridPos"]
                cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
                self.assertFalse(cells & taken, f"{file.name}: {panel['title']} lies on another panel")
                self.assertLessEqual(place["x"] + place["w"], 24)
                taken |= cells
                for part in [panel, *panel["targets"]]:
                    self.assertEqual(part["datasource"], {"type": "prometheus", "uid": "${datasource}"})
            self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))
        self.assertEqual(len(uids), len(MADE))

    @unittest.skipUnless(monitored.PROMETHEUS, monitored.MISSING)
    def test_no_panel_is_empty_after_a_run_with_every_kind_of_station(self):
        with monitored.Partition(self.folder, changes=monitored.MONITOR | monitored.NOTIFIER) as partition:
            prometheus = monitored.Prometheus(self.folder, run=partition.address)
            self.addCleanup(prometheus.__exit__)
            partition.until_recorded(2000)
            empty = None

            def all_answered():
                nonlocal empty
                empty = [f"{file.stem}: {panel['title']}: {target['expr']}" for file in MADE for panel in json.loads(file.read_text())["panels"]
                         for target in panel["targets"]
                         if not prometheus.query(re.sub(r" == [01]\) or vector\(0\)$", ")", target["expr"]).replace("$partition", ".*").replace("$__rate_interval", "5s"))]
                return not empty
            wait_until(all_answered, lambda: "these queries have an answer:\n" + "\n".join(empty), seconds=60, poll=1)


if __name__ == "__main__":
    main_without(None if monitored.PROMETHEUS else monitored.MISSING)
