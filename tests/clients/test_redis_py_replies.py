"""What redis-py makes of the replies, in both its flavours and both protocols."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Final

import pytest
import redis

from tests.clients.node import UNKNOWN_ID
from tests.clients.redispy import Client, Command, Connector, Flavour, Untyped
from tests.support.server import ServerProcess

pytestmark = pytest.mark.process

EVERY_BYTE: Final = bytes(range(256))
SHOW_FIELDS: Final = [
    b"id",
    b"queue",
    b"state",
    b"repl",
    b"ttl",
    b"ctime",
    b"delay",
    b"retry",
    b"nacks",
    b"additional-deliveries",
    b"nodes-delivered",
    b"nodes-confirmed",
    b"next-requeue-within",
    b"next-awake-within",
    b"body",
]
QSTAT_FIELDS: Final = [
    b"name",
    b"len",
    b"age",
    b"idle",
    b"blocked",
    b"import-from",
    b"import-rate",
    b"jobs-in",
    b"jobs-out",
    b"pause",
]
# The library leaves out the code ERR, and no other.
REFUSED: Final[tuple[tuple[Command, str], ...]] = (
    (("NOPE",), "unknown command 'NOPE'"),
    (("GET", "key"), "unknown command 'GET'"),
    (("ADDJOB", "q"), "wrong number of arguments for 'addjob' command"),
    (("ADDJOB", "q", "b", "soon"), "timeout is not an integer or out of range"),
    (("ADDJOB", "q", "b", 0, "TTL", 0), "TTL must be a number > 0"),
    (("GETJOB", "q"), "syntax error"),
    (("SHOW", "x"), "BADID Invalid Job ID format."),
    (("WORKING", UNKNOWN_ID), "NOJOB Job not known in the context of this node."),
    (
        ("ADDJOB", "q", "b", 0, "REPLICATE", 2),
        "NOREPL Not enough reachable nodes for the requested replication level",
    ),
    (("HELLO", 4), "NOPROTO unsupported protocol version"),
    (("SELECT", 1), "DB index is out of range"),
)
# What may differ between two looks at the same thing.
VOLATILE: Final = (b"ttl", b"age", b"idle", b"next-requeue-within", b"next-awake-within")


def fields(flat: Untyped) -> dict[bytes, Untyped]:
    """Pair the names and values of a flat list."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def at_rest(reply: Untyped) -> Untyped:
    """Replace what changes by itself, at any depth, by its type."""
    if not isinstance(reply, list):
        return reply
    return [
        type(value) if position and reply[position - 1] in VOLATILE else at_rest(value)
        for position, value in enumerate(reply)
    ]


# --- Jobs ---------------------------------------------------------------------------------------


def test_a_job_goes_in_and_comes_out(client: Client, queue: str) -> None:
    id = client.ask("ADDJOB", queue, "body", 0)

    assert client.ask("GETJOB", "FROM", queue) == [[queue.encode(), id, b"body"]]
    assert client.ask("ACKJOB", id) == 1
    assert client.ask("SHOW", id) is None


def test_bodies_and_names_of_queues_are_bytes_that_arrive_unchanged(
    client: Client, queue: str
) -> None:
    name = queue.encode() + EVERY_BYTE

    for body in (EVERY_BYTE, b"", b"\r\n", b"$-1\r\n*1\r\n$4\r\nQUIT\r\n", EVERY_BYTE * 4_096):
        id = client.ask("ADDJOB", name, body, 0)

        assert client.ask("QPEEK", name, 1) == [[name, id, body]]
        assert fields(client.ask("SHOW", id))[b"body"] == body
        assert client.ask("GETJOB", "FROM", name) == [[name, id, body]]
        assert client.ask("ACKJOB", id) == 1


def test_a_wait_with_a_timeout_ends_with_none_and_not_early(client: Client, queue: str) -> None:
    started = time.monotonic()

    assert client.ask("GETJOB", "TIMEOUT", 30, "FROM", queue) is None

    assert time.monotonic() - started >= 0.03


def test_what_is_absent_is_none_and_what_is_empty_is_an_empty_list(
    client: Client, queue: str
) -> None:
    assert client.ask("GETJOB", "NOHANG", "FROM", queue) is None
    assert client.ask("SHOW", UNKNOWN_ID) is None
    assert client.ask("QSTAT", queue + " never seen") is None
    assert client.client_getname() is None
    assert client.ask("QPEEK", queue, 10) == []
    assert client.ask("QSCAN", "MINLEN", 10**9, "BUSYLOOP") == [b"0", []]

    id = client.ask("ADDJOB", queue, "body", 0, "RETRY", 0)
    assert fields(client.ask("SHOW", id))[b"next-requeue-within"] is None


