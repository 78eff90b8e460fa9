#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python selection for `weir select` and `weir filter`: weir_selection_worker.py FILE.py

FILE.py has a function select(event), which may be a generator. It is started by a station with a socket (3) and shared memory (4);
lib/selection/src/workers/worker_messages.hpp describes the messages, docs/selections.md the input and output of a selection.
"""
import collections.abc
import mmap
import os
import re
import struct
import sys
import types

from weir_worker import Station, load, reason

READY, FAILED, DECISION, REQUEST = 1, 2, 3, 4
EVENT_MAGIC, FRAGMENTS_MAGIC, VERSION = 0x45535257, 0x46535257, 2
HEAD = struct.Struct("<IIQQ10IQQ")
FRAGMENT = struct.Struct("<IIQQ")
FRAGMENTS_HEAD = struct.Struct("<IIQII")
VERSION_1, COLLECTION = struct.pack(">H", 1), struct.pack(">H", 10)  # before an object, before texts and vectors
TAGS_MAX, RESULT_MAX, WORDS_MAX, ROBS_MAX = 32, 64 * 1024, 256, 4096  # weir::selection::Decision
SOURCES_MAX, REQUESTS_MAX = 4096, 64  # weir::selection::FragmentRequests
STREAM = re.compile(r"[A-Za-z0-9-]+_[A-Za-z0-9_-]+\Z")


class Fragments(collections.abc.Mapping):
    """source -> its ROB as numpy uint32 words, read-only and not copied. Only what is here."""

    def __init__(self, places):
        self._places = places

    def __getitem__(self, source):
        memory, offset, size = self._places[source]
        return numpy.frombuffer(memory, dtype="<u4", count=size // 4, offset=offset)

    def __iter__(self):
        return iter(self._places)

    def __len__(self):
        return len(self._places)


class Event:
    """One event. Its arrays are valid until select() returns."""

    def __init__(self, shared, size):
        memory = shared.of(size)
        (magic, version, total, self.global_id, self.level1_id, self.run, self.lumi_block, self.bunch_crossing_id,
         self.trigger_type, self.seconds, self.nanoseconds, fragments, level1, level2, at, length) = HEAD.unpack_from(memory)
        if magic != EVENT_MAGIC or version != VERSION or total != size:
            raise SystemExit("shared memory does not hold an event")
        self._shared, self._places, self._requests, self.missing = shared, {}, 0, []
        self._take(memory, fragments, HEAD.size, 0)
        words = HEAD.size + fragments * FRAGMENT.size
        self.level1_words = struct.unpack_from(f"<{level1}I", memory, words)
        self.level2_words = struct.unpack_from(f"<{level2}I", memory, words + 4 * level1)
        self.fragments = Fragments(self._places)
        self.payload = numpy.frombuffer(memory, dtype="u1", count=length, offset=at)

    def request(self, sources):
        """Waits until the fragments of these sources are here, or known to be missing; other events go on meanwhile.
        Returns those that are here: {source: array of words}. They stand in `fragments`, the others in `missing`."""
        wanted = [int(sources)] if isinstance(sources, int) else [int(source) for source in sources]
        if len(wanted) > SOURCES_MAX or self._requests == REQUESTS_MAX:
            raise ValueError(f"it requested fragments more than {REQUESTS_MAX} times, or more than {SOURCES_MAX} at once")
        self._requests += 1
        known = set(self._places) | set(self.missing)
        absent = [source for source in dict.fromkeys(wanted) if source not in known]
        if absent:
            memory, position = self._shared.fragments(absent)
            magic, version, _, count, _ = FRAGMENTS_HEAD.unpack_from(memory, position)
            if magic != FRAGMENTS_MAGIC or version != VERSION:
                raise SystemExit("shared memory does not hold fragments")
            self._take(memory, count, position + FRAGMENTS_HEAD.size, position)
        return Fragments({source: self._places[source] for source in wanted if source in self._places})

    def _take(self, memory, count, at, position):
        for i in range(count):
            source, state, offset, size = FRAGMENT.unpack_from(memory, at + i * FRAGMENT.size)
            if state == 0:
                self._places[source] = (memory, position + offset, size)
            else:
                self.missing.append(source)


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


def stream_and_sources(tag):
    """A stream, as text, or a partial one: a pair of that and the sources whose fragments go there."""
    text, sources = tag if isinstance(tag, (list, tuple)) and len(tag) == 2 else (tag, None)
    if not isinstance(text, str) or not STREAM.match(text):
        raise ValueError(f"{text!r} is no stream: give type_name, as in physics_Main")
    if sources is None:
        return text.encode(), []
    sources = [int(source) for source in sources]
    if not 0 < len(sources) <= ROBS_MAX:
        raise ValueError(f"{text} is a partial stream of {len(sources)} sources; 1 to {ROBS_MAX} are allowed")
    return text.encode(), sources


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
        text, sources = stream_and_sources(tag)
        out.append(struct.pack("<HBBI", len(text), 1, 0, len(sources)) + text + struct.pack(f"<{len(sources)}I", *sources))
    return b"".join(out) + result + struct.pack(f"<{len(words)}I", *words)


def select_of(path):
    module = load(path, "weir_selection")
    if not callable(getattr(module, "select", None)):
        raise AttributeError(f"{path} has no function select(event)")
    return module.select


class Memory:
    """Shared with the station. It grows; arrays keep what they lie in."""

    def __init__(self, station):
        self._station, self._map = station, None

    def of(self, size):
        if self._map is None or size > len(self._map):
            self._map = mmap.mmap(4, 0, prot=mmap.PROT_READ)
        return self._map

    def fragments(self, sources):
        """Requests them: the memory, and where in it they are."""
        self._station.send(REQUEST, struct.pack(f"<{len(sources)}I", *sources))
        position, size = struct.unpack("<2Q", self._station.exactly(16))
        return self.of(position + size), position


def decide(select, event):
    """A generator yields the sources that it needs next, and gets their fragments."""
    answer = select(event)
    if not isinstance(answer, types.GeneratorType):
        return answer
    try:
        sources = next(answer)
        while True:
            sources = answer.send(event.request(sources))
    except StopIteration as end:
        return end.value


def serve(station, select):
    shared = Memory(station)
    while True:
        (size,) = struct.unpack("<Q", station.exactly(8))
        try:
            body = encoded(decide(select, Event(shared, size)))
        except Exception as error:  # the station reports any exception of the function
            station.send(FAILED, reason(error))
        else:
            station.send(DECISION, body)


def main():
    if len(sys.argv) != 2:
        sys.exit("weir_selection_worker.py is started by weir select and weir filter")
    station = Station()
    try:
        global numpy, plugin
        import numpy
        plugin = os.path.splitext(os.path.basename(sys.argv[1]))[0]
        select = select_of(sys.argv[1])
    except BaseException as error:
        station.send(FAILED, reason(error))
        sys.exit(1)
    station.send(READY)
    serve(station, select)


if __name__ == "__main__":
    main()
