"""Whatever one client does, the server lives, its memory is bounded, and others are served.

Every test lets somebody misbehave next to a bystander, who is to notice nothing of it.
"""

from __future__ import annotations

import contextlib
import random
import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator

import pytest

from disque.wire.requests import ARGUMENT_BYTES_MAX, ARGUMENTS_MAX, LINE_BYTES_MAX
from tests.server.bystander import MIB, undisturbed
from tests.support.fixtures import Starter
from tests.support.resp import Wire, decode, encode
from tests.support.server import ServerProcess

pytestmark = [pytest.mark.process, pytest.mark.slow]

PATIENCE_S = 15.0
POLL_S = 0.01
# What the kernel holds between two sockets on loopback, at both ends, at most.
KERNEL_MIB = 16
VISITS = "total_connections_received"
JOB = encode("ADDJOB", "q", "body", 0)


def hang_up_rudely(wire: Wire) -> None:
    """Close with a reset, as a crashed machine or a firewall would."""
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def send_until_stuck(wire: Wire, chunk: bytes, bytes_max: int) -> int:
    """Send for as long as the server takes it; return how much that was."""
    sent = 0
    wire.socket.settimeout(0.3)
    with contextlib.suppress(TimeoutError, ConnectionError):
        while sent < bytes_max:
            sent += wire.socket.send(chunk)
    return sent


def count_of(wire: Wire, field: str) -> int:
    """Return a number that INFO shows."""
    lines = wire.text("INFO").splitlines()
    return next(int(line.partition(":")[2]) for line in lines if line.startswith(f"{field}:"))


def wait_for_clients(wire: Wire, count: int, *, visits: int) -> None:
    """Wait until the server has seen so many come, and all but `count` leave again."""
    deadline = time.monotonic() + PATIENCE_S
    while count_of(wire, VISITS) < visits or count_of(wire, "connected_clients") != count:
        assert time.monotonic() < deadline, wire.text("INFO", "clients")
        time.sleep(POLL_S)


# --- Requests that are too large ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "filling", "reply"),
    [
        (["GETJOB", "NOHANG", "FROM"], "q", b"*-1\r\n"),
        (["DELJOB"], "D-aaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaa-05a1", b":0\r\n"),
        (["PING"], "x", b"-ERR wrong number of arguments for 'ping' command\r\n"),
    ],
)
def test_as_many_arguments_as_are_allowed_are_answered(
    server: ServerProcess, words: list[str], filling: str, reply: bytes
) -> None:
    missing = ARGUMENTS_MAX - len(words)
    head = encode(*words).partition(b"\r\n")[2]
    raw = b"*%d\r\n" % ARGUMENTS_MAX + head + encode(filling)[4:] * missing

    # To read a million arguments takes a third of a second, during which nobody else is served;
    # on a machine that does three other things at once, three seconds were seen.
    with undisturbed(server, mib_max=200, slowest_s=8.0):
        wire = server.wire()
        wire.send_raw(raw)
        assert wire.read_reply() == reply


def test_more_arguments_than_are_allowed_are_refused_before_they_come(
    server: ServerProcess, wire: Wire
) -> None:
    with undisturbed(server, mib_max=10):
        wire.send_raw(b"*%d\r\n" % (ARGUMENTS_MAX + 1))

        assert wire.read_reply() == b"-ERR Protocol error: invalid multibulk length\r\n"
        wire.read_eof()


def test_a_body_that_is_announced_but_never_sent_takes_no_memory(server: ServerProcess) -> None:
    announcement = b"*4\r\n$6\r\nADDJOB\r\n$1\r\nq\r\n$%d\r\n" % ARGUMENT_BYTES_MAX

    with undisturbed(server, mib_max=10):
        crowd = [server.wire() for _ in range(10)]
        for wire in crowd:
            wire.send_raw(announcement + b"x" * 1_000)
        for wire in crowd:
            wire.assert_silent(10)

    for wire in crowd:
        wire.close()
    assert server.wire().integer("QLEN", "q") == 0


