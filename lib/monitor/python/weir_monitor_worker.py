#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python monitor for `weir monitor`: weir_monitor_worker.py FILE.py

FILE.py has see(event), and may have begin_run(book) and end_run(). It is started by a station with a socket (3);
lib/monitor/src/monitor_messages.hpp describes the messages, docs/monitors.md what a monitor may do.
"""
import collections.abc
import struct
import time

from weir_worker import OWN, OWN_ANSWER, SEE, PlugInWorker, reason, run

EVENT = OWN
SEEN, HISTOGRAM, COUNTERS = OWN_ANSWER, OWN_ANSWER + 1, OWN_ANSWER + 2
HEAD, FRAGMENT = struct.Struct("<Q8I"), struct.Struct("<6I")
HISTOGRAMS_MAX, NAME_MAX, TITLE_MAX = 1000, 200, 500  # weir::monitor::HistogramLimits
CELLS_MAX, ALL_CELLS_MAX = 1_000_000, 2_000_000
SENT_EVERY = 0.5  # seconds

numpy = None  # imported before the monitor is loaded, and looked for once


class Words(collections.abc.Mapping):
    """source -> words of 32 bits in a NumPy array, read-only and not copied."""

    def __init__(self, payload, places):
        self._payload, self._places = payload, places

    def __getitem__(self, source):
        at, size = self._places[source]
        return numpy.frombuffer(self._payload, dtype="<u4", count=size // 4, offset=at)

    def __iter__(self):
        return iter(self._places)

    def __len__(self):
        return len(self._places)


class Event:
    """One event. `fragments` has whole ROBs by source, `data` what is in their ROD fragments, `status` the first status word."""

    def __init__(self, body):
        (self.global_id, self.run, self.level1_id, self.lumi_block, self.bunch_crossing_id, self.trigger_type, self.seconds,
         self.nanoseconds, count) = HEAD.unpack_from(body)
        payload = memoryview(body)[HEAD.size + count * FRAGMENT.size:]
        robs, data, self.status = {}, {}, {}
        for i in range(count):
            source, self.status[source], *place = FRAGMENT.unpack_from(body, HEAD.size + i * FRAGMENT.size)
            robs[source], data[source] = place[:2], place[2:]
        self.fragments, self.data = Words(payload, robs), Words(payload, data)
        self.payload = numpy.frombuffer(payload, dtype="u1")


class Axis:
    """(bins, low, high), or a list of edges that grow."""

    def __init__(self, given, title):
        self.title = title
        if isinstance(given, tuple) and len(given) == 3:
            self.bins, self.low, self.high, self.edges = int(given[0]), float(given[1]), float(given[2]), None
        else:
            self.edges = numpy.asarray(given, dtype="f8")
            if self.edges.ndim != 1 or len(self.edges) < 2 or not numpy.all(numpy.diff(self.edges) > 0):
                raise ValueError("an axis is (bins, low, high), or a list of edges that grow")
            self.bins, self.low, self.high = len(self.edges) - 1, float(self.edges[0]), float(self.edges[-1])
        if not (0 < self.bins <= CELLS_MAX and numpy.isfinite(self.high - self.low) and self.low < self.high):
            raise ValueError(f"an axis of {self.bins} bins from {self.low} to {self.high} is none")

    def find(self, values):
        """The bin of each, from 0, the underflow, to bins + 1, the overflow; what is no number is in the overflow."""
        if self.edges is not None:
            return numpy.searchsorted(self.edges, values, side="right")
        below, above = values < self.low, ~(values < self.high)
        inside = numpy.where(below | above, self.low, values)
        place = numpy.minimum((self.bins * ((inside - self.low) / (self.high - self.low))).astype("i8"), self.bins - 1) + 1
        return numpy.where(below, 0, numpy.where(above, self.bins + 1, place))

    def inside(self, bins):
        return (bins > 0) & (bins <= self.bins)

    def encoded(self):
        edges = [] if self.edges is None else self.edges
        return struct.pack("<2I2d", self.bins, len(edges), self.low, self.high) + numpy.asarray(edges, dtype="<f8").tobytes()


def text(value):
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def split_titles(name, titles, axes):
    """"title;x;y;z": title, one for each of the axes, and that of the values."""
    title, *others = [*titles.split(";"), "", "", ""][:4]
    if any(len(one.encode()) > TITLE_MAX for one in (title, *others)):
        raise ValueError(f"a title of {name} is longer than {TITLE_MAX} bytes")
    return title, others[:axes], others[axes]


def encoded_histogram(histogram, contents, squares):
    """`contents` and `squares` (or None) along x first; the rest as the histogram has it."""
    x, y = histogram.axes[0], histogram.axes[1] if len(histogram.axes) == 2 else None
    parts = [text(histogram.name), text(histogram.title), text(x.title), text(y.title if y else ""), text(histogram.value_title),
             x.encoded(), y.encoded() if y else struct.pack("<2I2d", 0, 0, 0, 0), struct.pack("<d", histogram.entries),
             histogram.sums.astype("<f8").tobytes(), struct.pack("<I", squares is not None), contents.astype("<f8").tobytes()]
    if squares is not None:
        parts.append(squares.astype("<f8").tobytes())
    return b"".join(parts)


class Histogram:
    """Of one or two axes. fill(x, weight=1), or fill(x, y, weight=1): numbers, or arrays of the same length."""

    def __init__(self, name, titles, axes):
        self.name = name
        self.title, of_axes, self.value_title = split_titles(name, titles, len(axes))
        self.axes = [Axis(axis, title) for axis, title in zip(axes, of_axes)]
        self.cells = 1
        for axis in self.axes:
            self.cells *= axis.bins + 2
        if self.cells > CELLS_MAX:
            raise ValueError(f"{name} has {self.cells} bins; {CELLS_MAX} are allowed")
        self.contents, self.squares = numpy.zeros(self.cells), None
        self.entries, self.sums = 0.0, numpy.zeros(7)

    def fill(self, *values, weight=1):
        if len(values) == len(self.axes) + 1:
            *values, weight = values
        if len(values) != len(self.axes):
            raise TypeError(f"{self.name} has {len(self.axes)} axes, and fill was given {len(values)} values")
        values = [numpy.atleast_1d(numpy.asarray(value, dtype="f8")).ravel() for value in values]
        weights = numpy.broadcast_to(numpy.asarray(weight, dtype="f8"), values[0].shape)
        places = [axis.find(value) for axis, value in zip(self.axes, values)]
        cells = places[0] if len(places) == 1 else places[0] + (self.axes[0].bins + 2) * places[1]
        if self.squares is None and numpy.any(weights != 1):
            self.squares = numpy.abs(self.contents)
        self.contents += numpy.bincount(cells, weights, self.cells)
        if self.squares is not None:
            self.squares += numpy.bincount(cells, weights * weights, self.cells)
        self.entries += len(values[0])
        inside = self.axes[0].inside(places[0])
        if len(places) == 2:
            inside = inside & self.axes[1].inside(places[1])
        w, x = weights[inside], values[0][inside]
        self.sums[:4] += w.sum(), (w * w).sum(), (w * x).sum(), (w * x * x).sum()
        if len(places) == 2:
            y = values[1][inside]
            self.sums[4:] += (w * y).sum(), (w * y * y).sum(), (w * x * y).sum()

    def encoded(self):
        return encoded_histogram(self, self.contents, self.squares)


class BoostHistogram:
    """One of boost_histogram, which its author fills. Entries are its sum, mean and rms those of the bins' middles."""

    def __init__(self, name, titles, histogram):
        if not 1 <= histogram.ndim <= 2 or not all(axis.traits.underflow and axis.traits.overflow and axis.traits.continuous for axis in histogram.axes):
            raise ValueError(f"{name} has other axes than one or two of numbers, with under- and overflow")
        self.name, self._histogram = name, histogram
        self.title, of_axes, self.value_title = split_titles(name, titles, histogram.ndim)
        self.axes = [Axis(list(axis.edges), title) for axis, title in zip(histogram.axes, of_axes)]
        self.cells = histogram.size
        if self.cells > CELLS_MAX:
            raise ValueError(f"{name} has {self.cells} bins; {CELLS_MAX} are allowed")
        self._parts()

    def _parts(self):
        """Contents, and the squares of the weights or None, each of them x by y."""
        view = self._histogram.view(flow=True)
        names = view.dtype.names
        if names is None:
            return view.astype("f8"), None
        if "value" not in names or "variance" not in names or "count" in names:
            raise ValueError(f"{self.name} has another storage than numbers or weights")
        return numpy.asarray(view["value"]), numpy.asarray(view["variance"])

    @property
    def entries(self):
        return float(self._parts()[0].sum())

    def encoded(self):
        contents, squares = self._parts()
        inside = tuple(slice(1, -1) for _ in self.axes)
        w, w2 = contents[inside], (contents if squares is None else squares)[inside]
        middles = numpy.meshgrid(*((axis.edges[1:] + axis.edges[:-1]) / 2 for axis in self.axes), indexing="ij")
        x, y = middles[0], middles[1] if len(middles) == 2 else 0 * middles[0]
        self.sums = numpy.array([w.sum(), w2.sum(), (w * x).sum(), (w * x * x).sum(), (w * y).sum(), (w * y * y).sum(), (w * x * y).sum()])
        return encoded_histogram(self, contents.T.ravel(), None if squares is None else squares.T.ravel())


