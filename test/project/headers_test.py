# SPDX-License-Identifier: Apache-2.0
"""A public header that no other target uses stops the configuration, with its name (cmake/weir_headers.cmake)."""
import pathlib
import subprocess
import tempfile
import unittest

CMAKE = pathlib.Path(__file__).resolve().parents[2] / "cmake"


class Headers(unittest.TestCase):
    def check(self, users, headers=("one.hpp",)):
        """The errors of CMake about the headers of lib/a in a tree with these other files."""
        with tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
            root = pathlib.Path(folder)
            own = {f"lib/a/include/weir/a/{header}": "" for header in headers}
            for name, text in {**own, **users}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            script = root / "check.cmake"
            script.write_text(f"cmake_minimum_required(VERSION 3.25)\ninclude({CMAKE}/weir_headers.cmake)\nweir_used_headers(a {' '.join(headers)})\n")
            ended = subprocess.run(["cmake", f"-DPROJECT_SOURCE_DIR={root}", "-P", script], capture_output=True, text=True, timeout=60)
            return " ".join(ended.stderr.split())

    def test_one_that_only_its_own_library_includes_is_refused_by_name(self):
        own = {"lib/a/src/one.cpp": '#include "weir/a/one.hpp"\n', "lib/a/test/one_test.cpp": '#include "weir/a/one.hpp"\n'}
        output = self.check(own)
        self.assertIn("weir_library(a): no other target uses include/weir/a/: one.hpp; move it to lib/a/src", output)

    def test_one_that_another_library_a_program_or_an_example_includes_is_used(self):
        for user in ("lib/b/src/two.cpp", "lib/b/test/two_test.cpp", "apps/weir/main.cpp", "bindings/c/src/c.cpp", "lib/a/example/send.cpp",
                     "lib/a/testing/include/weir/a/testing/two.hpp", "test/outside/send.cpp"):
            self.assertEqual(self.check({user: "#include <weir/a/one.hpp>\n"}), "", user)

    def test_what_a_used_header_includes_is_used(self):
        users = {"lib/a/include/weir/a/one.hpp": '#include "weir/a/two.hpp"\n', "lib/a/include/weir/a/two.hpp": '#include "weir/a/three.hpp"\n',
                 "apps/weir/main.cpp": '#include "weir/a/one.hpp"\n'}
        headers = ("three.hpp", "two.hpp", "one.hpp")
        self.assertEqual(self.check(users, headers), "")
        self.assertIn("weir/a/: lonely.hpp;", self.check(users, (*headers, "lonely.hpp")))


if __name__ == "__main__":
    unittest.main()
