"""A node among peers: producers wait for copies, and messages may arrive at any moment."""

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from disque.core.check import check
from disque.core.node import REMOVED, TIMED_OUT, Node
from disque.model.job import ACKED, QUEUED, WAIT_REPL, Job, JobId, NodeId
from disque.model.messages import DelJob, GotAck, GotJob, Message, ReplJob, SetAck
from disque.model.peer import FAIL, HANDSHAKE, LEAVING, SUSPECTED
from disque.model.replies import ErrorReply, IdReply, JobsReply
from tests.core.helpers import (
    BEE,
    CAT,
    CLIENT,
    DOG,
    ME,
    QUEUE,
    START_MS,
    added,
    drained_replies,
    new_cluster_node,
    new_order,
    run_until,
    waiting,
)

TWO_COPIES = new_order(replicate=2, timeout_ms=5_000)
THREE_COPIES = new_order(replicate=3)


def outbox(node: Node, kind: type[Message]) -> list[NodeId]:
    """Return who is sent messages of this kind."""
    return [peer for peer, message in node.effects.outbox if isinstance(message, kind)]


def holder(job: Job) -> NodeId:
    """Return the one other node that was asked to hold the job."""
    (peer,) = job.held_by - {ME}
    return peer


def test_producer_gets_its_id_when_enough_copies_are_confirmed() -> None:
    node = new_cluster_node(BEE, CAT)
    job = waiting(node, THREE_COPIES)
    assert outbox(node, ReplJob) != []

    node.receive(BEE, GotJob(job.id), START_MS)
    node.receive(BEE, GotJob(job.id), START_MS)
    too_early = drained_replies(node)
    node.receive(CAT, GotJob(job.id), START_MS)
    (reply,) = drained_replies(node)

    assert too_early == []
    assert isinstance(reply, IdReply)
    assert (reply.client, reply.id) == (CLIENT, job.id)
    assert job.state == QUEUED
    check(node)


def test_job_that_waits_for_copies_is_known_but_in_no_queue() -> None:
    node = new_cluster_node(BEE)

    job = waiting(node, TWO_COPIES)

    assert job.state == WAIT_REPL
    assert node.take([QUEUE], 1, START_MS) == []
    assert job.held_by == {ME, BEE}
    check(node)


def test_confirmed_job_is_given_to_a_client_that_waits_for_it() -> None:
    node = new_cluster_node(BEE)
    node.waiters.block(9, [QUEUE], 0, with_counters=False, now_ms=START_MS)
    job = waiting(node, TWO_COPIES)

    node.receive(BEE, GotJob(job.id), START_MS)

    replies = drained_replies(node)
    assert [reply.client for reply in replies] == [CLIENT, 9]
    assert isinstance(replies[1], JobsReply)
    check(node)


def test_node_that_confirms_unasked_counts_as_a_holder() -> None:
    node = new_cluster_node(BEE, CAT)
    job = waiting(node, TWO_COPIES)
    (other,) = {BEE, CAT} - job.held_by

    node.receive(other, GotJob(job.id), START_MS)

    assert job.state == QUEUED
    assert job.held_by == {ME, BEE, CAT}


def test_asynchronous_job_is_queued_at_once_and_copied_as_well_as_may_be() -> None:
    node = new_cluster_node(BEE, CAT)

    job = added(node, new_order(replicate=3, is_async=True))

    assert job.state == QUEUED
    assert sorted(outbox(node, ReplJob)) == [BEE, CAT]
    sent = [message for _, message in node.effects.outbox if isinstance(message, ReplJob)]
    assert not any(message.wants_reply for message in sent)


def test_producer_is_told_when_copies_take_too_long_and_holders_forget() -> None:
    node = new_cluster_node(BEE)
    waiting(node, TWO_COPIES)

    run_until(node, START_MS + 5_000)
    early = drained_replies(node)
    run_until(node, START_MS + 5_001)
    (reply,) = drained_replies(node)

    assert early == []
    assert isinstance(reply, ErrorReply)
    assert (reply.code, reply.sentence) == ("NOREPL", TIMED_OUT)
    assert outbox(node, DelJob) == [BEE]
    assert node.jobs.count() == 0
    check(node)


def test_producer_that_left_takes_its_job_along_without_a_reply() -> None:
    node = new_cluster_node(BEE)
    waiting(node, TWO_COPIES)
    kept = waiting(node, TWO_COPIES, client=2)

    node.client_gone(CLIENT, START_MS)

    assert drained_replies(node) == []
    assert outbox(node, DelJob) == [BEE]
    assert node.jobs.table == [kept]
    check(node)


def expire(node: Node, job: Job) -> None:
    node.tick(job.expires_ms + 1)


def delete_here(node: Node, job: Job) -> None:
    node.delete(job)


def delete_everywhere(node: Node, job: Job) -> None:
    assert node.delete_everywhere(job.id)


def delete_by_peer(node: Node, job: Job) -> None:
    node.receive(BEE, DelJob(job.id), START_MS)


