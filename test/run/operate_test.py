# SPDX-License-Identifier: Apache-2.0
"""Whole partitions operated in bad weather: stations and run control that are killed or stand still at any moment of a run,
selections that crash, hang or answer nonsense, disks that fill up, one to three recorders. Afterwards the files are read:

    accepted events = recorded once + rejected by a filter + listed as lost, by global id and with a cause

and in a run that ends by itself nothing is lost. Everything about a run is drawn from its seed (weather.py).

WEIR_RUNS is the number of runs (./run operate 300), WEIR_SEED with which seed they begin, WEIR_AT_ONCE how many at the same
time. Without the first two there are a few runs that were chosen for their faults. A run that fails keeps its directory below WEIR_KEEP, when that is set.
"""
import collections
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import weir_program
from recorder_files import RawFile, listed
from run_test import EVENT_NUMBER, ORIGINALS, ROB_LOST, Partition, robs_of
from weather import NO_MOUNT, Plugins, Weather
from weir_process import wait_until
from weir_program import ProgramTest, run

# 9: a readout and a filter are killed at once; 10: one of three recorders is; 18: run control is; 53: the DFM is; 54: a filter is, in
# the stop; 308: a disk is full, and level 2 crashes in threads; 343: a builder and run control stand still.
CHOSEN = [9, 10, 18, 53, 54, 308, 343]
RUNS, SEED = (int(os.environ.get(name) or 0) for name in ("WEIR_RUNS", "WEIR_SEED"))
SEEDS = list(range(SEED or 1, (SEED or 1) + (RUNS or 1))) if RUNS or SEED else CHOSEN
AT_ONCE = int(os.environ.get("WEIR_AT_ONCE") or 2)
KEEP = os.environ.get("WEIR_KEEP")
DISK = 48 << 20  # of a recorder whose disk fills up
ENDS = 420  # seconds in which a run has to end, whatever happens to it


def ids_of(text):
    """"12-40,99" as a set."""
    ids = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        ids |= set(range(int(first), int(last or first) + 1))
    return ids


