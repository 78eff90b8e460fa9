# SPDX-License-Identifier: Apache-2.0
"""adler32 and the CRCs as numbers, beside zlib and known answers."""
import array
import ctypes
import mmap
import random
import threading
import time
import unittest
import zlib

import numpy
import weir

CHECK = b"123456789"
NUMBERS = {  # the check values of the CRC catalogue
    "adler32": 0x091e01de, "crc32": 0xcbf43926, "crc32c": 0xe3069283, "crc64_xz": 0x995dc9bbdf1939fa,
    "crc64_nvme": 0xae8b14860a799888, "crc64_ecma182": 0x6c40df5f0b497347,
}


class Numbers(unittest.TestCase):
    def test_known_answers(self):
        for name, value in NUMBERS.items():
            self.assertEqual(getattr(weir, name)(CHECK), value, name)
        self.assertEqual(weir.cksum(CHECK), 0x377a6011)

    def test_equal_to_zlib_for_many_lengths_and_values(self):
        source = random.Random(1)
        data = source.randbytes(300_000)
        for size in [*range(200), *(source.randrange(300_000) for _ in range(100))]:
            part = memoryview(data)[:size]
            value = source.randrange(1 << 32)
            self.assertEqual(weir.crc32(part, value), zlib.crc32(part, value))
            self.assertEqual(weir.crc32(part), zlib.crc32(part))
            self.assertEqual(weir.adler32(part), zlib.adler32(part))
            self.assertEqual(weir.adler32(part, zlib.adler32(b"x")), zlib.adler32(part, zlib.adler32(b"x")))

    def test_start_values_beyond_their_width_count_with_their_low_bits(self):
        for value in (-1, 1 << 32, (1 << 70) + 5):
            self.assertEqual(weir.crc32(CHECK, value), zlib.crc32(CHECK, value & 0xffffffff))
        with self.assertRaises(TypeError):
            weir.crc32(CHECK, 1.5)

    def test_sums_continue(self):
        data = random.Random(2).randbytes(200_000)
        for name in NUMBERS:
            function = getattr(weir, name)
            self.assertEqual(function(data[77:], function(data[:77])), function(data), name)
            self.assertEqual(function(data=data), function(data), name)
        self.assertEqual(weir.crc32c(data, value=0), weir.crc32c(data))

    def test_any_object_with_bytes_side_by_side(self):
        words = array.array("I", range(100))
        expected = zlib.crc32(words.tobytes())
        for data in (words, words.tobytes(), bytearray(words.tobytes()), memoryview(words), numpy.arange(100, dtype="u4"),
                     numpy.arange(100, dtype="u4").reshape(10, 10), (ctypes.c_uint32 * 100)(*range(100))):
            self.assertEqual(weir.crc32(data), expected, type(data))
        empty = [b"", bytearray(), memoryview(b""), numpy.zeros(0), array.array("d")]
        self.assertEqual({weir.adler32(data) for data in empty}, {1})
        read_only = numpy.arange(100, dtype="u4")
        read_only.flags.writeable = False
        self.assertEqual(weir.crc32(read_only), expected)

    def test_other_objects_are_refused_with_a_reason(self):
        for data in (numpy.arange(100)[::2], numpy.zeros((9, 9)).T[1:], memoryview(bytes(20))[::3]):
            with self.assertRaisesRegex(BufferError, "side by side"):
                weir.adler32(data)
        with self.assertRaisesRegex(TypeError, "encode"):
            weir.adler32("text")
        for data in (None, 5, ["a"], object()):
            with self.assertRaisesRegex(TypeError, "bytes"):
                weir.crc32c(data)
        with self.assertRaises(TypeError):
            weir.crc32()
        with self.assertRaisesRegex(TypeError, "algorithm"):
            weir.sums(b"", ["md5", 5])
        released = memoryview(b"abc")
        released.release()
        with self.assertRaisesRegex(ValueError, "released"):
            weir.crc32(released)
        with mmap.mmap(-1, 4096) as mapping:
            self.assertEqual(weir.crc32(mapping), zlib.crc32(bytes(4096)))
        with self.assertRaises(ValueError):
            weir.crc32(mapping)

    def test_a_buffer_cannot_be_resized_meanwhile_and_can_afterwards(self):
        data = bytearray(1000)
        weir.crc32(data)
        data.extend(b"more")

    def test_lengths_above_4_gib(self):
        size = (1 << 32) + 4096
        try:
            zeros = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
        except OSError as refused:  # read-only zeros take no memory
            self.skipTest(f"no address space of 4 GiB: {refused}")
        with zeros, memoryview(zeros) as data:
            self.assertEqual(weir.adler32(data), size % 65521 << 16 | 1)
            part = weir.crc32c(bytes(1 << 20))
            whole = 0
            for _ in range(size >> 20):
                whole = weir.combine("crc32c", whole, part, 1 << 20)
            whole = weir.combine("crc32c", whole, weir.crc32c(bytes(4096)), 4096)
            self.assertEqual(weir.crc32c(data), whole)

    def test_other_threads_run_during_a_long_sum(self):
        data = bytes(200 << 20)
        turns, done = 0, threading.Event()

        def work():
            weir.sums(data, ["md5"])
            done.set()

        worker = threading.Thread(target=work)
        worker.start()
        while not done.is_set():
            turns += 1
            time.sleep(0.001)
        worker.join()
        self.assertGreater(turns, 20)


if __name__ == "__main__":
    unittest.main()
