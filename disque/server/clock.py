"""The server's clock: milliseconds since the epoch that neither jump nor run backwards.

Timers, delays and expiries are absolute times. If the machine's clock is stepped by an hour,
comparing them with the wall clock would requeue everything at once, or nothing for an hour. So
time is counted by a monotonic clock, anchored to the wall clock when the server starts, and bent
towards the wall clock slowly: by at most 1 ms for each 100 ms that pass, in either direction.

    wall   ....________/----------------      stepped forward by NTP
    ours   ....________,..--''----------      1 % too fast until it has caught up

A difference of a second, which is a lot for a machine with NTP, is gone after 100 s; an hour takes
four days, in which every timer is at most 1 % off. A restart anchors anew. TIME answers the wall
clock itself.

The difference is looked at no more than ten times a second, so a reading normally costs one call
of the monotonic clock. Bending backwards at such a moment could show a time just before the last
one; the clock then stands still for at most a millisecond instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final, final

__all__ = ["SLEW_DIVISOR", "STEER_EVERY_NS", "Clock", "system_clock"]

NANOSECONDS_PER_MS: Final = 1_000_000
# How often the wall clock is looked at; also the shortest stretch over which it can pull.
STEER_EVERY_NS: Final = 100 * NANOSECONDS_PER_MS
# At most 1/100 of the time passed is added or left out.
SLEW_DIVISOR: Final = 100


@final
class Clock:
    """Monotonic time that follows the wall clock without ever jumping."""

    __slots__ = (
        "_latest_ms",
        "_offset_ns",
        "_read_monotonic_ns",
        "_read_wall_ns",
        "_steered_ns",
    )

    def __init__(
        self, read_monotonic_ns: Callable[[], int], read_wall_ns: Callable[[], int]
    ) -> None:
        self._read_monotonic_ns = read_monotonic_ns
        self._read_wall_ns = read_wall_ns
        self._steered_ns = read_monotonic_ns()
        self._offset_ns = read_wall_ns() - self._steered_ns
        self._latest_ms = 0

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, never less than the last time."""
        monotonic_ns = self._read_monotonic_ns()
        if monotonic_ns - self._steered_ns >= STEER_EVERY_NS:
            self._steer(monotonic_ns)
        now_ms = (monotonic_ns + self._offset_ns) // NANOSECONDS_PER_MS
        if now_ms <= self._latest_ms:
            return self._latest_ms
        self._latest_ms = now_ms
        return now_ms

    def _steer(self, monotonic_ns: int) -> None:
        behind_ns = self._read_wall_ns() - (monotonic_ns + self._offset_ns)
        most_ns = (monotonic_ns - self._steered_ns) // SLEW_DIVISOR
        self._offset_ns += max(-most_ns, min(most_ns, behind_ns))
        self._steered_ns = monotonic_ns


def system_clock() -> Clock:
    """Make the clock of this machine.

    Where the kernel offers it, the monotonic clock that goes on while the machine is suspended is
    used: jobs expire in their sleep, too.
    """
    boot_clock = getattr(time, "CLOCK_BOOTTIME", None)
    if not isinstance(boot_clock, int):
        return Clock(time.monotonic_ns, time.time_ns)
    # A partial is called without a frame of its own, and this is called for every read.
    return Clock(partial(time.clock_gettime_ns, boot_clock), time.time_ns)
