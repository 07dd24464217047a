"""Cursors over a dense table, for QSCAN and JSCAN.

A cursor is the number of table positions not yet looked at; 0 starts and ends a scan. See
`disque.core.registry` for why walking downwards misses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["scan"]

Item = TypeVar("Item")

# A page looks at no more than this many positions per wanted element.
STEPS_PER_ELEMENT: Final = 10


def scan(
    table: list[Item], cursor: int, count: int, wanted: Callable[[Item], bool]
) -> tuple[int, list[Item]]:
    """Return the next cursor and the wanted items of this page. A negative count means no limit."""
    at = len(table) if cursor == 0 else min(cursor, len(table))
    found: list[Item] = []
    # Even COUNT 0 makes one step, so that a scan always advances.
    stop = 0 if count < 0 else max(at - max(count * STEPS_PER_ELEMENT, 1), 0)
    limit = len(table) if count < 0 else max(count, 1)
    while at > stop and len(found) < limit:
        at -= 1
        if wanted(table[at]):
            found.append(table[at])
    return at, found
