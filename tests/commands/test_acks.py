"""ACKJOB, FASTACK, DELJOB, ENQUEUE, NACK, DEQUEUE and WORKING: what workers say of jobs."""

from __future__ import annotations

import pytest

from disque.model.job import JobId, NodeId
from disque.model.messages import DelJob, GotAck, GotJob, Message, Queued, SetAck, Working
from tests.commands.world import ME, Client, World

BEE = NodeId(b"b" * 40)
CAT = NodeId(b"c" * 40)
AT_LEAST_ONCE = b"D-bbbbbbbb-aaaaaaaaaaaaaaaaaaaaaaaa-05a1"
AT_MOST_ONCE = b"D-bbbbbbbb-aaaaaaaaaaaaaaaaaaaaaaaa-05a0"
BAD_ID = b"-BADID Invalid Job ID format.\r\n"
MANY = [b"ACKJOB", b"FASTACK", b"DELJOB", b"ENQUEUE", b"NACK", b"DEQUEUE"]


def sent_to(world: World, kind: type[Message]) -> list[NodeId]:
    """Return who was sent a message of this kind, in order of their ids."""
    return sorted(peer for peer, message in world.sent if isinstance(message, kind))


def copied(world: World, client: Client, *options: bytes) -> bytes:
    """Add a job that two peers hold, too."""
    id = client.add(b"q", b"body", b"REPLICATE", b"3", b"ASYNC", *options)
    world.sent.clear()
    return id


def waiting_for_copies(world: World, *options: bytes) -> tuple[Client, bytes]:
    """Let a new client wait until its job is copied."""
    producer = world.client()
    producer.send(b"ADDJOB", b"q", b"body", b"0", b"REPLICATE", b"3", *options)
    assert producer.is_blocked
    (id,) = world.node.jobs.ids()
    world.sent.clear()
    return producer, id


# --- All that take several ids ----------------------------------------------------------------


@pytest.mark.parametrize("name", MANY)
def test_no_ids_are_no_jobs(name: bytes) -> None:
    assert World().client().ask(name) == b":0\r\n"


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"D-",
        AT_LEAST_ONCE[:-1],
        AT_LEAST_ONCE + b"1",
        b"d" + AT_LEAST_ONCE[1:],
        b"D_" + AT_LEAST_ONCE[2:],
        AT_LEAST_ONCE[:10] + b"_" + AT_LEAST_ONCE[11:],
        AT_LEAST_ONCE[:35] + b"_" + AT_LEAST_ONCE[36:],
    ],
)
def test_one_bad_id_and_nothing_is_done(name: bytes, bad: bytes) -> None:
    client = World().client()
    queued = client.add()
    active = client.add(b"q", b"body", b"DELAY", b"10")

    assert client.ask(name, queued, active, bad) == BAD_ID

    assert (client.state_of(queued), client.state_of(active)) == (b"queued", b"active")


@pytest.mark.parametrize("name", MANY)
def test_an_id_is_not_looked_at_beyond_its_form(name: bytes) -> None:
    odd = b"D-\0\xff zzzz+-" + b"*" * 24 + b"-wxyz"

    assert World().client().ask(name, odd) == b":0\r\n"


@pytest.mark.parametrize("name", MANY)
def test_a_bad_id_alone_is_refused(name: bytes) -> None:
    assert World().client().ask(name, b"nonsense") == BAD_ID


# --- ACKJOB -----------------------------------------------------------------------------------


def test_ackjob_counts_the_jobs_known_here_each_once() -> None:
    client = World().client()
    first, second = client.add(), client.add()

    assert client.ask(b"ACKJOB", first, AT_LEAST_ONCE, second, first) == b":2\r\n"


@pytest.mark.parametrize("options", [[], [b"DELAY", b"10"], [b"RETRY", b"0"]])
def test_a_job_only_this_node_holds_is_gone_when_acknowledged(options: list[bytes]) -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", *options)

    assert client.ask(b"ACKJOB", id) == b":1\r\n"

    assert client.state_of(id) is None
    assert client.ask(b"QLEN", b"q") == b":0\r\n"
    assert client.ask(b"ACKJOB", id) == b":0\r\n"
    world.check()


