# SPDX-License-Identifier: Apache-2.0
"""weir bench checksum at its smallest: sizes, peers by their file, data that another core wrote."""
import ctypes.util
import json
import os

import weir_program
from weir_program import ProgramTest, run

QUICK = ["--dram", "64MiB", "--file", "0", "--repetitions", "1"]


class BenchChecksum(ProgramTest):
    def test_short_sizes_are_measured_hot_from_memory_and_as_another_core_wrote_them(self):
        places = ["--from", "memory"]
        if len(os.sched_getaffinity(0)) > 1:
            places += ["--from", "core"]
        done = run("bench", "checksum", "-a", "adler32", *QUICK, "--size", "16", "--size", "1KiB", *places, "--json", timeout=500)
        self.assertEqual(done.code, 0, done.err)
        ours = {(row["parameters"]["bytes"], row["parameters"]["memory"])
                for row in json.loads(done.out)["rows"]
                if row["name"] == "throughput" and row["parameters"]["implementation"] == "weir"}
        wanted = {(size, memory) for size in (16, 1024) for memory in ("hot", "pieces")} | {(64 << 20, "dram")}
        if "core" in places:
            wanted |= {(16, "core"), (1024, "core")}
        self.assertEqual(ours, wanted)

    def test_a_peer_is_given_by_its_file(self):
        zlib = ctypes.util.find_library("z")
        done = run("bench", "checksum", "-a", "crc32", *QUICK, "--size", "64", "--peer", f"zlib={zlib}", "--json", timeout=500)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("zlib", {row["parameters"].get("implementation") for row in json.loads(done.out)["rows"]})

    def test_what_cannot_be_measured_is_a_mistake_of_the_caller(self):
        for arguments, reason in ((["--peer", "libdeflate"], "NAME=FILE"),
                                  (["--peer", "libdefate=/a.so"], "libraries that can be measured"),
                                  (["--peer", f"libdeflate={self.folder}/none.so"], "cannot be loaded"),
                                  (["--peer", f"libdeflate={ctypes.util.find_library('z')}"], "none of its functions"),
                                  (["--size", "0"], "--size"), (["--from", "disk"], "memory or core")):
            done = run("bench", "checksum", *QUICK, *arguments, timeout=500)
            self.assertEqual((done.code, reason in done.err), (2, True), (arguments, done.err))


if __name__ == "__main__":
    weir_program.main()
