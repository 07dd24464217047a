"""Look through all queues of a node: list them, or find the longest."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from typing import Final

from disque.cli.connection import Connection
from disque.cli.formatting import CSV, JSON
from disque.cli.output import Output
from disque.cli.replies import ErrorReply, Reply

__all__ = ["ScanError", "glob_pattern", "list_longest", "list_queues"]

PAGE: Final = b"1000"
LONGEST_SHOWN: Final = 20


class ScanError(Exception):
    """The server answered a scan with an error."""


def list_queues(connection: Connection, output: Output, pattern: bytes | None) -> int:
    """Print the names of the queues, each once."""
    wanted = glob_pattern(b"*" if pattern is None else pattern)
    for page in _pages(connection):
        for name in page:
            if wanted.fullmatch(name):
                output.reply(name, [])
    return 0


def list_longest(connection: Connection, output: Output) -> int:
    """Print the longest queues with their lengths, and a summary."""
    longest: list[tuple[int, bytes]] = []
    queues = jobs = 0
    for page in _pages(connection):
        lengths = connection.call_many([[b"QLEN", name] for name in page])
        for name, length in zip(page, lengths, strict=True):
            if not isinstance(length, int):
                raise ScanError(_describe(length))
            queues += 1
            jobs += length
            heapq.heappush(longest, (length, name))
            if len(longest) > LONGEST_SHOWN:
                heapq.heappop(longest)
    ranking = sorted(longest, key=lambda found: (-found[0], found[1]))
    if output.style in (CSV, JSON):
        for length, name in ranking:
            output.reply([name, length], [])
        return 0
    for length, name in ranking:
        output.write(b"%10d  " % length)
        output.reply(name, [])
    output.line(f"{queues} queues, {jobs} jobs queued on this node")
    return 0


def glob_pattern(pattern: bytes) -> re.Pattern[bytes]:
    r"""Translate a glob as the server knows it: `*`, `?`, `[a-z]`, `[^x]`, `\x`.

    >>> bool(glob_pattern(b"mail:[0-9]*").fullmatch(b"mail:7:late"))
    True
    """
    pieces: list[bytes] = []
    position = 0
    while position < len(pattern):
        byte = pattern[position : position + 1]
        position += 1
        if byte == b"*":
            pieces.append(b".*")
        elif byte == b"?":
            pieces.append(b".")
        elif byte == b"[":
            expression, position = _character_class(pattern, position)
            pieces.append(expression)
        elif byte == b"\\" and position < len(pattern):
            pieces.append(re.escape(pattern[position : position + 1]))
            position += 1
        else:
            pieces.append(re.escape(byte))
    return re.compile(b"".join(pieces), re.DOTALL)


def _character_class(pattern: bytes, start: int) -> tuple[bytes, int]:
    """Translate what follows `[`; answer it and where it ends."""
    end = pattern.find(b"]", start)
    if end < 0:
        return rb"\[", start
    content = pattern[start:end]
    is_negated = content.startswith(b"^")
    alternatives: list[bytes] = []
    rest = content[1:] if is_negated else content
    while rest:
        if len(rest) >= 3 and rest[1:2] == b"-":
            low, high = sorted((rest[0], rest[2]))
            alternatives.append(b"\\x%02x-\\x%02x" % (low, high))
            rest = rest[3:]
        else:
            alternatives.append(b"\\x%02x" % rest[0])
            rest = rest[1:]
    if not alternatives:
        # Nothing is in an empty class; everything is outside it.
        return (b"." if is_negated else rb"(?!)"), end + 1
    return b"[" + (b"^" if is_negated else b"") + b"".join(alternatives) + b"]", end + 1


def _pages(connection: Connection) -> Iterator[list[bytes]]:
    """Follow the cursor of QSCAN; a queue that is reported twice comes out once."""
    seen: set[bytes] = set()
    cursor = b"0"
    while True:
        reply = connection.call([b"QSCAN", cursor, b"COUNT", PAGE])
        if not isinstance(reply, list) or len(reply) != 2 or not isinstance(reply[1], list):
            raise ScanError(_describe(reply))
        names = [name for name in reply[1] if isinstance(name, bytes)]
        page = [name for name in dict.fromkeys(names) if name not in seen]
        seen.update(page)
        yield page
        cursor = reply[0] if isinstance(reply[0], bytes) else b"0"
        if cursor == b"0":
            return


def _describe(reply: Reply) -> str:
    if isinstance(reply, ErrorReply):
        return reply.decode("utf-8", "replace")
    return f"unexpected reply {reply!r}"
