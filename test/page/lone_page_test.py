# SPDX-License-Identifier: Apache-2.0
"""The page of stations that run alone, in a real browser: of weir record, weir handoff and weir demo."""
import sys

import browser
import postgres_server
import weir_program
from browser import Browser, until_text
from weir_process import Process
from weir_program import ProgramTest


class LonePageTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def started(self, *arguments):
        process = Process(self.folder, *arguments)
        self.addCleanup(lambda: process.running() and process.stop())
        return process, process.printed(r"the page is at (http://\S+)").group(1)

    def links(self, page):
        return [text.rstrip("0123456789") for text in page.locator("#nav a").all_inner_texts()]

    def test_a_recorder_alone_shows_what_comes_and_takes_no_commands(self):
        data = self.folder / "data"
        recorder, address = self.started("record", "--listen", "127.0.0.1:0", "--dir", data, "--create", "--run", "7")
        port = recorder.printed(r"listening on port (\d+)").group(1)
        page = self.browser.page(address)
        until_text(page, "#verdict", "No data come now")
        self.assertEqual(self.links(page), ["Station", "Alarms", "Files", "Log", "Wall"])
        self.assertFalse(page.locator("#take").is_visible())
        self.assertFalse(page.get_by_role("button", name="Start a run").is_visible())
        sender = Process(self.folder, "send", "--to", f"127.0.0.1:{port}", "--run", "7", "--events", "1000000", "--rate", "200")
        self.addCleanup(lambda: sender.running() and sender.stop())
        until_text(page, "#verdict", "Data come and are kept")
        until_text(page, "#run", "run 7")
        page.get_by_role("link", name="Files").click()
        until_text(page, "main", "physics_Main")
        until_text(page, "main", "Full in")
        page.get_by_role("link", name="Wall").click()
        until_text(page, "main", "events recorded")
        for name in ("runs", "event"):
            page.goto(f"{address}/#{name}")
            until_text(page, "main", "A station that runs alone")
        self.assertEqual(self.browser.complaints, [])

    def test_a_recorder_with_a_shared_catalogue_shows_the_files_that_are_its_own(self):
        if why := postgres_server.absent():
            self.skipTest(why)
        server = postgres_server.PostgresServer(self.folder / "pg")
        self.addCleanup(server.__exit__)
        recorder, address = self.started("record", "--listen", "127.0.0.1:0", "--dir", self.folder / "data", "--create", "--catalogue", server.uri)
        port = recorder.printed(r"listening on port (\d+)").group(1)
        self.assertEnds(weir_program.run("send", "--to", f"127.0.0.1:{port}", "--run", "1", "--events", "100"), 0)
        page = self.browser.page(f"{address}/#files")
        until_text(page, "main", "data_test.00000001")
        until_text(page, "main", "has space")
        self.assertEqual(self.browser.complaints, [])

    def test_a_hand_off_alone_shows_what_it_handed_over(self):
        data = self.folder / "data"
        self.assertEnds(weir_program.run("demo", "--dir", data, "--duration", "500ms", timeout=300), 0)
        there = self.folder / "there"
        there.mkdir()
        _, address = self.started("handoff", "--dir", data, "--to", there)
        page = self.browser.page(address)
        until_text(page, "#verdict", "Whatever is closed is handed over")
        page.get_by_role("link", name="Files").click()
        until_text(page, "main", "transferred")
        self.assertEqual(self.browser.complaints, [])

    def test_a_demo_stays_to_be_looked_at(self):
        demo, address = self.started("demo", "--dir", self.folder / "data", "--duration", "2s", "--stay")
        page = self.browser.page(address)
        until_text(page, "#verdict", "The run has ended")
        demo.printed("the page stays")
        page.get_by_role("link", name="Files").click()
        until_text(page, "main", "calibration_LArCells")
        ended = self.assertEnds(demo.stop(), 0)
        self.assertIn("all well", ended.out)
        self.assertEqual(self.browser.complaints, [])


if __name__ == "__main__":
    weir_program.main()
