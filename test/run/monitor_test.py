# SPDX-License-Identifier: Apache-2.0
"""Partitions with monitors: those of docs/monitors.md in C++ and in Python, ones that crash, hang, throw or are killed while a run goes
on, and what is saved, which uproot reads (and ROOT, where WEIR_ROOT names one)."""
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import unittest

import python_venv
import weir_program
from run_test import Partition, RunTest
from weir_process import wait_until
from weir_program import PROGRAM, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (SOURCE / "docs" / "monitors.md").read_text()
COMPILE = re.search(r"^    (g\+\+ .*lib/monitor/include.*)$", GUIDE, re.MULTILINE).group(1)  # from weir's source folder
EXAMPLES = SOURCE / "examples"
UPROOT = "uproot==5.7.7"
BOOST = "boost-histogram==1.8.1"  # with NumPy

PARTITION = """
[run]
start_deadline = "300s"
[readout.ros-1]
robs = 4
first_source = "0x420000"
[supervise.l2sv]
events = 0
rate = 500
[assign.dfm]
[build.sfi-1]
[filter.ef-1]
workers = 1
[record.rec-1]
"""
PATIENT = {"time_limit": "120s", "start_limit": "120s", "rate": 0}

# Every form of histogram, filled once with numbers that are known.
KNOWN = """
#include <random>
#include <weir/monitor/monitor.hpp>
using namespace weir::monitor;
struct Known final : Monitor {
    explicit Known(Book& book) {
        auto& plain = book.histogram("plain", "no weights;x [mm];events", {20, 0, 10});
        auto& weighted = book.histogram("weighted", "weights", Axis::of_edges({0, 1, 2, 5, 10}));
        auto& two = book.histogram("two", "two axes;x;y;z", {5, 0, 10}, Axis::of_edges({0, 3, 4, 10}));
        static_cast<void>(book.histogram("empty", "", {1, -1, 1}, {2, 0, 1}));
        static_cast<void>(book.histogram("größe <b>", std::string(300, 't'), {7, -1e-3, 1e6}));
        book.counter("answers").add(42);
        std::mt19937 random(11);
        std::normal_distribution<double> values(5, 3);
        for (int i = 0; i < 10000; ++i) {
            plain.fill(values(random));
            weighted.fill(values(random), i % 7 == 0 ? -0.5 : 1.25);
            two.fill(values(random), values(random), i % 2 + 1);
        }
    }
    void see(const Event&) override {}
};
WEIR_MONITOR(Known)
"""

# Run where uproot, or PyROOT, is: a file in, what its histograms are as JSON out.
BY_UPROOT = """
import json, sys, uproot
out = {}
with uproot.open(sys.argv[1]) as file:
    for name in file.keys(cycle=False):
        h = file[name]
        axes = h.axes
        out[name] = {"class": h.classname, "title": h.title, "axes": [a.edges().tolist() for a in axes], "titles": [a.member("fTitle") for a in axes],
                     "contents": h.values(flow=True).T.ravel().tolist(), "errors": h.errors(flow=True).T.ravel().tolist(),
                     "weighted": bool(h.weighted) if hasattr(h, "weighted") else None,
                     "sums": {k: h.member("fTsum" + k) for k in (["w", "w2", "wx", "wx2"] + (["wy", "wy2", "wxy"] if len(axes) == 2 else []))},
                     "entries": h.member("fEntries"), "named": h.member("fZaxis" if len(axes) == 2 else "fYaxis").member("fTitle")}
print(json.dumps(out))
"""
BY_ROOT = """
import array, json, sys, ROOT
out, file = {}, ROOT.TFile(sys.argv[1])
for key in file.GetListOfKeys():
    h = key.ReadObj()
    axes = [h.GetXaxis(), h.GetYaxis()][:h.GetDimension()]
    cells = range(h.GetNcells())
    stats = array.array("d", [0] * 13)
    h.GetStats(stats)
    out[str(h.GetName())] = {"class": str(h.ClassName()), "title": str(h.GetTitle()), "axes": [[a.GetBinLowEdge(i) for i in range(1, a.GetNbins() + 2)] for a in axes],
                        "titles": [str(a.GetTitle()) for a in axes], "contents": [h.GetBinContent(i) for i in cells], "errors": [h.GetBinError(i) for i in cells],
                        "sums": dict(zip(["w", "w2", "wx", "wx2"] + (["wy", "wy2", "wxy"] if len(axes) == 2 else []), stats)),
                        "entries": h.GetEntries(), "named": str((h.GetZaxis() if len(axes) == 2 else h.GetYaxis()).GetTitle())}
print(json.dumps(out))
"""