def test_show_is_a_flat_list_of_names_and_values(client: Client, queue: str) -> None:
    id = client.ask("ADDJOB", queue, EVERY_BYTE, 0, "RETRY", 60, "TTL", 3_600, "DELAY", 10)

    shown = client.ask("SHOW", id)

    assert shown[::2] == SHOW_FIELDS
    known = fields(shown)
    assert (known[b"id"], known[b"queue"], known[b"body"]) == (id, queue.encode(), EVERY_BYTE)
    assert (known[b"state"], known[b"repl"], known[b"delay"]) == (b"active", 1, 10)
    assert (known[b"retry"], known[b"nacks"], known[b"additional-deliveries"]) == (60, 0, 0)
    assert 3_590 <= known[b"ttl"] <= 3_600
    assert [len(node) for node in known[b"nodes-delivered"]] == [40]
    assert known[b"nodes-confirmed"] == []


def test_qstat_is_a_flat_list_of_names_and_values(client: Client, queue: str) -> None:
    client.ask("ADDJOB", queue, "body", 0)

    described = client.ask("QSTAT", queue)

    assert described[::2] == QSTAT_FIELDS
    known = fields(described)
    assert (known[b"name"], known[b"len"], known[b"blocked"]) == (queue.encode(), 1, 0)
    assert (known[b"import-from"], known[b"import-rate"]) == ([], 0)
    assert (known[b"jobs-in"], known[b"jobs-out"], known[b"pause"]) == (1, 0, b"none")


def test_jobs_with_counters_are_flat_lists_of_seven(client: Client, queue: str) -> None:
    id = client.ask("ADDJOB", queue, "body", 0)
    client.ask("GETJOB", "FROM", queue)
    assert client.ask("NACK", id) == 1

    jobs = client.ask("GETJOB", "WITHCOUNTERS", "FROM", queue)

    assert jobs == [[queue.encode(), id, b"body", b"nacks", 1, b"additional-deliveries", 0]]


def test_a_scan_of_all_jobs_holds_what_show_shows(client: Client, queue: str) -> None:
    ids = [client.ask("ADDJOB", queue, body, 0) for body in ("a", "b", "c")]

    cursor, jobs = client.ask("JSCAN", "QUEUE", queue, "REPLY", "ALL", "BUSYLOOP")

    assert cursor == b"0"
    assert {fields(job)[b"id"] for job in jobs} == set(ids)
    assert all(job[::2] == SHOW_FIELDS for job in jobs)
    cursor, scanned = client.ask("JSCAN", "QUEUE", queue, "BUSYLOOP")
    assert (cursor, set(scanned)) == (b"0", set(ids))


def test_replies_are_the_same_in_both_protocols(
    flavour: Flavour, shared: ServerProcess, queue: str
) -> None:
    with (
        closing(Flavour(flavour.is_asyncio, 2).connect(shared)) as other,
        closing(flavour.connect(shared)) as client,
    ):
        id = client.ask("ADDJOB", queue, EVERY_BYTE, 0)
        for question in (
            ("SHOW", id),
            ("QSTAT", queue),
            ("QLEN", queue),
            ("QPEEK", queue, -1),
            ("QSCAN", "BUSYLOOP", "MINLEN", 1),
            ("JSCAN", "QUEUE", queue, "BUSYLOOP"),
            ("JSCAN", "QUEUE", queue, "BUSYLOOP", "REPLY", "ALL"),
            ("PAUSE", queue, "state"),
            ("HELLO",),
            ("CLUSTER", "MYID"),
            ("COMMAND LIST",),
            ("ECHO", EVERY_BYTE),
        ):
            assert at_rest(client.ask(*question)) == at_rest(other.ask(*question)), question


def test_text_is_decoded_on_demand(connect: Connector, shared: ServerProcess, queue: str) -> None:
    client = connect(shared, decode_responses=True)

    id = client.ask("ADDJOB", queue, "Gr\u00fc\u00dfe \u2713", 0)

    assert id.startswith("D-")
    assert client.ask("SHOW", id)[:4] == ["id", id, "queue", queue]
    assert client.ask("GETJOB", "FROM", queue) == [[queue, id, "Gr\u00fc\u00dfe \u2713"]]
    assert client.ask("GETJOB", "NOHANG", "FROM", queue) is None
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "acks"}


# --- What redis-py has methods for --------------------------------------------------------------


def test_ping_echo_and_select_answer_as_redis_does(client: Client) -> None:
    assert client.ping() is True
    assert client.echo(EVERY_BYTE) == EVERY_BYTE
    assert client.select(0) is True


def test_the_time_is_seconds_and_microseconds(client: Client) -> None:
    seconds, microseconds = client.time()

    assert abs(seconds - time.time()) < 60
    assert 0 <= microseconds < 1_000_000


def test_the_configuration_is_a_dictionary(client: Client) -> None:
    memory = client.config_get("maxmemory*")

    assert memory["maxmemory-policy"] == "acks"
    assert next(iter(memory)) == "maxmemory"
    assert client.config_get("no such directive") == {}


def test_info_is_a_dictionary_with_numbers_where_there_are_numbers(
    client: Client, shared: ServerProcess
) -> None:
    everything = client.info()
    clients = client.info("clients")

    assert everything["tcp_port"] == shared.port
    assert everything["process_id"] == shared.pid
    assert everything["used_memory"] > 0
    assert clients["connected_clients"] >= 1
    assert "used_memory" not in clients


