# SPDX-License-Identifier: Apache-2.0
"""The folders of the programs: includes go down only, in the order that each CMakeLists.txt states with weir_folder()."""
import pathlib
import re
import unittest

APPS = pathlib.Path(__file__).resolve().parents[1] / "apps"
SHARED = "cli"  # what every program may include; no program includes another
LOOSE_MAX = 14  # files in a folder; more are folders that nobody has named yet


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


if __name__ == "__main__":
    unittest.main()