def test_a_body_beyond_the_limit_is_refused_before_it_comes(
    server: ServerProcess, wire: Wire
) -> None:
    with undisturbed(server, mib_max=10):
        wire.send_raw(b"*2\r\n$4\r\nECHO\r\n$%d\r\n" % (ARGUMENT_BYTES_MAX + 1))

        assert wire.read_reply() == b"-ERR Protocol error: invalid bulk length\r\n"
        wire.read_eof()


def test_a_line_that_does_not_end_is_refused(server: ServerProcess, wire: Wire) -> None:
    with undisturbed(server, mib_max=10):
        wire.send_raw(b"x" * (LINE_BYTES_MAX + 1))

        assert wire.read_reply() == b"-ERR Protocol error: too big inline request\r\n"
        wire.read_eof()


# --- Clients that do not read -------------------------------------------------------------------


def test_a_client_that_never_reads_is_not_read_either_and_loses_nothing(
    server: ServerProcess, wire: Wire
) -> None:
    body = b"x" * 50_000
    request = encode("ECHO", body)

    with undisturbed(server, mib_max=60):
        sent = send_until_stuck(wire, request, 200 * MIB)
    assert sent < (32 + 2 * KERNEL_MIB) * MIB

    # The request cut in the middle is finished while its predecessors are read.
    rest = request[sent % len(request) :] if sent % len(request) else b""
    reply = b"$%d\r\n%b\r\n" % (len(body), body)
    for _ in range(sent // len(request)):
        assert wire.read_reply() == reply
    wire.send_raw(rest + encode("PING"))
    if rest:
        assert wire.read_reply() == reply
    assert wire.read_reply() == b"+PONG\r\n"


def test_a_monitor_that_never_reads_is_cut(server: ServerProcess, wire: Wire) -> None:
    watcher = server.wire()
    assert watcher.ask("MONITOR") == b"+OK\r\n"
    # Shown as \x00, four times as long.
    request = encode("ECHO", bytes(16_000))

    with undisturbed(server, mib_max=150):
        for _ in range(2_000):
            wire.send_raw(request)
            wire.read_reply()
            if "it monitors and does not read fast enough" in server.log:
                break
        else:
            pytest.fail("the monitor was not cut")

    assert watcher.drain_until_eof() < 64 * MIB


def test_a_client_that_waits_for_a_job_and_talks_on_is_held_back(
    server: ServerProcess, wire: Wire
) -> None:
    with undisturbed(server, mib_max=60):
        wire.send("GETJOB", "FROM", "q")
        sent = send_until_stuck(wire, encode("ECHO", b"x" * 50_000), 200 * MIB)

    assert sent < (16 + 2 * KERNEL_MIB) * MIB
    id = server.wire().add("q")
    assert id.encode() in wire.read_reply()
    assert wire.read_reply().startswith(b"$50000\r\n")


def test_a_client_that_never_stops_asking_leaves_room_for_others(server: ServerProcess) -> None:
    wire = server.wire()
    burst = encode("PING") * 2_000

    with undisturbed(server, mib_max=60):
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            wire.send_raw(burst)
            for _ in range(2_000):
                assert wire.read_reply() == b"+PONG\r\n"


# --- Clients that leave -------------------------------------------------------------------------


@pytest.mark.parametrize("leave", [Wire.close, hang_up_rudely])
def test_jobs_go_to_those_who_still_wait(
    server: ServerProcess, leave: Callable[[Wire], None]
) -> None:
    observer = server.wire()
    crowd = [server.wire() for _ in range(20)]
    for wire in crowd:
        wire.send("GETJOB", "FROM", "q")
        wire.assert_silent(1)

    with undisturbed(server, mib_max=20):
        for wire in crowd[::2]:
            leave(wire)
        wait_for_clients(observer, 10 + 2, visits=22)
        ids = [observer.add("q", "x", "RETRY", 0) for _ in range(11)]
        replies = [wire.read_reply() for wire in crowd[1::2]]

    # At most once, so any job given to somebody who left would be lost.
    assert all(id.encode() in reply for id, reply in zip(ids, replies, strict=False))
    assert observer.get("q") == ids[-1:]


def test_whoever_leaves_in_the_middle_of_a_request_leaves_nothing_behind(
    server: ServerProcess, wire: Wire
) -> None:
    with undisturbed(server, mib_max=20):
        visits = count_of(wire, VISITS)
        for length in range(len(JOB)):
            with Wire(server.port) as leaver:
                leaver.send_raw(JOB[:length])
        wait_for_clients(wire, 2, visits=visits + len(JOB))

        assert wire.integer("QLEN", "q") == 0


def test_whoever_leaves_after_a_request_has_it_carried_out(
    server: ServerProcess, wire: Wire
) -> None:
    visits = count_of(wire, VISITS)

    with Wire(server.port) as leaver:
        leaver.send_raw(JOB * 3)
    wait_for_clients(wire, 1, visits=visits + 1)

    assert wire.integer("QLEN", "q") == 3


def test_who_only_stops_sending_still_gets_the_replies(server: ServerProcess, wire: Wire) -> None:
    wire.send_raw(encode("ECHO", "last words") * 1_000)
    wire.socket.shutdown(socket.SHUT_WR)

    for _ in range(1_000):
        assert wire.read_reply() == b"$10\r\nlast words\r\n"
    wire.read_eof()


def test_thousands_of_short_visits_leave_no_trace(server: ServerProcess, wire: Wire) -> None:
    with undisturbed(server, mib_max=20):
        visits = count_of(wire, VISITS)
        for visit in range(3_000):
            visitor = Wire(server.port)
            if visit % 3:
                visitor.send("PING")
            # Without waiting, and without a trace in our own table of connections.
            hang_up_rudely(visitor)
        wait_for_clients(wire, 2, visits=visits + 3_000)


IDLE = 10_000
# What this process has open besides.
SPARE = 500


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Let this process open as many files as it may; the server sees to that itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < IDLE + SPARE:
        pytest.skip(f"{IDLE} connections need {IDLE + SPARE} open files, and {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, IDLE + SPARE), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_ten_thousand_idle_clients_disturb_nobody(start_server: Starter) -> None:
    server = start_server("--maxclients", str(IDLE + 10))
    wire = server.wire()

    with undisturbed(server, mib_max=200):
        crowd = [Wire(server.port) for _ in range(IDLE)]
        wait_for_clients(wire, IDLE + 2, visits=IDLE)
        assert crowd[0].ask("PING") == b"+PONG\r\n"
        assert crowd[-1].ask("PING") == b"+PONG\r\n"

    with undisturbed(server, mib_max=50):
        for each in crowd:
            hang_up_rudely(each)
        wait_for_clients(wire, 2, visits=IDLE)


# --- Nonsense -----------------------------------------------------------------------------------


NAMES = [b"\xff\xfe\x80", b"a\x00b", b"\r\n", b" ", b"", b"\xed\xa0\x80", bytes(range(256))]


@pytest.mark.parametrize("name", NAMES)
def test_names_and_bodies_are_bytes_and_come_back_as_they_went(wire: Wire, name: bytes) -> None:
    id = wire.value("ADDJOB", name, name, 0)
    assert isinstance(id, bytes)

    assert wire.integer("QLEN", name) == 1
    assert wire.fields("SHOW", id)["queue"] == name
    assert wire.fields("SHOW", id)["body"] == name
    assert wire.items("QSCAN", "0", "COUNT", 10)[1] == [name]
    assert wire.items("QPEEK", name, 1) == [[name, id, name]]
    assert wire.value("GETJOB", "FROM", name) == [[name, id, name]]
    assert wire.ask("PING") == b"+PONG\r\n"


@pytest.mark.parametrize("name", [*NAMES, b"+OK\r\n", b"x" * 100_000])
def test_a_name_nobody_knows_is_quoted_in_one_line(wire: Wire, name: bytes) -> None:
    reply = wire.ask(name, "x")

    assert reply.startswith(b"-ERR unknown command '")
    assert len(reply) < 200
    assert wire.ask("PING") == b"+PONG\r\n"


NUMBERS = ["-1", str(2**63 - 1), str(-(2**63)), str(2**63), str(2**64), "9" * 5_000, "-0", "1e9"]


@pytest.mark.parametrize("number", NUMBERS)
def test_no_number_is_too_large_or_too_small_to_be_answered(
    server: ServerProcess, wire: Wire, number: str
) -> None:
    options = ("REPLICATE", "DELAY", "RETRY", "TTL", "MAXLEN")
    requests = [
        *[("ADDJOB", "q", "x", 0, option, number) for option in options],
        ("ADDJOB", "q", "x", number),
        ("GETJOB", "NOHANG", "COUNT", number, "FROM", "q"),
        ("GETJOB", "NOHANG", "TIMEOUT", number, "FROM", "q"),
        ("QPEEK", "q", number),
        ("QSCAN", number),
        ("QSCAN", "0", "COUNT", number),
        ("QSCAN", "0", "MINLEN", number, "MAXLEN", number, "IMPORTRATE", number),
        ("JSCAN", number),
        ("SLOWLOG", "GET", number),
        ("SELECT", number),
        ("HELLO", number),
        ("CLIENT", "KILL", "ID", number),
        *[("CONFIG", "SET", name, number) for name in ("timeout", "slowlog-max-len", "hz")],
        ("DEBUG", "SLEEP", "-1"),
    ]

    with undisturbed(server, mib_max=20):
        for request in requests:
            wire.ask(*request)
            assert wire.ask("ECHO", "in step") == b"$7\r\nin step\r\n", request


@pytest.mark.parametrize("seed", range(10))
def test_garbage_is_answered_or_refused(server: ServerProcess, seed: int) -> None:
    garbage = random.Random(seed).randbytes(100_000)

    with undisturbed(server, mib_max=20):
        wire = server.wire()
        with contextlib.suppress(ConnectionError):
            wire.send_raw(garbage)
            wire.socket.shutdown(socket.SHUT_WR)
        wire.drain_until_eof()


def test_a_tls_handshake_is_refused_or_ignored(server: ServerProcess, wire: Wire) -> None:
    hello = bytes.fromhex("160301005a01000056030354") + bytes(80) + b"\n"

    with undisturbed(server, mib_max=10):
        wire.send_raw(hello)
        wire.socket.shutdown(socket.SHUT_WR)
        wire.drain_until_eof()


@pytest.mark.parametrize("method", [b"POST", b"GET", b"PUT"])
def test_a_browser_that_was_tricked_into_sending_commands_runs_none(
    server: ServerProcess, wire: Wire, method: bytes
) -> None:
    smuggled = b"ADDJOB q evil 0\r\n"
    request = method + b" / HTTP/1.1\r\nHost: 127.0.0.1:7711\r\n\r\n" + smuggled

    with undisturbed(server, mib_max=10):
        wire.send_raw(request)
        wire.drain_until_eof()

        assert "HTTP request from" in server.log
        with Wire(server.port) as other:
            assert other.integer("QLEN", "q") == 0


# --- Odd timing ---------------------------------------------------------------------------------


def test_a_request_that_comes_byte_by_byte_is_answered(server: ServerProcess, wire: Wire) -> None:
    with undisturbed(server, mib_max=10):
        for position in range(len(JOB)):
            wire.send_raw(JOB[position : position + 1])
        assert wire.read_reply().startswith(b"+D-")

        for byte in b'PING "a b"\r\n':
            wire.send_raw(bytes([byte]))
        assert wire.read_reply() == b"$3\r\na b\r\n"


def test_ten_thousand_requests_in_one_write_are_answered_in_order(
    server: ServerProcess, wire: Wire
) -> None:
    requests = [
        encode("ECHO", number) if number % 100 else b"PING %d\n" % number
        for number in range(10_000)
    ]

    with undisturbed(server, mib_max=60):
        wire.send_raw(b"".join(requests))
        replies = [decode(wire.read_reply()) for _ in requests]

    assert replies == [b"%d" % number for number in range(10_000)]


def test_asking_for_jobs_of_queues_that_do_not_exist_takes_no_memory_from_producers(
    start_server: Starter,
) -> None:
    wire = start_server("--maxmemory", "20mb").wire()
    names = [f"queue-{number}" for number in range(50_000)]

    assert wire.ask("GETJOB", "NOHANG", "FROM", *names) == b"*-1\r\n"

    assert wire.ask("ADDJOB", "q", "body", 0).startswith(b"+D-")
