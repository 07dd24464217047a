"""From a request to its reply.

`run` works through a session's requests in order until one has to wait, the turn's share is used
up, or the replies pile up. Each request passes the gates of the specification in their order;
which error wins is part of what clients see.
"""

from __future__ import annotations

from disque.commands import replies
from disque.commands.connection import monitor_line
from disque.commands.frontend import Entry, Frontend
from disque.commands.redaction import redacted
from disque.commands.session import FREE, ON_ANSWER, Session
from disque.model.errors import CommandError, shown
from disque.model.limits import COMMANDS_PER_TURN_MAX, UNSENT_BYTES_MAX
from disque.model.replies import Reply
from disque.wire import resp

__all__ = ["connect", "deliver", "disconnect", "finish", "run"]

# Commands that decide about authentication themselves.
OPEN_COMMANDS = frozenset((b"auth", b"hello"))


def connect(front: Frontend, session: Session) -> None:
    """A client arrived."""
    front.sessions[session.id] = session
    front.traffic.connections_received += 1
    front.node.memory.clients += 1


def disconnect(front: Frontend, session: Session, now_ms: int) -> None:
    """A client left; whatever it waited for is given up."""
    session.is_closing = True
    session.backlog.clear()
    front.monitors.pop(session.id, None)
    if front.sessions.pop(session.id, None) is not None:
        front.node.memory.clients -= 1
    front.node.client_gone(session.id, now_ms)


def run(front: Frontend, session: Session, now_ms: int) -> None:
    """Run the waiting requests of a session, as far as this turn allows."""
    backlog = session.backlog
    stopwatch_ns = front.stopwatch_ns
    node = front.node
    started_ns = stopwatch_ns()
    executed = 0
    while backlog and session.waits == FREE and not session.is_closing:
        if executed == COMMANDS_PER_TURN_MAX or session.out_bytes > UNSENT_BYTES_MAX:
            break
        if now_ms < front.paused_until_ms:
            break
        argv = backlog.popleft()
        executed += 1
        entry = front.entries.get(argv[0])
        if entry is None:
            entry = front.entries.get(argv[0].lower())
        try:
            if entry is None:
                reply = refuse_unknown(session, argv)
            else:
                if has_gates(front, entry, argv):
                    pass_gates(front, session, entry, argv, now_ms)
                session.last_command = entry.command.name
                reply = entry.handler(front, session, argv, now_ms)
        except CommandError as problem:
            reply = replies.error(problem)
        if reply is not None:
            session.send(reply)
        if node.requeue.ready:
            node.serve_ready(now_ms)
        ended_ns = stopwatch_ns()
        if entry is not None and session.waits != ON_ANSWER:
            account(front, entry, argv, ended_ns - started_ns, now_ms)
        started_ns = ended_ns
    front.traffic.note_commands(executed, now_ms)
