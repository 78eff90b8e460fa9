# SPDX-License-Identifier: Apache-2.0
"""Events to a recorder, fragments to a readout, triggers to a supervisor.

A sender keeps what it was given until it has an answer, and sends it again after a lost connection. Each record (an event, a fragment, a
trigger) has a number, from 1 on, and ends once: taken, or not, with the reason. `close()` and the end of the program do not wait for
answers; leaving a `with` block does.

Calls may come from any thread, and other Python threads run while one waits. Ctrl-C ends a wait.
"""
from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Optional, Protocol, Sequence, Tuple, TypeVar, Union

from . import _weir
from ._weir import SendError

__all__ = ["FragmentSender", "NotTaken", "SendError", "Sender", "SenderStats", "TriggerSender"]

_Path = Union[str, "os.PathLike[str]"]
_Tls = Optional[Tuple[_Path, _Path, _Path]]
_OnEnded = Optional[Callable[[int, int, Optional[str]], object]]
_OnState = Optional[Callable[[str, str], object]]
_Words = Union[Sequence[int], "_weir._Buffer"]
_Self = TypeVar("_Self", bound="_Sending")

KINDS = {"data": 0, "rod": 1, "rob": 2}


class NotTaken(SendError):
    """What left a `with` block was not all taken. `rejected` has the number of records for each reason."""

    def __init__(self, text: str, rejected: dict[str, int]) -> None:
        super().__init__(text)
        self.rejected = rejected


@dataclass(frozen=True)
class SenderStats:
    """sent = taken + the sum of rejected + open."""

    sent: int  #: records that send() took
    taken: int  #: events: on stable storage; fragments and triggers: in the buffers of the station
    rejected: dict[str, int]  #: the others that have ended: {reason: records}
    open: int  #: without an answer; after close(): what became of them is not known
    waits: int  #: calls that found no room
    reconnects: int  #: connections after the first
    state: str  #: "connecting", "connected" or "failed"
    last_problem: str  #: of the connection; empty when there was none


class _Core(Protocol):
    def flush(self, timeout: float | None) -> bool: ...
    def run(self, timeout: float | None) -> int | None: ...
    def close(self) -> None: ...
    def stats(self) -> tuple[int, int, dict[str, int], int, int, int, str, bytes]: ...


