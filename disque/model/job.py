"""A job as one node sees it: its fields, its four states, and nothing else.

Rule 1: this module holds data. Transitions live in `disque.core`.
Rule 2: every time is in milliseconds since the Unix epoch, on the local clock; `ctime` alone is
the creating node's clock, in nanosecond-like units, and only orders jobs.

A million of these are alive at once, so every slot counts: small integers are shared by the
interpreter, holder sets are interned by the registry, and the queue is known by its name.
"""

from __future__ import annotations

from typing import Final, NewType, final

from disque.model.timed import Timed

__all__ = [
    "ACKED",
    "ACTIVE",
    "ANNOUNCE",
    "DELIVERED",
    "QUEUED",
    "QUEUED_BEFORE",
    "STATE_NAMES",
    "WAIT_REPL",
    "Job",
    "JobId",
    "NodeId",
]

JobId = NewType("JobId", bytes)
NodeId = NewType("NodeId", bytes)

# Plain ints, not an Enum: state checks are the hottest branch in the server
# and mypyc inlines `Final` integers.
WAIT_REPL: Final = 0  # waiting to be replicated enough times
ACTIVE: Final = 1  # not acknowledged, not queued here
QUEUED: Final = 2  # not acknowledged, queued in this node
ACKED: Final = 3  # acknowledged, to be garbage collected

STATE_NAMES: Final = (b"wait-repl", b"active", b"queued", b"acked")

# Flags.
QUEUED_BEFORE: Final = 1  # the next queueing counts as an additional delivery and is announced
ANNOUNCE: Final = 2  # wake before the re-queue time and tell the other holders
DELIVERED: Final = 4  # handed to a client or another node by this node at least once


@final
class Job(Timed):
    """One copy of a job. `body` is None when this is only an acknowledgement (a dummy).

    `held_by` names the nodes that may have a copy, `confirmed_by` those that confirmed it
    (replication while WAIT_REPL, the acknowledgement while ACKED). `requeue_at_ms` 0 means that
    this node never queues the job by itself again. `table_slot` belongs to the registry.
    """

    __slots__ = (
        "additional_deliveries",
        "body",
        "confirmed_by",
        "ctime",
        "delay_s",
        "expires_ms",
        "flags",
        "gc_attempts",
        "held_by",
        "id",
        "nacks",
        "queue",
        "replicate",
        "requeue_at_ms",
        "retry_s",
        "state",
        "table_slot",
    )

    def __init__(
        self,
        id: JobId,
        queue: bytes,
        body: bytes | None,
        ctime: int,
        expires_ms: int,
        replicate: int,
        retry_s: int,
        delay_s: int,
        held_by: frozenset[NodeId],
    ) -> None:
        self.awake_ms = 0
        self.awake_slot = 0
        self.id = id
        self.queue = queue
        self.body = body
        self.ctime = ctime
        self.expires_ms = expires_ms
        self.replicate = replicate
        self.retry_s = retry_s
        self.delay_s = delay_s
        self.held_by = held_by
        self.confirmed_by = held_by
        self.state = WAIT_REPL
        self.flags = 0
        self.nacks = 0
        self.additional_deliveries = 0
        self.requeue_at_ms = 0
        self.gc_attempts = 0
        self.table_slot = 0
