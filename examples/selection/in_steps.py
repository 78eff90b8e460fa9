# SPDX-License-Identifier: Apache-2.0
"""A selection in Python that requests its data in steps: the same as in_steps.cpp beside it.

    [select.l2pu-1]
    selection = "in_steps.py"
    workers = 8                   # processes; each waits for the data of its own event
"""
FLIGHT_COUNTERS = [0xA20000, 0xA20001]
INNER_CHAMBER = [0xA10000, 0xA10001, 0xA10002, 0xA10003]
CALORIMETER = [0xA30000, 0xA30001, 0xA30002, 0xA30003]
FLIGHT_WORDS_MIN, CHAMBER_WORDS_MIN, CALORIMETER_WORDS_MIN = 20, 100, 130


def data_words(robs):
    """Words of the detector's own data: the last word but one of a ROB is their number. Missing ones are not in `robs`."""
    return sum(int(rob[-2]) for rob in robs.values())


def select(event):
    flight = data_words((yield FLIGHT_COUNTERS))
    if flight < FLIGHT_WORDS_MIN:
        return {"accept": False, "level2_words": [flight]}
    chamber = data_words((yield INNER_CHAMBER))
    if chamber < CHAMBER_WORDS_MIN:
        return {"accept": False, "level2_words": [flight, chamber]}
    energy = data_words(event.request(CALORIMETER))  # the same, as a call
    if energy < CALORIMETER_WORDS_MIN:
        return {"accept": False, "level2_words": [flight, chamber, energy]}
    return {"tags": ["physics_Main", ("calibration_Calorimeter", CALORIMETER)], "level2_words": [flight, chamber, energy]}
