"""Jobs that wait for copies on other nodes.

Theory of operation
===================

    ADDJOB --> WAIT_REPL --REPLJOB--> peers
                         <--GOTJOB--  peers       enough of them: the producer gets its id
                         deadline, disconnect, deletion: the producer gets NOREPL, peers DELJOB

While a job waits it is registered (so that an id can be looked up and acknowledged) but in no
queue; its producer is known here by the client's id.
"""

from __future__ import annotations

import random
from typing import final

from disque.core.shelf import Shelf
from disque.model.job import ACTIVE, WAIT_REPL, Job, JobId, NodeId
from disque.model.messages import DelJob, ReplJob
from disque.model.peer import Peer
from disque.model.records import Stored
from disque.model.replies import ErrorReply, IdReply
from disque.model.timed import Timed

__all__ = ["PendingCopies", "Replication"]


@final
class PendingCopies(Timed):
    """A producer that waits until its job has been copied often enough."""

    __slots__ = ("client", "job")

    def __init__(self, client: int, job: Job) -> None:
        self.awake_ms = 0
        self.awake_slot = 0
        self.client = client
        self.job = job


@final
class Replication:
    """Gets jobs copied to other nodes before their producers are answered."""

    __slots__ = ("_jitter", "_shelf", "by_job")

    def __init__(self, shelf: Shelf, jitter: random.Random) -> None:
        self._shelf = shelf
        self._jitter = jitter
        self.by_job: dict[JobId, PendingCopies] = {}

    def send_copies(self, job: Job, peers: list[Peer], count: int, wants_reply: bool) -> None:
        """Choose `count` peers as holders and send them the job."""
        chosen = self._jitter.sample(peers, count)
        job.held_by = self._shelf.jobs.interned(job.held_by | {peer.id for peer in chosen})
        copy = Stored(job)
        for peer in chosen:
            self._shelf.effects.outbox.append((peer.id, ReplJob(copy, wants_reply)))

    def wait(self, client: int, job: Job, timeout_ms: int, now_ms: int) -> None:
        """Let `client` wait until the copies are confirmed; timeout 0 waits for ever."""
        assert job.state == WAIT_REPL
        job.confirmed_by = self._shelf.jobs.interned(frozenset((self._shelf.me,)))
        pending = PendingCopies(client, job)
        self.by_job[job.id] = pending
        if timeout_ms:
            self._shelf.awake.schedule(pending, now_ms + timeout_ms)
        self._shelf.reschedule(job)

    def on_got_job(self, sender: NodeId, id: JobId) -> Job | None:
        """Note a confirmation; return the job if it was the last one needed."""
        job = self._shelf.jobs.get(id)
        if job is None or job.state != WAIT_REPL:
            return None
        jobs = self._shelf.jobs
        if sender not in job.held_by:
            # It has a copy, whoever asked it to; it must hear of the acknowledgement too.
            job.held_by = jobs.interned(job.held_by | {sender})
        job.confirmed_by = jobs.interned(job.confirmed_by | {sender})
        return job if len(job.confirmed_by) >= job.replicate else None

    def complete(self, job: Job) -> None:
        """Answer the producer; the job is active now and the caller launches it."""
        self._finish(job)
        job.confirmed_by = job.held_by

    def abandon(self, job: Job, sentence: str) -> None:
        """Tell the producer that the job failed; the caller removes it."""
        pending = self.by_job[job.id]
        if sentence:
            self._shelf.effects.replies.append(ErrorReply(pending.client, "NOREPL", sentence))
        self._drop(pending)
        self._shelf.tell_holders(job, DelJob(job.id))

    def jobs_of(self, client: int) -> list[Job]:
        """Return the jobs `client` waits for."""
        return [pending.job for pending in self.by_job.values() if pending.client == client]

    def _finish(self, job: Job) -> None:
        pending = self.by_job[job.id]
        self._shelf.effects.replies.append(IdReply(pending.client, job.id))
        self._drop(pending)

    def _drop(self, pending: PendingCopies) -> None:
        self._shelf.awake.cancel(pending)
        del self.by_job[pending.job.id]
        pending.job.state = ACTIVE
