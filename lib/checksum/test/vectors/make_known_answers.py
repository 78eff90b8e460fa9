#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints known_answers.txt: python3 make_known_answers.py > known_answers.txt

adler32 is that of Python's zlib. The CRCs are computed bit by bit as R. Williams describes them ("A Painless
Guide to CRC Error Detection Algorithms", 1993), in natural order with bytes and sums turned around where the
CRC asks for it, so nothing here shares code or tables with weir. The sum of "123456789" is checked against the
catalogue (reveng.sourceforge.io/crc-catalogue).
"""
import zlib
from typing import NamedTuple


class Crc(NamedTuple):
    name: str
    width: int
    polynomial: int
    reflected: bool
    init: int
    xor_out: int
    check: int


ALL = 0xFFFFFFFFFFFFFFFF
CRCS = [
    Crc("crc32c", 32, 0x1EDC6F41, True, ALL >> 32, ALL >> 32, 0xE3069283),
    Crc("crc32", 32, 0x04C11DB7, True, ALL >> 32, ALL >> 32, 0xCBF43926),
    Crc("cksum", 32, 0x04C11DB7, False, 0, ALL >> 32, 0x765E7680),  # and the length, below
    Crc("crc64-xz", 64, 0x42F0E1EBA9EA3693, True, ALL, ALL, 0x995DC9BBDF1939FA),
    Crc("crc64-nvme", 64, 0xAD93D23594C93659, True, ALL, ALL, 0xAE8B14860A799888),
    Crc("crc64-ecma182", 64, 0x42F0E1EBA9EA3693, False, 0, 0, 0x6C40DF5F0B497347),
]


def turned(value: int, bits: int) -> int:
    return int(format(value, f"0{bits}b")[::-1], 2)


TURNED = [turned(byte, 8) for byte in range(256)]


def crc(kind: Crc, data: bytes) -> int:
    register, top, mask = kind.init, 1 << (kind.width - 1), (1 << kind.width) - 1
    for byte in data:
        register ^= (TURNED[byte] if kind.reflected else byte) << (kind.width - 8)
        for _ in range(8):
            register = (register << 1 ^ (kind.polynomial if register & top else 0)) & mask
    return (turned(register, kind.width) if kind.reflected else register) ^ kind.xor_out


def posix_length(size: int) -> bytes:
    """What cksum appends: the bytes that are needed to write the length, the lowest first."""
    return size.to_bytes((size.bit_length() + 7) // 8, "little")


def answer(kind: Crc, data: bytes) -> str:
    if kind.name == "cksum":
        data += posix_length(len(data))
    return format(crc(kind, data), f"0{kind.width // 4}x")


def lcg(size: int) -> bytes:
    state, out = 1, bytearray()
    for _ in range(size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(state >> 24)
    return bytes(out)


def data_of(name: str) -> bytes:
    kind, _, value = name.partition(":")
    if kind == "text":
        return value.encode()
    if kind == "hex":
        return bytes.fromhex(value)
    if kind == "repeat":
        byte, _, count = value.partition("*")
        return bytes.fromhex(byte) * int(count)
    return lcg(int(value))


ISCSI_READ = "01c00000000000000000000000000000" "14000000000004000000001400000018" "28000000000000000200000000000000"
NAMES = ["text:", "text:a", "text:abc", "text:123456789", "text:Wikipedia"]
NAMES += ["repeat:00*32", "repeat:ff*32", "hex:" + bytes(range(32)).hex(), "hex:" + bytes(range(31, -1, -1)).hex()]
NAMES += ["hex:" + ISCSI_READ]
NAMES += ["repeat:00*65536", "repeat:ff*65537", "repeat:ff*300001", "repeat:80*5552"]
SIZES = [15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 257, 511, 512, 513, 1023, 1025, 4095, 4096, 4097]
NAMES += [f"lcg:{size}" for size in SIZES + [16384, 65521, 300000]]

for kind in CRCS:
    assert crc(kind, b"123456789") == kind.check, kind.name

print("# Known answers, made by make_known_answers.py: the input, then the sums that the next line names. The 32-byte")
print("# inputs and the 48-byte one are those of RFC 3720, appendix B.4.")
print("# columns: adler32", *(kind.name for kind in CRCS))
print("# lcg:N is N bytes of s = s * 1664525 + 1013904223 modulo 2^32 from s = 1, the top byte of each s.")
for name in NAMES:
    data = data_of(name)
    print(name, f"{zlib.adler32(data):08x}", *(answer(kind, data) for kind in CRCS))
