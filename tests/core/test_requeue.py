"""Jobs are queued, handed out and queued again exactly when they should be, never early."""

import pytest

from disque.core.check import check
from disque.core.mint import JITTER_MS
from disque.core.node import Node
from disque.core.queues import NOT_PAUSED, PAUSED_IN, PAUSED_OUT
from disque.core.requeue import COUNTER_MAX
from disque.core.shelf import ANNOUNCE_MS
from disque.model.job import ACTIVE, QUEUED, Job
from disque.model.messages import GotJob, Message, Queued, WillQueue, Working
from disque.model.records import Delivered
from disque.model.settings import Settings
from tests.core.helpers import (
    BEE,
    QUEUE,
    START_MS,
    added,
    new_cluster_node,
    new_node,
    new_order,
    run_until,
    take_one,
    taken,
    waiting,
)

HALF_MS = JITTER_MS // 2


def handed_out(node: Node, job: Job, now_ms: int = START_MS) -> None:
    """Have `job` taken by a worker."""
    assert take_one(node, job.queue, now_ms) is job


def sent(node: Node, kind: type[Message]) -> int:
    """Count the messages of this kind."""
    return len([message for _, message in node.effects.outbox if isinstance(message, kind)])


def test_silent_worker_loses_the_job_after_the_retry_time() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=3))
    handed_out(node, job)

    assert -HALF_MS <= job.requeue_at_ms - (START_MS + 3_000) < HALF_MS
    run_until(node, job.requeue_at_ms)
    assert job.state == ACTIVE
    run_until(node, job.requeue_at_ms + 1)

    assert job.state == QUEUED
    assert (job.nacks, job.additional_deliveries) == (0, 1)
    check(node)


def test_retry_goes_on_until_the_job_expires() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=2, ttl_s=60))

    deliveries = 0
    for now_ms in range(START_MS, START_MS + 70_000, 10):
        node.tick(now_ms)
        deliveries += len(taken(node, now_ms))

    assert 26 <= deliveries <= 31
    assert deliveries == job.additional_deliveries + 1
    assert node.jobs.count() == 0


def test_job_nobody_took_stays_queued_and_is_not_counted() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=1))

    run_until(node, START_MS + 10_000)

    assert job.state == QUEUED
    assert job.additional_deliveries == 0
    assert job.requeue_at_ms > START_MS + 10_000


def test_requeued_job_returns_to_its_old_place() -> None:
    node = new_node()
    first = added(node, new_order(body=b"first", retry_s=1))
    added(node, new_order(body=b"second"))
    handed_out(node, first)

    run_until(node, START_MS + 2_000)

    assert taken(node, START_MS + 2_000, count=2) == [b"first", b"second"]


def test_retry_counts_from_queueing_by_default() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=10))
    planned_ms = job.requeue_at_ms

    handed_out(node, job, START_MS + 8_000)

    assert job.requeue_at_ms == planned_ms


def test_retry_counts_from_delivery_if_so_configured() -> None:
    settings = Settings()
    node = new_node(settings)
    settings.retry_from = "delivered"
    node.settings_changed()
    job = added(node, new_order(retry_s=10))

    handed_out(node, job, START_MS + 8_000)

    assert -HALF_MS <= job.requeue_at_ms - (START_MS + 18_000) < HALF_MS
    check(node)


# --- Delay and TTL ------------------------------------------------------------------------------


def test_delayed_job_is_queued_when_its_delay_is_over_without_jitter() -> None:
    node = new_node()
    job = added(node, new_order(delay_s=7))

    run_until(node, START_MS + 7_000)
    assert job.state == ACTIVE
    run_until(node, START_MS + 7_001)

    assert job.state == QUEUED
    assert job.additional_deliveries == 0


@pytest.mark.parametrize("retry_s", [0, 1])
def test_queued_job_disappears_when_its_time_is_over(retry_s: int) -> None:
    node = new_node()
    job = added(node, new_order(ttl_s=5, retry_s=retry_s))

    run_until(node, START_MS + 5_000)
    assert job.state == QUEUED
    run_until(node, START_MS + 5_001)

    assert node.jobs.count() == 0
    assert taken(node, START_MS + 5_001) == []
    check(node)


