# SPDX-License-Identifier: Apache-2.0
"""Keeps the events in which the calorimeter saw something, and each tenth of the others for its pedestals.

The data of a board begin behind 9 words of ROD header, behind the header of the ROB, whose size is its word 2. The first word of this
board's data is the sum of its samples.
"""
CALORIMETER, ROD_HEADER_WORDS, THRESHOLD = 0x430000, 9, 20_000


def select(event):
    rob = event.fragments.get(CALORIMETER)
    if rob is None or rob[6] != 0:  # word 6 is the status of the ROB: not 0 when its data are lost
        return "debug_NoCalorimeter"
    energy = int(rob[int(rob[2]) + ROD_HEADER_WORDS])
    if energy >= THRESHOLD:
        return "physics_Main"
    return "calibration_Pedestal" if event.level1_id % 10 == 0 else False
