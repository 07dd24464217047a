"""How much memory this node uses, in one number.

The number is logical, not what the allocator took: every part has a fixed price, and a body or a
name costs its length. So the same jobs cost the same on every machine. It is asked before every
command that needs memory, which is why it is kept and not computed.
"""

from __future__ import annotations

from typing import final

from disque.model.limits import NODE_BYTES

__all__ = ["Account"]


@final
class Account:
    """What the node, its jobs, its queues and its clients add up to; they enter it themselves."""

    __slots__ = ("used_bytes",)

    def __init__(self) -> None:
        self.used_bytes = NODE_BYTES
