"""The three kinds of errors, each with its own fate.

* `CommandError`: the client's. Answered with its code and sentence; the connection lives.
* `ProtocolError`: a peer's or a file's. Logged with what was wrong; the link or the
  start is given up.
* `AssertionError`: ours. Never raised for anything the outside world sends.
"""

from __future__ import annotations

from typing import Final

from disque.model.limits import SHOWN_BYTES_MAX

__all__ = ["CommandError", "ProtocolError", "SyntaxProblem", "shown"]

CUT: Final = "..."


class CommandError(Exception):
    """A reply of the form `-CODE sentence`: the code is for machines, the sentence for people."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence


class SyntaxProblem(CommandError):
    """The options of a command make no sense; which one is rarely worth a sentence."""

    def __init__(self) -> None:
        super().__init__("ERR", "syntax error")


class ProtocolError(Exception):
    """Bytes from a peer or a file that cannot be what they claim to be."""


def shown(raw: bytes) -> str:
    r"""Turn user-supplied bytes into text for a sentence: one character per byte.

    An argument may have half a gigabyte, so only its beginning is quoted.

    >>> shown(b"\xe9t\xe9")
    'été'
    """
    if len(raw) > SHOWN_BYTES_MAX:
        return raw[:SHOWN_BYTES_MAX].decode("latin-1") + CUT
    return raw.decode("latin-1")
