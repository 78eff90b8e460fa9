# SPDX-License-Identifier: Apache-2.0
"""The page against texts and documents of any kind, and run control against pages of others: nothing runs, nothing breaks, and who
may not command does not."""
import http.client
import http.server
import json
import os
import random
import sys
import threading
import urllib.parse

import browser
import weir_program
from browser import Browser, Partition, take_control, until, until_text
from weir_process import wait_until
from weir_program import ProgramTest

ATTACK = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
BIDI = "a\u202eb\u2066c\u200bd"
PAGES = ("partition", "alarms", "files", "event", "histograms", "runs", "runs/1", "log", "wall")
SEED = int(os.environ.get("WEIR_SEED") or random.randrange(1 << 32))


class PageSafetyTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.partition = Partition(self.folder, change=lambda text: text.replace('name = "generator"', "name = '" + ATTACK.replace("'", "") + "'"))
        self.addCleanup(lambda: self.partition.running() and self.partition.stop())
        self.port = urllib.parse.urlsplit(self.partition.address).port

    def post(self, path, document, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", path, json.dumps(document), {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def visit(self, page, names=PAGES):
        for name in names:
            page.goto(f"{self.partition.address}/#{name}")
            until(page, "(name) => document.documentElement.dataset.page === name && document.querySelector('main').children.length", name, name.split("/")[0])
            page.wait_for_timeout(1500)  # a document or two: what is to come would be here
            self.assertEqual(page.evaluate("() => [window.hacked, document.querySelectorAll('img, iframe, object, body script').length]"), [None, 0], name)

    def test_hostile_texts_are_shown_and_run_nothing(self):
        texts = [ATTACK, BIDI, "x" * 4096, "\u0627\u0644" * 100]
        page = self.browser.page(self.partition.address)
        until_text(page, "#state", "ready")
        status, answer = self.post("/run", {"command": "start", "comment": ATTACK + BIDI, "parameters": {f"{ATTACK}{i}": text for i, text in enumerate(texts)}})
        self.assertEqual(status, 200, answer)
        until_text(page, "#state", "running")
        take_control(page, ATTACK[:60])
        for station in ("sfi-1", "rec-1"):
            with open(self.partition.directory / "log" / f"{station}.log", "a") as log:
                log.write(f"{ATTACK}\n{BIDI}\n\x1b[31mred\x07\x00\n{'y' * 1_000_000}\nerror {station}: ALARM {ATTACK}: {BIDI}\n")
        self.visit(page)
        page.goto(f"{self.partition.address}/#log")
        until_text(page, "main", "a\\u202eb\\u2066c\\u200bd")
        until_text(page, "main", "\\u001b[31mred\\u0007\\u0000")
        self.assertLess(page.evaluate("() => document.querySelector('main').textContent.length"), 200_000)
        page.goto(f"{self.partition.address}/#partition")
        page.get_by_role("button", name="Stop").click()
        page.get_by_label("Reason").fill(ATTACK)
        page.get_by_role("dialog").get_by_role("button", name="Stop").click()
        until_text(page, "#state", "ready")
        self.visit(page)
        page.goto(f"{self.partition.address}/#runs/1")
        until_text(page, "main", "<img src=x")
        self.assertNotIn("\u202e", page.inner_text("body"))
        self.assertEqual(self.browser.complaints, [])

    def test_documents_of_any_kind_break_nothing_and_a_good_one_is_shown_again(self):
        print(f"WEIR_SEED={SEED}", file=sys.stderr)
        draw = random.Random(SEED)
        page = self.browser.page(self.partition.address)
        until_text(page, "#state", "ready")
        with_good = json.loads(page.evaluate("() => fetch('/live').then((a) => a.text())"))
        strange = [None, True, -1, 1e308, "", ATTACK, BIDI, "z" * 1_000_000, [], {}, [[[[]]]], {"length": 5}, {"toString": 1}, "NaN", 0]

        def damaged(value, depth=0):
            if draw.random() < 0.04 and depth:
                return draw.choice(strange)
            if isinstance(value, dict):
                return {key: damaged(one, depth + 1) for key, one in value.items() if draw.random() > 0.01}
            if isinstance(value, list):
                return [damaged(one, depth + 1) for one in value]
            return value

        count = int(os.environ.get("WEIR_PAGE_DOCUMENTS") or 300)
        documents = [json.dumps({**damaged(with_good), "tick": 1000 + i}) if draw.random() < 0.9 else json.dumps(with_good)[:draw.randrange(2000)] for i in range(count)]
        page.route("**/live", lambda route: route.fulfill(status=200, content_type="application/json", body=documents.pop() if documents else json.dumps({**with_good, "tick": 5000 + draw.randrange(1 << 30)})))
        # Asked for as fast as the page can, a part of them on each page.
        ask = "async () => { for (let i = 0; i < 20; ++i) { document.dispatchEvent(new Event('visibilitychange')); await new Promise((done) => setTimeout(done, 15)); } }"
        for i, name in enumerate(PAGES, 1):
            page.evaluate("(name) => { location.hash = name; }", name)
            left = count - count * i // len(PAGES)
            wait_until(lambda: page.evaluate(ask) or len(documents) <= left, lambda: f"{len(documents)} documents were not asked for")
        until(page, "() => document.querySelector('#state').textContent === 'ready' && document.documentElement.dataset.stale === 'no'", "a good document is not shown any more")
        self.assertEqual(page.evaluate("() => window.hacked"), None)
        self.assertEqual([c for c in self.browser.complaints if "error:" in c or "dialog" in c], [])

    def test_ten_thousand_damaged_samples_break_nothing_and_a_good_one_is_shown_again(self):
        page = self.browser.page(f"{self.partition.address}/#event")
        until_text(page, "#state", "ready")
        self.assertEqual(self.post("/run", {"command": "start"})[0], 200)
        until_text(page, "#state", "running")
        page.get_by_role("button", name="Next event").click()
        until_text(page, "main", "Download its bytes")
        print(f"WEIR_SEED={SEED}", file=sys.stderr)
        failed = page.evaluate("""async ([attack, bidi, seed]) => {
            const {eventView, wordLines} = await import("/page/event.js");
            let good = {};
            for (let i = 0; !good.event && i < 60; ++i) good = await (await fetch("/event")).json();
            if (!good.event) return ["no event"];
            const bytes = await (await fetch("/event/" + good.id)).arrayBuffer();
            let state = seed >>> 0;
            const draw = (n) => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return Math.floor(state / 4294967296 * n); };
            const strange = [null, -1, 1e300, "", attack, bidi, "x".repeat(100000), [], {}, [[[[attack]]]], {name: attack, value: bidi}, true, 4294967295.5];
            const damaged = (value, depth = 0) => {
                if (draw(8) === 0) return strange[draw(strange.length)];
                if (Array.isArray(value)) return value.slice(0, 6).map((v) => damaged(v, depth + 1));
                if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).filter(() => draw(12)).map(([k, v]) => [draw(20) ? k : attack, damaged(v, depth + 1)]));
                return value;
            };
            const view = eventView(async () => bytes);
            document.querySelector("main").append(view.element);
            const failed = [];
            for (let i = 0; i < 10000 && failed.length < 5; ++i) {
                const sample = {...good, event: damaged({...good.event, results: [{source: 1, class: "weir::selection::Findings", bytes: 3, members: {selection: "cut", quantities: [{name: "x", value: 1}]}}]})};
                try { view.show(sample); } catch (error) { failed.push(`${i}: ${error.stack} ${JSON.stringify(sample).slice(0, 500)}`); }
                if (view.element.textContent.length > 3e6) failed.push(`${i}: ${view.element.textContent.length} characters`);
                if (/[\u202e\u2066]/.test(view.element.textContent)) failed.push(`${i}: not clean`);
                if (i % 500 === 0) await new Promise((next) => setTimeout(next));
            }
            for (let i = 0; i < 1000; ++i) wordLines(new DataView(bytes), draw(bytes.byteLength + 100), draw(100000));
            view.show(good);
            if (!view.element.textContent.includes("sub-detector 0x")) failed.push("a good one is not shown again");
            return failed;
        }""", [ATTACK, BIDI, SEED])
        self.assertEqual(failed, [])
        self.assertEqual(page.evaluate("() => [window.hacked, document.querySelectorAll('img, iframe, object, body script').length]"), [None, 0])
        self.assertEqual(self.browser.complaints, [])

    def test_a_page_of_another_server_commands_nothing(self):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!DOCTYPE html><title>evil</title>")

            def log_message(self, *_):
                pass

        evil = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        self.addCleanup(evil.shutdown)
        page = self.browser.page(f"http://127.0.0.1:{evil.server_port}/")
        sent = page.evaluate("""async (to) => {
            const answers = [];
            for (const type of ["application/json", "text/plain"])
                for (const mode of ["cors", "no-cors"])
                    answers.push(await fetch(to + "/run", {method: "POST", mode, headers: {"Content-Type": type}, body: '{"command":"start"}'}).then((a) => a.status, () => "failed"));
            const form = document.createElement("form");
            form.action = to + "/run"; form.method = "post"; form.enctype = "text/plain";
            const input = document.createElement("input"); input.name = '{"command":"start","comment":"'; input.value = '"}';
            form.append(input); document.body.append(form); form.submit();
            return answers;
        }""", self.partition.address)
        self.assertNotIn(200, sent)
        page.wait_for_timeout(500)
        for origin in (f"http://127.0.0.1:{evil.server_port}", "null", "http://evil.example", f"http://127.0.0.1:{self.port}.evil.example"):
            self.assertEqual(self.post("/run", {"command": "start"}, Origin=origin)[0], 403, origin)
            self.assertEqual(self.post("/control", {"command": "force", "person": "eve"}, Origin=origin)[0], 403, origin)
            self.assertEqual(self.post("/alarms/acknowledge", {"name": "x", "person": "eve"}, Origin=origin)[0], 403, origin)
        own = f"http://127.0.0.1:{self.port}"
        status, answer = self.post("/run", {"command": "start"}, Origin=own)
        self.assertEqual((status, answer["error"]), (409, "nobody is in control: take control first"))
        self.assertEqual(self.post("/run", {"command": "start", "lease": "0" * 32}, Origin=own)[0], 409)
        self.assertEqual(self.post("/alarms/acknowledge", {"name": "x"}, Origin=own)[0], 409)
        own_page = self.browser.page(self.partition.address)
        until_text(own_page, "#state", "ready")
        until_text(own_page, "main", "none yet")


class ViewTest(ProgramTest):
    def test_whoever_has_the_token_looks_at_another_port_and_commands_nothing(self):
        chromium = Browser()
        self.addCleanup(chromium.close)
        partition = Partition(self.folder, "--view", "127.0.0.1:0")
        self.addCleanup(lambda: partition.running() and partition.stop())
        address, said = partition.printed(r"looks at the page: (http://\S+/)(\S+)").groups()
        place = urllib.parse.urlsplit(address)
        token = (partition.directory / "view-token").read_text().strip()
        self.assertEqual(said, "?token=...", "a log has no secrets")
        self.assertEqual((partition.directory / "view-token").stat().st_mode & 0o777, 0o600)
        page = chromium.page(f"{address}?token={token}")
        until_text(page, "#state", "ready")
        self.assertEqual(urllib.parse.urlsplit(page.url).query, "", "the token is not left in the address")
        until_text(page, "main", "only looked at")
        self.assertFalse(page.locator("#take").is_visible())
        self.assertFalse(page.get_by_role("button", name="Start a run").is_visible())
        answers = page.evaluate("""async () => {
            const ask = (path, body) => fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)}).then((a) => a.status);
            return [await ask("/run", {command: "start"}), await ask("/control", {command: "take", person: "eve"})];
        }""")
        self.assertEqual(answers, [403, 403])
        stranger = chromium.page(f"http://{place.netloc}/")
        until_text(stranger, "body", "shows a token")
        self.assertEqual([c for c in chromium.complaints if "403" not in c], [])
        partition.stop()
        (partition.directory / "view-token").write_text("")
        self.assertOneLine(weir_program.run("run", self.folder / "generator.toml", "--dir", partition.directory, "--view", "127.0.0.1:0"), 1, "view-token is empty; delete it")


if __name__ == "__main__":
    weir_program.main()
