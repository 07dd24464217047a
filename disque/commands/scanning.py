"""Arguments shared by QSCAN and JSCAN.

Whatever is not a known option (or is one that lacks its value) is tried as the cursor; that is
how clients of the original learn of their mistakes, so the errors depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from disque.commands.options import integer
from disque.model.errors import CommandError, SyntaxProblem

__all__ = ["ScanPage", "read_scan"]

COUNT: Final = 100
UINT64_MAX: Final = 2**64 - 1
CURSOR_DIGITS_MAX: Final = 20


@final
class ScanPage:
    """Where a scan goes on, and how much it returns. A negative count means everything."""

    __slots__ = ("count", "cursor")

    def __init__(self) -> None:
        self.cursor = 0
        self.count = COUNT


def read_scan(argv: list[bytes], read_own: Callable[[bytes, bytes], bool]) -> ScanPage:
    """Read the common options; `read_own` takes (upper-case word, value) and says if it knew it."""
    page = ScanPage()
    has_cursor = is_everything = False
    at = 1
    while at < len(argv):
        word = argv[at].upper()
        has_value = at + 1 < len(argv)
        if word == b"BUSYLOOP":
            is_everything = True
        elif word == b"COUNT" and has_value:
            at += 1
            page.count = integer(argv[at])
        elif has_value and read_own(word, argv[at + 1]):
            at += 1
        elif has_cursor:
            raise SyntaxProblem
        else:
            page.cursor = read_cursor(argv[at])
            has_cursor = True
        at += 1
    if is_everything or page.count < 0:
        page.count = -1
    return page


def read_cursor(raw: bytes) -> int:
    """Read an unsigned 64-bit cursor; a sign in front is tolerated."""
    digits = raw[1:] if raw[:1] in (b"-", b"+") else raw
    if digits.isdigit() and len(digits) <= CURSOR_DIGITS_MAX and int(digits) <= UINT64_MAX:
        return int(digits)
    raise CommandError("ERR", "invalid cursor or option name")
