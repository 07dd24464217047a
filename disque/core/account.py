"""How much memory this node uses, in one number.

The number is logical, not what the allocator took: every part has a fixed price, and a body or a
name costs its length. So the same jobs cost the same on every machine. It is asked before every
command that needs memory, which is why it is kept and not computed. Whoever takes writes to it
directly; whoever gives back calls `release`, because just before that is when a peak can be seen.
"""

from __future__ import annotations

from typing import final

from disque.model.limits import NODE_BYTES

__all__ = ["Account"]


@final
class Account:
    """What the node, its jobs, its queues and its clients add up to; they enter it themselves."""

    __slots__ = ("highest_bytes", "used_bytes")

    def __init__(self) -> None:
        self.used_bytes = NODE_BYTES
        # The most that was in use when something was given back.
        self.highest_bytes = NODE_BYTES

    def release(self, count: int) -> None:
        """Give back what was entered before."""
        if self.used_bytes > self.highest_bytes:
            self.highest_bytes = self.used_bytes
        self.used_bytes -= count

    def peak_bytes(self) -> int:
        """Return the most that was ever used."""
        return max(self.used_bytes, self.highest_bytes)
