"""Answers: the second half of every command that had to ask the world."""

from __future__ import annotations

import pytest

from disque.commands.answers import answer
from disque.model.asks import (
    Apply,
    Ask,
    CloseClient,
    Crash,
    DescribeClients,
    DescribeServer,
    Done,
    Failed,
    PauseClients,
    ReadWallClock,
    Restart,
    Result,
    RewriteConfig,
    SaveNodes,
    Shutdown,
    Sleep,
    WallClock,
)
from disque.model.facts import ClientFacts, ClientsFacts
from tests.commands.world import START_MS, World, server_facts


def answered(ask: Ask, result: Result) -> bytes | None:
    world = World()
    return answer(world.front, world.client().session, ask, result, START_MS)


@pytest.mark.parametrize(
    ("ask", "result", "reply"),
    [
        (ReadWallClock(1), WallClock(5_000_006), b"*2\r\n$1\r\n5\r\n$1\r\n6\r\n"),
        (Sleep(1, 0.5), Done(), b"+OK\r\n"),
        (SaveNodes(1, sync=True), Done(), b"+OK\r\n"),
        (RewriteConfig(1), Done(), b"+OK\r\n"),
        (Apply(1, "loglevel", [b"debug"]), Done(), b"+OK\r\n"),
    ],
)
def test_what_was_carried_out_is_confirmed(ask: Ask, result: Result, reply: bytes) -> None:
    assert answered(ask, result) == reply


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (SaveNodes(1, sync=True), b"error saving the cluster node config: Disk full"),
        (RewriteConfig(1), b"Rewriting config file: Disk full"),
        (Apply(1, "dir", [b"/x"]), b"Changing directory: Disk full"),
        (Restart(1, 0, clean=True), b"failed to restart the server. Check server logs."),
        (Shutdown(1), b"Errors trying to SHUTDOWN. Check logs."),
    ],
)
def test_what_could_not_be_carried_out_is_an_error_not_an_exception(
    ask: Ask, sentence: bytes
) -> None:
    assert answered(ask, Failed("Disk full")) == b"-ERR " + sentence + b"\r\n"


@pytest.mark.parametrize(
    "ask",
    [
        SaveNodes(0, sync=False),
        CloseClient(3),
        PauseClients(START_MS),
        Restart(1, 0, clean=False),
        Shutdown(1),
        Crash(1, "assert"),
    ],
)
def test_what_nobody_waits_for_is_not_answered(ask: Ask) -> None:
    assert answered(ask, Done()) is None


def test_what_the_world_describes_is_a_text() -> None:
    world = World()
    session = world.client().session
    clients = ClientsFacts({1: ClientFacts(1, 9, 0, 0, 0, 0, 0, b"r")})

    info = answer(world.front, session, DescribeServer(1, b"cpu"), server_facts(), START_MS)
    found = answer(world.front, session, DescribeClients(1, 0), clients, START_MS)

    assert info is not None
    assert info.split(b"\r\n")[1] == b"# CPU"
    assert found is not None
    assert found.split(b"\r\n")[1].startswith(b"id=1 ")


def test_a_failed_save_nobody_asked_for_is_nobodys_error() -> None:
    assert answered(SaveNodes(0, sync=False), Failed("Disk full")) is None


def test_bytes_of_the_user_come_back_in_the_error_of_an_answer() -> None:
    world = World()
    client = world.client()
    world.results[Apply] = Failed("No such file or directory")

    reply = client.ask(b"CONFIG", b"SET", b"dir", b"/\xff\r\n")

    assert reply.startswith(b"-ERR ")
    assert reply.count(b"\r\n") == 1


def test_an_answer_of_the_wrong_kind_is_owned_up_to_and_the_client_goes_on() -> None:
    world = World()
    world.results[ReadWallClock] = Done()
    client = world.client()

    client.pipeline([b"TIME"], [b"PING"])

    assert client.take() == [
        b"-ERR internal error, see the log of the server\r\n",
        b"+PONG\r\n",
    ]
    assert world.front.internal_errors == 1
    assert world.notes[0].startswith("internal error in time: AssertionError")
