# SPDX-License-Identifier: Apache-2.0
"""A run of a whole partition, and what is done to it, drawn from a seed: how many stations of each kind, what level 2 and the event filter
do, which station, disk or run control is killed, stands still or is full, and when."""
import math
import random
import shlex
import subprocess
import threading

import mounting
from recorder_files import expect
from run_selection_test import COMPILE, SOURCE

NO_MOUNT = mounting.why_no_mount()

# A selection that rejects by a rule which the test knows, and is wrong about every WRONGth event.
PLUGIN = """
#include <chrono>
#include <cstdlib>
#include <thread>
#include <weir/selection/selection.hpp>
static void select(const weir::selection::Event& event, weir::selection::Decision& decision) {
    const auto id = number(event.global_id);
    if (WRONG != 0 && id % WRONG == WRONG / 2) {
        if (KIND == 1) std::abort();
        if (KIND == 2) std::this_thread::sleep_for(std::chrono::hours{1});
        if (KIND == 3)
            for (int n = 0; n != 40; ++n) decision.accept("physics_S" + std::to_string(n));
    } else if (REJECT == 0 || id % REJECT != 0) {
        decision.accept(STREAM);
    }
}
WEIR_SELECTION(select)
"""
KINDS = {"crashes": 1, "hangs": 2, "nonsense": 3}


class Selection:
    """What level 2 or the event filter does: the rule, and on which events it fails."""

    def __init__(self, draw, level):
        self.level = level
        self.reject = draw.choice([0, 0, 3, 5])
        self.fails = draw.choice(["", "", "", "crashes", "hangs", "nonsense"])
        self.wrong = draw.randint(150, 400) if self.fails else 0
        self.workers_are = draw.choice(["processes", "processes", "threads"]) if self.fails != "hangs" else "processes"
        self.sleep = draw.choice([0, 0, 20, 60]) if level == "ef" and not self.reject and not self.fails else 0

    @property
    def built_in(self):
        return not self.reject and not self.fails

    def fails_on(self, id):
        return self.wrong and id % self.wrong == self.wrong // 2

    def keeps(self, id):
        return bool(self.fails_on(id)) or not self.reject or id % self.reject != 0

    def keys(self, plugin):
        if self.built_in:
            return [f'selection = "sleep:{self.sleep}ms"' if self.sleep else 'selection = "all"']
        return [f'selection = "{plugin(self)}"', f'workers_are = "{self.workers_are}"', "workers = 2", 'time_limit = "2s"']

    def __str__(self):
        if self.built_in:
            return f"{self.level} sleeps {self.sleep} ms" if self.sleep else f"{self.level} takes all"
        fails = f", {self.fails} on every {self.wrong}th in {self.workers_are}" if self.fails else ""
        return f"{self.level} rejects every {self.reject}th{fails}" if self.reject else f"{self.level} takes all{fails}"


class Fault:
    """Something that happens to one station, to run control ("run") or to a disk."""

    def __init__(self, draw, names):
        self.station = draw.choice(names)
        self.kills = draw.random() < 0.5
        self.still = math.exp(draw.uniform(0, math.log(30)))  # 1 to 30 s, short ones more often
        self.phase = draw.choice(["start", "run", "run", "run", "stop"])
        self.after = draw.uniform(0, 0.8)  # share of the events that are built then
        self.delay = draw.uniform(0, 0.5)
        self.happened = False

    def __str__(self):
        what = "disk full" if self.station == "disk" else "killed" if self.kills else f"still for {self.still:.1f} s"
        if self.station == "disk":
            what += f" for {self.still:.1f} s"
        return f"{self.station} {what} in {self.phase}{f' at {self.after:.2f}' if self.phase == 'run' else ''}"


