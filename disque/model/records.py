"""Journal records: what must be remembered before anything that promises it leaves.

Records are snapshots: the job may change again before the turn ends, so the scalars are copied
when the record is made; body and holder set are immutable and shared.
"""

from __future__ import annotations

from typing import final

from disque.model.job import Job, JobId, NodeId

__all__ = ["Deleted", "Delivered", "Record", "Stored"]


class Record:
    """Base of every journal record."""

    __slots__ = ()


@final
class Stored(Record):
    """The job exists here, in this state. Writing it again replaces the earlier record."""

    __slots__ = (
        "additional_deliveries",
        "body",
        "ctime",
        "delay_s",
        "expires_ms",
        "flags",
        "held_by",
        "id",
        "nacks",
        "queue",
        "replicate",
        "requeue_at_ms",
        "retry_s",
        "state",
    )

    def __init__(self, job: Job) -> None:
        self.id: JobId = job.id
        self.queue: bytes = job.queue
        self.body: bytes | None = job.body
        self.state: int = job.state
        self.flags: int = job.flags
        self.replicate: int = job.replicate
        self.ctime: int = job.ctime
        self.expires_ms: int = job.expires_ms
        self.delay_s: int = job.delay_s
        self.retry_s: int = job.retry_s
        self.nacks: int = job.nacks
        self.additional_deliveries: int = job.additional_deliveries
        self.requeue_at_ms: int = job.requeue_at_ms
        self.held_by: frozenset[NodeId] = job.held_by


@final
class Deleted(Record):
    """The job is acknowledged or gone: do not bring it back."""

    __slots__ = ("id",)

    def __init__(self, id: JobId) -> None:
        self.id = id


@final
class Delivered(Record):
    """An at-most-once job is about to be handed out: never queue it again."""

    __slots__ = ("id",)

    def __init__(self, id: JobId) -> None:
        self.id = id
