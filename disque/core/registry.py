"""Every job this node knows, by id.

Beside the dictionary there is a dense table. It gives scans a stateless cursor: a position in the
table, walked downwards. Removing a job moves the last one into its place; seen from a cursor
that goes down, that never carries an unseen job past it, so whatever is there during a whole scan
is returned at least once. The same table lets a rewrite of the journal walk all jobs in slices.

The dictionary is 64 small ones, chosen by a random character of the id. A dictionary that is full
moves all its entries at once: with three million jobs in a single one, the loop would stand still
for almost half a second. Each of the small ones is moved in a few milliseconds, at its own time.
"""

from __future__ import annotations

from typing import Final, final

from disque.core.account import Account
from disque.model.job import Job, JobId, NodeId
from disque.model.limits import JOB_BYTES

__all__ = ["Registry"]

# Distinct holder sets are few: one per combination of nodes. Beyond this, forget and start over.
HOLDER_SETS_MAX: Final = 10_000

# The last random character of an id: its value chooses the dictionary. 64 of 256 ever occur.
SHARD_AT: Final = 34
SHARDS: Final = 256


@final
class Registry:
    """The jobs of this node."""

    __slots__ = ("_account", "_holder_sets", "_shards", "table")

    def __init__(self, account: Account) -> None:
        self._account = account
        # By plain bytes, so that what a client sent can be looked up as it is.
        self._shards: list[dict[bytes, Job]] = [{} for _ in range(SHARDS)]
        self.table: list[Job] = []
        self._holder_sets: dict[frozenset[NodeId], frozenset[NodeId]] = {}

    def count(self) -> int:
        """Return the number of jobs in any state."""
        return len(self.table)

    def get(self, id: bytes) -> Job | None:
        """Return the job, or None if this node does not know it. An id has forty characters."""
        return self._shards[id[SHARD_AT]].get(id)

    def ids(self) -> set[JobId]:
        """Return every id there is: for checks, it looks at all of them."""
        return {JobId(id) for shard in self._shards for id in shard}

    def add(self, job: Job) -> None:
        """Register a job whose id is not known yet."""
        id = job.id
        known = self._shards[id[SHARD_AT]].setdefault(id, job)
        assert known is job
        table = self.table
        job.table_slot = len(table)
        table.append(job)
        body = job.body
        self._account.used_bytes += (
            JOB_BYTES + len(job.queue) + (len(body) if body is not None else 0)
        )

    def remove(self, job: Job) -> None:
        """Forget a registered job."""
        id = job.id
        del self._shards[id[SHARD_AT]][id]
        last = self.table.pop()
        if last is not job:
            self.table[job.table_slot] = last
            last.table_slot = job.table_slot
        body = job.body
        self._account.used_bytes -= (
            JOB_BYTES + len(job.queue) + (len(body) if body is not None else 0)
        )

    def interned(self, holders: frozenset[NodeId]) -> frozenset[NodeId]:
        """Return the one shared object for this set of nodes."""
        known = self._holder_sets.get(holders)
        if known is not None:
            return known
        if len(self._holder_sets) >= HOLDER_SETS_MAX:
            self._holder_sets.clear()
        self._holder_sets[holders] = holders
        return holders
