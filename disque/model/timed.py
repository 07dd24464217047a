"""Things that wake up: the base of everything the timer list can hold.

The two slots belong to `disque.core.awake`; nobody else writes them. They live in the object
itself, so that moving or cancelling a timer needs no look-up and leaves nothing behind.
"""

from __future__ import annotations

__all__ = ["Timed"]


class Timed:
    """Something with at most one appointment. `awake_ms` 0 means none."""

    __slots__ = ("awake_ms", "awake_slot")

    def __init__(self) -> None:
        self.awake_ms = 0
        self.awake_slot = 0
