"""Acknowledged jobs go away everywhere, and nobody is asked too often or forgotten."""

from disque.core.ackgc import DUMMY_EXTRA_MINUTES
from disque.core.check import check
from disque.core.node import Node
from disque.model.job import ACKED, Job, JobId, NodeId
from disque.model.messages import DelJob, GotAck, GotJob, Message, SetAck
from disque.model.peer import HANDSHAKE
from disque.model.records import Deleted
from tests.core.helpers import (
    BEE,
    CAT,
    DOG,
    ME,
    START_MS,
    added,
    known,
    new_cluster_node,
    new_order,
    run_until,
    take_one,
    waiting,
)

UNKNOWN = JobId(b"D-bbbbbbbb-%024d-05a1" % 7)
AT_MOST_ONCE = JobId(b"D-bbbbbbbb-%024d-05a0" % 7)


def copied_job(node: Node) -> Job:
    """Add a job that BEE and CAT hold too."""
    job = waiting(node, new_order(replicate=3))
    node.receive(BEE, GotJob(job.id), START_MS)
    node.receive(CAT, GotJob(job.id), START_MS)
    node.effects.outbox.clear()
    return job


def drained(node: Node, kind: type[Message]) -> list[NodeId]:
    """Take the messages; return who is sent one of this kind."""
    outbox, node.effects.outbox = node.effects.outbox, []
    return [peer for peer, message in outbox if isinstance(message, kind)]


def test_every_other_holder_is_told_of_the_acknowledgement() -> None:
    node = new_cluster_node(BEE, CAT)
    job = copied_job(node)

    assert node.acknowledge(job.id, START_MS)

    assert drained(node, SetAck) == [BEE, CAT]
    assert job.state == ACKED
    assert job.confirmed_by == {ME}
    check(node)


def test_job_nobody_else_holds_is_gone_at_once_without_a_word() -> None:
    node = new_cluster_node(BEE, CAT)
    job = added(node, new_order())

    assert node.acknowledge(job.id, START_MS)

    assert node.jobs.count() == 0
    assert node.effects.outbox == []
    check(node)


def test_job_at_work_is_acknowledged_like_one_that_waits_in_its_queue() -> None:
    node = new_cluster_node(BEE, CAT)
    job = copied_job(node)
    assert take_one(node, job.queue, START_MS) is job

    assert node.acknowledge(job.id, START_MS)

    assert drained(node, SetAck) == [BEE, CAT]
    assert (job.state, job.requeue_at_ms) == (ACKED, 0)
    check(node)


def test_job_is_forgotten_when_every_holder_has_confirmed() -> None:
    node = new_cluster_node(BEE, CAT)
    job = copied_job(node)
    node.acknowledge(job.id, START_MS)
    drained(node, SetAck)

    node.receive(BEE, GotAck(job.id, known=True), START_MS)
    assert node.jobs.count() == 1
    node.receive(CAT, GotAck(job.id, known=False), START_MS)

    assert node.jobs.count() == 0
    assert drained(node, DelJob) == [BEE, CAT]
    check(node)


def test_silent_holder_is_asked_again_after_growing_delays() -> None:
    node = new_cluster_node(BEE, CAT)
    job = copied_job(node)
    node.acknowledge(job.id, START_MS)
    node.receive(BEE, GotAck(job.id, known=True), START_MS)
    asked = drained(node, SetAck)

    now_ms = START_MS
    delays_ms: list[int] = []
    for _ in range(10):
        delays_ms.append(job.awake_ms - now_ms)
        now_ms = job.awake_ms + 1
        run_until(node, now_ms)
        asked += drained(node, SetAck)

    rounded_s = [round(delay_ms / 1_000) for delay_ms in delays_ms]
    assert rounded_s == [1, 2, 4, 8, 16, 32, 64, 128, 180, 180]
    assert all(abs(ms - s * 1_000) <= 250 for ms, s in zip(delays_ms, rounded_s, strict=True))
    assert asked == [BEE, CAT] + [CAT] * 10


def test_acknowledging_again_asks_again_at_once() -> None:
    node = new_cluster_node(BEE, CAT)
    job = copied_job(node)
    node.acknowledge(job.id, START_MS)
    drained(node, SetAck)

    assert not node.acknowledge(job.id, START_MS)

    assert drained(node, SetAck) == [BEE, CAT]


