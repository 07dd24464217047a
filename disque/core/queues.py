"""Queues: named lists of jobs, with pauses and statistics.

A queue appears when something is put into it, asked from it or paused on it, and is forgotten
when it has been idle and empty for a while. Like the registry, the set of queues keeps a dense
table so that QSCAN has a stateless cursor.

A queue that somebody merely asked for costs memory and holds nothing. Only so many of them are
kept; beyond that the oldest is forgotten at once, so that a consumer that asks for ever new names
cannot take the memory that producers need.
"""

from __future__ import annotations

import random
from typing import Final, final

from disque.core.account import Account
from disque.core.awake import AwakeList
from disque.core.skiplist import JobList
from disque.model.job import NodeId
from disque.model.limits import MENTIONED_QUEUES_BYTES_MAX, QUEUE_BYTES
from disque.model.timed import Timed

__all__ = [
    "IDLE_MS_MAX",
    "NOT_PAUSED",
    "PAUSED_ALL",
    "PAUSED_IN",
    "PAUSED_OUT",
    "PAUSE_NAMES",
    "Queue",
    "Queues",
]

NOT_PAUSED: Final = 0
PAUSED_IN: Final = 1
PAUSED_OUT: Final = 2
PAUSED_ALL: Final = 3
PAUSE_NAMES: Final = (b"none", b"in", b"out", b"all")

# How long an empty queue is remembered, by memory level (0, 1, 2 and above).
IDLE_MS_MAX: Final = (300_000, 10_000, 2_000)
# Under memory pressure, how often and how far the table is swept for idle queues.
SWEEP_MS: Final = 100
SWEEP_QUEUES_MAX: Final = 200

# The import rate is counted in windows of one second and forgotten after five.
IMPORT_WINDOW_MS: Final = 1_000
IMPORT_MEMORY_MS: Final = 5_000
IMPORT_SPAN_MS_MIN: Final = 50


