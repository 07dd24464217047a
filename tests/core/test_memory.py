"""Memory is counted to the byte, levels follow it, and only what nobody needs is evicted."""

import pytest

from disque.core.check import check
from disque.core.node import Node
from disque.core.queues import IDLE_MS_MAX, SWEEP_MS
from disque.model.errors import CommandError
from disque.model.limits import (
    CLIENT_BYTES,
    EVICTIONS_PER_COMMAND_MAX,
    JOB_BYTES,
    NODE_BYTES,
    QUEUE_BYTES,
)
from disque.model.settings import Settings
from tests.core.helpers import (
    CLIENT,
    QUEUE,
    START_MS,
    added,
    new_node,
    new_order,
    run_until,
)


def limited_node(maxmemory: int, policy: str = "acks") -> Node:
    settings = Settings()
    settings.maxmemory = maxmemory
    settings.maxmemory_policy = policy
    return new_node(settings)


def limit(node: Node, maxmemory: int) -> None:
    """Change maxmemory as CONFIG SET does."""
    node.settings.maxmemory = maxmemory
    node.settings_changed()


def spent_jobs(node: Node, count: int) -> None:
    """Make jobs nobody needs any more: handed out, and never to be handed out again."""
    for _ in range(count):
        added(node, new_order(retry_s=0))
    assert len(node.take([QUEUE], count, START_MS)) == count


def test_account_is_the_sum_of_its_parts_and_returns_to_where_it_was() -> None:
    node = new_node()
    assert node.memory.account.used_bytes == NODE_BYTES

    node.memory.note_client()
    node.memory.note_client()
    node.memory.note_client()
    node.memory.forget_client()
    job = added(node, new_order(b"queue", b"x" * 100))
    used_bytes = node.memory.account.used_bytes
    node.acknowledge(job.id, START_MS)
    node.flush()

    parts = 2 * CLIENT_BYTES + JOB_BYTES + 100 + 5 + QUEUE_BYTES + 5
    assert used_bytes == NODE_BYTES + parts
    assert node.memory.account.used_bytes == NODE_BYTES + 2 * CLIENT_BYTES


@pytest.mark.parametrize(
    ("used_percent", "level"), [(75, 0), (76, 1), (95, 1), (96, 2), (100, 2), (150, 2)]
)
def test_level_follows_the_share_that_is_used(used_percent: int, level: int) -> None:
    node = new_node()

    limit(node, -(-NODE_BYTES * 100 // used_percent))

    assert node.memory.level() == level


def test_thresholds_are_exact_for_every_size() -> None:
    node = limited_node(199)

    assert (node.memory.tight_bytes, node.memory.full_bytes) == (149, 189)


def test_peak_is_remembered() -> None:
    node = new_node()
    added(node, new_order(body=b"x" * 1_000))
    highest = node.memory.account.used_bytes

    node.flush()

    assert node.memory.account.used_bytes < highest
    assert node.memory.account.peak_bytes() == highest


def test_tight_node_refuses_jobs_because_it_cannot_hold_a_copy() -> None:
    node = limited_node(NODE_BYTES)

    with pytest.raises(CommandError, match="reason: I'm out of memory"):
        node.add(CLIENT, new_order(), START_MS)

    assert node.jobs.count() == 0


def test_spent_jobs_go_first_and_only_as_many_as_needed() -> None:
    node = new_node()
    spent_jobs(node, 50)
    kept = added(node, new_order())
    # Ten jobs too many for level 0.
    used_bytes = node.memory.account.used_bytes
    limit(node, -(-(used_bytes - 10 * (JOB_BYTES + 4 + len(kept.queue))) * 100 // 75))

    level = node.make_room()

    assert level == 0
    assert node.jobs.count() == 41
    assert node.jobs.get(kept.id) is kept
    check(node)


def test_jobs_somebody_needs_are_never_evicted() -> None:
    node = new_node()
    for retry_s in (0, 10):
        added(node, new_order(retry_s=retry_s))
    added(node, new_order(b"other", retry_s=10))
    node.take([b"other"], 1, START_MS)
    limit(node, 1)

    level = node.make_room()

    assert level == 2
    assert node.jobs.count() == 3


def test_policy_noeviction_evicts_nothing() -> None:
    node = limited_node(10**9, "noeviction")
    spent_jobs(node, 5)
    limit(node, 1)

    node.make_room()

    assert node.jobs.count() == 5


def test_one_command_evicts_a_bounded_number() -> None:
    node = new_node()
    spent_jobs(node, EVICTIONS_PER_COMMAND_MAX + 10)
    limit(node, 1)

    node.make_room()

    assert node.jobs.count() == 10


@pytest.mark.parametrize(("share", "level"), [(80, 1), (99, 2)])
def test_idle_queues_are_forgotten_sooner_when_memory_is_short(share: int, level: int) -> None:
    node = new_node()
    node.queues.open(b"idle", START_MS)
    limit(node, node.memory.account.used_bytes * 100 // share)
    assert node.make_room() == level

    node.tick(START_MS + IDLE_MS_MAX[level] - 1)
    assert node.queues.count() == 1
    run_until(node, START_MS + IDLE_MS_MAX[level] + SWEEP_MS)

    assert node.queues.count() == 0
    check(node)


def test_sweeping_stops_when_memory_is_plenty_again() -> None:
    node = new_node()
    added(node, new_order())
    limit(node, NODE_BYTES)
    node.make_room()
    assert node.next_ms() == 1

    limit(node, 10 * NODE_BYTES)
    next_ms = node.tick(START_MS)

    assert next_ms is not None
    assert next_ms > START_MS + SWEEP_MS


def test_sweep_goes_round_a_table_larger_than_its_step() -> None:
    node = new_node()
    for number in range(450):
        node.queues.open(b"%d" % number, START_MS)
    now_ms = START_MS + IDLE_MS_MAX[1]
    node.queues.open(b"young", now_ms)

    for _ in range(3):
        node.queues.sweep(now_ms, level=1)

    assert [queue.name for queue in node.queues.table] == [b"young"]
    check(node)
