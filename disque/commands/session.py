"""What the server knows of one connection.

The shell makes a session when a client connects, hands it every request, and sends what the
session collects in `out`. A session that waits (for a job, for copies, for the world) keeps its
later requests in `backlog`, so that replies stay in the order of the requests.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

__all__ = [
    "FREE",
    "ON_ANSWER",
    "ON_QUEUES",
    "ON_REPLICATION",
    "REPLY_OFF",
    "REPLY_ON",
    "REPLY_SKIP",
    "Session",
]

# What a session waits for.
FREE: Final = 0
ON_QUEUES: Final = 1  # GETJOB without a job
ON_REPLICATION: Final = 2  # ADDJOB without enough copies
ON_ANSWER: Final = 3  # an ask the shell has not answered yet

# CLIENT REPLY.
REPLY_ON: Final = 0
REPLY_OFF: Final = 1
REPLY_SKIP: Final = 2  # the next reply is dropped


@final
class Session:
    """One client: who it is, what it may do, what it waits for, and what it is still owed."""

    __slots__ = (
        "address",
        "asked",
        "asked_ns",
        "backlog",
        "connected_ms",
        "id",
        "is_authenticated",
        "is_closing",
        "is_monitor",
        "is_unix",
        "last_active_ms",
        "last_command",
        "library_name",
        "library_version",
        "name",
        "out",
        "out_bytes",
        "protocol",
        "protocol_error",
        "reply_mode",
        "waits",
    )

    def __init__(self, id: int, address: bytes, is_unix: bool, now_ms: int) -> None:
        self.id = id
        self.address = address
        self.is_unix = is_unix
        self.connected_ms = now_ms
        self.last_active_ms = now_ms
        self.is_authenticated = False
        self.is_monitor = False
        # No further request is run; the connection ends when `out` has left.
        self.is_closing = False
        self.name = b""
        self.library_name = b""
        self.library_version = b""
        self.protocol = 2
        self.reply_mode = REPLY_ON
        self.waits = FREE
        self.last_command = b"NULL"
        self.backlog: deque[list[bytes]] = deque()
        # Why nothing can be read any more; told once everything before it is answered.
        self.protocol_error: bytes | None = None
        # The command that asked the world something, and when it began.
        self.asked: list[bytes] = []
        self.asked_ns = 0
        self.out: list[bytes] = []
        self.out_bytes = 0

    def send(self, reply: bytes) -> None:
        """Queue encoded bytes for this client, unless CLIENT REPLY silences it."""
        if self.reply_mode == REPLY_ON:
            self.out.append(reply)
            self.out_bytes += len(reply)
        elif self.reply_mode == REPLY_SKIP:
            self.reply_mode = REPLY_ON

    def push(self, line: bytes) -> None:
        """Queue bytes that answer no request of this client, such as a line for a monitor."""
        if self.reply_mode != REPLY_OFF:
            self.out.append(line)
            self.out_bytes += len(line)

    def taken_output(self) -> bytes:
        """Take what is queued, to be sent now."""
        out = self.out
        data = out[0] if len(out) == 1 else b"".join(out)
        out.clear()
        self.out_bytes = 0
        return data

    def is_idle(self) -> bool:
        """Tell whether the client waits for nothing: only such connections can be too quiet."""
        return self.waits == FREE and not self.backlog
