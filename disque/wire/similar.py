"""Requests that differ in one argument, recognised instead of parsed.

A producer sends the same ADDJOB with another body, a worker the same ACKJOB with another id:

    *4 $6 ADDJOB $5 queue $100 [the gap: 100 bytes] $1 0

The bytes around the gap are compared with those of the request before, which takes two comparisons
however many arguments there are. Whatever is not exactly like it is left to the parser.
"""

from __future__ import annotations

from typing import Final, final

from disque.wire.encode import encode_argument, encode_request

__all__ = ["FIXED_BYTES_MAX", "Similar", "find"]

# What is kept for each connection stays small: it may have this much around the gap.
FIXED_BYTES_MAX: Final = 256
UNKNOWN: Final = -1


@final
class Similar:
    """A request with a gap: one argument of a certain length, the others as they are."""

    __slots__ = ("_arguments", "_gap", "_head", "_length", "_tail")

    def __init__(self, arguments: list[bytes], gap: int) -> None:
        self._length = len(arguments[gap])
        self._gap = gap
        self._arguments = [*arguments[:gap], b"", *arguments[gap + 1 :]]
        behind = b"".join([encode_argument(argument) for argument in arguments[gap + 1 :]])
        # The end of the line behind the gap belongs to the tail.
        self._tail = b"\r\n" + behind
        self._head = encode_request(arguments)[: -self._length - len(self._tail)]

    def read(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        """Read requests of exactly this form, and answer the position behind them."""
        head = self._head
        tail = self._tail
        while data.startswith(head, position):
            begin = position + len(head)
            end = begin + self._length
            if not data.startswith(tail, end):
                break
            arguments = self._arguments.copy()
            arguments[self._gap] = data[begin:end]
            requests.append(arguments)
            position = end + len(tail)
        return position


def find(first: list[bytes], second: list[bytes]) -> Similar | None:
    """Find what two requests have in common, if that is all but one argument of equal length."""
    if len(first) != len(second):
        return None
    gap = UNKNOWN
    longest = 0
    for place in range(len(first)):
        if first[place] != second[place]:
            if gap != UNKNOWN or len(first[place]) != len(second[place]):
                return None
            gap = place
        if len(first[place]) > len(first[longest]):
            longest = place
    if gap == UNKNOWN:
        # Two requests that are the same differ from later ones in what is longest, if at all.
        gap = longest
    fixed_bytes = sum([len(argument) for argument in first]) - len(first[gap])
    return Similar(first, gap) if fixed_bytes <= FIXED_BYTES_MAX else None
