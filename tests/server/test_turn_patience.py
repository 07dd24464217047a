"""A turn of the loop and patience: pauses, idle connections, and replies that nobody reads."""

from __future__ import annotations

from disque.model.settings import Settings
from tests.server.inside import Client, Inside, new_settings
from tests.support.resp import encode

HOUR_MS = 3_600_000
PONG = b"+PONG\r\n"
NOTHING = b"*-1\r\n"
LARGE = b"x" * 300_000


def with_limits(hard: int = 0, soft: int = 0, soft_s: int = 0) -> Settings:
    """Make settings that bound what a client may leave unread."""
    settings = new_settings()
    settings.output_limit_hard = hard
    settings.output_limit_soft = soft
    settings.output_limit_soft_seconds = soft_s
    return settings


def with_timeout(seconds: int) -> Settings:
    """Make settings that close idle connections."""
    settings = new_settings()
    settings.timeout = seconds
    return settings


def fall_behind(client: Client) -> None:
    """Leave more unread than the kernel takes."""
    client.send_until_stuck(encode("ECHO", LARGE) * 3)


# --- CLIENT PAUSE -----------------------------------------------------------------------------


def test_a_pause_holds_everybody_up_and_then_nobody() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()

        client.send_raw(encode("CLIENT", "PAUSE", 1_000) + encode("ECHO", "1"))
        other.send("ECHO", "2")
        other.send("ECHO", "3")
        server.pass_time(1_000)
        before = client.received(), other.received()
        server.pass_time(1)

        assert before == (b"+OK\r\n", b"")
        assert client.received() == b"$1\r\n1\r\n"
        assert other.received() == b"$1\r\n2\r\n$1\r\n3\r\n"


def test_who_arrives_during_a_pause_waits_for_its_end() -> None:
    with Inside() as server:
        server.client().send("CLIENT", "PAUSE", 1_000)
        server.pass_time(500)

        late = server.client()
        late.send("PING")
        server.pass_time(500)
        before = late.received()
        server.pass_time(1)

        assert before == b""
        assert late.received() == PONG


def test_a_pause_stops_no_timer() -> None:
    with Inside() as server:
        client, waiting, other = server.client(), server.client(), server.client()
        id = client.add("r", b"x", "DELAY", 1)
        waiting.send("GETJOB", "TIMEOUT", 500, "FROM", "q")
        other.send("GETJOB", "FROM", "r")

        client.send("CLIENT", "PAUSE", 10_000)
        server.pass_time(1_001)

        assert waiting.received() == NOTHING
        assert id.encode() in other.received()


def test_one_pause_after_another_holds_everybody_up_until_the_last_is_over() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()

        client.send_raw(encode("CLIENT", "PAUSE", 1_000) * 3 + encode("ECHO", "1"))
        other.send("ECHO", "2")
        server.pass_time(999)
        client.received()
        server.pass_time(2_000)
        before = client.received()
        server.pass_time(10)

        assert before == b"+OK\r\n+OK\r\n"
        assert client.received() == b"$1\r\n1\r\n"
        # It got its turn between two pauses.
        assert other.received() == b"$1\r\n2\r\n"


def test_a_pause_that_is_prolonged_as_it_ends_goes_on() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()
        client.send("CLIENT", "PAUSE", 1_000)
        server.pass_time(1_000)

        # Both are seen at once: that the pause is over, and that there is a new one.
        server.be_busy(1)
        client.send("CLIENT", "PAUSE", 1_000)
        other.send("PING")
        server.pass_time(999)
        before = client.received(), other.received()
        server.pass_time(2)

        assert before == (b"+OK\r\n+OK\r\n", b"")
        assert other.received() == PONG


def test_a_pause_ends_by_the_clock_of_the_server_however_slow_it_is() -> None:
    with Inside() as server:
        client = server.client()
        client.send("CLIENT", "PAUSE", 20_000)
        client.send("PING")
        client.received()

        server.wall_step_ms = -HOUR_MS
        server.pass_time(20_100)
        early = client.received()
        server.pass_time(200)

        assert early == b""
        assert client.received() == PONG


def test_what_arrives_as_a_pause_ends_is_answered_once_and_in_order() -> None:
    with Inside() as server:
        client = server.client()
        client.send("CLIENT", "PAUSE", 1_000)
        client.received()
        server.pass_time(1_000)

        server.be_busy(1)
        client.send_raw(b"".join(encode("ECHO", f"{number:03}") for number in range(1_000)))

        received = client.received()
        assert received == b"".join(b"$3\r\n%03d\r\n" % number for number in range(1_000))


def test_who_stops_sending_during_a_pause_gets_its_replies_afterwards() -> None:
    with Inside() as server:
        server.client().send("CLIENT", "PAUSE", 1_000)
        client = server.client()
        client.send("PING")
        client.stop_sending()
        server.pass_time(1_000)
        assert not client.is_cut_off()

        server.pass_time(1)

        assert client.received() == PONG
        assert client.is_cut_off()


