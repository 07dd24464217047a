"""What a node that is alone promises to its clients."""

import pytest

from disque.core.check import check
from disque.core.node import LEAVING_SENTENCE, Node
from disque.core.queues import NOT_PAUSED, PAUSED_IN, PAUSED_OUT, SWEEP_MS
from disque.model.asks import SaveNodes
from disque.model.errors import CommandError
from disque.model.job import ACTIVE, QUEUED, JobId
from disque.model.limits import NODE_BYTES, TIMERS_PER_TICK_MAX
from disque.model.messages import DelJob, Pause
from disque.model.peer import LEAVING
from disque.model.records import Deleted, Delivered, Stored
from disque.model.replies import ErrorReply, JobsReply, NothingReply
from tests.core.helpers import (
    BEE,
    CAT,
    CLIENT,
    ME,
    QUEUE,
    START_MS,
    added,
    drained_replies,
    new_cluster_node,
    new_node,
    new_order,
    run_until,
    take_one,
    taken,
)

UNKNOWN = JobId(b"D-bbbbbbbb-%024d-05a1" % 7)


def served(node: Node) -> list[tuple[int, bytes]]:
    """Take the replies to blocked clients: who got which body."""
    found: list[tuple[int, bytes]] = []
    for reply in drained_replies(node):
        assert isinstance(reply, JobsReply)
        found.append((reply.client, reply.deliveries[0].body))
    return found


# --- Adding and taking --------------------------------------------------------------------------


def test_job_comes_out_as_it_went_in() -> None:
    node = new_node()
    job = added(node, new_order(b"q", b"\x00\r\n", ttl_s=60, retry_s=5))

    (found,) = node.take([b"q"], 1, START_MS)

    assert found is job
    assert (found.queue, found.body, found.retry_s) == (b"q", b"\x00\r\n", 5)
    assert found.expires_ms == START_MS + 60_000
    assert found.ctime == START_MS * 1_000_000
    assert found.held_by == {ME}
    assert found.state == ACTIVE


def test_jobs_of_one_millisecond_come_out_in_the_order_they_were_added() -> None:
    node = new_node()
    for number in range(300):
        added(node, new_order(body=b"%d" % number))

    bodies = taken(node, START_MS, count=1_000)

    assert bodies == [b"%d" % number for number in range(300)]


def test_one_job_per_queue_and_pass_is_taken() -> None:
    node = new_node()
    for body in (b"a1", b"a2", b"a3"):
        added(node, new_order(b"a", body))
    added(node, new_order(b"b", b"b1"))

    bodies = taken(node, START_MS, b"a", b"b", count=3)

    assert bodies == [b"a1", b"b1", b"a2"]


def test_asking_an_unknown_queue_opens_it() -> None:
    node = new_node()

    assert node.take([b"new"], 1, START_MS) == []
    assert take_one(node, b"newer", START_MS) is None
    assert node.queues.count() == 2


def test_take_one_fetches_the_oldest_job() -> None:
    node = new_node()
    oldest = added(node, new_order())
    added(node, new_order())

    assert take_one(node, QUEUE, START_MS) is oldest


def test_queue_that_is_long_enough_refuses_more() -> None:
    node = new_node()
    added(node, new_order(length_max=1))

    with pytest.raises(CommandError, match="MAXLEN"):
        node.add(CLIENT, new_order(length_max=1), START_MS)

    assert added(node, new_order(length_max=2)).state == QUEUED


def test_length_is_judged_before_the_pause() -> None:
    node = new_node()
    added(node, new_order())
    node.pause(QUEUE, PAUSED_IN, START_MS)

    with pytest.raises(CommandError, match="MAXLEN"):
        node.add(CLIENT, new_order(length_max=1), START_MS)
    with pytest.raises(CommandError, match="PAUSED"):
        node.add(CLIENT, new_order(length_max=2), START_MS)

    assert node.jobs.count() == 1


def test_more_copies_than_nodes_are_refused() -> None:
    node = new_node()

    with pytest.raises(CommandError) as refusal:
        node.add(CLIENT, new_order(replicate=2), START_MS)

    assert refusal.value.code == "NOREPL"
    assert refusal.value.sentence.endswith("replication level")


