r"""Glob patterns over byte strings.

    *       any bytes, also none        [abc]   one of these bytes
    ?       any one byte                [a-z]   one byte of a range, in either direction
    \x      the byte x itself           [^x]    any one byte but these

A class that is never closed ends with the pattern. Matching remembers only the last `*`: when the
rest does not fit, that star takes one byte more. Earlier stars never need another try, so the
time is at most the product of both lengths, whatever the pattern.
"""

from __future__ import annotations

from typing import Final

__all__ = ["matches"]

STAR: Final = 0x2A
QUESTION_MARK: Final = 0x3F
CLASS_OPEN: Final = 0x5B
CLASS_CLOSE: Final = 0x5D
BACKSLASH: Final = 0x5C
CARET: Final = 0x5E
HYPHEN: Final = 0x2D
# Told instead of a position: the byte does not fit.
NO_MATCH: Final = -1


def matches(pattern: bytes, text: bytes) -> bool:
    """Tell whether the pattern describes the whole text.

    >>> matches(b"max*-[ps]?[^x]*", b"maxmemory-policy")
    True
    """
    position = 0
    at = 0
    star = NO_MATCH
    star_at = 0
    while at < len(text):
        if position < len(pattern) and pattern[position] == STAR:
            star = position
            star_at = at
            position += 1
            continue
        behind = _match_one(pattern, position, text[at])
        if behind != NO_MATCH:
            position = behind
            at += 1
        elif star == NO_MATCH:
            return False
        else:
            star_at += 1
            at = star_at
            position = star + 1
    return not pattern[position:].strip(b"*")


def _match_one(pattern: bytes, position: int, byte: int) -> int:
    """Match one byte, and answer the position behind what it took of the pattern, or NO_MATCH."""
    if position == len(pattern):
        return NO_MATCH
    wanted = pattern[position]
    if wanted == QUESTION_MARK:
        return position + 1
    if wanted == CLASS_OPEN:
        return _match_class(pattern, position + 1, byte)
    if wanted == BACKSLASH and position + 1 < len(pattern):
        position += 1
        wanted = pattern[position]
    return position + 1 if wanted == byte else NO_MATCH


def _match_class(pattern: bytes, position: int, byte: int) -> int:
    is_negated = position < len(pattern) and pattern[position] == CARET
    if is_negated:
        position += 1
    is_member = False
    while position < len(pattern) and pattern[position] != CLASS_CLOSE:
        if pattern[position] == BACKSLASH and position + 1 < len(pattern):
            position += 1
            low = high = pattern[position]
        elif _is_range(pattern, position):
            low = min(pattern[position], pattern[position + 2])
            high = max(pattern[position], pattern[position + 2])
            position += 2
        else:
            low = high = pattern[position]
        if low <= byte <= high:
            is_member = True
        position += 1
    if is_member == is_negated:
        return NO_MATCH
    return min(position + 1, len(pattern))


def _is_range(pattern: bytes, position: int) -> bool:
    """Tell whether `a-z` begins here; a hyphen that ends its class is just a hyphen."""
    return (
        position + 2 < len(pattern)
        and pattern[position + 1] == HYPHEN
        and pattern[position + 2] != CLASS_CLOSE
    )
