"""Queueing, delivery and re-queueing of jobs.

Theory of operation
===================

    ACTIVE --enqueue--> QUEUED --fetch--> ACTIVE --(retry)--> QUEUED ...

Each time a job is queued, its next re-queue is set to RETRY seconds later (with `retry-from
delivered`, again when it is handed out). Half a second before, the other holders are told, so
that one that has it queued can object. An at-most-once job (RETRY 0) is queued by nobody once it
was handed out.

The first queueing on the node that made the job is silent and uncounted; every later one is
announced to the other holders and counts as a nack or an additional delivery.
"""

from __future__ import annotations

from typing import Final, final

from disque.core.mint import Jitter
from disque.core.queues import PAUSED_IN, PAUSED_OUT, Queue
from disque.core.shelf import ANNOUNCE_MS, Shelf
from disque.model.job import ACTIVE, ANNOUNCE, DELIVERED, QUEUED, QUEUED_BEFORE, Job
from disque.model.messages import Queued, WillQueue, Working
from disque.model.records import Delivered
from disque.model.settings import Settings

__all__ = ["Requeue"]

# Counters travel and are stored in 16 bits; they are for people and thresholds, not for sums.
COUNTER_MAX: Final = 65_535
# The flags of a job that is queued and will be again.
ON_ITS_WAY: Final = QUEUED_BEFORE | ANNOUNCE