class Weather:
    """One run, drawn from a seed."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.seed = seed
        self.readouts = draw.choice([2, 3])
        self.builders, self.filters, self.recorders = draw.randint(1, 2), draw.randint(1, 3), draw.randint(1, 3)
        self.link = draw.choice(["udp", "udp", "tcp"])
        self.events = draw.choice([600, 1200, 1800])
        self.rate = draw.choice([0, 200, 400, 400])
        self.level2, self.filter = Selection(draw, "level 2"), Selection(draw, "ef")
        if self.filter.sleep:
            self.events, self.rate = 600, 0
        self.ends = draw.choice(["by itself", "by itself", "by itself", "command", "SIGINT"])
        self.ends_after = draw.uniform(0.1, 0.9)
        self.stop_deadline = draw.choice([10, 60])
        fills = draw.random() < 0.15
        self.disk = fills and NO_MOUNT is None  # a seed draws the same where nothing can be mounted
        names = self.names() + ["run"] + ["disk"] * 4 * fills
        self.faults = [Fault(draw, names) for _ in range(draw.choice([1, 1, 1, 2]))]
        if len(self.faults) == 2:  # at once
            self.faults[1].phase, self.faults[1].after, self.faults[1].delay = (
                self.faults[0].phase, self.faults[0].after, self.faults[0].delay)

    def names(self):
        names = [f"ros-{n + 1}" for n in range(self.readouts)] + ["l2sv", "dfm", "l2pu-1", "l2pu-2"]
        for kind, count in (("sfi", self.builders), ("ef", self.filters), ("rec", self.recorders)):
            names += [f"{kind}-{n + 1}" for n in range(count)]
        return names

    def partition(self, plugin, disk):
        lines = ["[partition]", 'name = "operated"', "key = 91668", "[data]", 'format = "event-3.0"', 'level1_offset = ["0xa80010:1"]',
                 'level1_exempt = ["0x7c0000"]', "sources = []", "[network]", f'link = "{self.link}"', 'datagram_max = "65507B"',
                 "[run]", f'stop_deadline = "{self.stop_deadline}s"', 'incomplete_max = "100%"']
        for n in range(self.readouts):
            lines += [f"[readout.ros-{n + 1}]", 'source = "file"', f'part = "{n + 1}/{self.readouts}"']
        lines += ["[supervise.l2sv]", 'source = "file"', f"events = {self.events}", f"rate = {self.rate}", "regions = 3"]
        for n in range(2):
            lines += [f"[select.l2pu-{n + 1}]", *self.level2.keys(plugin)]
        lines += ["[assign.dfm]"] + [f"[build.sfi-{n + 1}]" for n in range(self.builders)]
        for n in range(self.filters):
            lines += [f"[filter.ef-{n + 1}]", *self.filter.keys(plugin), 'streams = ["physics_Main"]']
        for n in range(self.recorders):
            lines += [f"[record.rec-{n + 1}]", 'project = "data_operated"', "file_events_max = 100"]
            if disk and n == 0:
                lines += [f'directories = ["{disk}"]']
        return "\n".join(lines) + "\n"

    def hit(self, kind, kills=None):
        """Whether a fault happened to a station of this kind."""
        return any(f.happened and f.station.split("-")[0] == kind and (kills is None or f.kills == kills) for f in self.faults)

    def __str__(self):
        faults = " and ".join(map(str, self.faults))
        return (f"seed {self.seed}: {self.readouts} ros, {self.builders} sfi, {self.filters} ef, {self.recorders} rec, {self.link}, "
                f"{self.events} events at {self.rate or 'any'} Hz; {self.level2}; {self.filter}; ends {self.ends} in {self.stop_deadline} s; {faults}")


class Plugins:
    """Each selection is compiled once, as in docs/selections.md."""

    def __init__(self, folder):
        self.folder, self.lock, self.made = folder, threading.Lock(), {}

    def __call__(self, selection):
        kind = KINDS.get(selection.fails, 0)
        stream = "physics_Main"
        name = f"plugin-{selection.reject}-{selection.wrong}-{kind}"
        with self.lock:
            if name not in self.made:
                source, library = self.folder / f"{name}.cpp", self.folder / f"{name}.so"
                defines = f"#define REJECT {selection.reject}\n#define WRONG {selection.wrong}\n#define KIND {kind}\n#define STREAM \"{stream}\"\n"
                source.write_text(defines + "#include <string>\n" + PLUGIN)
                command = [{"mine.cpp": str(source), "mine.so": str(library), "-O2": "-O0"}.get(word, word) for word in shlex.split(COMPILE)]
                built = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
                expect(built.returncode == 0, built.stderr)
                self.made[name] = library
            return self.made[name]
