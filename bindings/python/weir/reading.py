# SPDX-License-Identifier: Apache-2.0
"""Events of recorded files, as NumPy arrays that are views of the file: no payload is copied.

    for event in weir.open("D/"):                   # a file, a directory, or one run of it: weir.open("D/", run=7), weir.open(7)
        event.global_id, event.streams
        event[0x420000]                             # the detector's words of one source: numpy.ndarray of <u4, shape (words,)
        event.results                               # what the selections found: {"busy_chamber": {"chamber_words": 405.0}}

NumPy must be installed. The arrays cannot be written to, and keep their file mapped as long as they live. A file that is cut short by others
meanwhile ends the program (SIGBUS): read files that are closed, as the recorder leaves them.
"""
from __future__ import annotations

import importlib
import mmap
import os
import pathlib
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, Union

from . import _weir
from ._weir import ReadError

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    _Words = numpy.typing.NDArray[numpy.uint32]

__all__ = ["Event", "Events", "RawFile", "ReadError", "Rob", "Verified", "open"]

_Path = Union[str, "os.PathLike[str]"]

LEVEL2_DETECTOR = 0x7B  # sub-detector of the ROBs that hold results
_COLUMNS = 9  # of a row of _weir._robs()
_NO_ROD = 1 << 32


class Rob:
    """One source's part of an event. Arrays are of <u4 (little-endian 32-bit words), one-dimensional, read-only."""

    __slots__ = ("_event", "_row")

    def __init__(self, event: _Words, row: list[int]) -> None:
        self._event, self._row = event, row

    @property
    def source(self) -> int:
        """0x420000: sub-detector in bits 23 to 16, module below."""
        return self._row[0]

    @property
    def status(self) -> int:
        """First status word of the ROB; not 0: something is wrong, such as a lost fragment."""
        return self._row[3]

    @property
    def words(self) -> _Words:
        """The whole ROB, with its header."""
        return self._part(self._row[1], self._row[2] // 4)

    @property
    def data(self) -> _Words:
        """The detector's words in the ROD; none when the ROB has no ROD, as one that stands for a lost fragment. Bytes of a board are filled up to a
        whole word; the number of bytes is in status_words[1]."""
        return self._part(self._row[4], self._row[5])

    @property
    def status_words(self) -> _Words:
        """Of the ROD."""
        return self._part(self._row[6], self._row[7])

    @property
    def level1_id(self) -> int | None:
        """As the ROD has it; None: there is no ROD."""
        return self._row[8] if self._row[8] < _NO_ROD else None

    def _part(self, offset: int, words: int) -> _Words:
        return self._event[offset // 4:offset // 4 + words]

    def __repr__(self) -> str:
        return f"<weir.Rob {self.source:#x}: {self._row[5]} words of data>"


class Event:
    """One event. What is asked for first is read then: a damaged event raises ReadError at that moment."""

    def __init__(self, file: RawFile, number: int, data: Any, offset: int, block: int) -> None:
        self.file = file
        self.number = number  #: in its file, from 1 on
        self.offset = offset  #: of its first byte in the file
        self.block = block  #: block number in the file
        self.data = data  #: all of its bytes: numpy.ndarray of u1, a view of the file
        self._fields: tuple[Any, ...] | None = None
        self._unpacked: _Words | None = None
        self._robs: list[Rob] | None = None

    def _read(self) -> tuple[Any, ...]:
        if self._fields is None:
            self._fields = self._call(_weir._event_header, self.data)
        return self._fields

    def _call(self, function: Any, data: Any) -> Any:
        try:
            return function(data, self.file.format)
        except ReadError as error:
            raise ReadError(f"{self.file.path}, event {self.number}, offset {self.offset}: {error}") from None

    @property
    def run(self) -> int:
        """Number of its run."""
        return int(self._read()[0])

    @property
    def global_id(self) -> int:
        """In its run; unique."""
        return int(self._read()[1])

    @property
    def level1_id(self) -> int:
        """Of its trigger; 32 bits, wraps."""
        return int(self._read()[2])

    @property
    def lumi_block(self) -> int:
        """0 in events of BES III."""
        return int(self._read()[3])

    @property
    def time_ns(self) -> int:
        """Of the bunch crossing: nanoseconds since 1970."""
        return int(self._read()[4])

    @property
    def bunch_crossing(self) -> int:
        """Its number."""
        return int(self._read()[5])

    @property
    def trigger_type(self) -> int:
        """As the trigger gave it."""
        return int(self._read()[6])

    @property
    def status(self) -> int:
        """First status word of the event; 0: nothing is known to be wrong with it."""
        return int(self._read()[7])

    @property
    def streams(self) -> list[str]:
        """["physics_Main", ...]: those that the event names."""
        return list(self._read()[8])

    @property
    def level1_words(self) -> _Words:
        """From the trigger: <u4, one-dimensional."""
        return self._header_words(9)

    @property
    def level2_words(self) -> _Words:
        """From level 2."""
        return self._header_words(10)

    @property
    def filter_words(self) -> _Words:
        """From the event filter."""
        return self._header_words(11)

    @property
    def words(self) -> _Words:
        """All words of the event, header included; of a compressed event those of its uncompressed form, which is a copy."""
        import numpy
        if self._unpacked is None:
            data = self.data
            if self.file.format != "opaque" and self._read()[12]:
                data = numpy.frombuffer(self._call(_weir._uncompressed, data), "u1")
            if len(data) % 4:
                raise ReadError(f"{self.file.path}, event {self.number}: {len(data)} bytes are not whole words; its bytes are in data")
            self._unpacked = data.view("<u4")
        return self._unpacked

    @property
    def rob_list(self) -> list[Rob]:
        """All ROBs in their order."""
        import numpy
        if self._robs is None:
            words = self.words
            rows = numpy.frombuffer(self._call(_weir._robs, words), "u8").reshape(-1, _COLUMNS).tolist()
            self._robs = [Rob(words, row) for row in rows]
        return self._robs

    @property
    def robs(self) -> dict[int, Rob]:
        """{source: ROB}. ReadError: a source is there twice; rob_list has all."""
        robs = {rob.source: rob for rob in self.rob_list}
        if len(robs) != len(self.rob_list):
            raise ReadError(f"{self.file.path}, event {self.number}: two ROBs of one source; rob_list has all of them")
        return robs

    def __getitem__(self, source: int) -> _Words:
        """The detector's words of a source: Rob.data."""
        return self.robs[source].data

    @property
    def results(self) -> dict[str, Any]:
        """What selections found: {name of the selection: {name of a quantity: value}}. Objects of other classes are their bytes, by the name of
        their class; results that are no objects, by their source."""
        found: dict[str, Any] = {}
        for rob in self.rob_list:
            if rob.source >> 16 == LEVEL2_DETECTOR and len(rob.data):
                size = int(rob.data[0])
                content = rob.data[1:].tobytes()
                if size <= len(content):
                    name, value = _result(content[:size], f"{rob.source:#x}")
                    found[name] = value
        return found

    def verify(self) -> dict[str, int]:
        """Checks every fragment and every checksum: ReadError names the first fault. What was found otherwise, by number: "robs",
        "robs_without_data", "level1_mismatches", "run_mismatches", "source_mismatches", "checksums_verified", "checksums_unverified"."""
        return dict(self._call(_weir._check, self.data))

    def _header_words(self, field: int) -> _Words:
        offset, words = self._read()[field]
        part: _Words = self.data[offset:offset + 4 * words].view("<u4")
        return part

    def __repr__(self) -> str:
        return f"<weir.Event {self.number} of {self.file.path}: {len(self.data)} bytes>"


class RawFile:
    """One raw file. Iterating gives its events, one after the other; `file[i]` is event i, from 0 on.

    A file without its end (a recorder writes it, or died) has the events that are whole, and is not `complete`. Where a damaged file cannot be read on,
    iterating ends with a ReadError after the last whole event.
    """

    def __init__(self, path: _Path) -> None:
        import numpy
        self.path = pathlib.Path(path)
        with self.path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise ReadError(f"{path} is empty; name an ATLAS raw file")
            self._bytes = numpy.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), "u1")
        try:
            self.version, self.file_number, self.run, self.format, self.metadata = _weir._head(self._bytes)
        except ReadError as error:
            raise ReadError(f"{path} is not a raw file that can be read: {error}") from None
        places, self.events_stated, self.fault = _weir._walk(self._bytes)
        self._places = numpy.frombuffer(places, "u8").reshape(-1, 3)

    @property
    def complete(self) -> bool:
        """It has its end, which states as many events as there are."""
        return not self.fault and self.events_stated == len(self)

    @property
    def stream(self) -> str | None:
        """As its metadata names it; None in files of BES III."""
        stream = self.metadata.get("Stream")
        return None if stream is None else str(stream)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Event:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self.path} has {len(self)} events")
        index %= len(self)
        offset, size, block = self._places[index].tolist()
        return Event(self, index + 1, self._bytes[offset:offset + size], offset, block)

    def __iter__(self) -> Iterator[Event]:
        for index in range(len(self)):
            yield self[index]
        if self.fault:
            raise ReadError(f"{self.path}: {self.fault}")

    def verify(self) -> Verified:
        """Checks the file's end, and every event to its checksums."""
        found = Verified(files=1)
        if self.fault or not self.complete:
            found.faults.append(f"{self.path}: {self.fault or self._why_not_complete()}")
        for index in range(len(self)):
            found.events += 1
            try:
                found.add(self[index].verify())
            except ReadError as error:
                found.faults.append(str(error))
        return found

    def _why_not_complete(self) -> str:
        if self.events_stated is None:
            return "it has no end record: it is still written, or its recorder died (weir recover closes it)"
        return f"it has {len(self)} events, its end record states {self.events_stated}"

    def __repr__(self) -> str:
        return f"<weir.RawFile {self.path}: {len(self)} events of run {self.run}>"