class Operation:
    """A run: lets it happen, then reads what is there."""

    def __init__(self, weather, folder, plugins):
        self.weather, self.folder = weather, folder
        self.folder.mkdir()
        self.directory, self.disk, self.mounted = folder / "D", None, False
        if weather.disk:
            self.disk = folder / "disk"
            self.disk.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", self.disk], check=True)
            (self.disk / "weir.volume").touch()
            self.mounted = True
        self.file = folder / "p.toml"
        self.file.write_text(weather.partition(plugins, self.disk))
        self.threads, self.problems, self.counts = [], [], collections.Counter()
        self.outcome = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", "-l", self.disk], check=False)

    def wrong(self, what):
        self.problems.append(what)

    # What happens.

    def happen(self):
        weather = self.weather
        with Partition(self.folder, self.file, directory=self.directory) as partition:
            self.partition = partition
            self.threads = [threading.Thread(target=self.disturb, args=(fault,), daemon=True) for fault in weather.faults]
            if weather.ends != "by itself":
                self.threads.append(threading.Thread(target=self.stop, daemon=True))
            for thread in self.threads:
                thread.start()
            try:
                self.ended = partition.wait(ENDS)
            except AssertionError:
                self.wrong(f"did not end in {ENDS} s")
                self.ended = None
            for thread in self.threads:
                thread.join(60)
        if self.ended is not None and self.ended.code == -9:
            self.after_run_control()

    def look(self):
        """The partition as run control shows it; nothing when it has ended or does not answer."""
        try:
            return self.partition.get()
        except (AssertionError, OSError, ValueError, KeyError):
            return None

    def until(self, condition):
        """The partition in a state where `condition` holds; nothing when the run ended before."""
        while self.partition.running():
            seen = self.look()
            if seen and condition(seen):
                return seen
            time.sleep(0.02)
        return None

    def is_there(self, phase, after):
        if phase == "start":
            return lambda seen: seen["state"] in ("coming up", "starting") and all(station["pid"] for station in seen["stations"])
        if phase == "run":
            return lambda seen: seen["state"] == "running" and seen["events"]["triggers"] > 0 and (
                seen["events"]["built"] >= after * 0.5 * self.weather.events)
        return lambda seen: seen["state"] in ("stopping", "ending")

    def disturb(self, fault):
        if fault.station == "disk" and not self.disk:
            return
        seen = self.until(self.is_there(fault.phase, fault.after))
        if not seen:
            return
        time.sleep(fault.delay)
        if fault.station == "disk":
            fault.happened = True
            return self.fill(fault)
        if fault.station == "run":
            pid = self.partition.pid
        else:
            pid = next(station["pid"] for station in (self.look() or seen)["stations"] if station["name"] == fault.station)
        if pid <= 0:  # it is not there just now
            return
        try:
            os.kill(pid, signal.SIGKILL if fault.kills else signal.SIGSTOP)
            fault.happened = True
            if not fault.kills:
                time.sleep(fault.still)
                os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def fill(self, fault):
        """The disk of the first recorder is full for a while."""
        filler = self.disk / "foreign"
        try:
            with open(filler, "wb", buffering=0) as file:
                for size in (1 << 20, 1 << 12):
                    while True:
                        file.write(bytes(size))
        except OSError:
            pass
        time.sleep(fault.still)
        filler.unlink()

    def stop(self):
        if not self.until(self.is_there("run", self.weather.ends_after)):
            return
        if self.weather.ends == "SIGINT":
            self.partition.signal(signal.SIGINT)
        else:
            run("run", "stop", "--dir", self.directory, "--reason", "enough", timeout=ENDS)

    def after_run_control(self):
        """The stations of a run control that was killed end by themselves; the next one reports what happened, and all is well."""
        stations = lambda: subprocess.run(["pgrep", "-f", str(self.directory)], capture_output=True, text=True).stdout.split()
        wait_until(lambda: not stations(), "all stations have ended", 180)
        was_open = (self.directory / "run-open.json").exists()
        with Partition(self.folder, self.file, "--events", 10, directory=self.directory) as after:
            ended = after.wait(ENDS)
        if was_open and "was not stopped: the run control before this one was killed" not in ended.err:
            self.wrong(f"the next run control does not report that the run was not stopped: {ended!r}")
        if ended.code != 0:
            self.wrong(f"the run after run control was killed: {ended!r}")
        self.tail = ended

    # What is there.

    def directories(self):
        below = [self.directory] if self.weather.recorders == 1 else [self.directory / f"rec-{n + 1}" for n in range(self.weather.recorders)]
        if self.disk:
            below[0] = self.disk
        return [directory for directory in below if (directory / "weir.catalogue").exists()]

    def read(self):
        """Global ids of all events in closed files, with how often; how many have empty ROBs. Every other ROB is the original's."""
        found, empty = collections.Counter(), 0
        for directory in self.directories():
            if "weir recover, or its next start, closes its files" in self.ended.err:  # an operator's stop did not wait for it
                recovered = run("recover", directory, timeout=300)
                if recovered.code != 0:
                    self.wrong(f"recover {directory.name}: {recovered!r}")
            verified = run("verify", directory, timeout=300)
            if verified.code != 0 and not (verified.code == 3 and not listed(directory)):
                self.wrong(f"verify {directory.name}: {verified!r}")
            still_open = [path.name for path in directory.glob("*.writing")]
            if still_open:
                self.wrong(f"files are still open: {still_open}")
            for file in listed(directory):
                if self.ended.code == -9 and file["run"] != 1:
                    continue
                for _, event in RawFile(file["path"]).events():
                    robs = robs_of(event)
                    number = int.from_bytes(event[EVENT_NUMBER:EVENT_NUMBER + 4], "little")
                    found[number] += 1
                    original = ORIGINALS[(number - 1) % len(ORIGINALS)]
                    if sorted(robs) != sorted(original):
                        self.wrong(f"event {number} has other sources")
                    empty += any(status[0] & ROB_LOST for _, status, _ in robs.values())
                    if any(data != original[source][2] for source, (_, status, data) in robs.items() if not status[0] & ROB_LOST):
                        self.wrong(f"event {number} is not what it was")
        return found, empty

    def judge(self):
        weather = self.weather
        if self.ended is None:
            return
        found, empty = self.read()
        twice = sorted(id for id, times in found.items() if times > 1)
        if twice:
            self.wrong(f"recorded twice: {twice}")
        recorded = set(found)
        self.counts["recorded"] = len(recorded)
        if self.ended.code == -9:
            self.outcome = f"run control was killed; {len(recorded)} events"
            if recorded - set(range(1, weather.events + 1)):
                self.wrong("events that were never made")
            return
        try:
            result = self.ended.json
        except ValueError:
            if self.ended.code == 1 and any(fault.happened and fault.phase == "start" for fault in weather.faults) and not recorded:
                self.outcome = "did not start: " + self.ended.err.strip().splitlines()[-1]
                return
            return self.wrong(f"no result: {self.ended!r}")
        triggers, account = result["events"]["triggers"], result["account"]
        by_itself = result["reason"] == "all events are done"
        self.outcome = f"{result['reason']}; {triggers} triggers, {len(recorded)} recorded"
        # One that only stood still comes back with all that it knew, unless run control ended it for that.
        gone = [kind for kind in ("l2sv", "dfm") if weather.hit(kind, kills=True) or any(
            f"{kind} did not answer" in problem or f"station {kind} " in problem for problem in result["problems"])]
        started = triggers > 0 or recorded  # what dies while a run starts ends it before there is an event
        if not by_itself and weather.ends == "by itself" and started and not gone and not weather.disk:
            self.wrong(f"the run ended because {result['reason']}")
        kept_by_rule = {id for id in range(1, triggers + 1) if weather.level2.keeps(id) and weather.filter.keeps(id)}
        may_be_kept = {id for id in range(1, weather.events + 1) if weather.filter.keeps(id)} if result["selection"]["forced"] or any(
            fault.happened for fault in weather.faults) else kept_by_rule
        if result["selection"]["forced"]:  # also by the filter's time limit on a machine that is busy
            may_be_kept = set(range(1, weather.events + 1))
        if recorded - may_be_kept:
            self.wrong(f"recorded though rejected: {sorted(recorded - may_be_kept)[:20]}")
        if account is None:
            # A recorder that an operator's stop did not wait for, or supervisor and DFM: they took what they knew along.
            not_waited_for = not by_itself and ("weir recover, or its next start, closes its files" in self.ended.err or any(
                fault.happened and fault.phase == "stop" and fault.station.startswith("rec-") for fault in weather.faults))
            explained = any("what became of each event is not known, because" in problem for problem in result["problems"])
            if started and (not (len(gone) == 2 or not_waited_for) or not explained or self.ended.code != 1):
                self.wrong(f"there is no account: exit code {self.ended.code}, {result['problems']}")
            return
        lost = {}
        for cause in account["lost"]:
            ids = ids_of(cause["ids"])
            if not cause["cause"] or len(ids) != cause["events"] or ids & set(lost):
                self.wrong(f"lost: {cause}")
            lost |= {id: cause["cause"] for id in ids}
        if lost:
            self.outcome += f", {len(lost)} listed as lost ({', '.join(sorted(set(lost.values())))})"
        self.counts["accepted"], self.counts["lost"] = account["accepted"], len(lost)
        self.counts["ended by themselves"] = by_itself
        if set(lost) & recorded:
            self.wrong(f"listed as lost and recorded: {sorted(set(lost) & recorded)[:20]}")
        missing = kept_by_rule - recorded - set(lost)
        if missing and (by_itself or not gone):
            self.wrong(f"{len(missing)} accepted events are neither recorded nor listed: {sorted(missing)[:20]}")
        if account["recorded"] != len(recorded) or result["events"]["recorded"] != len(recorded):
            self.wrong(f"it counts {account['recorded']} and {result['events']['recorded']} recorded, {len(recorded)} are")
        if account["accepted"] != account["recorded"] + account["rejected"] + len(lost) - account["unaccepted"]["events"]:
            self.wrong(f"the account does not balance: {account}")
        if account["twice"]["events"] or account["unaccepted"]["events"]:
            self.wrong(f"account: {account}")
        if by_itself and lost and not weather.hit("dfm", kills=True):  # only it knew which events no station had
            self.wrong(f"a run that ended by itself lost {len(lost)} events: {account['lost']}")
        bad = bool(lost) or (not by_itself and weather.ends == "by itself")
        if bad and self.ended.code != 1:
            self.wrong(f"exit code {self.ended.code} though events are lost or a station failed")
        disturbed = {fault.station for fault in weather.faults if fault.happened}
        if not by_itself:  # a station whose threads crash during a stop is not replaced, and is named
            disturbed |= {kind for kind, selection in (("l2pu-", weather.level2), ("ef-", weather.filter))
                          if selection.fails == "crashes" and selection.workers_are == "threads"}
        unexpected = [problem for problem in result["problems"] if not any(name in problem for name in disturbed)]
        if not bad and (unexpected or self.ended.code != (1 if result["problems"] else 0)):
            self.wrong(f"exit code {self.ended.code}: {result['problems']}")
        if empty:
            self.outcome += f", {empty} incomplete"
        incomplete = result["events"]["incomplete"]  # some of them were rejected by filters
        if empty > incomplete or empty < incomplete and not weather.filter.reject and not lost and not gone:
            self.wrong(f"it counts {incomplete} incomplete events, {empty} have empty ROBs")

    def operate(self):
        begun = time.monotonic()
        self.happen()
        if self.ended is not None:
            self.judge()
        return f"{time.monotonic() - begun:.0f} s: {self.outcome}"