def test_a_job_others_hold_stays_acked_until_all_of_them_confirmed() -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = copied(world, client)

    assert client.ask(b"ACKJOB", id) == b":1\r\n"

    assert sent_to(world, SetAck) == [BEE, CAT]
    assert client.ask(b"QLEN", b"q") == b":0\r\n"
    world.receive(BEE, GotAck(JobId(id), known=True))
    shown = client.fields(b"SHOW", id)
    assert (shown[b"state"], shown[b"next-requeue-within"]) == (b"acked", None)
    assert shown[b"nodes-confirmed"] == [ME, BEE]
    world.receive(CAT, GotAck(JobId(id), known=True))
    assert client.state_of(id) is None


def test_ackjob_of_an_acked_job_counts_nothing_and_asks_the_holders_again() -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = copied(world, client)
    client.ask(b"ACKJOB", id)
    world.receive(CAT, GotAck(JobId(id), known=True))
    world.sent.clear()

    assert client.ask(b"ACKJOB", id) == b":0\r\n"

    assert sent_to(world, SetAck) == [BEE]


def test_ackjob_of_an_unknown_job_tells_every_peer_and_leaves_a_dummy() -> None:
    world = World(BEE, CAT)
    client = world.client()

    assert client.ask(b"ACKJOB", AT_LEAST_ONCE) == b":0\r\n"

    assert sent_to(world, SetAck) == [BEE, CAT]
    assert client.state_of(AT_LEAST_ONCE) == b"acked"
    world.check()


def test_nobody_is_told_of_an_unknown_job_that_may_be_delivered_once_only() -> None:
    world = World(BEE, CAT)
    client = world.client()

    assert client.ask(b"ACKJOB", AT_MOST_ONCE) == b":0\r\n"

    assert world.sent == []
    assert client.state_of(AT_MOST_ONCE) is None


def test_a_node_alone_makes_no_dummies() -> None:
    client = World().client()

    assert client.ask(b"ACKJOB", AT_LEAST_ONCE) == b":0\r\n"

    assert client.state_of(AT_LEAST_ONCE) is None


def test_a_leaving_node_makes_no_dummies() -> None:
    world = World(BEE, CAT)
    client = world.client()
    client.ask(b"CLUSTER", b"LEAVING", b"yes")

    assert client.ask(b"ACKJOB", AT_LEAST_ONCE) == b":0\r\n"

    assert client.state_of(AT_LEAST_ONCE) is None


@pytest.mark.parametrize(
    ("field", "minutes"), [(b"0001", 1), (b"00FF", 255), (b"00f1", 241), (b"zz11", 17)]
)
def test_a_dummy_outlives_the_job_its_id_tells_of(field: bytes, minutes: int) -> None:
    client = World(BEE).client()
    id = AT_LEAST_ONCE[:36] + field
    client.ask(b"ACKJOB", id)

    # The field is rounded down, and the job may have been made by a node whose clock is behind.
    assert client.fields(b"SHOW", id)[b"ttl"] == (minutes + 2) * 60


def test_acknowledging_a_job_that_waits_for_copies_answers_its_producer() -> None:
    world = World(BEE, CAT)
    producer, id = waiting_for_copies(world)

    assert world.client().ask(b"ACKJOB", id) == b":1\r\n"

    assert producer.take() == [b"+%b\r\n" % id]
    assert producer.state_of(id) == b"acked"
    assert producer.ask(b"QLEN", b"q") == b":0\r\n"
    world.check()


def test_an_acked_job_is_never_queued_again() -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = copied(world, client, b"RETRY", b"1", b"TTL", b"100")
    client.ask(b"ACKJOB", id)

    world.pass_time(10_000)

    assert client.ask(b"ENQUEUE", id) == b":0\r\n"
    assert client.ask(b"NACK", id) == b":0\r\n"
    assert client.ask(b"DEQUEUE", id) == b":0\r\n"
    assert client.ask(b"QLEN", b"q") == b":0\r\n"


