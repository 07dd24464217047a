"""A producer hears of its job when enough nodes confirmed a copy, and never twice."""

import pytest
from hypothesis import given, strategies as st

from disque.core.node import Node
from disque.model.job import ACTIVE, WAIT_REPL, Job, NodeId
from disque.model.messages import DelJob, Message, ReplJob
from disque.model.replies import ErrorReply, IdReply, Reply
from tests.core.helpers import (
    BEE,
    CAT,
    CLIENT,
    DOG,
    ME,
    START_MS,
    drained_replies,
    new_cluster_node,
    new_job,
)

PEERS = (BEE, CAT, DOG)


def registered(node: Node, number: int = 1, replicate: int = 1) -> Job:
    """Make a job the node knows and has not sent to anybody."""
    job = new_job(number)
    job.replicate = replicate
    node.jobs.add(job)
    return job


def pending(
    node: Node, number: int = 1, replicate: int = 2, client: int = CLIENT, timeout_ms: int = 0
) -> Job:
    """Make a job whose producer waits until it is copied often enough."""
    job = registered(node, number, replicate)
    peers = node.membership.reachable()
    node.replication.send_copies(job, peers, replicate - 1, wants_reply=True)
    node.replication.wait(client, job, timeout_ms, START_MS)
    return job


def receivers(node: Node, kind: type[Message]) -> list[NodeId]:
    """Return who is sent messages of this kind."""
    return [peer for peer, message in node.effects.outbox if isinstance(message, kind)]


# --- Sending copies -----------------------------------------------------------------------------


@given(st.integers(0, 3), st.booleans(), st.integers(0, 2**32))
def test_as_many_peers_as_wanted_get_the_job_and_become_holders(
    count: int, wants_reply: bool, seed: int
) -> None:
    node = new_cluster_node(*PEERS)
    job = registered(node, seed)

    node.replication.send_copies(job, node.membership.reachable(), count, wants_reply)

    chosen = receivers(node, ReplJob)
    assert len(chosen) == len(set(chosen)) == count
    assert set(chosen) <= set(PEERS)
    assert job.held_by == frozenset((ME, *chosen))
    for _, message in node.effects.outbox:
        assert isinstance(message, ReplJob)
        assert message.wants_reply == wants_reply


def test_every_receiver_learns_of_all_holders_and_nothing_that_happens_later() -> None:
    node = new_cluster_node(*PEERS)
    job = registered(node)

    node.replication.send_copies(job, node.membership.reachable(), 2, wants_reply=True)
    holders, job.held_by = job.held_by, frozenset((ME,))
    job.nacks = 1

    for _, message in node.effects.outbox:
        assert isinstance(message, ReplJob)
        assert (message.job.id, message.job.body) == (job.id, job.body)
        assert (message.job.held_by, message.job.nacks) == (holders, 0)


def test_copies_are_spread_over_all_peers() -> None:
    node = new_cluster_node(*PEERS)

    for number in range(300):
        job = registered(node, number)
        node.replication.send_copies(job, node.membership.reachable(), 1, wants_reply=False)

    chosen = receivers(node, ReplJob)
    assert all(70 < chosen.count(peer) < 130 for peer in PEERS)


def test_only_the_peers_named_are_chosen() -> None:
    node = new_cluster_node(*PEERS)
    job = registered(node)

    node.replication.send_copies(job, [node.membership.nodes[CAT]], 1, wants_reply=True)

    assert receivers(node, ReplJob) == [CAT]


# --- Waiting ------------------------------------------------------------------------------------


def test_waiting_counts_our_own_copy_and_wakes_for_nothing_but_the_end_of_the_job() -> None:
    node = new_cluster_node(*PEERS)

    job = pending(node)

    assert job.confirmed_by == {ME}
    assert job.awake_ms == job.expires_ms
    assert drained_replies(node) == []


@pytest.mark.parametrize(("timeout_ms", "awake_ms"), [(0, 0), (1, START_MS + 1)])
def test_producer_waits_as_long_as_it_said_and_for_ever_if_it_said_nothing(
    timeout_ms: int, awake_ms: int
) -> None:
    node = new_cluster_node(*PEERS)

    job = pending(node, timeout_ms=timeout_ms)

    assert node.replication.by_job[job.id].awake_ms == awake_ms
    assert len(node.shelf.awake.appointments()) == (2 if timeout_ms else 1)


def test_waiting_for_a_job_that_is_already_active_is_our_own_mistake() -> None:
    node = new_cluster_node(*PEERS)
    job = registered(node)
    job.state = ACTIVE

    with pytest.raises(AssertionError):
        node.replication.wait(CLIENT, job, 0, START_MS)


def test_jobs_a_client_waits_for_are_found_by_the_client() -> None:
    node = new_cluster_node(*PEERS)
    first, other, second = [pending(node, n, client=client) for n, client in enumerate([1, 2, 1])]

    assert node.replication.jobs_of(1) == [first, second]
    assert node.replication.jobs_of(2) == [other]
    assert node.replication.jobs_of(3) == []


