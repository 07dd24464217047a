"""Where we answer differently from the original on purpose, reply by reply.

Each entry names one request and one reply of transcripts.md and what we answer instead. A test
fails if an entry is not used, so the list cannot outlive its reasons.
"""

from __future__ import annotations

from typing import Final

from disque.commands.table import COMMANDS
from tests.conformance.transcript import Difference

__all__ = ["DIFFERENCES", "PENDING"]

DIFFERENCES: Final = (
    Difference(
        section="S1",
        request='A> ["COMMAND","COUNT"]',
        original='A< ":32\\r\\n"',
        reply=f":{len(COMMANDS)}\r\n",
        reason="ECHO, SELECT and RESET exist so that today's Redis clients can connect",
    ),
    Difference(
        section="S15",
        request='A> ["BGREWRITEAOF"]',
        original='A< "+Background append only file rewriting started\\r\\n"',
        reply="-ERR BGREWRITEAOF is not available in this version\r\n",
        reason="there is no append only file yet",
    ),
)

# Sections that are not replayed yet, and why.
PENDING: Final = {
    "S17": "needs three nodes that replicate to each other",
    "S18": "needs three nodes that replicate to each other",
    "S19": "needs three nodes that replicate to each other",
}