def test_who_is_paused_is_not_idle() -> None:
    with Inside(with_timeout(10)) as server:
        server.client().send("CLIENT", "PAUSE", 60_000)
        client = server.client()
        client.send("PING")

        server.pass_time(60_001)

        assert client.received() == PONG
        assert not client.is_cut_off()


def test_a_prolonged_pause_is_waited_for_without_looking_again_and_again() -> None:
    with Inside() as server:
        client = server.client()
        client.send("CLIENT", "PAUSE", 1_000)
        server.pass_time(1_000)
        server.be_busy(1)
        client.send("CLIENT", "PAUSE", 60_000)
        before = server.loop.turns

        server.pass_time(59_000)

        assert server.loop.turns - before < 10


# --- Idle connections -------------------------------------------------------------------------


def test_who_says_nothing_for_longer_than_the_timeout_is_closed() -> None:
    with Inside(with_timeout(10)) as server:
        client = server.client()
        client.ask("PING")
        server.pass_time(9_000)
        client.ask("PING")

        server.pass_time(9_900)
        assert not client.is_cut_off()
        server.pass_time(1_200)

        assert client.is_cut_off()
        assert "Closing an idle client address=:0 id=1" in server.lines.messages


def test_who_never_says_anything_is_closed_too() -> None:
    with Inside(with_timeout(10)) as server:
        client = server.client()

        server.pass_time(12_000)

        assert client.is_cut_off()


def test_who_waits_for_a_job_is_not_idle() -> None:
    with Inside(with_timeout(10)) as server:
        waiting, other = server.client(), server.client()
        waiting.send("GETJOB", "FROM", "q")
        assert other.ask("PING") == PONG
        server.pass_time(100_000)
        assert other.is_cut_off()

        id = server.client().add("q")

        assert id.encode() in waiting.received()
        # From now on it is idle.
        server.pass_time(11_100)
        assert waiting.is_cut_off()


def test_who_sends_without_wanting_replies_is_not_idle() -> None:
    with Inside(with_timeout(10)) as server:
        client = server.client()
        client.send("CLIENT", "REPLY", "OFF")

        for _ in range(10):
            server.pass_time(5_000)
            client.send("PING")

        assert not client.is_cut_off()


def test_a_timeout_can_be_set_and_taken_back_while_clients_are_connected() -> None:
    with Inside() as server:
        idle, other = server.client(), server.client()
        other.ask("CONFIG", "SET", "timeout", 10)
        server.pass_time(8_000)
        other.ask("CONFIG", "SET", "timeout", 0)
        server.pass_time(HOUR_MS)
        assert not idle.is_cut_off()

        other.ask("CONFIG", "SET", "timeout", 10)
        server.pass_time(1_000)

        assert idle.is_cut_off()
        assert not other.is_cut_off()


def test_without_connections_nobody_looks_for_idle_ones() -> None:
    with Inside(with_timeout(10)) as server:
        server.client().ask("PING")
        server.pass_time(20_000)
        assert server.turn.connections == {}
        before = server.loop.turns

        server.pass_time(HOUR_MS)
        quiet = server.loop.turns - before
        client = server.client()
        client.ask("PING")
        server.pass_time(11_100)

        assert quiet == 1
        assert client.is_cut_off()


# --- Output limits ----------------------------------------------------------------------------


def test_who_reaches_the_hard_limit_is_cut() -> None:
    with Inside(with_limits(hard=500_000)) as server:
        client, other = server.client(), server.client()
        fall_behind(client)

        server.pass_time(1_000)

        assert len(client.received()) < 3 * len(LARGE)
        assert client.is_cut_off()
        assert other.ask("PING") == PONG
        assert server.lines.messages[-2:] == [
            "Closing a client: its unread replies reached the hard limit address=:0 id=1",
            "A client left address=:0 id=1",
        ]


def test_who_reads_in_time_gets_everything_however_much() -> None:
    with Inside(with_limits(hard=500_000, soft=100_000, soft_s=1)) as server:
        client = server.client()
        fall_behind(client)

        received = client.received()
        server.pass_time(10_000)

        assert received == (b"$300000\r\n" + LARGE + b"\r\n") * 3
        assert client.ask("PING") == PONG


def test_who_stays_above_the_soft_limit_too_long_is_cut() -> None:
    with Inside(with_limits(soft=500_000, soft_s=5)) as server:
        client = server.client()
        fall_behind(client)

        server.pass_time(6_000)
        assert list(server.turn.connections) == [1]
        server.pass_time(1_000)

        assert server.turn.connections == {}
        assert server.lines.has("its unread replies stayed above the soft limit")


def test_who_falls_below_the_soft_limit_in_between_has_all_the_time_again() -> None:
    with Inside(with_limits(soft=500_000, soft_s=5)) as server:
        client = server.client()
        for _ in range(5):
            fall_behind(client)
            server.pass_time(4_000)
            assert len(client.received()) > 3 * len(LARGE)
            server.pass_time(2_000)

        assert client.ask("PING") == PONG
