# SPDX-License-Identifier: Apache-2.0
"""A trigger plug-in with every fault that authors make: the run number selects one. As faulty_triggers.cpp."""
import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../plugin/test"))
from plug_in_faults import *


def begin_run(run, next_level1_id):
    global fault, following, from_the_first, polled, busy, soon, returned
    fault, following, polled, busy, soon, returned = run % 100, next_level1_id, 0, 0, 0, 0
    from_the_first = following == 1
    if fault == BEGIN_THROWS:
        raise RuntimeError("the unit is off")


def poll(out):
    global polled, busy, following
    polled += 1
    if fault == POLL_THROWS and polled % 2 == 1:
        raise RuntimeError("the bus does not answer")
    if fault == LOOKS_FOR_BUSY:
        if out.busy():
            busy += 1
        else:
            send(out)
        return
    if fault == RESTS_BRIEFLY:
        return rest(out)
    while fault == SENDS_FOR_EVER:
        send(out)  # whatever the answer
    for _ in range(10):
        if following == 50 and from_the_first:
            fail(out)
        if following == 11 and fault == WRONG_IDS:
            for _ in range(2):
                out.send(level1_id=14, time_ns=14)
            following = 15
        send(out)


def end_run():
    if fault == END_THROWS:
        raise RuntimeError("the unit is off")


def send(out):
    global following
    out.send(time_ns=1_700_000_000_000_000_000 + 1000 * following, type=busy if fault == LOOKS_FOR_BUSY else following % 7,
             bunch_crossing_id=following % 3564, words=[following] * (following % 5))
    following += 1


def rest(out):
    """Once it was called again soon, oftener than by messages that come."""
    global soon, returned
    soon += time.monotonic() - returned < 0.001
    if soon == 20:
        send(out)
    returned = time.monotonic()


def fail(out):
    global from_the_first
    if fault == HANGS:
        hang()
    if fault == CRASHES:
        os.abort()
    if fault == EXITS:
        os._exit(3)
    if fault == SENDS_GARBAGE:
        os.write(3, b"this is no message at all")
    if fault == WRONG_ID_THEN_CRASHES:
        time.sleep(0.002)  # so that it goes out at once
        out.send(level1_id=10)
        os.abort()
    if fault == TOO_MANY_WORDS:
        from_the_first = False
        out.send(words=[0] * 300)
