"""Look through all queues of a node: list them, or find the longest."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final

from disque.cli.connection import Connection
from disque.cli.formatting import CSV, JSON
from disque.cli.output import Output
from disque.cli.replies import ErrorReply, Reply
from disque.wire.glob import matches

__all__ = ["ScanError", "list_longest", "list_queues"]

PAGE: Final = b"1000"
LONGEST_SHOWN: Final = 20


class ScanError(Exception):
    """The server answered a scan with an error."""


def list_queues(connection: Connection, output: Output, pattern: bytes | None) -> int:
    """Print the names of the queues, each once."""
    for page in _pages(connection):
        for name in page:
            if pattern is None or matches(pattern, name):
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
    output.line(f"{_counted(queues, 'queue')}, {_counted(jobs, 'job')} queued on this node")
    return 0


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


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
