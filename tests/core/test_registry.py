"""Every job is found by its id, counted to the byte, and shares its holder set."""

import pytest
from hypothesis import given, strategies as st

from disque.core.account import Account
from disque.core.registry import HOLDER_SETS_MAX, Registry
from disque.model.job import NodeId
from disque.model.limits import JOB_BYTES
from tests.core.helpers import BEE, CAT, new_job


def test_job_is_found_until_it_is_removed() -> None:
    registry = Registry(Account())
    job = new_job(1)

    registry.add(job)
    assert registry.get(job.id) is job
    registry.remove(job)

    assert registry.get(job.id) is None
    assert registry.count() == 0


def test_same_id_twice_is_our_own_mistake() -> None:
    registry = Registry(Account())
    registry.add(new_job(1))

    with pytest.raises(AssertionError):
        registry.add(new_job(1))


def test_bodies_count_and_dummies_have_none() -> None:
    account = Account()
    registry = Registry(account)
    empty_bytes = account.used_bytes
    full, dummy = new_job(1, body=b"x" * 50), new_job(2, body=None)

    registry.add(full)
    registry.add(dummy)
    both_bytes = account.used_bytes - empty_bytes
    registry.remove(full)

    assert both_bytes == 2 * (JOB_BYTES + len(full.queue)) + 50
    assert account.used_bytes - empty_bytes == JOB_BYTES + len(dummy.queue)


@given(st.lists(st.integers(0, 20)))
def test_table_stays_dense_and_every_job_knows_its_place(toggles: list[int]) -> None:
    registry = Registry(Account())
    jobs = [new_job(number) for number in range(21)]

    for number in toggles:
        if registry.get(jobs[number].id) is None:
            registry.add(jobs[number])
        else:
            registry.remove(jobs[number])

    assert [job.table_slot for job in registry.table] == list(range(registry.count()))
    assert {job.id for job in registry.table} == registry.ids()


def test_equal_holder_sets_are_one_object() -> None:
    registry = Registry(Account())

    first = registry.interned(frozenset((BEE, CAT)))
    second = registry.interned(frozenset((CAT, BEE)))

    assert first is second


def test_memory_of_holder_sets_is_bounded() -> None:
    registry = Registry(Account())

    for number in range(HOLDER_SETS_MAX + 5):
        registry.interned(frozenset((NodeId(b"%040d" % number),)))

    assert len(registry._holder_sets) <= HOLDER_SETS_MAX
