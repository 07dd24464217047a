"""Whatever happens to a job happens to it in every place that knows it."""

import pytest
from hypothesis import given, strategies as st

from disque.core.check import check
from disque.core.node import Node
from disque.core.shelf import ANNOUNCE_MS
from disque.model.job import ACKED, ACTIVE, ANNOUNCE, QUEUED, WAIT_REPL, Job, JobId, NodeId
from disque.model.limits import JOB_BYTES
from disque.model.messages import DelJob, GotJob
from disque.model.records import Deleted, Stored
from tests.core.helpers import (
    BEE,
    CAT,
    DOG,
    ME,
    QUEUE,
    START_MS,
    added,
    known,
    new_cluster_node,
    new_job,
    new_node,
    new_order,
    take_one,
    taken,
    waiting,
)

UNKNOWN = JobId(b"D-bbbbbbbb-%024d-05a1" % 7)
STATES = ["active", "queued", "spent", "acked", "dummy"]


def job_in(node: Node, state: str) -> Job:
    """Bring a job into this state, as clients and peers do."""
    if state == "dummy":
        node.acknowledge(UNKNOWN, START_MS)
        return known(node, UNKNOWN)
    if state == "acked":
        job = waiting(node, new_order(b"acked", replicate=2))
        node.receive(BEE, GotJob(job.id), START_MS)
        node.acknowledge(job.id, START_MS)
        return job
    job = added(node, new_order(state.encode(), retry_s=0 if state == "spent" else 300))
    if state != "queued":
        assert take_one(node, job.queue, START_MS) is job
    return job


# --- Timers -------------------------------------------------------------------------------------

moments = st.integers(START_MS, START_MS + 10_000)


@given(
    state=st.sampled_from([WAIT_REPL, ACTIVE, QUEUED]),
    requeue_at_ms=st.just(0) | moments,
    expires_ms=moments,
    is_announced=st.booleans(),
)
def test_job_wakes_for_whatever_happens_to_it_first(
    state: int, requeue_at_ms: int, expires_ms: int, is_announced: bool
) -> None:
    shelf = new_node().shelf
    job = new_job(1)
    job.state, job.requeue_at_ms, job.expires_ms = state, requeue_at_ms, expires_ms
    job.flags = ANNOUNCE if is_announced else 0

    shelf.reschedule(job)

    events = [expires_ms]
    # Who waits for copies is queued by nobody.
    if requeue_at_ms and state != WAIT_REPL:
        events.append(requeue_at_ms - (ANNOUNCE_MS if is_announced else 0))
    assert job.awake_ms == min(events)
    assert shelf.awake.appointments() == [job]


def test_other_holders_have_half_a_second_to_object() -> None:
    shelf = new_node().shelf
    job = new_job(1)
    job.state, job.flags, job.requeue_at_ms = ACTIVE, ANNOUNCE, START_MS + 5_000

    shelf.reschedule(job)

    assert job.awake_ms == START_MS + 4_500


def test_new_appointment_replaces_the_one_before() -> None:
    shelf = new_node().shelf
    job = new_job(1)
    shelf.reschedule(job)

    job.expires_ms += 1
    shelf.reschedule(job)

    assert job.awake_ms == job.expires_ms
    assert shelf.awake.appointments() == [job]


# --- Taking out and removing --------------------------------------------------------------------


def test_dequeued_job_is_active_and_comes_out_of_no_queue() -> None:
    node = new_node()
    first, job, last = [added(node, new_order(body=body)) for body in (b"a", b"b", b"c")]

    node.shelf.dequeue(job)

    assert (first.state, job.state, last.state) == (QUEUED, ACTIVE, QUEUED)
    check(node)
    assert taken(node, START_MS, count=3) == [b"a", b"c"]


