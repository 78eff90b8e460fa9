# SPDX-License-Identifier: Apache-2.0
"""Recorders with one catalogue in PostgreSQL: the server crashes under them and comes back, a recorder dies while
it is away, two share a run. What the server knows at the end is what each recorder knows, row for row."""
import sqlite3
import sys

import postgres_server
from recorder_files import ids_by_stream
from weir_process import RecorderProcess, SenderProcess, wait_until
from weir_program import SKIPPED, ProgramTest, main, run

RUN = 7
TABLES = ("runs", "run_parameters", "streams", "lumi_blocks", "files", "file_sums", "file_shares", "lane_marks",
          "ledgers", "ledger_rejections", "transfers")
SMALL = ("--memory", "256MiB", "--event-max", "8MiB", "--file-size-max", "12MiB")


def own_rows(directory, table):
    """The content of the recorder's own file, which never went away."""
    with sqlite3.connect(directory / "weir.catalogue") as own:
        rows = own.execute(f"SELECT * FROM {table}").fetchall()
    return [tuple("" if value is None else str(value) for value in row) for row in rows]


class RecorderPostgres(ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = postgres_server.PostgresServer(self.folder / "postgres")
        self.addCleanup(self.server.__exit__)

    def recorder(self, directory, name="one", **more):
        settings = self.folder / f"{name}.toml"
        settings.write_text('[record]\nstreams_max = 16\n', encoding="ascii")
        return RecorderProcess(self.folder, directory, "--config", settings, "--catalogue", self.server.uri, "--recorder", name,
                               *SMALL, run=more.pop("run", RUN), **more)

    def assertEqualCatalogues(self, *directories):
        for table in TABLES:
            own = sorted(row for directory in directories for row in own_rows(directory, table))
            self.assertEqual(self.server.rows(table), own, table)
        self.assertGreater(len(self.server.rows("files")), 1)

    def wait_for_more(self, recorder, count):
        goal = recorder.metrics()["weir_acknowledged_events_total"] + count
        wait_until(lambda: recorder.metrics()["weir_acknowledged_events_total"] >= goal, f"{count} more are acknowledged")

    def test_a_server_that_crashes_and_a_recorder_that_is_killed_meanwhile_leave_equal_catalogues(self):
        directory = self.folder / "data"
        events = 400
        recorder, sender = self.recorder(directory), None
        try:
            sender = SenderProcess(self.folder, recorder.port, "--events", events, "--rate", 40, "--connections", 2, "--give-up-after", "0s",
                                   run=RUN)
            self.wait_for_more(recorder, 15)
            self.server.stop()
            self.wait_for_more(recorder, 15)  # nothing waits for the server
            recorder.printed("cannot be reached")
            self.assertGreater(recorder.metrics()["weir_catalogue_changes_waiting"], 0)
            recorder.kill()
            recorder = self.recorder(directory, port=recorder.port)
            self.assertIn("continued", recorder.err)
            self.wait_for_more(recorder, 15)
            self.server.start()
            wait_until(lambda: recorder.metrics()["weir_catalogue_changes_waiting"] == 0, "everything was carried over")
            self.assertEqual(sender.report()["events"], {"sent": events, "acknowledged": events, "rejected": 0})
            report = self.assertEnds(recorder.stop(), 0).json
        finally:
            for process in (recorder, sender):
                if process:
                    process.__exit__()
        self.assertEqual(report["copies"]["rejected"], {})
        self.assertEqualCatalogues(directory)
        stored = {name: len(ids) for name, ids in ids_by_stream(directory).items()}
        ledgers = {f"{row[2]}_{row[3]}": int(row[5]) for row in self.server.rows("ledgers")}
        self.assertEqual(ledgers, stored)
        self.assertEqual({row[2] for row in self.server.rows("runs")}, {"CLOSED"})
        listed = self.assertEnds(run("ls", "--json", "--catalogue", self.server.uri), 0).json
        self.assertEqual(listed, self.assertEnds(run("ls", "--json", directory), 0).json)
        verdict = self.assertEnds(run("verify", "--json", "--catalogue", self.server.uri, directory, timeout=300), 0).json
        self.assertEqual((verdict["ok"], verdict["bad"], verdict["notes"]), (len(listed["files"]), [], []))

    def test_what_waits_at_the_end_is_carried_over_by_recover(self):
        directory = self.folder / "data"
        with self.recorder(directory) as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", RUN, "--events", 30), 0)
            self.server.stop()
            ended = self.assertEnds(recorder.stop(), 0)
        self.assertIn("have not reached the shared catalogue", ended.err)
        away = run("record", "--listen", "127.0.0.1:0", "--dir", directory, "--run", RUN + 1, "--catalogue", self.server.uri,
                   "--recorder", "one")
        self.assertEnds(away, 1)
        self.assertRegex(away.err, f"weir record: run {RUN + 1} cannot be opened without the shared catalogue: .*cannot be reached")
        self.server.start()
        self.assertEnds(run("recover", directory, "--catalogue", self.server.uri), 0)
        self.assertEqualCatalogues(directory)

    def test_what_a_hand_off_does_is_known_to_the_server_and_to_the_recorder(self):
        directory, disk = self.folder / "data", self.folder / "disk"
        disk.mkdir()
        handoff = ("handoff", "--dir", directory, "--to", disk, "--once", "--json", "--catalogue", self.server.uri)
        with self.recorder(directory) as recorder:
            self.assertEnds(run("send", "--to", recorder.address, "--run", RUN, "--events", 30), 0)
            self.assertEnds(recorder.stop(), 0)
        self.server.stop()
        away = self.assertEnds(run(*handoff), 0)  # files are handed over all the same
        self.assertIn("have not reached the shared catalogue", away.err)
        self.server.start()
        deleted = self.assertEnds(run(*handoff, "--delete-above", 0, "--delete-age", "0s"), 0).json["deleted"]["files"]
        self.assertGreater(deleted, 0)
        self.assertEqualCatalogues(directory)
        self.assertEqual(len(self.server.rows("transfers")), deleted)
        alone = self.folder / "alone"
        with RecorderProcess(self.folder, alone) as recorder:
            self.assertEnds(recorder.stop(), 0)
        never = run("handoff", "--dir", alone, "--to", disk, "--once", "--catalogue", self.server.uri)
        self.assertEnds(never, 1)
        self.assertIn("is not carried over into a shared one", never.err)

    def test_two_recorders_share_a_run_and_a_catalogue(self):
        directories = [self.folder / "data-one", self.folder / "data-two"]
        with self.recorder(directories[0], "one") as one, self.recorder(directories[1], "two") as two:
            third = run("record", "--listen", "127.0.0.1:0", "--dir", self.folder / "data-three", "--create", "--run", RUN, "--catalogue",
                        self.server.uri, "--recorder", "one")
            self.assertEnds(third, 1)
            self.assertIn("a name of its own", third.err)
            with SenderProcess(self.folder, one.port, "--events", 60, "--name", "a", run=RUN) as to_one, \
                 SenderProcess(self.folder, two.port, "--events", 60, "--first-id", 1000, "--name", "b", run=RUN) as to_two:
                self.assertEqual(to_one.report()["events"]["acknowledged"], 60)
                self.assertEqual(to_two.report()["events"]["acknowledged"], 60)
            self.assertEnds(one.stop(), 0)
            with self.recorder(self.folder / "data-late", "late"):
                pass  # the run is open at two: it may join, and dies
            self.assertEnds(two.stop(), 0)
        self.assertEqual({(row[1], row[2]) for row in self.server.rows("runs")},
                         {("one", "CLOSED"), ("two", "CLOSED"), ("late", "OPENED")})
        with self.recorder(self.folder / "data-late", "late") as late:
            self.assertEnds(late.stop(), 0)
        self.assertEqualCatalogues(*directories, self.folder / "data-late")
        verdict = self.assertEnds(run("verify", "--json", "--run", RUN, "--catalogue", self.server.uri, *directories,
                                      timeout=300), 0).json
        self.assertEqual((verdict["files"], verdict["bad"]), (verdict["ok"], []))
        listed = self.assertEnds(run("ls", "--json", "--catalogue", self.server.uri, "--run", RUN), 0).json["files"]
        self.assertEqual(len(listed), verdict["ok"])
        with self.recorder(directories[0], "one", run=0) as one, self.recorder(directories[1], "two", run=0) as two:
            self.assertEqual({self.assertEnds(one.stop(), 0).json["run"], self.assertEnds(two.stop(), 0).json["run"]},
                             {RUN + 1, RUN + 2})


if __name__ == "__main__":
    if postgres_server.absent():
        print(f"NOT TESTED: recorders with a catalogue in PostgreSQL: {postgres_server.absent()}", file=sys.stderr)
        sys.exit(SKIPPED)
    main()
