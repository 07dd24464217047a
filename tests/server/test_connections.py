"""A connection keeps its replies in order, its buffers bounded, and ends gently."""

from __future__ import annotations

import contextlib
import gc
import re
import socket
from collections.abc import Callable, Iterator

import pytest

from disque.model.limits import (
    COMMANDS_PER_TURN_MAX,
    MONITOR_OUTPUT_BYTES_MAX,
    UNSENT_BYTES_MAX,
)
from disque.model.timed import Timed
from disque.server.connections import HELD_BYTES_MAX, LINGER_S, Connection
from tests.server.inside import Client, Inside, new_settings, reset, tcp_pair
from tests.support.resp import encode

PONG = b"+PONG\r\n"
MIB = 1 << 20
LINGER_MS = round(LINGER_S * 1_000)
# More than the kernel holds between two ends of a socket pair.
LARGE = b"x" * 300_000


def bulk(body: bytes) -> bytes:
    """Return the reply to ECHO."""
    return b"$%d\r\n%b\r\n" % (len(body), body)


def numbered(count: int, size: int) -> tuple[bytes, bytes]:
    """Return that many ECHOs, no two alike, and the replies to all of them."""
    bodies = [b"%06d" % number + b"x" * size for number in range(count)]
    return b"".join(encode("ECHO", body) for body in bodies), b"".join(map(bulk, bodies))


def say_goodbye(client: Client) -> None:
    """End the conversation politely."""
    client.send("QUIT")


def listed(client: Client, id: int) -> dict[str, str]:
    """Return the fields of one line of CLIENT LIST."""
    lines = client.text("CLIENT", "LIST").splitlines()
    (line,) = [line for line in lines if line.startswith(f"id={id} ")]
    return dict(re.findall(r"(\S+)=(\S*)", line))


# --- Order ------------------------------------------------------------------------------------


def test_replies_keep_the_order_of_the_requests_whatever_blocks() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()

        client.send_raw(
            encode("ECHO", "1")
            + encode("GETJOB", "FROM", "q")
            + encode("CONFIG", "GET", "loglevel")
            + encode("TIME")
            + encode("GETJOB", "FROM", "r")
            + encode("ECHO", "2")
        )
        before = client.received()
        id = other.add("q")
        between = client.received()
        other.add("r")
        after = client.received()

        assert before == bulk(b"1")
        assert between.startswith(b"*1\r\n*3\r\n$1\r\nq\r\n$40\r\n" + id.encode())
        assert re.search(
            rb"\*2\r\n\$8\r\nloglevel\r\n.*\*2\r\n\$10\r\n\d{10}\r\n", between, re.DOTALL
        )
        assert b"$1\r\nr\r\n" not in between
        assert after.startswith(b"*1\r\n*3\r\n$1\r\nr\r\n")
        assert after.endswith(bulk(b"2"))


def test_what_cannot_be_understood_is_told_after_what_was_asked_before() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()

        client.send_raw(encode("GETJOB", "FROM", "q") + b"*x\r\n" + encode("ADDJOB", "q", "x", 0))
        before = client.received()
        other.add("q")
        after = client.received()

        assert before == b""
        assert after.startswith(b"*1\r\n*3\r\n$1\r\nq\r\n")
        assert after.endswith(b"-ERR Protocol error: invalid multibulk length\r\n")
        assert client.is_cut_off()
        assert other.integer("QLEN", "q") == 0


def test_one_client_with_much_to_ask_does_not_keep_others_waiting() -> None:
    with Inside() as server:
        watcher, busy, other = server.client(), server.client(), server.client()
        watcher.say("MONITOR")
        requests = encode("ECHO", "many") * 5_000

        assert busy.send_some(requests) == len(requests)
        other.send_some(encode("ECHO", "one"))
        server.pass_time(0)

        order = re.findall(rb'"ECHO" "(\w+)"', watcher.received())
        assert order.count(b"many") == 5_000
        # It comes after what was read together with it, and what follows waits for its turn.
        assert order.index(b"one") <= 2 * COMMANDS_PER_TURN_MAX


