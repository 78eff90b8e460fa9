# SPDX-License-Identifier: Apache-2.0
"""A trigger plug-in in Python: the same as scintillators.cpp beside it.

    [supervise.l2sv]
    source = "plug-in:scintillators.py"

With TRIGGER_RECORD=FOLDER in the environment it keeps a record of its own there, to compare with what was recorded."""
import os
import random
import time


class Unit:
    """Coincidences at random, 2000 a second, while it is not vetoed."""

    def __init__(self):
        self._random, self._next_ns, self._vetoed = random.Random(5), 0, False

    def read(self):
        """Time, type and pulse heights of the next one that has happened; None: none has."""
        now = time.time_ns()
        if self._next_ns == 0 or self._vetoed:
            self._next_ns = now + self._interval()
        self._vetoed = False
        if self._next_ns > now:
            return None
        happened = self._next_ns
        self._next_ns += self._interval()
        return happened, 2 if self._random.randrange(16) == 0 else 1, [self._random.randrange(4096), self._random.randrange(4096)]

    def veto(self):
        self._vetoed = True

    def _interval(self):
        return 1 + int(self._random.expovariate(1 / 500_000))


def begin_run(run, next_level1_id):
    global unit, level1_id, record
    unit, level1_id = Unit(), next_level1_id
    folder = os.environ.get("TRIGGER_RECORD")
    record = open(f"{folder}/triggers_{run}", "w") if folder else None


def poll(out):
    global level1_id
    if out.busy():
        return unit.veto()
    for _ in range(10):
        found = unit.read()
        if found is None:
            return
        time_ns, kind, heights = found
        out.send(time_ns=time_ns, type=kind, words=heights)  # under the next level-1 id
        if record:
            record.write(f"{level1_id} {time_ns} {kind} {heights[0]} {heights[1]}\n")
        level1_id += 1


def end_run():
    if record:
        record.close()
