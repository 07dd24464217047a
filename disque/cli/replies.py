"""Replies as the server sent them, for people to look at.

A client library may forget how a reply was framed; a command line client shows it. So simple
strings and errors keep their own types here (both are bytes), while bulk strings are plain bytes,
nil of either kind is None and arrays are lists. The types of RESP3 are understood as well,
because `HELLO 3` can be typed at the prompt: maps and sets arrive as flat lists.

`ReplyReader` is fed with whatever the socket gives and hands out complete replies. It keeps its
place between calls, so a large reply that comes in many pieces is parsed once.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

__all__ = [
    "INCOMPLETE",
    "ErrorReply",
    "Incomplete",
    "MalformedReplyError",
    "Reply",
    "ReplyReader",
    "SimpleString",
]

# No reply of the server is deeper than four; formatting recurses, so hostile input is cut here.
DEPTH_MAX: Final = 32

# Below this the consumed front of the buffer is not worth moving the rest.
COMPACT_BYTES: Final = 65536


@final
class SimpleString(bytes):
    """A reply of the kind `+OK`."""

    __slots__ = ()


@final
class ErrorReply(bytes):
    """A reply of the kind `-ERR text`, without the dash."""

    __slots__ = ()


@final
class Incomplete:
    """The type of INCOMPLETE."""

    __slots__ = ()


Reply: TypeAlias = "bytes | int | float | list[Reply] | None"

INCOMPLETE: Final = Incomplete()


class MalformedReplyError(Exception):
    """The server sent something that is not RESP."""


@final
class ReplyReader:
    """Turn a stream of bytes into replies."""

    __slots__ = ("_buffer", "_open", "_position")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._position = 0
        # Arrays being filled, the outermost first, with the number of items each will have.
        self._open: list[tuple[list[Reply], int]] = []

    def feed(self, received: bytes) -> None:
        """Take what the socket gave."""
        self._buffer += received

    def next(self) -> Reply | Incomplete:
        """Hand out the next complete reply, or INCOMPLETE."""
        while True:
            value = self._value()
            if isinstance(value, Incomplete):
                self._compact()
                return INCOMPLETE
            if isinstance(value, _Header):
                if len(self._open) == DEPTH_MAX:
                    raise MalformedReplyError("reply is nested too deeply")
                if value.items:
                    self._open.append(([], value.items))
                    continue
                value = []
            # Put the value into its array; a full array is itself a value of the next one.
            while self._open:
                items, count = self._open[-1]
                items.append(value)
                if len(items) < count:
                    break
                self._open.pop()
                value = items
            else:
                self._compact()
                return value

    def _value(self) -> Reply | Incomplete | _Header:
        end = self._buffer.find(b"\r\n", self._position)
        if end < 0:
            return INCOMPLETE
        kind = bytes(self._buffer[self._position : self._position + 1])
        line = bytes(self._buffer[self._position + 1 : end])
        if kind in _BULKS:
            return self._bulk(kind, line, end + 2)
        self._position = end + 2
        if kind in _AGGREGATES:
            length = _integer(line)
            return None if length < 0 else _Header(length * (2 if kind == b"%" else 1))
        return _scalar(kind, line)

    def _bulk(self, kind: bytes, line: bytes, start: int) -> Reply | Incomplete:
        length = _integer(line)
        if length < 0:
            self._position = start
            return None
        end = start + length
        if len(self._buffer) < end + 2:
            return INCOMPLETE
        self._position = end + 2
        payload = bytes(self._buffer[start:end])
        if kind == b"!":
            return ErrorReply(payload)
        # A verbatim string starts with its format, as in `txt:`.
        return payload[4:] if kind == b"=" else payload

    def _compact(self) -> None:
        if self._position == len(self._buffer):
            self._buffer.clear()
            self._position = 0
        elif self._position > COMPACT_BYTES:
            del self._buffer[: self._position]
            self._position = 0


@final
class _Header:
    """The announcement of an array."""

    __slots__ = ("items",)

    def __init__(self, items: int) -> None:
        self.items = items


_BULKS: Final = frozenset((b"$", b"!", b"="))
_AGGREGATES: Final = frozenset((b"*", b"%", b"~", b">"))


def _scalar(kind: bytes, line: bytes) -> Reply:
    match kind:
        case b"+":
            return SimpleString(line)
        case b"-":
            return ErrorReply(line)
        case b":" | b"(":
            return _integer(line)
        case b"_":
            return None
        case b",":
            return _double(line)
        case b"#":
            return line == b"t"
        case _:
            raise MalformedReplyError(f"unknown type of reply {kind + line[:20]!r}")


def _integer(line: bytes) -> int:
    try:
        return int(line)
    except ValueError:
        raise MalformedReplyError(f"not a number in a reply: {line[:20]!r}") from None


def _double(line: bytes) -> float:
    try:
        return float(line)
    except ValueError:
        raise MalformedReplyError(f"not a number in a reply: {line[:20]!r}") from None
