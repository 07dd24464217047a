r"""Split a typed line into arguments.

The rules are those of inline commands: white space separates; `"..."` understands `\n \r \t \b
\a`, `\xHH` and a backslash before any other character; `'...'` understands `\'` alone; quotes may
open inside a word, and after a closing quote the word must end. Unlike in inline commands an
empty pair of quotes is an argument, because people do want to send empty strings.
"""

from __future__ import annotations

from typing import Final

__all__ = ["quoted", "split_words"]

_SPACE: Final = b" \t\n\r\v\f\0"
_HEXADECIMAL: Final = b"0123456789abcdefABCDEF"
_ESCAPES: Final = {
    ord("n"): b"\n",
    ord("r"): b"\r",
    ord("t"): b"\t",
    ord("b"): b"\b",
    ord("a"): b"\a",
}
_NAMES: Final = {
    ord("\\"): "\\\\",
    ord('"'): '\\"',
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("\a"): "\\a",
    ord("\b"): "\\b",
}


def split_words(line: bytes) -> list[bytes] | None:
    r"""Split a line into words, or answer None if its quotes are wrong.

    >>> split_words(b'ADDJOB q "two words" 0')
    [b'ADDJOB', b'q', b'two words', b'0']
    >>> split_words(b"'never closed") is None
    True
    """
    words: list[bytes] = []
    position = 0
    while True:
        while position < len(line) and line[position] in _SPACE:
            position += 1
        if position == len(line):
            return words
        word = bytearray()
        end = _take_word(line, position, word)
        if end is None:
            return None
        words.append(bytes(word))
        position = end


def quoted(text: bytes) -> bytes:
    r"""Write bytes so that they can be read, and typed again, in double quotes.

    >>> quoted(b'say "hi"\n')
    b'"say \\"hi\\"\\n"'
    """
    pieces = [
        _NAMES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}") for byte in text
    ]
    return f'"{"".join(pieces)}"'.encode("ascii")


def _take_word(line: bytes, start: int, word: bytearray) -> int | None:
    """Append the word at `start` to `word`; answer where it ends, None if it never does."""
    position = start
    while position < len(line) and line[position] not in _SPACE:
        byte = line[position]
        position += 1
        if byte not in b"\"'":
            word.append(byte)
            continue
        end = _take_quoted(line, position, byte, word)
        if end is None or (end < len(line) and line[end] not in _SPACE):
            return None
        position = end
    return position


def _take_quoted(line: bytes, start: int, quote: int, word: bytearray) -> int | None:
    position = start
    while position < len(line):
        byte = line[position]
        position += 1
        if byte == quote:
            return position
        if byte != ord("\\") or position == len(line):
            word.append(byte)
        elif quote == ord("'"):
            if line[position] == quote:
                byte = quote
                position += 1
            word.append(byte)
        else:
            position = _take_escape(line, position, word)
    return None


def _take_escape(line: bytes, position: int, word: bytearray) -> int:
    """Append what the escape after a backslash stands for; answer where it ends."""
    digits = line[position + 1 : position + 3]
    if line[position] == ord("x") and len(digits) == 2 and all(d in _HEXADECIMAL for d in digits):
        word.append(int(digits, 16))
        return position + 3
    word += _ESCAPES.get(line[position]) or line[position : position + 1]
    return position + 1
