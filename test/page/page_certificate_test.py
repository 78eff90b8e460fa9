# SPDX-License-Identifier: Apache-2.0
"""The page over HTTPS for people of other machines, each with a certificate that the partition made: a reader looks, an operator
commands, and who has none sees nothing."""
import weir_program
from browser import Browser, take_control, until, until_text
from run_authority_test import PARTITION, Own
from weir_program import ProgramTest, run


class PageCertificateTest(ProgramTest):
    def test_a_reader_looks_and_is_refused_an_operator_commands_by_the_name_in_his_certificate(self):
        chromium = Browser()
        self.addCleanup(chromium.close)
        file = self.folder / "p.toml"
        file.write_text(PARTITION)
        partition = Own(self.folder, file, self.folder / "D")
        self.addCleanup(lambda: partition.running() and partition.stop())
        address = "https://127.0.0.1:" + partition.ports()[0].rsplit(":", 1)[1]
        for name, role in (("bob", "reader"), ("ann", "operator")):
            self.assertEnds(run("run", "certify", name, "--role", role, "--dir", self.folder / "D", "--out", self.folder / name), 0)

        def page_of(name):
            files = {"origin": address, "certPath": self.folder / name / f"{name}.crt", "keyPath": self.folder / name / f"{name}.key"}
            page = chromium.page("about:blank", context=chromium.context(ignore_https_errors=True, client_certificates=[files]))
            page.goto(address)
            until_text(page, "#state", "ready")
            return page

        reader = page_of("bob")
        answers = reader.evaluate("""async () => {
            const ask = (path, body) => fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)}).then(async (a) => [a.status, await a.text()]);
            return [await ask("/run", {command: "start"}), await ask("/control", {command: "take", person: "ann"}), await ask("/sources", {}), await ask("/alarms", {})];
        }""")
        for status, text in answers:
            self.assertEqual((status, "bob" in text and "reader" in text), (403, True), text)
        reader.get_by_role("button", name="Take control").click()
        reader.get_by_label("Your name").fill("ann")
        reader.get_by_role("dialog").get_by_role("button", name="Take control").click()
        until_text(reader, "body", "reader")

        operator = page_of("ann")
        take_control(operator, "ann")
        operator.get_by_role("button", name="Start a run").click()
        operator.get_by_role("dialog").get_by_role("button", name="Start").click()
        until_text(operator, "#state", "running")
        until_text(reader, "#state", "running")
        until_text(reader, "#holder", "ann")
        until(reader, "() => document.querySelector('#age').textContent.includes('live')", "the reader's page is live")
        operator.get_by_role("button", name="Stop").click()
        operator.get_by_label("Reason").fill("enough")
        operator.get_by_role("dialog").get_by_role("button", name="Stop").click()
        until_text(operator, "#state", "ready")
        self.assertEqual([c for c in chromium.complaints if "403" not in c], [])

        with self.assertRaisesRegex(Exception, "ERR_"):
            chromium.page("about:blank", context=chromium.context(ignore_https_errors=True)).goto(address)


if __name__ == "__main__":
    weir_program.main()
