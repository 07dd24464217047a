"""The clock follows the wall clock without ever jumping or going back."""

from __future__ import annotations

import time

from hypothesis import given, strategies as st

from disque.server.clock import SLEW_DIVISOR, STEER_EVERY_NS, Clock, system_clock

MS = 1_000_000
START_MS = 1_700_000_000_000


class Machine:
    """Two clocks that a test turns by hand."""

    def __init__(self) -> None:
        self.monotonic_ns = 5 * MS
        self.wall_ns = START_MS * MS

    def clock(self) -> Clock:
        """Read time from this machine."""
        return Clock(lambda: self.monotonic_ns, lambda: self.wall_ns)

    def advance(self, ms: int) -> None:
        """Let time pass on both clocks."""
        self.monotonic_ns += ms * MS
        self.wall_ns += ms * MS


def test_time_starts_at_the_wall_clock_and_passes_like_it() -> None:
    machine = Machine()
    clock = machine.clock()

    assert clock.now_ms() == START_MS
    machine.advance(250)
    assert clock.now_ms() == START_MS + 250


def test_an_hour_forward_speeds_time_up_by_one_percent_only() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall_ns += 3_600_000 * MS

    machine.advance(1_000)

    assert clock.now_ms() == START_MS + 1_000 + 1_000 // SLEW_DIVISOR


def test_an_hour_back_slows_time_down_by_one_percent_only() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall_ns -= 3_600_000 * MS

    machine.advance(1_000)

    assert clock.now_ms() == START_MS + 1_000 - 1_000 // SLEW_DIVISOR


def test_a_small_difference_is_caught_up_with_and_not_overshot() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall_ns += 3 * MS

    for _ in range(20):
        machine.advance(100)
        clock.now_ms()

    assert clock.now_ms() == machine.wall_ns // MS


def test_the_wall_clock_is_looked_at_ten_times_a_second_at_most() -> None:
    machine = Machine()
    readings = 0

    def read_wall_ns() -> int:
        nonlocal readings
        readings += 1
        return machine.wall_ns

    clock = Clock(lambda: machine.monotonic_ns, read_wall_ns)
    for _ in range(1_000):
        machine.advance(1)
        clock.now_ms()

    assert readings == 1 + 1_000 * MS // STEER_EVERY_NS


@given(
    st.lists(
        st.tuples(st.integers(0, 400_000_000), st.integers(-(10**13), 10**13)),
        max_size=50,
    )
)
def test_time_never_runs_backwards_and_keeps_its_pace(steps: list[tuple[int, int]]) -> None:
    machine = Machine()
    clock = machine.clock()
    last_ms = clock.now_ms()
    passed_ns = 0

    for advance_ns, step_ns in steps:
        machine.monotonic_ns += advance_ns
        machine.wall_ns += advance_ns + step_ns
        passed_ns += advance_ns
        now_ms = clock.now_ms()

        assert now_ms >= last_ms
        # Never more than the permitted percent off, and a millisecond for rounding.
        assert abs(now_ms - START_MS - passed_ns / MS) <= passed_ns / MS / SLEW_DIVISOR + 1
        last_ms = now_ms


def test_the_clock_of_this_machine_tells_the_time() -> None:
    assert abs(system_clock().now_ms() - time.time_ns() // MS) < 1_000
