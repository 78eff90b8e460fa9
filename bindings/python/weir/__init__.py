# SPDX-License-Identifier: Apache-2.0
"""Checksums at the speed of memory.

    weir.adler32(data, value=1), weir.crc32(data, value=0), crc32c, crc64_xz, crc64_nvme, crc64_ecma182, cksum
    weir.new("blake3").update(data) ... .hexdigest()          the shape of hashlib
    weir.sums(data, ["adler32", "md5"])                       several in one pass: {name: digits}
    weir.sum("run.data", ["adler32", "crc32c"])               of a file, read once
    weir.combine("crc32c", a, b, length_b)                    the sum of a followed by b

Data is anything that has its bytes side by side: bytes, bytearray, memoryview, array, a contiguous numpy array;
of any length. Above 64 KiB other Python threads run meanwhile. The names are in weir.algorithms.
"""
from ._weir import (Hash, __version__, adler32, algorithms, cksum, combine, crc32, crc32c, crc64_ecma182, crc64_nvme,
                    crc64_xz, new, sum, sums)

__all__ = ["Hash", "adler32", "algorithms", "cksum", "combine", "crc32", "crc32c", "crc64_ecma182", "crc64_nvme",
           "crc64_xz", "new", "sum", "sums"]
