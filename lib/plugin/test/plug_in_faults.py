# SPDX-License-Identifier: Apache-2.0
"""The faults of plug_in_faults.hpp, with their names in capitals."""
import pathlib
import re

FAULTS = re.findall(r"^    (\w+),$", pathlib.Path(__file__).with_suffix(".hpp").read_text(), re.MULTILINE)
globals().update({name.upper(): number for number, name in enumerate(FAULTS)})
