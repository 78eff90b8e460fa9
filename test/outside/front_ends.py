# SPDX-License-Identifier: Apache-2.0
"""front_ends.py PREFIX: an installed weir runs front-ends that were built against it: a C++ one in a thread and one in a
process, and a Python one. The program finds what it runs them with, and every trigger is read out."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "front_end"
CRATES = {"crate-1": ("adc_crate.so", "0x420000", "thread"), "crate-2": ("adc_crate.so", "0x420001", "process"),
          "crate-3": ("adc_crate.py", "0x430000", "thread")}
TAIL = """
[supervise.l2sv]
source = "periodic:500Hz"
[assign.dfm]
[build.sfi-1]
[record.rec-1]
"""


def main():
    prefix = pathlib.Path(sys.argv[1]).resolve()
    found = os.pathsep.join(str(folder) for folder in prefix.rglob("pkgconfig"))
    flags = subprocess.run(["pkg-config", "--cflags", "weir-readout"], env=dict(os.environ, PKG_CONFIG_PATH=found),
                           capture_output=True, text=True, check=True).stdout.split()
    with tempfile.TemporaryDirectory(prefix="weir-test-") as name:
        folder = pathlib.Path(name)
        (folder / "adc_crate.py").write_text((EXAMPLES / "adc_crate.py").read_text())
        subprocess.run(["g++", "-std=c++23", "-O2", "-fPIC", "-shared", EXAMPLES / "adc_crate.cpp", *flags,
                        "-o", folder / "adc_crate.so"], check=True)
        partition = folder / "p.toml"
        partition.write_text("".join(f'[readout.{crate}]\nsource = "{folder / file}"\nsources = ["{source}"]\nruns_in = "{where}"\n'
                                     for crate, (file, source, where) in CRATES.items()) + TAIL)
        ended = subprocess.run([prefix / "bin/weir", "run", partition, "--events", "200", "--dir", folder / "D", "--json"],
                               capture_output=True, text=True, timeout=300)
        assert ended.returncode == 0, ended.stderr
        result = json.loads(ended.stdout.splitlines()[-1])
        read_out = {station["name"]: station["counters"]["front_end_triggers"] for station in result["stations"]
                    if station["name"] in CRATES}
        assert read_out == dict.fromkeys(CRATES, 200), read_out
        assert result["problems"] == [], result["problems"]
        subprocess.run([prefix / "bin/weir", "verify", folder / "D"], check=True, timeout=300)


if __name__ == "__main__":
    main()
