r"""Replies: what a client reads, encoded in RESP2, with the few RESP3 shapes that are needed.

Every function turns a value into the complete bytes of a reply, CRLF included, so replies are
nested and sent by joining bytes. Lengths and small integers are written by table: they are most of
what a reply is made of.

    simple   +OK          integer  :3          array   *2 and its parts
    error    -CODE text   bulk     $5 and its bytes    map     %1 and its pairs (RESP3)
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "EMPTY_ARRAY",
    "NIL_ARRAY",
    "NIL_BULK",
    "NULL3",
    "OK",
    "array",
    "array_header",
    "bulk",
    "bulk_header",
    "error",
    "integer",
    "map_header3",
    "simple",
]

OK: Final = b"+OK\r\n"
NIL_BULK: Final = b"$-1\r\n"
NIL_ARRAY: Final = b"*-1\r\n"
EMPTY_ARRAY: Final = b"*0\r\n"
NULL3: Final = b"_\r\n"

CRLF: Final = b"\r\n"
# Numbers below this are looked up: counters, short arrays, ids and small bodies.
TABLE_SIZE: Final = 1_024
INTEGERS: Final = [b":%d\r\n" % number for number in range(TABLE_SIZE)]
BULK_HEADERS: Final = [b"$%d\r\n" % length for length in range(TABLE_SIZE)]
ARRAY_HEADERS: Final = [b"*%d\r\n" % length for length in range(TABLE_SIZE)]


def simple(text: bytes) -> bytes:
    r"""Encode a simple string, which must be one line.

    >>> simple(b"PONG")
    b'+PONG\r\n'
    """
    return b"+%b\r\n" % text


def error(code: str | bytes, sentence: str | bytes) -> bytes:
    r"""Encode an error: a code for machines, then a sentence for people.

    Line ends become spaces, because what a user sent may be quoted in the sentence. Text is
    written one byte per character, so that bytes shown as Latin-1 come out as they came in.

    >>> error("ERR", "unknown command 'a\r\nb'")
    b"-ERR unknown command 'a  b'\r\n"
    """
    line = b"%b %b" % (_raw(code), _raw(sentence))
    return b"-%b\r\n" % line.replace(b"\r", b" ").replace(b"\n", b" ")


def integer(value: int) -> bytes:
    r"""Encode an integer.

    >>> integer(-2)
    b':-2\r\n'
    """
    if 0 <= value < TABLE_SIZE:
        return INTEGERS[value]
    return b":%d\r\n" % value


def bulk(value: bytes) -> bytes:
    r"""Encode a string of any bytes.

    >>> bulk(b"hello")
    b'$5\r\nhello\r\n'
    """
    length = len(value)
    if length < TABLE_SIZE:
        return BULK_HEADERS[length] + value + CRLF
    return b"$%d\r\n%b\r\n" % (length, value)


def array(parts: list[bytes]) -> bytes:
    r"""Encode an array of replies that are encoded already.

    >>> array([integer(1), bulk(b"a")])
    b'*2\r\n:1\r\n$1\r\na\r\n'
    """
    return array_header(len(parts)) + b"".join(parts)


def array_header(length: int) -> bytes:
    """Open an array: the next `length` replies are its parts."""
    if length < TABLE_SIZE:
        return ARRAY_HEADERS[length]
    return b"*%d\r\n" % length


def bulk_header(length: int) -> bytes:
    """Open a string: the next `length` bytes and a CRLF are its payload."""
    if length < TABLE_SIZE:
        return BULK_HEADERS[length]
    return b"$%d\r\n" % length


def map_header3(length: int) -> bytes:
    """Open a RESP3 map: the next `length` pairs of replies are its keys and values."""
    return b"%%%d\r\n" % length


def _raw(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    return text.encode("latin-1", "replace")
