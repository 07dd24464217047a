"""Job ids: what their 40 characters say.

D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1
  |        |                        |
  |        24 base64 characters     TTL in minutes, hex; odd: at least once, even: at most once
  first 8 of the creating node's id
"""

from __future__ import annotations

from typing import Final

from disque.model.errors import CommandError
from disque.model.job import JobId, NodeId

__all__ = [
    "LENGTH",
    "RANDOM_BYTES",
    "RANDOM_CHARACTERS",
    "checked",
    "is_at_least_once",
    "prefix",
    "suffix",
    "ttl_minutes",
]

LENGTH: Final = 40
RANDOM_BYTES: Final = 18
RANDOM_CHARACTERS: Final = 24
D: Final = 0x44
DASH: Final = 0x2D
TTL_MINUTES_MAX: Final = 0xFFFF
HEX_VALUES: Final = {ord(digit): int(digit, 16) for digit in "0123456789abcdefABCDEF"}


def prefix(node: NodeId) -> bytes:
    """Return what every id made by `node` begins with."""
    return b"D-%s-" % node[:8]


def suffix(ttl_s: int, retry_s: int) -> bytes:
    """Return how ids of jobs with this TTL and retry end.

    >>> suffix(86400, 300), suffix(86400, 0)
    (b'-05a1', b'-05a0')
    """
    minutes = min(ttl_s // 60, TTL_MINUTES_MAX)
    minutes = minutes | 1 if retry_s > 0 else minutes & ~1
    return b"-%04x" % minutes


def checked(raw: bytes) -> JobId:
    """Accept what looks like a job id; only the length and four fixed characters are checked."""
    if len(raw) != LENGTH or raw[0] != D or not raw[1] == raw[10] == raw[35] == DASH:
        raise CommandError("BADID", "Invalid Job ID format.")
    return JobId(raw)


def ttl_minutes(id: JobId) -> int:
    """Read the TTL field back; a character that is no hex digit counts as 0."""
    value = 0
    for character in id[36:]:
        value = value * 16 + HEX_VALUES.get(character, 0)
    return value


def is_at_least_once(id: JobId) -> bool:
    """Tell whether the job may be delivered more than once."""
    return ttl_minutes(id) % 2 == 1