def test_a_silent_holder_is_asked_after_one_two_and_four_seconds() -> None:
    world = World(BEE)
    client = world.client()
    id = client.add(b"q", b"body", b"REPLICATE", b"2", b"ASYNC")
    client.ask(b"ACKJOB", id)
    world.sent.clear()

    counts: list[int] = []
    for seconds in (0.7, 0.6, 1.4, 0.6, 3.4, 0.6):
        world.pass_time(int(seconds * 1_000))
        counts.append(len(sent_to(world, SetAck)))

    # Each delay may be a quarter of a second off, either way.
    assert counts == [0, 1, 1, 2, 2, 3]


# --- FASTACK ----------------------------------------------------------------------------------


def test_fastack_deletes_here_and_tells_the_holders() -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = copied(world, client)

    assert client.ask(b"FASTACK", id, id) == b":1\r\n"

    # The second time the job is unknown, so everybody is told again.
    assert sent_to(world, DelJob) == [BEE, BEE, CAT, CAT]
    assert client.state_of(id) is None
    assert client.ask(b"QLEN", b"q") == b":0\r\n"


def test_fastack_deletes_acked_jobs_too() -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = copied(world, client)
    client.ask(b"ACKJOB", id)
    world.sent.clear()

    assert client.ask(b"FASTACK", id) == b":1\r\n"

    assert sent_to(world, DelJob) == [BEE, CAT]
    assert client.state_of(id) is None
    world.check()


def test_fastack_tells_only_those_who_hold_the_job() -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = client.add(b"q", b"body", b"REPLICATE", b"2", b"ASYNC")
    ((holder, _),) = world.sent
    world.sent.clear()

    client.ask(b"FASTACK", id)

    assert sent_to(world, DelJob) == [holder]


def test_fastack_of_an_unknown_job_tells_the_whole_cluster() -> None:
    world = World(BEE, CAT)

    assert world.client().ask(b"FASTACK", AT_MOST_ONCE) == b":0\r\n"

    assert sent_to(world, DelJob) == [BEE, CAT]


# --- DELJOB -----------------------------------------------------------------------------------


def test_deljob_deletes_here_and_tells_nobody() -> None:
    world = World(BEE, CAT)
    client = world.client()
    queued, acked = copied(world, client), copied(world, client)
    client.ask(b"ACKJOB", acked)
    world.sent.clear()

    assert client.ask(b"DELJOB", queued, AT_LEAST_ONCE, acked, queued) == b":2\r\n"

    assert world.sent == []
    assert (client.state_of(queued), client.state_of(acked)) == (None, None)
    assert client.ask(b"QLEN", b"q") == b":0\r\n"
    world.check()


# --- ENQUEUE and NACK -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "nacks", "deliveries"), [(b"ENQUEUE", 0, 1), (b"NACK", 1, 0)])
def test_a_job_queued_again_counts_as_what_it_is(name: bytes, nacks: int, deliveries: int) -> None:
    client = World().client()
    id = client.add()
    client.get()

    assert client.ask(name, id, id) == b":1\r\n"

    shown = client.fields(b"SHOW", id)
    assert (shown[b"state"], shown[b"nacks"]) == (b"queued", nacks)
    assert shown[b"additional-deliveries"] == deliveries


@pytest.mark.parametrize("name", [b"ENQUEUE", b"NACK"])
def test_only_active_jobs_are_queued(name: bytes) -> None:
    world = World(BEE, CAT)
    client = world.client()
    acked, queued = copied(world, client), copied(world, client)
    client.ask(b"ACKJOB", acked)

    assert client.ask(name, acked, queued, AT_LEAST_ONCE) == b":0\r\n"

    assert client.ask(b"QLEN", b"q") == b":1\r\n"


@pytest.mark.parametrize("name", [b"ENQUEUE", b"NACK", b"DEQUEUE"])
def test_a_job_that_waits_for_copies_is_left_alone(name: bytes) -> None:
    world = World(BEE, CAT)
    producer, id = waiting_for_copies(world)
    other = world.client()

    assert other.ask(name, id) == b":0\r\n"

    assert other.state_of(id) == b"wait-repl"
    assert producer.is_blocked