@final
class Queue(Timed):
    """One queue. `waiting` holds the ids of blocked clients in the order they blocked."""

    __slots__ = (
        "created_ms",
        "import_count",
        "import_count_before",
        "import_from_ms",
        "import_from_ms_before",
        "jobs",
        "jobs_in",
        "jobs_out",
        "name",
        "paused",
        "sources",
        "table_slot",
        "used_ms",
        "waiting",
    )

    def __init__(self, name: bytes, jitter: random.Random, now_ms: int) -> None:
        self.awake_ms = 0
        self.awake_slot = 0
        self.name = name
        self.jobs = JobList(jitter)
        self.waiting: dict[int, None] = {}
        self.paused = NOT_PAUSED
        self.created_ms = now_ms
        self.used_ms = now_ms
        self.jobs_in = 0
        self.jobs_out = 0
        self.import_count = 0
        self.import_count_before = 0
        self.import_from_ms = now_ms
        self.import_from_ms_before = now_ms
        # Nodes that sent us jobs lately, and when they last did.
        self.sources: dict[NodeId, int] = {}
        self.table_slot = 0

    def note_import(self, now_ms: int) -> None:
        """Count one job received from another node."""
        if now_ms - self.import_from_ms > IMPORT_WINDOW_MS:
            self.import_from_ms_before = self.import_from_ms
            self.import_count_before = self.import_count
            self.import_from_ms = now_ms
            self.import_count = 0
        self.import_count += 1

    def import_rate(self, now_ms: int) -> int:
        """Return jobs per second received from other nodes, rounded up."""
        if now_ms - self.import_from_ms > IMPORT_MEMORY_MS:
            return 0
        span_ms = max(now_ms - self.import_from_ms_before, IMPORT_SPAN_MS_MIN)
        count = self.import_count + self.import_count_before
        return -(-count * 1_000 // span_ms)

    def is_unused(self) -> bool:
        """Tell whether nothing was ever put into it, and nobody waits for it or paused it."""
        return self.jobs_in == 0 and not self.waiting and self.paused == NOT_PAUSED

    def can_be_forgotten(self, now_ms: int, idle_ms: int) -> bool:
        """Tell whether nothing would be lost with this queue."""
        return (
            len(self.jobs) == 0
            and not self.waiting
            and self.paused == NOT_PAUSED
            and now_ms - self.used_ms >= idle_ms
        )


@final
class Queues:
    """All queues of this node, by name."""

    __slots__ = (
        "_account",
        "_awake",
        "_jitter",
        "_mentioned",
        "_mentioned_bytes",
        "_sweep_at",
        "by_name",
        "table",
    )

    def __init__(self, account: Account, awake: AwakeList, jitter: random.Random) -> None:
        self._account = account
        self._awake = awake
        self._jitter = jitter
        self._sweep_at = 0
        # Queues that were asked for when nothing had been put into them, the oldest first.
        self._mentioned: dict[bytes, Queue] = {}
        self._mentioned_bytes = 0
        self.by_name: dict[bytes, Queue] = {}
        self.table: list[Queue] = []

    def count(self) -> int:
        """Return the number of queues."""
        return len(self.table)

    def get(self, name: bytes) -> Queue | None:
        """Return the queue, or None if there is none of that name."""
        return self.by_name.get(name)

    def open(self, name: bytes, now_ms: int) -> Queue:
        """Return the queue, made now if there is none."""
        queue = self.by_name.get(name)
        if queue is None:
            queue = Queue(name, self._jitter, now_ms)
            self.by_name[name] = queue
            queue.table_slot = len(self.table)
            self.table.append(queue)
            self._account.used_bytes += QUEUE_BYTES + len(name)
            self._awake.schedule(queue, now_ms + IDLE_MS_MAX[0])
        return queue

    def mention(self, name: bytes, now_ms: int) -> Queue:
        """Return the queue; if it is made for this, it must make do with what room there is."""
        queue = self.by_name.get(name)
        if queue is None:
            queue = self.open(name, now_ms)
            self.note_unused(queue)
        return queue

    def note_unused(self, queue: Queue) -> None:
        """Count a queue that nothing was put into yet; forget the oldest such ones if need be."""
        if not queue.is_unused() or queue.name in self._mentioned:
            return
        self._mentioned[queue.name] = queue
        self._mentioned_bytes += QUEUE_BYTES + len(queue.name)
        while self._mentioned_bytes > MENTIONED_QUEUES_BYTES_MAX:
            oldest = next(iter(self._mentioned.values()))
            self._unmention(oldest)
            if oldest.is_unused():
                self.forget(oldest)

    def _unmention(self, queue: Queue) -> None:
        if self._mentioned.pop(queue.name, None) is not None:
            self._mentioned_bytes -= QUEUE_BYTES + len(queue.name)

    def forget(self, queue: Queue) -> None:
        """Drop a queue."""
        self._unmention(queue)
        self._awake.cancel(queue)
        del self.by_name[queue.name]
        last = self.table.pop()
        if last is not queue:
            self.table[queue.table_slot] = last
            last.table_slot = queue.table_slot
        self._account.release(QUEUE_BYTES + len(queue.name))

    def on_timer(self, queue: Queue, now_ms: int) -> None:
        """Forget the queue if it is idle, else look again when it can be."""
        if queue.can_be_forgotten(now_ms, IDLE_MS_MAX[0]):
            self.forget(queue)
            return
        # A queue in use has a later `used_ms`; one that is idle but not empty is looked at again
        # after a whole period, because nothing tells when it will be.
        due_ms = queue.used_ms + IDLE_MS_MAX[0]
        self._awake.schedule(queue, due_ms if due_ms > now_ms else now_ms + IDLE_MS_MAX[0])

    def sweep(self, now_ms: int, level: int) -> None:
        """Under memory pressure, forget idle queues sooner; look at a bounded number per call."""
        idle_ms = IDLE_MS_MAX[min(level, 2)]
        for _ in range(min(SWEEP_QUEUES_MAX, len(self.table))):
            if self._sweep_at <= 0:
                self._sweep_at = len(self.table)
            self._sweep_at = min(self._sweep_at, len(self.table)) - 1
            if self._sweep_at < 0:
                return
            queue = self.table[self._sweep_at]
            if queue.can_be_forgotten(now_ms, idle_ms):
                self.forget(queue)
