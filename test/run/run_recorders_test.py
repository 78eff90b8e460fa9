# SPDX-License-Identifier: Apache-2.0
"""A partition with three recorders and one catalogue in PostgreSQL: recorders are killed and stand still while it runs, with
filters before them and without. Every accepted event is in the files of one of them once, and the catalogue says the same."""
import collections
import os
import signal
import struct
import sys

import postgres_server
from recorder_files import RawFile, expect
from run_test import Partition
from weir_process import wait_until
from weir_program import SKIPPED, ProgramTest, main, run

NAMES = ("rec-1", "rec-2", "rec-3")


def partition(uri, filters):
    filtering = '[filter.ef-1]\nselection = "all"\nworkers_are = "threads"\n[filter.ef-2]\nselection = "all"\nworkers_are = "threads"\n'
    recording = "".join(f'[record.{name}]\nproject = "data_shared"\ncatalogue = "{uri}"\nfile_events_max = 200\n' for name in NAMES)
    return f"""[partition]
name = "shared"
[run]
restarts_max = 100
[readout.ros-1]
source = "generator"
robs = 2
first_source = "0x420000"
rob_size = "1kB"
[supervise.l2sv]
events = 0
rate = 400
regions = 0
[assign.dfm]
[select.l2pu-1]
selection = "all"
workers_are = "threads"
[build.sfi-1]
[build.sfi-2]
{filtering if filters else ""}{recording}"""


def global_id(event):
    word = lambda at: struct.unpack_from("<I", event, at)[0]
    expect(word(0) == 0xAA1234AA and word(12) >> 16 == 0x0500, "not an event of format 5.0")
    at = 4 * (7 + word(20)) + 8
    return word(at) | word(at + 4) << 32


class SharedCatalogue(ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = postgres_server.PostgresServer(self.folder / "postgres")
        self.addCleanup(self.server.__exit__)

    def hit(self, control, name, number):
        """The recorder gets the signal, events go on, and another process has its place."""
        pid = control.station(name)["pid"]
        os.kill(pid, number)
        built = control.get()["events"]["built"]
        wait_until(lambda: control.get()["events"]["built"] > built + 100, f"events go on without {name}; {control.err}")
        wait_until(lambda: control.station(name)["pid"] not in (0, pid) and control.station(name)["state"] == "running",
                   f"{name} runs again; {control.err}")

    def run_and_count(self, filters, faults):
        file = self.folder / "p.toml"
        file.write_text(partition(self.server.uri, filters))
        with Partition(self.folder, file, source=None) as control:
            control.until_built(300)
            for name, number in faults:
                self.hit(control, name, number)
                control.until_built(control.get()["events"]["built"] + 200)
            self.assertEnds(run("run", "stop", "--dir", control.directory, timeout=120), 0)
            ended = control.wait()
        result = ended.json
        self.assertEqual((result["account"]["lost"], result["account"]["twice"]["events"]), ([], 0), ended.err[-3000:])
        paths = sorted(control.directory.rglob("*.data"))
        self.assertEqual(sorted(control.directory.rglob("*.writing")), [])
        ids, recorders = collections.Counter(), collections.Counter()
        for path in paths:
            for _, event in RawFile(path).events():
                ids[global_id(event)] += 1
                recorders[next(name for name in NAMES if f"._{name}._" in path.name)] += 1
        self.assertEqual([id for id, count in ids.items() if count > 1], [], "events are in files twice")
        self.assertEqual(sorted(ids), list(range(min(ids), max(ids) + 1)), "all were accepted")
        self.assertEqual(len(ids), result["events"]["recorded"])
        self.assertEqual(len(ids), result["events"]["accepted"])
        self.assertEqual(set(recorders), set(NAMES), "each has some")
        rows = self.server.rows("(SELECT recorder, events, file_state FROM reader_files) AS f")
        self.assertEqual({row[2] for row in rows}, {"CLOSED"})
        known = collections.Counter()
        for row in rows:
            known[row[0]] += int(row[1])
        self.assertEqual(dict(known), dict(recorders))
        self.assertEqual(sorted(row[:3] for row in self.server.rows("runs")),
                         [(str(result["run"]), name, "CLOSED") for name in NAMES])
        return result

    def test_behind_filters_recorders_that_are_killed_or_stand_still_lose_nothing_and_store_nothing_twice(self):
        self.run_and_count(True, [("rec-1", signal.SIGKILL), ("rec-2", signal.SIGSTOP), ("rec-3", signal.SIGKILL)])

    def test_nor_where_builders_send_to_them_directly(self):
        self.run_and_count(False, [("rec-2", signal.SIGKILL), ("rec-1", signal.SIGKILL)])


if __name__ == "__main__":
    if postgres_server.absent():
        print(f"NOT TESTED: partitions with a catalogue in PostgreSQL: {postgres_server.absent()}", file=sys.stderr)
        sys.exit(SKIPPED)
    main()
