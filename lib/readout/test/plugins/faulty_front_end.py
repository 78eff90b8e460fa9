# SPDX-License-Identifier: Apache-2.0
"""A front-end with every fault that authors make: the run number selects one. As faulty_front_end.cpp."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../plugin/test"))
from plug_in_faults import *


def begin_run(run, the_sources):
    global fault, sources, following, polled, happened
    fault, sources, following, polled, happened = run % 100, the_sources, 1, 0, []
    if fault == BEGIN_THROWS:
        raise RuntimeError("the crate is off")
    if fault == BEGIN_HANGS:
        hang()
    if fault == BEGIN_CRASHES:
        os.abort()


def read_out(trigger, out):
    event = trigger.level1_id
    if fault == STAMPS:
        return happened.append(trigger)
    if event % 10 == 5:
        if fault == READ_OUT_THROWS:
            raise RuntimeError("no data in the module")
        if fault == HANGS:
            hang()
        if fault == CRASHES:
            os.abort()
        if fault == EXITS:
            os._exit(3)
        if fault == SENDS_GARBAGE:
            os.write(3, b"this is no message at all")
        if fault == WRONG_FRAGMENTS:
            send_wrong(event, out)
    for source in sources:
        send(source, event, out)


def poll(out):
    global following, polled
    polled += 1
    if fault == POLL_THROWS and polled % 2 == 1:
        raise RuntimeError("the bus does not answer")
    if fault in (RUNS_FREELY, POLL_THROWS):
        for _ in range(10):
            for source in sources:
                send(source, following, out, following)
            following += 1
    if fault == STAMPS:
        send_stamped(out)
    while fault == SENDS_FOR_EVER:
        send(sources[0], 1_000_000, out, 1_000_000)


def end_run(out):
    if fault == END_THROWS:
        raise RuntimeError("the crate is off")
    if fault == END_HANGS:
        hang()
    if fault == NONE:
        send(sources[0], 1_000_000, out, 1_000_000)  # far too late, or early


def send(source, event, out, level1_id=None, time_ns=None):
    """Bytes of the id: id % 100 of them, each the id and its place."""
    out.send(source, bytes((event + i) & 0xff for i in range(event % 100)), level1_id=level1_id, time_ns=time_ns, status=[event])


def send_stamped(out):
    """A board that knows no level-1 ids: its clock was switched on long after the others, and runs 10 ppm faster. Of the
    second source the fragment of event 150 is lost, and of the first noise comes between events 200 and 201."""
    for trigger in happened:
        time_ns = trigger.time_ns - 1_700_000_000_000_000_000
        stamp = time_ns + time_ns // 100_000 - 5_000_000_000
        for source in sources:
            if trigger.level1_id != 150 or source == sources[0]:
                send(source, trigger.level1_id, out, time_ns=stamp)
        if trigger.level1_id == 200:
            send(sources[0], 200, out, time_ns=stamp + 20_000)
    happened.clear()


def send_wrong(event, out):
    out.send(0x99, b"", level1_id=event)
    out.send(sources[0], b"", level1_id=event - 1)            # again
    out.send(sources[0], b"", level1_id=event + 100_000_000)  # the counter jumped
    out.send(sources[0], bytes(40 << 20), level1_id=event)
    out.send(sources[0], b"", level1_id=event, kind="rod")
