"""Replies are encoded exactly as RESP wants them."""

import hiredis
import pytest
from hypothesis import given, strategies as st

from disque.wire import resp


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        (resp.OK, b"+OK\r\n"),
        (resp.NIL_BULK, b"$-1\r\n"),
        (resp.NIL_ARRAY, b"*-1\r\n"),
        (resp.EMPTY_ARRAY, b"*0\r\n"),
        (resp.NULL3, b"_\r\n"),
        (resp.simple(b"PONG"), b"+PONG\r\n"),
        (resp.bulk(b""), b"$0\r\n\r\n"),
        (resp.bulk(b"a\r\nb"), b"$4\r\na\r\nb\r\n"),
        (resp.array([]), resp.EMPTY_ARRAY),
        (resp.array([resp.integer(1), resp.NIL_BULK]), b"*2\r\n:1\r\n$-1\r\n"),
        (resp.map_header3(2), b"%2\r\n"),
    ],
)
def test_replies_have_their_documented_bytes(encoded: bytes, expected: bytes) -> None:
    assert encoded == expected


def test_error_is_a_code_and_a_sentence() -> None:
    assert resp.error("NOREPL", "not enough copies") == b"-NOREPL not enough copies\r\n"
    assert resp.error(b"ERR", b"syntax error") == b"-ERR syntax error\r\n"


def test_line_ends_in_an_error_become_spaces() -> None:
    assert (
        resp.error("ERR", "unknown command 'FOO\r\nBAR'") == b"-ERR unknown command 'FOO  BAR'\r\n"
    )


@given(st.binary())
def test_error_quotes_any_user_bytes_on_one_line(raw: bytes) -> None:
    expected = raw.replace(b"\r", b" ").replace(b"\n", b" ")

    assert resp.error("ERR", raw.decode("latin-1")) == b"-ERR " + expected + b"\r\n"
    assert resp.error(b"ERR", raw) == b"-ERR " + expected + b"\r\n"


def test_error_with_characters_beyond_one_byte_is_still_encoded() -> None:
    assert resp.error("ERR", "no such file: \u20ac") == b"-ERR no such file: ?\r\n"


@pytest.mark.parametrize("number", [-(2**63), -1, 0, 1, 1023, 1024, 2**63 - 1])
def test_numbers_are_decimal_inside_and_outside_the_tables(number: int) -> None:
    assert resp.integer(number) == f":{number}\r\n".encode()
    if number >= 0:
        assert resp.bulk_header(number) == f"${number}\r\n".encode()
        assert resp.array_header(number) == f"*{number}\r\n".encode()


@pytest.mark.parametrize("length", [0, 1, 1023, 1024, 70_000])
def test_strings_and_arrays_carry_their_length(length: int) -> None:
    assert resp.bulk(b"x" * length) == resp.bulk_header(length) + b"x" * length + b"\r\n"
    assert resp.array([resp.OK] * length) == resp.array_header(length) + resp.OK * length


REPLY = st.recursive(
    st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=1100),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=10,
)


def _encode(reply: object) -> bytes:
    if isinstance(reply, int):
        return resp.integer(reply)
    if isinstance(reply, bytes):
        return resp.bulk(reply)
    assert isinstance(reply, list)
    return resp.array([_encode(part) for part in reply])


@given(REPLY)
def test_a_client_reads_back_what_was_encoded(reply: object) -> None:
    reader = hiredis.Reader()
    reader.feed(_encode(reply))

    assert reader.gets() == reply
    assert reader.gets() is False
