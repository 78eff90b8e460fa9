# SPDX-License-Identifier: Apache-2.0
"""Data into weir and out of its files, and checksums at the speed of memory.

    with weir.Sender("recorder:9000", "me") as to: to.send(payload, event, "physics_Main")        events
    with weir.FragmentSender("ros-1:9100", "board-1") as board: board.send(source, event, payload)
    with weir.TriggerSender("supervisor:9200", "unit") as unit: unit.send(event, time_ns)
    for event in weir.open("D/"): event[source]               recorded events; the words of a source as a NumPy array

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
from .reading import Event, Events, RawFile, ReadError, Rob, Verified, open
from .sending import FragmentSender, NotTaken, SendError, Sender, SenderStats, TriggerSender

__all__ = ["Event", "Events", "FragmentSender", "Hash", "NotTaken", "RawFile", "ReadError", "Rob", "SendError", "Sender", "SenderStats",
           "TriggerSender", "Verified", "adler32", "algorithms", "cksum", "combine", "crc32", "crc32c", "crc64_ecma182", "crc64_nvme", "crc64_xz",
           "new", "open", "sum", "sums"]
