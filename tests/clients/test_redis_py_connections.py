"""How redis-py connects, logs in, loses its connection and comes back."""

from __future__ import annotations

import contextlib
import shlex
from contextlib import ExitStack, closing
from typing import Final
from urllib.parse import quote

import pytest
import redis
from redis._parsers import _AsyncRESP2Parser, _RESP2Parser

from tests.clients.node import (
    PASSWORD,
    kill_named,
    socket_path,
    wait_for,
    wait_for_waiters,
)
from tests.clients.redispy import FLAVOURS, Connector, Flavour
from tests.support.fixtures import Starter
from tests.support.resp import Desync, Wire
from tests.support.server import ServerProcess

pytestmark = pytest.mark.process

# Redis has it only in its commercial form, and the library takes the refusal for an answer.
IN_VAIN: Final = ["CLIENT", "MAINT_NOTIFICATIONS"]


def words_of(line: bytes) -> list[str]:
    """Return the command in a line of MONITOR."""
    _, _, command = line.decode().partition("] ")
    return shlex.split(command)


def pings(server: ServerProcess) -> int:
    """Return how often a server was asked whether it is there."""
    with Wire(server.port) as wire:
        for line in wire.text("INFO", "commandstats").splitlines():
            if line.startswith("cmdstat_ping:calls="):
                return int(line.split("=")[1].split(",")[0])
    return 0


def only_client(server: ServerProcess) -> Wire:
    """Take the only place there is, once whoever saw the server start has left it."""
    taken: list[Wire] = []

    def is_taken() -> bool:
        wire = server.wire()
        with contextlib.suppress(Desync, OSError):
            if wire.ask("PING") == b"+PONG\r\n":
                taken.append(wire)
        return bool(taken)

    wait_for(is_taken, "there is room for a client")
    return taken[0]


# --- Hello --------------------------------------------------------------------------------------


def test_everything_the_library_says_on_connecting_is_understood(
    connect: Connector, flavour: Flavour, shared: ServerProcess
) -> None:
    said: list[list[str]] = []
    with Wire(shared.port) as watcher, Wire(shared.port) as wire:
        assert watcher.ask("MONITOR") == b"+OK\r\n"
        client = connect(shared, client_name="worker-1")
        client.echo("the end")
        while not said or said[-1][0] != "ECHO":
            said.append(words_of(watcher.read_reply()))
        refused = [words[:2] for words in said if wire.ask(*words).startswith(b"-")]

    assert refused == ([] if flavour.protocol == 2 else [IN_VAIN])
    assert (["HELLO", "3"] in said) == (flavour.protocol != 2)
    assert ["CLIENT", "SETNAME", "worker-1"] in said
    assert ["CLIENT", "SETINFO", "LIB-NAME", "redis-py"] in said
    assert ["CLIENT", "SETINFO", "LIB-VER", redis.__version__] in said


def test_connecting_gives_the_library_nothing_to_warn_about(
    connect: Connector, shared: ServerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    assert connect(shared).ping() is True

    assert caplog.records == []


def test_the_name_of_a_client_is_shown_in_the_list(
    connect: Connector, shared: ServerProcess
) -> None:
    client = connect(shared, client_name="invoices-1")
    id = client.client_id()

    names = {line["id"]: line["name"] for line in client.client_list()}

    assert names[str(id)] == "invoices-1"
    assert client.client_getname() in ("invoices-1", b"invoices-1")


def test_there_is_one_database_and_its_number_is_zero(
    connect: Connector, shared: ServerProcess
) -> None:
    assert connect(shared, db=0).ping() is True

    with pytest.raises(redis.ResponseError) as raised:
        connect(shared, db=1).ping()
    assert str(raised.value) == "DB index is out of range"


def test_a_unix_socket_does_what_a_port_does(
    connect: Connector, shared: ServerProcess, queue: str
) -> None:
    client = connect(shared, unix_socket_path=socket_path(shared))

    id = client.ask("ADDJOB", queue, "body", 0)

    assert client.ask("GETJOB", "FROM", queue) == [[queue.encode(), id, b"body"]]
    described = client.client_info()
    assert (described["addr"], described["flags"]) == (f"{socket_path(shared)}:0", "U")


def test_a_url_says_where_the_server_is(flavour: Flavour, shared: ServerProcess) -> None:
    for url in (
        f"redis://127.0.0.1:{shared.port}",
        f"redis://localhost:{shared.port}/0",
        f"redis://127.0.0.1:{shared.port}?protocol={flavour.protocol or 3}&client_name=by-url",
        f"unix://{socket_path(shared)}",
    ):
        with closing(flavour.connect_url(url)) as client:
            assert client.ping() is True, url
            assert client.client_getname() in (None, "by-url", b"by-url")


def test_the_parser_written_in_python_understands_the_same(
    flavour: Flavour, shared: ServerProcess, queue: str
) -> None:
    # With hiredis installed, as it is wherever this server is, the library uses that instead.
    parser = _AsyncRESP2Parser if flavour.is_asyncio else _RESP2Parser
    url = f"redis://127.0.0.1:{shared.port}?protocol={flavour.protocol or 3}"
    body = bytes(range(256)) * 300

    with closing(flavour.connect_url(url, parser_class=parser)) as client:
        id = client.ask("ADDJOB", queue, body, 0)
        assert client.ask("GETJOB", "FROM", queue) == [[queue.encode(), id, body]]
        assert client.ask("GETJOB", "NOHANG", "FROM", queue) is None
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "acks"}
        with pytest.raises(redis.ResponseError, match="BADID Invalid Job ID format"):
            client.ask("SHOW", "x")


