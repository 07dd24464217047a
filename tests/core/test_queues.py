"""Queues appear when they are needed and are forgotten when nobody would notice."""

import random

import pytest

from disque.core.account import Account
from disque.core.awake import AwakeList
from disque.core.queues import (
    IDLE_MS_MAX,
    NOT_PAUSED,
    PAUSE_NAMES,
    PAUSED_ALL,
    PAUSED_IN,
    SWEEP_QUEUES_MAX,
    Queue,
    Queues,
)
from disque.model.limits import MENTIONED_QUEUES_BYTES_MAX, QUEUE_BYTES
from tests.core.helpers import (
    CLIENT,
    QUEUE,
    START_MS,
    added,
    new_job,
    new_node,
    new_order,
    run_until,
    take_one,
)

IDLE_MS = IDLE_MS_MAX[0]


def new_queues() -> Queues:
    return Queues(Account(), AwakeList(), random.Random(1))


def new_queue() -> Queue:
    return Queue(QUEUE, random.Random(1), START_MS)


def test_queue_is_opened_once() -> None:
    account = Account()
    empty_bytes = account.used_bytes
    queues = Queues(account, AwakeList(), random.Random(1))

    first = queues.open(b"a", START_MS)
    second = queues.open(b"a", START_MS + 5)

    assert first is second
    assert (first.created_ms, first.used_ms) == (START_MS, START_MS)
    assert queues.get(b"b") is None
    assert account.used_bytes - empty_bytes == QUEUE_BYTES + 1


def test_forgotten_queue_leaves_nothing() -> None:
    account = Account()
    empty_bytes = account.used_bytes
    queues = Queues(account, AwakeList(), random.Random(1))
    opened = [queues.open(name, START_MS) for name in (b"a", b"b", b"c")]

    for queue in opened:
        queues.forget(queue)

    assert (queues.count(), account.used_bytes) == (0, empty_bytes)


def test_empty_queue_is_forgotten_after_five_idle_minutes() -> None:
    node = new_node()
    node.take([QUEUE], 1, START_MS)

    run_until(node, START_MS + IDLE_MS)
    assert node.queues.count() == 1
    run_until(node, START_MS + IDLE_MS + 1)

    assert node.queues.count() == 0
    assert node.next_ms() is None


def test_use_puts_forgetting_off() -> None:
    node = new_node()
    node.take([QUEUE], 1, START_MS)
    job = added(node, new_order(), START_MS + 100_000)
    node.take([QUEUE], 1, START_MS + 200_000)
    node.acknowledge(job.id, START_MS + 250_000)

    run_until(node, START_MS + 200_000 + IDLE_MS)
    assert node.queues.count() == 1
    run_until(node, START_MS + 200_000 + IDLE_MS + 1)

    assert node.queues.count() == 0


def test_asking_in_vain_is_no_use() -> None:
    node = new_node()
    node.take([QUEUE], 1, START_MS)
    node.take([QUEUE], 1, START_MS + 200_000)

    run_until(node, START_MS + IDLE_MS + 1)

    assert node.queues.count() == 0


def test_names_that_are_only_asked_for_take_a_bounded_amount_of_memory() -> None:
    node = new_node()
    added(node, new_order(b"kept"))
    used_bytes = node.memory.account.used_bytes

    for number in range(5_000):
        node.take([b"queue-%d" % number, b"other-%d" % number], 1, START_MS)
        node.waiters.block(CLIENT, [b"waited-%d" % number], 0, False, START_MS)
        node.client_gone(CLIENT, START_MS)

    assert node.memory.account.used_bytes - used_bytes <= MENTIONED_QUEUES_BYTES_MAX
    assert node.queues.get(b"kept") is not None
    assert node.queues.get(b"queue-4999") is not None
    assert node.queues.get(b"queue-0") is None


def test_name_that_is_waited_for_again_and_again_counts_once() -> None:
    node = new_node()
    node.take([QUEUE], 1, START_MS)

    for _ in range(5_000):
        node.waiters.block(CLIENT, [b"same", b"other"], 0, False, START_MS)
        node.client_gone(CLIENT, START_MS)

    assert {queue.name for queue in node.queues.table} == {QUEUE, b"same", b"other"}


@pytest.mark.parametrize("reason", ["job", "waiter", "pause"])
def test_queue_that_was_asked_for_and_then_used_survives_many_other_names(reason: str) -> None:
    node = new_node()
    node.take([QUEUE], 1, START_MS)
    if reason == "job":
        added(node, new_order())
    elif reason == "waiter":
        node.waiters.block(CLIENT, [QUEUE], 0, False, START_MS)
    else:
        node.pause(QUEUE, PAUSED_IN, START_MS)

    for number in range(5_000):
        take_one(node, b"queue-%d" % number, START_MS)

    assert node.queues.get(QUEUE) is not None


