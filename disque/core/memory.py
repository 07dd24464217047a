"""Memory levels, eviction and the logical account they are judged by.

    used  <= 75 % of maxmemory   level 0   everything works
          >  75 %                level 1   no new copies here; evictable jobs go
          >  95 %                level 2   commands that need memory are refused

Evictable are jobs nobody will miss: acknowledged ones that only wait for other nodes to confirm,
and at-most-once jobs that were already handed out. They are kept in an index of their own, `spare`,
in the order they became evictable, so eviction never searches.
"""

from __future__ import annotations

from typing import final

from disque.core.account import Account
from disque.model.job import ACKED, DELIVERED, Job, JobId
from disque.model.limits import CLIENT_BYTES, EVICTIONS_PER_COMMAND_MAX, JOB_BYTES
from disque.model.settings import Settings

__all__ = ["Memory"]


@final
class Memory:
    """What this node may still take in."""

    __slots__ = (
        "_settings",
        "account",
        "clients",
        "full_bytes",
        "spare",
        "tight_bytes",
    )

    def __init__(self, account: Account, settings: Settings) -> None:
        self.account = account
        self._settings = settings
        # Jobs nobody would miss; whoever forgets a job takes it out of here, too.
        self.spare: dict[JobId, Job] = {}
        self.clients = 0
        self.tight_bytes = 0
        self.full_bytes = 0
        self.settings_changed()

    def settings_changed(self) -> None:
        """Recompute the thresholds."""
        self.tight_bytes = self._settings.maxmemory * 75 // 100
        self.full_bytes = self._settings.maxmemory * 95 // 100

    def note_client(self) -> None:
        """A client connected."""
        self.clients += 1
        self.account.used_bytes += CLIENT_BYTES

    def forget_client(self) -> None:
        """A client is gone."""
        self.clients -= 1
        self.account.release(CLIENT_BYTES)

    def level(self) -> int:
        """Return 0, 1 or 2."""
        used = self.account.used_bytes
        if used <= self.tight_bytes:
            return 0
        return 1 if used <= self.full_bytes else 2

    def victims(self) -> list[Job]:
        """Return a bounded number of evictable jobs, oldest first; the caller removes them."""
        if self._settings.maxmemory_policy != "acks":
            return []
        found: list[Job] = []
        excess = self.account.used_bytes - self.tight_bytes
        for job in self.spare.values():
            if excess <= 0 or len(found) == EVICTIONS_PER_COMMAND_MAX:
                break
            assert job.state == ACKED or job.flags & DELIVERED
            found.append(job)
            excess -= JOB_BYTES + len(job.queue) + len(job.body or b"")
        return found
