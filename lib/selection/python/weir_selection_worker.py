#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python selection for `weir select` and `weir filter`: weir_selection_worker.py FILE.py

FILE.py has a function select(event). It is started by a station with a socket (3) and shared memory (4);
lib/selection/src/workers/worker_messages.hpp describes the messages, docs/selections.md the input and output of a selection.
"""
import collections.abc
import ctypes
import importlib.util
import mmap
import os
import re
import signal
import socket
import struct
import sys

READY, FAILED, DECISION = 1, 2, 3
EVENT_MAGIC, ANSWER_MAGIC, VERSION = 0x45535257, 0x41535257, 1
HEAD = struct.Struct("<IIQQ10IQQ")
FRAGMENT = struct.Struct("<IIQQ")
VERSION_1, COLLECTION = struct.pack(">H", 1), struct.pack(">H", 10)  # before an object, before texts and vectors
TAGS_MAX, RESULT_MAX, WORDS_MAX = 32, 64 * 1024, 256  # weir::selection::Decision
STREAM = re.compile(r"[A-Za-z0-9-]+_[A-Za-z0-9_-]+\Z")


class Fragments(collections.abc.Mapping):
    """source -> its ROB as numpy uint32 words, read-only and not copied. Only what is here."""

    def __init__(self, memory, places):
        self._memory, self._places = memory, places

    def __getitem__(self, source):
        offset, size = self._places[source]
        return numpy.frombuffer(self._memory, dtype="<u4", count=size // 4, offset=offset)

    def __iter__(self):
        return iter(self._places)

    def __len__(self):
        return len(self._places)


class Event:
    """One event. Its arrays are valid until select() returns."""

    def __init__(self, memory, size):
        (magic, version, total, self.global_id, self.level1_id, self.run, self.lumi_block, self.bunch_crossing_id,
         self.trigger_type, self.seconds, self.nanoseconds, fragments, level1, level2, at, length) = HEAD.unpack_from(memory)
        if magic != EVENT_MAGIC or version != VERSION or total != size:
            raise SystemExit("shared memory does not hold an event")
        places, self.missing = {}, []
        for i in range(fragments):
            source, state, offset, bytes_ = FRAGMENT.unpack_from(memory, HEAD.size + i * FRAGMENT.size)
            if state == 0:
                places[source] = (offset, bytes_)
            else:
                self.missing.append(source)
        words = HEAD.size + fragments * FRAGMENT.size
        self.level1_words = struct.unpack_from(f"<{level1}I", memory, words)
        self.level2_words = struct.unpack_from(f"<{level2}I", memory, words + 4 * level1)
        self.fragments = Fragments(memory, places)
        self.payload = numpy.frombuffer(memory, dtype="u1", count=length, offset=at)


def framed(head, body):
    """ROOT's bytes: how many follow, then what stands before the body, then the body."""
    return struct.pack(">I", 0x40000000 | len(head + body)) + head + body


def member_text(text):
    data = text.encode()
    size = struct.pack(">B", len(data)) if len(data) < 255 else struct.pack(">BI", 255, len(data))
    return framed(COLLECTION, size + data)


def findings(numbers):
    """A dictionary of numbers, as the bytes of an object weir::selection::Findings (docs/formats/objects.md)."""
    quantities = b""
    for name, value in numbers.items():
        if not isinstance(name, str):
            raise TypeError(f"the result has a quantity {name!r}; names are text")
        try:
            value = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"the result's {name} is {value!r}; quantities are numbers") from None
        quantities += framed(VERSION_1, member_text(name) + struct.pack(">d", value))
    count = struct.pack(">I", len(numbers))
    body = member_text(plugin) + framed(COLLECTION, count + quantities)
    return framed(b"\xff\xff\xff\xffweir::selection::Findings\0", framed(VERSION_1, body))


def result_of(value):
    return findings(value) if isinstance(value, collections.abc.Mapping) else bytes(value)


def encoded(answer):
    """What select() returned, as the bytes of a decision."""
    tags, result, words = [], b"", []
    if isinstance(answer, str):
        accepted, tags = True, [answer]
    elif isinstance(answer, (list, tuple)):
        accepted, tags = len(answer) > 0, list(answer)
    elif isinstance(answer, dict):
        unknown = set(answer) - {"accept", "tags", "result", "level2_words"}
        if unknown:
            raise ValueError(f"select() answered with unknown keys: {', '.join(sorted(map(str, unknown)))}")
        tags = answer.get("tags", [])
        tags = [tags] if isinstance(tags, str) else list(tags)
        accepted = bool(answer.get("accept", bool(tags)))
        result, words = result_of(answer.get("result", b"")), [int(word) for word in answer.get("level2_words", ())]
    elif answer is None:
        accepted = False
    else:
        accepted = bool(answer)
    for count, limit, what in ((len(tags), TAGS_MAX, "streams"), (len(result), RESULT_MAX, "bytes of result"),
                               (len(words), WORDS_MAX, "words")):
        if count > limit:
            raise ValueError(f"the decision has {count} {what}; {limit} are allowed")
    out = [struct.pack("<4I", accepted, len(tags), len(result), len(words))]
    for tag in tags:
        if not isinstance(tag, str) or not STREAM.match(tag):
            raise ValueError(f"{tag!r} is no stream: give type_name, as in physics_Main")
        text = tag.encode()
        out.append(struct.pack("<HBBI", len(text), 1, 0, 0) + text)
    return b"".join(out) + result + struct.pack(f"<{len(words)}I", *words)


def send(link, kind, body=b""):
    link.sendall(struct.pack("<3I", ANSWER_MAGIC, kind, len(body)) + body)


def reason(error):
    return f"{type(error).__name__}: {error}".encode(errors="replace")[:4000]


def load(path):
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("weir_selection", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, "select", None)):
        raise AttributeError(f"{path} has no function select(event)")
    return module.select


def serve(link, select):
    memory = None
    while True:
        request = link.recv(8, socket.MSG_WAITALL)
        if len(request) < 8:
            return  # the station has ended
        (size,) = struct.unpack("<Q", request)
        if memory is None or size > len(memory):
            memory = mmap.mmap(4, 0, prot=mmap.PROT_READ)
        try:
            body = encoded(select(Event(memory, size)))
        except Exception as error:  # the station reports any exception of the function
            send(link, FAILED, reason(error))
        else:
            send(link, DECISION, body)


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: never left behind, even inside an endless loop
    if len(sys.argv) != 2:
        sys.exit("weir_selection_worker.py is started by weir select and weir filter")
    link = socket.socket(fileno=3)
    link.setblocking(True)
    try:
        global numpy, plugin
        import numpy
        plugin = os.path.splitext(os.path.basename(sys.argv[1]))[0]
        select = load(sys.argv[1])
    except BaseException as error:
        send(link, FAILED, reason(error))
        sys.exit(1)
    send(link, READY)
    serve(link, select)


if __name__ == "__main__":
    main()
