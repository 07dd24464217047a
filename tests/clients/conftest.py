"""Servers that the tests of this directory share, and clients that end with their test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from tests.clients.node import PASSWORD
from tests.clients.redispy import FLAVOURS, PROTOCOLS, Client, Connector, Flavour, Untyped
from tests.support.server import ServerProcess

Launcher = Callable[..., ServerProcess]


@pytest.fixture(scope="package")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """Return a function that starts servers which end with the last test that uses one of them."""
    with ExitStack() as servers:

        def start(*args: str) -> ServerProcess:
            directory = tmp_path_factory.mktemp("node")
            process = ServerProcess(
                directory, "--unixsocket", str(directory / "disque.sock"), *args
            )
            servers.enter_context(process)
            # Whatever clients say, it is not too much for the server.
            servers.callback(process.assert_healthy)
            return process

        yield start


@pytest.fixture(scope="package")
def shared(launch: Launcher) -> ServerProcess:
    """Return a server for tests that leave its settings alone and use queues of their own."""
    return launch()


@pytest.fixture(scope="package")
def guarded(launch: Launcher) -> ServerProcess:
    """Return a server that asks for a password, for the same kind of tests."""
    return launch("--requirepass", PASSWORD)


@pytest.fixture(scope="package")
def tunable(launch: Launcher) -> ServerProcess:
    """Return a server whose slow log misses nothing, for tests that set what they need."""
    return launch("--slowlog-log-slower-than", "0")


@pytest.fixture(scope="package")
def full(launch: Launcher) -> ServerProcess:
    """Return a server that has no memory for jobs."""
    return launch("--maxmemory", "1")


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    """Return the name of a queue that no other test uses."""
    name = request.node.nodeid
    assert isinstance(name, str)
    return name


@pytest.fixture(params=list(PROTOCOLS))
def protocol(request: pytest.FixtureRequest) -> int | None:
    """Return each version of the protocol."""
    return PROTOCOLS[request.param]


@pytest.fixture(params=list(FLAVOURS))
def flavour(request: pytest.FixtureRequest) -> Flavour:
    """Return each way to use redis-py."""
    return FLAVOURS[request.param]


@pytest.fixture
def connect(flavour: Flavour) -> Iterator[Connector]:
    """Return a function that makes clients of redis-py, closed when the test ends."""
    with ExitStack() as clients:

        def open_client(server: ServerProcess, **options: Untyped) -> Client:
            return clients.enter_context(closing(flavour.connect(server, **options)))

        yield open_client


@pytest.fixture
def client(connect: Connector, shared: ServerProcess) -> Client:
    """Return a client with default settings, connected to the shared server."""
    return connect(shared)
