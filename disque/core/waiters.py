"""Clients that wait for a job: who is first, on which queues, and until when.

A waiter stands in the line of every queue it named (once each); whichever queue gets a job first
serves it, and it leaves all lines at once. Lines are insertion-ordered dictionaries, so leaving
is O(1) wherever the waiter stands.
"""

from __future__ import annotations

from typing import final

from disque.core.awake import AwakeList
from disque.core.effects import Effects
from disque.core.queues import Queues
from disque.model.replies import ErrorReply, NothingReply
from disque.model.timed import Timed

__all__ = ["Waiter", "Waiters"]


@final
class Waiter(Timed):
    """One blocked GETJOB. `queues` is in the order of the request, without duplicates."""

    __slots__ = ("client", "queues", "with_counters")

    def __init__(self, client: int, queues: list[bytes], with_counters: bool) -> None:
        self.awake_ms = 0
        self.awake_slot = 0
        self.client = client
        self.queues = queues
        self.with_counters = with_counters


@final
class Waiters:
    """Every client blocked in GETJOB."""

    __slots__ = ("_awake", "_effects", "_queues", "by_client")

    def __init__(self, queues: Queues, awake: AwakeList, effects: Effects) -> None:
        self._queues = queues
        self._awake = awake
        self._effects = effects
        self.by_client: dict[int, Waiter] = {}

    def count(self) -> int:
        """Return the number of waiting clients."""
        return len(self.by_client)

    def block(
        self, client: int, names: list[bytes], timeout_ms: int, with_counters: bool, now_ms: int
    ) -> None:
        """Let `client` wait for a job in any of the queues; timeout 0 waits for ever."""
        assert client not in self.by_client
        waiter = Waiter(client, [], with_counters)
        self.by_client[client] = waiter
        for name in names:
            line = self._queues.open(name, now_ms).waiting
            if client not in line:
                line[client] = None
                waiter.queues.append(name)
        if timeout_ms:
            self._awake.schedule(waiter, now_ms + timeout_ms)

    def release(self, waiter: Waiter) -> None:
        """Take the waiter out of every line; the caller replies."""
        self._awake.cancel(waiter)
        del self.by_client[waiter.client]
        for name in waiter.queues:
            queue = self._queues.get(name)
            if queue is not None:
                queue.waiting.pop(waiter.client, None)
                self._queues.note_unused(queue)

    def client_gone(self, client: int) -> None:
        """The client disconnected: nobody waits any more."""
        waiter = self.by_client.get(client)
        if waiter is not None:
            self.release(waiter)

    def on_timer(self, waiter: Waiter) -> None:
        """The timeout of a waiter has passed."""
        self.release(waiter)
        self._effects.replies.append(NothingReply(waiter.client))

    def release_all_with_nothing(self) -> None:
        """Every waiter ends empty-handed."""
        for waiter in list(self.by_client.values()):
            self.on_timer(waiter)

    def release_all_with_error(self, code: str, sentence: str) -> None:
        """Every waiter ends with an error."""
        for waiter in list(self.by_client.values()):
            self.release(waiter)
            self._effects.replies.append(ErrorReply(waiter.client, code, sentence))