class Counter:
    def __init__(self):
        self.value = 0.0

    def add(self, much=1):
        self.value += much


class Book:
    """Where begin_run makes histograms and counters."""

    def __init__(self, run_number):
        self.run = run_number
        self._histograms, self._counters, self._cells = {}, {}, 0

    def histogram(self, name, titles, x, y=None):
        """`titles`: "title;x title;y title"; an axis: (bins, low, high), or a list of edges."""
        self._check(name, self._histograms)
        return self._keep(Histogram(name, titles, [x] if y is None else [x, y]))

    def add(self, name, titles, histogram):
        """A histogram of boost_histogram, which its author goes on filling. Returns it."""
        self._check(name, self._histograms)
        self._keep(BoostHistogram(name, titles, histogram))
        return histogram

    def _keep(self, made):
        self._cells += made.cells
        if self._cells > ALL_CELLS_MAX:
            raise ValueError(f"the histograms have more than {ALL_CELLS_MAX} bins together")
        self._histograms[made.name] = made
        return made

    def counter(self, name):
        self._check(name, self._counters)
        return self._counters.setdefault(name, Counter())

    @staticmethod
    def _check(name, others):
        if not name or len(name.encode()) > NAME_MAX or any(c < " " or c in "/;\x7f" for c in name):
            raise ValueError(f"{name!r} is no name: 1 to {NAME_MAX} bytes without control characters, / and ;")
        if name in others:
            raise ValueError(f"there is another {name!r}")
        if len(others) == HISTOGRAMS_MAX:
            raise ValueError(f"there are {HISTOGRAMS_MAX} already")


