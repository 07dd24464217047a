"""Fixtures for tests that need a real server process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.resp import Wire
from tests.support.server import ServerProcess

__all__ = ["Starter", "server", "start_server", "wire"]

Starter: TypeAlias = Callable[..., ServerProcess]


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Starter]:
    """Return a function that starts servers with extra arguments; all end with the test."""
    servers: list[ServerProcess] = []

    def start(*args: str) -> ServerProcess:
        process = ServerProcess(tmp_path / f"node{len(servers) + 1}", *args)
        servers.append(process)
        process.start()
        return process

    yield start
    for process in servers:
        process.stop()


@pytest.fixture
def server(start_server: Starter) -> ServerProcess:
    """Return a fresh server with default settings."""
    return start_server()


@pytest.fixture
def wire(server: ServerProcess) -> Wire:
    """Return a connection to the fresh server."""
    return server.wire()
