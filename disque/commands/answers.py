"""Answers: the second half of every command that had to ask the world.

The shell carries an ask out and comes back here with the result; what is returned is the reply,
or None if there is none to send.
"""

from __future__ import annotations

from disque.commands import replies
from disque.commands.client import answer_clients
from disque.commands.cluster import answer_save
from disque.commands.config import answer_apply, answer_rewrite
from disque.commands.connection import answer_time
from disque.commands.diagnostics import answer_restart, answer_sleep
from disque.commands.frontend import Frontend
from disque.commands.info import answer_info
from disque.commands.process import answer_shutdown
from disque.commands.session import Session
from disque.model.asks import (
    Apply,
    Ask,
    DescribeClients,
    DescribeServer,
    ReadWallClock,
    Restart,
    Result,
    RewriteConfig,
    SaveNodes,
    Shutdown,
    Sleep,
)
from disque.model.errors import CommandError

__all__ = ["answer"]


def answer(
    front: Frontend, session: Session, ask: Ask, result: Result, now_ms: int
) -> bytes | None:
    """Write the reply of the command that asked; an error is a reply, too."""
    try:
        return _answer(front, session, ask, result, now_ms)
    except CommandError as problem:
        return replies.error(problem)


def _answer(
    front: Frontend, session: Session, ask: Ask, result: Result, now_ms: int
) -> bytes | None:
    if isinstance(ask, DescribeServer):
        return answer_info(front, ask, result, now_ms)
    if isinstance(ask, DescribeClients):
        return answer_clients(front, ask, result, now_ms)
    if isinstance(ask, Apply):
        return answer_apply(front, session, ask, result, now_ms)
    if isinstance(ask, RewriteConfig):
        return answer_rewrite(front, session, ask, result, now_ms)
    if isinstance(ask, ReadWallClock):
        return answer_time(result)
    if isinstance(ask, Sleep):
        return answer_sleep()
    # Somebody waits for SAVECONFIG, nobody for what the node saves by itself.
    if isinstance(ask, SaveNodes) and ask.client != 0:
        return answer_save(result)
    if isinstance(ask, Restart):
        answer_restart(result)
    elif isinstance(ask, Shutdown):
        answer_shutdown(result)
    # Crash does not come back, and nobody waits for what is left.
    return None