# --- Confirmations ------------------------------------------------------------------------------


def test_last_confirmation_needed_brings_the_job_back() -> None:
    node = new_cluster_node(*PEERS)
    job = pending(node, replicate=3)

    found = [node.replication.on_got_job(peer, job.id) for peer in (BEE, BEE, CAT)]

    assert found == [None, None, job]
    assert job.confirmed_by == {ME, BEE, CAT}


def test_who_confirms_unasked_is_a_holder_from_then_on() -> None:
    node = new_cluster_node(BEE)
    job = pending(node, replicate=2)

    assert node.replication.on_got_job(DOG, job.id) is job

    assert job.held_by == {ME, BEE, DOG}
    assert job.confirmed_by == {ME, DOG}


def test_confirmation_of_a_job_nobody_knows_is_ignored() -> None:
    node = new_cluster_node(BEE)

    assert node.replication.on_got_job(BEE, new_job(1).id) is None


def test_confirmation_after_the_answer_changes_nothing() -> None:
    node = new_cluster_node(*PEERS)
    job = pending(node)
    node.replication.complete(job)
    holders = job.held_by

    found = [node.replication.on_got_job(peer, job.id) for peer in PEERS]

    assert found == [None, None, None]
    assert (job.held_by, job.state) == (holders, ACTIVE)


# --- The end of waiting -------------------------------------------------------------------------


def test_completed_job_is_active_and_its_producer_gets_the_id() -> None:
    node = new_cluster_node(*PEERS)
    job = pending(node, timeout_ms=1_000, client=5)

    node.replication.complete(job)

    (reply,) = drained_replies(node)
    assert isinstance(reply, IdReply)
    assert (reply.client, reply.id) == (5, job.id)
    assert (job.state, job.confirmed_by) == (ACTIVE, job.held_by)
    assert node.replication.by_job == {}
    assert node.shelf.awake.appointments() == [job]


@pytest.mark.parametrize("sentence", ["too late", ""])
def test_abandoned_job_is_forgotten_everywhere_and_the_producer_told_if_it_is_there(
    sentence: str,
) -> None:
    node = new_cluster_node(*PEERS)
    job = pending(node, replicate=3, timeout_ms=1_000)
    node.replication.on_got_job(BEE, job.id)

    node.replication.abandon(job, sentence)

    told = [f"{error.code} {error.sentence}" for error in errors(drained_replies(node))]
    assert told == ([f"NOREPL {sentence}"] if sentence else [])
    # Those that never confirmed may have a copy all the same.
    assert receivers(node, DelJob) == sorted(job.held_by - {ME})
    assert node.replication.by_job == {}
    assert node.shelf.awake.appointments() == [job]
    assert job.state == ACTIVE


def errors(replies: list[Reply]) -> list[ErrorReply]:
    """Return the replies, all of which must be errors."""
    found = [reply for reply in replies if isinstance(reply, ErrorReply)]
    assert found == replies
    return found


# --- Any history --------------------------------------------------------------------------------

Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["wait", "confirm", "confirm", "confirm", "abandon"]),
        st.integers(0, 20),
        st.integers(0, 2),
    ),
    max_size=60,
)


@given(steps)
def test_producers_are_answered_as_a_list_of_confirmations_says(plan: list[Step]) -> None:
    node = new_cluster_node(*PEERS)
    jobs: list[Job] = []
    # Who confirmed, for every job that is still waited for.
    confirmed: dict[int, set[NodeId]] = {}
    expected: list[tuple[int, bool]] = []

    for verb, pick, choice in [("wait", 0, 0), *plan]:
        number = pick % max(len(jobs), 1)
        if verb == "wait":
            number = len(jobs)
            jobs.append(pending(node, number, replicate=choice + 2, client=number))
            confirmed[number] = {ME}
        elif number not in confirmed:
            assert node.replication.on_got_job(PEERS[choice], jobs[number].id) is None
        elif verb == "abandon":
            node.replication.abandon(jobs[number], "no")
            expected.append((number, False))
            del confirmed[number]
        else:
            found = node.replication.on_got_job(PEERS[choice], jobs[number].id)
            confirmed[number].add(PEERS[choice])
            is_enough = len(confirmed[number]) >= jobs[number].replicate
            assert found is (jobs[number] if is_enough else None)
            if is_enough:
                node.replication.complete(jobs[number])
                expected.append((number, True))
                del confirmed[number]

        replies = node.effects.replies
        assert [(reply.client, isinstance(reply, IdReply)) for reply in replies] == expected
        assert [number for number, job in enumerate(jobs) if job.state == WAIT_REPL] == [*confirmed]
        for number, nodes in confirmed.items():
            assert jobs[number].confirmed_by == nodes <= jobs[number].held_by
            assert node.replication.jobs_of(number) == [jobs[number]]
