"""New jobs: their ids, drawn in bulk, and their creation times.

18 random bytes are exactly 24 base64 characters, so one block of entropy encodes into hundreds
of ids at once, without padding and without touching the operating system for each job.
"""

from __future__ import annotations

import random
from binascii import b2a_base64
from struct import Struct
from typing import Final, cast, final

from disque.model.job import Job, JobId, NodeId
from disque.model.jobid import LENGTH, RANDOM_BYTES, RANDOM_CHARACTERS, prefix, suffix
from disque.model.order import JobOrder

__all__ = ["JITTER_MS", "Jitter", "Mint"]

BATCH: Final = 256
# Cut a batch into pieces of equal length, in one go.
STEMS: Final = Struct(f"{RANDOM_CHARACTERS}s" * BATCH)
IDS: Final = Struct(f"{LENGTH}s" * BATCH)
# An id up to where its ending begins.
STEM_CHARACTERS: Final = len(prefix(NodeId(b"0" * 40))) + RANDOM_CHARACTERS

# Jobs of one millisecond are numbered; a node that made a million in one would run ahead a little.
CTIMES_PER_MS: Final = 1_000_000

# Re-queue and collection times vary by this much (-250..+249 ms): holders do not act at once.
JITTER_MS: Final = 500


@final
class Mint:
    """Makes jobs with ids and creation times that no other job of this node has."""

    __slots__ = (
        "_ctime",
        "_entropy",
        "_expires_ms",
        "_expiry_ttl_s",
        "_ids",
        "_minted_ms",
        "_prefix",
        "_retry_s",
        "_ttl_s",
    )

    def __init__(self, node: NodeId, entropy: random.Random) -> None:
        self._entropy = entropy
        self._prefix = prefix(node)
        self._ctime = 0
        # When the last job was made, and when it expires: those made with it share the number.
        self._minted_ms = 0
        self._expiry_ttl_s = 0
        self._expires_ms = 0
        # Ids ready to be used, and the jobs they are for: most jobs are like the one before.
        self._ids: list[JobId] = []
        self._ttl_s = 0
        self._retry_s = 0

    def new_job(self, order: JobOrder, holders: frozenset[NodeId], now_ms: int) -> Job:
        """Return a job as ordered, later than every earlier one."""
        ttl_s = order.ttl_s
        retry_s = order.retry_s
        if not self._ids:
            self._draw(ttl_s, retry_s)
        id = self._ids.pop()
        if ttl_s != self._ttl_s or retry_s != self._retry_s:
            id = JobId(id[:STEM_CHARACTERS] + suffix(ttl_s, retry_s))
        if now_ms != self._minted_ms or ttl_s != self._expiry_ttl_s:
            self._begin(ttl_s, now_ms)
        self._ctime = ctime = self._ctime + 1
        return Job(
            id,
            order.queue,
            order.body,
            ctime,
            self._expires_ms,
            order.replicate,
            retry_s,
            order.delay_s,
            holders,
        )

    def rename(self, node: NodeId) -> None:
        """Make ids for the node's new name."""
        self._prefix = prefix(node)
        self._ids.clear()

    def _begin(self, ttl_s: int, now_ms: int) -> None:
        """Make ready for jobs made now, to live this long."""
        self._minted_ms = now_ms
        self._expiry_ttl_s = ttl_s
        self._expires_ms = now_ms + ttl_s * 1_000
        # The next job is the first of this millisecond, unless the clock ran behind.
        self._ctime = max(self._ctime, now_ms * CTIMES_PER_MS - 1)

    def _draw(self, ttl_s: int, retry_s: int) -> None:
        characters = b2a_base64(self._entropy.randbytes(RANDOM_BYTES * BATCH), newline=False)
        ending = suffix(ttl_s, retry_s)
        # Joined and cut again, all ids get their two ends at the price of a few.
        stems = cast("tuple[bytes, ...]", STEMS.unpack(characters))
        joined = self._prefix + (ending + self._prefix).join(stems) + ending
        self._ids = list(cast("tuple[JobId, ...]", IDS.unpack(joined)))
        self._ttl_s = ttl_s
        self._retry_s = retry_s


@final
class Jitter:
    """Random offsets around zero, drawn in bulk.

    Who needs one for every job takes it from `drawn` itself, as long as there are any.
    """

    __slots__ = ("_random", "drawn")

    def __init__(self, jitter: random.Random) -> None:
        self._random = jitter
        self.drawn: list[int] = []

    def next_ms(self) -> int:
        """Return an offset between -250 and +249 ms."""
        drawn = self.drawn
        if not drawn:
            # 16 bits are not a multiple of 500; nobody will notice by which half of a percent.
            raw = memoryview(self._random.randbytes(2 * BATCH)).cast("H")
            drawn.extend([number % JITTER_MS - JITTER_MS // 2 for number in raw.tolist()])
        return drawn.pop()
