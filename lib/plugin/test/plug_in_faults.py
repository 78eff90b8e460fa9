# SPDX-License-Identifier: Apache-2.0
"""The faults of plug_in_faults.hpp, with their names in capitals, and how to hang."""
import os
import pathlib
import re
import time

FAULTS = re.findall(r"^    (\w+),$", pathlib.Path(__file__).with_suffix(".hpp").read_text(), re.MULTILINE)
globals().update({name.upper(): number for number, name in enumerate(FAULTS)})


def hang():
    if "WEIR_HANG_MARK" in os.environ:
        open(os.environ["WEIR_HANG_MARK"], "w").close()
    time.sleep(1000)
