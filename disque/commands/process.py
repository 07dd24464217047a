"""SHUTDOWN, and the commands about the append only file."""

from __future__ import annotations

from typing import NoReturn

from disque.commands.frontend import Frontend
from disque.commands.session import ON_ANSWER, Session
from disque.model.asks import Failed, Result, Shutdown
from disque.model.errors import CommandError, SyntaxProblem

__all__ = ["answer_shutdown", "bgrewriteaof", "loadjob", "shutdown"]


def shutdown(front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> None:
    """SHUTDOWN: nothing is answered if it works, because nobody is left to answer."""
    if len(argv) > 2:
        raise SyntaxProblem
    if len(argv) == 2:
        if argv[1].lower() == b"rewrite-aof":
            raise CommandError("ERR", "SHUTDOWN REWRITE-AOF is not available in this version")
        raise SyntaxProblem
    front.node.effects.asks.append(Shutdown(session.id))
    session.waits = ON_ANSWER


def answer_shutdown(result: Result) -> None:
    """Say that the server goes on; why it had to is in its log."""
    if isinstance(result, Failed):
        raise CommandError("ERR", "Errors trying to SHUTDOWN. Check logs.")


def bgrewriteaof(_front: Frontend, _session: Session, _argv: list[bytes], _now_ms: int) -> NoReturn:
    """BGREWRITEAOF: refused while there is no append only file."""
    raise CommandError("ERR", "BGREWRITEAOF is not available in this version")


def loadjob(_front: Frontend, _session: Session, _argv: list[bytes], _now_ms: int) -> NoReturn:
    """LOADJOB: a record of the append only file, never a request."""
    raise CommandError("ERR", "LOADJOB is a special command only processed from AOF")
