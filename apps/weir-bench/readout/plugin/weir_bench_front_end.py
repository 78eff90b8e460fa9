# SPDX-License-Identifier: Apache-2.0
"""What bench_front_end.hpp is, in Python."""
import os


def begin_run(run, sources):
    global ours, payload, event
    ours, payload, event = list(sources), b"\x5a" * int(os.environ["WEIR_BENCH_FRAGMENT_SIZE"]), 0


def poll(out):
    global event
    for _ in range(100):
        event += 1
        for source in ours:
            out.send(source, payload, level1_id=event)
