"""ADDJOB, GETJOB, SHOW and JSCAN: jobs in and out of queues."""

from __future__ import annotations

import pytest

from disque.model.job import JobId, NodeId
from disque.model.limits import REMEMBERED_BYTES_MAX, WAITED_QUEUES_MAX
from disque.model.messages import DelJob, GotJob, ReplJob
from tests.commands.world import ME, START_MS, World

BEE = NodeId(b"b" * 40)
CAT = NodeId(b"c" * 40)
UNKNOWN_ID = b"D-bbbbbbbb-aaaaaaaaaaaaaaaaaaaaaaaa-05a1"


# --- ADDJOB -----------------------------------------------------------------------------------


def test_a_job_has_the_defaults_of_the_documents() -> None:
    client = World().client()

    shown = client.fields(b"SHOW", client.add(b"q", b"body"))

    assert (shown[b"ttl"], shown[b"retry"], shown[b"delay"]) == (86_400, 300, 0)
    assert (shown[b"repl"], shown[b"state"], shown[b"body"]) == (1, b"queued", b"body")


@pytest.mark.parametrize(
    ("ttl", "retry"), [(b"1", 1), (b"9", 1), (b"20", 2), (b"3000", 300), (b"5000", 300)]
)
def test_without_retry_a_job_is_retried_ten_times_within_its_life(ttl: bytes, retry: int) -> None:
    client = World().client()

    id = client.add(b"q", b"body", b"TTL", ttl)

    assert client.fields(b"SHOW", id)[b"retry"] == retry


@pytest.mark.parametrize(
    ("options", "suffix"),
    [
        ([], b"05a1"),
        ([b"RETRY", b"0"], b"05a0"),
        ([b"TTL", b"119"], b"0001"),
        ([b"TTL", b"120", b"RETRY", b"0"], b"0002"),
        ([b"TTL", b"9223372036854775807"], b"ffff"),
    ],
)
def test_an_id_tells_the_ttl_and_how_often_the_job_may_be_delivered(
    options: list[bytes], suffix: bytes
) -> None:
    id = World().client().add(b"q", b"body", *options)

    assert (len(id), id[:11], id[35:]) == (40, b"D-aaaaaaaa-", b"-" + suffix)


def test_the_last_of_repeated_options_wins() -> None:
    client = World().client()

    id = client.add(b"q", b"body", b"ttl", b"10", b"RETRY", b"9", b"TTL", b"50", b"retry", b"7")

    shown = client.fields(b"SHOW", id)
    assert (shown[b"ttl"], shown[b"retry"]) == (50, 7)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([b"nosuch"], "syntax error"),
        ([b"nosuch", b"1"], "syntax error"),
        ([b"TTL"], "syntax error"),
        ([b"ASYNC", b"RETRY"], "syntax error"),
        ([b"REPLICATE", b"0"], "REPLICATE must be between 1 and 65535"),
        ([b"REPLICATE", b"65536"], "REPLICATE must be between 1 and 65535"),
        ([b"REPLICATE", b"x"], "REPLICATE must be between 1 and 65535"),
        ([b"TTL", b"0"], "TTL must be a number > 0"),
        ([b"TTL", b""], "TTL must be a number > 0"),
        ([b"RETRY", b"-1"], "RETRY time must be a non negative number"),
        ([b"DELAY", b"1.5"], "DELAY time must be a non negative number"),
        ([b"MAXLEN", b"0"], "MAXLEN must be a positive number"),
        (
            [b"RETRY", b"0", b"REPLICATE", b"2"],
            "With RETRY set to 0 please explicitly set  REPLICATE to 1 (at-most-once delivery)",
        ),
        (
            [b"DELAY", b"10", b"TTL", b"10"],
            "The specified DELAY is greater than TTL. Job refused since would never be delivered",
        ),
    ],
)
def test_bad_options_of_addjob_are_refused(options: list[bytes], sentence: str) -> None:
    world = World()

    reply = world.client().ask(b"ADDJOB", b"q", b"body", b"0", *options)

    assert reply == f"-ERR {sentence}\r\n".encode()
    assert world.node.jobs.count() == 0


