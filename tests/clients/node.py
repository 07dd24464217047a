"""What tests with real clients know about the servers they talk to, and how they wait for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tests.support.resp import Wire
from tests.support.server import ServerProcess

__all__ = [
    "PASSWORD",
    "PATIENCE_S",
    "UNKNOWN_ID",
    "kill_named",
    "socket_path",
    "wait_for",
    "wait_for_waiters",
    "waiters",
]

# With everything that must be quoted in a URL.
PASSWORD: Final = "open sesame/100%"
# The right shape, and never the id of a job.
UNKNOWN_ID: Final = "D-00000000-AAAAAAAAAAAAAAAAAAAAAAAA-0001"
PATIENCE_S: Final = 10.0
POLL_S: Final = 0.002


def socket_path(server: ServerProcess) -> str:
    """Return where a server of these tests has its Unix socket."""
    return str(server.directory / "disque.sock")


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(POLL_S)


def waiters(wire: Wire, queue: str) -> int:
    """Return how many clients wait for a job of this queue."""
    if wire.value("QSTAT", queue) is None:
        return 0
    blocked = wire.fields("QSTAT", queue)["blocked"]
    assert isinstance(blocked, int)
    return blocked


def wait_for_waiters(server: ServerProcess, queue: str, count: int) -> None:
    """Wait until so many clients wait for a job of this queue."""
    with Wire(server.port) as wire:
        wait_for(lambda: waiters(wire, queue) == count, f"never {count} clients wait for {queue}")


def kill_named(server: ServerProcess, name: str) -> int:
    """Close all connections of that name, from the server's side; return how many there were."""
    killed = 0
    with Wire(server.port) as wire:
        for line in wire.text("CLIENT", "LIST").splitlines():
            fields = dict(field.split("=", 1) for field in line.split())
            if fields["name"] == name:
                killed += wire.integer("CLIENT", "KILL", "ID", fields["id"])
    return killed
