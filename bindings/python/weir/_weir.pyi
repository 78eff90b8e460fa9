# SPDX-License-Identifier: Apache-2.0
import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from mmap import mmap
from typing import Any, Protocol, TypeAlias, TypeVar, final

class _Buffer(Protocol):
    """Anything with the buffer protocol; numpy arrays among them."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_Data: TypeAlias = bytes | bytearray | memoryview | array[Any] | mmap | _Buffer
_Value = TypeVar("_Value", int, str, bytes)

__version__: str
algorithms: tuple[str, ...]

def adler32(data: _Data, value: int = 1) -> int: ...
def crc32(data: _Data, value: int = 0) -> int: ...
def crc32c(data: _Data, value: int = 0) -> int: ...
def crc64_xz(data: _Data, value: int = 0) -> int: ...
def crc64_nvme(data: _Data, value: int = 0) -> int: ...
def crc64_ecma182(data: _Data, value: int = 0) -> int: ...
def cksum(data: _Data) -> int: ...
@final
class Hash:
    @property
    def name(self) -> str: ...
    @property
    def digest_size(self) -> int: ...
    @property
    def block_size(self) -> int: ...
    def update(self, data: _Data) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> Hash: ...

def new(name: str, data: _Data = b"") -> Hash: ...
def sums(data: _Data, algorithms: str | Iterable[str]) -> dict[str, str]: ...
def sum(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], algorithms: str | Iterable[str] = "adler32"
) -> dict[str, str]: ...
def combine(name: str, a: _Value, b: _Value, length_b: int, length_a: int | None = None) -> _Value: ...

class SendError(RuntimeError): ...
class ReadError(ValueError): ...

# What weir/reading.py stands on; `file` and `event` are the bytes of one.
def _head(file: _Data) -> tuple[int, int, int, str, dict[str, str]]: ...
def _walk(file: _Data) -> tuple[bytes, int | None, str]: ...
def _event_header(event: _Data, format: str) -> tuple[Any, ...]: ...
def _uncompressed(event: _Data, format: str) -> bytes: ...
def _robs(event: _Data, format: str) -> bytes: ...
def _check(event: _Data, format: str) -> dict[str, int]: ...

# What weir/sending.py stands on.
class _Sending:
    def flush(self, timeout: float | None) -> bool: ...
    def run(self, timeout: float | None) -> int | None: ...
    def close(self) -> None: ...
    def stats(self) -> tuple[int, int, dict[str, int], int, int, int, str, bytes]: ...

class _EventCore(_Sending):
    def __init__(
        self,
        host: str,
        name: str,
        run: int | None,
        window_bytes: int,
        give_up_after: float | None,
        tls: Sequence[str] | None,
        on_ended: Callable[[int, int, str | None], object] | None,
        on_state: Callable[[str, str], object] | None,
        window_events: int,
        format: str,
    ) -> None: ...
    def send(
        self,
        payload: _Data | Sequence[_Data],
        global_id: int,
        streams: Sequence[str],
        level1_id: int,
        lumi_block: int,
        copy: bool | None,
        timeout: float | None,
    ) -> int | None: ...

class _BlockCore(_Sending):
    def __init__(
        self,
        host: str,
        name: str,
        run: int | None,
        window_bytes: int,
        give_up_after: float | None,
        tls: Sequence[str] | None,
        on_ended: Callable[[int, int, str | None], object] | None,
        on_state: Callable[[str, str], object] | None,
    ) -> None: ...
    def busy(self) -> bool: ...

class _FragmentCore(_BlockCore):
    def send(
        self,
        source: int,
        level1_id: int | None,
        payload: _Data,
        time_ns: int | None,
        status_words: Sequence[int] | _Buffer,
        kind: int,
        timeout: float | None,
    ) -> int | None: ...

class _TriggerCore(_BlockCore):
    def send(
        self,
        level1_id: int,
        time_ns: int,
        type: int,
        bunch_crossing: int,
        words: Sequence[int] | _Buffer,
        timeout: float | None,
    ) -> int | None: ...