# --- Clients that wait and talk on ------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("hold", [("GETJOB", "FROM", "q"), ("CLIENT", "PAUSE", 1_000)])
@pytest.mark.parametrize("command", ["ECHO", "QLEN"])
def test_who_has_to_wait_is_read_up_to_a_bound_then_left_alone_and_loses_nothing(
    hold: tuple[str | int, ...], command: str
) -> None:
    bodies = [b"%06d" % number + b"x" * 60_000 for number in range(400)]
    requests = b"".join(encode(command, body) for body in bodies)
    replies = b"".join(map(bulk, bodies)) if command == "ECHO" else b":0\r\n" * len(bodies)
    with Inside() as server:
        client = server.client()
        connection = server.newest()
        other = server.client()

        client.send(*hold)
        first = client.received()
        sent = client.send_until_stuck(requests)

        assert HELD_BYTES_MAX < sent < len(requests)
        assert HELD_BYTES_MAX < connection.input_bytes() < HELD_BYTES_MAX + (1 << 20)
        assert client.received() == b""

        server.pass_time(1_001)
        if hold[0] == "GETJOB":
            id = other.add("q").encode()
            first = b"*1\r\n*3\r\n$1\r\nq\r\n$40\r\n%b\r\n$4\r\nbody\r\n" % id
            replies = first + replies
        received = client.exchange(requests[sent:])

        assert received == replies
        assert connection.input_bytes() == 0


def test_who_waits_again_and_again_has_every_request_answered_in_its_turn() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()

        for number in range(20):
            client.send("GETJOB", "FROM", "q")
            client.send("ECHO", number)
        ids = [other.add("q") for _ in range(20)]

        received = client.received()
        expected = [(id, str(number)) for number, id in enumerate(ids)]
        found = re.findall(r"(D-\S{38})\r\n\$4\r\nbody\r\n\$\d\r\n(\d+)\r\n", received.decode())
        assert found == expected


# --- Clients that do not read -----------------------------------------------------------------


def test_who_does_not_read_is_not_read_and_others_are_served() -> None:
    requests, replies = numbered(100, 50_000)
    with Inside() as server:
        client = server.client()
        connection = server.newest()
        other = server.client()

        sent = client.send_until_stuck(requests)

        assert sent < len(requests)
        # What one turn may add to what is there already.
        assert UNSENT_BYTES_MAX < connection.unsent_bytes() < 2 * UNSENT_BYTES_MAX + len(LARGE)
        assert other.ask("PING") == PONG

        assert client.exchange(requests[sent:]) == replies
        assert connection.unsent_bytes() == 0


@pytest.mark.slow
def test_who_is_no_monitor_may_be_owed_more_than_a_monitor() -> None:
    body = bytes(MONITOR_OUTPUT_BYTES_MAX + (1 << 20))
    with Inside() as server:
        client = server.client()

        sent = client.send_until_stuck(encode("ECHO", body))

        assert sent > len(body)
        assert len(client.received()) == len(bulk(body))
        assert client.ask("PING") == PONG


@pytest.mark.slow
def test_a_monitor_that_is_too_far_behind_is_cut_and_another_is_not() -> None:
    # Shown as \x00, so a line is four times as long as its body.
    body = bytes(16_000)
    with Inside() as server:
        lazy = server.client()
        connection = server.newest()
        watcher, client = server.client(), server.client()
        lazy.send("MONITOR")
        watcher.send("MONITOR")

        lag = 0
        while not server.lines.has("it monitors and does not read fast enough"):
            lag = connection.unsent_bytes()
            client.exchange(encode("ECHO", body))
            assert len(watcher.received()) > 4 * len(body)

        assert MONITOR_OUTPUT_BYTES_MAX - 5 * len(body) < lag <= MONITOR_OUTPUT_BYTES_MAX
        assert lazy.is_cut_off()
        assert watcher.say("PING").endswith(PONG)


# --- Clients that stop sending ----------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3 * COMMANDS_PER_TURN_MAX])
def test_who_stops_sending_gets_every_reply_and_then_the_end(count: int) -> None:
    with Inside() as server:
        client = server.client()

        client.send_some(encode("PING") * count)
        client.stop_sending()

        assert client.received() == PONG * count
        assert client.is_cut_off()
        assert server.turn.connections == {}


def test_who_stops_sending_before_it_reads_gets_every_reply() -> None:
    requests, replies = numbered(30, 50_000)
    with Inside() as server:
        client = server.client()
        connection = server.newest()
        assert client.send_until_stuck(requests) == len(requests)
        assert connection.unsent_bytes() > UNSENT_BYTES_MAX

        client.stop_sending()

        assert client.received() == replies
        assert client.is_cut_off()


def test_who_stops_sending_in_the_middle_of_a_request_is_told_nothing() -> None:
    with Inside() as server:
        client = server.client()

        client.send_some(encode("PING") + encode("PING")[:-1])
        client.stop_sending()

        assert client.received() == PONG
        assert client.is_cut_off()