@pytest.mark.parametrize("state", ["active", "spent", "acked", "dummy"])
def test_taking_a_job_out_of_a_queue_it_is_not_in_is_our_own_mistake(state: str) -> None:
    node = new_cluster_node(BEE)
    job = job_in(node, state)

    with pytest.raises(AssertionError):
        node.shelf.dequeue(job)

    check(node)


@pytest.mark.parametrize("state", STATES)
def test_removed_job_is_nowhere_any_more(state: str) -> None:
    node = new_cluster_node(BEE)
    kept = added(node, new_order(b"kept"))
    job = job_in(node, state)
    used_bytes = node.memory.account.used_bytes

    node.shelf.remove(job)

    assert node.jobs.table == [kept]
    assert node.jobs.get(job.id) is None
    assert job not in node.shelf.awake.appointments()
    assert node.memory.spare == {}
    released_bytes = used_bytes - node.memory.account.used_bytes
    assert released_bytes == JOB_BYTES + len(job.queue) + len(job.body or b"")
    check(node)


@given(st.permutations(STATES))
def test_jobs_are_removed_in_any_order_without_harm_to_the_rest(order: list[str]) -> None:
    node = new_cluster_node(BEE)
    jobs = {state: job_in(node, state) for state in STATES}

    for state in order:
        node.shelf.remove(jobs.pop(state))
        assert {job.id for job in node.jobs.table} == {job.id for job in jobs.values()}
        check(node)


def test_job_somebody_waits_for_is_not_removed_behind_their_back() -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, new_order(replicate=2))

    with pytest.raises(AssertionError):
        node.shelf.remove(job)

    check(node)


# --- Journal ------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
def test_end_of_a_job_is_recorded_once(state: str) -> None:
    node = new_cluster_node(BEE)
    job = job_in(node, state)
    node.effects.is_journaling = True

    node.shelf.remove(job)

    # An acknowledged job was recorded as gone when it was acknowledged.
    gone = [record.id for record in node.effects.journal if isinstance(record, Deleted)]
    assert gone == ([] if job.state == ACKED else [job.id])
    assert len(node.effects.journal) == len(gone)


def test_stored_job_is_recorded_as_it_is_now() -> None:
    node = new_node()
    node.effects.is_journaling = True
    job = new_job(1)
    job.state, job.nacks = ACTIVE, 3

    node.shelf.store(job)
    job.state, job.nacks = QUEUED, 4

    (record,) = node.effects.journal
    assert isinstance(record, Stored)
    assert (record.id, record.state, record.nacks) == (job.id, ACTIVE, 3)


def test_nothing_is_recorded_if_nobody_keeps_a_journal() -> None:
    node = new_node()
    job = added(node, new_order())

    node.shelf.store(job)
    node.shelf.remove(job)

    assert node.effects.journal == []


# --- Holders ------------------------------------------------------------------------------------


@given(st.frozensets(st.sampled_from([ME, BEE, CAT, DOG])))
def test_message_goes_once_to_every_other_holder_always_in_the_same_order(
    holders: frozenset[NodeId],
) -> None:
    shelf = new_node().shelf
    job = new_job(1)
    job.held_by = holders
    message = DelJob(job.id)

    shelf.tell_holders(job, message)

    assert shelf.effects.outbox == [(id, message) for id in (BEE, CAT, DOG) if id in holders]


@pytest.mark.parametrize(
    ("holders", "is_only_one"),
    [((ME,), True), ((), False), ((BEE,), False), ((ME, BEE), False), ((BEE, CAT), False)],
)
def test_only_holder_is_who_holds_it_and_nobody_else_does(
    holders: tuple[NodeId, ...], is_only_one: bool
) -> None:
    shelf = new_node().shelf
    job = new_job(1)
    job.held_by = frozenset(holders)

    assert shelf.is_only_holder(job) == is_only_one


def test_after_a_change_of_identity_the_new_name_is_ours() -> None:
    node = new_node()
    node.reset(is_hard=True)

    job = added(node, new_order(QUEUE))

    assert ME not in job.held_by
    assert node.shelf.is_only_holder(job)
