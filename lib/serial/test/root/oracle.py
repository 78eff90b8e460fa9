# SPDX-License-Identifier: Apache-2.0
"""ROOT beside weir: builds root_oracle.cpp with a dictionary against an installed ROOT, and makes
vectors/root-6.40-more with it.

    oracle.py build DIRECTORY      builds, and prints the program's path
    oracle.py vectors DIRECTORY    builds, and writes the test vectors anew

WEIR_ROOT names the folder of ROOT that has bin/rootcling, include and lib. In the wheel (pip install --pre ROOT) it is
site-packages/ROOT. ./run root installs one and reports it."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = HERE.parent / "vectors" / "root-6.40-more"
# Classes that are only met inside of others. ROOT makes do without most; the pairs must be named, or ROOT
# writes another checksum (docs/formats/root-buffer.md, "Pairs").
INSIDE = ["detector::Base", "detector::BaseV", "detector::Second", "detector::Outer::Inner", "detector::inner::Deep",
          "detector::Box<int>", "detector::Box<vector<int> >", "detector::Box<Long64_t>",
          "detector::Box<detector::inner::Deep>", "detector::Box<string>", "pair<int,detector::Hit>",
          "pair<int,map<int,float> >", "pair<short,vector<detector::Hit> >",
          "pair<string,detector::Track>", "pair<long,bool>", "pair<string,string>", "pair<string,vector<int> >"]
ENUMS = ["Color", "Quality", "Side", "Gain", "Outer::Inside"]


def root_folder():
    """Where ROOT is, or None."""
    named = os.environ.get("WEIR_ROOT")
    if named and (pathlib.Path(named) / "bin/rootcling").exists():
        return pathlib.Path(named).resolve()
    return None


def command(*words, **more):
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, **more)
    if ended.returncode != 0:
        raise RuntimeError(f"{words[0]} failed\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def build(directory):
    """The program, made anew when a source is newer."""
    root, directory = root_folder(), pathlib.Path(directory).resolve()
    if root is None:
        raise RuntimeError("no ROOT: WEIR_ROOT names no folder with bin/rootcling; ./run root installs one")
    directory.mkdir(parents=True, exist_ok=True)
    program, linkdef = directory / "root_oracle", directory / "linkdef.h"
    sources = [*HERE.glob("*.hpp"), HERE / "root_oracle.cpp", pathlib.Path(__file__)]
    if program.exists() and all(program.stat().st_mtime > source.stat().st_mtime for source in sources):
        return program
    names = re.findall(r'visit\(OfType<.*>\{\}, "(.*)"\)', (HERE / "root_class_list.hpp").read_text())
    lines = ["#ifdef __CLING__", "#pragma link off all globals;", "#pragma link off all classes;"]
    lines += [f"#pragma link C++ class {name}+;" for name in [*names, *INSIDE] if name != "string"]
    lines += [f"#pragma link C++ enum detector::{name};" for name in ENUMS]
    linkdef.write_text("\n".join([*lines, "#endif\n"]))
    command(root / "bin/rootcling", "-f", "dictionary.cxx", "-DWEIR_WITH_ROOT", f"-I{HERE}",
            "root_class_list.hpp", "linkdef.h", cwd=directory)
    command(os.environ.get("CXX", "g++"), "-w", "-std=c++17", "-O0", "-DWEIR_WITH_ROOT",
            f"-I{root}/include", f"-I{HERE}",
            "dictionary.cxx", HERE / "root_oracle.cpp", "-o", program, f"-L{root}/lib", "-lCore", "-lRIO", "-lThread",
            f"-Wl,-rpath,{root}/lib", cwd=directory)
    return program


def chosen(values):
    """Of a class's values the largest that is still small, in every way, and the smallest as StreamObject."""
    values.sort(key=lambda lines: len(lines[0][4]))
    small = [lines for lines in values if len(lines[0][4]) <= 600] or values[:1]
    picked = list(small[-1])
    if values[0] is not small[-1]:
        picked += values[0][:2]
    seen, result = set(), []
    for line in picked:
        if (line[2], line[4]) not in seen:  # member-wise is the same as object-wise where nothing is a column
            seen.add((line[2], line[4]))
            result.append(line)
    return result


def vectors(directory):
    lines = [line.split("|") for line in command(build(directory), "list", 1, 40).splitlines()]
    by_class = {}
    for name, way, form, *value, data in lines:
        by_class.setdefault(name, []).append([name, way, form, "|".join(value), data])
    result = []
    for name, written in by_class.items():
        if name == "sequence":
            result += [line for line in written if 40 < len(line[4]) <= 600 and line[1] == "object-wise"][:40]
        else:
            result += chosen([written[i:i + 4] for i in range(0, len(written), 4)])
    VECTORS.mkdir(parents=True, exist_ok=True)
    (VECTORS / "buffers.txt").write_text("".join("|".join(line) + "\n" for line in result))
    command(build(directory), "classes", VECTORS / "classes.root")
    return f"{len(result)} buffers in {VECTORS / 'buffers.txt'}"


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("build", "vectors"):
        sys.exit(__doc__)
    print({"build": build, "vectors": vectors}[sys.argv[1]](sys.argv[2]))