# --- Passwords ----------------------------------------------------------------------------------


@pytest.mark.parametrize("login", [{}, {"username": "default"}], ids=["password", "user"])
def test_the_password_opens_the_server(
    connect: Connector, guarded: ServerProcess, queue: str, login: dict[str, str]
) -> None:
    client = connect(guarded, password=PASSWORD, **login)

    id = client.ask("ADDJOB", queue, "body", 0)

    assert client.ask("GETJOB", "FROM", queue) == [[queue.encode(), id, b"body"]]


def test_a_url_can_carry_the_password(flavour: Flavour, guarded: ServerProcess) -> None:
    place = f"127.0.0.1:{guarded.port}?protocol={flavour.protocol or 3}"

    for user in ("", "default"):
        with closing(
            flavour.connect_url(f"redis://{user}:{quote(PASSWORD, '')}@{place}")
        ) as client:
            assert client.ping() is True


@pytest.mark.parametrize(
    ("login", "text"),
    [
        ({}, "Authentication required."),
        ({"password": "wrong"}, "invalid password"),
        ({"username": "default", "password": "wrong"}, "invalid password or user name"),
        ({"username": "root", "password": PASSWORD}, "the only user is 'default'"),
    ],
    ids=["nothing", "wrong password", "wrong password of a user", "wrong user"],
)
def test_whoever_is_not_let_in_gets_an_authentication_error(
    connect: Connector, guarded: ServerProcess, login: dict[str, str], text: str
) -> None:
    # The library takes this for a broken connection, and would repeat it for some seconds.
    client = connect(guarded, retries=0, **login)

    with pytest.raises(redis.AuthenticationError, match=text):
        client.ping()


def test_a_password_for_an_open_server_is_an_authentication_error(
    connect: Connector, shared: ServerProcess
) -> None:
    with pytest.raises(redis.AuthenticationError, match="no password is set"):
        connect(shared, retries=0, password=PASSWORD).ping()


# --- Connections that break ---------------------------------------------------------------------


def test_a_killed_connection_is_replaced_without_a_word(
    connect: Connector, shared: ServerProcess, queue: str
) -> None:
    client = connect(shared, client_name="victim")
    id = client.client_id()

    assert kill_named(shared, "victim") == 1

    assert client.ask("ADDJOB", queue, "body", 0).startswith(b"D-")
    assert client.client_id() > id
    assert client.ask("QLEN", queue) == 1


def test_clients_of_every_flavour_go_on_after_a_restart(server: ServerProcess) -> None:
    with ExitStack() as clients:
        connected = [
            clients.enter_context(closing(flavour.connect(server))) for flavour in FLAVOURS.values()
        ]
        for client in connected:
            assert client.ping() is True

        server.stop()
        server.start(server.port)

        for client in connected:
            assert client.ask("ADDJOB", "q", "body", 0).startswith(b"D-")
        assert connected[0].ask("QLEN", "q") == len(connected)


def test_a_server_that_is_down_is_a_connection_error(start_server: Starter) -> None:
    server = start_server()
    port = server.port
    clients = [flavour.connect(server, retries=0) for flavour in FLAVOURS.values()]
    server.stop()

    for client in clients:
        with closing(client), pytest.raises(redis.ConnectionError, match=f"127.0.0.1:{port}"):
            client.ping()


def test_a_server_full_of_clients_is_a_connection_error_until_one_leaves(
    start_server: Starter,
) -> None:
    server = start_server("--maxclients", "1")
    wire = only_client(server)

    for flavour in FLAVOURS.values():
        client = flavour.connect(server, retries=0)
        with closing(client), pytest.raises(redis.ConnectionError):
            client.ping()
    wire.close()

    for flavour in FLAVOURS.values():
        with closing(flavour.connect(server)) as client:
            assert client.ping() is True


def test_a_health_check_is_a_ping_before_the_command(
    connect: Connector, shared: ServerProcess, queue: str
) -> None:
    # Always due. Without `driver_info`, because the asyncio flavour sends that in two commands at
    # once, and takes the reply of the first for the one of a check between them.
    client = connect(shared, health_check_interval=1e-6, driver_info=None)
    before = pings(shared)

    for _ in range(5):
        assert client.ask("QLEN", queue) == 0

    assert pings(shared) - before >= 5


def test_whoever_gave_up_waiting_gets_no_job_behind_their_back(
    connect: Connector, shared: ServerProcess, queue: str
) -> None:
    client = connect(shared, retries=0, socket_timeout=0.03)

    with pytest.raises(redis.TimeoutError):
        client.ask("GETJOB", "FROM", queue)

    wait_for_waiters(shared, queue, 0)
    id = client.ask("ADDJOB", queue, "body", 0)
    assert client.ask("GETJOB", "FROM", queue) == [[queue.encode(), id, b"body"]]


@pytest.mark.parametrize("flavour", ["sync-default", "asyncio-default"], indirect=True)
def test_the_server_can_be_shut_down(connect: Connector, server: ServerProcess) -> None:
    # With its own idea of repeating, the library would look for the server for some seconds.
    client = connect(server, retries=0)

    client.shutdown()

    assert server.wait_exit() == 0