@pytest.mark.parametrize(
    ("timeout", "sentence"),
    [
        (b"-1", "timeout is negative"),
        (b"x", "timeout is not an integer or out of range"),
        (b"", "timeout is not an integer or out of range"),
        (b"9223372036854775808", "timeout is not an integer or out of range"),
    ],
)
@pytest.mark.parametrize("options", [[], [b"ASYNC"]])
def test_the_timeout_is_judged_even_where_nobody_waits(
    options: list[bytes], timeout: bytes, sentence: str
) -> None:
    reply = World().client().ask(b"ADDJOB", b"q", b"body", timeout, *options)

    assert reply == f"-ERR {sentence}\r\n".encode()


def test_options_are_judged_before_the_timeout_and_the_timeout_before_the_rest() -> None:
    client = World().client()
    contradiction = [b"DELAY", b"9", b"TTL", b"8"]

    assert client.ask(b"ADDJOB", b"q", b"b", b"x", b"TTL", b"0").startswith(b"-ERR TTL must")
    assert client.ask(b"ADDJOB", b"q", b"b", b"x", *contradiction).startswith(b"-ERR timeout")
    assert client.ask(b"ADDJOB", b"q", b"b", b"0", *contradiction).startswith(b"-ERR The spec")


def test_a_queue_that_is_long_enough_takes_no_more() -> None:
    client = World().client()
    client.add(b"q", b"1", b"MAXLEN", b"2")
    client.add(b"q", b"2", b"MAXLEN", b"2")

    reply = client.ask(b"ADDJOB", b"q", b"3", b"0", b"MAXLEN", b"2")

    assert reply == b"-MAXLEN Queue is already longer than the specified MAXLEN count\r\n"
    assert client.ask(b"QLEN", b"q") == b":2\r\n"


def test_a_queue_that_is_paused_in_takes_nothing() -> None:
    client = World().client()
    client.ask(b"PAUSE", b"q", b"in")

    for options in ([], [b"ASYNC"]):
        reply = client.ask(b"ADDJOB", b"q", b"body", b"0", *options)

        assert reply == b"-PAUSED Queue paused in input, try later\r\n"


def test_a_delayed_job_is_queued_when_its_delay_is_over_and_not_before() -> None:
    world = World()
    client = world.client()
    client.add(b"q", b"body", b"DELAY", b"5")

    world.pass_time(5_000)
    assert client.ask(b"QLEN", b"q") == b":0\r\n"
    world.pass_time(1)
    assert client.ask(b"QLEN", b"q") == b":1\r\n"


def test_a_node_alone_cannot_replicate() -> None:
    reply = World().client().ask(b"ADDJOB", b"q", b"body", b"0", b"REPLICATE", b"2")

    assert reply == b"-NOREPL Not enough reachable nodes for the requested replication level\r\n"


def test_a_producer_waits_until_enough_peers_have_a_copy() -> None:
    world = World(BEE, CAT)
    client = world.client()

    client.send(b"ADDJOB", b"q", b"body", b"0")
    (id,) = world.node.jobs.ids()

    assert client.is_blocked
    assert sorted(peer for peer, message in world.sent if isinstance(message, ReplJob)) == [
        BEE,
        CAT,
    ]
    world.receive(BEE, GotJob(id))
    assert client.take() == []
    world.receive(CAT, GotJob(id))
    assert client.take() == [b"+%b\r\n" % id]
    assert client.ask(b"QLEN", b"q") == b":1\r\n"


def test_a_producer_that_waited_too_long_is_told_and_the_job_is_gone() -> None:
    world = World(BEE, CAT)
    client = world.client()
    client.send(b"ADDJOB", b"q", b"body", b"100", b"REPLICATE", b"2")

    world.pass_time(100)
    assert client.is_blocked
    world.pass_time(1)

    assert client.take() == [
        b"-NOREPL Timeout reached before replicating to the requested number of nodes\r\n"
    ]
    assert world.node.jobs.count() == 0


@pytest.mark.parametrize("how", [b"DELJOB", b"FASTACK"])
def test_a_producer_is_told_when_its_job_is_removed_while_it_waits(how: bytes) -> None:
    world = World(BEE, CAT)
    producer, other = world.client(), world.client()
    producer.send(b"ADDJOB", b"q", b"body", b"0")
    (id,) = world.node.jobs.ids()

    assert other.ask(how, id) == b":1\r\n"

    assert producer.take() == [
        b"-NOREPL job removed (expired?) before the requested replication level was achieved\r\n"
    ]


