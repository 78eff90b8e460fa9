# SPDX-License-Identifier: Apache-2.0
"""uproot, which shares no code with ROOT or weir, reads weir's object-wise bytes: the example for users, and random
values of every kind of class that uproot knows, each with equal values and all bytes used."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import python_venv
from weir_process import main_without

ROOT = pathlib.Path(__file__).resolve().parents[2]
VALUES = os.environ.get("WEIR_SERIAL_VALUES", "serial_values")
CLASSES = ROOT / "lib/serial/test/vectors/root-6.40-more/classes.root"
EXAMPLE = ROOT / "examples/objects/read_objects.py"
UPROOT = "uproot==5.7.7"
SKIPPED = "uproot reading objects, as WEIR_UPROOT_ABSENT=ok" if os.environ.get("WEIR_UPROOT_ABSENT") == "ok" else None
SEED = int(os.environ.get("WEIR_SEED") or random.randrange(1 << 32))
COUNT = int(os.environ.get("WEIR_SERIAL_OBJECTS") or 8)
# What uproot 5.7 does not read in ROOT's own bytes either: arrays of classes, strings and vectors; a map without
# entries; std::array and Long64_t in a template's name; a vector of an enum; a string or map behind a class name.
NOT_READ = re.compile(r"ClassArrays|ListArrays|NestedLists|ArrayLists|Maps|ListsOfAll|Box|map<|^string\|any|Color|"
                      r"EnumLists|Pairs|pair<int,detector::Track>|sequence")

# Runs where uproot is installed: a line of class, form and hex in, what it holds out.
READ = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
from read_objects import ObjectReader, plain
reader = ObjectReader(sys.argv[2])
for line in sys.stdin:
    name, form, data = line.split("|")
    try:
        value = list(reader.objects(bytes.fromhex(data), None if form == "any" else name))
        print(json.dumps(plain(value[0]) if len(value) == 1 else "not one object"))
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"))
"""


def leaves(value):
    """Numbers and texts in their order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for element in value:
            yield from leaves(element)
    elif isinstance(value, str):
        yield value.encode("utf-8", "surrogateescape")
    else:
        yield value


def expected(text):
    """The same of a value as serial_values prints it."""
    for found in re.finditer(r'"([^"]*)"|null|@\d+=|[^\s\[\]{}:"]+', text):
        if found.group(1) is not None:
            yield re.sub(rb"\\x(..)", lambda code: bytes([int(code.group(1), 16)]), found.group(1).encode())
        elif found.group(0) == "null":
            yield None
        elif not found.group(0).startswith("@"):
            yield float(found.group(0))


def equal(have, want):
    """Numbers of 4 bytes are printed with 9 digits, which give them exactly, but not as the 8 bytes that Python has."""
    if isinstance(want, float) and isinstance(have, (int, float)):
        return have == want or abs(have - want) <= 1e-7 * abs(want)
    return have == want


def uproot_python():
    """A Python that has uproot: this one, or one made once in the build folder."""
    return python_venv.python_with(UPROOT, "uproot", VALUES)


@unittest.skipIf(SKIPPED, SKIPPED)
class Uproot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"WEIR_SEED={SEED} repeats this", file=sys.stderr)
        cls.python = uproot_python()

    def test_random_values_are_read_with_all_their_bytes(self):
        listed = subprocess.run([VALUES, "list", str(SEED), str(COUNT)], capture_output=True, text=True, check=True,
                                timeout=120)
        lines = []
        for line in listed.stdout.splitlines():
            name, way, form, *value, data = line.split("|")
            text = "|".join(value)
            known = not NOT_READ.search(f"{name}|{form}") and "@" not in text.replace("@1=", "")
            if way == "object-wise" and known:
                lines.append((name, form, text, data))
        self.assertGreater(len(lines), 60 * COUNT)
        ended = subprocess.run([self.python, "-W", "ignore", "-c", READ, str(EXAMPLE.parent), str(CLASSES)],
                               input="".join(f"{name}|{form}|{data}\n" for name, form, _, data in lines),
                               capture_output=True, text=True, timeout=300)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        wrong = []
        for (name, form, value, data), read in zip(lines, ended.stdout.splitlines(), strict=True):
            have, want = list(leaves(json.loads(read))), list(expected(value))
            if len(have) != len(want) or not all(map(equal, have, want)):
                wrong.append(f"{name}, {form}\n  want {value}\n  have {read}\n  {data}")
        print(f"{len(lines)} objects read by uproot, {len(wrong)} wrong", file=sys.stderr)
        self.assertFalse(wrong, "\n".join(wrong[:5]))

    def test_the_example_prints_objects_one_after_the_other(self):
        thing = bytes.fromhex("40000018ffffffff5468696e67004000000a0000000da4f800000007")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "thing.bin"
            path.write_bytes(thing + thing)
            ended = subprocess.run([self.python, "-W", "ignore", EXAMPLE, CLASSES, path], capture_output=True,
                                   text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stdout), (0, "{'a': 7}\n{'a': 7}\n"), ended.stderr)


if __name__ == "__main__":
    main_without(SKIPPED)
