# SPDX-License-Identifier: Apache-2.0
"""The page of run control when its recorders are on other machines: files and disks that each of them knows alone, a recorder that is
gone, and an alarm that a station keeps on its machine. Under mutual TLS; the browser shows the certificate of an operator."""
import json
import pathlib
import signal
import socket
import sys
import threading

import hosts as beds
from run_hosts_test import Machines
from run_security_test import context_of
from weir_process import wait_until
from weir_program import PROGRAM, ProgramTest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "page"))
from browser import Browser, take_control, until, until_text

PLACES = {"rec-1": "h1", "rec-2": "h3"}
SUMMED = {"files": lambda file: 1, "events": lambda file: file["events"], "bytes": lambda file: file["bytes"]}


class TwoRecorders(Machines):
    """Recorders on two machines that close a file every few seconds, and a run control that stays when a run has ended."""

    def __init__(self, test):
        super().__init__(test, rate=1000)
        self.file.write_text(self.file.read_text().replace("[record.rec-1]", '[record.rec-1]\nfile_size_max = "1MiB"') +
                             '[record.rec-2]\nhost = "h3"\nfile_size_max = "1MiB"\n')
        self.files["ann"] = self.authority.files("ann", unit="weir-operator")
        self.context = context_of(self.authority.certificate, self.files["ann"])
        self.context.check_hostname = False

    @property
    def address(self):
        return json.loads((self.directory / "run-control.json").read_text())["control"]

    def get(self, path):
        status, text = self.bed.control.ask(self.address, path, context=self.context)
        assert status == 200, text
        return json.loads(text)

    def begin(self):
        self.start_run("--wait")
        wait_until(lambda: self.run.poll() is not None or ((s := self.status()) and s["state"] == "ready"),
                   lambda: f"the partition is ready; {self.errors()}", poll=0.2)
        self.test.assertIsNone(self.run.poll(), self.errors())
        self.test.assertEnds(self.command("start"), 0)
        self.until_built(100)

    def recorded(self, name):
        return self.bed[PLACES[name]].directory / "weir" / name

    def listed(self, name):
        """What `weir ls` shows on the recorder's machine."""
        return self.test.assertEnds(self.bed[PLACES[name]].run([PROGRAM, "ls", "--json", self.recorded(name)]), 0).json["files"]

    def alarms(self, name):
        """What `weir alarms` shows on the recorder's machine; it ends with 1 while one is latched."""
        ended = self.bed[PLACES[name]].run([PROGRAM, "alarms", "--json", "--dir", self.recorded(name)])
        return json.loads(ended.out)["alarms"] if ended.code in (0, 1) and ended.out else []


