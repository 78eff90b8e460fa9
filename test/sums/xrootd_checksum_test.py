# SPDX-License-Identifier: Apache-2.0
"""The answer of a stock XRootD server for a file that it cannot read: with its own checksum manager, and with weir's above it."""
import os
import pathlib
import shutil
import tempfile
import unittest
import zlib

import weir_program
import xrootd_server
from sum_program import BtrfsImage, not_tested
from xrootd_server import XrootdServer

PLUGIN = os.environ.get("WEIR_XRDCKS", "")


class AFileThatCannotBeRead(unittest.TestCase):
    def setUp(self):
        why_not = xrootd_server.absent() or BtrfsImage.why_not() or ("" if PLUGIN else "WEIR_XRDCKS does not name the plug-in")
        if why_not:
            not_tested(self.id(), why_not)
            self.skipTest(why_not)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self.plugin = shutil.copy(PLUGIN, self.folder)  # where the server's user may read it

    def answers(self, lines, image):
        """Of the file on the bad medium, and of a good one beside it; and whether the bad one has a sum in its attributes."""
        bad = image.place / "bad"
        for path in (bad, image.place / "a"):
            path.chmod(0o666)  # the server sets its attribute
        with XrootdServer(self.folder / "server", "max 2 adler32", lines, data=image.place) as server:
            answer, good = (server.xrdfs("query", "checksum", f"/{name}?cks.type=adler32") for name in ("bad", "a"))
            self.assertEqual(good.stdout.split(), ["adler32", f"{zlib.adler32((image.place / 'a').read_bytes()):08x}"], good.stderr)
            return answer, "user.XrdCks.adler32" in os.listxattr(bad), server.newest_log()

    def test_has_no_sum_with_our_manager(self):
        with BtrfsImage(self.folder) as image:
            answer, stored, log = self.answers([f"ofs.ckslib ++ {self.plugin}"], image)
        self.assertNotEqual(answer.returncode, 0, answer.stdout)
        self.assertIn("input/output error", answer.stderr)
        self.assertFalse(stored)
        self.assertRegex(log, r"weir-xrdcks: cannot sum /bad at offset \d+: Input/output error; no sum was made")

    def test_has_no_sum_whichever_program_computes_it(self):
        with BtrfsImage(self.folder) as image:
            answer, stored, _ = self.answers([f"ofs.ckslib adler32 {self.plugin}", f"ofs.ckslib ++ {self.plugin}"], image)
        self.assertNotEqual(answer.returncode, 0, answer.stdout)
        self.assertFalse(stored)

    def test_has_a_sum_of_something_else_without_it(self):
        """The reason for the manager (docs/bindings/xrootd.md). A server that does better is reported."""
        with BtrfsImage(self.folder) as image:
            answer, stored, _ = self.answers([], image)
            if answer.returncode != 0:
                return not_tested("what the document states of the stock server", "this one does not answer")
            self.assertNotEqual(answer.stdout.split(), ["adler32", f"{zlib.adler32(image.data):08x}"])
            self.assertTrue(stored)


class Configuration(unittest.TestCase):
    def test_what_the_line_cannot_mean_stops_the_server(self):
        if xrootd_server.absent() or not PLUGIN:
            self.skipTest(xrootd_server.absent() or "WEIR_XRDCKS does not name the plug-in")
        with tempfile.TemporaryDirectory(prefix="weir-test-") as name:
            folder = pathlib.Path(name)
            folder.chmod(0o755)
            plugin = shutil.copy(PLUGIN, folder)
            for number, lines in enumerate(([f"ofs.ckslib ++ {plugin} fast"], [f"ofs.ckslib ++ {plugin}", f"oss.localroot {folder}"])):
                with self.assertRaisesRegex(AssertionError, "weir-xrdcks: "):
                    XrootdServer(folder / f"server{number}", "max 2 adler32", lines).stop()


if __name__ == "__main__":
    weir_program.main()
