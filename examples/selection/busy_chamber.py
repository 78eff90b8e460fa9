# SPDX-License-Identifier: Apache-2.0
"""A selection in Python for BES III: the same as busy_chamber.cpp beside it.

    [filter.ef-1]
    selection = "busy_chamber.py"
    workers = 4                   # processes
"""
DRIFT_CHAMBER, CALORIMETER = 0xA1, 0xA3
CHAMBER_WORDS_MIN, CALORIMETER_WORDS_MIN = 400, 300


def data_words(rob):
    """Words of the detector's own data in a ROB: rob[2] is the size of its header; behind it stands the ROD, whose last
    word but one is their number."""
    return int(rob[-2])


def select(event):
    chamber = sum(data_words(rob) for source, rob in event.fragments.items() if source >> 16 == DRIFT_CHAMBER)
    energy = sum(data_words(rob) for source, rob in event.fragments.items() if source >> 16 == CALORIMETER)
    tags = []
    if chamber >= CHAMBER_WORDS_MIN:
        tags.append("physics_Main")
    if energy >= CALORIMETER_WORDS_MIN:
        tags.append("calibration_Calorimeter")
    return {"tags": tags, "level2_words": [chamber, energy],
            "result": {"chamber_words": chamber, "calorimeter_words": energy}}