@pytest.mark.parametrize("later", [b"", encode("PING"), encode("ADDJOB", "r", "x", 0)])
def test_who_stops_sending_while_it_waits_gives_up_the_wait(later: bytes) -> None:
    with Inside() as server:
        client, other = server.client(), server.client()
        client.send("GETJOB", "FROM", "q")
        client.send_some(later)
        server.pass_time(0)

        client.stop_sending()

        assert client.received() == b""
        assert client.is_cut_off()
        # At most once, so it would be lost if it went to who left.
        id = other.add("q", b"x", "RETRY", 0)
        assert other.get("q") == [id]
        assert other.integer("QLEN", "r") == 0


@pytest.mark.parametrize("before", [0, 1, COMMANDS_PER_TURN_MAX - 1, 2 * COMMANDS_PER_TURN_MAX])
def test_who_stopped_sending_does_not_begin_to_wait(before: int) -> None:
    with Inside() as server:
        client, other = server.client(), server.client()

        client.send_some(encode("PING") * before + encode("GETJOB", "FROM", "q") + encode("PING"))
        client.stop_sending()

        assert client.received() == PONG * before
        assert client.is_cut_off()
        assert other.add("q")
        assert other.integer("QLEN", "q") == 1


# --- Clients that leave -----------------------------------------------------------------------


@pytest.mark.parametrize("leave", [Client.hang_up, Client.hang_up_rudely])
def test_who_leaves_is_forgotten_and_waits_no_more(leave: Callable[[Client], None]) -> None:
    with Inside() as server:
        client, other = server.tcp_client(), server.client()
        client.send("GETJOB", "FROM", "q")
        assert "blocked_clients:1" in other.text("INFO", "clients")

        leave(client)
        server.wait_for(lambda: len(server.turn.connections) == 1)

        assert "blocked_clients:0" in other.text("INFO", "clients")
        id = other.add("q", b"x", "RETRY", 0)
        assert other.get("q") == [id]


def test_who_leaves_without_reading_takes_its_replies_along() -> None:
    requests, _ = numbered(40, 50_000)
    with Inside() as server:
        client, other = server.client(), server.client()
        client.send_until_stuck(requests)

        client.hang_up()

        assert list(server.turn.connections) == [2]
        assert other.ask("PING") == PONG


def test_the_log_tells_who_came_and_who_left() -> None:
    with Inside() as server:
        client = server.tcp_client()
        address = client.address
        assert client.ask("PING") == PONG

        client.hang_up()
        server.wait_for(lambda: not server.turn.connections)

        assert server.lines.messages == [
            f"Accepted a client address={address} id=1",
            f"A client left address={address} id=1",
        ]


# --- The end of a connection ------------------------------------------------------------------


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Leave it to counting references to free anything."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("leave", [Client.hang_up, Client.hang_up_rudely, say_goodbye])
def test_a_connection_that_ended_leaves_neither_garbage_nor_a_timer(
    leave: Callable[[Client], None],
) -> None:
    with Inside() as server:
        for make in (server.client, server.tcp_client):
            client = make()
            client.send("GETJOB", "TIMEOUT", 1, "FROM", "q")
            server.pass_time(1_000)

            leave(client)
            server.wait_for(lambda: not server.turn.connections)
            server.pass_time(0)

            # What is frozen would not be seen.
            gc.unfreeze()
            assert not any(isinstance(each, Connection) for each in gc.get_objects())
            server.pass_time(1_000)
            before = server.loop.turns
            server.pass_time(2 * LINGER_MS)
            assert server.loop.turns - before == 1


def test_what_was_replied_leaves_before_the_connection_ends() -> None:
    with Inside() as server:
        client = server.client()

        requests = encode("ECHO", LARGE) * 3 + encode("QUIT") + encode("ADDJOB", "q", "x", 0)
        assert client.send_until_stuck(requests) == len(requests)

        assert server.turn.connections == {}
        assert client.received() == bulk(LARGE) * 3 + b"+OK\r\n"
        assert client.is_cut_off()
        assert server.node.jobs.count() == 0


def test_who_does_not_take_its_last_replies_is_cut_after_a_while() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()
        client.send_until_stuck(encode("ECHO", LARGE) * 3 + encode("QUIT"))

        server.pass_time(LINGER_MS - 1)
        assert not server.turn.all_sent.is_set()
        server.pass_time(1)
        assert server.turn.all_sent.is_set()

        assert len(client.received()) < len(LARGE) * 3
        assert client.is_cut_off()
        assert other.ask("PING") == PONG


