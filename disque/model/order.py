"""What a producer asks for: the arguments of ADDJOB, checked and complete."""

from __future__ import annotations

from typing import final

__all__ = ["JobOrder"]


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
