"""Glob patterns."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from disque.wire.glob import matches


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (b"", b""),
        (b"*", b""),
        (b"*", b"anything"),
        (b"**", b"anything"),
        (b"a*", b"a"),
        (b"*a", b"bca"),
        (b"a*b*c", b"a--b-b--c"),
        (b"*ab", b"aab"),
        (b"a?c", b"abc"),
        (b"[abc]", b"b"),
        (b"[a-c]x", b"bx"),
        (b"[c-a]x", b"bx"),
        (b"[^x]", b"y"),
        (b"[^a-c]", b"d"),
        (b"*[0-9]", b"slot7"),
        (b"[a-]", b"-"),
        (b"[\\]]", b"]"),
        (b"[\\-a]", b"-"),
        (b"[abc", b"c"),
        (b"\\*", b"*"),
        (b"\\?", b"?"),
        (b"\\\\", b"\\"),
        (b"a\\", b"a\\"),
        (b"\x00*\xff", b"\x00middle\xff"),
    ],
)
def test_pattern_describes_the_text(pattern: bytes, text: bytes) -> None:
    assert matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (b"", b"a"),
        (b"a", b""),
        (b"?", b""),
        (b"a", b"A"),
        (b"a*", b"ba"),
        (b"a?", b"a"),
        (b"a*b", b"abc"),
        (b"[abc]", b"d"),
        (b"[^x]", b"x"),
        (b"[^x]", b""),
        (b"[]", b"a"),
        (b"\\*", b"a"),
        (b"ab", b"abc"),
        (b"abc", b"ab"),
    ],
)
def test_pattern_does_not_describe_the_text(pattern: bytes, text: bytes) -> None:
    assert not matches(pattern, text)


@given(st.binary(max_size=40))
def test_escaped_text_describes_exactly_itself(text: bytes) -> None:
    pattern = b"".join([b"\\%c" % byte for byte in text])

    assert matches(pattern, text)
    assert not matches(pattern, text + b"x")


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_any_bytes_are_a_pattern(pattern: bytes, text: bytes) -> None:
    assert matches(pattern, text) in (True, False)
    assert matches(b"*" + pattern, text) or not matches(pattern, text)


def test_many_stars_take_no_exponential_time() -> None:
    assert not matches(b"a*" * 200 + b"b", b"a" * 2_000)