def test_a_client_that_is_killed_gets_what_it_was_owed() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()
        client.send_until_stuck(encode("ECHO", LARGE) * 3)

        assert other.ask("CLIENT", "KILL", "ID", 1) == b":1\r\n"

        assert client.received() == bulk(LARGE) * 3
        assert client.is_cut_off()


def test_a_client_that_is_killed_while_it_is_behind_gets_whole_replies() -> None:
    requests, replies = numbered(100, 50_000)
    with Inside() as server:
        client, other = server.client(), server.client()
        client.send_until_stuck(requests)

        assert other.ask("CLIENT", "KILL", "ID", 1) == b":1\r\n"

        received = client.received()
        assert UNSENT_BYTES_MAX < len(received) < len(replies)
        assert replies.startswith(received)
        assert received.endswith(b"x\r\n")
        assert client.is_cut_off()


def test_a_monitor_sees_who_kills_it() -> None:
    with Inside() as server:
        watcher, client = server.client(), server.client()
        assert watcher.ask("MONITOR") == b"+OK\r\n"

        assert client.ask("CLIENT", "KILL", "ID", 1) == b":1\r\n"

        assert watcher.received().endswith(b'"CLIENT" "KILL" "ID" "1"\r\n')
        assert watcher.is_cut_off()


def test_a_client_that_kills_itself_gets_the_reply_and_nothing_after_it() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()

        kill = encode("CLIENT", "KILL", "ID", 1, "SKIPME", "no")
        client.send_raw(kill + encode("ADDJOB", "q", "x", 0))

        assert client.received() == b":1\r\n"
        assert client.is_cut_off()
        assert other.integer("QLEN", "q") == 0


def test_a_client_that_is_killed_while_it_waits_waits_no_more() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()
        client.send("GETJOB", "FROM", "q")

        assert other.ask("CLIENT", "KILL", "ID", 1) == b":1\r\n"

        assert client.received() == b""
        assert client.is_cut_off()
        id = other.add("q", b"x", "RETRY", 0)
        assert other.get("q") == [id]


# --- Who is let in ----------------------------------------------------------------------------


def test_more_clients_than_allowed_are_told_counted_and_let_in_when_there_is_room() -> None:
    settings = new_settings()
    settings.maxclients = 2
    with Inside(settings) as server:
        first, second = server.client(), server.client()

        third = server.client()

        assert third.received() == b"-ERR max number of clients reached\r\n"
        assert third.is_cut_off()
        assert "rejected_connections:1" in first.text("INFO", "stats")

        second.hang_up()
        assert server.client().ask("CLIENT", "ID") == b":3\r\n"


def test_a_client_is_called_after_its_address() -> None:
    with Inside() as server:
        client = server.tcp_client()

        found = listed(client, 1)

        assert found["addr"] == client.address
        assert found["flags"] == "N"


def test_the_address_of_ipv6_has_brackets() -> None:
    try:
        pair = tcp_pair("::1")
    except OSError:
        pytest.skip("there is no IPv6 here")
    with Inside() as server:
        client = server.admit(*pair)

        found = listed(client, 1)

        assert found["addr"] == f"[::1]:{client.socket.getsockname()[1]}"


def test_a_unix_socket_has_no_port_and_a_flag_of_its_own() -> None:
    with Inside() as server:
        client = server.client()

        found = listed(client, 1)

        assert (found["addr"], found["flags"]) == (":0", "U")


def test_who_left_before_we_looked_has_no_address() -> None:
    with Inside() as server:
        gone, theirs = tcp_pair()
        reset(gone)
        stranger, end = socket.socketpair()
        end.close()

        server.admit(stranger, theirs)
        server.wait_for(lambda: not server.turn.connections)

        assert server.lines.messages[0] == "Accepted a client address=?:0 id=1"


@pytest.mark.parametrize(("idle_s", "interval_s"), [(300, 100), (1, 1)])
def test_connections_of_machines_that_disappeared_are_found_if_asked_for(
    idle_s: int, interval_s: int
) -> None:
    settings = new_settings()
    settings.tcp_keepalive = idle_s
    with Inside(settings) as server:
        ours, link = tcp_pair()

        server.admit(ours, link)

        assert link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == idle_s
        assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == interval_s
        assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3


# --- What is known of a connection ------------------------------------------------------------


