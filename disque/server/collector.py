"""Keep the interpreter's cycle collector from stalling the loop.

Python frees almost everything by counting references. Cycles alone need the collector. Left to
itself, it walks through all jobs again and again, and with a million of them alive the loop stands
still for a third of a second each time.

Jobs form no cycles, so looking at a job once is once too often already. Therefore:

* automatic collection is off;
* while there is work, every 50 ms the objects made since the last time are searched for cycles (a
  failed command's traceback, a closed connection) and the survivors are frozen: moved to where
  the collector never looks, at no cost, however many jobs are alive already. Searching costs about
  0.2 us per new object still alive, a twentieth of what it costs to add a job; so if there are very
  many, they are jobs, and frozen unsearched;
* a cycle that was frozen alive and died later (a connection, for example) is found by a full
  collection. One is made once a minute at most, while there is work, and only while few jobs are
  and queues are alive, so that it takes some ten milliseconds at worst. A server that never has
  few of them keeps such cycles; connections are written so that they leave none.

The interval is a matter of time, not of a count of allocations, because a server that adds and
removes jobs at the same rate has a count near zero and still an ever longer list of young objects.

The timer is armed by work and fires once: an idle server sleeps.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Final, final

__all__ = ["FULL_EVERY_S", "FULL_ITEMS_MAX", "YOUNG_EVERY_S", "YOUNG_OBJECTS_MAX", "Collector"]

# 20 searches a second, each through what at most a few thousand commands left behind.
YOUNG_EVERY_S: Final = 0.05
FULL_EVERY_S: Final = 60.0
# Two thousand objects are searched in less than half a millisecond.
YOUNG_OBJECTS_MAX: Final = 2_000
# The interpreter's own 20 000 objects take 5 to 9 ms; these jobs and queues add 2 ms.
FULL_ITEMS_MAX: Final = 5_000


@final
class Collector:
    """Collects young garbage while there is work; `longest_pause_ns` is the worst so far."""

    __slots__ = ("_count_items", "_full_at_s", "_loop", "_timer", "is_armed", "longest_pause_ns")

    def __init__(self, loop: asyncio.AbstractEventLoop, count_items: Callable[[], int]) -> None:
        self._loop = loop
        self._count_items = count_items
        self._timer: asyncio.TimerHandle | None = None
        self._full_at_s = loop.time() + FULL_EVERY_S
        self.longest_pause_ns = 0
        # A search is coming: it need not be told of more work.
        self.is_armed = False

    def start(self) -> None:
        """Take over from the automatic collector; whatever start-up made is frozen."""
        gc.disable()
        gc.collect()
        gc.freeze()

    def note_work(self) -> None:
        """Tell that something ran: garbage may exist now."""
        if not self.is_armed:
            self.is_armed = True
            self._timer = self._loop.call_later(YOUNG_EVERY_S, self._collect)

    def stop(self) -> None:
        """Hand back to the automatic collector."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.is_armed = False
        gc.unfreeze()
        gc.enable()

    def _collect(self) -> None:
        self._timer = None
        self.is_armed = False
        started_ns = time.perf_counter_ns()
        now_s = self._loop.time()
        if now_s >= self._full_at_s and self._count_items() <= FULL_ITEMS_MAX:
            self._full_at_s = now_s + FULL_EVERY_S
            gc.unfreeze()
            gc.collect()
        elif gc.get_count()[0] <= YOUNG_OBJECTS_MAX:
            gc.collect(0)
        gc.freeze()
        self.longest_pause_ns = max(self.longest_pause_ns, time.perf_counter_ns() - started_ns)