class Weathers(ProgramTest):
    def test_accepted_events_are_recorded_once_or_listed_as_lost_with_a_cause(self):
        plugins, failed, done, happened, counts = Plugins(self.folder), [], 0, collections.Counter(), collections.Counter()
        drawn = struck = 0  # faults
        if NO_MOUNT:
            print(f"NOT TESTED: full disks: {NO_MOUNT}", file=sys.stderr)

        def one(seed):
            weather = Weather(seed)
            with Operation(weather, self.folder / f"run-{seed}", plugins) as operation:
                try:
                    summary = operation.operate()
                except Exception as problem:  # of the test; it is a failure of this run
                    operation.wrong(f"{type(problem).__name__}: {problem}")
                    summary = "the test failed"
                if operation.problems:
                    (operation.folder / "weather").write_text("\n".join([str(weather), summary, *operation.problems]) + "\n")
                    if KEEP:
                        shutil.copytree(operation.folder, pathlib.Path(KEEP) / f"run-{seed}", dirs_exist_ok=True,
                                        ignore=lambda _, names: [name for name in names if name == "weir.control"])
            shutil.rmtree(operation.folder, ignore_errors=True)
            return weather, summary, operation

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for future in concurrent.futures.as_completed([pool.submit(one, seed) for seed in SEEDS]):
                weather, summary, operation = future.result()
                problems = operation.problems
                done += 1
                counts += operation.counts
                for fault in weather.faults:
                    drawn += fault.station != "disk" or weather.disk
                    if fault.happened:
                        struck += 1
                        what = "disk full" if fault.station == "disk" else "killed" if fault.kills else "still"
                        happened[f"{fault.station.split('-')[0]} {what}"] += 1
                        happened[f"in {fault.phase}"] += 1
                print(f"{done}/{len(SEEDS)} {'FAILED' if problems else 'good'} {weather}\n      {summary}", file=sys.stderr)
                for problem in problems:
                    print(f"      {problem}", file=sys.stderr)
                sys.stderr.flush()
                if problems:
                    failed.append(weather.seed)
        print(f"{len(SEEDS)} runs, {counts['ended by themselves']} ended by themselves; {counts['accepted']} accepted events, {counts['recorded']} recorded, "
              f"{counts['lost']} listed as lost; faults: {', '.join(f'{what} {n}' for what, n in sorted(happened.items()))}", file=sys.stderr)
        if failed:
            self.fail(f"{len(failed)} of {len(SEEDS)} runs, with the seeds {sorted(failed)}; again: WEIR_SEED=N WEIR_RUNS=1")
        if len(SEEDS) > 1:
            self.assertGreaterEqual(2 * struck, drawn, f"of {drawn} faults {struck} happened: these runs show little")


if __name__ == "__main__":
    weir_program.main(needs_recorded_events=True)
