"""SHUTDOWN, and the commands about the append only file."""

from __future__ import annotations

import pytest

from disque.model.asks import Done, Failed, Shutdown
from tests.commands.world import World


def test_a_shutdown_is_asked_of_the_world_and_answered_by_nobody() -> None:
    world = World()
    client = world.client()

    client.pipeline([b"shutdown"], [b"ADDJOB", b"q", b"b", b"0"])

    assert [type(ask) for ask in world.asked] == [Shutdown]
    assert client.take() == []
    assert world.node.jobs.count() == 0


def test_a_server_that_could_not_end_goes_on_and_says_so() -> None:
    world = World()
    world.results[Shutdown] = Failed("the disk is full")
    client = world.client()

    client.pipeline([b"SHUTDOWN"], [b"PING"])

    assert client.take() == [b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n", b"+PONG\r\n"]


def test_a_server_that_ended_has_nothing_more_to_say() -> None:
    world = World()
    world.results[Shutdown] = Done()
    client = world.client()

    client.send(b"SHUTDOWN")

    assert client.take() == []
    world.check()


@pytest.mark.parametrize("words", [[b"NOW"], [b""], [b"REWRITE-AOF", b"x"], [b"NOSAVE"]])
def test_a_shutdown_with_words_nobody_knows_ends_nothing(words: list[bytes]) -> None:
    world = World()

    assert world.client().ask(b"SHUTDOWN", *words) == b"-ERR syntax error\r\n"

    assert world.asked == []


def test_others_are_served_while_a_shutdown_is_under_way() -> None:
    world = World()
    admin, other = world.client(), world.client()
    admin.send(b"SHUTDOWN")

    assert other.ask(b"PING") == b"+PONG\r\n"


def test_what_needs_a_journal_is_refused_with_a_sentence() -> None:
    world = World()
    client = world.client()

    replies = [
        client.ask(b"SHUTDOWN", b"Rewrite-Aof"),
        client.ask(b"BGREWRITEAOF"),
        client.ask(b"DEBUG", b"LOADAOF"),
    ]

    assert all(reply.startswith(b"-ERR ") for reply in replies)
    assert all(len(reply) > len(b"-ERR \r\n") for reply in replies)
    assert world.asked == []


def test_nobody_loads_a_job_through_a_connection() -> None:
    world = World()

    reply = world.client().ask(b"LOADJOB", b"blob")

    assert reply == b"-ERR LOADJOB is a special command only processed from AOF\r\n"
    assert world.node.jobs.count() == 0
