"""Replies to clients that were blocked: data here, encoded by `disque.commands.replies`."""

from __future__ import annotations

from typing import final

from disque.model.job import Job, JobId

__all__ = ["Delivery", "ErrorReply", "IdReply", "JobsReply", "NothingReply", "Reply"]


class Reply:
    """Base of every reply the core makes by itself. `client` is the session's id."""

    __slots__ = ("client",)

    def __init__(self, client: int) -> None:
        self.client = client


@final
class Delivery:
    """What a client sees of a job it is given, copied at the moment of the fetch."""

    __slots__ = ("additional_deliveries", "body", "id", "nacks", "queue")

    def __init__(self, job: Job) -> None:
        self.queue: bytes = job.queue
        self.id: JobId = job.id
        self.body: bytes = job.body if job.body is not None else b""
        self.nacks: int = job.nacks
        self.additional_deliveries: int = job.additional_deliveries


@final
class JobsReply(Reply):
    """A blocked GETJOB got what it waited for."""

    __slots__ = ("deliveries", "with_counters")

    def __init__(self, client: int, deliveries: list[Delivery], with_counters: bool) -> None:
        self.client = client
        self.deliveries = deliveries
        self.with_counters = with_counters


@final
class NothingReply(Reply):
    """A blocked GETJOB ends empty-handed."""

    __slots__ = ()


@final
class IdReply(Reply):
    """A synchronous ADDJOB was replicated often enough."""

    __slots__ = ("id",)

    def __init__(self, client: int, id: JobId) -> None:
        self.client = client
        self.id = id


@final
class ErrorReply(Reply):
    """A blocked command failed."""

    __slots__ = ("code", "sentence")

    def __init__(self, client: int, code: str, sentence: str) -> None:
        self.client = client
        self.code = code
        self.sentence = sentence
