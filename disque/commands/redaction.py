"""Keep passwords out of what other people read: MONITOR and SLOWLOG.

Secrets are arguments of AUTH, of `HELLO n AUTH user password` and of `CONFIG SET requirepass`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["REDACTED", "redacted"]

REDACTED: Final = b"(redacted)"


def redacted(argv: list[bytes], name: bytes = b"") -> list[bytes]:
    """Return `argv` with its secrets replaced; the same list if there are none.

    `name` is the command's original name. Without it the command is taken for what it calls
    itself, which is wrong after `rename-command`.

    >>> redacted([b"AUTH", b"sekret"])
    [b'AUTH', b'(redacted)']
    """
    command = name or argv[0].lower()
    if command == b"auth":
        return _hidden_from(argv, 1)
    if command == b"hello":
        for position in range(2, len(argv)):
            if argv[position].lower() == b"auth":
                # All that follows: the word may have been a name, and the password come later.
                return _hidden_from(argv, position + 1)
    if (
        command == b"config"
        and len(argv) > 3
        and argv[1].lower() == b"set"
        and argv[2].lower() == b"requirepass"
    ):
        return _hidden_from(argv, 3)
    return argv


def _hidden_from(argv: list[bytes], first: int) -> list[bytes]:
    return [*argv[:first], *([REDACTED] * (len(argv) - first))]