def flush(node: Node, job: Job) -> None:
    node.flush()


@pytest.mark.parametrize("end", [expire, delete_here, delete_everywhere, delete_by_peer, flush])
def test_producer_hears_that_its_job_is_gone(end: Callable[[Node, Job], None]) -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, new_order(replicate=2, ttl_s=10))

    end(node, job)

    (reply,) = drained_replies(node)
    assert isinstance(reply, ErrorReply)
    assert (reply.code, reply.sentence) == ("NOREPL", REMOVED)
    assert outbox(node, DelJob) == [BEE]
    assert node.jobs.count() == 0
    check(node)


def test_acknowledging_a_job_that_waits_answers_its_producer_first() -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, TWO_COPIES)

    assert node.acknowledge(job.id, START_MS)

    (reply,) = drained_replies(node)
    assert isinstance(reply, IdReply)
    assert job.state == ACKED
    assert outbox(node, SetAck) == [BEE]
    check(node)


def test_acknowledging_a_job_again_counts_no_more_but_asks_its_holders_once_more() -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, TWO_COPIES)
    node.acknowledge(job.id, START_MS)

    assert not node.acknowledge(job.id, START_MS)

    assert outbox(node, SetAck) == [BEE, BEE]
    check(node)


def test_job_that_is_deleted_everywhere_is_forgotten_by_every_holder() -> None:
    node = new_cluster_node(BEE, CAT)
    job = waiting(node, THREE_COPIES)
    for peer in (BEE, CAT):
        node.receive(peer, GotJob(job.id), START_MS)

    assert node.delete_everywhere(job.id)

    assert outbox(node, DelJob) == [BEE, CAT]
    assert node.jobs.count() == 0
    check(node)


def test_acknowledgement_by_a_peer_answers_the_producer_first() -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, TWO_COPIES)

    node.receive(BEE, SetAck(job.id), START_MS)

    (reply,) = drained_replies(node)
    assert isinstance(reply, IdReply)
    assert job.state == ACKED
    assert outbox(node, GotAck) == [BEE]
    check(node)


@pytest.mark.parametrize("flag", [FAIL, HANDSHAKE, LEAVING, SUSPECTED])
def test_peers_in_trouble_take_no_copies(flag: int) -> None:
    node = new_cluster_node(BEE, CAT)
    node.membership.nodes[BEE].flags |= flag

    job = waiting(node, TWO_COPIES)

    assert holder(job) == CAT


def test_late_confirmation_of_a_job_that_is_gone_is_ignored() -> None:
    node = new_cluster_node(BEE)
    job = waiting(node, TWO_COPIES)
    node.delete(job)

    node.receive(BEE, GotJob(job.id), START_MS)
    node.receive(BEE, GotAck(job.id, known=True), START_MS)
    node.receive(BEE, DelJob(job.id), START_MS)

    assert node.jobs.count() == 0
    check(node)


def test_unknown_message_is_our_own_mistake() -> None:
    node = new_cluster_node(BEE)

    with pytest.raises(AssertionError, match="unhandled message"):
        node.receive(BEE, Message(), START_MS)


Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "add",
                "add",
                "got job",
                "set ack",
                "got ack",
                "del job",
                "ack",
                "gone",
                "time",
                "take",
            ]
        ),
        st.integers(0, 9),
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(steps)
def test_every_producer_is_answered_once_whatever_arrives(plan: list[Step]) -> None:
    node = new_cluster_node(BEE, CAT, DOG)
    ids: list[JobId] = [JobId(b"D-bbbbbbbb-%024d-0001" % 1)]
    producers: set[int] = set()
    now_ms = START_MS
    client = 0

    for verb, pick, choice in plan:
        id = ids[pick % len(ids)]
        peer = (BEE, CAT, DOG)[choice % 3]
        messages: dict[str, Message] = {
            "got job": GotJob(id),
            "set ack": SetAck(id),
            "got ack": GotAck(id, known=pick % 2 == 0),
            "del job": DelJob(id),
        }
        if verb in messages:
            node.receive(peer, messages[verb], now_ms)
        elif verb == "add":
            client += 1
            order = new_order(replicate=choice + 1, timeout_ms=pick * 500, ttl_s=8, retry_s=2)
            if node.add(client, order, now_ms) is None:
                producers.add(client)
            ids = [*ids, node.jobs.table[-1].id]
        elif verb == "ack":
            node.acknowledge(id, now_ms)
        elif verb == "gone":
            node.client_gone(pick, now_ms)
            producers.discard(pick)
        elif verb == "take":
            node.take([QUEUE], choice + 1, now_ms)
        else:
            now_ms += pick * 400
            run_until(node, now_ms)
        for reply in drained_replies(node):
            producers.remove(reply.client)
        assert {pending.client for pending in node.replication.by_job.values()} == producers
        check(node)

    run_until(node, now_ms + 400_000)
    assert len(node.jobs.table) == 0
    assert {reply.client for reply in drained_replies(node)} == producers
    check(node)