@pytest.mark.parametrize(("name", "nacks"), [(b"ENQUEUE", 0), (b"NACK", 1)])
def test_a_delayed_job_is_queued_at_once_and_that_is_its_first_delivery(
    name: bytes, nacks: int
) -> None:
    client = World().client()
    id = client.add(b"q", b"body", b"DELAY", b"100")

    assert client.ask(name, id) == b":1\r\n"

    shown = client.fields(b"SHOW", id)
    assert (shown[b"state"], shown[b"nacks"]) == (b"queued", nacks)
    assert shown[b"additional-deliveries"] == 0


@pytest.mark.parametrize("name", [b"ENQUEUE", b"NACK"])
def test_a_job_that_may_be_delivered_once_is_not_queued_after_its_delivery(name: bytes) -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", b"RETRY", b"0", b"DELAY", b"100")

    assert client.ask(name, id) == b":1\r\n"
    assert client.get() == id

    assert client.ask(name, id) == b":0\r\n"
    assert client.state_of(id) == b"active"
    world.pass_time(200_000)
    assert client.ask(b"QLEN", b"q") == b":0\r\n"


@pytest.mark.parametrize("name", [b"ENQUEUE", b"NACK"])
def test_a_pause_of_the_input_does_not_keep_workers_from_giving_jobs_back(name: bytes) -> None:
    client = World().client()
    id = client.add()
    client.get()
    client.ask(b"PAUSE", b"q", b"in")

    assert client.ask(name, id) == b":1\r\n"

    assert client.ask(b"QLEN", b"q") == b":1\r\n"


def test_a_job_given_back_returns_to_its_old_place() -> None:
    client = World().client()
    first, second = client.add(b"q", b"1"), client.add(b"q", b"2")
    assert client.get() == first

    client.ask(b"NACK", first)

    assert [client.get(), client.get()] == [first, second]


@pytest.mark.parametrize("is_nack", [False, True])
def test_the_other_holders_hear_of_a_job_that_is_queued_again(is_nack: bool) -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = copied(world, client)
    client.get()

    client.ask(b"NACK" if is_nack else b"ENQUEUE", id)

    told = [message for _, message in world.sent if isinstance(message, Queued)]
    assert sent_to(world, Queued) == [BEE, CAT]
    assert {(message.job_id, message.is_nack, message.is_delivery) for message in told} == {
        (id, is_nack, not is_nack)
    }


def test_a_job_given_back_goes_to_whoever_waits() -> None:
    world = World()
    worker, waiting = world.client(), world.client()
    id = worker.add()
    worker.get()
    waiting.send(b"GETJOB", b"WITHCOUNTERS", b"FROM", b"q")

    assert worker.ask(b"NACK", id) == b":1\r\n"

    assert waiting.take() == [
        b"*1\r\n*7\r\n$1\r\nq\r\n$40\r\n%b\r\n$4\r\nbody\r\n"
        b"$5\r\nnacks\r\n:1\r\n$21\r\nadditional-deliveries\r\n:0\r\n" % id
    ]
    assert worker.state_of(id) == b"active"


# --- DEQUEUE ----------------------------------------------------------------------------------


def test_dequeue_makes_queued_jobs_active_and_counts_no_delivery() -> None:
    client = World().client()
    id, other = client.add(), client.add(b"q", b"body", b"DELAY", b"100")

    assert client.ask(b"DEQUEUE", id, other, AT_LEAST_ONCE, id) == b":1\r\n"

    assert client.state_of(id) == b"active"
    stat = client.fields(b"QSTAT", b"q")
    assert (stat[b"len"], stat[b"jobs-in"], stat[b"jobs-out"]) == (0, 1, 0)


def test_a_dequeued_job_returns_when_its_retry_time_is_over() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", b"RETRY", b"10")
    world.pass_time(5_000)
    client.ask(b"DEQUEUE", id)

    world.pass_time(4_700)
    assert client.state_of(id) == b"active"
    world.pass_time(600)
    assert client.state_of(id) == b"queued"
    assert client.fields(b"SHOW", id)[b"additional-deliveries"] == 1