def test_clients_are_listed_as_dictionaries(client: Client) -> None:
    id = client.client_id()

    listed = client.client_list()

    assert [line["cmd"] for line in listed if line["id"] == str(id)] == ["client"]
    assert client.client_info()["id"] == id


def test_a_client_can_name_itself(client: Client) -> None:
    assert client.client_setname("worker-1") is True

    assert client.client_getname() in ("worker-1", b"worker-1")
    with pytest.raises(redis.ResponseError, match="cannot contain spaces"):
        client.client_setname("worker 1")


def test_the_commands_are_counted_and_listed(client: Client) -> None:
    names = client.command_list()

    assert len(names) == client.command_count()
    assert {b"addjob", b"getjob", b"hello", b"select"} <= set(names)
    assert client.ask("COMMAND DOCS", "addjob")


def test_the_slow_log_is_a_list_of_dictionaries(flavour: Flavour, tunable: ServerProcess) -> None:
    with closing(flavour.connect(tunable)) as client:
        assert client.slowlog_reset() in (True, b"OK")
        client.echo("slow")

        entries = client.slowlog_get(10)

        assert [entry["command"] for entry in entries][:2] == [b"ECHO slow", b"SLOWLOG RESET"]
        assert all(entry["duration"] >= 0 for entry in entries)
        assert client.slowlog_len() >= len(entries)


def test_settings_can_be_changed(connect: Connector, tunable: ServerProcess) -> None:
    client = connect(tunable)

    assert client.config_set("slowlog-max-len", "200") is True

    assert client.config_get("slowlog-max-len") == {"slowlog-max-len": "200"}
    with pytest.raises(redis.ResponseError, match="Invalid argument 'x' for CONFIG SET 'timeout'"):
        client.config_set("timeout", "x")


# --- Errors -------------------------------------------------------------------------------------


def test_errors_keep_their_codes_and_their_whole_text(client: Client) -> None:
    for words, text in REFUSED:
        with pytest.raises(redis.ResponseError) as raised:
            client.ask(*words)

        assert str(raised.value) == text
        assert client.ping() is True


def test_errors_about_a_queue_keep_their_codes(client: Client, queue: str) -> None:
    client.ask("ADDJOB", queue, "body", 0)

    with pytest.raises(redis.ResponseError, match="MAXLEN Queue is already longer than"):
        client.ask("ADDJOB", queue, "body", 0, "MAXLEN", 1)
    assert client.ask("PAUSE", queue, "in") == b"in"
    with pytest.raises(redis.ResponseError, match="PAUSED Queue paused in input, try later"):
        client.ask("ADDJOB", queue, "body", 0)


def test_a_full_server_is_out_of_memory(connect: Connector, full: ServerProcess) -> None:
    client = connect(full)

    with pytest.raises(redis.exceptions.OutOfMemoryError, match="used memory > 'maxmemory'"):
        client.ask("ADDJOB", "q", "body", 0)

    assert client.ask("QLEN", "q") == 0


# --- Many commands at once ----------------------------------------------------------------------


def test_a_pipeline_is_answered_in_order(client: Client, queue: str) -> None:
    bodies = [b"%d" % number + EVERY_BYTE for number in range(300)]

    ids = client.ask_all(*[("ADDJOB", queue, body, 0) for body in bodies])
    length, jobs, nothing = client.ask_all(
        ("QLEN", queue), ("GETJOB", "COUNT", 300, "FROM", queue), ("QPEEK", queue, 1)
    )

    assert (length, nothing) == (300, [])
    assert jobs == [[queue.encode(), id, body] for id, body in zip(ids, bodies, strict=True)]
    assert client.ask_all(*[("ACKJOB", id) for id in ids]) == [1] * 300


def test_an_error_in_a_pipeline_takes_its_place_among_the_replies(
    client: Client, queue: str
) -> None:
    replies = client.ask_all(
        ("ADDJOB", queue, "a", 0),
        ("ADDJOB", queue, "b", "soon"),
        ("ADDJOB", queue, "c", 0),
        ("QLEN", queue),
        raise_on_error=False,
    )

    assert isinstance(replies[1], redis.ResponseError)
    assert replies[3] == 2
    assert [body for _, _, body in client.ask("QPEEK", queue, 10)] == [b"a", b"c"]


def test_an_error_in_a_pipeline_is_raised_when_all_is_done(client: Client, queue: str) -> None:
    with pytest.raises(redis.ResponseError, match="unknown command 'NOPE'"):
        client.ask_all(("ADDJOB", queue, "a", 0), ("NOPE",), ("ADDJOB", queue, "b", 0))

    assert client.ask("QLEN", queue) == 2


def test_a_transaction_is_an_error_although_its_commands_are_executed(
    client: Client, queue: str
) -> None:
    with pytest.raises(redis.ResponseError, match="unknown command 'EXEC'"):
        client.ask_all(("ADDJOB", queue, "a", 0), ("ADDJOB", queue, "b", 0), transaction=True)

    assert client.ask("QLEN", queue) == 2
