"""What clients ask for: the arguments of ADDJOB and GETJOB, checked and complete."""

from __future__ import annotations

from typing import final

__all__ = ["FetchOrder", "JobOrder"]


@final
class JobOrder:
    """A job to be made. `timeout_ms` 0 waits for ever; `length_max` 0 means no limit."""

    __slots__ = (
        "body",
        "delay_s",
        "is_async",
        "length_max",
        "queue",
        "replicate",
        "retry_s",
        "timeout_ms",
        "ttl_s",
    )

    def __init__(
        self, queue: bytes, body: bytes, timeout_ms: int, replicate: int, ttl_s: int, retry_s: int
    ) -> None:
        self.queue = queue
        self.body = body
        self.timeout_ms = timeout_ms
        self.replicate = replicate
        self.ttl_s = ttl_s
        self.retry_s = retry_s
        self.delay_s = 0
        self.length_max = 0
        self.is_async = False


@final
class FetchOrder:
    """Jobs to be fetched from `queues`. `timeout_ms` 0 waits for ever.

    `is_single` marks the usual case: one job of one queue, without counters. Its reply begins
    with `reply_head`, whatever the job is.
    """

    __slots__ = (
        "count",
        "is_single",
        "is_waiting",
        "queues",
        "reply_head",
        "timeout_ms",
        "with_counters",
    )

    def __init__(self) -> None:
        self.queues: list[bytes] = []
        self.count = 1
        self.timeout_ms = 0
        self.is_waiting = True
        self.with_counters = False
        self.is_single = False
        self.reply_head = b""
