# SPDX-License-Identifier: Apache-2.0
"""A selection with every fault that authors make: the global id selects one."""
import os
import time


def select(event):
    kind = event.global_id % 100
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