def test_acknowledged_job_goes_with_its_ttl_even_if_nobody_answers() -> None:
    node = new_cluster_node(BEE, CAT)
    job = copied_job(node)
    node.acknowledge(job.id, START_MS)

    run_until(node, job.expires_ms + 1)

    assert node.jobs.count() == 0
    check(node)


def test_acknowledgement_is_journaled_once() -> None:
    node = new_cluster_node(BEE, CAT)
    node.effects.is_journaling = True
    job = copied_job(node)
    node.effects.journal.clear()

    node.acknowledge(job.id, START_MS)
    node.receive(BEE, GotAck(job.id, known=True), START_MS)
    node.receive(CAT, GotAck(job.id, known=True), START_MS)

    assert [type(record) for record in node.effects.journal] == [Deleted]


def test_peer_that_tells_of_an_acknowledgement_is_answered() -> None:
    node = new_cluster_node(BEE, CAT)
    job = copied_job(node)

    node.receive(BEE, SetAck(job.id), START_MS)
    node.receive(BEE, SetAck(UNKNOWN), START_MS)

    answers = [
        (peer, message.job_id, message.known)
        for peer, message in node.effects.outbox
        if isinstance(message, GotAck)
    ]
    assert answers == [(BEE, job.id, True), (BEE, UNKNOWN, False)]
    assert job.state == ACKED
    check(node)


def test_job_only_we_hold_is_collected_soon_after_a_peer_acknowledged_it() -> None:
    node = new_cluster_node(BEE)
    added(node, new_order())
    job = node.jobs.table[0]

    node.receive(BEE, SetAck(job.id), START_MS)
    assert job.state == ACKED
    check(node)
    run_until(node, START_MS + 1_251)

    assert node.jobs.count() == 0
    check(node)


def test_acknowledgement_of_an_unknown_job_is_kept_and_told_to_everybody() -> None:
    node = new_cluster_node(BEE, CAT, DOG)
    node.membership.nodes[DOG].flags |= HANDSHAKE

    assert not node.acknowledge(UNKNOWN, START_MS)

    dummy = known(node, UNKNOWN)
    assert (dummy.state, dummy.body, dummy.held_by) == (ACKED, None, frozenset())
    assert dummy.expires_ms == START_MS + (0x05A1 + DUMMY_EXTRA_MINUTES) * 60_000
    assert drained(node, SetAck) == [BEE, CAT]
    check(node)


def test_dummy_goes_when_a_real_holder_takes_over() -> None:
    node = new_cluster_node(BEE, CAT)
    node.acknowledge(UNKNOWN, START_MS)

    node.receive(CAT, GotAck(UNKNOWN, known=True), START_MS)

    assert node.jobs.count() == 0
    check(node)


def test_dummy_goes_when_nobody_knows_the_job() -> None:
    node = new_cluster_node(BEE, CAT)
    node.acknowledge(UNKNOWN, START_MS)

    node.receive(BEE, GotAck(UNKNOWN, known=False), START_MS)
    assert node.jobs.count() == 1
    node.receive(CAT, GotAck(UNKNOWN, known=False), START_MS)

    assert node.jobs.count() == 0
    check(node)


def test_two_dummies_do_not_send_each_other_away() -> None:
    node = new_cluster_node(BEE, CAT)
    node.acknowledge(UNKNOWN, START_MS)
    node.effects.outbox.clear()

    node.receive(BEE, SetAck(UNKNOWN), START_MS)

    ((peer, message),) = node.effects.outbox
    assert isinstance(message, GotAck)
    assert (peer, message.known) == (BEE, False)


def test_no_dummy_for_at_most_once_jobs_or_on_a_leaving_node() -> None:
    node = new_cluster_node(BEE)

    node.acknowledge(AT_MOST_ONCE, START_MS)
    node.leave(is_leaving=True)
    node.acknowledge(UNKNOWN, START_MS)

    assert node.jobs.count() == 0


def test_holder_that_turns_up_while_collecting_is_remembered() -> None:
    node = new_cluster_node(BEE, CAT, DOG)
    job = copied_job(node)
    node.acknowledge(job.id, START_MS)
    here_and_there = job.held_by

    node.receive(DOG, GotAck(job.id, known=True), START_MS)

    assert job.held_by == here_and_there | {DOG}


def test_stray_confirmations_change_nothing() -> None:
    node = new_cluster_node(BEE, CAT)
    job = copied_job(node)

    node.receive(BEE, GotAck(job.id, known=True), START_MS)
    node.receive(BEE, GotAck(UNKNOWN, known=True), START_MS)

    assert job.state != ACKED
    check(node)
