"""How much memory this node uses, in one number.

The number is logical, not what the allocator took: every part has a fixed price, and a body or a
name costs its length. So the same jobs cost the same on every machine. It is asked before every
command that needs memory, which is why it is kept and not computed. Jobs enter and leave it
directly, because there are so many of them; the peak is noted whenever a client had its turn.
"""

from __future__ import annotations

from typing import final

from disque.model.limits import NODE_BYTES

__all__ = ["Account"]


@final
class Account:
    """What the node, its jobs, its queues and its clients add up to; they enter it themselves."""

    __slots__ = ("_highest_bytes", "used_bytes")

    def __init__(self) -> None:
        self.used_bytes = NODE_BYTES
        self._highest_bytes = NODE_BYTES

    def note_peak(self) -> None:
        """Remember what is used now, if it was never more."""
        if self.used_bytes > self._highest_bytes:
            self._highest_bytes = self.used_bytes

    def release(self, count: int) -> None:
        """Give back what was entered before."""
        self.note_peak()
        self.used_bytes -= count

    def peak_bytes(self) -> int:
        """Return the most that was ever used, as far as somebody noted it."""
        return max(self.used_bytes, self._highest_bytes)
