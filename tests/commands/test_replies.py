"""How jobs, queues and the core's own replies look on the wire, byte by byte."""

from __future__ import annotations

import pytest

from disque.commands import replies
from disque.model.errors import CommandError, shown
from disque.model.job import Job, JobId, NodeId
from disque.model.messages import GotJob
from disque.model.replies import (
    Delivery,
    ErrorReply,
    IdReply,
    JobsReply,
    NothingReply,
    Reply,
)
from tests.commands.world import ME, World, reply_end
from tests.support.resp import Value, decode

BEE = NodeId(b"b" * 40)
CAT = NodeId(b"c" * 40)
UNKNOWN_ID = b"D-bbbbbbbb-aaaaaaaaaaaaaaaaaaaaaaaa-05a1"

SHOW_FIELDS = [
    *[b"id", b"queue", b"state", b"repl", b"ttl", b"ctime", b"delay", b"retry", b"nacks"],
    *[b"additional-deliveries", b"nodes-delivered", b"nodes-confirmed"],
    *[b"next-requeue-within", b"next-awake-within", b"body"],
]
QSTAT_FIELDS = [
    *[b"name", b"len", b"age", b"idle", b"blocked", b"import-from", b"import-rate"],
    *[b"jobs-in", b"jobs-out", b"pause"],
]


def added(queue: bytes, body: bytes) -> Job:
    world = World()
    job = world.node.jobs.get(JobId(world.client().add(queue, body)))
    assert job is not None
    return job


def values(raw: bytes) -> list[Value]:
    value = decode(raw)
    assert isinstance(value, list)
    return value


# --- Errors -----------------------------------------------------------------------------------


def test_bytes_of_the_user_come_back_as_they_were_in_an_error() -> None:
    every_byte = bytes(set(range(256)) - {10, 13})

    raw = replies.error(CommandError("ERR", f"unknown command '{shown(every_byte)}'"))

    assert raw == b"-ERR unknown command '" + every_byte + b"'\r\n"


def test_a_line_break_of_the_user_does_not_end_an_error() -> None:
    raw = replies.error(CommandError("ERR", shown(b"a\r\nb\nc\rd")))

    assert raw == b"-ERR a  b c d\r\n"


def test_what_cannot_be_one_byte_does_not_break_an_error() -> None:
    # The system's own messages may be in any language.
    raw = replies.error(CommandError("ERR", "Rewriting config file: \u6743\u9650"))

    assert raw == b"-ERR Rewriting config file: ??\r\n"


# --- Absence ----------------------------------------------------------------------------------


def test_absent_values_and_absent_lists_differ_in_protocol_2_only() -> None:
    assert (replies.nil(2), replies.nil_array(2)) == (b"$-1\r\n", b"*-1\r\n")
    assert (replies.nil(3), replies.nil_array(3)) == (b"_\r\n", b"_\r\n")


# --- Replies of the core ----------------------------------------------------------------------


def test_an_id_is_a_simple_string_in_both_protocols() -> None:
    reply = IdReply(1, JobId(UNKNOWN_ID))

    assert replies.encode(reply, 2) == b"+" + UNKNOWN_ID + b"\r\n"
    assert replies.encode(reply, 3) == replies.encode(reply, 2)


def test_who_waited_in_vain_gets_an_absent_list() -> None:
    assert replies.encode(NothingReply(1), 2) == b"*-1\r\n"
    assert replies.encode(NothingReply(1), 3) == b"_\r\n"


def test_an_error_of_the_core_keeps_its_code() -> None:
    raw = replies.encode(ErrorReply(1, "NOREPL", "Timeout reached"), 2)

    assert raw == b"-NOREPL Timeout reached\r\n"


def test_a_reply_nobody_knows_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="unhandled reply"):
        replies.encode(Reply(1), 2)


@pytest.mark.parametrize("protocol", [2, 3])
def test_delivered_jobs_are_arrays_of_bulks_in_both_protocols(protocol: int) -> None:
    given = Delivery(added(b"q", b"\r\n\0"))

    raw = replies.encode(JobsReply(1, [given], with_counters=False), protocol)

    assert raw == b"*1\r\n*3\r\n$1\r\nq\r\n$40\r\n" + given.id + b"\r\n$3\r\n\r\n\0\r\n"


def test_counters_follow_the_body() -> None:
    given = Delivery(added(b"q", b"b"))
    given.nacks, given.additional_deliveries = 2, 65_535

    (job,) = values(replies.encode(JobsReply(1, [given], with_counters=True), 2))

    assert isinstance(job, list)
    assert job[:3] == [b"q", given.id, b"b"]
    assert job[3:] == [b"nacks", 2, b"additional-deliveries", 65_535]


@pytest.mark.parametrize("queue", [b"", b"q", b"\r\n", b"\xff" * 300])
@pytest.mark.parametrize("body", [b"", b"b", b"$3\r\nfoo\r\n", b"\0" * 70_000])
def test_each_way_to_write_a_job_gives_the_same_bytes(queue: bytes, body: bytes) -> None:
    job = added(queue, body)

    plain = replies.jobs([job])

    assert plain == replies.deliveries([Delivery(job)], with_counters=False)
    assert decode(plain) == [[queue, job.id, body]]


