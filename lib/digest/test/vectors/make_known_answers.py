#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints known_answers.txt: python3 make_known_answers.py > known_answers.txt

None of the answers shares code with weir: adler32 and crc32 are those of Python's zlib, md5, sha and blake2b of its
hashlib, the xxHashes of xxhsum, blake3 of b3sum (both are Debian packages); the other CRCs are computed bit
by bit, and HighwayHash after its paper (Alakuijala, Cox and Wassenberg, arXiv:1612.06257), below.
"""
import hashlib
import os
import subprocess
import tempfile
import zlib

COLUMNS = ("adler32 crc32 cksum crc32c crc64-xz crc64-nvme crc64-ecma182 md5 sha1 sha256 xxh64 xxh3-64 xxh3-128 "
           "blake3 hwh64 sha224 sha384 sha512 sha3-256 blake2b xxh32").split()
M64 = (1 << 64) - 1


def reflected(data, width, polynomial):
    """Inverted before and after; `polynomial` in reflected order."""
    mask = (1 << width) - 1
    crc = mask
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (polynomial if crc & 1 else 0)
    return crc ^ mask


def straight(data, width, polynomial):
    """From 0, nothing inverted."""
    mask, top, crc = (1 << width) - 1, 1 << (width - 1), 0
    for byte in data:
        crc ^= byte << (width - 8)
        for _ in range(8):
            crc = (crc << 1 & mask) ^ (polynomial if crc & top else 0)
    return crc


def cksum(data):
    length = len(data)
    tail = length.to_bytes((length.bit_length() + 7) // 8, "little")
    return straight(data + tail, 32, 0x04C11DB7) ^ 0xFFFFFFFF


class HighwayHash:
    """64 bits, packets of 32 bytes, four lanes."""

    def __init__(self, key):
        self.mul0 = [0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3]
        self.mul1 = [0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377]
        self.v0 = [m ^ k for m, k in zip(self.mul0, key)]
        self.v1 = [m ^ (k >> 32 | k << 32 & M64) for m, k in zip(self.mul1, key)]

    @staticmethod
    def zipper(v):
        """What is added to the even lane and the odd lane, from the odd and the even one."""
        b = v[0].to_bytes(8, "little") + v[1].to_bytes(8, "little")  # lane 0, lane 1
        low = bytes(b[i] for i in (3, 12, 2, 5, 14, 1, 15, 0))
        high = bytes(b[i] for i in (11, 4, 10, 13, 9, 6, 8, 7))
        return int.from_bytes(low, "little"), int.from_bytes(high, "little")

    def update(self, lanes):
        v0, v1, mul0, mul1 = self.v0, self.v1, self.mul0, self.mul1
        for i in range(4):
            v1[i] = (v1[i] + mul0[i] + lanes[i]) & M64
            mul0[i] ^= (v1[i] & 0xFFFFFFFF) * (v0[i] >> 32)
            v0[i] = (v0[i] + mul1[i]) & M64
            mul1[i] ^= (v0[i] & 0xFFFFFFFF) * (v1[i] >> 32)
        for to, of in ((v0, v1), (v1, v0)):
            for pair in (0, 2):
                low, high = self.zipper(of[pair:pair + 2])
                to[pair] = (to[pair] + low) & M64
                to[pair + 1] = (to[pair + 1] + high) & M64

    def packet(self, data):
        self.update([int.from_bytes(data[8 * i:8 * i + 8], "little") for i in range(4)])

    def remainder(self, data):
        size = len(data)
        for i in range(4):
            self.v0[i] = (self.v0[i] + (size << 32) + size) & M64
        for i in range(4):  # each half of each lane of v1 is rotated by the size
            halves = [self.v1[i] & 0xFFFFFFFF, self.v1[i] >> 32]
            turned = [(h << size | h >> (32 - size)) & 0xFFFFFFFF for h in halves]
            self.v1[i] = turned[0] | turned[1] << 32
        packet = bytearray(32)
        whole, rest = data[:size & ~3], data[size & ~3:]
        packet[:len(whole)] = whole
        if size & 16:
            packet[28:32] = data[size - 4:size]
        elif rest:
            packet[16] = rest[0]
            packet[17] = rest[len(rest) >> 1]
            packet[18] = rest[-1]
        self.packet(packet)

    def finish(self):
        for _ in range(4):
            self.update([(self.v0[i] >> 32 | self.v0[i] << 32) & M64 for i in (2, 3, 0, 1)])
        return (self.v0[0] + self.v1[0] + self.mul0[0] + self.mul1[0]) & M64


def hwh64(data):
    state = HighwayHash([1, 2, 3, 4])
    whole = len(data) // 32 * 32
    for at in range(0, whole, 32):
        state.packet(data[at:at + 32])
    if whole != len(data):
        state.remainder(data[whole:])
    return state.finish()


def said_by(command, path):
    words = subprocess.run([*command, path], check=True, capture_output=True, text=True).stdout.split()
    return words[-1] if words[0] == "XXH3" else words[0]  # xxhsum writes that one in BSD's way


def answers(data):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(data)
    try:
        return [f"{zlib.adler32(data):08x}", f"{zlib.crc32(data):08x}", f"{cksum(data):08x}",
                f"{reflected(data, 32, 0x82F63B78):08x}", f"{reflected(data, 64, 0xC96C5795D7870F42):016x}",
                f"{reflected(data, 64, 0x9A6C9329AC4BC9B5):016x}", f"{straight(data, 64, 0x42F0E1EBA9EA3693):016x}",
                hashlib.md5(data).hexdigest(), hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest(),
                said_by(["xxhsum", "-H1"], file.name), said_by(["xxhsum", "-H3"], file.name),
                said_by(["xxhsum", "-H2"], file.name), said_by(["b3sum", "--no-names"], file.name), f"{hwh64(data):016x}",
                hashlib.sha224(data).hexdigest(), hashlib.sha384(data).hexdigest(), hashlib.sha512(data).hexdigest(),
                hashlib.sha3_256(data).hexdigest(), hashlib.blake2b(data).hexdigest(), said_by(["xxhsum", "-H0"], file.name)]
    finally:
        os.unlink(file.name)


def lcg(size):
    state, data = 1, bytearray()
    for _ in range(size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        data.append(state >> 24)
    return bytes(data)


inputs = {"text:": b"", "text:a": b"a", "text:abc": b"abc", "text:123456789": b"123456789",
          "repeat:00*64": bytes(64), "repeat:ff*5553": b"\xff" * 5553}
# Around the blocks of the algorithms: packets of 32, blocks of 64, 128 and 136, stripes of xxh3, chunks and subtrees of blake3.
for size in (1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 20, 31, 32, 33, 48, 55, 56, 63, 64, 65, 100, 111, 112, 119, 127, 128, 129, 135, 136, 137, 200, 240, 241, 255,
             256, 257, 511, 512, 513, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 3072, 3073, 4096, 4109, 5120, 7168, 8192,
             8193, 16384, 17000, 31744, 33000, 65536, 70001, 102400):
    inputs[f"lcg:{size}"] = lcg(size)

print("# Made by make_known_answers.py. lcg:N is N bytes of s = s * 1664525 + 1013904223 modulo 2^32 from s = 1, the top")
print("# byte of each s.")
print("input", *COLUMNS)
for text, data in inputs.items():
    print(text, *answers(data))
