"""What QSCAN and JSCAN make of their arguments."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from disque.commands.scanning import COUNT, read_scan
from disque.model.errors import CommandError

UINT64_MAX = 2**64 - 1


def read(*words: bytes) -> tuple[int, int, list[tuple[bytes, bytes]]]:
    """Read the words of a scan that has one option of its own; return cursor, count and option."""
    own: list[tuple[bytes, bytes]] = []

    def read_own(word: bytes, value: bytes) -> bool:
        if word != b"OWN":
            return False
        own.append((word, value))
        return True

    page = read_scan([b"SCAN", *words], read_own)
    return page.cursor, page.count, own


def problem(*words: bytes) -> str:
    """Return what is said about words that make no sense."""
    with pytest.raises(CommandError) as raised:
        read(*words)
    assert raised.value.code == "ERR"
    return raised.value.sentence


def test_a_scan_without_arguments_starts_with_a_page_of_a_hundred() -> None:
    assert read() == (0, 100, [])


def test_arguments_come_in_any_order_and_case() -> None:
    expected = (7, 3, [(b"OWN", b"Value")])

    assert read(b"7", b"COUNT", b"3", b"OWN", b"Value") == expected
    assert read(b"own", b"Value", b"count", b"3", b"7") == expected
    assert read(b"Count", b"3", b"7", b"Own", b"Value") == expected


@pytest.mark.parametrize(
    "words",
    [
        [b"BUSYLOOP"],
        [b"busyloop", b"COUNT", b"5"],
        [b"COUNT", b"5", b"BusyLoop"],
        [b"COUNT", b"-1"],
        [b"COUNT", b"-9223372036854775808"],
    ],
)
def test_everything_is_wanted_however_it_is_said(words: list[bytes]) -> None:
    assert read(*words) == (0, -1, [])


def test_the_last_count_wins() -> None:
    assert read(b"COUNT", b"1", b"COUNT", b"0") == (0, 0, [])


@given(st.integers(0, UINT64_MAX), st.sampled_from([b"", b"+", b"-"]))
def test_any_unsigned_64_bit_number_is_a_cursor_with_or_without_a_sign(
    number: int, sign: bytes
) -> None:
    assert read(sign + b"%d" % number) == (number, COUNT, [])


@pytest.mark.parametrize(
    "raw",
    [b"", b"+", b"-", b"+-1", b"1 ", b" 1", b"0x1", b"1_0", b"\xb2", b"1\0", b"%d" % (2**64)],
)
def test_what_is_neither_option_nor_number_is_no_cursor(raw: bytes) -> None:
    assert problem(raw) == "invalid cursor or option name"


@given(st.integers(min_value=UINT64_MAX + 1))
def test_a_number_beyond_64_bits_is_no_cursor(number: int) -> None:
    assert problem(b"%d" % number) == "invalid cursor or option name"


def test_an_option_without_its_value_is_taken_for_a_cursor() -> None:
    for option in (b"COUNT", b"OWN"):
        assert problem(option) == "invalid cursor or option name"
        assert problem(b"5", option) == "syntax error"


def test_a_second_cursor_is_one_too_many() -> None:
    assert problem(b"0", b"0") == "syntax error"
    assert problem(b"0", b"nosuch") == "syntax error"
    assert problem(b"0", b"COUNT", b"1", b"0") == "syntax error"


def test_the_value_of_an_option_is_never_taken_for_an_option() -> None:
    assert read(b"OWN", b"COUNT") == (0, COUNT, [(b"OWN", b"COUNT")])
    assert read(b"OWN", b"BUSYLOOP") == (0, COUNT, [(b"OWN", b"BUSYLOOP")])
    assert problem(b"COUNT", b"BUSYLOOP") == "value is not an integer or out of range"


@pytest.mark.parametrize("raw", [b"", b"x", b"1.0", b"9223372036854775808"])
def test_the_count_is_a_64_bit_number(raw: bytes) -> None:
    assert problem(b"COUNT", raw) == "value is not an integer or out of range"
