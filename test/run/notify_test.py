# SPDX-License-Identifier: Apache-2.0
"""[notify.NAME] with real parts: web services that answer, refuse, fail, hang and answer without end, commands that do the like, and
floods of alarms. The run does not notice, the operator does."""
import http.server
import json
import os
import pathlib
import shutil
import signal
import ssl
import threading

import weir_program
from free_port import free_port
from recorder_certificates import Authority
from run_test import GENERATOR, ROOT, Partition
from weir_process import wait_until
from weir_program import ProgramTest, run


class Service(http.server.ThreadingHTTPServer):
    """A web service of the laboratory. `behaves`: "good", "fails", "hangs", "floods" (an answer without end)."""
    daemon_threads = True

    def __init__(self, behaves="good", tls=None):
        super().__init__(("127.0.0.1", 0), Hook)
        self.behaves, self.got, self.headers, self.asked = behaves, [], [], 0
        self.over = threading.Event()
        self.scheme = "https" if tls else "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*map(str, tls))
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.serve_forever)
        self.thread.start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}/hooks/7x2"

    def of(self, event):
        return [document for document in list(self.got) if document["event"] == event]

    def end(self):
        self.over.set()
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, request, client_address):
        """Who asked has gone, as it should."""


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        service = self.server
        service.asked += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        behaves = service.behaves
        if behaves == "hangs":
            service.over.wait()
            return
        if behaves == "fails":
            self.send_error(500)
            return
        service.headers.append((self.path, dict(self.headers.items())))
        service.got.append(json.loads(body))
        self.send_response(200)
        self.end_headers()
        while behaves == "floods" and not service.over.is_set():
            self.wfile.write(b"x" * 65536)

    def log_message(self, *_):
        pass