class Passage:
    """A port of this machine that leads to one that only a machine of the test reaches; "host:port"."""

    def __init__(self, host, to):
        self.host, self.to = host, to
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return  # it is closed
            try:
                there = self.host.connect(self.to)
            except OSError:
                here.close()
                continue
            threading.Thread(target=self._carry_both, args=(here, there), daemon=True).start()

    def _carry_both(self, here, there):
        there.settimeout(None)
        with here, there:
            answers = threading.Thread(target=self._carry, args=(there, here), daemon=True)
            answers.start()
            self._carry(here, there)
            answers.join()

    @staticmethod
    def _carry(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass  # the other direction has ended it
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


class PageOfHostsTest(ProgramTest):
    def page_of(self, machines):
        """In a browser that shows ann's certificate."""
        browser = Browser()
        self.addCleanup(browser.close)
        passage = Passage(machines.bed.control, machines.address)
        self.addCleanup(passage.close)
        certificate, key = machines.files["ann"]
        origin = f"https://{passage.address}"
        context = browser.context(ignore_https_errors=True, client_certificates=[{"origin": origin, "certPath": str(certificate), "keyPath": str(key)}])
        return browser.page(origin, context=context), browser

    def test_files_of_recorders_on_other_machines_are_those_that_they_list_and_who_is_gone_is_named(self):
        with TwoRecorders(self) as machines:
            machines.begin()
            run = machines.status()["run"]

            def closed_on_both():
                shown = machines.get("/files")
                self.assertEqual(shown["run"], run)
                return {file["host"] for file in shown["files"] if file["state"] == "CLOSED"} == set(PLACES.values())

            wait_until(closed_on_both, lambda: f"files of both machines; {machines.errors()}", poll=0.5)
            page, browser = self.page_of(machines)
            page.get_by_role("link", name="Files").click()
            until_text(page, "main", "Full in")
            for name, host in PLACES.items():
                until(page, "([host, disk]) => [...document.querySelectorAll('[aria-label=Disks] tbody tr')].some((r) => r.textContent.includes(disk) && r.textContent.includes(host) && r.textContent.includes('has space'))",
                      f"the disk of {name} is not shown", [host, str(machines.recorded(name))])

            self.assertEnds(machines.command("stop", "--wait", "120s"), 0)
            wait_until(lambda: machines.status()["state"] == "ready", lambda: f"the run has ended; {machines.errors()}", poll=0.2)
            with self.subTest("files, sums and numbers are those of weir ls on each machine"):
                known = {name: machines.listed(name) for name in PLACES}
                all_known = [file for files in known.values() for file in files]
                wait_until(lambda: all(s["open"] == 0 for s in machines.get("/files")["streams"]), "all files are closed", poll=0.5)
                shown = machines.get(f"/files?run={run}")
                self.assertEqual((shown["troubles"], shown["silent"]), ([], []))
                self.assertEqual(shown["left_out"] + len(shown["files"]), len(all_known))
                for name, count in SUMMED.items():
                    self.assertEqual(sum(stream[name] for stream in shown["streams"]), sum(map(count, all_known)), name)
                listed = {(PLACES[name], file["path"]): file for name, files in known.items() for file in files}
                for file in shown["files"]:
                    there = listed[file["host"], f"{file['volume']}/{file['name']}"]
                    self.assertEqual([file[key] for key in ("stream", "lumi_block", "events", "bytes", "sums", "state", "health")],
                                     [there[key] for key in ("stream", "lumi_block", "events", "bytes", "sums", "file_state", "file_health")])
                self.assertEqual({(volume["host"], volume["volume"]) for volume in shown["volumes"]},
                                 {(host, str(machines.recorded(name))) for name, host in PLACES.items()})
            with self.subTest("a run's own page has them"):
                page.get_by_role("link", name="Runs").click()
                page.get_by_role("link", name=str(run), exact=True).click()
                for file in (shown["files"][0], shown["files"][-1]):
                    until_text(page, "main", file["name"])

            machines.bed["h3"].power_off()
            page.get_by_role("link", name="Files").click()
            with self.subTest("the recorder of a machine without power is named, and the others are shown"):
                until_text(page, "main", "Without the disks of rec-2")
                until_text(page, "main", "rec-2 on h3: its files are not shown")
                until_text(page, "main", str(machines.recorded("rec-1")))
                left = machines.get(f"/files?run={run}")
                self.assertEqual(left["silent"], ["rec-2"])
                self.assertEqual(sum(stream["files"] for stream in left["streams"]), len(known["rec-1"]))
            self.assertEqual(browser.complaints, [])

    def test_an_alarm_of_a_station_on_another_machine_is_acknowledged_on_the_page_and_there(self):
        with TwoRecorders(self) as machines:
            machines.begin()
            page, browser = self.page_of(machines)
            until_text(page, "#state", "running")
            def removed_and_latched():
                for path in machines.recorded("rec-2").glob("*.writing"):
                    path.unlink(missing_ok=True)
                return any(alarm["latched"] for alarm in machines.alarms("rec-2"))

            wait_until(removed_and_latched, lambda: f"an open file that somebody removed is an alarm; {machines.errors()}", poll=1)
            name = next(alarm["name"] for alarm in machines.alarms("rec-2") if alarm["latched"])
            page.get_by_role("link", name="Alarms").click()
            until_text(page, "main", name)
            take_control(page, "ann")
            row = page.get_by_role("row").filter(has_text=name).filter(has_text="rec-2")
            row.get_by_role("button", name="Acknowledge").click()
            until(page, "(name) => [...document.querySelectorAll('main table')[1].querySelectorAll('tbody tr')].some((r) => r.textContent.includes(name) && r.textContent.includes('rec-2') && r.textContent.includes('ann'))",
                  "the alarm is not acknowledged by ann", name)
            with self.subTest("the station's own alarms say who did it"):
                there = next(alarm for alarm in machines.alarms("rec-2") if alarm["name"] == name)
                self.assertEqual((there["latched"], there["acknowledged_by"]), (False, "ann"))
            self.assertEqual(browser.complaints, [])
            machines.run.send_signal(signal.SIGINT)
            machines.run.wait(120)
            with self.subTest("also when no station runs any more"):
                there = next(alarm for alarm in machines.alarms("rec-2") if alarm["name"] == name)
                self.assertEqual((there["latched"], there["acknowledged_by"]), (False, "ann"))


if __name__ == "__main__":
    beds.main_with_hosts("the page of run control with recorders on other machines")
