"""New job ids and creation times, in bulk.

18 random bytes are exactly 24 base64 characters, so one block of entropy encodes into hundreds
of ids at once, without padding and without touching the operating system for each job.
"""

from __future__ import annotations

import random
from binascii import b2a_base64
from typing import Final, cast, final

from disque.model.job import JobId, NodeId
from disque.model.jobid import RANDOM_BYTES, RANDOM_CHARACTERS, prefix, suffix

__all__ = ["JITTER_MS", "Jitter", "Mint"]

BATCH: Final = 256
# An id up to where its ending begins.
STEM_CHARACTERS: Final = len(prefix(NodeId(b"0" * 40))) + RANDOM_CHARACTERS

# Re-queue and collection times vary by this much (-250..+249 ms): holders do not act at once.
JITTER_MS: Final = 500


@final
class Mint:
    """Makes ids and creation times that no other job of this node has."""

    __slots__ = ("_ctime", "_entropy", "_ids", "_prefix", "_retry_s", "_ttl_s")

    def __init__(self, node: NodeId, entropy: random.Random) -> None:
        self._entropy = entropy
        self._prefix = prefix(node)
        self._ctime = 0
        # Ids ready to be used, and the jobs they are for: most jobs are like the one before.
        self._ids: list[JobId] = []
        self._ttl_s = 0
        self._retry_s = 0

    def new_id(self, ttl_s: int, retry_s: int) -> JobId:
        """Return a fresh id."""
        if not self._ids:
            self._draw(ttl_s, retry_s)
        id = self._ids.pop()
        if ttl_s == self._ttl_s and retry_s == self._retry_s:
            return id
        return JobId(id[:STEM_CHARACTERS] + suffix(ttl_s, retry_s))

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
        self._ids.clear()

    def _draw(self, ttl_s: int, retry_s: int) -> None:
        characters = b2a_base64(self._entropy.randbytes(RANDOM_BYTES * BATCH), newline=False)
        ending = suffix(ttl_s, retry_s)
        # Joined and split, all ids get their two ends at the price of a few.
        between = b"%b %b" % (ending, self._prefix)
        stems = [
            characters[at : at + RANDOM_CHARACTERS]
            for at in range(0, len(characters), RANDOM_CHARACTERS)
        ]
        ids = (self._prefix + between.join(stems) + ending).split(b" ")
        self._ids = cast("list[JobId]", ids)
        self._ttl_s = ttl_s
        self._retry_s = retry_s


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
            # 16 bits are not a multiple of 500; nobody will notice by which half of a percent.
            raw = memoryview(self._random.randbytes(2 * BATCH)).cast("H")
            drawn.extend([number % JITTER_MS - JITTER_MS // 2 for number in raw.tolist()])
        return drawn.pop()