@final
class Requeue:
    """Moves jobs into queues and out of them.

    `ready` names the queues that got jobs while clients wait for them; the node serves them.
    """

    __slots__ = (
        "_awake",
        "_is_from_delivery",
        "_jitter",
        "_offsets",
        "_settings",
        "_shelf",
        "ready",
    )

    def __init__(self, shelf: Shelf, settings: Settings, jitter: Jitter) -> None:
        self._shelf = shelf
        self._awake = shelf.awake
        self._settings = settings
        self._jitter = jitter
        self._offsets = jitter.drawn
        self._is_from_delivery = False
        self.ready: dict[bytes, None] = {}
        self.settings_changed()

    def settings_changed(self) -> None:
        """Recompute what is derived from settings."""
        self._is_from_delivery = self._settings.retry_from == "delivered"

    def launch(self, job: Job, now_ms: int) -> None:
        """Queue a new job, or schedule its first queueing if it is delayed."""
        if job.delay_s == 0:
            self.put(job, None, now_ms)
            return
        job.state = ACTIVE
        job.requeue_at_ms = now_ms + job.delay_s * 1_000
        self._shelf.reschedule(job)

    def enqueue(self, job: Job, is_nack: bool, now_ms: int) -> bool:
        """Put an active job into its queue; tell whether that was allowed."""
        if job.state != ACTIVE or (job.retry_s == 0 and job.flags & DELIVERED):
            return False
        if is_nack or job.flags & QUEUED_BEFORE:
            self._count(job, is_nack)
        self.put(job, None, now_ms)
        return True

    def put(self, job: Job, queue: Queue | None, now_ms: int) -> None:
        """Queue a job that is in no queue, and make its next appointment.

        `queue` is its queue, or None if that is not known, or not there yet.
        """
        job.state = QUEUED
        at_ms = expires_ms = job.expires_ms
        if job.retry_s:
            offsets = self._offsets
            offset_ms = offsets.pop() if offsets else self._jitter.next_ms()
            job.requeue_at_ms = due_ms = now_ms + job.retry_s * 1_000 + offset_ms
            job.flags |= ON_ITS_WAY
            # As `Shelf.reschedule` would, which is asked for every new job.
            due_ms -= ANNOUNCE_MS
            if due_ms < expires_ms:
                at_ms = due_ms
        else:
            job.requeue_at_ms = 0
            job.flags |= QUEUED_BEFORE
        self._awake.schedule(job, at_ms)
        if queue is None:
            queue = self._shelf.queues.open(job.queue, now_ms)
        # One name object per queue, not one per job.
        job.queue = queue.name
        queue.jobs.insert(job)
        queue.used_ms = now_ms
        queue.jobs_in += 1
        if queue.waiting:
            self.note_ready(queue)

    def note_ready(self, queue: Queue) -> None:
        """Have the waiters of `queue` served, if it has jobs to give."""
        if queue.waiting and not queue.paused & PAUSED_OUT and len(queue.jobs):
            self.ready[queue.name] = None

    def fetch(self, queue: Queue, now_ms: int) -> Job | None:
        """Take the oldest job that has not expired, to be handed out."""
        if queue.paused and queue.paused & PAUSED_OUT:
            return None
        job = queue.jobs.pop_first()
        if job is None:
            return None
        job.state = ACTIVE
        if job.expires_ms <= now_ms:
            job = self._first_alive(job, queue, now_ms)
            if job is None:
                return None
        queue.used_ms = now_ms
        queue.jobs_out += 1
        job.flags |= DELIVERED
        if not job.retry_s:
            self._give_up(job)
        elif self._is_from_delivery:
            self._postpone(job, now_ms)
        return job

    def _first_alive(self, expired: Job, queue: Queue, now_ms: int) -> Job | None:
        """Forget an expired job that was taken from its queue, and those behind it."""
        job: Job | None = expired
        while job is not None and job.expires_ms <= now_ms:
            self._shelf.remove(job)
            job = queue.jobs.pop_first()
            if job is not None:
                job.state = ACTIVE
        return job

    def work(self, job: Job, now_ms: int) -> None:
        """A worker is busy with the job: do not deliver it before another retry period."""
        if job.retry_s == 0:
            return
        if job.state == QUEUED:
            self._shelf.dequeue(job)
        if job.flags & QUEUED_BEFORE:
            self._postpone(job, now_ms)
        else:
            # The first, delayed queueing is never moved to an earlier moment.
            earliest_ms = job.requeue_at_ms
            self._postpone(job, now_ms)
            if job.requeue_at_ms < earliest_ms:
                job.requeue_at_ms = earliest_ms
                self._shelf.reschedule(job)
        self._shelf.tell_holders(job, Working(job.id))

    def on_timer(self, job: Job, now_ms: int) -> None:
        """The re-queue time of a job is near or here."""
        if job.flags & ANNOUNCE and job.requeue_at_ms - ANNOUNCE_MS <= now_ms:
            job.flags &= ~ANNOUNCE
            if job.state == ACTIVE:
                self._shelf.tell_holders(job, WillQueue(job.id))
        if job.requeue_at_ms == 0 or job.requeue_at_ms > now_ms:
            self._shelf.reschedule(job)
            return
        if job.state == QUEUED or (job.retry_s and self._is_paused_in(job)):
            self._postpone(job, now_ms)
        elif not self.enqueue(job, is_nack=False, now_ms=now_ms):
            job.requeue_at_ms = 0
            self._shelf.reschedule(job)

    def _postpone(self, job: Job, now_ms: int) -> None:
        job.requeue_at_ms = now_ms + job.retry_s * 1_000 + self._jitter.next_ms()
        job.flags |= ANNOUNCE
        self._shelf.reschedule(job)

    def _count(self, job: Job, is_nack: bool) -> None:
        if is_nack:
            job.nacks = min(job.nacks + 1, COUNTER_MAX)
        else:
            job.additional_deliveries = min(job.additional_deliveries + 1, COUNTER_MAX)
        self._shelf.tell_holders(job, Queued(job.id, is_nack, is_delivery=not is_nack))

    def _give_up(self, job: Job) -> None:
        """Note that an at-most-once job is about to be handed out, before it is."""
        if self._shelf.effects.is_journaling:
            self._shelf.effects.journal.append(Delivered(job.id))
        self._shelf.memory.spare[job.id] = job

    def _is_paused_in(self, job: Job) -> bool:
        queue = self._shelf.queues.get(job.queue)
        return queue is not None and bool(queue.paused & PAUSED_IN)