def test_a_dequeued_job_that_was_never_delivered_can_be_queued_even_without_retries() -> None:
    client = World().client()
    id = client.add(b"q", b"body", b"RETRY", b"0")

    assert client.ask(b"DEQUEUE", id) == b":1\r\n"

    assert client.ask(b"ENQUEUE", id) == b":1\r\n"
    assert client.get() == id


# --- WORKING ----------------------------------------------------------------------------------


def test_working_postpones_the_next_delivery_by_another_retry_period() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", b"RETRY", b"10")
    client.get()
    world.pass_time(9_000)

    assert client.ask(b"WORKING", id) == b":10\r\n"

    world.pass_time(9_700)
    assert client.state_of(id) == b"active"
    world.pass_time(600)
    assert client.state_of(id) == b"queued"


def test_working_takes_the_job_out_of_its_queue() -> None:
    client = World().client()
    id = client.add()

    assert client.ask(b"WORKING", id) == b":300\r\n"

    assert client.state_of(id) == b"active"
    assert client.ask(b"QLEN", b"q") == b":0\r\n"


def test_working_tells_the_other_holders() -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = copied(world, client)

    client.ask(b"WORKING", id)

    assert sent_to(world, Working) == [BEE, CAT]


def test_working_on_a_job_without_retries_changes_nothing() -> None:
    client = World().client()
    id = client.add(b"q", b"body", b"RETRY", b"0")

    assert client.ask(b"WORKING", id) == b":0\r\n"

    assert client.state_of(id) == b"queued"
    assert client.get() == id
    assert client.ask(b"WORKING", id) == b":0\r\n"


@pytest.mark.parametrize(
    ("delay", "retry", "first_ms"), [(b"100", b"10", 100_000), (b"10", b"100", 100_000)]
)
def test_working_never_moves_the_first_queueing_to_an_earlier_moment(
    delay: bytes, retry: bytes, first_ms: int
) -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", b"DELAY", delay, b"RETRY", retry)

    client.ask(b"WORKING", id)

    world.pass_time(first_ms - 300)
    assert client.state_of(id) == b"active"
    world.pass_time(600)
    assert client.state_of(id) == b"queued"


def test_working_is_refused_after_half_of_the_life_of_a_job() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", b"TTL", b"100", b"RETRY", b"30")

    world.stall(50_000)
    assert client.ask(b"WORKING", id) == b":30\r\n"
    world.stall(1)
    assert client.ask(b"WORKING", id) == (
        b"-TOOLATE Half of job TTL already elapsed, "
        b"you are no longer allowed to postpone the next delivery.\r\n"
    )


def test_working_on_what_this_node_does_not_know_is_refused() -> None:
    world = World(BEE, CAT)
    client = world.client()
    no_job = b"-NOJOB Job not known in the context of this node.\r\n"
    _, waiting = waiting_for_copies(world)

    assert client.ask(b"WORKING", AT_LEAST_ONCE) == no_job
    assert client.ask(b"WORKING", waiting) == no_job
    assert client.ask(b"WORKING", b"nonsense") == BAD_ID


def test_working_on_an_acked_job_is_refused() -> None:
    world = World(BEE, CAT)
    client = world.client()
    id = copied(world, client)
    client.ask(b"ACKJOB", id)
    client.ask(b"ACKJOB", AT_LEAST_ONCE)
    acked = b"-ACKED Job already acknowledged.\r\n"

    assert client.ask(b"WORKING", id) == acked
    assert client.ask(b"WORKING", AT_LEAST_ONCE) == acked


def test_a_job_that_got_its_copies_can_be_worked_on() -> None:
    world = World(BEE, CAT)
    producer, id = waiting_for_copies(world)
    world.receive(BEE, GotJob(JobId(id)))
    world.receive(CAT, GotJob(JobId(id)))
    producer.take()

    assert producer.ask(b"WORKING", id) == b":300\r\n"
