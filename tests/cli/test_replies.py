"""Replies are understood whole and in pieces."""

import contextlib

import pytest
from hypothesis import given, strategies as st

from disque.cli.replies import (
    INCOMPLETE,
    ErrorReply,
    Incomplete,
    MalformedReplyError,
    Reply,
    ReplyReader,
    SimpleString,
)
from disque.wire.encode import encode_request

SHAPES: list[tuple[bytes, Reply]] = [
    (b"+OK\r\n", b"OK"),
    (b"-ERR no\r\n", b"ERR no"),
    (b":-3\r\n", -3),
    (b"$5\r\na\r\nb\0\r\n", b"a\r\nb\0"),
    (b"$0\r\n\r\n", b""),
    (b"$-1\r\n", None),
    (b"*-1\r\n", None),
    (b"*0\r\n", []),
    (b"*2\r\n*1\r\n:1\r\n*2\r\n$1\r\nx\r\n*0\r\n", [[1], [b"x", []]]),
    (b"_\r\n", None),
    (b"%1\r\n+proto\r\n:3\r\n", [b"proto", 3]),
    (b"~1\r\n#t\r\n", [True]),
    (b",1.5\r\n", 1.5),
    (b"(12345678901234567890\r\n", 12345678901234567890),
    (b"=7\r\ntxt:abc\r\n", b"abc"),
    (b"!3\r\nERR\r\n", b"ERR"),
]


def read_all(reader: ReplyReader) -> list[Reply]:
    replies: list[Reply] = []
    while not isinstance(reply := reader.next(), Incomplete):
        replies.append(reply)
    return replies


@pytest.mark.parametrize(("raw", "reply"), SHAPES)
def test_every_shape_is_read(raw: bytes, reply: Reply) -> None:
    reader = ReplyReader()
    reader.feed(raw)

    assert reader.next() == reply
    assert reader.next() is INCOMPLETE


def test_simple_strings_errors_and_bulks_can_be_told_apart() -> None:
    reader = ReplyReader()
    reader.feed(b"+a\r\n-b\r\n$1\r\nc\r\n")

    assert [type(reply) for reply in read_all(reader)] == [SimpleString, ErrorReply, bytes]


@given(st.lists(st.sampled_from(SHAPES)), st.integers(1, 7))
def test_pieces_give_the_same_replies_as_the_whole(
    shapes: list[tuple[bytes, Reply]], size: int
) -> None:
    stream = b"".join(raw for raw, _ in shapes)
    reader, replies = ReplyReader(), list[Reply]()

    for start in range(0, len(stream), size):
        reader.feed(stream[start : start + size])
        replies += read_all(reader)

    assert replies == [reply for _, reply in shapes]


@given(st.lists(st.binary(), min_size=1))
def test_a_request_reads_back_as_its_arguments(argv: list[bytes]) -> None:
    reader = ReplyReader()
    reader.feed(encode_request(argv))

    assert reader.next() == argv


@given(st.binary())
def test_garbage_is_incomplete_a_reply_or_malformed(garbage: bytes) -> None:
    reader = ReplyReader()
    reader.feed(garbage + b"\r\n")

    with contextlib.suppress(MalformedReplyError):
        read_all(reader)


@pytest.mark.parametrize("raw", [b"hello\r\n", b":x\r\n", b"$x\r\n", b",x\r\n", b"*1\r\n" * 40])
def test_what_is_not_a_reply_is_malformed(raw: bytes) -> None:
    reader = ReplyReader()
    reader.feed(raw)

    with pytest.raises(MalformedReplyError):
        reader.next()


def test_memory_of_consumed_replies_is_given_back() -> None:
    reader = ReplyReader()
    for _ in range(100):
        reader.feed(b"$10000\r\n" + bytes(10000) + b"\r\n+")
        reader.next()
        reader.feed(b"OK\r\n")
        reader.next()

    assert len(reader._buffer) < 200_000
