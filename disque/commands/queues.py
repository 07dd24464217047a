"""QLEN, QPEEK, QSTAT, QSCAN and PAUSE: commands about queues."""

from __future__ import annotations

from itertools import islice
from typing import Final

from disque.commands import replies
from disque.commands.frontend import Frontend
from disque.commands.options import integer
from disque.commands.scanning import read_scan
from disque.commands.session import Session
from disque.core.queues import NOT_PAUSED, PAUSE_NAMES, PAUSED_ALL, PAUSED_IN, PAUSED_OUT, Queue
from disque.core.scan import scan
from disque.model.errors import SyntaxProblem
from disque.wire import resp

__all__ = ["pause", "qlen", "qpeek", "qscan", "qstat"]

PAUSE_WORDS: Final = {b"in": PAUSED_IN, b"out": PAUSED_OUT, b"all": PAUSED_ALL}


def qlen(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """QLEN queue: how many jobs are queued here."""
    queue = front.node.queues.get(argv[1])
    return resp.integer(len(queue.jobs) if queue is not None else 0)


def qpeek(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """QPEEK queue count: the oldest jobs, or with a negative count the youngest."""
    count = integer(argv[2])
    queue = front.node.queues.get(argv[1])
    if queue is None or count == 0:
        return resp.EMPTY_ARRAY
    ordered = iter(queue.jobs) if count > 0 else queue.jobs.youngest_first()
    return replies.jobs(list(islice(ordered, min(abs(count), len(queue.jobs)))))


def qstat(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """QSTAT queue: everything this node knows of a queue."""
    queue = front.node.queues.get(argv[1])
    if queue is None:
        return replies.nil_array(session.protocol)
    return replies.queue_facts(queue, now_ms)


def qscan(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """QSCAN [cursor] [option ...]: walk over the queues of this node."""
    bounds: dict[bytes, int] = {}

    def read_own(word: bytes, value: bytes) -> bool:
        if word not in (b"MINLEN", b"MAXLEN", b"IMPORTRATE"):
            return False
        bounds[word] = integer(value)
        return True

    def is_wanted(queue: Queue) -> bool:
        length = len(queue.jobs)
        return (
            length >= bounds.get(b"MINLEN", length)
            and length <= bounds.get(b"MAXLEN", length)
            and (b"IMPORTRATE" not in bounds or queue.import_rate(now_ms) >= bounds[b"IMPORTRATE"])
        )

    page = read_scan(argv, read_own)
    cursor, found = scan(front.node.queues.table, page.cursor, page.count, is_wanted)
    names = resp.array([resp.bulk(queue.name) for queue in found])
    return resp.array([resp.bulk(b"%d" % cursor), names])


def pause(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """PAUSE queue option ...: replace the pause state, or show it; reply with the result."""
    node = front.node
    paused = NOT_PAUSED
    is_change = is_broadcast = False
    for word in argv[2:]:
        lowered = word.lower()
        if lowered in PAUSE_WORDS:
            paused |= PAUSE_WORDS[lowered]
            is_change = True
        elif lowered == b"none":
            paused = NOT_PAUSED
            is_change = True
        elif lowered == b"bcast":
            is_broadcast = True
        elif lowered != b"state":
            raise SyntaxProblem
    if is_change:
        node.pause(argv[1], paused, now_ms)
    if is_broadcast:
        node.broadcast_pause(argv[1])
    queue = node.queues.get(argv[1])
    return resp.simple(PAUSE_NAMES[queue.paused if queue is not None else NOT_PAUSED])