def test_expired_job_is_not_handed_out_even_if_the_tick_is_late() -> None:
    node = new_node()
    added(node, new_order(body=b"old", ttl_s=1))
    added(node, new_order(body=b"good"))

    bodies = taken(node, START_MS + 1_000)

    assert bodies == [b"good"]
    assert node.jobs.count() == 1
    check(node)


# --- At most once -------------------------------------------------------------------------------


def test_at_most_once_job_is_handed_out_once_whatever_anybody_tries() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=0, ttl_s=600))
    handed_out(node, job)

    assert not node.requeue.enqueue(job, is_nack=True, now_ms=START_MS)
    assert not node.requeue.enqueue(job, is_nack=False, now_ms=START_MS)
    node.requeue.work(job, START_MS)
    run_until(node, START_MS + 599_000)

    assert job.state == ACTIVE
    assert job.nacks == 0
    check(node)


def test_at_most_once_job_may_be_queued_again_before_it_was_handed_out() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=0))
    node.shelf.dequeue(job)

    assert node.requeue.enqueue(job, is_nack=False, now_ms=START_MS)
    assert taken(node, START_MS) == [b"body"]


def test_delivery_of_an_at_most_once_job_is_recorded_before_it_is_handed_out() -> None:
    node = new_node()
    once = added(node, new_order(b"once", retry_s=0))
    again = added(node, new_order(b"again"))
    node.effects.is_journaling = True

    handed_out(node, once)
    handed_out(node, again)

    (record,) = node.effects.journal
    assert isinstance(record, Delivered)
    assert record.id == once.id


def test_at_most_once_job_that_was_handed_out_gives_up_whatever_was_planned_for_it() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=0))
    handed_out(node, job)
    job.requeue_at_ms = START_MS + 1_000
    node.shelf.reschedule(job)

    run_until(node, START_MS + 1_001)

    assert (job.state, job.requeue_at_ms) == (ACTIVE, 0)
    check(node)


def test_delayed_at_most_once_job_is_queued_even_while_the_queue_is_paused() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=0, delay_s=2))
    node.pause(QUEUE, PAUSED_IN, START_MS)

    run_until(node, START_MS + 2_001)

    assert job.state == QUEUED


def test_working_leaves_a_queued_at_most_once_job_in_its_queue() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=0))

    node.requeue.work(job, START_MS)

    assert job.state == QUEUED


# --- Who is served ------------------------------------------------------------------------------


def test_queue_is_ready_when_it_has_a_job_a_waiter_and_no_pause() -> None:
    node = new_node()
    added(node, new_order(b"jobs only"))
    node.waiters.block(1, [b"waiter only", b"both", b"paused"], 0, False, START_MS)
    node.pause(b"paused", PAUSED_OUT, START_MS)

    for name in (b"both", b"paused"):
        added(node, new_order(name))

    assert list(node.requeue.ready) == [b"both"]


def test_queue_becomes_ready_when_its_pause_ends() -> None:
    node = new_node()
    node.pause(QUEUE, PAUSED_OUT, START_MS)
    node.waiters.block(1, [QUEUE], 0, False, START_MS)
    added(node, new_order())
    before = list(node.requeue.ready)

    node.pause(QUEUE, NOT_PAUSED, START_MS)

    assert before == []
    assert list(node.requeue.ready) == [QUEUE]


def test_paused_queue_hands_nothing_out() -> None:
    node = new_node()
    job = added(node, new_order())
    node.pause(QUEUE, PAUSED_OUT, START_MS)

    assert take_one(node, QUEUE, START_MS) is None

    assert job.state == QUEUED
    check(node)


# --- Pause, NACK, WORKING -----------------------------------------------------------------------