def test_the_list_tells_how_far_behind_a_client_is() -> None:
    with Inside() as server:
        quiet, partial, behind = server.client(), server.client(), server.client()
        partial.send_some(encode("ECHO", LARGE)[:1_000])
        behind.send_until_stuck(encode("ECHO", LARGE) * 3)
        server.pass_time(0)

        found = [listed(quiet, id) for id in (1, 2, 3)]

        assert [fields["events"] for fields in found] == ["r", "r", "rw"]
        assert [fields["omem"] == "0" for fields in found] == [True, True, False]
        assert [fields["oll"] for fields in found] == ["0", "0", "1"]
        assert [int(fields["qbuf"]) > 900 for fields in found] == [False, True, False]
        assert len({fields["fd"] for fields in found} - {"-1"}) == 3


def test_what_a_waiting_client_sent_counts_as_its_input() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()
        client.send("GETJOB", "FROM", "q")
        client.send("PING")

        assert listed(other, 1)["qbuf"] == str(len(encode("PING")))


def test_bytes_are_counted_in_both_directions() -> None:
    with Inside() as server:
        client = server.client()
        client.ask("ECHO", "x" * 1_000)

        traffic = server.front.traffic
        assert traffic.input_bytes == len(encode("ECHO", "x" * 1_000))
        assert traffic.output_bytes == len(bulk(b"x" * 1_000))


# --- Bounds on strangers, sleepers and the slow -------------------------------------------------


def test_a_last_reply_may_be_read_slowly_but_not_never() -> None:
    with Inside() as server:
        reader, sleeper = server.client(), server.client()
        wire = encode("ECHO", b"x" * (8 * MIB)) + b"*x\r\n"
        for client in (reader, sleeper):
            sent = 0
            while sent < len(wire):
                sent += client.send_some(wire[sent : sent + MIB])
                server.pass_time(0)

        received = 0
        while chunk := reader.socket.recv(MIB // 2):
            received += len(chunk)
            server.pass_time(2_000)

        assert received > 8 * MIB
        assert sleeper.is_cut_off()


def test_connections_that_are_being_closed_count_as_clients() -> None:
    settings = new_settings()
    settings.maxclients = 2
    with Inside(settings) as server:
        killer, slow = server.client(), server.client()
        slow.say("ADDJOB", "q", b"x" * 100_000, 0)
        slow.send_raw(encode("QPEEK", "q", 1) * 40)
        killer.say("CLIENT", "KILL", "TYPE", "normal")

        late = server.client()

        assert late.received() == b"-ERR max number of clients reached\r\n"
        server.pass_time(60_000)
        assert server.client().say("PING") == b"+PONG\r\n"


def test_a_timer_that_fails_is_not_tried_again_at_once() -> None:
    with Inside() as server:
        client = server.client()
        client.say("ADDJOB", "q", "body", 0, "DELAY", 1)
        # Something no timer knows, which the node refuses to wake.
        stranger = Timed()
        server.node.awake.schedule(stranger, server.turn.now_ms() + 100)
        server.node.awake.schedule(Timed(), server.turn.now_ms() + 101)

        turns = server.loop.turns
        server.pass_time(5_000)

        assert server.loop.turns - turns < 20
        assert server.lines.text().count("internal error in a timer") == 2
        assert client.say("QLEN", "q") == b":1\r\n"


def test_above_the_hard_limit_a_client_is_cut_before_long() -> None:
    settings = new_settings()
    settings.output_limit_hard = MIB
    with Inside(settings) as server:
        reader, sleeper = server.client(), server.client()
        for _ in range(10):
            reader.say("ADDJOB", "q", b"x" * 100_000, 0)
        for client in (reader, sleeper):
            client.send_raw(encode("QPEEK", "q", 10) * 4)

        received = reader.received()
        server.pass_time(200)

        assert len(received) > 4_000_000
        assert sleeper.is_cut_off()
        assert reader.say("PING") == b"+PONG\r\n"


def test_before_the_password_was_given_requests_are_short() -> None:
    settings = new_settings()
    settings.requirepass = b"secret"
    with Inside(settings) as server:
        stranger, friend = server.client(), server.client()
        friend.say("AUTH", "secret")
        begun = b"*2\r\n$4\r\nECHO\r\n$2000000\r\n"
        for client in (stranger, friend):
            client.send_raw(begun)
            with contextlib.suppress(BrokenPipeError):
                for _ in range(25):
                    client.send_some(b"x" * 50_000)
                    server.pass_time(0)

        assert stranger.is_cut_off()
        assert not friend.is_cut_off()
