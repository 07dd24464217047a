"""New job ids and creation times, in bulk.

18 random bytes are exactly 24 base64 characters, so one block of entropy encodes into hundreds
of ids at once, without padding and without touching the operating system for each job.
"""

from __future__ import annotations

import random
from binascii import b2a_base64
from typing import Final, final

from disque.model.job import JobId, NodeId
from disque.model.jobid import RANDOM_BYTES, RANDOM_CHARACTERS, prefix, suffix

__all__ = ["JITTER_MS", "Jitter", "Mint"]

BATCH: Final = 256
# Suffixes depend on two numbers the client chooses; remember the usual ones only.
SUFFIXES_MAX: Final = 1_000

# Re-queue and collection times vary by this much (-250..+249 ms): holders do not act at once.
JITTER_MS: Final = 500


@final
class Mint:
    """Makes ids and creation times that no other job of this node has."""

    __slots__ = ("_at", "_characters", "_ctime", "_entropy", "_prefix", "_suffixes")

    def __init__(self, node: NodeId, entropy: random.Random) -> None:
        self._entropy = entropy
        self._prefix = prefix(node)
        self._characters = b""
        self._at = 0
        self._ctime = 0
        self._suffixes: dict[tuple[int, int], bytes] = {}

    def new_id(self, ttl_s: int, retry_s: int) -> JobId:
        """Return a fresh id."""
        at = self._at
        if at == len(self._characters):
            raw = self._entropy.randbytes(RANDOM_BYTES * BATCH)
            self._characters = b2a_base64(raw, newline=False)
            at = 0
        self._at = at + RANDOM_CHARACTERS
        tail = self._suffixes.get((ttl_s, retry_s))
        if tail is None:
            tail = self._remember_suffix(ttl_s, retry_s)
        return JobId(self._prefix + self._characters[at : at + RANDOM_CHARACTERS] + tail)

    def new_ctime(self, now_ms: int) -> int:
        """Return a creation time later than every earlier one."""
        ctime = now_ms * 1_000_000
        if ctime <= self._ctime:
            ctime = self._ctime + 1
        self._ctime = ctime
        return ctime

    def rename(self, node: NodeId) -> None:
        """Make ids for the node's new name."""
        self._prefix = prefix(node)

    def _remember_suffix(self, ttl_s: int, retry_s: int) -> bytes:
        tail = suffix(ttl_s, retry_s)
        if len(self._suffixes) >= SUFFIXES_MAX:
            self._suffixes.clear()
        self._suffixes[(ttl_s, retry_s)] = tail
        return tail


@final
class Jitter:
    """Random offsets around zero, drawn in bulk."""

    __slots__ = ("_drawn", "_random")

    def __init__(self, jitter: random.Random) -> None:
        self._random = jitter
        self._drawn: list[int] = []

    def next_ms(self) -> int:
        """Return an offset between -250 and +249 ms."""
        drawn = self._drawn
        if not drawn:
            half = JITTER_MS // 2
            drawn.extend(self._random.choices(range(-half, half), k=BATCH))
        return drawn.pop()
