# SPDX-License-Identifier: Apache-2.0
"""A selection with every fault that authors make: the global id selects one."""
import os
import signal
import time


def steps(event):
    """As a generator, and with a call."""
    sizes = lambda robs, sources: [len(robs[source]) for source in sources if source in robs]
    first = [50, 7, 51, 50, 91]
    robs = yield first
    words = sizes(robs, first) + sizes(event.request([52, 51]), [52, 51])
    return {"accept": True, "level2_words": words + [sum(source not in robs for source in first)],
            "result": robs[50][:1].tobytes()}


def select(event):
    kind = event.global_id % 100
    if kind == 20:
        return steps(event)
    if kind == 21:
        return event.request([50])[50][0] == 0 and event.request([51])
    if kind == 22:
        while True:
            event.request([50])
    if kind == 23:
        event.request(50)
        time.sleep(1000)
    if kind == 24:
        event.request(50)
        os.abort()
    if kind == 25:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        event.request(50)
    if kind == 30:
        return ["physics_Main", ("calibration_Muons", [7, 9])]
    if kind == 31:
        return {"tags": [("calibration_Muons", [])]}
    if kind == 1:
        return 1 // 0
    if kind == 2:
        time.sleep(1000)
    if kind == 3:
        os.abort()
    if kind == 4:
        os._exit(3)
    if kind == 5:
        return "physics/Main"
    if kind == 8:
        return False
    if kind == 9:
        return ["physics_Main", "express_express"]
    if kind == 10:
        event.fragments[7][0] = 1  # they are read-only
    if kind == 11:
        return [f"physics_S{number}" for number in range(33)]
    if kind == 12:
        return {"tags": ["physics_Main"], "result": bytes(64 * 1024 + 1)}
    if kind == 13:
        return {"tags": ["physics_Main"], "level2_words": range(257)}
    if kind == 14:
        return {"tags": ["physics_Main"], "level2_words": [1 << 32]}
    if kind == 15:
        return ["physics_" + "x" * 70_000]
    words = [int(event.fragments[source].sum()) & 0xffffffff for source in sorted(event.fragments)]
    return {"accept": True, "tags": ["physics_Main"], "level2_words": words + [len(event.missing), len(event.payload)],
            "result": event.fragments[7].tobytes() if 7 in event.fragments else b""}
