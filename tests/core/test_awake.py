"""Timers fire once, never early, the earliest first, and nothing is left behind."""

import pytest
from hypothesis import given, strategies as st

from disque.core.awake import BUCKET_BITS, STALE_KEYS_MIN, AwakeList
from disque.model.timed import Timed
from tests.core.helpers import START_MS

BUCKET_MS = 1 << BUCKET_BITS


def drained(awake: AwakeList, now_ms: int) -> list[Timed]:
    """Take everything that is due."""
    items: list[Timed] = []
    item = awake.pop_due(now_ms)
    while item is not None:
        items.append(item)
        item = awake.pop_due(now_ms)
    return items


def test_empty_list_has_no_next_time() -> None:
    awake = AwakeList()

    assert awake.next_ms() is None
    assert awake.pop_due(START_MS) is None


@pytest.mark.parametrize("distance_ms", [1, 63, 64, 65, 1_000, 86_400_000])
def test_item_is_due_at_its_millisecond_and_not_before(distance_ms: int) -> None:
    awake, item = AwakeList(), Timed()
    awake.pop_due(START_MS)
    awake.schedule(item, START_MS + distance_ms)

    early = awake.pop_due(START_MS + distance_ms - 1)
    due = awake.pop_due(START_MS + distance_ms)

    assert early is None
    assert due is item
    assert item.awake_ms == 0
    assert awake.pop_due(START_MS + distance_ms) is None


def test_item_whose_time_has_passed_is_due_at_once() -> None:
    awake, item = AwakeList(), Timed()
    awake.pop_due(START_MS)

    awake.schedule(item, START_MS - 1_000)

    assert awake.next_ms() == START_MS - 1_000
    assert awake.pop_due(START_MS) is item


def test_looking_when_told_to_finds_the_exact_time_in_two_looks() -> None:
    awake, item = AwakeList(), Timed()
    awake.schedule(item, START_MS + 10_063)

    first_ms = awake.next_ms()
    assert first_ms is not None
    nothing = awake.pop_due(first_ms)
    second_ms = awake.next_ms()

    assert START_MS + 10_063 - BUCKET_MS < first_ms <= START_MS + 10_063
    assert nothing is None
    assert second_ms == START_MS + 10_063


def test_moved_item_fires_at_its_new_time_only() -> None:
    awake, item = AwakeList(), Timed()
    awake.schedule(item, START_MS + 10)
    awake.schedule(item, START_MS + 5_000)
    awake.schedule(item, START_MS + 500)

    assert awake.pop_due(START_MS + 499) is None
    assert awake.pop_due(START_MS + 9_000) is item
    assert awake.pop_due(START_MS + 9_000) is None


def test_item_moved_away_and_back_within_the_open_bucket_fires_once() -> None:
    awake, item = AwakeList(), Timed()
    awake.pop_due(START_MS)
    for distance_ms in (5, 6, 5):
        awake.schedule(item, START_MS + distance_ms)

    assert drained(awake, START_MS + 10) == [item]


def test_cancelled_item_never_fires_and_may_be_cancelled_again() -> None:
    awake, near, far = AwakeList(), Timed(), Timed()
    awake.pop_due(START_MS)
    awake.schedule(near, START_MS + 1)
    awake.schedule(far, START_MS + 10_000)

    for item in (near, far, near, far):
        awake.cancel(item)

    assert awake.next_ms() is None
    assert drained(awake, START_MS + 20_000) == []


def test_cancelling_the_first_of_a_bucket_leaves_the_others() -> None:
    awake = AwakeList()
    items = [Timed() for _ in range(5)]
    for item in items:
        awake.schedule(item, START_MS + 1_000)

    awake.cancel(items[0])
    awake.cancel(items[3])

    assert set(drained(awake, START_MS + 1_000)) == {items[1], items[2], items[4]}


def test_keys_of_emptied_buckets_do_not_pile_up() -> None:
    awake, item = AwakeList(), Timed()

    for step in range(10 * STALE_KEYS_MIN):
        awake.schedule(item, START_MS + step * BUCKET_MS)

    assert len(awake._keys) <= STALE_KEYS_MIN + 2
    assert awake.next_ms() == item.awake_ms >> BUCKET_BITS << BUCKET_BITS


def test_after_a_long_stall_one_step_opens_one_bucket() -> None:
    awake = AwakeList()
    items = [Timed() for _ in range(1_000)]
    for number, item in enumerate(items):
        awake.schedule(item, START_MS + number * BUCKET_MS)

    first = awake.pop_due(START_MS + len(items) * BUCKET_MS)

    assert first is items[0]
    assert len(awake._buckets) == len(items) - 1


def test_late_look_still_finds_the_earliest_first() -> None:
    awake = AwakeList()
    items = [Timed() for _ in range(300)]
    for number, item in enumerate(items):
        awake.schedule(item, START_MS + (number * 7_919) % 30_011)

    times = []
    while True:
        scheduled = {id(item): item.awake_ms for item in items if item.awake_ms}
        item_due = awake.pop_due(START_MS + 40_000)
        if item_due is None:
            break
        times.append(scheduled[id(item_due)])

    assert len(times) == len(items)
    assert times == sorted(times)


def test_item_scheduled_while_catching_up_takes_its_turn() -> None:
    awake = AwakeList()
    early, late, new = Timed(), Timed(), Timed()
    awake.schedule(early, START_MS)
    awake.schedule(late, START_MS + 10_000)
    now_ms = START_MS + 20_000

    first = awake.pop_due(now_ms)
    awake.schedule(new, START_MS + 5_000)

    assert first is early
    assert drained(awake, now_ms) == [new, late]


def test_appointments_lists_each_item_once() -> None:
    awake, near, far, gone = AwakeList(), Timed(), Timed(), Timed()
    awake.pop_due(START_MS)
    awake.schedule(near, START_MS + 2)
    awake.schedule(near, START_MS + 1)
    awake.schedule(far, START_MS + 10_000)
    awake.schedule(gone, START_MS + 1)
    awake.cancel(gone)

    found = awake.appointments()

    assert len(found) == 2
    assert set(found) == {near, far}


Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["schedule", "schedule", "cancel", "advance", "pop"]),
        st.integers(0, 7),
        st.one_of(st.integers(-100, 200), st.integers(0, 20_000)),
    ),
    max_size=60,
)


@given(steps)
def test_list_behaves_like_a_dictionary_of_times(plan: list[Step]) -> None:
    awake = AwakeList()
    items = [Timed() for _ in range(8)]
    model: dict[Timed, int] = {}
    now_ms = START_MS

    for verb, number, offset_ms in plan:
        item = items[number]
        if verb == "schedule":
            awake.schedule(item, now_ms + offset_ms)
            model[item] = now_ms + offset_ms
        elif verb == "cancel":
            awake.cancel(item)
            model.pop(item, None)
        elif verb == "advance":
            now_ms += abs(offset_ms)
        else:
            due = awake.pop_due(now_ms)
            if due is None:
                assert all(at_ms > now_ms for at_ms in model.values())
            else:
                assert model.pop(due) <= min([now_ms, *model.values()])
        next_ms = awake.next_ms()
        if model:
            assert next_ms is not None
            assert min(model.values()) - BUCKET_MS < next_ms <= min(model.values())
        else:
            assert next_ms is None
        assert {item: item.awake_ms for item in awake.appointments()} == model
        assert all((item.awake_ms != 0) == (item in model) for item in items)
