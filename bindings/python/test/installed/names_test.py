# SPDX-License-Identifier: Apache-2.0
"""Everything that goes by name: new, sums, combine; and what the type checker sees."""
import ast
import gc
import hashlib
import hmac
import importlib.metadata
import inspect
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib

import weir

DATA = random.Random(3).randbytes(500_000)
COMBINABLE = {"adler32", "crc32", "cksum", "crc32c", "crc64-xz", "crc64-nvme", "crc64-ecma182"}


class Objects(unittest.TestCase):
    def test_hashlibs_shape_and_values(self):
        for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b"):
            ours, theirs = weir.new(name), hashlib.new(name)
            for begin in range(0, len(DATA), 33_333):
                ours.update(DATA[begin:begin + 33_333])
                theirs.update(DATA[begin:begin + 33_333])
                self.assertEqual(ours.hexdigest(), theirs.hexdigest())
            self.assertEqual(ours.digest(), theirs.digest())
            self.assertEqual((ours.name, ours.digest_size, ours.block_size), (theirs.name, theirs.digest_size, theirs.block_size))

    def test_every_algorithm(self):
        self.assertEqual(len(weir.algorithms), 21)
        self.assertEqual(weir.new("sha3-256", DATA).digest(), hashlib.sha3_256(DATA).digest())
        for name in weir.algorithms:
            hash = weir.new(name, DATA[:1000])
            hash.update(memoryview(DATA)[1000:])
            self.assertEqual((hash.name, len(hash.digest())), (name, hash.digest_size))
            self.assertEqual(hash.digest().hex(), hash.hexdigest())
            self.assertEqual(hash.hexdigest(), weir.sums(DATA, name)[name])
            self.assertGreaterEqual(hash.block_size, 1)
            self.assertIn(name, repr(hash))
        self.assertEqual(int(weir.new("adler32", DATA).hexdigest(), 16), zlib.adler32(DATA))

    def test_a_copy_goes_on_alone(self):
        for name in weir.algorithms:
            first = weir.new(name, DATA[:777])
            second = first.copy()
            self.assertEqual((second.name, second.digest_size, second.block_size), (first.name, first.digest_size, first.block_size))
            self.assertEqual(second.hexdigest(), first.hexdigest())
            first.update(b"other")
            second.update(DATA[777:2000])
            third = second.copy()
            third.update(DATA[2000:])
            self.assertEqual(second.hexdigest(), weir.new(name, DATA[:2000]).hexdigest())
            self.assertEqual(third.hexdigest(), weir.new(name, DATA).hexdigest())
            self.assertEqual(first.hexdigest(), weir.new(name, DATA[:777] + b"other").hexdigest())
            self.assertEqual(weir.new(name).copy().hexdigest(), weir.new(name).hexdigest())

    def test_an_hmac_which_copies_on_the_way(self):
        for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b"):
            for key in (b"key", DATA[:200]):  # a long key is summed first
                ours = hmac.new(key, digestmod=lambda data=b"": weir.new(name, data))
                theirs = hmac.new(key, digestmod=name)
                for begin in range(0, 5000, 999):
                    ours.update(DATA[begin:begin + 999])
                    theirs.update(DATA[begin:begin + 999])
                    self.assertEqual(ours.hexdigest(), theirs.hexdigest())
                self.assertEqual(ours.copy().digest(), theirs.digest())

    def test_copies_while_other_threads_update(self):
        hash = weir.new("sha256")
        block = bytes([7]) * 100_000
        thread = threading.Thread(target=lambda: [hash.update(block) for _ in range(100)])
        thread.start()
        wholes = {weir.new("sha256", block * n).digest() for n in range(101)}
        copies = [hash.copy().digest() for _ in range(100)]
        thread.join()
        self.assertLessEqual(set(copies), wholes)  # never the middle of an update
        self.assertEqual(hash.copy().hexdigest(), hashlib.sha256(block * 100).hexdigest())

    def test_unknown_names(self):
        for call in (weir.new, lambda name: weir.sums(b"", [name]), lambda name: weir.combine(name, 0, 0, 0)):
            with self.assertRaisesRegex(ValueError, "crc33.*there are adler32, crc32"):
                call("crc33")

    def test_one_object_from_several_threads(self):
        hash = weir.new("adler32")
        block = bytes([7]) * 200_000
        threads = [threading.Thread(target=lambda: [hash.update(block) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(int(hash.hexdigest(), 16), zlib.adler32(block * 80))


class Sums(unittest.TestCase):
    def test_several_in_one_pass(self):
        values = weir.sums(DATA, ["sha256", "adler32", "blake3"])
        self.assertEqual(list(values), ["sha256", "adler32", "blake3"])
        self.assertEqual(values["sha256"], hashlib.sha256(DATA).hexdigest())
        self.assertEqual(values["adler32"], f"{zlib.adler32(DATA):08x}")
        self.assertEqual(weir.sums(DATA, weir.algorithms), {name: weir.new(name, DATA).hexdigest() for name in weir.algorithms})
        self.assertEqual(weir.sums(b"", ("crc32",)), {"crc32": "00000000"})
        with self.assertRaisesRegex(ValueError, "no algorithm"):
            weir.sums(DATA, [])
        with self.assertRaises(TypeError):
            weir.sums("text", ["md5"])

    def test_combine_in_every_shape(self):
        a, b = DATA[:123], DATA[123:]
        for name in COMBINABLE:
            whole = weir.new(name, DATA)
            first, second = weir.new(name, a), weir.new(name, b)
            self.assertEqual(weir.combine(name, first.hexdigest(), second.hexdigest(), len(b), len(a)), whole.hexdigest())
            self.assertEqual(weir.combine(name, first.digest(), second.digest(), len(b), length_a=len(a)), whole.digest())
            number = [int(hash.hexdigest(), 16) for hash in (first, second, whole)]
            self.assertEqual(weir.combine(name, number[0], number[1], len(b), len(a)), number[2])
        self.assertEqual(weir.combine("crc32", zlib.crc32(a), zlib.crc32(b), len(b)), zlib.crc32(DATA))

    def test_wrong_arguments_of_combine(self):
        for arguments, words in ((("md5", "0" * 32, "0" * 32, 1), "cannot be combined"), (("cksum", 1, 2, 3), "length_a"),
                                 (("crc32", 1 << 32, 0, 1), "no value of crc32"), (("crc32", "xyz", "0", 1), "not a value"),
                                 (("crc32", b"abc", b"abcd", 1), "has 4 bytes")):
            with self.assertRaisesRegex(ValueError, words):
                weir.combine(*arguments)
        with self.assertRaises(OverflowError):
            weir.combine("crc32", -1, 0, 1)
        with self.assertRaises(TypeError):
            weir.combine("crc32", 1, 0, -1)


class Package(unittest.TestCase):
    def test_version_and_typing_are_shipped(self):
        self.assertEqual(weir.__version__, importlib.metadata.version("weir"))
        folder = pathlib.Path(weir.__file__).parent
        for name in ("py.typed", "_weir.pyi"):
            self.assertTrue((folder / name).exists(), name)
        self.assertTrue(all(hasattr(weir, name) for name in weir.__all__))

    def test_the_stubs_list_what_the_module_has(self):
        program = ("import array\nimport mmap\nimport numpy\nimport weir\nimport pathlib\n"
                   "a: int = weir.adler32(b'', 1) + weir.crc64_xz(array.array('d')) + weir.crc32(numpy.zeros(3))\n"
                   "b: str = weir.new('md5').hexdigest() + weir.sums(bytearray(), ['md5'])['md5'] + weir.combine('crc32', '0', '0', 1)\n"
                   "c: bytes = weir.combine('crc32', b'0000', b'0000', 1)\n"
                   "d: dict[str, str] = weir.sum(pathlib.Path('x'), 'adler32')\n"
                   "e: int = weir.crc32(memoryview(b'')) + weir.crc32c(mmap.mmap(-1, 1))\n"
                   "with weir.Sender('a:1', 'b', run=3, on_ended=lambda first, last, reason: None) as to:\n"
                   "    f: int = to.send(numpy.zeros(3), 1, 'physics_Main') + to.send([b'a', bytearray()], 2, ['physics_Main'])\n"
                   "    g: dict[str, int] = to.stats().rejected\n"
                   "h: int | None = weir.FragmentSender('a:1', 'b').try_send(1, None, memoryview(b''), time_ns=5, status_words=numpy.zeros(3))\n"
                   "j: list[int] = [len(rob.data) + event.time_ns for event in weir.open('D', run=7) for rob in event.rob_list]\n"
                   "k: bool = bool(weir.open(pathlib.Path('D')).verify()) and 'x' in next(iter(weir.open('D'))).results\n"
                   "i: bool = weir.TriggerSender('a:1', 'b').flush(0.5)\n")
        with tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
            good, bad = pathlib.Path(folder) / "good.py", pathlib.Path(folder) / "bad.py"
            good.write_text(program)
            bad.write_text("import weir\nweir.adler32('text')\nx: str = weir.crc32(b'')\nweir.new(5)\nweir.Sender('a:1', 5)\nweir.Sender('a:1', 'b').send(5, 1, 'x_y')\n")
            mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder]
            checked = subprocess.run([*mypy, good], capture_output=True, text=True, cwd=folder)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            checked = subprocess.run([*mypy, bad], capture_output=True, text=True, cwd=folder)
            self.assertEqual(checked.stdout.count("error:"), 5, checked.stdout)

    def test_the_stubs_name_all_that_there_is(self):
        stubs = ast.parse((pathlib.Path(weir.__file__).parent / "_weir.pyi").read_text()).body
        stated = {node.name for node in stubs if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"}
        present = {name for name in weir.__all__ if getattr(getattr(weir, name), "__module__", "") == "weir._weir"}
        self.assertEqual(stated, present)
        methods = {node.name for item in stubs if getattr(item, "name", "") == "Hash" for node in item.body}
        self.assertEqual(methods, {name for name in vars(weir.Hash) if name[0] != "_"})

    def test_every_class_and_method_says_what_it_is(self):
        for each in (getattr(weir, name) for name in weir.__all__):
            if isinstance(each, type):
                self.assertTrue(each.__doc__, each)
                for name in (name for name in dir(each) if name[0] != "_" and not hasattr(RuntimeError, name)):
                    self.assertTrue(getattr(each, name).__doc__, f"{each.__name__}.{name}")

    def test_the_package_itself_has_no_mistake_of_types(self):
        with tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
            checked = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, "-p", "weir"], capture_output=True, text=True,
                                     cwd=folder)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_every_function_has_the_signature_that_the_stubs_state(self):
        def without_types(node):
            for argument in node.args.posonlyargs + node.args.args:
                argument.annotation = None
            return ast.unparse(node.args).replace(", /", "")

        stubs = ast.parse((pathlib.Path(weir.__file__).parent / "_weir.pyi").read_text()).body
        compared = []
        for node in stubs:
            if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
                compared.append((getattr(weir, node.name), node))
            elif getattr(node, "name", "") == "Hash":
                compared += [(getattr(weir.Hash, each.name), each) for each in node.body if not each.decorator_list]
        self.assertEqual(len(compared), 15)
        gc.collect()  # looks at every object that the module has made
        for function, node in compared:
            with self.subTest(node.name):
                shown = ast.parse(f"def f{inspect.signature(function)}: ...").body[0]
                self.assertEqual(without_types(shown), without_types(node))
                self.assertEqual(function.__name__, node.name)
                self.assertTrue(function.__doc__)
        self.assertEqual(str(inspect.signature(weir.new("md5").update)), "(data)")
        self.assertEqual(weir.new("md5").update(data=b"a"), None)
        self.assertEqual(weir.adler32(data=b"a", value=1), weir.adler32(b"a"))


if __name__ == "__main__":
    unittest.main()
