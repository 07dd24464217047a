"""Where jobs are kept: registry, queues, timers, memory account and journal, kept in step.

The machines decide what happens to a job; the shelf carries it out in every place that knows the
job, so that no machine can forget one of them.
"""

from __future__ import annotations

from typing import Final, final

from disque.core.awake import AwakeList
from disque.core.effects import Effects
from disque.core.memory import Memory
from disque.core.queues import Queues
from disque.core.registry import Registry
from disque.model.job import ACKED, ACTIVE, ANNOUNCE, QUEUED, WAIT_REPL, Job, NodeId
from disque.model.messages import Message
from disque.model.records import Deleted, Stored

__all__ = ["ANNOUNCE_MS", "Shelf"]

# The other holders hear of a re-queue this long before it happens, so that they can object.
ANNOUNCE_MS: Final = 500


@final
class Shelf:
    """The jobs of this node and everything that must agree about them."""

    __slots__ = ("awake", "effects", "jobs", "me", "memory", "only_me", "queues")

    def __init__(
        self,
        me: NodeId,
        jobs: Registry,
        queues: Queues,
        awake: AwakeList,
        memory: Memory,
        effects: Effects,
    ) -> None:
        self.me = me
        # Who holds a job that was not copied: one shared set for all of them.
        self.only_me = jobs.interned(frozenset((me,)))
        self.jobs = jobs
        self.queues = queues
        self.awake = awake
        self.memory = memory
        self.effects = effects

    def reschedule(self, job: Job) -> None:
        """Set the timer of a job that is not acknowledged to its next event."""
        at_ms = job.expires_ms
        if job.requeue_at_ms and job.state != WAIT_REPL:
            due_ms = job.requeue_at_ms
            if job.flags & ANNOUNCE:
                due_ms -= ANNOUNCE_MS
            if due_ms < at_ms:
                at_ms = due_ms
        self.awake.schedule(job, at_ms)

    def dequeue(self, job: Job) -> None:
        """Take a queued job out of its queue; it stays active."""
        assert job.state == QUEUED
        self.queues.by_name[job.queue].jobs.remove(job)
        job.state = ACTIVE

    def remove(self, job: Job) -> None:
        """Forget a job in any state but WAIT_REPL, which somebody waits for."""
        assert job.state != WAIT_REPL
        if job.state == QUEUED:
            self.dequeue(job)
        if self.effects.is_journaling and job.state != ACKED:
            self.effects.journal.append(Deleted(job.id))
        self.awake.cancel(job)
        spare = self.memory.spare
        if spare:
            spare.pop(job.id, None)
        self.jobs.remove(job)

    def store(self, job: Job) -> None:
        """Write the job, as it is now, into the journal."""
        if self.effects.is_journaling:
            self.effects.journal.append(Stored(job))

    def tell_holders(self, job: Job, message: Message) -> None:
        """Send `message` to every other node that may hold a copy."""
        if not self.is_only_holder(job):
            for holder in sorted(job.held_by):
                if holder != self.me:
                    self.effects.outbox.append((holder, message))

    def is_only_holder(self, job: Job) -> bool:
        """Tell whether nobody else can have a copy."""
        holders = job.held_by
        # Interned, so that one look is enough for nearly every job of a node that is alone.
        return holders is self.only_me or (len(holders) == 1 and self.me in holders)

    def rename(self, me: NodeId) -> None:
        """Be this node from now on; there are no jobs."""
        self.me = me
        self.only_me = self.jobs.interned(frozenset((me,)))