class MonitorWorker(PlugInWorker):
    def __init__(self, station, module):
        super().__init__(station, module)
        self._see = module.see
        self._poll = lambda out: None  # so that what was filled is looked at now and then
        self._book, self._sent, self._sent_counters, self._sent_at = None, {}, None, 0.0

    def _call_begin_run(self, run_number, words):
        self._book, self._sent, self._sent_counters, self._sent_at = Book(run_number), {}, None, 0.0
        if self._begin_run:
            self._begin_run(self._book)

    def _call_poll(self):
        if time.monotonic() - self._sent_at >= SENT_EVERY:
            self._send_changed()

    def _call_end_run(self):
        try:
            if self._end_run:
                self._end_run()
        finally:
            self._send_changed()

    def _take(self, kind, body):
        if kind != EVENT or self._book is None:
            return False
        event = Event(body)
        self._guarded(SEE, event.level1_id, self._see, event)
        self._answer(SEEN)
        return True

    def _send_changed(self):
        for name, histogram in self._book._histograms.items():
            if self._sent.get(name) != histogram.entries:
                self._sent[name] = histogram.entries
                self._answer(HISTOGRAM, histogram.encoded())
        counters = [(name, float(counter.value)) for name, counter in self._book._counters.items()]
        if counters != self._sent_counters:
            self._sent_counters = counters
            self._answer(COUNTERS, struct.pack("<I", len(counters)) + b"".join(text(name) + struct.pack("<d", value) for name, value in counters))
        self._sent_at = time.monotonic()


if __name__ == "__main__":
    try:
        import numpy
    except ImportError as error:
        from weir_worker import FAILED, LOAD, Station
        Station().send(FAILED, struct.pack("<II", LOAD, 0) + reason(error))
        raise SystemExit(1)
    run(MonitorWorker, "weir monitor", "no see(event)", "see")