@dataclass
class Verified:
    """What verify() found. It is true when there are no faults."""

    files: int = 0
    events: int = 0
    counts: dict[str, int] = field(default_factory=dict)  #: as Event.verify() gives them, in all
    faults: list[str] = field(default_factory=list)  #: one line each, with file, event and place

    def add(self, counts: dict[str, int]) -> None:
        """The counts of another event."""
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    def __bool__(self) -> bool:
        return not self.faults


class Events:
    """The events of one or several raw files, file by file in the order of their paths. Each iteration begins anew."""

    def __init__(self, files: list[RawFile]) -> None:
        self.files = files

    def __iter__(self) -> Iterator[Event]:
        for file in self.files:
            yield from file

    def __len__(self) -> int:
        return sum(len(file) for file in self.files)

    def verify(self) -> Verified:
        """Checks each file's end, and every event to its checksums: its `faults` are a line each, and it is true when there are none. (The sums of whole
        files, and the catalogue, are checked by the command `weir verify`.)"""
        whole = Verified()
        for file in self.files:
            found = file.verify()
            whole.files += 1
            whole.events += found.events
            whole.add(found.counts)
            whole.faults += found.faults
        return whole

    def to_awkward(self) -> Any:
        """All events as an awkward array of records {run, global_id, level1_id, lumi_block, time_ns, robs: [{source, status, data: [words]}]}.
        The words of one file are a view of it, those of several are joined: a copy. ImportError: awkward is not installed."""
        import numpy
        awkward: Any = importlib.import_module("awkward")  # which has no types
        parts = []
        for file in self.files:
            events = list(file)
            rows = [numpy.frombuffer(event._call(_weir._robs, event.words), "u8").reshape(-1, _COLUMNS) for event in events]
            if any(event._read()[12] for event in events) or any(event.offset % 4 for event in events):
                content = numpy.concatenate([event.words for event in events])  # unpacked, or not at whole words of the file
                begins = numpy.cumsum([0] + [len(event.words) for event in events[:-1]])
            else:
                content = file._bytes[:len(file._bytes) // 4 * 4].view("<u4")
                begins = numpy.array([event.offset // 4 for event in events])
            counts = [len(table) for table in rows]
            table = numpy.concatenate([*rows, numpy.zeros((0, _COLUMNS), "u8")]).astype("i8")
            starts = numpy.repeat(begins, counts).astype("i8") + table[:, 4] // 4
            data = awkward.contents.ListArray(awkward.index.Index64(starts), awkward.index.Index64(starts + table[:, 5]),
                                              awkward.contents.NumpyArray(content))
            robs = awkward.contents.RecordArray([awkward.contents.NumpyArray(table[:, 0].astype("u4")),
                                                 awkward.contents.NumpyArray(table[:, 3].astype("u4")), data], ["source", "status", "data"])
            offsets = numpy.concatenate([[0], numpy.cumsum(counts)]).astype("i8")
            fields = ["run", "global_id", "level1_id", "lumi_block", "time_ns"]
            columns = [awkward.contents.NumpyArray(numpy.array([getattr(event, field) for event in events], "i8" if field == "time_ns" else "u8"))
                       for field in fields]
            lists = awkward.contents.ListOffsetArray(awkward.index.Index64(offsets), robs)
            parts.append(awkward.Array(awkward.contents.RecordArray([*columns, lists], [*fields, "robs"])))
        return parts[0] if len(parts) == 1 else awkward.concatenate(parts)

    def __repr__(self) -> str:
        return f"<weir.Events: {len(self)} in {len(self.files)} files>"


def open(path: _Path | int = ".", *, run: int | None = None, stream: str | None = None) -> Events:
    """The events of a raw file, or of all closed raw files below a directory; of one run, or one stream ("physics_Main"), when these are given.
    A number is a run below the working directory: weir.open(7).

    FileNotFoundError: there is no such file, or none of this run or stream. ReadError: a file is no raw file that can be read.
    """
    if isinstance(path, int):
        if run not in (None, path):
            raise ValueError(f"run {path} or run {run}: name one of them")
        run = path
        path = "."
    place = pathlib.Path(path)
    paths = sorted(each for pattern in ("*.data", "*.raw") for each in place.rglob(pattern)) if place.is_dir() else [place]
    chosen, runs = [], set()
    for each in paths:  # one after the other: those that are not chosen do not stay open
        file = RawFile(each)
        runs.add(file.run)
        if run in (None, file.run) and stream in (None, file.stream):
            chosen.append(file)
    if not chosen:
        what = [f"of run {run}"] * (run is not None) + [f"of stream {stream}"] * (stream is not None)
        there = f"; there are runs {sorted(runs)}" if runs else ""
        raise FileNotFoundError(f"{path} has no closed raw file{' ' if what else ''}{' and '.join(what)}{there}")
    return Events(chosen)


class _Object:
    """Bytes of ROOT's, read within their limits (docs/formats/objects.md)."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> int | float:
        value: int | float = struct.unpack_from(">" + form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def count(self) -> int:
        """Byte count; the rest counts what follows."""
        count = int(self.take("I"))
        if not count & 0x40000000 or (count & 0x3FFFFFFF) > len(self.data) - self.at:
            raise ValueError("no byte count")
        return self.at + (count & 0x3FFFFFFF)

    def header(self) -> tuple[int, int]:
        """Where the part ends, and its version."""
        return self.count(), int(self.take("H"))

    def text(self) -> str:
        size = int(self.take("B"))
        size = int(self.take("I")) if size == 255 else size
        if size > len(self.data) - self.at:
            raise ValueError("a text beyond its end")
        self.at += size
        return self.data[self.at - size:self.at].decode(errors="replace")

    def member_text(self) -> str:
        self.header()
        return self.text()


def _result(content: bytes, source: str) -> tuple[str, Any]:
    """Its name and its value; the bytes as they are when they are no object that is known."""
    reader = _Object(content)
    name = source
    try:
        reader.count()
        if reader.take("I") != 0xFFFFFFFF:
            return name, content
        end = content.index(b"\0", reader.at)
        name, reader.at = content[reader.at:end].decode(), end + 1
        if name != "weir::selection::Findings":
            return name, content
        reader.header()
        selection = reader.member_text()
        reader.header()
        quantities = {}
        for _ in range(int(reader.take("I"))):
            last, _ = reader.header()
            key = reader.member_text()
            quantities[key] = float(reader.take("d"))
            reader.at = last  # a later version has more members
        return selection, quantities
    except (ValueError, struct.error, IndexError):
        return name, content
