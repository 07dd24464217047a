"""Show a command that may be very long: the first arguments, and the first bytes of each.

SLOWLOG keeps little of every command. MONITOR shows nearly everything, but not what would make a
line of hundreds of megabytes, for each monitor, out of one request.
"""

from __future__ import annotations

__all__ = ["shortened"]


def shortened(argv: list[bytes], arguments_max: int, bytes_max: int) -> list[bytes]:
    """Return at most so many arguments of about so many bytes, and tell how much more there is.

    >>> shortened([b"ADDJOB", b"q", b"a long body", b"0"], 3, 6)
    [b'ADDJOB', b'q', b'... (2 more arguments)']
    >>> shortened([b"a long body"], 3, 6)
    [b'a long... (5 more bytes)']
    """
    if len(argv) <= arguments_max:
        return [_cut(argument, bytes_max) for argument in argv]
    kept = arguments_max - 1
    return [
        *[_cut(argument, bytes_max) for argument in argv[:kept]],
        b"... (%d more arguments)" % (len(argv) - kept),
    ]


def _cut(argument: bytes, bytes_max: int) -> bytes:
    if len(argument) <= bytes_max:
        return argument
    return b"%b... (%d more bytes)" % (argument[:bytes_max], len(argument) - bytes_max)
