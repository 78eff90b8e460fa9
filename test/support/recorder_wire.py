# SPDX-License-Identifier: Apache-2.0
"""A sender of a page, after docs/formats/delivery-protocol.md and nothing else: it can do wrong what the real one cannot."""
import socket
import struct

MAGIC = b"WEIR"
HELLO, WELCOME, EVENT, ACK, REJECT, BYE, ALIVE = range(1, 8)
OPAQUE = 3
TOO_LARGE, NO_TAGS = 4, 5  # why an event is rejected
MALFORMED, UNSUPPORTED_VERSION, REPLACED, WRONG_RUN = 3, 4, 7, 8  # the reasons of a BYE


def _crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def header(kind, meta=b"", payload_size=0, *, magic=MAGIC, version=1, flags=0, meta_size=None, crc=None):
    head = magic + struct.pack("<BBHIQ", version, kind, flags, len(meta) if meta_size is None else meta_size, payload_size)
    return head + struct.pack("<I", crc32c(head + meta) if crc is None else crc)


def hello(run, name=b"test", incarnation=1, connection=0, form=OPAQUE, oldest=1, protocol=2):
    meta = struct.pack("<HBxIQIHxxQ", protocol, form, connection, incarnation, run, len(name), oldest) + name
    return header(HELLO, meta) + meta


def event(sequence, payload, *, size=None, id=None, tag=(b"calibration", b"Test"), oldest=1, tags=None, block=None):
    """Header, meta and payload; `size` is another length of payload than comes; no `tag`: it names no stream. `tags`
    instead of one; with a `block` they obey lumi blocks."""
    tags = tags or ([tag] if tag else [])
    meta = struct.pack("<QQQIIIHxx", sequence, oldest, sequence if id is None else id, sequence, block or 0, crc32c(payload),
                       len(tags))
    for kind, name in tags:
        meta += struct.pack("<BBBxHH", len(kind), len(name), 0 if block is None else 1, 0, 0) + kind + name
    return header(EVENT, meta, len(payload) if size is None else size) + meta + payload


def instance_and_name(welcome):
    """The recorder's instance and name in the meta of a WELCOME."""
    protocol, ranges = struct.unpack_from("<H2xI", welcome)
    assert protocol == 2, protocol
    _, _, instance, size = struct.unpack_from("<IIQH", welcome, 32 + 16 * ranges)
    begin = 32 + 16 * ranges + 20
    return instance, welcome[begin:begin + size]


class Closed(Exception):
    """The other side closed the connection."""


class Peer:
    """A connection to a recorder on this machine."""

    def __init__(self, port, timeout=120):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.name = "127.0.0.1:%d" % self.socket.getsockname()[1]

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """Type and meta of the next message; ALIVE is passed over, it comes at any time."""
        while True:
            kind, meta = self._receive_any()
            if kind != ALIVE:
                return kind, meta

    def _receive_any(self):
        head = self._exactly(24)
        assert head[:4] == MAGIC, head
        kind, meta_size = head[5], struct.unpack_from("<I", head, 8)[0]
        meta = self._exactly(meta_size)
        assert struct.unpack_from("<I", head, 20)[0] == crc32c(head[:20] + meta)
        return kind, meta

    def receive_only(self, kind):
        """The next message of a type; what comes before it is passed over."""
        while True:
            got, meta = self.receive()
            if got == kind:
                return meta

    def receive_acknowledgement_of(self, sequence):
        while struct.unpack_from("<Q", self.receive_only(ACK), 8)[0] < sequence:
            pass

    def receive_bye(self):
        """The reason of a BYE and its text; then the connection ends."""
        meta = self.receive_only(BYE)
        reason, size = struct.unpack_from("<HH", meta)
        self.expect_end()
        return reason, meta[4:4 + size].decode()

    def expect_end_after_bye(self):
        """Whatever still comes, the connection ends."""
        try:
            while True:
                self.receive()
        except Closed:
            return

    def expect_end(self):
        try:
            self.receive()
        except Closed:
            return
        raise AssertionError("the connection is still open")

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionResetError as error:
                raise Closed from error
            if not part:
                raise Closed
            data += part
        return data

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
