# SPDX-License-Identifier: Apache-2.0
"""A partition whose level 2 and filters reject at random, as a trigger does: every event is in the account, by its id."""
import unittest

from weir_program import ProgramTest, run

EVENTS = 300_000  # half of them are 75,000 runs of ids
PARTITION = f"""
[partition]
name = "random"
[data]
format = "event-5.0"
[readout.ros-1]
source = "generator"
robs = 1
first_source = "0x420000"
rob_size = "64B"
[supervise.l2sv]
events = {EVENTS}
regions = 1
[select.l2pu-1]
selection = "fraction:0.5"
[assign.dfm]
[build.sfi-1]
[filter.ef-1]
selection = "fraction:0.3"
streams = ["physics_Main"]
[record.rec-1]
"""


class RandomRejection(ProgramTest):
    def test_the_account_of_300000_events_is_exact(self):
        file, directory = self.folder / "p.toml", self.folder / "D"
        file.write_text(PARTITION)
        directory.mkdir()
        result = self.assertEnds(run("run", file, "--dir", directory, "--json", timeout=500), 0).json
        self.assertEqual(result["problems"], [])
        events, account = result["events"], result["account"]
        self.assertEqual(events["triggers"], EVENTS)
        self.assertAlmostEqual(account["accepted"] / EVENTS, 0.5, delta=0.01)
        self.assertAlmostEqual(account["recorded"] / EVENTS, 0.3, delta=0.01)
        self.assertEqual(account["accepted"], account["recorded"] + account["rejected"])
        self.assertEqual((account["lost"], account["twice"]["events"], account["unaccepted"]["events"]), ([], 0, 0))
        recorder = next(s for s in result["stations"] if s["name"] == "rec-1")
        self.assertEqual(recorder["ledger"]["stored"], account["recorded"])


if __name__ == "__main__":
    unittest.main()
