"""What is written as a request is read as the same request, by any parser and in any pieces."""

import hiredis
import pytest
from hypothesis import given, strategies as st

from disque.wire.encode import encode_argument, encode_request
from disque.wire.requests import RequestParser

# Bodies that look like the protocol they travel in.
arguments = st.binary() | st.sampled_from([b"\r\n", b"$1\r\na\r\n", b"*1\r\n$4\r\nPING\r\n"])
requests = st.lists(arguments, min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        (b"", b"$0\r\n\r\n"),
        (b"QLEN", b"$4\r\nQLEN\r\n"),
        (b"\r\n", b"$2\r\n\r\n\r\n"),
        (b"\x00\xff", b"$2\r\n\x00\xff\r\n"),
        (b"x" * 1_000, b"$1000\r\n" + b"x" * 1_000 + b"\r\n"),
    ],
)
def test_argument_is_its_length_and_its_bytes(argument: bytes, written: bytes) -> None:
    assert encode_argument(argument) == written


def test_request_is_its_count_and_its_arguments() -> None:
    written = encode_request([b"ADDJOB", b"q", b"", b"0"])

    assert written == b"*4\r\n$6\r\nADDJOB\r\n$1\r\nq\r\n$0\r\n\r\n$1\r\n0\r\n"


def test_any_sequence_of_arguments_is_good() -> None:
    assert encode_request((b"PING", b"1")) == encode_request([b"PING", b"1"])


@given(st.lists(requests, max_size=5), st.integers(1, 40))
def test_server_reads_what_was_written_however_it_is_cut(
    written: list[list[bytes]], size: int
) -> None:
    parser = RequestParser()
    raw = b"".join(map(encode_request, written))

    read = [
        request for at in range(0, len(raw), size) for request in parser.feed(raw[at : at + size])
    ]

    assert read == written
    assert parser.error is None
    assert parser.buffered_bytes == 0


@given(requests)
def test_other_parsers_read_it_too(written: list[bytes]) -> None:
    reader = hiredis.Reader()

    reader.feed(encode_request(written))

    assert reader.gets() == written