@pytest.mark.parametrize("reason", ["job", "waiter", "pause"])
def test_queue_that_matters_is_kept(reason: str) -> None:
    node = new_node()
    if reason == "job":
        added(node, new_order())
    elif reason == "waiter":
        node.waiters.block(1, [QUEUE], 0, with_counters=False, now_ms=START_MS)
    else:
        node.pause(QUEUE, PAUSED_IN, START_MS)

    run_until(node, START_MS + 4 * IDLE_MS)

    assert node.queues.count() == 1


def test_queue_that_no_longer_matters_is_forgotten_within_a_period() -> None:
    node = new_node()
    node.pause(QUEUE, PAUSED_IN, START_MS)
    run_until(node, START_MS + 3 * IDLE_MS)

    node.pause(QUEUE, NOT_PAUSED, START_MS + 3 * IDLE_MS)
    run_until(node, START_MS + 4 * IDLE_MS + 10)

    assert node.queues.count() == 0


@pytest.mark.parametrize(("level", "idle_ms"), list(enumerate(IDLE_MS_MAX)))
def test_sweep_forgets_what_is_idle_for_as_long_as_the_level_says(level: int, idle_ms: int) -> None:
    queues = new_queues()
    for name in (b"a", b"b"):
        queues.open(name, START_MS)
    queues.open(b"young", START_MS + 1)

    queues.sweep(START_MS + idle_ms - 1, level)
    early = queues.count()
    queues.sweep(START_MS + idle_ms, level)

    assert early == 3
    assert [queue.name for queue in queues.table] == [b"young"]


def test_sweep_of_no_queues_is_none() -> None:
    queues = new_queues()

    queues.sweep(START_MS, level=2)

    assert queues.count() == 0


def test_sweeps_take_turns_until_every_queue_was_looked_at() -> None:
    queues = new_queues()
    for number in range(SWEEP_QUEUES_MAX * 2 + 50):
        queues.open(b"%d" % number, START_MS)

    left: list[int] = []
    for _ in range(3):
        queues.sweep(START_MS + IDLE_MS, level=0)
        left.append(queues.count())

    assert left == [SWEEP_QUEUES_MAX + 50, 50, 0]


def test_names_of_pause_states_follow_their_bits() -> None:
    assert PAUSE_NAMES[NOT_PAUSED] == b"none"
    assert PAUSE_NAMES[PAUSED_ALL] == b"all"


def test_jobs_in_and_out_are_counted() -> None:
    node = new_node()
    job = added(node, new_order())
    node.take([QUEUE], 1, START_MS)
    node.requeue.enqueue(job, is_nack=True, now_ms=START_MS)
    node.shelf.dequeue(job)

    queue = node.queues.table[0]

    assert (queue.jobs_in, queue.jobs_out) == (2, 1)


def test_queue_with_a_job_cannot_be_forgotten() -> None:
    queue = new_queue()
    queue.jobs.insert(new_job(1))

    assert not queue.can_be_forgotten(START_MS + IDLE_MS, IDLE_MS)


# --- Imports ------------------------------------------------------------------------------------


def test_queue_without_imports_has_no_rate() -> None:
    assert new_queue().import_rate(START_MS) == 0


def test_import_rate_is_rounded_up() -> None:
    queue = new_queue()
    for _ in range(3):
        queue.note_import(START_MS + 100)

    assert queue.import_rate(START_MS + 1_000) == 3
    assert queue.import_rate(START_MS + 1_001) == 3
    assert queue.import_rate(START_MS + 700) == 5


def test_very_short_spans_do_not_exaggerate() -> None:
    queue = new_queue()
    queue.note_import(START_MS)

    assert queue.import_rate(START_MS) == 20


def test_window_before_counts_too() -> None:
    queue = new_queue()
    for _ in range(10):
        queue.note_import(START_MS + 500)
    for _ in range(5):
        queue.note_import(START_MS + 1_500)

    assert queue.import_rate(START_MS + 2_000) == 8


def test_imports_are_forgotten_after_five_seconds() -> None:
    queue = new_queue()
    queue.note_import(START_MS)

    assert queue.import_rate(START_MS + 5_000) == 1
    assert queue.import_rate(START_MS + 5_001) == 0