def test_a_producer_that_hangs_up_takes_its_job_along() -> None:
    world = World(BEE, CAT)
    client = world.client()
    client.send(b"ADDJOB", b"q", b"body", b"0")
    world.sent.clear()

    client.hang_up()

    assert world.node.jobs.count() == 0
    assert {type(message) for _, message in world.sent} == {DelJob}
    world.check()


def test_async_does_not_wait_for_copies() -> None:
    world = World(BEE, CAT)

    world.client().add(b"q", b"body", b"ASYNC")

    assert len([message for _, message in world.sent if isinstance(message, ReplJob)]) == 2


@pytest.mark.parametrize("peers", [(), (BEE, CAT)])
def test_a_leaving_node_takes_no_job_and_says_why(peers: tuple[NodeId, ...]) -> None:
    world = World(*peers)
    client = world.client()
    client.ask(b"CLUSTER", b"LEAVING", b"yes")

    reply = client.ask(b"ADDJOB", b"q", b"body", b"0", b"REPLICATE", b"1")

    assert reply == (
        b"-NOREPL Not enough reachable nodes for the requested replication level, since I'm unable "
        b"to hold a copy of the message for the following reason: I'm leaving the cluster\r\n"
    )
    world.check()


def test_a_node_short_of_memory_takes_no_job_and_says_why() -> None:
    world = World()
    client = world.client()
    used = world.node.memory.account.used_bytes
    client.ask(b"CONFIG", b"SET", b"maxmemory", b"%d" % (used * 100 // 80))

    reply = client.ask(b"ADDJOB", b"q", b"body", b"0")

    assert reply.startswith(b"-NOREPL ")
    assert reply.endswith(b"reason: I'm out of memory\r\n")


# --- GETJOB -----------------------------------------------------------------------------------


def test_jobs_come_one_per_queue_and_pass() -> None:
    client = World().client()
    for queue, body in ((b"a", b"1"), (b"a", b"2"), (b"a", b"3"), (b"b", b"4"), (b"b", b"5")):
        client.add(queue, body)

    taken = client.items(b"GETJOB", b"COUNT", b"4", b"FROM", b"a", b"b")

    assert [job[2] for job in taken if isinstance(job, list)] == [b"1", b"4", b"2", b"5"]


def test_fewer_jobs_than_wanted_are_given_at_once() -> None:
    client = World().client()
    client.add(b"q", b"1")

    assert len(client.items(b"GETJOB", b"COUNT", b"10", b"FROM", b"q")) == 1


def test_everything_after_from_is_the_name_of_a_queue() -> None:
    client = World().client()
    client.add(b"COUNT", b"1")

    taken = client.items(b"GETJOB", b"NOHANG", b"from", b"NOHANG", b"COUNT")

    assert [job[0] for job in taken if isinstance(job, list)] == [b"COUNT"]


def test_counters_follow_the_body() -> None:
    client = World().client()
    id = client.add(b"q", b"body")
    client.get()
    client.ask(b"NACK", id)

    taken = client.items(b"GETJOB", b"WITHCOUNTERS", b"FROM", b"q")

    assert taken == [[b"q", id, b"body", b"nacks", 1, b"additional-deliveries", 0]]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([b"FROM"], "syntax error"),
        ([b"q"], "syntax error"),
        ([b"nosuch", b"FROM", b"q"], "syntax error"),
        ([b"COUNT", b"1"], "syntax error"),
        ([b"COUNT", b"0", b"FROM", b"q"], "COUNT must be a number greater than zero"),
        ([b"COUNT", b"x", b"FROM", b"q"], "COUNT must be a number greater than zero"),
        ([b"TIMEOUT", b"-1", b"FROM", b"q"], "timeout is negative"),
        ([b"TIMEOUT", b"FROM", b"q"], "timeout is not an integer or out of range"),
    ],
)
def test_bad_options_of_getjob_are_refused(words: list[bytes], sentence: str) -> None:
    client = World().client()

    assert client.ask(b"GETJOB", *words) == f"-ERR {sentence}\r\n".encode()