class NotifyTest(ProgramTest):
    def service(self, *arguments, **more):
        service = Service(*arguments, **more)
        self.addCleanup(service.end)
        return service

    def partition(self, sections, *arguments, run_keys=()):
        text = GENERATOR.read_text()
        text += "".join(f"[notify.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
                        for name, keys in sections.items())
        text += "[run]\n" + "".join(f"{line}\n" for line in run_keys)
        self.file = self.folder / "partition.toml"
        self.file.write_text(text)
        partition = Partition(self.folder, self.file, *arguments, source=None)
        self.addCleanup(self.clear_up, partition)
        return partition

    def clear_up(self, partition):
        if partition.running():
            partition.signal(signal.SIGINT)
        partition.wait()

    def script(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def alarms(self, partition):
        """{name: (text, latched)} of run control's own."""
        return {alarm["name"]: (alarm["text"], alarm["latched"]) for alarm in partition.get("/alarms")["alarms"] if alarm["station"] == "run"}

    def latched(self, partition, name):
        return wait_until(lambda: (found := self.alarms(partition).get(name)) and found[1] and found[0],
                          lambda: f"the alarm {name!r}; there are {self.alarms(partition)}; {partition.err}", poll=0.1)

    def test_a_web_service_and_a_command_get_the_start_and_the_end_of_a_run(self):
        service = self.service()
        headers = self.folder / "headers"
        headers.write_text("# of the lab\nAuthorization: Bearer 4711\n")
        headers.chmod(0o600)
        seen = self.folder / "seen"
        command = self.script("note", f'printf "%s %s %s %s\\n" "$WEIR_EVENT" "$WEIR_PARTITION" "$WEIR_RUN" "$1" >> "{seen}"; cat >> "{seen}"')
        hostile = '"; touch /tmp/never; \x1b[31m `id` $(id) <b>@all'
        partition = self.partition({"chat": {"url": service.url, "headers_file": str(headers)},
                                    "note": {"command": [command, "$HOME; *"], "on": ["start", "stop"]}},
                                   "--comment", hostile)
        partition.until_built(100)
        self.assertEnds(run("run", "stop", "--dir", partition.directory, "--reason", "shift ends", timeout=120), 0)
        ended = partition.wait()
        self.assertEqual(ended.code, 0, ended)
        result = ended.json
        start, stop = service.got
        self.assertEqual((start["event"], start["partition"], start["run"], start["comment"]), ("start", "generator", 1, hostile))
        self.assertEqual((stop["event"], stop["run"], stop["good"], stop["problems"]), ("stop", 1, True, []))
        self.assertEqual(stop["events"], result["events"])
        self.assertIn("shift ends", stop["reason"])
        self.assertEqual(stop["missed"], 0)
        self.assertTrue(stop["text"].startswith("generator: run 1 has ended after "), stop)
        self.assertNotIn("\x1b", start["text"])
        path, sent = service.headers[0]
        self.assertEqual((path, sent["Authorization"], sent["Content-Type"]), ("/hooks/7x2", "Bearer 4711", "application/json"))
        lines = seen.read_text().splitlines()
        self.assertEqual([lines[0], lines[2]], ["start generator 1 $HOME; *", "stop generator 1 $HOME; *"])
        self.assertEqual([json.loads(lines[1])["event"], json.loads(lines[3])["event"]], ["start", "stop"])

    def test_what_hangs_fails_and_floods_costs_the_run_nothing_and_the_operator_knows_it(self):
        hangs, fails, floods = self.service("hangs"), self.service("fails"), self.service("floods")
        pids = self.folder / "pids"
        child = self.folder / "child.sh"
        child.write_text("sleep 1000")
        commands = {"hanging": self.script("hanging", f'echo $$ >> "{pids}"; sh "{child}" & echo $! >> "{pids}"; wait'),
                    "failing": self.script("failing", "echo first >&2; echo the logbook is full >&2; exit 3"),
                    "flooding": self.script("flooding", "yes; exit 3"),
                    "closing": self.script("closing", "exec <&-; exit 0")}
        limits = {"tries": 2, "retry_after": "100ms"}
        late = {"hangs", "hanging", "flooding"}  # the others may take long on a machine that is busy
        sections = {"hangs": {"url": hangs.url}, "fails": {"url": fails.url}, "floods": {"url": floods.url},
                    "refuses": {"url": f"http://127.0.0.1:{free_port()}/secret-path"},
                    **{name: {"command": [command]} for name, command in commands.items()},
                    "absent": {"command": ["/nonexistent/elog", "-h", "localhost"]}}
        partition = self.partition({name: {**keys, **limits, **({"time_limit": "1s"} if name in late else {})} for name, keys in sections.items()})
        why = {name: self.latched(partition, f"notifier {name} fails") for name in sections if name not in ("floods", "closing")}
        self.assertIn("did not answer within 1s", why["hangs"])
        self.assertIn("answered with status 500", why["fails"])
        self.assertIn("cannot be reached: Connection refused", why["refuses"])
        self.assertNotIn("secret-path", why["refuses"])
        self.assertIn("did not end within 1s", why["hanging"])
        self.assertIn("the logbook is full", why["failing"])
        self.assertIn("did not end within 1s", why["flooding"])
        self.assertIn("cannot start /nonexistent/elog: No such file", why["absent"])
        self.assertNotIn("notifier floods fails", self.alarms(partition), "who answers with 200 has taken it")
        self.assertNotIn("notifier closing fails", self.alarms(partition))
        shown = self.assertEnds(run("run", "status", "--dir", partition.directory), 0).out
        self.assertIn("ALARM error run: notifier failing fails: ", shown)
        self.assertEqual(shown.count("notifier failing fails"), 1, shown)
        self.assertIn("the logbook is full", shown)

        before = partition.get()["events"]["built"]
        partition.until_built(before + 1000)
        fails.behaves = "good"
        os.kill(partition.station("ef-1")["pid"], signal.SIGKILL)  # an alarm
        wait_until(lambda: not self.alarms(partition)["notifier fails fails"][1], "the alarm of the one that works again is gone")
        self.assertGreater(fails.of("alarm")[0]["missed"], 0)
        wait_until(lambda: partition.station("ef-1")["state"] == "running", "the filter is back")
        partition.signal(signal.SIGINT)
        ended = partition.wait()
        self.assertEqual(ended.code, 0, ended)
        self.assertEqual(ended.json["problems"], [])
        self.assertEqual(ended.json["account"]["lost"], [])

        def gone(pid):
            try:
                return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except FileNotFoundError:
                return True
        for pid in pids.read_text().split():
            wait_until(lambda: gone(pid), f"{pid} of the command that hung is left")

    def test_scripts_that_come_with_weir_and_curl_get_a_message_on(self):
        """With stand-ins for elog and sendmail, which keep what they are given."""
        there = self.folder / "bin"
        there.mkdir()
        for name, text in {"elog": f'for a; do last=$a; echo "$a" >> "{self.folder}/elog.words"; done; cp "$last" "{self.folder}/elog.text"',
                           "sendmail": f'echo "$*" > "{self.folder}/mail.words"; cat > "{self.folder}/mail.text"'}.items():
            (there / name).write_text(f"#!/bin/sh\n{text}\n")
            (there / name).chmod(0o755)
        service = self.service()
        curl = self.folder / "far.curl"
        curl.write_text(f'url = "{service.url}"\nheader = "Authorization: Bearer 4711"\n')
        scripts = ROOT / "monitoring" / "notify"
        file = self.folder / "partition.toml"
        file.write_text(GENERATOR.read_text() + f"""
[notify.logbook]
command = ["{scripts}/elog", "elog.example.org", "8080", "Shift", "-s"]
[notify.night]
command = ["{scripts}/mail", "daq-on-call@example.org"]
[notify.far]
command = ["curl", "--silent", "--show-error", "--fail", "--max-time", "8", "--config", "{curl}", "--json", "@-"]
""")
        environment = {**os.environ, "PATH": f"{there}:{os.environ['PATH']}"}
        names = ["logbook", "night"] + ["far"] * bool(shutil.which("curl"))
        for name in names:
            self.assertEnds(run("run", "notify", file, name, env=environment), 0)
        words = (self.folder / "elog.words").read_text().splitlines()
        self.assertEqual(words[:7], ["-h", "elog.example.org", "-p", "8080", "-l", "Shift", "-s"])
        self.assertIn("Subject=generator: a test of weir run notify", words)
        self.assertEqual(json.loads((self.folder / "elog.text").read_text())["event"], "test")
        self.assertEqual((self.folder / "mail.words").read_text(), "-i daq-on-call@example.org\n")
        head, text = (self.folder / "mail.text").read_text().split("\n\n", 1)
        self.assertIn("To: daq-on-call@example.org", head.splitlines())
        self.assertIn("Subject: generator: a test of weir run notify", head.splitlines())
        self.assertEqual(json.loads(text.split("\n\n", 1)[1])["partition"], "generator")
        if "far" in names:
            self.assertEqual(service.of("test")[0]["text"], "generator: a test of weir run notify")
            self.assertEqual(service.headers[0][1]["Authorization"], "Bearer 4711")

    def test_a_flood_of_alarms_is_a_few_messages_and_none_is_forgotten(self):
        service = self.service()
        filters = [f"ef-{n}" for n in range(1, 9)]
        more = "".join(f'[filter.{name}]\nselection = "all"\nstreams = ["physics_Main"]\n' for name in filters[1:])
        text = GENERATOR.read_text()
        self.file = self.folder / "partition.toml"
        self.file.write_text(f'{text}{more}[notify.chat]\nurl = "{service.url}"\non = ["alarm"]\nper_minute = 2\n')
        partition = Partition(self.folder, self.file, source=None)
        self.addCleanup(self.clear_up, partition)
        partition.until_built(100)
        for name in filters:
            os.kill(partition.station(name)["pid"], signal.SIGKILL)
        wait_until(lambda: all(any(name in alarm for alarm in self.alarms(partition)) for name in filters), "an alarm of each filter")
        partition.signal(signal.SIGINT)
        ended = partition.wait()
        self.assertEqual(ended.json["problems"], [], ended)
        alarms = service.of("alarm")
        named = [alarm["alarm"] for alarm in alarms] + [other.split(": ", 1)[1] for alarm in alarms for other in alarm["others"]]
        self.assertEqual(len(named), sum(1 + alarm["more"] for alarm in alarms))
        for name in filters:
            self.assertTrue(any(name in alarm for alarm in named), (name, named))
        self.assertLess(len(alarms), len(named))
        self.assertTrue(any(f"and {alarm['more']} more alarms" in alarm["text"] for alarm in alarms), alarms)

    def test_a_bad_run_is_said_to_be_one(self):
        service = self.service()
        partition = self.partition({"chat": {"url": service.url, "on": ["bad_run"]}})
        partition.until_built(100)
        for name in ("dfm", "l2sv"):
            os.kill(partition.station(name)["pid"], signal.SIGKILL)
        ended = partition.wait()
        self.assertEqual(ended.code, 1, ended)
        (bad,) = service.got
        self.assertEqual((bad["event"], bad["run"], bad["good"]), ("bad_run", 1, False))
        self.assertEqual(bad["problems"], ended.json["problems"])
        self.assertIn("run 1 was not well: ", bad["text"])

    def test_https_believes_the_authority_that_is_named_and_no_other(self):
        mine, other = Authority(self.folder, "mine"), Authority(self.folder, "other")
        service = self.service(tls=mine.files("web"))
        partition = self.partition({"good": {"url": service.url, "ca_file": str(mine.certificate)},
                                    "localhost": {"url": service.url.replace("127.0.0.1", "localhost"), "ca_file": str(mine.certificate)},
                                    "stranger": {"url": service.url, "ca_file": str(other.certificate)},
                                    "public": {"url": service.url}}, "--wait")
        sent = run("run", "notify", self.file, "--json", timeout=120)
        self.assertEqual(sent.code, 1, sent)
        good = {one["notifier"]: one for one in sent.json["notifiers"]}
        self.assertEqual({name: one["good"] for name, one in good.items()},
                         {"good": True, "localhost": True, "stranger": False, "public": False})
        for name in ("stranger", "public"):
            self.assertIn("certificate", good[name]["result"])
        self.assertEqual([document["event"] for document in service.got], ["test", "test"])
        self.assertTrue(partition.running())

    def test_a_mistake_in_a_section_is_one_line(self):
        whole = GENERATOR.read_text()
        secret = self.folder / "secret"
        secret.write_text("Authorization Bearer")
        secret.chmod(0o600)
        seen = self.folder / "seen"
        seen.write_text("Authorization: Bearer 4711")
        seen.chmod(0o644)
        file = self.folder / "wrong.toml"
        first = whole.count("\n") + 1
        for lines, words in [
                ("[notify]\nurl = \"http://h/\"", "[notify.NAME]"),
                ("[notify.chat]", "sends nothing anywhere"),
                ("[notify.chat]\nurl = \"chat.example.org\"", "begins with neither https:// nor http://"),
                ("[notify.chat]\nurl = \"http://u:p@h/\"", "a name and password do not belong there"),
                ("[notify.chat]\nurl = \"http://h/\"\ncommand = [\"x\"]", "has a command and a url"),
                ("[notify.chat]\ncommand = [\"\"]", "the program, is empty"),
                ("[notify.chat]\ncommand = [\"x\"]\non = [\"stopp\"]", 'did you mean "stop"'),
                ("[notify.chat]\ncommand = [\"x\"]\non = []", "never send anything"),
                ("[notify.chat]\ncommand = [\"x\"]\nseverity = \"bad\"", "is none of"),
                ("[notify.chat]\ncommand = [\"x\"]\nper_minute = 0", "too small"),
                ("[notify.chat]\ncommand = [\"x\"]\nca_file = \"x\"", "does not need"),
                ("[notify.chat]\nurl = \"http://h/\"\nheader = \"x\"", "unknown key"),
                (f"[notify.chat]\nurl = \"http://h/\"\nheaders_file = \"{self.folder}/none\"", "No such file"),
                (f"[notify.chat]\nurl = \"http://h/\"\nheaders_file = \"{secret}\"", "line 1 is no header"),
                (f"[notify.chat]\nurl = \"http://h/\"\nheaders_file = \"{seen}\"", "chmod o-r"),
                (f"[notify.chat]\nurl_file = \"{secret}\"", "is no address of the web"),
                ("[notify.chat]\nurl = \"https://h/\"\nca_file = \"/nonexistent.pem\"", "/nonexistent.pem")]:
            with self.subTest(lines):
                file.write_text(f"{whole}{lines}\n")
                checked = run("config", "check", file)
                self.assertOneLine(checked, 2, words)
                self.assertRegex(checked.err, rf"wrong\.toml:{first}|wrong\.toml:{first + 1}|wrong\.toml:{first + 2}")
                self.assertOneLine(run("run", file, "--dir", self.folder / "D"), 2, words)
                self.assertOneLine(run("run", "notify", file), 2, words)
        file.write_text(f'{whole}[notify.chat]\ncommand = ["cat"]\n[notify.late]\ncommand = ["sleep", "9"]\ntime_limit = "100ms"\n')
        self.assertEnds(run("config", "check", file), 0)
        self.assertIn('command = ["cat"]', self.assertEnds(run("config", "effective", file), 0).out)
        self.assertEnds(run("run", "notify", file, "chat"), 0)
        both = self.assertEnds(run("run", "notify", file), 1)
        self.assertIn("ended with code 0", both.out)
        self.assertIn("sleep did not end within 100ms", both.out)
        self.assertOneLine(run("run", "notify", file, "fax"), 3, 'no notifier "fax"')
        self.assertOneLine(run("run", "notify", GENERATOR), 3, "has no notifier")
        self.assertIn("### [notify.NAME]", run("config", "schema").out)


if __name__ == "__main__":
    weir_program.main()
