"""The lines typed at the prompt, in a plain file: one per line, the newest last.

A line that may contain a password is never written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from disque.wire.words import split

__all__ = ["append_line", "is_secret", "load_lines"]

# The file is cut to this many lines when it has twice as many.
LINES_MAX: Final = 1000


def load_lines(path: Path) -> list[str]:
    """Read the history; a file that cannot be read is an empty one."""
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return []
    # Not splitlines, which takes a form feed for the end of a line, too.
    lines = [line for line in text.split("\n") if line]
    if len(lines) > 2 * LINES_MAX:
        _rewrite(path, lines[-LINES_MAX:])
    return lines[-LINES_MAX:]


def append_line(path: Path, line: str) -> None:
    """Add a line, unless it is secret; a history that cannot be written is not worth a word.

    Several lines pasted at once count one by one.
    """
    kept = [piece for piece in line.split("\n") if piece.strip() and not is_secret(piece)]
    if not kept:
        return
    try:
        with open(path, "ab", opener=_open_private) as file:
            file.write("\n".join([*kept, ""]).encode("utf-8", "surrogateescape"))
    except OSError:
        pass


def is_secret(line: str) -> bool:
    """Say whether a line may contain a password.

    >>> is_secret("auth geheim"), is_secret("CONFIG SET requirepass x"), is_secret("ping")
    (True, True, False)
    """
    # Quotes may hide the word: "auth" is sent as auth. Open quotes are not sent at all.
    typed = line.lower().encode("utf-8", "surrogateescape")
    words = split(typed)
    if words is None:
        words = typed.split()
    if words and words[0].isdigit():
        words = words[1:]
    if words[:1] == [b"auth"]:
        return True
    if words[:1] == [b"hello"]:
        return b"auth" in words
    return words[:2] == [b"config", b"set"] and b"requirepass" in words[2:]


def _rewrite(path: Path, lines: list[str]) -> None:
    """Replace the file in one step, so that a crash leaves the old or the new one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb", opener=_open_private) as file:
            file.write("\n".join([*lines, ""]).encode("utf-8", "surrogateescape"))
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