def test_a_refused_getjob_does_not_spoil_the_next_one() -> None:
    client = World().client()
    client.add(b"q", b"1")
    client.ask(b"GETJOB", b"COUNT", b"0", b"FROM", b"q")

    assert len(client.items(b"GETJOB", b"NOHANG", b"FROM", b"q")) == 1
    assert client.ask(b"GETJOB", b"NOHANG", b"FROM", b"q") == b"*-1\r\n"


def test_nohang_beats_timeout_and_says_nothing_in_the_protocol_of_the_client() -> None:
    client = World().client()
    request = [b"GETJOB", b"TIMEOUT", b"1000", b"NOHANG", b"FROM", b"q"]

    assert client.ask(*request) == b"*-1\r\n"
    client.ask(b"HELLO", b"3")
    assert client.ask(*request) == b"_\r\n"


def test_a_blocked_client_gets_one_job_whatever_it_asked_for() -> None:
    world = World()
    waiting, producer = world.client(), world.client()
    waiting.send(b"GETJOB", b"COUNT", b"5", b"WITHCOUNTERS", b"FROM", b"q", b"q")
    assert waiting.is_blocked

    id = producer.add(b"q", b"body")

    (reply,) = waiting.take()
    assert reply.startswith(b"*1\r\n*7\r\n$1\r\nq\r\n$40\r\n" + id)
    assert producer.ask(b"QLEN", b"q") == b":0\r\n"


def test_blocked_clients_are_served_in_the_order_they_came() -> None:
    world = World()
    first, second, producer = world.client(), world.client(), world.client()
    first.send(b"GETJOB", b"FROM", b"q")
    second.send(b"GETJOB", b"FROM", b"q")

    producer.add(b"q", b"1")

    assert (first.is_blocked, second.is_blocked) == (False, True)
    producer.add(b"q", b"2")
    assert not second.is_blocked


def test_a_blocked_client_is_released_when_its_timeout_is_over_and_not_before() -> None:
    world = World()
    client = world.client()
    client.send(b"GETJOB", b"TIMEOUT", b"250", b"FROM", b"q")

    world.pass_time(250)
    assert client.is_blocked
    world.pass_time(1)
    assert client.take() == [b"*-1\r\n"]


def test_requests_behind_a_blocked_one_wait_for_it() -> None:
    world = World()
    client, producer = world.client(), world.client()
    client.pipeline([b"GETJOB", b"FROM", b"q"], [b"PING"])
    assert client.take() == []

    producer.add(b"q", b"body")

    first, second = client.take()
    assert first.startswith(b"*1\r\n")
    assert second == b"+PONG\r\n"


def test_waiting_clients_are_sent_away_when_the_node_begins_to_leave() -> None:
    world = World()
    waiting, other = world.client(), world.client()
    leaving = b"-LEAVING This node is leaving the cluster, please connect to a different one\r\n"
    waiting.send(b"GETJOB", b"FROM", b"q")

    other.ask(b"CLUSTER", b"LEAVING", b"yes")

    assert waiting.take() == [leaving]
    assert waiting.ask(b"GETJOB", b"FROM", b"q") == leaving
    assert waiting.ask(b"GETJOB", b"NOHANG", b"FROM", b"q") == b"*-1\r\n"


def test_a_client_that_hung_up_gets_no_job() -> None:
    world = World()
    waiting, producer = world.client(), world.client()
    waiting.send(b"GETJOB", b"FROM", b"q")

    waiting.hang_up()
    producer.add(b"q", b"body")

    assert producer.ask(b"QLEN", b"q") == b":1\r\n"
    world.check()


# --- SHOW -------------------------------------------------------------------------------------


def test_show_lists_fifteen_fields_in_their_order() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", b"TTL", b"100", b"RETRY", b"30", b"DELAY", b"10")
    world.stall(1)

    assert client.items(b"SHOW", id) == [
        *[b"id", id, b"queue", b"q", b"state", b"active", b"repl", 1, b"ttl", 100],
        *[b"ctime", START_MS * 1_000_000, b"delay", 10, b"retry", 30, b"nacks", 0],
        *[b"additional-deliveries", 0, b"nodes-delivered", [ME], b"nodes-confirmed", []],
        *[b"next-requeue-within", 9_999, b"next-awake-within", 9_999, b"body", b"body"],
    ]


