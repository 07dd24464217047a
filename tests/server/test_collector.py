"""Garbage is collected while there is work, in small pieces, and never while the server is idle."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from disque.server.collector import FULL_EVERY_S, FULL_ITEMS_MAX, YOUNG_EVERY_S, Collector
from tests.server.inside import TestLoop

YOUNG_MS = round(YOUNG_EVERY_S * 1_000)
FULL_MS = round(FULL_EVERY_S * 1_000)


class Knot:
    """Something that refers to itself, so that counting references does not free it."""

    def __init__(self) -> None:
        self.myself: Knot | None = self

    def untie(self) -> None:
        """Let it be freed without a collector."""
        self.myself = None


class Hand:
    """A collector, and the loop and the number of jobs it looks at."""

    def __init__(self) -> None:
        self.loop = TestLoop()
        self.jobs = 0
        self.collector = Collector(self.loop, lambda: self.jobs)

    def work(self, milliseconds: int = YOUNG_MS) -> None:
        """Say that there was work, and let time pass."""
        self.collector.note_work()
        self.loop.pass_time(milliseconds)


@pytest.fixture
def hand() -> Iterator[Hand]:
    made = Hand()
    made.collector.start()
    yield made
    made.collector.stop()
    made.loop.close()


def dead_knot() -> weakref.ref[Knot]:
    """Make a cycle that nobody needs."""
    return weakref.ref(Knot())


def frozen_dead_knot(hand: Hand) -> weakref.ref[Knot]:
    """Make a cycle that was still needed when it was frozen, and is not any more."""
    knot = Knot()
    hand.work()
    return weakref.ref(knot)


def test_nothing_is_collected_automatically(hand: Hand) -> None:
    threshold = gc.get_threshold()[0]

    knot = dead_knot()
    clutter = [[number] for number in range(10 * threshold)]

    assert not gc.isenabled()
    assert knot() is not None
    assert len(clutter) == 10 * threshold


def test_what_the_start_left_is_freed_and_what_it_made_is_frozen(hand: Hand) -> None:
    knot = dead_knot()

    hand.collector.start()

    assert knot() is None
    # More than the interpreter itself needs is alive in a test.
    assert gc.get_freeze_count() > 10_000


def test_garbage_is_found_soon_after_work(hand: Hand) -> None:
    knot = dead_knot()

    hand.work(YOUNG_MS - 1)
    is_early = knot() is None
    hand.loop.pass_time(1)

    assert not is_early
    assert knot() is None


def test_much_work_is_one_collection(hand: Hand) -> None:
    for _ in range(4):
        hand.collector.note_work()
        hand.loop.pass_time(YOUNG_MS // 5)
    before = hand.loop.turns
    hand.loop.pass_time(FULL_MS)

    # The timer, and the end of the minute.
    assert hand.loop.turns - before == 2


def test_without_work_nothing_happens(hand: Hand) -> None:
    knot = dead_knot()
    before = hand.loop.turns

    hand.loop.pass_time(10 * FULL_MS)

    assert hand.loop.turns - before == 1
    assert knot() is not None


def test_survivors_are_frozen_and_not_looked_at_again(hand: Hand) -> None:
    before = gc.get_freeze_count()
    jobs = [[number] for number in range(1_000)]

    hand.work()

    assert gc.get_freeze_count() >= before + len(jobs)
    knot = frozen_dead_knot(hand)
    hand.work()
    assert knot() is not None


def test_what_died_frozen_is_found_once_a_minute(hand: Hand) -> None:
    for _ in range(3):
        knot = frozen_dead_knot(hand)
        hand.loop.pass_time(FULL_MS - 3 * YOUNG_MS)
        hand.work()
        is_early = knot() is None
        hand.loop.pass_time(YOUNG_MS)
        hand.work()

        assert not is_early
        assert knot() is None


@pytest.mark.parametrize(
    ("jobs", "is_found"), [(FULL_ITEMS_MAX, True), (FULL_ITEMS_MAX + 1, False)]
)
def test_with_many_jobs_alive_what_is_frozen_is_left_alone(
    hand: Hand, jobs: int, is_found: bool
) -> None:
    frozen = frozen_dead_knot(hand)
    hand.loop.pass_time(FULL_MS)
    hand.jobs = jobs
    young = dead_knot()

    hand.work()

    assert young() is None
    assert (frozen() is None) == is_found


def test_when_few_jobs_are_left_what_was_left_alone_is_found(hand: Hand) -> None:
    hand.jobs = 10 * FULL_ITEMS_MAX
    frozen = frozen_dead_knot(hand)
    hand.loop.pass_time(FULL_MS)
    hand.work()
    assert frozen() is not None

    hand.jobs = 0
    hand.work()

    assert frozen() is None


def test_the_longest_pause_is_remembered(hand: Hand) -> None:
    hand.loop.pass_time(FULL_MS)
    hand.work()
    full_ns = hand.collector.longest_pause_ns

    hand.work()

    assert hand.collector.longest_pause_ns >= full_ns > 0


def test_at_the_end_the_automatic_collector_takes_over_again() -> None:
    hand = Hand()
    hand.collector.start()
    hand.collector.note_work()
    before = hand.loop.turns

    hand.collector.stop()
    hand.loop.pass_time(FULL_MS)

    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    # The timer was taken back.
    assert hand.loop.turns - before == 1
    hand.loop.close()
