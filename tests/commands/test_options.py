"""Numbers and timeouts in arguments."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from disque.commands.options import integer, integer_or_none, timeout_ms
from disque.model.errors import CommandError
from disque.model.limits import TIMEOUT_MS_MAX

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
NO_NUMBERS = [
    *[b"", b"+", b"-", b"--1", b"+-1", b"x", b"1x", b"0x10", b"1e3", b"1.0", b"1_0"],
    *[b" 1", b"1 ", b"1\n", b"\t1", b"1\0", b"\0", b"\xd9\xa1", b"\xb2"],
]


@given(st.integers(INT64_MIN, INT64_MAX))
def test_every_64_bit_number_is_read(number: int) -> None:
    assert integer_or_none(b"%d" % number) == number


@given(st.integers(max_value=INT64_MIN - 1) | st.integers(min_value=INT64_MAX + 1))
def test_no_number_beyond_64_bits_is_read(number: int) -> None:
    assert integer_or_none(b"%d" % number) is None


@given(st.integers(0, INT64_MAX), st.integers(0, 40))
def test_signs_and_leading_zeros_are_fine(number: int, zeros: int) -> None:
    digits = b"0" * zeros + b"%d" % number

    assert integer_or_none(digits) == number
    assert integer_or_none(b"+" + digits) == number
    assert integer_or_none(b"-" + digits) == -number


@pytest.mark.parametrize("raw", NO_NUMBERS)
def test_what_only_looks_like_a_number_is_none(raw: bytes) -> None:
    assert integer_or_none(raw) is None


@given(st.binary(max_size=30))
def test_whatever_is_read_is_a_sign_and_ascii_digits(raw: bytes) -> None:
    value = integer_or_none(raw)

    digits = raw[1:] if raw[:1] in (b"+", b"-") else raw
    is_decimal = bool(digits) and set(digits) <= set(b"0123456789")
    expected = int(raw) if is_decimal and INT64_MIN <= int(raw) <= INT64_MAX else None
    assert value == expected


def test_a_number_of_a_million_digits_is_refused_without_being_read() -> None:
    # Python itself refuses to read more than 4300 digits, with an error of its own.
    assert integer_or_none(b"9" * 1_000_000) is None
    assert integer_or_none(b"0" * 1_000_000) is None


@pytest.mark.parametrize("raw", [*NO_NUMBERS, b"9223372036854775808"])
def test_a_bad_number_is_refused_with_the_same_sentence_everywhere(raw: bytes) -> None:
    with pytest.raises(CommandError) as raised:
        integer(raw)

    assert raised.value.code == "ERR"
    assert raised.value.sentence == "value is not an integer or out of range"


def test_a_good_number_is_read() -> None:
    assert integer(b"-42") == -42


@pytest.mark.parametrize("raw", [*NO_NUMBERS, b"9223372036854775808"])
def test_a_bad_timeout_is_refused(raw: bytes) -> None:
    with pytest.raises(CommandError) as raised:
        timeout_ms(raw)

    assert raised.value.sentence == "timeout is not an integer or out of range"


@given(st.integers(INT64_MIN, -1))
def test_a_negative_timeout_is_refused(number: int) -> None:
    with pytest.raises(CommandError) as raised:
        timeout_ms(b"%d" % number)

    assert raised.value.sentence == "timeout is negative"


@given(st.integers(0, TIMEOUT_MS_MAX))
def test_a_timeout_is_in_milliseconds(number: int) -> None:
    assert timeout_ms(b"%d" % number) == number


@given(st.integers(TIMEOUT_MS_MAX, INT64_MAX))
def test_an_endless_timeout_is_cut_to_what_a_deadline_can_hold(number: int) -> None:
    assert timeout_ms(b"%d" % number) == TIMEOUT_MS_MAX