def test_no_jobs_are_an_empty_array() -> None:
    assert replies.jobs([]) == b"*0\r\n"
    assert replies.deliveries([], with_counters=True) == b"*0\r\n"


# --- SHOW -------------------------------------------------------------------------------------


def test_show_tells_fifteen_facts_in_the_order_tools_rely_on() -> None:
    client = World().client()

    shown_job = client.items(b"SHOW", client.add())

    assert shown_job[::2] == SHOW_FIELDS


def test_a_delayed_job_counts_down_to_its_first_enqueue() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"b", b"DELAY", b"10", b"TTL", b"100")
    world.stall(2_500)

    shown_job = client.fields(b"SHOW", id)

    assert (shown_job[b"state"], shown_job[b"delay"]) == (b"active", 10)
    assert shown_job[b"next-requeue-within"] == 7_500
    # 97.5 seconds are left, and a second that began is told whole.
    assert shown_job[b"ttl"] == 98


def test_times_to_wait_are_never_negative() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"b", b"RETRY", b"1", b"TTL", b"100")
    world.stall(60_000)

    shown_job = client.fields(b"SHOW", id)

    assert shown_job[b"next-requeue-within"] == 0
    assert shown_job[b"next-awake-within"] == 0


@pytest.mark.parametrize(("protocol", "absent"), [(2, b"$-1\r\n"), (3, b"_\r\n")])
def test_a_job_that_is_never_queued_again_has_no_time_for_it(protocol: int, absent: bytes) -> None:
    world = World()
    client = world.client()
    client.session.protocol = protocol
    id = client.add(b"q", b"b", b"RETRY", b"0")
    client.get()

    raw = client.ask(b"SHOW", id)

    assert b"next-requeue-within\r\n" + absent in raw
    assert raw.startswith(b"*30\r\n")


def test_an_acknowledgement_of_an_unknown_job_has_no_queue_and_no_body() -> None:
    world = World(BEE)
    client = world.client()
    assert client.ask(b"ACKJOB", UNKNOWN_ID) == b":0\r\n"

    shown_job = client.fields(b"SHOW", UNKNOWN_ID)

    assert (shown_job[b"state"], shown_job[b"queue"], shown_job[b"body"]) == (b"acked", None, None)
    assert (shown_job[b"repl"], shown_job[b"ctime"], shown_job[b"retry"]) == (0, 0, 0)
    assert shown_job[b"next-requeue-within"] is None


def test_nodes_are_told_sorted_and_confirmed_ones_only_while_they_confirm() -> None:
    world = World(CAT, BEE)
    producer, client = world.client(), world.client()
    producer.send(b"ADDJOB", b"q", b"b", b"0", b"REPLICATE", b"3")
    (id,) = world.node.jobs.ids()

    waiting = client.fields(b"SHOW", id)
    world.receive(CAT, GotJob(id))
    halfway = client.fields(b"SHOW", id)
    world.receive(BEE, GotJob(id))
    complete = client.fields(b"SHOW", id)

    assert waiting[b"state"] == b"wait-repl"
    confirmed = halfway[b"nodes-confirmed"]
    assert isinstance(confirmed, list)
    assert (CAT in confirmed, BEE in confirmed) == (True, False)
    assert (complete[b"state"], complete[b"nodes-confirmed"]) == (b"queued", [])
    assert complete[b"nodes-delivered"] == [ME, BEE, CAT]


# --- QSTAT ------------------------------------------------------------------------------------


def test_qstat_tells_ten_facts_in_the_order_tools_rely_on() -> None:
    client = World().client()
    client.add()

    assert client.items(b"QSTAT", b"q")[::2] == QSTAT_FIELDS


def test_a_queue_grows_old_and_is_idle_in_whole_seconds() -> None:
    world = World()
    client = world.client()
    client.add()
    world.stall(2_999)
    client.get()
    world.stall(1_000)

    facts = client.fields(b"QSTAT", b"q")

    assert (facts[b"age"], facts[b"idle"]) == (3, 1)
    assert (facts[b"len"], facts[b"jobs-in"], facts[b"jobs-out"]) == (0, 1, 1)


def test_a_name_of_any_bytes_comes_back_in_qstat() -> None:
    world = World()
    client = world.client()
    name = b"\r\n*1\r\n\0\xff"
    client.add(name)

    raw = client.ask(b"QSTAT", name)

    assert client.fields(b"QSTAT", name)[b"name"] == name
    assert reply_end(raw, 0) == len(raw)


def test_each_client_is_answered_in_its_own_protocol() -> None:
    world = World()
    old, new = world.client(), world.client()
    new.session.protocol = 3
    for client in (old, new):
        client.send(b"GETJOB", b"TIMEOUT", b"100", b"FROM", b"q")

    world.pass_time(101)

    assert (old.take(), new.take()) == ([b"*-1\r\n"], [b"_\r\n"])
