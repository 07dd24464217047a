"""A queue keeps its jobs in order of (ctime, id), whatever is put in and taken out."""

import gc
import random

import pytest
from hypothesis import given, strategies as st

from disque.core.skiplist import BLOCK_JOBS_MAX, LEVELS_MAX, Block, JobList
from disque.model.job import Job
from tests.core.helpers import new_job


def new_list(seed: int = 1) -> JobList:
    return JobList(random.Random(seed))


def count_blocks() -> int:
    return sum(isinstance(found, Block) for found in gc.get_objects())


def key(job: Job) -> tuple[int, bytes]:
    return job.ctime, job.id


def assert_is_sound(jobs: JobList, expected: list[Job]) -> None:
    """Compare with a sorted list, and check what the module promises of its blocks."""
    assert len(jobs) == len(expected)
    assert list(jobs) == expected
    assert list(jobs.youngest_first()) == expected[::-1]
    for level in range(LEVELS_MAX):
        block, last = jobs._head.forward[level], jobs._head
        while block is not None:
            assert 0 < len(block.jobs) <= BLOCK_JOBS_MAX
            assert len(block.forward) > level
            last, block = block, block.forward[level]
        assert jobs._last[level] is last


def test_empty_list_gives_nothing() -> None:
    jobs = new_list()

    assert jobs.pop_first() is None
    assert_is_sound(jobs, [])


def test_jobs_come_out_oldest_first() -> None:
    jobs = new_list()
    made = [new_job(number) for number in range(1_000)]
    for job in random.Random(5).sample(made, len(made)):
        jobs.insert(job)
    assert_is_sound(jobs, made)

    popped = [jobs.pop_first() for _ in range(1_001)]

    assert popped == [*made, None]
    assert_is_sound(jobs, [])


def test_jobs_of_the_same_creation_time_are_ordered_by_id() -> None:
    jobs = new_list()
    made = [new_job(number, ctime=7) for number in range(300)]
    for job in random.Random(6).sample(made, len(made)):
        jobs.insert(job)

    assert_is_sound(jobs, made)


def test_oldest_job_returns_to_the_head() -> None:
    jobs = new_list()
    made = [new_job(number) for number in range(500)]
    for job in made:
        jobs.insert(job)
    first = jobs.pop_first()
    assert first is not None

    jobs.insert(first)

    assert_is_sound(jobs, made)


def test_filling_from_the_tail_to_the_head_splits_blocks() -> None:
    jobs = new_list()
    made = [new_job(number) for number in range(1_000)]

    for job in reversed(made):
        jobs.insert(job)

    assert_is_sound(jobs, made)


def test_removing_from_everywhere_leaves_the_rest_in_order() -> None:
    jobs = new_list()
    made = [new_job(number) for number in range(1_000)]
    for job in made:
        jobs.insert(job)
    gone = set(random.Random(7).sample(made, 700))

    for job in made:
        if job in gone:
            jobs.remove(job)

    assert_is_sound(jobs, [job for job in made if job not in gone])


def test_removing_what_is_not_in_is_our_own_mistake() -> None:
    jobs = new_list()
    for number in (1, 3):
        jobs.insert(new_job(number))

    with pytest.raises(AssertionError):
        jobs.remove(new_job(2))


def test_job_costs_little_more_than_a_pointer() -> None:
    jobs = new_list()
    for number in range(100 * BLOCK_JOBS_MAX):
        jobs.insert(new_job(number))

    blocks = 0
    block = jobs._head.forward[0]
    while block is not None:
        blocks += 1
        block = block.forward[0]

    assert blocks == 100


def test_emptied_list_leaves_no_cycles_for_the_collector() -> None:
    jobs = new_list()
    gc.collect()
    gc.disable()
    try:
        before = count_blocks()
        for number in range(3 * BLOCK_JOBS_MAX):
            jobs.insert(new_job(number))
        filled = count_blocks()
        while jobs.pop_first() is not None:
            pass
        emptied = count_blocks()
    finally:
        gc.enable()

    assert filled == before + 3
    assert emptied == before


def test_search_grows_with_the_logarithm() -> None:
    jobs = new_list()
    made = [new_job(number * 2) for number in range(20_000)]
    for job in made:
        jobs.insert(job)

    steps = 0
    block = jobs._head
    target = new_job(39_999)
    for level in range(LEVELS_MAX - 1, -1, -1):
        following: Block | None = block.forward[level]
        while following is not None and following.jobs[0].ctime < target.ctime:
            block, following = following, following.forward[level]
            steps += 1

    # 157 blocks: a list without towers would take as many steps.
    assert steps < 40


Step = tuple[str, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["insert", "insert", "insert", "remove", "pop"]), st.integers(0, 400)
    ),
    max_size=400,
)


@given(steps, st.integers(0, 5), st.integers(1, 4))
def test_list_behaves_like_a_sorted_list(plan: list[Step], seed: int, coarseness: int) -> None:
    jobs = new_list(seed)
    model: list[Job] = []
    known = [new_job(number, ctime=number // coarseness) for number in range(401)]

    for verb, number in plan:
        job = known[number]
        if verb == "insert" and job not in model:
            jobs.insert(job)
            model.append(job)
            model.sort(key=key)
        elif verb == "remove" and job in model:
            jobs.remove(job)
            model.remove(job)
        elif verb == "pop":
            assert jobs.pop_first() is (model.pop(0) if model else None)

    assert_is_sound(jobs, model)


@given(st.permutations(range(300)), st.permutations(range(300)), st.integers(0, 5))
def test_any_order_of_coming_and_going_is_fine(
    coming: list[int], going: list[int], seed: int
) -> None:
    jobs = new_list(seed)
    made = [new_job(number) for number in range(300)]
    for number in coming:
        jobs.insert(made[number])
    assert_is_sound(jobs, made)

    for number in going[:200]:
        jobs.remove(made[number])

    left = set(going[200:])
    assert_is_sound(jobs, [job for number, job in enumerate(made) if number in left])
