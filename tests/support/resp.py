"""A client that hides nothing: it sends exact bytes and returns each reply as exact bytes.

`Wire` finds the end of a reply and nothing more, so that tests compare what is on the wire.
`decode` turns a raw reply into Python values for tests that care about content only.
"""

from __future__ import annotations

import socket
import time
from types import TracebackType
from typing import Final, Self, TypeAlias

__all__ = ["Desync", "ErrorText", "Value", "Wire", "decode", "encode"]

CONNECT_S: Final = 5.0
# Long enough for a noisy machine, short enough that a hung server is noticed by a test.
REPLY_S: Final = 10.0
CHUNK: Final = 1 << 16

LINES: Final = frozenset(b"+-:_,#(")
BLOBS: Final = frozenset(b"$!=")
ARRAYS: Final = frozenset(b"*~>")
MAPS: Final = frozenset(b"%|")

Value: TypeAlias = "bytes | int | float | bool | ErrorText | list[Value] | None"


class Desync(AssertionError):
    """The conversation cannot continue: no reply, half a reply, or a closed connection."""


class ErrorText(str):
    """An error reply, without its dash."""

    __slots__ = ()


class Wire:
    """One connection to a server on loopback."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=CONNECT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    @property
    def address(self) -> str:
        """This end of the connection, as the server lists it."""
        host, port = self.socket.getsockname()
        return f"{host}:{port}"

    def send(self, *arguments: bytes | str | int) -> None:
        """Send one request as an array of bulk strings."""
        self.send_raw(encode(*arguments))

    def send_raw(self, raw: bytes) -> None:
        """Send bytes as they are."""
        self.socket.settimeout(REPLY_S)
        self.socket.sendall(raw)

    def ask(self, *arguments: bytes | str | int, timeout_s: float = REPLY_S) -> bytes:
        """Send one request and return the raw reply."""
        self.send(*arguments)
        return self.read_reply(timeout_s)

    def value(self, *arguments: bytes | str | int, timeout_s: float = REPLY_S) -> Value:
        """Send one request and return the decoded reply."""
        return decode(self.ask(*arguments, timeout_s=timeout_s))

    def integer(self, *arguments: bytes | str | int) -> int:
        """Send one request whose reply must be an integer."""
        value = self.value(*arguments)
        assert isinstance(value, int), value
        return value

    def text(self, *arguments: bytes | str | int) -> str:
        """Send one request whose reply must be a string."""
        value = self.value(*arguments)
        assert isinstance(value, bytes), value
        return value.decode()

    def items(self, *arguments: bytes | str | int) -> list[Value]:
        """Send one request whose reply must be an array."""
        value = self.value(*arguments)
        assert isinstance(value, list), value
        return value

    def fields(self, *arguments: bytes | str | int) -> dict[str, Value]:
        """Send one request whose reply is a flat array of names and values."""
        flat = self.items(*arguments)
        names = [name.decode() for name in flat[::2] if isinstance(name, bytes)]
        return dict(zip(names, flat[1::2], strict=True))

    def add(self, queue: str, body: bytes | str = b"body", *options: str | int) -> str:
        """ADDJOB, returning the id."""
        reply = self.ask("ADDJOB", queue, body, 0, *options)
        assert reply.startswith(b"+D-"), reply
        return reply[1:-2].decode()

    def get(self, *queues: str, options: tuple[str | int, ...] = ()) -> list[str]:
        """GETJOB, returning the ids it delivered."""
        return ids_of(self.value("GETJOB", *options, "FROM", *queues))

    def read_reply(self, timeout_s: float = REPLY_S) -> bytes:
        """Return exactly one complete reply."""
        deadline = time.monotonic() + timeout_s
        position = 0
        pending = 1
        while pending:
            pending -= 1
            line, position = self._line(position, deadline)
            kind = line[0]
            if kind in LINES:
                continue
            length = int(line[1:])
            if kind in BLOBS:
                if length >= 0:
                    self._fill(position + length + 2, deadline)
                    position += length + 2
            elif kind in ARRAYS:
                pending += max(length, 0)
            elif kind in MAPS:
                # An attribute precedes the value it describes.
                pending += 2 * length + (kind == ord("|"))
            else:
                raise Desync(f"not a reply: {line[:80]!r}")
        raw = bytes(self.buffer[:position])
        del self.buffer[:position]
        return raw

    def read_eof(self, timeout_s: float = REPLY_S) -> None:
        """Wait until the server closes the connection, without another byte."""
        if self.buffer:
            raise Desync(f"expected the connection to close, have {bytes(self.buffer[:200])!r}")
        self.socket.settimeout(timeout_s)
        try:
            chunk = self.socket.recv(CHUNK)
        except ConnectionResetError:
            return
        except TimeoutError:
            raise Desync(f"still connected after {timeout_s} s") from None
        if chunk:
            self.buffer += chunk
            raise Desync(f"expected the connection to close, got {chunk[:200]!r}")

    def drain_until_eof(self, timeout_s: float = REPLY_S) -> int:
        """Read and count whatever still comes until the server closes the connection."""
        deadline = time.monotonic() + timeout_s
        count = len(self.buffer)
        while True:
            self.socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                chunk = self.socket.recv(CHUNK)
            except ConnectionResetError:
                return count
            except TimeoutError:
                raise Desync(f"still connected after {timeout_s} s") from None
            if not chunk:
                return count
            count += len(chunk)

    def assert_silent(self, duration_ms: int) -> None:
        """Fail if anything arrives within that many milliseconds."""
        if not self.buffer:
            self.socket.settimeout(duration_ms / 1000)
            try:
                chunk = self.socket.recv(CHUNK)
            except TimeoutError:
                return
            if not chunk:
                raise Desync("expected silence, the connection was closed")
            self.buffer += chunk
        raise AssertionError(f"expected silence, got {bytes(self.buffer[:200])!r}")

    def _line(self, position: int, deadline: float) -> tuple[bytes, int]:
        """Return the line at `position` without its end, and where the next one starts."""
        start = position
        while (end := self.buffer.find(b"\r\n", start)) < 0:
            start = max(position, len(self.buffer) - 1)
            self._receive(deadline)
        if end == position:
            raise Desync(f"an empty line is not a reply: {bytes(self.buffer[:80])!r}")
        return bytes(self.buffer[position:end]), end + 2

    def _fill(self, size: int, deadline: float) -> None:
        while len(self.buffer) < size:
            self._receive(deadline)

    def _receive(self, deadline: float) -> None:
        self.socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            chunk = self.socket.recv(CHUNK)
        except TimeoutError:
            raise Desync(f"no complete reply in time, have {bytes(self.buffer[:80])!r}") from None
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            raise Desync(f"connection closed, have {bytes(self.buffer[:80])!r}")
        self.buffer += chunk


def encode(*arguments: bytes | str | int) -> bytes:
    """Frame a request as an array of bulk strings."""
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        if isinstance(argument, int):
            data = b"%d" % argument
        elif isinstance(argument, str):
            data = argument.encode()
        else:
            data = argument
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def decode(raw: bytes) -> Value:
    """Turn one complete raw reply into Python values; maps become flat lists."""
    value, end = _decode_at(raw, 0)
    assert end == len(raw), raw[end:]
    return value


def ids_of(value: Value) -> list[str]:
    """Return the ids of the jobs in a decoded GETJOB or QPEEK reply."""
    if value is None:
        return []
    assert isinstance(value, list), value
    ids = []
    for job in value:
        assert isinstance(job, list), job
        id = job[1]
        assert isinstance(id, bytes), id
        ids.append(id.decode())
    return ids


def _decode_at(raw: bytes, position: int) -> tuple[Value, int]:
    end = raw.index(b"\r\n", position)
    kind, rest = raw[position], raw[position + 1 : end]
    if kind in LINES:
        return _scalar(kind, rest), end + 2
    length = int(rest)
    if length < 0:
        return None, end + 2
    if kind in BLOBS:
        start = end + 2
        return raw[start : start + length], start + length + 2
    items: list[Value] = []
    position = end + 2
    for _ in range(length * 2 if kind in MAPS else length):
        item, position = _decode_at(raw, position)
        items.append(item)
    return items, position


def _scalar(kind: int, rest: bytes) -> Value:
    if kind == ord("+"):
        return rest
    if kind == ord("-"):
        return ErrorText(rest.decode())
    if kind == ord("_"):
        return None
    if kind == ord("#"):
        return rest == b"t"
    if kind == ord(","):
        return float(rest)
    return int(rest)
