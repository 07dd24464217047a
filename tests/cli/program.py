"""The client as its users start it: a process with arguments, input and output."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from disque.cli.connection import Address, Connection
from disque.cli.formatting import STANDARD
from disque.cli.output import Output
from disque.cli.session import Session
from tests.cli.fakeserver import Answer, FakeServer

__all__ = ["PROGRAM", "Printed", "environment", "run_client", "talking"]

PROGRAM: Final = (sys.executable, "-m", "disque.cli.main")
PATIENCE_S: Final = 20.0


class Printed:
    """Collects what would be on standard output.

    With `interrupt_at`, Ctrl-C is pressed once, just before that write (counted from 0).
    """

    def __init__(self, interrupt_at: int | None = None) -> None:
        self.bytes = b""
        self._writes = 0
        self._interrupt_at = interrupt_at

    def write(self, printed: bytes) -> int:
        """Keep it."""
        self._writes += 1
        if self._writes - 1 == self._interrupt_at:
            raise KeyboardInterrupt
        self.bytes += printed
        return len(printed)

    def flush(self) -> None:
        """Nothing is held back."""


@contextmanager
def talking(
    answer: Answer,
    *,
    style: str = STANDARD,
    is_terminal: bool = False,
    interrupt_at: int | None = None,
) -> Iterator[tuple[FakeServer, Session, Printed]]:
    """Connect a session to a server that answers like this."""
    printed = Printed(interrupt_at)
    with FakeServer(answer) as server:
        output = Output(printed, style=style, is_terminal=is_terminal)
        session = Session(Connection(Address(port=server.port)), output)
        session.connect()
        yield server, session, printed
        session.connection.close()


def run_client(
    port: int, *arguments: str | bytes, stdin: bytes = b"", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Run `disque -p port ...` to its end; `more` is added to its environment."""
    return subprocess.run(
        [*PROGRAM, "-p", str(port), *arguments],
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment() | more,
    )


def environment() -> dict[str, str]:
    """Return our environment without what changes the client."""
    return {
        name: setting
        for name, setting in os.environ.items()
        if name not in ("FAKETTY", "DISQUECLI_AUTH", "PYTHONDONTWRITEBYTECODE")
    }
