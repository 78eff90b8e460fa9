# SPDX-License-Identifier: Apache-2.0
"""Three recorders of one run on three machines with one catalogue in PostgreSQL, which are killed or lose the power of their machine
under load of `weir send` and of a program with the C library on a fourth one: counted as in several_recorders_test.py.

WEIR_LOSSES is how often (the second number of ./run recorders); WEIR_SEED repeats which and when.
"""
import os
import sys
import time

import hosts as beds
import postgres_server
import several_recorders_test as several
from recorder_files import assert_verified_after_a_loss_of_power
from weir_program import SKIPPED, run

several.KILLS = int(os.environ.get("WEIR_LOSSES") or 3)
PLACES = dict(zip(several.NAMES, ("h1", "h2", "h3")))


class RecordersLostTest(several.SeveralRecorders):
    def setUp(self):
        super().setUp()
        self.bed = beds.Hosts(self.folder / "bed", ["h1", "h2", "h3", "h4"])
        self.addCleanup(self.bed.close)
        self.server.__exit__()
        self.server = postgres_server.PostgresServer(self.bed.shared / "pg")  # its socket is in a file system that all machines have
        self.addCleanup(self.server.__exit__)
        self.config = self.bed.shared / "record.toml"
        self.config.write_text("[record]\nfile_events_max = 80\nstreams_max = 16\n")
        self.senders_on = self.bed["h4"]
        self.power_offs = 0

    def directory(self, name):
        return self.bed[PLACES[name]].directory / "data"

    def recorder(self, name, port=None):
        return super().recorder(name, port, "--plain", on=self.bed[PLACES[name]])

    def lose(self, name, recorder, away):
        if self.random.random() < 0.5:
            return super().lose(name, recorder, away)
        machine = self.bed[PLACES[name]]
        machine.power_off()
        recorder.wait()
        self.power_offs += 1
        time.sleep(away)
        machine.power_on()
        return self.recorder(name, recorder.port)

    def assertVerified(self):
        """What recovery has set aside after a loss of power is named until somebody has looked; nothing else is."""
        print(f"{self.power_offs} of them with the power of their machine", file=sys.stderr)
        directories = [self.directory(name) for name in several.NAMES]
        ended = run("verify", "--run", several.RUN, "--catalogue", self.server.uri, *directories, timeout=600)
        assert_verified_after_a_loss_of_power(self, ended, *directories)


if __name__ == "__main__":
    if postgres_server.absent() or not several.SEND_MANY:
        print(f"NOT TESTED: {postgres_server.absent() or 'no client library was built (WEIR_SEND_MANY)'}", file=sys.stderr)
        sys.exit(SKIPPED)
    beds.main_with_hosts("three recorders on three machines")
