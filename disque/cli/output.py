"""Where replies go: a stream of bytes, with the style the user asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Protocol

from disque.cli.formatting import RAW, STANDARD, render
from disque.cli.options import Options
from disque.cli.replies import Reply

__all__ = ["Output", "Stream", "complain"]


class Stream(Protocol):
    """What is needed of standard output."""

    def write(self, printed: bytes, /) -> int:
        """Take bytes."""

    def flush(self) -> None:
        """Let them go."""


class Output:
    """Standard output, and how to write on it.

    Everything is flushed at once: the reader may be a person, or a program that waits.
    """

    def __init__(
        self,
        stream: Stream,
        *,
        style: str = STANDARD,
        delimiter: bytes = b"\n",
        is_terminal: bool = False,
    ) -> None:
        self.style = style
        self.is_terminal = is_terminal
        self._stream = stream
        self._delimiter = delimiter

    @classmethod
    def for_options(cls, options: Options, environment: Mapping[str, str]) -> Output:
        """Choose the style: the one asked for, else raw unless a person is looking."""
        is_terminal = sys.stdout.isatty()
        is_readable = is_terminal or "FAKETTY" in environment
        return cls(
            sys.stdout.buffer,
            style=options.style or (STANDARD if is_readable else RAW),
            delimiter=options.delimiter,
            is_terminal=is_terminal,
        )

    def reply(self, reply: Reply, argv: Sequence[bytes]) -> None:
        """Print the reply to a command."""
        self.write(render(reply, argv, self.style, self._delimiter))

    def line(self, text: str) -> None:
        """Print a line of text."""
        self.text(text + "\n")

    def text(self, text: str) -> None:
        """Print text that ends its lines itself."""
        self.write(text.encode("utf-8", "surrogateescape"))

    def write(self, printed: bytes) -> None:
        """Print bytes as they are."""
        self._stream.write(printed)
        self._stream.flush()


def complain(text: str) -> None:
    """Print a line for the person, not for the pipe."""
    print(text, file=sys.stderr, flush=True)