def test_show_of_an_unknown_job_is_nil_in_the_protocol_of_the_client() -> None:
    client = World().client()

    assert client.ask(b"SHOW", UNKNOWN_ID) == b"$-1\r\n"
    client.ask(b"HELLO", b"3")
    assert client.ask(b"SHOW", UNKNOWN_ID) == b"_\r\n"


def test_a_job_that_is_never_queued_again_has_no_next_time() -> None:
    client = World().client()
    id = client.add(b"q", b"body", b"RETRY", b"0")
    client.get()

    assert client.fields(b"SHOW", id)[b"next-requeue-within"] is None


def test_a_dummy_has_neither_queue_nor_body() -> None:
    client = World(BEE, CAT).client()
    client.ask(b"ACKJOB", UNKNOWN_ID)

    shown = client.fields(b"SHOW", UNKNOWN_ID)

    assert (shown[b"state"], shown[b"queue"], shown[b"body"]) == (b"acked", None, None)
    assert (shown[b"repl"], shown[b"ctime"], shown[b"nodes-delivered"]) == (0, 0, [])


def test_what_is_no_id_cannot_be_shown() -> None:
    client = World().client()

    for raw in (b"", b"D-", UNKNOWN_ID + b"x", b"X" + UNKNOWN_ID[1:]):
        assert client.ask(b"SHOW", raw) == b"-BADID Invalid Job ID format.\r\n"


# --- JSCAN ------------------------------------------------------------------------------------


def scanned(reply: bytes) -> set[bytes]:
    """Return the ids in a reply of JSCAN that ends the scan."""
    assert reply.startswith(b"*2\r\n$1\r\n0\r\n*")
    return {line[1:] for line in reply.split(b"\r\n") if line.startswith(b"+")}


def test_jscan_finds_jobs_by_queue_and_state() -> None:
    client = World().client()
    queued, other = client.add(b"q"), client.add(b"other")
    delayed = client.add(b"q", b"body", b"DELAY", b"10")

    assert scanned(client.ask(b"JSCAN")) == {queued, other, delayed}
    assert scanned(client.ask(b"JSCAN", b"QUEUE", b"q")) == {queued, delayed}
    assert scanned(client.ask(b"JSCAN", b"STATE", b"Queued")) == {queued, other}
    assert scanned(
        client.ask(b"JSCAN", b"STATE", b"queued", b"state", b"active", b"queue", b"q")
    ) == {queued, delayed}


def test_jscan_shows_jobs_that_wait_for_copies_and_hides_dummies() -> None:
    world = World(BEE, CAT)
    client = world.client()
    world.client().send(b"ADDJOB", b"q", b"body", b"0")
    client.ask(b"ACKJOB", UNKNOWN_ID)
    (waiting,) = world.node.jobs.ids() - {JobId(UNKNOWN_ID)}

    assert scanned(client.ask(b"JSCAN")) == {waiting}
    assert scanned(client.ask(b"JSCAN", b"STATE", b"wait-repl")) == {waiting}


def test_jscan_can_show_whole_jobs() -> None:
    client = World().client()
    id = client.add()

    cursor, jobs = client.items(b"JSCAN", b"REPLY", b"ALL")

    assert cursor == b"0"
    assert jobs == [client.value(b"SHOW", id)]


def test_jscan_returns_every_job_however_small_the_pages() -> None:
    client = World().client()
    ids = {client.add() for _ in range(50)}

    found: set[bytes] = set()
    cursor = b"0"
    for _ in range(200):
        reply = client.ask(b"JSCAN", cursor, b"COUNT", b"3")
        found |= {line[1:] for line in reply.split(b"\r\n") if line.startswith(b"+")}
        cursor = reply.split(b"\r\n")[2]
        if cursor == b"0":
            break

    assert cursor == b"0"
    assert found == ids


@pytest.mark.parametrize("option", [[b"BUSYLOOP"], [b"COUNT", b"-1"], [b"COUNT", b"1000"]])
def test_jscan_can_return_everything_at_once(option: list[bytes]) -> None:
    client = World().client()
    ids = {client.add() for _ in range(300)}

    assert scanned(client.ask(b"JSCAN", *option)) == ids


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([b"COUNT"], "invalid cursor or option name"),
        ([b"5", b"COUNT"], "syntax error"),
        ([b"5", b"6"], "syntax error"),
        ([b"18446744073709551616"], "invalid cursor or option name"),
        ([b"COUNT", b"x"], "value is not an integer or out of range"),
        ([b"STATE", b"nosuch"], "Invalid job state name"),
        ([b"REPLY", b"nosuch"], "Invalid REPLY type, try ID or ALL"),
    ],
)
def test_bad_options_of_jscan_are_refused(words: list[bytes], sentence: str) -> None:
    assert World().client().ask(b"JSCAN", *words) == f"-ERR {sentence}\r\n".encode()


