# SPDX-License-Identifier: Apache-2.0
"""A selection with every fault that people write: which one is said by the global id."""
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
    words = [int(event.fragments[source].sum()) & 0xffffffff for source in sorted(event.fragments)]
    return {"accept": True, "tags": ["physics_Main"], "level2_words": words + [len(event.missing), len(event.payload)],
            "result": event.fragments[7].tobytes() if 7 in event.fragments else b""}
