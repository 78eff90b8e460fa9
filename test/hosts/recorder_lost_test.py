# SPDX-License-Identifier: Apache-2.0
"""Two recorders on two machines, of which one is without power for a while: what comes goes to the other one, and every event
that was accepted is in the files of one of them once. The time is printed, and not judged: a machine may be busy."""
import collections
import sys
import time

import hosts as beds
import weir_program
from losses_test import LosingMachines
from recorder_files import RawFile, assert_verified_after_a_loss_of_power, listed
from run_hosts_test import EVENT_ID
from weir_process import wait_until
from weir_program import ProgramTest

PLACES = {"rec-1": "h1", "rec-2": "h3"}


class TwoRecorders(LosingMachines):
    def __init__(self, test):
        super().__init__(test)
        text = self.file.read_text().replace('[build.sfi-2]\nhost = "h3"', '[build.sfi-2]\nhost = "h4"')
        self.file.write_text(text + '[record.rec-2]\nhost = "h3"\n')

    def seconds_until_events_go_on(self):
        """Until a second brings half of what one brought before, from now on."""
        begin = time.monotonic()
        while True:
            before = self.built()
            time.sleep(1)
            if self.built() - before >= 250:
                return time.monotonic() - begin - 1
            if time.monotonic() > begin + 120:
                raise AssertionError(f"events do not go on: {self.errors()[-3000:]}")

    def ids(self):
        found = collections.Counter()
        for name, host in PLACES.items():
            directory = self.bed[host].directory / "weir" / name
            assert_verified_after_a_loss_of_power(self.test, weir_program.run("verify", directory, timeout=300), directory)
            for file in listed(directory):
                for _, event in RawFile(file["path"]).events():
                    found[int.from_bytes(event[EVENT_ID:EVENT_ID + 8], "little")] += 1
        return found


class RecorderLostTest(ProgramTest):
    def test_a_recorder_without_power_keeps_the_others_going_and_has_its_events_once_when_it_is_back(self):
        with TwoRecorders(self) as machines:
            machines.start_run()
            machines.until_built(1000)
            station = machines.station("rec-2")
            machines.bed["h3"].power_off()
            time.sleep(2)  # what is in hand still comes
            seconds = 2 + machines.seconds_until_events_go_on()
            machines.until_built(500)
            machines.bed["h3"].power_on()
            machines.start_agent("h3")
            machines.until(lambda: machines.station("rec-2")["restarts"] > station["restarts"] and machines.runs("rec-2"), "rec-2 is back")
            machines.until_built(500)
            code, result = machines.stop()
            self.assertEqual((result["account"]["lost"], result["account"]["twice"]["events"]), ([], 0), machines.errors()[-3000:])
            ids = machines.ids()
            self.assertEqual([id for id, count in ids.items() if count > 1], [], "events are in files twice")
            self.assertEqual(len(ids), result["events"]["recorded"])
            self.assertEqual(max(ids) - min(ids) + 1, len(ids), "the ids of accepted events have no hole: all were accepted")
            print(f"events went on {seconds:.0f} s after the loss; {len(ids)} events, each once", file=sys.stderr)


if __name__ == "__main__":
    beds.main_with_hosts("a recorder that is lost with its machine")