@pytest.mark.parametrize("cursor", [b"0", b"+7", b"-7", b"18446744073709551615"])
def test_any_unsigned_number_is_a_cursor(cursor: bytes) -> None:
    reply = World().client().ask(b"JSCAN", cursor)

    assert reply == b"*2\r\n$1\r\n0\r\n*0\r\n"


def test_what_is_remembered_of_requests_is_small() -> None:
    world = World()
    client = world.client()
    name = b"q" * 1_000_000

    client.ask(b"GETJOB", b"NOHANG", b"FROM", name)
    client.ask(b"ADDJOB", name, b"body", b"0", b"REPLICATE", b"2")
    client.add(b"q", b"body", *[b"TTL", b"5"] * 1_000)

    front = world.front
    remembered = sum(len(word) for word in front.last_getjob + front.last_options)
    assert remembered <= REMEMBERED_BYTES_MAX
    assert front.last_order.queue == front.last_order.body == front.last_fetch.reply_head == b""


def test_a_client_may_wait_for_so_many_queues_and_no_more() -> None:
    world = World()
    client = world.client()
    names = [b"%d" % number for number in range(WAITED_QUEUES_MAX + 1)]

    refused = client.ask(b"GETJOB", b"FROM", *names)
    client.send(b"GETJOB", b"FROM", *names[1:], *names[1:])

    assert refused == b"-ERR GETJOB without NOHANG takes at most 1000 queues\r\n"
    assert client.is_blocked
    assert world.node.queues.count() == WAITED_QUEUES_MAX
    world.check()


def test_many_names_without_waiting_find_the_jobs_but_make_no_queues() -> None:
    world = World()
    client = world.client()
    names = [b"%d" % number for number in range(5_000)]
    client.add(b"4999")
    client.add(b"17")

    found = client.items(b"GETJOB", b"NOHANG", b"COUNT", b"10", b"FROM", *names)

    assert [job[0] for job in found if isinstance(job, list)] == [b"17", b"4999"]
    assert world.node.queues.count() == 2


@pytest.mark.timeout(10)
def test_queues_that_had_nothing_are_not_asked_again() -> None:
    world = World()
    client = world.client()
    for _ in range(500):
        client.add(b"full")
    # It must be there: names of queues that are not are left out at once.
    client.add(b"empty")
    client.get(b"empty")
    names = [b"full", *[b"empty"] * 500_000, b"full"]

    # Asked in each round, these would be a hundred million looks, which take minutes.
    found = client.items(b"GETJOB", b"NOHANG", b"COUNT", b"499", b"FROM", *names)

    assert len(found) == 499
    assert client.ask(b"QLEN", b"full") == b":1\r\n"


def test_a_queue_named_twice_gives_two_jobs_per_round() -> None:
    world = World()
    client = world.client()
    for body in (b"a1", b"a2", b"a3"):
        client.add(b"a", body)
    client.add(b"b", b"b1")

    found = client.items(b"GETJOB", b"COUNT", b"9", b"FROM", b"a", b"b", b"a")

    assert [job[2] for job in found if isinstance(job, list)] == [b"a1", b"b1", b"a2", b"a3"]


@pytest.mark.parametrize("queue", [b"", b"q", b"\r\n", b"\xff" * 300])
@pytest.mark.parametrize("size", [0, 1, 1_023, 1_024, 70_000])
def test_the_usual_getjob_answers_as_every_other_one(queue: bytes, size: int) -> None:
    client = World().client()
    first = client.add(queue, b"x" * size)
    second = client.add(queue, b"x" * size)

    usual = client.ask(b"GETJOB", b"FROM", queue)
    other = client.ask(b"GETJOB", b"COUNT", b"2", b"FROM", queue)

    assert usual.replace(first, second) == other
