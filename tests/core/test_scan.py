"""A scan misses nothing that is there all the time, and always comes to an end."""

import pytest
from hypothesis import given, strategies as st

from disque.core.account import Account
from disque.core.registry import Registry
from disque.core.scan import STEPS_PER_ELEMENT, scan
from disque.model.job import Job
from tests.core.helpers import new_job


def any_item(item: object) -> bool:
    return item is not None


def scanned(table: list[int], count: int) -> list[list[int]]:
    """Walk over an unchanging table and return its pages."""
    pages: list[list[int]] = []
    cursor = 0
    while True:
        cursor, page = scan(table, cursor, count, any_item)
        pages.append(page)
        if cursor == 0:
            return pages


@pytest.mark.parametrize("count", [0, 1, 3, 10, 100, -1])
def test_unchanging_table_is_returned_once(count: int) -> None:
    table = list(range(10))

    pages = scanned(table, count)

    assert sorted(item for page in pages for item in page) == table
    assert all(len(page) <= max(count, 1) for page in pages if count >= 0)


def test_empty_table_ends_at_once() -> None:
    empty: list[int] = []

    assert scan(empty, 0, 10, any_item) == (0, [])
    assert scan(empty, 12_345, 10, any_item) == (0, [])


def test_negative_count_returns_everything_at_once() -> None:
    cursor, page = scan(list(range(1_000)), 0, -1, any_item)

    assert cursor == 0
    assert len(page) == 1_000


def test_zero_count_still_makes_a_step() -> None:
    cursor, page = scan([1, 2, 3], 0, 0, any_item)

    assert (cursor, page) == (2, [3])


def test_page_that_finds_nothing_stops_after_its_share_of_steps() -> None:
    table = list(range(1_000))

    cursor, page = scan(table, 0, 5, lambda number: number < 0)

    assert page == []
    assert cursor == 1_000 - 5 * STEPS_PER_ELEMENT


def test_cursor_beyond_the_table_starts_at_its_end() -> None:
    assert scan([1, 2], 2**64 - 1, 10, any_item) == (0, [2, 1])


@given(
    st.integers(0, 60),
    st.integers(1, 8),
    st.lists(st.lists(st.tuples(st.booleans(), st.integers(0, 80)), max_size=12), max_size=80),
)
def test_what_is_there_during_the_whole_scan_is_returned(
    size: int, count: int, changes: list[list[tuple[bool, int]]]
) -> None:
    registry = Registry(Account())
    jobs = [new_job(number) for number in range(81)]
    for job in jobs[:size]:
        registry.add(job)
    always: set[Job] = set(jobs[:size])
    seen: set[Job] = set()
    cursor = pages = 0

    while True:
        cursor, page = scan(registry.table, cursor, count, any_item)
        seen.update(page)
        pages += 1
        if cursor == 0:
            break
        for is_addition, number in changes[pages - 1] if pages <= len(changes) else []:
            job = jobs[number]
            is_there = registry.get(job.id) is not None
            if is_addition and not is_there:
                registry.add(job)
            elif not is_addition and is_there:
                registry.remove(job)
                always.discard(job)

    assert always <= seen
    assert pages <= size + 1
