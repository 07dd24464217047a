"""A connection: who is closed when, and what still arrives."""

from __future__ import annotations

import contextlib

from disque.model.timed import Timed
from tests.server.inside import Inside, new_settings
from tests.support.resp import encode

MIB = 1 << 20


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
