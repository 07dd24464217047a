"""ACKJOB, FASTACK, DELJOB, ENQUEUE, NACK, DEQUEUE and WORKING: what workers say of jobs.

Commands that take several ids check all of them first: one bad id, and nothing is done.
"""

from __future__ import annotations

from typing import Final

from disque.commands.frontend import Frontend
from disque.commands.session import Session
from disque.model import jobid
from disque.model.errors import CommandError
from disque.model.job import ACKED, QUEUED, WAIT_REPL, Job, JobId
from disque.wire import resp

__all__ = ["ackjob", "deljob", "dequeue", "enqueue", "fastack", "nack", "working"]

NONE: Final = resp.integer(0)
ONE: Final = resp.integer(1)
# A global of this module is found sooner than one of another.
ID_LENGTH: Final = jobid.LENGTH


def ackjob(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """ACKJOB id ...: the jobs are done; reply with how many were known and not acknowledged."""
    node = front.node
    if len(argv) == 2 and len(argv[1]) == ID_LENGTH:
        # Most workers acknowledge one job at a time, and an id that is known is a good one.
        job = node.jobs.get(argv[1])
        if job is not None:
            return ONE if node.acknowledge_known(job, now_ms) else NONE
    ids = checked_ids(argv)
    return resp.integer(sum([node.acknowledge(id, now_ms) for id in ids]))


def fastack(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """FASTACK id ...: delete the jobs everywhere, best effort."""
    node = front.node
    ids = checked_ids(argv)
    return resp.integer(sum([node.delete_everywhere(id) for id in ids]))


def deljob(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """DELJOB id ...: delete the jobs on this node only."""
    deleted = 0
    for id in checked_ids(argv):
        job = front.node.jobs.get(id)
        if job is not None:
            front.node.delete(job)
            deleted += 1
    return resp.integer(deleted)


def enqueue(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """ENQUEUE id ...: queue active jobs now."""
    return queue_again(front, argv, is_nack=False, now_ms=now_ms)


def nack(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """NACK id ...: a worker failed; queue the jobs now and count it."""
    return queue_again(front, argv, is_nack=True, now_ms=now_ms)


def queue_again(front: Frontend, argv: list[bytes], is_nack: bool, now_ms: int) -> bytes:
    """Queue every active job of the list; reply with how many were queued."""
    queued = 0
    for job in known_jobs(front, argv):
        queued += front.node.requeue.enqueue(job, is_nack, now_ms)
    return resp.integer(queued)


def dequeue(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """DEQUEUE id ...: take queued jobs out of their queues; they come back after RETRY."""
    taken = 0
    for job in known_jobs(front, argv):
        if job.state == QUEUED:
            front.node.shelf.dequeue(job)
            taken += 1
    return resp.integer(taken)


def working(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """WORKING id: a worker is still busy; postpone the next delivery, reply with RETRY."""
    job = front.node.jobs.get(jobid.checked(argv[1]))
    if job is None or job.state == WAIT_REPL:
        raise CommandError("NOJOB", "Job not known in the context of this node.")
    if job.state == ACKED:
        raise CommandError("ACKED", "Job already acknowledged.")
    created_ms = job.ctime // 1_000_000
    if now_ms - created_ms > (job.expires_ms - created_ms) // 2:
        raise CommandError(
            "TOOLATE",
            "Half of job TTL already elapsed, "
            "you are no longer allowed to postpone the next delivery.",
        )
    front.node.requeue.work(job, now_ms)
    return resp.integer(job.retry_s)


def checked_ids(argv: list[bytes]) -> list[JobId]:
    """Check every id before anything is done with one of them."""
    return [jobid.checked(raw) for raw in argv[1:]]


def known_jobs(front: Frontend, argv: list[bytes]) -> list[Job]:
    """Return the jobs of the list that this node knows, in its order."""
    found = [front.node.jobs.get(id) for id in checked_ids(argv)]
    return [job for job in found if job is not None]
