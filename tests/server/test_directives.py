"""Directives that operators rely on: what they change for clients, and what survives a restart."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.server.program import PATIENCE_S, POLL_S, program_running, settings, wait_for_wire
from tests.support.fixtures import Starter
from tests.support.resp import Desync, Wire
from tests.support.server import ServerProcess

pytestmark = [pytest.mark.process, pytest.mark.slow]

# --- What is kept across restarts ---------------------------------------------------------------


def test_a_node_keeps_its_name_across_restarts_and_crashes(server: ServerProcess) -> None:
    id = server.wire().text("CLUSTER", "MYID")

    server.stop()
    server.start()
    assert server.wire().text("CLUSTER", "MYID") == id

    server.kill()
    server.start()
    assert server.wire().text("CLUSTER", "MYID") == id


def test_two_nodes_have_two_names(start_server: Starter) -> None:
    names = {start_server().wire().text("CLUSTER", "MYID") for _ in range(2)}

    assert len(names) == 2


def test_a_rewritten_configuration_is_what_the_next_start_reads(tmp_path: Path) -> None:
    path = tmp_path / "disque.conf"
    path.write_text("# mine\nrename-command qscan queues\nhz 20\n", encoding="ascii")
    changes = {
        "maxmemory": "300mb",
        "maxmemory-policy": "noeviction",
        "timeout": "123",
        "loglevel": "verbose",
        "client-output-buffer-limit": "normal 5mb 4mb 3",
        "slowlog-log-slower-than": "-1",
        "tcp-keepalive": "60",
        "retry-from": "delivered",
        "log-format": "json",
        # The last one, because nothing is answered without it.
        "requirepass": 'with "quotes" and spaces',
    }

    with ServerProcess(tmp_path, str(path)) as server:
        wire = server.wire()
        for name, value in changes.items():
            assert wire.ask("CONFIG", "SET", name, value) == b"+OK\r\n", name
        wire.ask("AUTH", changes["requirepass"])
        before = settings(wire)
        assert wire.ask("CONFIG", "REWRITE") == b"+OK\r\n"
        port = server.port

    after = settings_after_start(path, port, changes["requirepass"])
    assert after == before
    assert path.read_text(encoding="ascii").startswith("# mine\nrename-command qscan queues\n")


def settings_after_start(path: Path, port: int, password: str) -> dict[str, str]:
    """Start with this file and nothing else, and return what applies then."""
    with program_running(Path("/"), str(path)), wait_for_wire(port) as wire:
        assert wire.ask("AUTH", password) == b"+OK\r\n"
        assert wire.ask("QUEUES", 0).startswith(b"*2\r\n")
        return settings(wire)


# --- Directives that change what clients see ----------------------------------------------------


def test_a_renamed_command_answers_to_its_new_name_only(start_server: Starter) -> None:
    wire = start_server(
        "--rename-command", "qlen", "length", "--rename-command", "debug", ""
    ).wire()

    assert wire.ask("LENGTH", "q") == b":0\r\n"
    assert wire.ask("QLEN", "q") == b"-ERR unknown command 'QLEN'\r\n"
    assert wire.ask("DEBUG", "SLEEP", "0") == b"-ERR unknown command 'DEBUG'\r\n"


def test_without_the_password_nothing_is_answered(start_server: Starter) -> None:
    server = start_server("--requirepass", "sesame")
    wire, other = server.wire(), server.wire()

    assert wire.ask("QLEN", "q") == b"-NOAUTH Authentication required.\r\n"
    assert wire.ask("AUTH", "open") == b"-ERR invalid password\r\n"
    assert wire.ask("AUTH", "sesame") == b"+OK\r\n"
    assert wire.ask("QLEN", "q") == b":0\r\n"
    assert other.ask("QLEN", "q").startswith(b"-NOAUTH")


def test_clients_beyond_maxclients_are_told_and_let_in_when_one_left(
    start_server: Starter,
) -> None:
    server = start_server("--maxclients", "2")
    first, second = server.wire(), server.wire()
    assert [each.ask("PING") for each in (first, second)] == [b"+PONG\r\n"] * 2

    third = server.wire()

    assert third.read_reply() == b"-ERR max number of clients reached\r\n"
    third.read_eof()
    assert "rejected_connections:1" in first.text("INFO", "stats")
    second.close()
    wait_for_room(server)


def wait_for_room(server: ServerProcess) -> None:
    """Try until the server has noticed that a client left."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with Wire(server.port) as wire:
            try:
                if wire.ask("PING") == b"+PONG\r\n":
                    return
            except (Desync, OSError):
                pass
        assert time.monotonic() < deadline, "there is no room"
        time.sleep(POLL_S)


def test_idle_clients_are_closed_after_the_timeout_but_not_those_who_wait_for_jobs(
    start_server: Starter,
) -> None:
    server = start_server("--timeout", "1")
    idle, waiting = server.wire(), server.wire()
    waiting.send("GETJOB", "FROM", "q")
    assert idle.ask("PING") == b"+PONG\r\n"
    started = time.monotonic()

    idle.read_eof()

    # Looked at once a second, so it may take one more.
    assert 0.9 <= time.monotonic() - started < 4
    id = server.wire().add("q")
    assert id.encode() in waiting.read_reply()
