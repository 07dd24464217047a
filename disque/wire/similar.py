"""Requests that differ in one argument, recognised instead of parsed.

A producer sends the same ADDJOB with another body, a worker the same ACKJOB with another id:

    *4 $6 ADDJOB $5 queue $100 [the gap: 100 bytes] $1 0

The bytes around the gap are compared with those of the request before, which takes two comparisons
however many arguments there are. A pipeline is compared as a whole: if all requests of a chunk have
this form, they have the same size, and the gaps lie at equal distances. So the gaps are cut out in
one go, and what the requests would have to look like with these gaps is compared with the chunk.
Whatever is not exactly like it is left to the parser.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, cast, final

from disque.wire.encode import encode_argument, encode_request

__all__ = ["FIXED_BYTES_MAX", "Similar", "find"]

# What is kept for each connection stays small: it may have this much around the gap.
FIXED_BYTES_MAX: Final = 256
UNKNOWN: Final = -1
# So many requests are compared together: few enough that nothing is lost if one is different.
TOGETHER_MAX: Final = 64
TOGETHER_MIN: Final = 3


@final
class Similar:
    """A request with a gap: one argument of a certain length, the others as they are."""

    __slots__ = (
        "_after",
        "_before",
        "_between",
        "_gaps",
        "_head",
        "_length",
        "_size",
        "_tail",
        "_together",
    )

    def __init__(self, arguments: list[bytes], gap: int) -> None:
        self._length = len(arguments[gap])
        self._before = arguments[:gap]
        self._after = arguments[gap + 1 :]
        behind = b"".join([encode_argument(argument) for argument in self._after])
        # The end of the line behind the gap belongs to the tail.
        self._tail = b"\r\n" + behind
        self._head = encode_request(arguments)[: -self._length - len(self._tail)]
        self._between = self._tail + self._head
        self._size = len(self._between) + self._length
        # Where the gaps of so many requests are.
        self._together = 0
        self._gaps = Struct("")

    def read(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        """Read requests of exactly this form, and answer the position behind them."""
        head = self._head
        tail = self._tail
        most = TOGETHER_MAX
        while data.startswith(head, position):
            count = min((len(data) - position) // self._size, most)
            if count >= TOGETHER_MIN:
                if self._read_together(data, position, requests, count):
                    position += count * self._size
                    continue
                # There is another one among them: find it, and do not try the rest together again.
                most = 0
            begin = position + len(head)
            end = begin + self._length
            if not data.startswith(tail, end):
                break
            requests.append([*self._before, data[begin:end], *self._after])
            position = end + len(tail)
        return position

    def _read_together(
        self, data: bytes, position: int, requests: list[list[bytes]], count: int
    ) -> bool:
        """Read `count` requests if all of them have this form, else none."""
        if count != self._together:
            head, tail = len(self._head), len(self._tail)
            self._gaps = Struct(f"{head}x{self._length}s{tail}x" * count)
            self._together = count
        gaps = cast("tuple[bytes, ...]", self._gaps.unpack_from(data, position))
        if not data.startswith(self._head + self._between.join(gaps) + self._tail, position):
            return False
        before = self._before
        after = self._after
        requests += [[*before, gap, *after] for gap in gaps]
        return True


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
