"""Typed lines become arguments by the rules of inline commands."""

import pytest
from hypothesis import given, strategies as st

from disque.cli.words import quoted, split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", []),
        (b"  \t ", []),
        (b" ping  pong ", [b"ping", b"pong"]),
        (b'a"b c"', [b"ab c"]),
        (b"''", [b""]),
        (b'set "" x', [b"set", b"", b"x"]),
        (rb'"\x41\n\r\t\b\a\"\\\q\xzz"', [b'A\n\r\t\b\a"\\qxzz']),
        (rb"'it\'s \n'", [rb"it's \n"]),
        (rb"'\\'", [rb"\\"]),
        (rb'"\x4"', [b"x4"]),
        (b'"never closed', None),
        (b"'never closed", None),
        (b'"ends in \\', None),
        (b'"a"b', None),
        (b"'a''b'", None),
    ],
)
def test_lines_are_split_like_inline_commands(line: bytes, words: list[bytes] | None) -> None:
    assert split_words(line) == words


@given(st.lists(st.binary()))
def test_quoted_words_are_split_into_themselves(words: list[bytes]) -> None:
    assert split_words(b" ".join(quoted(word) for word in words)) == words
