# SPDX-License-Identifier: Apache-2.0
"""weir bench serialize at its smallest."""
import weir_program
from weir_program import ProgramTest, run


class BenchSerialize(ProgramTest):
    def test_a_quick_run_visits_each_point_once_however_busy_the_machine_is(self):
        done = self.assertEnds(run("bench", "serialize", "--quick", "--json", timeout=500), 0)
        times = [row["parameters"] for row in done.json["rows"] if row["name"] == "time"]
        self.assertTrue(times)
        self.assertEqual({point["batches_taken"] for point in times}, {2})  # those of one visit


if __name__ == "__main__":
    weir_program.main()
