r"""Words of a line: the quoting of inline requests, configuration lines and the prompt.

Words stand between white space, which is what C's `isspace` says in the C locale. A quote may
open anywhere in a word and must close at its end:

    "..."   takes \n \r \t \a \b \xHH; a backslash before anything else yields that byte
    '...'   takes \' alone; every other backslash is a plain byte

Outside quotes a backslash means nothing, and NUL is an ordinary byte everywhere. `quote` writes the
double-quoted form, and `split` reads back exactly what it wrote.
"""

from __future__ import annotations

from typing import Final

__all__ = ["quote", "split"]

WHITE_SPACE: Final = b" \t\n\v\f\r"
DOUBLE_QUOTE: Final = 0x22
SINGLE_QUOTE: Final = 0x27
BACKSLASH: Final = 0x5C
LETTER_X: Final = 0x78
HEX_DIGITS: Final = b"0123456789abcdefABCDEF"
# What a letter after a backslash stands for, inside double quotes.
ESCAPED: Final = {ord("n"): 0x0A, ord("r"): 0x0D, ord("t"): 0x09, ord("a"): 0x07, ord("b"): 0x08}
# Told by a helper instead of a position: the quotes of the line do not balance.
UNBALANCED: Final = -1


def split(line: bytes) -> list[bytes] | None:
    r"""Split `line` into words, or answer None if its quotes are unbalanced or badly closed.

    >>> split(rb'ADDJOB queue "a body" a"b c"')
    [b'ADDJOB', b'queue', b'a body', b'ab c']
    >>> split(b'"a"b') is None
    True
    """
    if b'"' not in line and b"'" not in line:
        return line.split()
    words: list[bytes] = []
    size = len(line)
    position = 0
    while True:
        while position < size and line[position] in WHITE_SPACE:
            position += 1
        if position == size:
            return words
        word = bytearray()
        position = _read_word(line, position, word)
        if position == UNBALANCED:
            return None
        words.append(bytes(word))


def quote(raw: bytes) -> bytes:
    r"""Write `raw` as one double-quoted word of printable ASCII.

    >>> print(quote(b'say "hi"\n\x00').decode())
    "say \"hi\"\n\x00"
    """
    return b'"%b"' % raw.decode("latin-1").translate(PRINTED).encode("ascii")


def _read_word(line: bytes, position: int, word: bytearray) -> int:
    """Append one word to `word`, and answer the position behind it or UNBALANCED."""
    size = len(line)
    while position < size:
        byte = line[position]
        if byte in WHITE_SPACE:
            break
        position += 1
        if byte == DOUBLE_QUOTE:
            return _read_double_quoted(line, position, word)
        if byte == SINGLE_QUOTE:
            return _read_single_quoted(line, position, word)
        word.append(byte)
    return position


def _read_double_quoted(line: bytes, position: int, word: bytearray) -> int:
    size = len(line)
    while position < size:
        byte = line[position]
        position += 1
        if byte == DOUBLE_QUOTE:
            return _closed_at(line, position)
        if byte == BACKSLASH and position < size:
            byte = line[position]
            position += 1
            if byte == LETTER_X and _has_two_hex_digits(line, position):
                byte = int(line[position : position + 2], 16)
                position += 2
            else:
                byte = ESCAPED.get(byte, byte)
        word.append(byte)
    return UNBALANCED


def _read_single_quoted(line: bytes, position: int, word: bytearray) -> int:
    size = len(line)
    while position < size:
        byte = line[position]
        position += 1
        if byte == SINGLE_QUOTE:
            return _closed_at(line, position)
        if byte == BACKSLASH and position < size and line[position] == SINGLE_QUOTE:
            byte = SINGLE_QUOTE
            position += 1
        word.append(byte)
    return UNBALANCED


def _closed_at(line: bytes, position: int) -> int:
    """Accept the quote that closed before `position` only if the word ends there too."""
    if position == len(line) or line[position] in WHITE_SPACE:
        return position
    return UNBALANCED


def _has_two_hex_digits(line: bytes, position: int) -> bool:
    return (
        position + 1 < len(line)
        and line[position] in HEX_DIGITS
        and line[position + 1] in HEX_DIGITS
    )


def _printed(byte: int) -> bytes:
    for letter, meaning in ESCAPED.items():
        if byte == meaning:
            return b"\\%c" % letter
    if byte in (DOUBLE_QUOTE, BACKSLASH):
        return b"\\%c" % byte
    if 0x20 <= byte <= 0x7E:
        return b"%c" % byte
    return b"\\x%02x" % byte


# As a table for `str.translate`, which is thirty times faster than a loop over a large body.
PRINTED: Final = [_printed(byte).decode("ascii") for byte in range(256)]
