# SPDX-License-Identifier: Apache-2.0
"""Includes go down only: between libraries as in DEPENDS of their CMakeLists.txt and in weir_layer(), between the folders of a
program in the order that its CMakeLists.txt states with weir_folder(). docs/architecture.md shows the same."""
import importlib.machinery
import importlib.util
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
APPS = ROOT / "apps"
LIB = ROOT / "lib"
SHARED = "cli"  # what every program may include; no program includes another
LOOSE_MAX = 16  # files in a folder; more are folders that have no name yet


def drawing():
    """tools/draw_libraries, which reads the libraries from CMake."""
    loader = importlib.machinery.SourceFileLoader("draw_libraries", str(ROOT / "tools" / "draw_libraries"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def stated_order(app):
    text = re.sub(r"#.*", "", (APPS / app / "CMakeLists.txt").read_text())
    order = re.findall(r"weir_folder\(\s*[\w-]+\s+([\w/-]+)", text)
    return list(dict.fromkeys(order))


def sources(app):
    return [path for path in sorted((APPS / app).rglob("*.?pp")) if not {"test", "peers"} & set(path.relative_to(APPS).parts)]


def included(path, app):
    """What a source of ours includes of apps/: the folder of each file."""
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        found = [root for root in (APPS / app, APPS) if (root / name).is_file()]
        if found:
            yield name, str((found[0] / name).parent.relative_to(APPS))
        elif not name.startswith("weir/") and (path.parent / name).is_file():
            raise AssertionError(f"{path.relative_to(APPS)} includes {name} without its folder: write it from the program's root")


class Includes(unittest.TestCase):
    def programs(self):
        return [folder.name for folder in sorted(APPS.iterdir()) if (folder / "CMakeLists.txt").is_file()]

    def test_no_folder_includes_one_above_it(self):
        for app in self.programs():
            order = stated_order(SHARED) + (stated_order(app) if app != SHARED else [])
            for path in sources(app):
                folder = str(path.parent.relative_to(APPS))
                if folder == app and app != SHARED:
                    continue  # the table of contents, above all
                self.assertIn(folder, order, f"no weir_folder() of {app}/CMakeLists.txt names the folder of {path.relative_to(APPS)}")
                for name, below in included(path, app):
                    self.assertIn(below, order, f"{path.relative_to(APPS)} includes {name}, which is not of this program")
                    self.assertLessEqual(order.index(below), order.index(folder),
                                         f"{path.relative_to(APPS)} includes {name}, and {below} stands above {folder}")

    def test_no_folder_has_more_loose_files_than_can_be_seen_at_once(self):
        for app in self.programs():
            for folder in {path.parent for path in sources(app)}:
                loose = [path.name for path in folder.iterdir() if path.suffix in (".cpp", ".hpp")]
                self.assertLessEqual(len(loose), LOOSE_MAX, f"{folder.relative_to(APPS)}: {sorted(loose)}")


class Libraries(unittest.TestCase):
    def setUp(self):
        self.drawing = drawing()
        self.layers = self.drawing.layers()

    def test_every_library_stands_in_one_layer(self):
        self.assertEqual(sorted(name for layer in self.layers for name in layer), sorted(path.name for path in LIB.iterdir()))

    def test_a_library_depends_on_lower_layers_only(self):
        lower = set()
        for layer in self.layers:
            for library in layer:
                self.assertLessEqual(set(self.drawing.depends(library)), lower, f"lib/{library} depends on a neighbour or on one above it")
            lower |= set(layer)

    def test_a_library_depends_on_what_it_includes_and_on_nothing_else(self):
        for library in (name for layer in self.layers for name in layer):
            included = set()
            for folder in ("include", "src", "worker"):
                for path in (LIB / library / folder).rglob("*.[hc]*"):
                    text = path.read_text()
                    included |= set(re.findall(r'^#include "weir/(\w+)/', text, re.MULTILINE)) - {library}
                    if library != "json" and re.search("^#include <boost/json", text, re.MULTILINE):
                        included.add("json")  # it compiles Boost.JSON
            self.assertEqual(sorted(included), sorted(self.drawing.depends(library)), f"DEPENDS of lib/{library}")

    def test_no_folder_of_sources_has_more_of_them_than_can_be_seen_at_once(self):
        for folder in sorted(path for source in LIB.glob("*/src") for path in (source, *source.rglob("*/"))):
            loose = [path.name for path in folder.iterdir() if path.suffix in (".cpp", ".hpp")]
            self.assertLessEqual(len(loose), LOOSE_MAX, f"{folder.relative_to(LIB)}: {sorted(loose)}")

    def test_the_document_shows_the_libraries_as_cmake_has_them(self):
        text = (ROOT / "docs" / "architecture.md").read_text()
        self.assertIn(self.drawing.picture(), text, "tools/draw_libraries draws the picture anew")
        listed = [re.findall(r"^    lib/(\w+)", part, re.MULTILINE) for part in re.split(r"^    -+$", text, flags=re.MULTILINE)]
        self.assertEqual([part for part in listed if part], [sorted(layer) for layer in reversed(self.layers)])


if __name__ == "__main__":
    unittest.main()
