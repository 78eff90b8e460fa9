# SPDX-License-Identifier: Apache-2.0
"""A front-end in Python: the same as adc_crate.cpp beside it, in a process of its own.

    [readout.ros-2]
    source = "adc_crate.py"
    sources = ["0x430000"]

With ADC_CRATE_RECORD=FOLDER in the environment it keeps a record of its own there, to compare with what was recorded."""
import os
import random
import struct


class Module:
    def __init__(self, source):
        self.source, self._noise = source, random.Random(source)

    def samples(self):
        """12 bits each, with a number of samples that varies."""
        number = 16 + self._noise.randrange(50)
        return struct.pack(f"<{number}H", *(self._noise.randrange(4096) for _ in range(number)))


def begin_run(run, sources):
    global modules, record
    modules = [Module(source) for source in sources]
    folder = os.environ.get("ADC_CRATE_RECORD")
    record = open(f"{folder}/adc_crate_py_{run}", "w") if folder else None


def read_out(trigger, out):
    for module in modules:
        samples = module.samples()
        out.send(module.source, samples)  # under the trigger's level-1 id
        if record:
            record.write(f"{trigger.level1_id} {module.source} {samples.hex()}\n")


def end_run(out):
    if record:
        record.close()