class _Sending:
    """What all senders have."""

    _what = "records"

    def _begin(self, core: _Core, host: str, close_timeout: float | None, reported: bool) -> None:
        self._any_core = core
        self._host = host
        self._close_timeout = close_timeout
        self._reported = reported
        # Also at the end of the program, while Python's threads can still be waited for.
        self._closing = weakref.finalize(self, core.close)

    def flush(self, timeout: float | None = None) -> bool:
        """Waits at most `timeout` seconds (None: as long as it takes) until every record has ended and `on_ended` was called for each: True.

        False: the time is over. SendError: the sender has failed with records that have not ended.
        """
        return self._any_core.flush(timeout)

    def run(self, timeout: float | None = None) -> int | None:
        """The number of the run that is sent to, once a connection has named it; None when it was not named within `timeout` seconds."""
        return self._any_core.run(timeout)

    def stats(self) -> SenderStats:
        """Numbers of records until now."""
        sent, taken, rejected, open, waits, reconnects, state, problem = self._any_core.stats()
        return SenderStats(sent, taken, rejected, open, waits, reconnects, state, problem.decode(errors="replace"))

    def close(self) -> None:
        """Ends the connection; does not wait for answers: call flush() before. Every later call but stats() is a SendError."""
        self._any_core.close()
        self._closing.detach()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Waits for answers, at most `close_timeout` seconds, and closes. TimeoutError: there are not all; NotTaken: some were not taken, and there
        is no `on_ended` to say so. After an exception in the block, or close(), there is nothing to wait for."""
        if kind is not None or not self._closing.alive:
            self.close()
            return
        try:
            answered = self.flush(self._close_timeout)
        finally:
            self.close()
        stats = self.stats()
        if not answered:
            raise TimeoutError(f"{stats.open} of {stats.sent} {self._what} have no answer of {self._host} within {self._close_timeout:g} s{_why(stats)}; "
                               "whether they were taken is not known")
        if stats.rejected and not self._reported:
            reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(stats.rejected.items()))
            raise NotTaken(f"{stats.sent - stats.taken} of {stats.sent} {self._what} were not taken by {self._host}: {reasons}; "
                           "weir's log says why (a sender with on_ended=... is called for each)", dict(stats.rejected))

    def __repr__(self) -> str:
        return f"<weir.{type(self).__name__} to {self._host}>"

    def _sent(self, number: int | None, timeout: float | None) -> int:
        if number is not None:
            return number
        raise TimeoutError(f"{self._host} had no room for {timeout:g} s{_why(self.stats())}")


def _why(stats: SenderStats) -> str:
    if stats.state == "connected":
        return ": its buffers are full"
    return f": no connection{f' ({stats.last_problem})' if stats.last_problem else ''}"


def _explained(error: TypeError, **numbers: tuple[Any, int, int]) -> Exception:
    """Which number does not fit, when it is that."""
    for name, (value, least, most) in numbers.items():
        try:
            number = value.__index__()
        except AttributeError:
            return TypeError(f"{name} is a whole number, not {value!r}")
        if not least <= number <= most:
            return ValueError(f"{name} is a number from {least:#x} to {most:#x}, not {number:#x}")
    return error


def _named(what: str, words: Any) -> dict[str, tuple[Any, int, int]]:
    return {f"{what} {i}": (word, *_U32) for i, word in enumerate(words)}


def _files(tls: _Tls) -> list[str] | None:
    return None if tls is None else [os.fspath(file) for file in tls]


_U32 = (0, 0xFFFFFFFF)
_U64 = (0, 0xFFFFFFFFFFFFFFFF)
_I64 = (-(1 << 63), (1 << 63) - 1)


class Sender(_Sending):
    """Sends whole events to a recorder. An event that is taken is in its files and in the journal, and both were synced.

    host: "recorder:9000".
    name: of this sender, one of its kind; letters, digits and -_.:
    run: its number; None: the run that is being recorded, or the next.
    format: of the payloads: "event-5.0", "event-3.0" or "opaque" (any bytes).
    window_bytes, window_events: that are kept without an answer, at most; 0: 256 MiB, 16384.
    give_up_after: seconds without a connection, after which calls fail; None: never.
    tls: PEM files for mutual TLS: (certificate, key, certificate of the authority).
    on_ended(first, last, reason): these events have ended; reason None: taken, else a text, such as "no_tags".
    on_state(state, why): "connecting" (also for each attempt that fails), "connected" or "failed".
    close_timeout: seconds that leaving a `with` block waits for answers; None: as long as it takes.

    Callbacks come from a thread of the sender, which they must not hold up, and in which they cannot call it. What they raise goes to
    sys.unraisablehook.
    """

    _what = "events"

    def __init__(self, host: str, name: str, *, run: int | None = None, format: str = "opaque", window_bytes: int = 0, window_events: int = 0,
                 give_up_after: float | None = None, tls: _Tls = None, on_ended: _OnEnded = None, on_state: _OnState = None,
                 close_timeout: float | None = None) -> None:
        try:
            self._core = _weir._EventCore(host, name, run, window_bytes, give_up_after, _files(tls), on_ended, on_state, window_events, format)
        except TypeError as error:
            raise _explained(error, run=(run or 0, *_U32), window_bytes=(window_bytes, *_U64), window_events=(window_events, *_U32)) from None
        self._begin(self._core, host, close_timeout, on_ended is not None)

    def send(self, payload: _weir._Data | Sequence[_weir._Data], global_id: int, streams: str | Sequence[str], *, level1_id: int = 0,
             lumi_block: int = 0, copy: bool | None = None, timeout: float | None = None) -> int:
        """Keeps an event and sends it; waits at most `timeout` seconds (None: as long as it takes) while the window is full. The event's number.

        payload: bytes, memoryview, a contiguous NumPy array, ..., or a list of such, which are sent one behind the other.
        global_id: of the event in its run, 64 bits; the recorder takes each once.
        streams: "physics_Main", or several; the whole event goes to each.
        copy: None: what can be written to is copied, all else is not. False: nothing is; the bytes must not change before the event has
            ended, and bytearrays cannot be resized until a later call of the sender. True: all is.

        ValueError: the event cannot be sent. TimeoutError: there was no room. SendError: the sender has failed for good.
        """
        number = self._try(payload, global_id, streams, level1_id, lumi_block, copy, timeout)
        return self._sent(number, timeout)

    def try_send(self, payload: _weir._Data | Sequence[_weir._Data], global_id: int, streams: str | Sequence[str], *, level1_id: int = 0,
                 lumi_block: int = 0, copy: bool | None = None) -> int | None:
        """As send(), with None instead of waiting."""
        return self._try(payload, global_id, streams, level1_id, lumi_block, copy, 0)

    def _try(self, payload: Any, global_id: int, streams: str | Sequence[str], level1_id: int, lumi_block: int, copy: bool | None,
             timeout: float | None) -> int | None:
        names = [streams] if isinstance(streams, str) else list(streams)
        try:
            return self._core.send(payload, global_id, names, level1_id, lumi_block, copy, timeout)
        except TypeError as error:
            raise _explained(error, global_id=(global_id, *_U64), level1_id=(level1_id, *_U32), lumi_block=(lumi_block, *_U32)) from None


class FragmentSender(_Sending):
    """Sends fragments of one or several sources to the `input` of a readout. A fragment that is taken is in its buffers.

    host: "ros-1:9100". The other arguments are those of Sender. Where no run goes on the sender waits for the next; a run ends for its
    senders: then calls are a SendError, and the next run wants a new sender. Fragments travel in blocks of 64 KiB; one that is alone for 1 ms
    is sent as it is.
    """

    _what = "fragments"

    def __init__(self, host: str, name: str, *, run: int | None = None, window_bytes: int = 0, give_up_after: float | None = None,
                 tls: _Tls = None, on_ended: _OnEnded = None, on_state: _OnState = None, close_timeout: float | None = None) -> None:
        try:
            self._core = _weir._FragmentCore(host, name, run, window_bytes, give_up_after, _files(tls), on_ended, on_state)
        except TypeError as error:
            raise _explained(error, run=(run or 0, *_U32), window_bytes=(window_bytes, *_U64)) from None
        self._begin(self._core, host, close_timeout, on_ended is not None)

    def send(self, source: int, level1_id: int | None, payload: _weir._Data, *, time_ns: int | None = None, status_words: _Words = (),
             kind: str = "data", timeout: float | None = None) -> int:
        """Copies a fragment and sends it; waits at most `timeout` seconds (None: as long as it takes) while the readout has no room: that is
        the board's busy. The fragment's number.

        source: 0x420000, one of the readout's.
        level1_id: as the source counts; None for a ROD or ROB that has it inside, or for a readout that matches by time_ns.
        payload: any bytes: bytes, memoryview, a contiguous NumPy array, ...
        time_ns: of the trigger by the board's own clock, in nanoseconds.
        status_words: up to 64 words of 32 bits; for kind "data" only.
        kind: "data": the readout makes a ROD and a ROB around it; "rod", "rob": the payload is a whole fragment of that kind.

        ValueError: the fragment cannot be sent. TimeoutError: there was no room. SendError: the sender has failed for good.
        """
        return self._sent(self._try(source, level1_id, payload, time_ns, status_words, kind, timeout), timeout)

    def try_send(self, source: int, level1_id: int | None, payload: _weir._Data, *, time_ns: int | None = None,
                 status_words: _Words = (), kind: str = "data") -> int | None:
        """As send(), with None instead of waiting: busy."""
        return self._try(source, level1_id, payload, time_ns, status_words, kind, 0)

    def busy(self) -> bool:
        """A fragment as large as the last one would have to wait now."""
        return self._core.busy()

    def _try(self, source: int, level1_id: int | None, payload: Any, time_ns: int | None, status_words: _Words, kind: str,
             timeout: float | None) -> int | None:
        if kind not in KINDS:
            raise ValueError(f"the kind of a fragment is data, rod or rob, not {kind!r}")
        try:
            return self._core.send(source, level1_id, payload, time_ns, status_words, KINDS[kind], timeout)
        except TypeError as error:
            raise _explained(error, source=(source, *_U32), level1_id=(level1_id or 0, *_U32), time_ns=(time_ns or 0, *_I64),
                             **_named("status word", status_words)) from None


class TriggerSender(_Sending):
    """Sends triggers to the supervisor of a partition. A trigger is taken when its event is made.

    host: "supervisor:9200". The other arguments are those of Sender; the run as for FragmentSender.
    """

    _what = "triggers"

    def __init__(self, host: str, name: str, *, run: int | None = None, window_bytes: int = 0, give_up_after: float | None = None,
                 tls: _Tls = None, on_ended: _OnEnded = None, on_state: _OnState = None, close_timeout: float | None = None) -> None:
        try:
            self._core = _weir._TriggerCore(host, name, run, window_bytes, give_up_after, _files(tls), on_ended, on_state)
        except TypeError as error:
            raise _explained(error, run=(run or 0, *_U32), window_bytes=(window_bytes, *_U64)) from None
        self._begin(self._core, host, close_timeout, on_ended is not None)

    def send(self, level1_id: int, time_ns: int = 0, *, type: int = 0, bunch_crossing: int = 0, words: _Words = (),
             timeout: float | None = None) -> int:
        """Copies a trigger and sends it; waits at most `timeout` seconds (None: as long as it takes) while there is no room. The trigger's number.

        time_ns: nanoseconds since 1970, or of the trigger unit's clock.
        words: up to 256 words of 32 bits.

        ValueError: the trigger cannot be sent. TimeoutError: there was no room. SendError: the sender has failed for good.
        """
        return self._sent(self._try(level1_id, time_ns, type, bunch_crossing, words, timeout), timeout)

    def try_send(self, level1_id: int, time_ns: int = 0, *, type: int = 0, bunch_crossing: int = 0, words: _Words = ()) -> int | None:
        """As send(), with None instead of waiting: busy."""
        return self._try(level1_id, time_ns, type, bunch_crossing, words, 0)

    def busy(self) -> bool:
        """A trigger as large as the last one would have to wait now."""
        return self._core.busy()

    def _try(self, level1_id: int, time_ns: int, type: int, bunch_crossing: int, words: _Words, timeout: float | None) -> int | None:
        try:
            return self._core.send(level1_id, time_ns, type, bunch_crossing, words, timeout)
        except TypeError as error:
            raise _explained(error, level1_id=(level1_id, *_U32), time_ns=(time_ns, *_I64), type=(type, *_U32),
                             bunch_crossing=(bunch_crossing, *_U32),
                             **_named("word", words)) from None