# --- Waiting for jobs ---------------------------------------------------------------------------


def test_waiters_are_served_in_the_order_they_blocked() -> None:
    node = new_node()
    for client in (3, 1, 2):
        node.waiters.block(client, [QUEUE], 0, with_counters=False, now_ms=START_MS)

    added(node, new_order(body=b"one"))
    added(node, new_order(body=b"two"))
    node.serve_ready(START_MS)

    assert served(node) == [(3, b"one"), (1, b"two")]
    check(node)


def test_waiter_prefers_the_queue_it_named_first() -> None:
    node = new_node()
    node.waiters.block(1, [b"high", b"low"], 0, with_counters=False, now_ms=START_MS)

    added(node, new_order(b"low", b"low"))
    added(node, new_order(b"high", b"high"))
    node.serve_ready(START_MS)

    assert served(node) == [(1, b"high")]


def test_nobody_overtakes_in_the_line_of_another_queue() -> None:
    node = new_node()
    node.waiters.block(1, [b"high"], 0, with_counters=False, now_ms=START_MS)
    node.waiters.block(2, [b"high", b"low"], 0, with_counters=False, now_ms=START_MS)

    added(node, new_order(b"low", b"low"))
    added(node, new_order(b"high", b"high"))
    node.serve_ready(START_MS)

    assert sorted(served(node)) == [(1, b"high"), (2, b"low")]
    check(node)


def test_waiter_is_not_woken_by_a_job_that_has_expired() -> None:
    node = new_node()
    node.waiters.block(1, [QUEUE], 0, with_counters=False, now_ms=START_MS)
    added(node, new_order(ttl_s=1))

    node.serve_ready(START_MS + 1_000)

    assert served(node) == []
    assert node.jobs.count() == 0
    check(node)


def test_waiter_keeps_waiting_while_the_queue_is_paused_and_is_served_after() -> None:
    node = new_node()
    node.pause(QUEUE, PAUSED_OUT, START_MS)
    node.waiters.block(1, [QUEUE], 0, with_counters=True, now_ms=START_MS)
    added(node, new_order())
    node.serve_ready(START_MS)
    assert served(node) == []

    node.pause(QUEUE, NOT_PAUSED, START_MS)
    node.serve_ready(START_MS)

    (reply,) = drained_replies(node)
    assert isinstance(reply, JobsReply)
    assert reply.with_counters


def test_waiter_whose_time_is_over_gets_nothing() -> None:
    node = new_node()
    node.waiters.block(1, [QUEUE], 1_500, with_counters=False, now_ms=START_MS)

    run_until(node, START_MS + 1_500)
    early = drained_replies(node)
    run_until(node, START_MS + 1_501)
    (reply,) = drained_replies(node)

    assert early == []
    assert isinstance(reply, NothingReply)
    assert node.waiters.count() == 0
    check(node)


def test_queue_that_is_gone_before_its_turn_serves_nobody() -> None:
    node = new_node()
    node.waiters.block(1, [QUEUE], 0, with_counters=False, now_ms=START_MS)
    job = added(node, new_order())
    node.client_gone(1, START_MS)
    node.delete(job)
    node.queues.forget(node.queues.by_name[QUEUE])

    node.serve_ready(START_MS)

    assert drained_replies(node) == []
    check(node)


def test_client_that_left_is_given_nothing() -> None:
    node = new_node()
    node.waiters.block(1, [QUEUE], 5_000, with_counters=False, now_ms=START_MS)
    node.client_gone(1, START_MS)

    added(node, new_order(body=b"kept"))
    node.serve_ready(START_MS)

    assert drained_replies(node) == []
    assert taken(node, START_MS) == [b"kept"]
    check(node)


# --- Acknowledging and deleting -----------------------------------------------------------------


def test_acknowledged_job_is_gone_at_once_and_counts_once() -> None:
    node = new_node()
    job = added(node, new_order())

    assert node.acknowledge(job.id, START_MS)
    assert not node.acknowledge(job.id, START_MS)
    assert node.jobs.count() == 0
    assert taken(node, START_MS) == []
    check(node)


