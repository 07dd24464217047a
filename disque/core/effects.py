"""What a step of the node wants done to the world.

Handlers append, nothing is called back. The order of the lists is the order in which the shell
carries them out: a record reaches the journal before any message or reply that promises it.
"""

from __future__ import annotations

from typing import Final, final

from disque.model.asks import Ask
from disque.model.job import NodeId
from disque.model.messages import Message
from disque.model.records import Record
from disque.model.replies import Reply

__all__ = ["Effects", "Note"]


@final
class Note:
    """Something worth a log line. `level` is one of debug, verbose, notice, warning."""

    __slots__ = ("level", "text")

    def __init__(self, level: str, text: str) -> None:
        self.level = level
        self.text = text


@final
class Effects:
    """Output of the state machines, drained once per turn.

    `is_journaling` False means that nobody keeps a journal: machines then do not spend time on
    records that would be thrown away.
    """

    __slots__ = ("asks", "is_journaling", "journal", "notes", "outbox", "replies")

    DRAIN_ORDER: Final = ("journal", "outbox", "replies", "asks", "notes")

    def __init__(self) -> None:
        self.is_journaling = False
        self.journal: list[Record] = []
        self.outbox: list[tuple[NodeId, Message]] = []
        self.replies: list[Reply] = []
        self.asks: list[Ask] = []
        self.notes: list[Note] = []
