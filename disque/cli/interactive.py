"""The shell: lines in, replies out, until `quit` or the end of input.

Lines come from a terminal (`lineeditor`) or from standard input, one command per line; there,
lines that start with # are comments, there is no prompt, and a node that cannot be reached ends
the run with status 1. At a prompt nothing short of `quit` ends it.

A lost connection is opened again once per command. Whether the command is then sent again
depends on the command: one that only reads is; one that may have changed something is reported
instead, because the node may have carried it out before the connection broke.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from disque.cli.connection import Address, ConnectError, ConnectionLostError
from disque.cli.formatting import STANDARD
from disque.cli.helptext import help_text
from disque.cli.output import complain
from disque.cli.session import Session
from disque.commands.table import COMMANDS
from disque.wire.words import split

__all__ = ["Shell", "run_script", "run_terminal"]

# A command that takes at least this long is worth a remark.
SLOW_S: Final = 0.5

# Of a repetition, and of a port.
_COUNT: Final = re.compile(rb"0*[1-9][0-9]{0,17}")
_PORT: Final = re.compile(rb"[0-9]{1,5}")

_REPEATABLE: Final = frozenset(
    command.name
    for command in COMMANDS
    if b"readonly" in command.flags and b"admin" not in command.flags
)


class Shell:
    """Carries out one line after the other.

    `status` becomes 1 when a command could not be carried out, or was answered with an error
    and errors are fatal.
    """

    def __init__(
        self, session: Session, *, is_interactive: bool = False, is_error_fatal: bool = False
    ) -> None:
        self.status = 0
        self._session = session
        self._is_interactive = is_interactive
        self._is_error_fatal = is_error_fatal
        self._local: dict[bytes, Callable[[list[bytes]], None]] = {
            b"help": self._help,
            b"?": self._help,
            b"clear": self._clear,
            b"connect": self._connect_to,
        }

    @property
    def prompt(self) -> str:
        """Where the next command will go."""
        if not self._session.connection.is_open:
            return "not connected> "
        address = self._session.connection.address
        return f"disque {address.label}> " if address.socket_path else f"{address.label}> "

    def run_line(self, line: bytes) -> bool:
        """Carry out a line; say whether there should be another one."""
        try:
            return self._run_line(line)
        except KeyboardInterrupt:
            if not self._is_interactive:
                raise
        self._session.output.line("")
        # A reply may still be on its way, so this connection is of no use any more.
        self._session.connection.close()
        with contextlib.suppress(KeyboardInterrupt):
            self.connect()
        return True

    def _run_line(self, line: bytes) -> bool:
        words = split(line)
        if words is None:
            self._session.output.line("Invalid argument(s)")
            return not self._fail()
        if not words:
            return True
        name = words[0].lower()
        if name in (b"quit", b"exit"):
            return False
        local = self._local.get(name)
        if local is not None:
            local(words[1:])
            return True
        count = 1
        if len(words) > 1 and _COUNT.fullmatch(name):
            count = int(name)
            del words[0]
        for _ in range(count):
            if not self._run_command(words):
                return not self._fail()
        return True

    def connect(self) -> bool:
        """Connect, or say why not."""
        try:
            self._session.connect()
        except (ConnectError, ConnectionLostError) as error:
            complain(str(error))
            return False
        return True

    def _fail(self) -> bool:
        """Note a failure; say whether it ends the run."""
        if self._is_error_fatal:
            self.status = 1
        return self._is_error_fatal

    def _run_command(self, argv: list[bytes]) -> bool:
        """Run a command on a connection that is as good as can be had."""
        if self._session.connection.is_stale() and not self.connect():
            self.status = 1
            return False
        started_s = time.monotonic()
        is_good = self._execute(argv)
        elapsed_s = time.monotonic() - started_s
        if elapsed_s >= SLOW_S and self._session.output.style == STANDARD:
            self._session.output.line(f"({elapsed_s:.2f}s)")
        return is_good

    def _execute(self, argv: list[bytes]) -> bool:
        try:
            return self._session.execute(argv)
        except ConnectionLostError as lost:
            is_repeatable = argv[0].lower() in _REPEATABLE
            if not self.connect():
                self.status = 1
                return False
            if not is_repeatable:
                complain(f"Error: {lost}. The command may have been executed; it was not repeated.")
                self.status = 1
                return False
        try:
            return self._session.execute(argv)
        except ConnectionLostError as lost:
            complain(f"Error: {lost}")
            self.status = 1
            return False

    def _help(self, topic: list[bytes]) -> None:
        output = self._session.output
        words = [os.fsdecode(word) for word in topic]
        output.text(help_text(words, is_coloured=output.is_terminal))

    def _clear(self, _arguments: list[bytes]) -> None:
        if self._session.output.is_terminal:
            self._session.output.write(b"\x1b[H\x1b[2J")

    def _connect_to(self, arguments: list[bytes]) -> None:
        if len(arguments) != 2 or not _PORT.fullmatch(arguments[1]) or int(arguments[1]) > 65535:
            self._session.output.line("Usage: connect host port")
            return
        self._session.connection.close()
        self._session.connection.address = Address(os.fsdecode(arguments[0]), int(arguments[1]))
        self.connect()


def run_terminal(session: Session) -> int:
    """Talk to a person, who sees errors and decides what they mean."""
    # Slow to import, and only needed here.
    from disque.cli.lineeditor import LineEditor  # noqa: PLC0415

    shell = Shell(session, is_interactive=True)
    home = os.environ.get("HOME")
    editor = LineEditor(Path(home, ".disque_history") if home else None)
    with contextlib.suppress(KeyboardInterrupt):
        shell.connect()
    while True:
        line = editor.read(shell.prompt)
        # Pasted lines come in one piece.
        if line is None or not all(shell.run_line(piece) for piece in line.split(b"\n")):
            return 0


def run_script(
    session: Session, source: BinaryIO | None = None, *, is_error_fatal: bool = False
) -> int:
    """Carry out the lines of standard input."""
    shell = Shell(session, is_error_fatal=is_error_fatal)
    for line in source or sys.stdin.buffer:
        if line.startswith(b"#"):
            continue
        if not shell.run_line(line.rstrip(b"\r\n")) or shell.status:
            break
    return shell.status