def test_alone_nobody_remembers_an_acknowledgement_of_an_unknown_job() -> None:
    node = new_node()

    assert not node.acknowledge(UNKNOWN, START_MS)
    assert node.jobs.count() == 0


def test_delete_works_in_every_state() -> None:
    node = new_node()
    queued = added(node, new_order(b"a"))
    active = added(node, new_order(b"b"))
    delayed = added(node, new_order(b"c", delay_s=5))
    node.take([b"b"], 1, START_MS)

    for job in (queued, active, delayed):
        node.delete(job)

    assert node.jobs.count() == 0
    check(node)


def test_unknown_job_is_deleted_on_every_other_node() -> None:
    node = new_cluster_node(BEE, CAT)

    assert not node.delete_everywhere(UNKNOWN)

    assert [peer for peer, _ in node.effects.outbox] == [BEE, CAT]
    assert all(isinstance(message, DelJob) for _, message in node.effects.outbox)


# --- Pausing, flushing, leaving, resetting ------------------------------------------------------


def test_paused_out_queue_gives_nothing() -> None:
    node = new_node()
    added(node, new_order())
    node.pause(QUEUE, PAUSED_OUT, START_MS)

    assert taken(node, START_MS) == []


def test_unpausing_an_unknown_queue_does_not_make_it() -> None:
    node = new_node()

    node.pause(QUEUE, NOT_PAUSED, START_MS)

    assert node.queues.count() == 0


def test_pause_state_is_told_to_every_peer() -> None:
    node = new_cluster_node(BEE, CAT)
    node.pause(QUEUE, PAUSED_IN, START_MS)

    node.broadcast_pause(QUEUE)
    node.broadcast_pause(b"unknown")

    told = [
        (peer, message.queue, message.flags)
        for peer, message in node.effects.outbox
        if isinstance(message, Pause)
    ]
    assert told[:2] == [(BEE, QUEUE, PAUSED_IN), (CAT, QUEUE, PAUSED_IN)]
    assert told[2:] == [(BEE, b"unknown", NOT_PAUSED), (CAT, b"unknown", NOT_PAUSED)]


def test_flush_leaves_nothing_and_answers_everybody() -> None:
    node = new_node()
    added(node, new_order())
    added(node, new_order(delay_s=3))
    node.waiters.block(1, [b"empty"], 9_000, with_counters=False, now_ms=START_MS)

    node.flush()

    (reply,) = drained_replies(node)
    assert isinstance(reply, NothingReply)
    assert (node.jobs.count(), node.queues.count(), node.next_ms()) == (0, 0, None)
    assert node.memory.account.used_bytes == NODE_BYTES
    check(node)


def test_leaving_node_sends_waiters_away_and_takes_no_jobs() -> None:
    node = new_node()
    node.waiters.block(1, [QUEUE], 0, with_counters=False, now_ms=START_MS)

    node.leave(is_leaving=True)

    (reply,) = drained_replies(node)
    assert isinstance(reply, ErrorReply)
    assert (reply.code, reply.sentence) == ("LEAVING", LEAVING_SENTENCE)
    with pytest.raises(CommandError, match="reason: I'm leaving the cluster"):
        node.add(CLIENT, new_order(), START_MS)
    assert isinstance(node.effects.asks[-1], SaveNodes)


def test_node_that_stays_after_all_takes_jobs_again() -> None:
    node = new_node()
    node.leave(is_leaving=True)

    node.leave(is_leaving=False)

    assert added(node, new_order()).state == QUEUED


def test_soft_reset_forgets_peers_and_jobs_but_not_who_we_are() -> None:
    node = new_cluster_node(BEE)
    added(node, new_order())
    node.leave(is_leaving=True)

    node.reset(is_hard=False)

    assert list(node.membership.nodes) == [ME]
    assert node.membership.me.flags & LEAVING
    assert node.jobs.count() == 0


def test_hard_reset_makes_jobs_under_a_new_name() -> None:
    node = new_node()

    node.reset(is_hard=True)
    job = added(node, new_order())

    name = node.membership.me.id
    assert name != ME
    assert len(name) == 40
    assert job.id.startswith(b"D-" + name[:8])
    assert job.held_by == {name}
    check(node)


