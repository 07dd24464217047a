"""Lines are split into words, and words are quoted so that they can be read back."""

import pytest
from hypothesis import given, strategies as st

from disque.wire.words import quote, split


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"", []),
        (b" \t\n\v\f\r", []),
        (b"PING", [b"PING"]),
        (b"  PING \t a\r", [b"PING", b"a"]),
        (b'PING "a b"', [b"PING", b"a b"]),
        (b"   PING   'it\\'s'  ", [b"PING", b"it's"]),
        (rb'"\x41\n\t"', [b"A\n\t"]),
        (rb'"\n\r\t\a\b\\\"\q"', [b'\n\r\t\a\b\\"q']),
        (rb"'\n\\ \x41'", [rb"\n\\ \x41"]),
        (b'a"b c"', [b"ab c"]),
        (b"a'b c'", [b"ab c"]),
        (b'"it\'s" \'a "b"\'', [b"it's", b'a "b"']),
        (b"\"\" x ''", [b"", b"x", b""]),
        (b'"a"\t"b"', [b"a", b"b"]),
        (rb"a\nb", [rb"a\nb"]),
        (rb'a\nb "c"', [rb"a\nb", b"c"]),
    ],
)
def test_line_is_split_into_words(line: bytes, expected: list[bytes]) -> None:
    assert split(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        b'"',
        b"'",
        b'a "b',
        b'a"b',
        b"'a\\'",
        b'"a\\',
        b'"a\\"',
        b'"a"b',
        b"'a'b",
        b'"a""b"',
        b'""\0',
    ],
)
def test_unbalanced_or_badly_closed_quotes_are_refused(line: bytes) -> None:
    assert split(line) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (rb'"\xfF"', b"\xff"),
        (rb'"\x4"', b"x4"),
        (rb'"\xg1"', b"xg1"),
        (rb'"\x1g"', b"x1g"),
        (rb'"\X41"', b"X41"),
        (rb'"\x 1"', b"x 1"),
    ],
)
def test_hexadecimal_escape_takes_exactly_two_digits(line: bytes, expected: bytes) -> None:
    assert split(line) == [expected]


def test_nul_is_data() -> None:
    assert split(b'a\0b "\0" \0') == [b"a\0b", b"\0", b"\0"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", b'""'),
        (b"it's ok", b'"it\'s ok"'),
        (b'say "hi"', rb'"say \"hi\""'),
        (b"\\\n\r\t\a\b", rb'"\\\n\r\t\a\b"'),
        (b"\x00\x1f\x7f\xab\xff", rb'"\x00\x1f\x7f\xab\xff"'),
    ],
)
def test_word_is_quoted_with_escapes(raw: bytes, expected: bytes) -> None:
    assert quote(raw) == expected


@given(st.binary())
def test_quoted_word_reads_back_as_itself(raw: bytes) -> None:
    quoted = quote(raw)

    assert split(quoted) == [raw]
    assert all(0x20 <= byte <= 0x7E for byte in quoted)


@given(st.lists(st.binary(max_size=10)), st.sampled_from([b" ", b"\t", b"\r\n", b"\v \f"]))
def test_quoted_words_read_back_whatever_space_is_between(raws: list[bytes], space: bytes) -> None:
    assert split(space.join(map(quote, raws))) == raws


@given(st.text(alphabet="ab\\\"' \tnx0", max_size=20))
def test_any_line_gives_words_or_is_refused(text: str) -> None:
    line = text.encode()
    found = split(line)

    assert found is None or sum(map(len, found)) <= len(line)
    assert split(b"  " + line + b"\r") == found
