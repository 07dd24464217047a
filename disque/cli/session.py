"""A conversation with one node: commands go out, printed replies come back.

Most commands have exactly one reply. The exceptions are known here: MONITOR never ends, CLIENT
REPLY can switch replies off, and a server that was told to stop hangs up instead of answering.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from disque.cli.connection import Connection, ConnectionLostError
from disque.cli.output import Output, complain
from disque.cli.replies import ErrorReply, Reply

__all__ = ["Session"]

# The success of these is that the connection ends.
_HANGING_UP: Final = frozenset(
    (
        (b"debug", b"assert"),
        (b"debug", b"crash-and-recover"),
        (b"debug", b"oom"),
        (b"debug", b"restart"),
        (b"debug", b"segfault"),
    )
)


class Session:
    """A connection and the output its replies are printed on."""

    def __init__(self, connection: Connection, output: Output) -> None:
        self.connection = connection
        self.output = output
        # CLIENT REPLY OFF, or the number of replies that CLIENT REPLY SKIP still suppresses.
        self._is_silent = False
        self._skipped = 0

    def connect(self) -> None:
        """Open the connection, and say so if the password was refused."""
        self._is_silent = False
        self._skipped = 0
        self.connection.open()
        if self.connection.auth_error is not None:
            complain(f"Warning: the password was refused: {self.connection.auth_error}")

    def execute(self, argv: Sequence[bytes]) -> bool:
        """Send a command and print its reply; say whether it is anything but an error."""
        # One more than any form below, which must not match the beginning of a longer command.
        words = tuple(word.lower() for word in argv[:4])
        self.connection.send(argv)
        if not self._is_answered(words):
            return True
        try:
            reply = self.connection.receive()
        except ConnectionLostError:
            if words[:1] == (b"shutdown",) or words[:2] in _HANGING_UP:
                return True
            raise
        self.output.reply(reply, argv)
        if isinstance(reply, ErrorReply):
            return False
        if words == (b"monitor",):
            self._stream(argv)
        if words[:1] == (b"auth",):
            # So that a reconnect is not a surprise.
            self.connection.password = argv[-1]
        return True

    def _stream(self, argv: Sequence[bytes]) -> None:
        """Print what MONITOR sends until somebody has had enough."""
        while True:
            reply: Reply = self.connection.receive()
            self.output.reply(reply, argv)

    def _is_answered(self, words: tuple[bytes, ...]) -> bool:
        """Follow CLIENT REPLY, which decides about its own reply, too."""
        if words == (b"client", b"reply", b"on"):
            self._is_silent = False
            self._skipped = 0
            return True
        if words == (b"client", b"reply", b"off"):
            self._is_silent = True
        elif words == (b"client", b"reply", b"skip") and not self._is_silent:
            self._skipped = 1
            return False
        if self._is_silent:
            return False
        if self._skipped:
            self._skipped -= 1
            return False
        return True
