"""The slow log: the last commands that took long, with what they were asked to do.

Only time spent executing counts, not time spent blocked or waiting in a buffer. An entry must stay
small, whatever the command was, so long arguments and long argument lists are cut; and it must be
harmless to show, so passwords are left out.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final, final

from disque.commands.redaction import redacted
from disque.commands.shortening import shortened

__all__ = ["ARGUMENTS_MAX", "ARGUMENT_BYTES_MAX", "SlowEntry", "SlowLog"]

# Of a longer list the last place says how many were left out.
ARGUMENTS_MAX: Final = 32
ARGUMENT_BYTES_MAX: Final = 128


@final
class SlowEntry:
    """One slow command: its number, when it ran, how long, and its arguments as shown."""

    __slots__ = ("arguments", "duration_us", "id", "unix_s")

    def __init__(self, id: int, unix_s: int, duration_us: int, arguments: list[bytes]) -> None:
        self.id = id
        self.unix_s = unix_s
        self.duration_us = duration_us
        self.arguments = arguments


@final
class SlowLog:
    """Entries, newest first. Numbers go on counting when entries are dropped."""

    __slots__ = ("_entries", "_next_id")

    def __init__(self) -> None:
        self._entries: deque[SlowEntry] = deque()
        self._next_id = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(
        self, argv: list[bytes], duration_us: int, unix_s: int, max_len: int, name: bytes = b""
    ) -> None:
        """Record a command; `name` is its original name, should it have been renamed."""
        arguments = shortened(redacted(argv, name), ARGUMENTS_MAX, ARGUMENT_BYTES_MAX)
        self._entries.appendleft(SlowEntry(self._next_id, unix_s, duration_us, arguments))
        self._next_id += 1
        self.trim(max_len)

    def trim(self, max_len: int) -> None:
        """Drop the oldest entries beyond `max_len`."""
        while len(self._entries) > max_len:
            self._entries.pop()

    def entries(self, count: int) -> list[SlowEntry]:
        """Return the newest `count` entries, newest first; all of them if it is negative."""
        if count < 0:
            return list(self._entries)
        return list(islice(self._entries, min(count, len(self._entries))))

    def reset(self) -> None:
        """Drop all entries."""
        self._entries.clear()