def test_requeue_into_a_paused_queue_is_put_off_by_one_retry_period() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=2))
    handed_out(node, job)
    node.pause(QUEUE, PAUSED_IN, START_MS)
    first_ms = job.requeue_at_ms

    run_until(node, first_ms + 1)
    assert job.state == ACTIVE
    assert -HALF_MS <= job.requeue_at_ms - (first_ms + 1 + 2_000) < HALF_MS
    node.pause(QUEUE, NOT_PAUSED, first_ms + 1)
    run_until(node, job.requeue_at_ms + 1)

    assert job.state == QUEUED


def test_nack_queues_at_once_and_is_counted_as_such() -> None:
    node = new_node()
    job = added(node, new_order())
    handed_out(node, job)
    node.pause(QUEUE, PAUSED_IN, START_MS)

    assert node.requeue.enqueue(job, is_nack=True, now_ms=START_MS)
    assert not node.requeue.enqueue(job, is_nack=True, now_ms=START_MS)

    assert (job.state, job.nacks, job.additional_deliveries) == (QUEUED, 1, 0)


def test_counters_stop_at_sixteen_bits() -> None:
    node = new_node()
    job = added(node, new_order())
    job.nacks = job.additional_deliveries = COUNTER_MAX

    for is_nack in (True, False):
        node.shelf.dequeue(job)
        node.requeue.enqueue(job, is_nack, START_MS)

    assert (job.nacks, job.additional_deliveries) == (COUNTER_MAX, COUNTER_MAX)


def test_enqueue_of_a_delayed_job_is_its_first_queueing() -> None:
    node = new_node()
    job = added(node, new_order(delay_s=60))

    assert node.requeue.enqueue(job, is_nack=False, now_ms=START_MS)

    assert (job.state, job.additional_deliveries) == (QUEUED, 0)
    check(node)


def test_dequeued_job_comes_back_after_its_retry_time() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=5))
    node.shelf.dequeue(job)
    assert taken(node, START_MS) == []

    run_until(node, job.requeue_at_ms + 1)

    assert job.state == QUEUED


def test_worker_that_is_busy_puts_the_next_delivery_off() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=10))
    handed_out(node, job)

    node.requeue.work(job, START_MS + 9_000)

    assert -HALF_MS <= job.requeue_at_ms - (START_MS + 19_000) < HALF_MS
    check(node)


def test_busy_worker_takes_a_queued_job_off_the_queue() -> None:
    node = new_node()
    job = added(node, new_order())

    node.requeue.work(job, START_MS)

    assert job.state == ACTIVE
    assert taken(node, START_MS) == []
    check(node)


@pytest.mark.parametrize(("delay_s", "retry_s"), [(100, 10), (100, 300)])
def test_first_delayed_queueing_is_never_moved_forward(delay_s: int, retry_s: int) -> None:
    node = new_node()
    job = added(node, new_order(delay_s=delay_s, retry_s=retry_s))

    node.requeue.work(job, START_MS)

    assert job.requeue_at_ms >= START_MS + delay_s * 1_000
    assert job.requeue_at_ms >= START_MS + retry_s * 1_000 - HALF_MS
    check(node)


# --- Other holders ------------------------------------------------------------------------------


def test_other_holders_hear_half_a_second_before_and_after_a_requeue() -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, new_order(replicate=2, retry_s=5))
    node.receive(BEE, GotJob(job.id), START_MS)
    handed_out(node, job)
    due_ms = job.requeue_at_ms

    run_until(node, due_ms - ANNOUNCE_MS)
    assert sent(node, WillQueue) == 0
    run_until(node, due_ms - ANNOUNCE_MS + 1)
    assert (sent(node, WillQueue), sent(node, Queued)) == (1, 0)
    run_until(node, due_ms + 1)

    assert (sent(node, WillQueue), sent(node, Queued)) == (1, 1)


def test_first_queueing_is_not_announced() -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, new_order(replicate=2))

    node.receive(BEE, GotJob(job.id), START_MS)

    assert job.state == QUEUED
    assert sent(node, Queued) == sent(node, WillQueue) == 0


def test_other_holders_hear_of_a_busy_worker() -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, new_order(replicate=2))
    node.receive(BEE, GotJob(job.id), START_MS)

    node.requeue.work(job, START_MS)

    assert sent(node, Working) == 1
