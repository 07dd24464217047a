"""`disque-server --test-memory`: write patterns into memory and see whether they stay."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["main"]

MEGABYTE: Final = 1 << 20
# Alternating bits, both ways, then all of them, then none.
PATTERNS: Final = (0xAA, 0x55, 0xFF, 0x00)
MEGABYTES_MAX: Final = 1 << 20


def main(words: list[str]) -> int:
    """Test as many megabytes as the only word says; return the exit code."""
    megabytes = _megabytes(words)
    if not 1 <= megabytes <= MEGABYTES_MAX:
        print("Please specify the amount of memory to test in megabytes.", file=sys.stderr)
        print("Example: disque-server --test-memory 1024", file=sys.stderr)
        return 1
    try:
        memory = [bytearray(MEGABYTE) for _ in range(megabytes)]
    except MemoryError:
        print(f"There is no room for {megabytes} MB.", file=sys.stderr)
        return 1
    for pattern in PATTERNS:
        print(f"Writing and reading {pattern:#04x} in {megabytes} MB...", flush=True)
        bad = _first_difference(memory, bytes([pattern]) * MEGABYTE)
        if bad >= 0:
            print(f"Memory error in megabyte {bad}: this machine's RAM is broken.", file=sys.stderr)
            return 1
    print("Your memory passed this test.")
    return 0


def _megabytes(words: list[str]) -> int:
    try:
        (word,) = words
        return int(word)
    except ValueError:
        # Not one word, or no number.
        return 0


def _first_difference(memory: list[bytearray], expected: bytes) -> int:
    """Fill everything first, so that caches do not answer for the memory; -1 if all is well."""
    for block in memory:
        block[:] = expected
    for place, block in enumerate(memory):
        if block != expected:
            return place
    return -1
