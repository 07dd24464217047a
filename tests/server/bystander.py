"""A well-behaved client next to others that misbehave: is it still served at once?"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.support.resp import Desync, Wire
from tests.support.server import ServerProcess, resident_bytes

__all__ = ["MIB", "undisturbed"]

MIB: Final = 1 << 20
# Far above what is ever needed, because tests share two cores; a stalled loop is still noticed.
ANSWER_S_MAX: Final = 1.0
BETWEEN_S: Final = 0.002


class Bystander:
    """Asks again and again, and remembers the slowest answer."""

    def __init__(self, port: int) -> None:
        self.slowest_s = 0.0
        self.problem = ""
        self._has_finished = threading.Event()
        self._wire = Wire(port)
        # From here on the server counts it among its clients.
        assert self._wire.ask("PING") == b"+PONG\r\n"
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def finish(self) -> None:
        """Stop asking."""
        self._has_finished.set()
        self._thread.join()

    def _ask(self) -> None:
        try:
            while not self._has_finished.wait(BETWEEN_S):
                started = time.monotonic()
                assert self._wire.ask("PING") == b"+PONG\r\n"
                self.slowest_s = max(self.slowest_s, time.monotonic() - started)
        except (Desync, OSError) as problem:
            self.problem = repr(problem)
        self._wire.close()


@contextmanager
def undisturbed(
    server: ServerProcess, *, mib_max: int, slowest_s: float = ANSWER_S_MAX
) -> Iterator[None]:
    """Fail unless, whatever the block does, others are answered soon and memory stays bounded.

    `mib_max` is by how much the resident memory may grow at most, looked at when the block ends.
    """
    before = resident_bytes(server.pid)
    bystander = Bystander(server.port)
    bystander.start()
    try:
        yield
        grown = resident_bytes(server.pid) - before
    finally:
        bystander.finish()
    assert not bystander.problem, bystander.problem
    assert bystander.slowest_s < slowest_s, f"an answer took {bystander.slowest_s:.3f} s"
    assert grown < mib_max * MIB, f"the server grew by {grown / MIB:.0f} MiB"
    server.assert_healthy()
