# SPDX-License-Identifier: Apache-2.0
"""The client library as an experiment's programmer meets it: installed, built against in three ways as docs/client.md says, by
front-ends in C and C++ that send to a real partition and keep records of their own."""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest

import weir_program
from recorder_files import RawFile, expect
from run_input_test import PARTITION, robs_of
from weir_process import Process, wait_until
from weir_program import PROGRAM, ProgramTest, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "client"
BUILD = pathlib.Path(PROGRAM).resolve().parents[1]
EVENTS = 3000

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(weir COMPONENTS client REQUIRED)
add_executable(board {source})
set_target_properties(board PROPERTIES CXX_STANDARD 17)
target_link_libraries(board PRIVATE weir::client)
"""


def record_of(path):
    """{event: payload} as the board wrote it."""
    data, at, events = path.read_bytes(), 0, {}
    while at < len(data):
        event, size = struct.unpack_from("<II", data, at)
        events[event] = data[at + 8:at + 8 + size]
        at += 8 + size
    return events


class ClientTest(ProgramTest):
    def command(self, *words, **more):
        ended = subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, **more)
        self.assertEqual(ended.returncode, 0, f"{words}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def setUp(self):
        super().setUp()
        prefix = self.folder / "first"
        self.command("cmake", "--install", BUILD, "--prefix", prefix)
        self.prefix = self.folder / "moved"  # an installed copy may be moved
        shutil.move(prefix, self.prefix)
        self.library = next(self.prefix.rglob("libweir-client.so")).parent
        self.page = (ROOT / "docs" / "client.md").read_text()

    def documented(self, pattern):
        found = re.search(pattern, self.page, re.MULTILINE)
        expect(found, f"docs/client.md has no line {pattern}")
        return found.group(0).split("  ")[0]

    def built_in_three_ways(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(next(self.prefix.rglob("weir-client.pc")).parent)}
        by_pkg_config = self.documented(r"^cc .*weir-client\).*$").replace("board.c", str(EXAMPLES / "board.c"))
        self.command("sh", "-c", by_pkg_config.replace("-o board", f"-o {self.folder}/c"), env=environment)
        include = next(self.prefix.rglob("weir_client.hpp")).parent
        by_hand = self.documented(r"^g\+\+ .*-lweir-client.*$").replace("board.cpp", str(EXAMPLES / "board.cpp"))
        by_hand = by_hand.replace("PREFIX/include", str(include)).replace("PREFIX/lib", str(self.library))
        self.command("sh", "-c", by_hand.replace("-o board", f"-o {self.folder}/cxx"))
        for line in ("find_package(weir COMPONENTS client REQUIRED)", "target_link_libraries(board PRIVATE weir::client)"):
            expect(line in self.page, f"docs/client.md has no line {line}")
        project = self.folder / "outside"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CMAKE.format(source=EXAMPLES / "board.cpp"))
        self.command("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.command("cmake", "--build", project / "build")
        return [self.folder / "c", self.folder / "cxx", project / "build" / "board"]

    def test_boards_in_c_and_cxx_bring_what_their_records_hold(self):
        programs = self.built_in_three_ways()
        file = self.folder / "boards.toml"
        file.write_text(PARTITION.format(events=EVENTS, ros_1='events_max = 256'))
        directory = self.folder / "D"
        partition = Process(self.folder, "run", file, "--dir", directory, "--json")
        self.addCleanup(partition.__exit__)

        def ports():
            answer = run("run", "status", "--dir", directory, "--json")
            stations = {one["name"]: one for one in answer.json["stations"]} if answer.code == 0 else {}
            found = [stations.get(name, {}).get("counters", {}).get("input_port") for name in ("ros-1", "ros-2")]
            return [int(port) for port in found] if all(found) else None
        first, second = wait_until(ports, "the ports of the readouts")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.library)}
        sources = {0x420000: (programs[0], first), 0x420001: (programs[1], first), 0x430000: (programs[2], second)}
        boards = {source: subprocess.Popen([program, f"127.0.0.1:{port}", hex(source), str(EVENTS), self.folder / f"{source}.record"],
                                           env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                  for source, (program, port) in sources.items()}
        for board in boards.values():
            out, err = board.communicate(timeout=300)
            self.assertEqual((board.returncode, out), (0, f"{EVENTS} of {EVENTS} fragments taken\n"), err)
        ended = partition.wait()
        self.assertEqual(ended.code, 0, ended)
        records = {source: record_of(self.folder / f"{source}.record") for source in sources}
        seen = set()
        for path in sorted(directory.rglob("*.data")):
            for _, data in RawFile(path).events():
                robs = robs_of(data)
                self.assertEqual(sorted(robs), sorted(sources))
                for source, (event, payload, _) in robs.items():
                    self.assertEqual(payload, records[source][event], f"event {event}, source {source:#x}")
                expect(event not in seen, f"event {event} twice")
                seen.add(event)
        self.assertEqual(seen, set(range(1, EVENTS + 1)))

    def test_a_board_of_an_unknown_source_says_so_and_ends_with_1(self):
        programs = self.built_in_three_ways()
        file = self.folder / "boards.toml"
        file.write_text(PARTITION.format(events=5, ros_1=""))
        directory = self.folder / "D"
        partition = Process(self.folder, "run", file, "--dir", directory, "--json")
        self.addCleanup(partition.__exit__)

        def port():
            answer = run("run", "status", "--dir", directory, "--json")
            stations = {one["name"]: one for one in answer.json["stations"]} if answer.code == 0 else {}
            return stations.get("ros-1", {}).get("counters", {}).get("input_port")
        found = int(wait_until(port, "the port of the readout"))
        for program in programs:
            board = subprocess.run([program, f"127.0.0.1:{found}", "0x999999", "3", self.folder / "x.record"], timeout=120,
                                   env={**os.environ, "LD_LIBRARY_PATH": str(self.library)}, capture_output=True, text=True)
            self.assertEqual((board.returncode, board.stdout), (1, "0 of 3 fragments taken\n"), board.stderr)
            self.assertIn("unknown_source", board.stderr)


if __name__ == "__main__":
    weir_program.main()
