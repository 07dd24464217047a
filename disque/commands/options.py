"""Reading arguments: numbers, timeouts and option words, with the errors clients expect."""

from __future__ import annotations

from typing import Final

from disque.model.errors import CommandError
from disque.model.limits import TIMEOUT_MS_MAX

__all__ = ["integer", "integer_or_none", "timeout_ms"]

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
# 19 digits, a sign, and some leading zeros: longer ones are refused before they cost time.
DIGITS_MAX: Final = 64


def integer_or_none(raw: bytes) -> int | None:
    r"""Read a signed 64-bit decimal: optional sign, leading zeros, nothing else.

    >>> [integer_or_none(raw) for raw in (b"+007", b" 7", b"", b"7\0")]
    [7, None, None, None]
    """
    digits = raw[1:] if raw[:1] in (b"-", b"+") else raw
    # `isdigit` on bytes knows ASCII digits only, unlike `int`, which takes spaces and underscores.
    if not digits.isdigit() or len(raw) > DIGITS_MAX:
        return None
    value = int(raw)
    return value if INT64_MIN <= value <= INT64_MAX else None


def integer(raw: bytes) -> int:
    """Read an integer argument or refuse it."""
    value = integer_or_none(raw)
    if value is None:
        raise CommandError("ERR", "value is not an integer or out of range")
    return value


def timeout_ms(raw: bytes) -> int:
    """Read a timeout in milliseconds; 0 means for ever, and so does anything beyond a century."""
    value = integer_or_none(raw)
    if value is None:
        raise CommandError("ERR", "timeout is not an integer or out of range")
    if value < 0:
        raise CommandError("ERR", "timeout is negative")
    return min(value, TIMEOUT_MS_MAX)