# --- Time ---------------------------------------------------------------------------------------


def test_node_with_nothing_to_do_has_no_next_time() -> None:
    node = new_node()

    assert node.next_ms() is None
    assert node.tick(START_MS) is None


def test_one_tick_wakes_a_bounded_number_and_asks_to_be_called_again() -> None:
    node = new_node()
    for _ in range(TIMERS_PER_TICK_MAX + 5):
        added(node, new_order(ttl_s=1, retry_s=0))
    late_ms = START_MS + 5_000

    next_ms = node.tick(late_ms)
    left = node.jobs.count()
    node.tick(late_ms)

    assert next_ms is not None
    assert next_ms <= late_ms
    assert (left, node.jobs.count()) == (5, 0)
    check(node)


def test_changed_settings_count_from_now_on() -> None:
    node = new_node()
    job = added(node, new_order(retry_s=10))

    node.settings.retry_from = "delivered"
    node.settings.maxmemory = 100
    node.settings_changed()
    node.take([QUEUE], 1, START_MS + 5_000)

    assert job.requeue_at_ms > START_MS + 14_000
    assert (node.memory.tight_bytes, node.memory.level()) == (75, 2)


# --- Memory -------------------------------------------------------------------------------------


def test_node_with_memory_to_spare_makes_no_room() -> None:
    node = new_node()
    spent = added(node, new_order(retry_s=0))
    node.take([QUEUE], 1, START_MS)
    next_ms = node.next_ms()

    assert node.make_room() == 0

    assert node.jobs.get(spent.id) is spent
    assert node.next_ms() == next_ms


def test_short_node_evicts_what_nobody_needs_and_looks_for_idle_queues_soon() -> None:
    node = new_node()
    spent = added(node, new_order(retry_s=0))
    node.take([QUEUE], 1, START_MS)
    node.settings.maxmemory = node.memory.account.used_bytes
    node.settings_changed()

    assert node.make_room() == 2

    assert node.jobs.get(spent.id) is None
    assert node.next_ms() == 1
    assert node.tick(START_MS) == START_MS + SWEEP_MS
    check(node)


def test_queues_are_swept_every_100_ms_while_memory_is_short_and_not_more_often() -> None:
    node = new_node()
    node.queues.open(QUEUE, START_MS)
    node.settings.maxmemory = node.memory.account.used_bytes
    node.settings_changed()
    node.make_room()

    asked_ms = [node.tick(START_MS + elapsed_ms) for elapsed_ms in (0, 50, SWEEP_MS)]

    assert asked_ms == [START_MS + SWEEP_MS, START_MS + SWEEP_MS, START_MS + 2 * SWEEP_MS]


def test_short_node_without_queues_sweeps_nothing() -> None:
    node = new_node()
    node.settings.maxmemory = 1
    node.settings_changed()

    assert node.make_room() == 2

    assert node.next_ms() is None


def test_sweeping_ends_with_the_last_queue() -> None:
    node = new_node()
    node.queues.open(QUEUE, START_MS)
    node.settings.maxmemory = 1
    node.settings_changed()
    node.make_room()

    node.tick(START_MS)
    run_until(node, START_MS + 10_000)

    assert node.queues.count() == 0
    assert node.next_ms() is None


# --- The journal --------------------------------------------------------------------------------


def test_journal_tells_the_life_of_a_job() -> None:
    node = new_node()
    node.effects.is_journaling = True
    twice = added(node, new_order(b"a"))
    once = added(node, new_order(b"b", retry_s=0))

    node.take([b"b"], 1, START_MS)
    node.acknowledge(twice.id, START_MS)
    node.delete(once)

    kinds = [type(record) for record in node.effects.journal]
    assert kinds == [Stored, Stored, Delivered, Deleted, Deleted]


def test_queues_count_beside_jobs_among_what_there_may_be_millions_of() -> None:
    node = new_node()
    added(node, new_order(b"first"))
    node.queues.open(b"second", START_MS)

    assert node.count_items() == 3
