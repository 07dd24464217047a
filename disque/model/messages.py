"""Messages nodes exchange over the cluster bus."""

from __future__ import annotations

from typing import final

from disque.model.job import JobId
from disque.model.records import Stored

__all__ = [
    "DelJob",
    "GotAck",
    "GotJob",
    "Message",
    "Pause",
    "Queued",
    "ReplJob",
    "SetAck",
    "WillQueue",
    "Working",
]


class Message:
    """Base of every bus message."""

    __slots__ = ()


@final
class ReplJob(Message):
    """Keep a copy of this job; answer with GotJob if `wants_reply`."""

    __slots__ = ("job", "wants_reply")

    def __init__(self, job: Stored, wants_reply: bool) -> None:
        self.job = job
        self.wants_reply = wants_reply


@final
class GotJob(Message):
    """Answer to ReplJob: the sender holds a copy."""

    __slots__ = ("job_id",)

    def __init__(self, job_id: JobId) -> None:
        self.job_id = job_id


@final
class WillQueue(Message):
    """The sender is about to queue this job again, unless somebody has it queued already."""

    __slots__ = ("job_id",)

    def __init__(self, job_id: JobId) -> None:
        self.job_id = job_id


@final
class Queued(Message):
    """The sender queued this job: postpone yours, and count what happened."""

    __slots__ = ("is_delivery", "is_nack", "job_id")

    def __init__(self, job_id: JobId, is_nack: bool, is_delivery: bool) -> None:
        self.job_id = job_id
        self.is_nack = is_nack
        self.is_delivery = is_delivery


@final
class Working(Message):
    """A worker is still busy with this job: take it off the queue and postpone it."""

    __slots__ = ("job_id",)

    def __init__(self, job_id: JobId) -> None:
        self.job_id = job_id


@final
class SetAck(Message):
    """This job was acknowledged; answer with GotAck."""

    __slots__ = ("job_id",)

    def __init__(self, job_id: JobId) -> None:
        self.job_id = job_id


@final
class GotAck(Message):
    """Answer to SetAck. `known` tells whether the sender holds the job itself."""

    __slots__ = ("job_id", "known")

    def __init__(self, job_id: JobId, known: bool) -> None:
        self.job_id = job_id
        self.known = known


@final
class DelJob(Message):
    """Forget this job."""

    __slots__ = ("job_id",)

    def __init__(self, job_id: JobId) -> None:
        self.job_id = job_id


@final
class Pause(Message):
    """Adopt this pause state for the queue."""

    __slots__ = ("flags", "queue")

    def __init__(self, queue: bytes, flags: int) -> None:
        self.queue = queue
        self.flags = flags
