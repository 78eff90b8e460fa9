# SPDX-License-Identifier: Apache-2.0
"""What bench_triggers.cpp is, in Python."""

WORDS = [0x5A5A5A5A, 1]
time_ns = 0


def poll(out):
    global time_ns
    for _ in range(100):
        time_ns += 1
        out.send(time_ns=time_ns, type=1, words=WORDS)
