"""A turn of the loop: nothing polls, nothing is early, and what must come first comes first."""

from __future__ import annotations

import gc
import itertools
import re
import weakref

import pytest

from disque.model.peer import Peer
from tests.core.helpers import BEE
from tests.server.inside import Inside, new_settings
from tests.support.resp import encode

HOUR_MS = 3_600_000
PONG = b"+PONG\r\n"
NOTHING = b"*-1\r\n"
LARGE = b"x" * 300_000


class Knot:
    """Something that a reference can tell to be gone."""

    def __init__(self, partner: list[object]) -> None:
        partner.append(self)
        self.partner = partner


# --- Time -------------------------------------------------------------------------------------


def test_a_server_with_idle_clients_sleeps() -> None:
    with Inside() as server:
        clients = [server.client() for _ in range(10)]
        assert all(client.ask("PING") == PONG for client in clients)
        server.pass_time(1_000)
        before = server.loop.turns

        server.pass_time(HOUR_MS)

        # The one is the end of the hour.
        assert server.loop.turns - before == 1


def test_half_an_hour_of_waiting_clients_and_jobs_takes_a_few_turns() -> None:
    with Inside() as server:
        server.client().send("GETJOB", "FROM", "q")
        server.client().send("GETJOB", "TIMEOUT", HOUR_MS // 4, "FROM", "q")
        client = server.client()
        for _ in range(10):
            client.add("jobs", b"x", "RETRY", 600)
        before = server.loop.turns

        server.pass_time(HOUR_MS // 2)

        # Ten jobs are queued again three times each, queues that nobody uses are looked at every
        # five minutes; every time a turn may come too early, find the moment, and collect garbage.
        assert server.loop.turns - before < 3 * (30 + 18)


def test_a_hundred_timers_of_one_moment_take_a_few_turns() -> None:
    with Inside() as server:
        clients = [server.client() for _ in range(100)]
        for client in clients:
            client.send("GETJOB", "TIMEOUT", 5_000, "FROM", "q")
        before = server.loop.turns

        server.pass_time(5_100)

        assert server.loop.turns - before < 10
        assert [client.received() for client in clients] == [NOTHING] * 100


@pytest.mark.parametrize("started_ms", [0, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("timeout_ms", [1, 63, 64, 500, 10_000])
def test_a_timeout_is_never_early_and_at_most_a_moment_late(
    started_ms: float, timeout_ms: int
) -> None:
    with Inside() as server:
        client = server.client()
        server.be_busy(started_ms)

        client.send("GETJOB", "TIMEOUT", timeout_ms, "FROM", "q")
        server.pass_time(timeout_ms - 1)
        server.be_busy(0.999)
        server.pass_time(0)
        early = client.received()
        server.pass_time(2)

        assert early == b""
        assert client.received() == NOTHING


@pytest.mark.parametrize("step_ms", [-HOUR_MS, HOUR_MS])
def test_a_wall_clock_that_is_set_moves_no_timer_by_more_than_a_hundredth(step_ms: int) -> None:
    with Inside() as server:
        client = server.client()

        client.send("GETJOB", "TIMEOUT", 100_000, "FROM", "q")
        server.wall_step_ms = step_ms
        server.pass_time(98_000)
        early = client.received()
        server.pass_time(3_200)

        assert early == b""
        assert client.received() == NOTHING


def test_an_earlier_timer_overtakes_a_later_one() -> None:
    with Inside() as server:
        patient, hasty = server.client(), server.client()

        patient.send("GETJOB", "TIMEOUT", 60_000, "FROM", "q")
        hasty.send("GETJOB", "TIMEOUT", 1_000, "FROM", "q")
        server.pass_time(1_001)

        assert (patient.received(), hasty.received()) == (b"", NOTHING)
        server.pass_time(59_001)
        assert patient.received() == NOTHING


def test_timers_nobody_needs_any_more_cost_one_turn_at_most() -> None:
    with Inside() as server:
        clients = [server.client() for _ in range(20)]
        for number, client in enumerate(clients):
            client.send("GETJOB", "TIMEOUT", 200_000 - number * 1_000, "FROM", "q")
        for client in clients:
            client.hang_up()
        server.pass_time(1_000)
        before = server.loop.turns

        server.pass_time(2 * HOUR_MS)

        # The queue is looked at for as long as it is kept, five minutes.
        assert server.loop.turns - before < 10


def test_timers_that_were_missed_are_kept_as_soon_as_possible() -> None:
    with Inside() as server:
        client, waiting = server.client(), server.client()
        waiting.send("GETJOB", "FROM", "q")
        id = client.add("q", b"x", "DELAY", 5)

        server.be_busy(60_000)
        server.pass_time(0)

        assert id.encode() in waiting.received()


def test_a_job_that_becomes_due_wakes_who_waits_for_it() -> None:
    with Inside() as server:
        client, waiting = server.client(), server.client()
        waiting.send_raw(encode("GETJOB", "FROM", "q") + encode("PING"))
        id = client.add("q", b"x", "DELAY", 2)

        server.pass_time(1_999)
        early = waiting.received()
        server.pass_time(2)
        received = waiting.received()

        assert early == b""
        assert id.encode() in received
        assert received.endswith(PONG)


def test_after_the_end_no_timer_fires() -> None:
    settings = new_settings()
    settings.timeout = 1
    with Inside(settings) as server:
        client, waiting = server.client(), server.client()
        assert client.ask("PING") == PONG
        waiting.send("GETJOB", "TIMEOUT", 1_000, "FROM", "q")

        server.turn.stop()
        before = server.loop.turns
        server.pass_time(HOUR_MS)

        assert server.loop.turns - before == 1
        assert waiting.received() == b""
        assert not client.is_cut_off()


# --- Mistakes of ours -------------------------------------------------------------------------


def test_a_mistake_in_a_timer_is_told_counted_and_survived() -> None:
    with Inside() as server:
        lost, waiting, client = server.client(), server.client(), server.client()
        lost.send("GETJOB", "TIMEOUT", 1_000, "FROM", "q")
        waiting.send("GETJOB", "TIMEOUT", 1_000, "FROM", "r")
        # Our books are wrong: nobody knows this waiter, but its timer is there.
        server.node.waiters.by_client.pop(1)

        server.pass_time(5_000)

        assert waiting.received() == NOTHING
        assert "internal_errors:1" in client.text("INFO", "stats")
        assert "internal error in a timer: KeyError(1)" in server.lines.messages
        assert server.lines.has("Traceback (most recent call last):")
        assert all("\n" not in message for message in server.lines.messages)


def test_after_a_mistake_timers_go_on_by_themselves() -> None:
    with Inside() as server:
        lost, client = server.client(), server.client()
        lost.send("GETJOB", "TIMEOUT", 1_000, "FROM", "q")
        server.node.waiters.by_client.pop(1)
        server.pass_time(1_001)
        assert server.front.internal_errors == 1

        client.send("GETJOB", "TIMEOUT", 10_000, "FROM", "r")
        server.pass_time(10_001)

        assert client.received() == NOTHING


def test_slow_timers_are_among_the_latency_samples() -> None:
    settings = new_settings()
    settings.latency_monitor_threshold = 20
    with Inside(settings) as server:
        client = server.client()
        readings = itertools.count(0, 25_000_000)
        client.send("GETJOB", "TIMEOUT", 1_000, "FROM", "q")
        server.front.stopwatch_ns = lambda: next(readings)

        server.pass_time(1_001)

        assert [event for event, _ in server.front.latency.latest()] == [b"jobs-processing"]


def test_timers_that_are_quick_enough_are_no_latency_samples() -> None:
    settings = new_settings()
    settings.latency_monitor_threshold = 20
    with Inside(settings) as server:
        server.client().send("GETJOB", "TIMEOUT", 1_000, "FROM", "q")

        server.pass_time(1_001)

        assert server.front.latency.latest() == []


# --- Asks -------------------------------------------------------------------------------------


def test_what_was_asked_is_answered_before_the_next_command_runs() -> None:
    with Inside() as server:
        client = server.client()

        client.send_raw(
            encode("CONFIG", "SET", "loglevel", "warning")
            + encode("CONFIG", "GET", "loglevel")
            + encode("CLIENT", "SETNAME", "me")
            + encode("CLIENT", "INFO")
            + encode("CLIENT", "SETNAME", "somebody")
            + encode("TIME")
            + encode("ECHO", "end")
        )

        replies = client.received()
        assert replies.startswith(b"+OK\r\n*2\r\n$8\r\nloglevel\r\n$7\r\nwarning\r\n+OK\r\n$")
        assert b" name=me " in replies
        assert re.search(
            rb"\r\n\+OK\r\n\*2\r\n\$10\r\n\d+\r\n\$\d\r\n\d+\r\n\$3\r\nend\r\n$", replies
        )
        assert server.log.level == "warning"


def test_many_asks_of_one_client_leave_room_for_others() -> None:
    with Inside() as server:
        watcher, busy, other = server.client(), server.client(), server.client()
        watcher.say("MONITOR")

        busy.send_some(encode("TIME") * 100)
        other.send_some(encode("PING"))
        server.pass_time(0)

        names = re.findall(rb'"(TIME|PING)"', watcher.received())
        assert names.count(b"TIME") == 100
        # An ask ends a client's turn.
        assert names.index(b"PING") <= 2
        assert other.received() == PONG
        assert busy.received().count(b"*2\r\n") == 100


def test_an_ask_without_a_client_is_carried_out() -> None:
    with Inside() as server:
        client = server.client()

        reply = client.say("CLUSTER", "LEAVING", "yes")

        assert reply == b"+OK\r\n"
        # There is no such directory in this world.
        assert server.lines.has("Can't save the cluster configuration file")
        assert client.ask("PING") == PONG


def test_who_is_killed_runs_no_further_command() -> None:
    with Inside() as server:
        busy, other = server.client(), server.client()

        busy.send_some(encode("ADDJOB", "q", "x", 0) * 2_000)
        other.send_some(encode("CLIENT", "KILL", "ID", 1))
        server.pass_time(0)

        assert other.received() == b":1\r\n"
        added = busy.received().count(b"+D-")
        assert added < 2_000
        assert busy.is_cut_off()
        assert other.integer("QLEN", "q") == added


def test_clients_are_numbered_from_one_and_no_number_comes_twice() -> None:
    with Inside() as server:
        numbers = []
        for _ in range(5):
            client = server.client()
            numbers.append(client.integer("CLIENT", "ID"))
            client.hang_up()

        assert numbers == [1, 2, 3, 4, 5]


# --- Monitors and notes -----------------------------------------------------------------------


def test_every_monitor_sees_the_same_commands_in_their_order() -> None:
    with Inside() as server:
        watchers = [server.client(), server.client()]
        for watcher in watchers:
            watcher.send("MONITOR")
        first, second = server.client(), server.client()

        first.say("ADDJOB", "q", "x", 0)
        second.say("GETJOB", "FROM", "q")
        first.say("QLEN", "q")

        # The first sees the second begin.
        seen = [watcher.received().split(b"\r\n")[-4:-1] for watcher in watchers]
        assert seen[0] == seen[1]
        assert [re.findall(rb'\] "(\w+)"', line) for line in seen[0]] == [
            [b"ADDJOB"],
            [b"GETJOB"],
            [b"QLEN"],
        ]


def test_a_monitor_sees_the_server_end_but_not_who_ended_it() -> None:
    with Inside() as server:
        watcher, client = server.client(), server.client()
        watcher.say("MONITOR")

        assert client.say("SHUTDOWN") == b""

        assert server.ends == [None]
        assert watcher.received() == b""


def test_what_the_core_notes_is_in_the_log() -> None:
    with Inside() as server:
        client = server.tcp_client()
        address = client.address

        client.send("POST", "/")
        server.wait_for(lambda: not server.turn.connections)
        server.client().ask("PING")

        sentence = f"HTTP request from {address}: connection closed"
        assert server.lines.messages.count(sentence) == 1


def test_messages_to_nodes_nobody_can_reach_are_not_kept() -> None:
    with Inside() as server:
        client = server.client()
        id = client.add("q")
        server.node.membership.nodes[BEE] = Peer(BEE, "10.0.0.2", 7711, 0)

        # The second time nobody here knows the job, so every other node is told.
        client.ask("FASTACK", id)
        client.ask("FASTACK", id)

        assert server.node.effects.outbox == []


# --- Beginning and end ------------------------------------------------------------------------


def test_while_it_serves_garbage_is_collected_by_hand() -> None:
    with Inside() as server:
        client = server.client()
        server.turn.start()
        is_automatic = gc.isenabled()
        knot = weakref.ref(Knot([]))

        client.ask("PING")
        server.pass_time(100)
        server.turn.stop()

        assert not is_automatic
        assert gc.isenabled()
        assert knot() is None


def test_all_is_sent_when_everybody_has_read_what_it_was_owed() -> None:
    with Inside() as server:
        quick, slow = server.client(), server.client()
        quick.ask("PING")
        slow.send_until_stuck(encode("ECHO", LARGE) * 3)
        assert server.turn.all_sent.is_set()

        for connection in list(server.turn.connections.values()):
            connection.close()
        server.pass_time(0)

        assert quick.is_cut_off()
        assert not server.turn.all_sent.is_set()
        assert slow.received().count(LARGE) == 3
        assert server.turn.all_sent.is_set()
