"""No two jobs of a node share an id or a moment, and jitter stays within its bounds."""

import random
from collections import Counter
from itertools import pairwise

from hypothesis import given, strategies as st

from disque.core.mint import JITTER_MS, Jitter, Mint
from disque.model.job import Job, JobId, NodeId
from disque.model.jobid import checked, is_at_least_once, suffix
from disque.model.limits import SECONDS_MAX
from disque.model.order import JobOrder
from tests.core.helpers import BEE, ME, START_MS

seconds = st.integers(0, SECONDS_MAX)
# TTL and retry of one job after the other: few kinds, so that some come in a row.
kinds = st.lists(
    st.tuples(st.sampled_from([1, 60, 86_400, SECONDS_MAX]), st.sampled_from([0, 1, 300])),
    max_size=40,
)
JOB = (86_400, 300)
# Randomness is drawn in bulk; this many need several draws.
MANY = 1_000


def new_mint(seed: int = 1, node: NodeId = ME) -> Mint:
    return Mint(node, random.Random(seed))


def new_jitter(seed: int = 1) -> Jitter:
    return Jitter(random.Random(seed))


def new_job(mint: Mint, ttl_s: int, retry_s: int, now_ms: int) -> Job:
    order = JobOrder(b"queue", b"body", 0, 1, ttl_s, retry_s)
    return mint.new_job(order, frozenset((ME,)), now_ms)


def new_id(mint: Mint, ttl_s: int, retry_s: int) -> JobId:
    return new_job(mint, ttl_s, retry_s, START_MS).id


def new_ctime(mint: Mint, now_ms: int) -> int:
    return new_job(mint, *JOB, now_ms).ctime


def random_part(id: JobId) -> bytes:
    """Return what makes this id different from every other."""
    return id[11:35]


# --- Ids ----------------------------------------------------------------------------------------


@given(seconds, seconds)
def test_id_names_its_node_and_says_how_its_job_is_delivered(ttl_s: int, retry_s: int) -> None:
    id = new_id(new_mint(), ttl_s, retry_s)

    assert checked(id) == id
    assert id[:11] == b"D-aaaaaaaa-"
    assert id[35:] == suffix(ttl_s, retry_s)
    assert is_at_least_once(id) == (retry_s > 0)


@given(kinds)
def test_every_id_ends_as_its_own_job_wants_whatever_came_before(
    plan: list[tuple[int, int]],
) -> None:
    mint = new_mint()

    ids = [new_id(mint, ttl_s, retry_s) for ttl_s, retry_s in plan]

    assert [id[35:] for id in ids] == [suffix(ttl_s, retry_s) for ttl_s, retry_s in plan]
    assert all(checked(id) == id for id in ids)
    assert len(set(map(random_part, ids))) == len(plan)


def test_ids_differ_in_their_random_part_over_many_draws() -> None:
    mint = new_mint()

    ids = [new_id(mint, *JOB) for _ in range(MANY)]

    assert len(set(map(random_part, ids))) == len(ids)


def test_every_character_of_the_random_part_is_drawn() -> None:
    mint = new_mint()
    ids = [new_id(mint, *JOB) for _ in range(2_000)]

    seen = [Counter(id[place] for id in ids) for place in range(11, 35)]

    # Base64 has 64 characters; 2 000 draws leave none of them out, nor does one stand out.
    assert all(len(counter) == 64 for counter in seen)
    assert all(max(counter.values()) < 100 for counter in seen)


def test_same_entropy_makes_the_same_ids() -> None:
    first, second, third = new_mint(7), new_mint(7), new_mint(8)

    ids = [[new_id(mint, *JOB) for _ in range(MANY)] for mint in (first, second, third)]

    assert ids[0] == ids[1]
    assert set(ids[0]).isdisjoint(ids[2])


def test_renamed_node_makes_no_more_ids_of_its_old_name() -> None:
    mint = new_mint()
    before = [new_id(mint, *JOB) for _ in range(3)]

    mint.rename(BEE)
    after = [new_id(mint, *JOB) for _ in range(MANY)]

    assert {id[:11] for id in after} == {b"D-bbbbbbbb-"}
    assert set(map(random_part, after)).isdisjoint(map(random_part, before))


# --- Creation times -----------------------------------------------------------------------------


def test_creation_time_tells_the_moment_in_nanoseconds() -> None:
    mint = new_mint()

    assert new_ctime(mint, START_MS) == START_MS * 1_000_000
    assert new_ctime(mint, START_MS + 1) == (START_MS + 1) * 1_000_000


@given(st.lists(st.integers(0, START_MS * 2), min_size=1, max_size=50))
def test_creation_times_only_grow_even_if_the_clock_goes_back(moments_ms: list[int]) -> None:
    mint = new_mint()

    ctimes = [new_ctime(mint, now_ms) for now_ms in moments_ms]

    assert all(earlier < later for earlier, later in pairwise(ctimes))
    # Never more ahead of the latest moment than there were jobs.
    for count, ctime in enumerate(ctimes, start=1):
        latest_ns = max(moments_ms[:count]) * 1_000_000
        assert latest_ns <= ctime <= latest_ns + count


def test_crowded_millisecond_lends_nothing_to_the_next() -> None:
    mint = new_mint()
    for _ in range(1_000):
        new_ctime(mint, START_MS)

    assert new_ctime(mint, START_MS + 1) == (START_MS + 1) * 1_000_000


def test_rename_does_not_turn_time_back() -> None:
    mint = new_mint()
    before = new_ctime(mint, START_MS)

    mint.rename(BEE)

    assert new_ctime(mint, START_MS - 1) > before


# --- Jobs ---------------------------------------------------------------------------------------


def test_job_is_as_it_was_ordered() -> None:
    order = JobOrder(b"queue", b"body", 0, 7, 60, 5)
    order.delay_s = 9

    job = new_mint().new_job(order, frozenset((BEE,)), START_MS)

    assert (job.queue, job.body, job.replicate) == (b"queue", b"body", 7)
    assert (job.retry_s, job.delay_s, job.held_by) == (5, 9, frozenset((BEE,)))
    assert job.expires_ms == START_MS + 60_000


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([1, 60, SECONDS_MAX])), max_size=40))
def test_each_job_expires_by_its_own_time_and_ttl(plan: list[tuple[int, int]]) -> None:
    mint = new_mint()

    for offset_ms, ttl_s in plan:
        now_ms = START_MS + offset_ms
        assert new_job(mint, ttl_s, 300, now_ms).expires_ms == now_ms + ttl_s * 1_000


# --- Jitter -------------------------------------------------------------------------------------


def test_offsets_fill_half_a_second_around_zero() -> None:
    jitter = new_jitter()

    offsets = [jitter.next_ms() for _ in range(20_000)]

    assert set(offsets) == set(range(-JITTER_MS // 2, JITTER_MS // 2))
    # The mean of so many is within 4 ms of the middle in all but one of ten thousand seeds.
    assert abs(sum(offsets) / len(offsets)) < 4


def test_same_source_gives_the_same_offsets() -> None:
    first, second, third = new_jitter(7), new_jitter(7), new_jitter(8)

    offsets = [[jitter.next_ms() for _ in range(MANY)] for jitter in (first, second, third)]

    assert offsets[0] == offsets[1]
    assert offsets[0] != offsets[2]