def example(name):
    return re.search(rf"<!-- test: {re.escape(name)} -->\n```\w+\n(.*?)```", GUIDE, re.DOTALL).group(1)


def edges(axis):
    width = (axis["high"] - axis["low"]) / axis["bins"]
    return axis.get("edges") or [axis["low"] + i * width for i in range(axis["bins"] + 1)]


class MonitorTest(RunTest):
    def compiled(self, name, text):
        """Built as in the guide."""
        source, library = self.folder / f"{name}.cpp", self.folder / f"{name}.so"
        source.write_text(text)
        command = [{"sizes.cpp": str(source), "sizes.so": str(library)}.get(word, word) for word in shlex.split(COMPILE)]
        built = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        return library

    def script(self, name, text):
        file = self.folder / f"{name}.py"
        file.write_text(text)
        return file

    def partition(self, **monitors):
        """One that takes data; a monitor is a file, or that and its keys."""
        text = PARTITION
        for name, given in monitors.items():
            file, keys = given if isinstance(given, tuple) else (given, {})
            text += f'[monitor.{name}]\nmonitor = "{file}"\n'
            text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in {**PATIENT, **keys}.items())
        file = self.folder / "p.toml"
        file.write_text(text)
        partition = Partition(self.folder, file, source=None)

        def end():
            if partition.running():
                partition.process.kill()
                partition.process.wait(timeout=120)

        self.addCleanup(end)
        partition.until_built(50)
        return partition

    def histograms(self, partition, monitor, name=None):
        return partition.get(f"/histograms?monitor={monitor}" + (f"&name={name}" if name else ""))

    def until_seen(self, partition, monitor, events):
        return wait_until(lambda: (got := self.histograms(partition, monitor)).get("events", 0) >= events and got,
                          lambda: f"{monitor} has not seen {events} events: {self.histograms(partition, monitor)}; {partition.err}", poll=0.1)

    def until_alarm(self, partition, monitor, alarm):
        wait_until(lambda: any(a["station"] == monitor and a["name"] == alarm for a in partition.get("/alarms")["alarms"]),
                   lambda: f"no alarm {alarm} of {monitor}: {partition.get('/alarms')}; {partition.err}", poll=0.1)

    def stopped(self, partition):
        """The result; the run was good."""
        self.assertEnds(run("run", "stop", "--dir", partition.directory, timeout=300), 0)
        ended = partition.wait(300)
        self.assertEnds(ended, 0)
        self.assertEqual(ended.json["problems"], [])
        self.assertBalances(ended.json)
        self.assertEqual(ended.json["events"]["recorded"], ended.json["events"]["accepted"])
        return ended.json

    def saved(self, partition, monitor):
        (file,) = (partition.directory / monitor).glob(f"{monitor}.*.histograms.json")
        return json.loads(file.read_text()), file.with_suffix(".root")

    def assertSame(self, read, saved):
        """As a program of others reads the ROOT file, and as they stand in the JSON beside it."""
        self.assertEqual(set(read), {h["name"] for h in saved["histograms"]} | {"counter " + c["name"] for c in saved["counters"]})
        for h in saved["histograms"]:
            got, two = read[h["name"]], h["axes"] == 2
            self.assertEqual(got["class"], "TH2D" if two else "TH1D")
            self.assertEqual((got["title"], got["named"], got["entries"]), (h["title"], h["value_title"], h["entries"]))
            self.assertEqual(got["titles"], [h["x"]["title"], *([h["y"]["title"]] if two else [])])
            for have, want in zip(got["axes"], [edges(h["x"]), *([edges(h["y"])] if two else [])], strict=True):
                self.assertEqual(len(have), len(want))
                for a, b in zip(have, want):
                    self.assertAlmostEqual(a, b, delta=1e-9 * max(abs(a), abs(b), 1))
            self.assertEqual(got["contents"], h["contents"], h["name"])
            for have, want in zip(got["errors"], [abs(v) ** 0.5 for v in h.get("squares", h["contents"])], strict=True):
                self.assertAlmostEqual(have, want, delta=1e-12 * max(want, 1))
            for name, have in got["sums"].items():
                self.assertEqual(have, h["sums"][name], (h["name"], name))
        for counter in saved["counters"]:
            self.assertEqual(read["counter " + counter["name"]]["contents"], [0, counter["value"], 0])

    def read_by(self, python, script, file, **more):
        ended = subprocess.run([python, "-W", "ignore", "-c", script, file], capture_output=True, text=True, timeout=300, **more)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return json.loads(ended.stdout)

    def test_those_of_the_guide_see_events_in_cpp_and_in_python(self):
        partition = self.partition(cpp=self.compiled("sizes", example("sizes.cpp")), py=self.script("sizes", example("sizes.py")))
        for monitor in ("cpp", "py"):
            listed = self.until_seen(partition, monitor, 20)
            self.assertEqual([h["name"] for h in listed["histograms"]], ["size", "where"])
            self.assertEqual([c["name"] for c in listed["counters"]], ["damaged"])
            before = self.histograms(partition, monitor, "size")["entries"]
            wait_until(lambda: self.histograms(partition, monitor, "size")["entries"] > before, "the histogram does not move", poll=0.1)
        self.stopped(partition)
        for monitor in ("cpp", "py"):
            saved, _ = self.saved(partition, monitor)
            size, where = saved["histograms"]
            self.assertEqual((size["entries"], where["entries"]), (saved["events"], 4 * saved["events"]))
            self.assertEqual(sum(size["contents"]), saved["events"])
            self.assertTrue(0 < size["mean_x"] < 100_000, size)
            self.assertAlmostEqual(where["mean_x"], 0x420000 + 1.5)
            self.assertEqual(saved["counters"], [{"name": "damaged", "value": 0}])

    def test_those_of_the_examples_fill_what_events_have(self):
        partition = self.partition(spill=self.compiled("spill_shape", (EXAMPLES / "monitor/spill_shape.cpp").read_text()),
                                   beam=EXAMPLES / "testbeam/beam_monitor.py")
        for monitor in ("spill", "beam"):
            self.until_seen(partition, monitor, 20)
        self.stopped(partition)
        spill, beam = self.saved(partition, "spill")[0], self.saved(partition, "beam")[0]
        self.assertEqual({h["name"]: h["entries"] for h in spill["histograms"]}, {"sizes": 4 * spill["events"], "times": spill["events"]})
        # Of the four boards two are here, and the calorimeter is not one of them.
        self.assertEqual({h["name"]: h["entries"] for h in beam["histograms"]}, {"energy": 0, "size": 2 * beam["events"]})
        self.assertEqual(beam["counters"], [{"name": "lost fragments", "value": 2 * beam["events"]}])

    def test_uproot_reads_equal_bins_errors_and_axes_and_so_does_root(self):
        try:
            python = python_venv.python_with(UPROOT, "uproot", PROGRAM)
        except unittest.SkipTest as why:
            print(f"NOT TESTED: histograms read by uproot: {why}", file=sys.stderr)
            python = None
        partition = self.partition(known=self.compiled("known", KNOWN))
        self.until_seen(partition, "known", 1)
        self.stopped(partition)
        saved, file = self.saved(partition, "known")
        self.assertEqual([h["name"] for h in saved["histograms"]], ["empty", "größe <b>", "plain", "two", "weighted"])
        self.assertEqual({h["name"]: h["entries"] for h in saved["histograms"]}["plain"], 10_000)
        self.assertEqual([h["name"] for h in saved["histograms"] if "squares" in h], ["two", "weighted"])
        if python:
            self.assertSame(self.read_by(python, BY_UPROOT, file), saved)
        root = os.environ.get("WEIR_ROOT")
        if not root:
            return print("NOT TESTED: histograms read by ROOT: WEIR_ROOT names none; ./run root installs one", file=sys.stderr)
        site = pathlib.Path(root).resolve().parent  # the wheel's: .../lib/python3.11/site-packages/ROOT
        self.assertSame(self.read_by(sys.executable, BY_ROOT, file, env={**os.environ, "PYTHONPATH": str(site)}), saved)

    def test_histograms_of_boost_histogram_are_kept_as_they_are(self):
        try:
            python = python_venv.python_with(BOOST, "boost_histogram", PROGRAM)
        except unittest.SkipTest as why:
            return print(f"NOT TESTED: monitors with boost-histogram: {why}", file=sys.stderr)
        file = self.script("boost", """
import boost_histogram as bh
import numpy

def begin_run(book):
    rng = numpy.random.default_rng(1)
    x, y = rng.normal(5, 3, (2, 1000))
    plain = book.add("plain", "title;x;events", bh.Histogram(bh.axis.Regular(10, 0, 10)))
    plain.fill(x)
    two = book.add("two", "title;x;y;z", bh.Histogram(bh.axis.Variable([0, 1, 5]), bh.axis.Regular(3, 0, 9), storage=bh.storage.Weight()))
    two.fill(x, y, weight=2)
    own, own_two = book.histogram("own plain", "", (10, 0, 10)), book.histogram("own two", "", [0, 1, 5], (3, 0, 9))
    own.fill(x)
    own_two.fill(x, y, weight=2)

def see(event):
    pass
""")
        partition = self.partition(boost=(file, {"python": str(python)}))
        self.until_seen(partition, "boost", 1)
        self.stopped(partition)
        h = {one["name"]: one for one in self.saved(partition, "boost")[0]["histograms"]}
        self.assertEqual(h["plain"]["contents"], h["own plain"]["contents"])
        self.assertEqual([h["two"][key] for key in ("contents", "squares")], [h["own two"][key] for key in ("contents", "squares")])
        self.assertEqual((h["plain"]["x"]["title"], h["two"]["value_title"], h["plain"]["entries"], h["two"]["entries"]), ("x", "z", 1000, 2000))
        self.assertEqual(h["two"]["x"]["edges"], [0, 1, 5])
        self.assertAlmostEqual(h["plain"]["mean_x"], h["own plain"]["mean_x"], delta=0.5)

    def test_one_that_crashes_and_one_that_hangs_cost_nothing_but_themselves(self):
        crashes = self.compiled("crashes", """
            #include <cstdlib>
            #include <weir/monitor/monitor.hpp>
            struct Crashes final : weir::monitor::Monitor {
                explicit Crashes(weir::monitor::Book& book) : ids(book.histogram("ids", "", {10, 0, 1e9})) {}
                void see(const weir::monitor::Event& event) override {
                    ids.fill(static_cast<double>(number(event.global_id)));
                    if (++seen == 400) std::abort();
                }
                weir::monitor::Histogram1D& ids;
                int seen = 0;
            };
            WEIR_MONITOR(Crashes)""")
        hangs = self.script("hangs", """
import time

def begin_run(book):
    global events
    events = book.counter("events")

def see(event):
    events.add()
    if events.value == 5:
        time.sleep(3600)
""")
        throws = self.script("throws", "def see(event):\n    raise RuntimeError('no <b>gain</b> table')\n")
        partition = self.partition(crashes=crashes, hangs=(hangs, {"time_limit": "1s"}), throws=throws)
        self.until_alarm(partition, "crashes", "monitor_crashed")
        self.until_alarm(partition, "hangs", "monitor_hangs")
        self.until_alarm(partition, "throws", "monitor_threw")
        for monitor in ("crashes", "hangs"):
            wait_until(lambda: partition.station(monitor)["counters"]["restarts"] >= 1, f"{monitor} is not started again; {partition.err}", poll=0.1)
        built = partition.get()["events"]["built"]
        partition.until_built(built + 200)
        after = self.histograms(partition, "crashes")["histograms"][0]["entries"]
        self.until_seen(partition, "crashes", 401)
        self.assertGreater(after, 0, "what it had filled before it crashed is kept")
        result = self.stopped(partition)
        ledgers = {s["name"]: s["ledger"] for s in result["stations"] if s["kind"] == "monitor"}
        self.assertGreaterEqual(ledgers["crashes"]["rejected"]["lost with its process"], 1)
        self.assertGreaterEqual(ledgers["hangs"]["rejected"]["lost with its process"], 1)
        self.assertGreaterEqual(ledgers["throws"]["rejected"]["threw"], 1)
        for ledger in ledgers.values():
            self.assertEqual(ledger["received"], ledger["stored"] + sum(ledger["rejected"].values()) + ledger["in_hand"])

    def test_a_station_that_is_killed_is_started_again_and_one_that_cannot_begin_keeps_no_run_from_beginning(self):
        counts = self.script("counts", "def begin_run(book):\n    global n\n    n = book.counter('n')\n\ndef see(event):\n    n.add()\n")
        broken = self.script("broken", "def begin_run(book):\n    raise RuntimeError('no calibration')\n\ndef see(event):\n    pass\n")
        partition = self.partition(counts=counts, broken=broken)
        self.until_seen(partition, "counts", 5)
        pid = partition.station("counts")["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: partition.station("counts")["pid"] not in (pid, None, 0) and partition.station("counts")["state"] == "running",
                   lambda: f"it is not started again; {partition.err}", poll=0.1)
        self.until_seen(partition, "counts", 5)
        self.assertIn("no calibration", partition.err)
        self.stopped(partition)
        saved, _ = self.saved(partition, "counts")
        self.assertEqual(saved["counters"], [{"name": "n", "value": saved["events"]}])

    def test_a_reference_is_shown_beside_a_histogram_of_the_same_name(self):
        sizes = self.script("sizes", example("sizes.py"))
        first = self.partition(sizes=sizes)
        self.until_seen(first, "sizes", 5)
        self.stopped(first)
        saved, file = self.saved(first, "sizes")
        second = self.partition(sizes=(sizes, {"reference": str(file.with_suffix(".json"))}))
        self.until_seen(second, "sizes", 5)
        self.assertEqual(self.histograms(second, "sizes")["reference_run"], saved["run"])
        shown = self.histograms(second, "sizes", "size")["reference"]
        self.assertEqual(shown["contents"], saved["histograms"][0]["contents"])
        self.assertEqual(self.histograms(second, "sizes", "none").get("error", "")[:8], "there is")
        self.assertIn("no monitor", self.histograms(second, "ros-1")["error"])
        self.stopped(second)

    def test_with_certificates_it_asks_as_a_station_of_the_partition(self):
        counts = self.script("counts", "def begin_run(book):\n    global n\n    n = book.counter('n')\n\ndef see(event):\n    n.add()\n")
        file, directory = self.folder / "p.toml", self.folder / "D"
        file.write_text(PARTITION + f'[monitor.counts]\nmonitor = "{counts}"\nstart_limit = "120s"\nrate = 0\n[security]\nown_authority = true\n')
        ended = self.assertEnds(run("run", file, "--events", 3000, "--dir", directory, "--json", timeout=300), 0)
        self.assertEqual(ended.json["problems"], [])
        (saved,) = (directory / "counts").glob("*.json")
        self.assertGreater(json.loads(saved.read_text())["events"], 0, ended.err)

    def test_what_is_wrong_is_named_before_a_run(self):
        file = self.folder / "p.toml"
        for keys, word in (("", "no monitor"), ('monitor = "none.so"', "none.so"), ('monitor = "x.txt"', "NAME.py"),
                           (f'monitor = "{self.script("m", "def see(event): pass")}"\nstream = "x"', "stream")):
            file.write_text(PARTITION + f"[monitor.m]\n{keys}\n")
            self.assertOneLine(run("config", "check", file), 2, "[monitor.m]", word)


if __name__ == "__main__":
    weir_program.main()
