"""Acknowledgement and garbage collection of jobs.

Theory of operation
===================

A job may be dropped only when every node that may hold a copy knows it was acknowledged;
otherwise a holder that never heard would deliver it again.

    ACKED  --SETACK-->  each holder          (repeated, backing off)
           <--GOTACK--  each holder
           --DELJOB-->  all holders, then forget

A job that only this node holds is gone at once. The collector retries for ever: giving up would
leak the copy, and the job's own TTL bounds the work.

A node that is told of an acknowledgement for a job it does not know keeps a *dummy*: an
acknowledged job without a body, which asks every node until one that has the job takes over.
"""

from __future__ import annotations

from typing import Final, final

from disque.core.membership import Membership
from disque.core.mint import Jitter
from disque.core.shelf import Shelf
from disque.model.job import ACKED, QUEUED, WAIT_REPL, Job, JobId, NodeId
from disque.model.jobid import is_at_least_once, ttl_minutes
from disque.model.messages import DelJob, GotAck, SetAck
from disque.model.records import Deleted

__all__ = ["AckGC"]

RETRY_MS_MIN: Final = 1_000
RETRY_MS_MAX: Final = 180_000
# 2**8 * RETRY_MS_MIN > RETRY_MS_MAX, so counting further changes nothing.
ATTEMPTS_MAX: Final = 8
# An id tells the TTL in whole minutes, rounded down; a dummy must outlive the job it speaks of.
DUMMY_EXTRA_MINUTES: Final = 2


@final
class AckGC:
    """Drives acknowledged jobs to deletion on every node that holds them."""

    __slots__ = ("_jitter", "_membership", "_shelf")

    def __init__(self, shelf: Shelf, membership: Membership, jitter: Jitter) -> None:
        self._shelf = shelf
        self._membership = membership
        self._jitter = jitter

    def acknowledge(self, job: Job, now_ms: int) -> None:
        """Acknowledge a job that other nodes may hold, and start collecting it."""
        assert job.state not in (WAIT_REPL, ACKED)
        self._mark(job)
        self.collect(job, now_ms)

    def acknowledge_unknown(self, id: JobId, now_ms: int) -> None:
        """Remember the acknowledgement of a job that another node may hold."""
        membership = self._membership
        if membership.size() == 1 or membership.is_leaving or not is_at_least_once(id):
            return
        expires_ms = now_ms + (ttl_minutes(id) + DUMMY_EXTRA_MINUTES) * 60_000
        dummy = Job(id, b"", None, 0, expires_ms, 0, 0, 0, frozenset())
        dummy.state = ACKED
        dummy.confirmed_by = frozenset((self._shelf.me,))
        self._shelf.jobs.add(dummy)
        self._shelf.memory.spare[dummy.id] = dummy
        self.collect(dummy, now_ms)

    def collect(self, job: Job, now_ms: int) -> None:
        """Ask the holders that have not confirmed yet, and retry later."""
        assert job.state == ACKED
        missing = self._targets(job) - job.confirmed_by
        if not missing:
            self._finish(job)
            return
        for peer in sorted(missing):
            self._shelf.effects.outbox.append((peer, SetAck(job.id)))
        self._shelf.awake.schedule(job, min(self._retry_at_ms(job, now_ms), job.expires_ms))

    def on_set_ack(self, sender: NodeId, message: SetAck, now_ms: int) -> None:
        """A peer says the job was acknowledged."""
        job = self._shelf.jobs.get(message.job_id)
        if job is not None and job.state != ACKED:
            self._mark(job)
            at_ms = min(self._retry_at_ms(job, now_ms), job.expires_ms)
            self._shelf.awake.schedule(job, at_ms)
        # Two dummies must not send each other away: only a real copy counts as known.
        is_known = job is not None and job.body is not None
        self._shelf.effects.outbox.append((sender, GotAck(message.job_id, is_known)))

    def on_got_ack(self, sender: NodeId, message: GotAck) -> None:
        """A peer confirms that it knows of the acknowledgement."""
        job = self._shelf.jobs.get(message.job_id)
        if job is None or job.state != ACKED:
            return
        if job.body is None and message.known:
            # The sender holds the job itself and takes over.
            self._shelf.remove(job)
            return
        if message.known:
            job.held_by = self._shelf.jobs.interned(job.held_by | {sender})
        job.confirmed_by = self._shelf.jobs.interned(job.confirmed_by | {sender})
        if self._targets(job) <= job.confirmed_by:
            self._finish(job)

    def _mark(self, job: Job) -> None:
        shelf = self._shelf
        if job.state == QUEUED:
            shelf.dequeue(job)
        if shelf.effects.is_journaling:
            shelf.effects.journal.append(Deleted(job.id))
        job.state = ACKED
        job.requeue_at_ms = 0
        job.confirmed_by = shelf.jobs.interned(frozenset((shelf.me,)))
        shelf.memory.spare[job.id] = job

    def _targets(self, job: Job) -> frozenset[NodeId]:
        """Who must know: the holders, or everybody if we do not know who holds it."""
        return job.held_by if job.body is not None else self._membership.known_ids()

    def _finish(self, job: Job) -> None:
        self._shelf.tell_holders(job, DelJob(job.id))
        self._shelf.remove(job)

    def _retry_at_ms(self, job: Job, now_ms: int) -> int:
        delay_ms = min(RETRY_MS_MIN << job.gc_attempts, RETRY_MS_MAX)
        job.gc_attempts = min(job.gc_attempts + 1, ATTEMPTS_MAX)
        return now_ms + delay_ms + self._jitter.next_ms()
