"""From a request to its reply.

`run` works through a session's requests in order until one has to wait, the turn's share is used
up, or the replies pile up. Each request passes the gates of the specification in their order;
which error wins is part of what clients see:

    QUIT, unknown name, arity  ->  password  ->  memory  ->  journal  ->  loading  ->  monitors

Nearly every command meets no gate but arity and memory, so those two are asked for first, in one
condition, and the others only if `Frontend.is_guarded` says that there is one.

A mistake of ours must not take the server down: whatever a handler raises that is no
`CommandError` is answered as an internal error, counted, and left in the notes with its story.
"""

from __future__ import annotations

import traceback
from typing import Final

from disque.commands import replies
from disque.commands.answers import answer
from disque.commands.connection import monitor_line
from disque.commands.frontend import Entry, Frontend
from disque.commands.session import FREE, ON_ANSWER, Session
from disque.core.effects import Note
from disque.core.node import OUT_OF_MEMORY
from disque.model.asks import Ask, Result
from disque.model.errors import CommandError, shown
from disque.model.limits import COMMANDS_PER_TURN_MAX, TURN_NS_MAX, UNSENT_BYTES_MAX
from disque.model.replies import Reply
from disque.wire import resp

__all__ = ["connect", "deliver", "disconnect", "finish", "run"]

# Commands that decide about authentication themselves.
OPEN_COMMANDS: Final = frozenset((b"auth", b"hello"))
# A browser that was tricked into posting to this port says one of these; no client does.
HTTP_WORDS: Final = frozenset((b"post", b"host:"))
# One line a minute tells enough, and nobody can fill the log.
HTTP_NOTE_EVERY_MS: Final = 60_000
# Commands that take less are only counted; 512 of them fit into a turn.
NOTICED_NS: Final = 20_000
# A limit that the memory in use always exceeds, so that commands must pass the gates; and none.
CLOSED: Final = -1
OPEN: Final = 0
# An error quotes this much of a name nobody knows.
NAME_BYTES_MAX: Final = 128


def connect(front: Frontend, session: Session) -> None:
    """A client arrived."""
    front.sessions[session.id] = session
    front.traffic.connections_received += 1
    front.node.memory.note_client()


def disconnect(front: Frontend, session: Session, now_ms: int) -> None:
    """A client left; whatever it waited for is given up."""
    session.is_closing = True
    session.backlog.clear()
    if front.monitors.pop(session.id, None) is not None:
        front.gates_changed()
    if front.sessions.pop(session.id, None) is not None:
        front.node.memory.forget_client()
        front.node.client_gone(session.id, now_ms)


# One function on purpose: a call per request would cost a tenth of the throughput.
def run(front: Frontend, session: Session, now_ms: int) -> None:  # noqa: C901, PLR0912, PLR0915
    """Run the waiting requests of a session, as far as this turn allows."""
    may_run = session.waits == FREE and not session.is_closing and now_ms >= front.paused_until_ms
    if not may_run:
        return
    backlog = session.backlog
    entries = front.entries
    node = front.node
    memory = node.memory
    account = memory.account
    ready = node.requeue.ready
    asks = node.effects.asks
    out = session.out
    stopwatch_ns = front.stopwatch_ns
    out_bytes = 0
    entry = front.table[0]
    handler = entry.handler
    limit_bytes = CLOSED
    noticed_ns = 0
    # Requests of a pipeline are mostly alike, and the parser lets such requests share their words.
    # What was found out about the one before then holds for this one; both are counted together.
    name = b""
    words = 0
    calls = 0
    begun_ns = group_ns = started_ns = stopwatch_ns()
    for _ in range(min(len(backlog), COMMANDS_PER_TURN_MAX)):
        argv = backlog.popleft()
        if argv[0] is not name or len(argv) != words:
            if calls:
                count(front, session, entry, calls, started_ns - group_ns)
                calls = 0
            group_ns = started_ns
            name = argv[0]
            words = len(argv)
            found = entries.get(name)
            if found is None:
                found = entries.get(name.lower())
            if found is None:
                words = 0
                session.send(refuse_unknown(front, session, name, now_ms))
                if session.is_closing:
                    break
                continue
            entry = found
            handler = entry.handler
            noticed_ns = min(front.slow_ns, NOTICED_NS)
            # From 75 % on a command that needs memory makes room, above 95 % each one does.
            if front.is_guarded or not entry.least <= words <= entry.most:
                limit_bytes = CLOSED
            elif entry.needs_room:
                limit_bytes = memory.tight_bytes or CLOSED
            else:
                # What takes no memory need not be asked again for each command of the kind.
                limit_bytes = CLOSED if account.used_bytes > memory.full_bytes else OPEN
            if not entry.is_fast:
                # It may open and close gates, even those of the command that follows.
                words = 0
        if limit_bytes and account.used_bytes > limit_bytes:
            refusal = pass_gates(front, session, entry, argv, now_ms)
            if refusal is not None:
                session.send(refusal)
                # The time it took belongs to no command that runs.
                refused_ns = stopwatch_ns()
                group_ns += refused_ns - started_ns
                started_ns = refused_ns
                continue
        try:
            reply = handler(front, session, argv, now_ms)
        except CommandError as problem:
            reply = replies.error(problem)
        except Exception as mistake:
            reply = own_up(front, entry, mistake)
        if reply is not None:
            if session.reply_mode:
                session.send(reply)
            else:
                out.append(reply)
                out_bytes += len(reply)
        if ready:
            node.serve_ready(now_ms)
        ended_ns = stopwatch_ns()
        # Whatever must happen before the next command leaves an ask or makes the session wait.
        if asks and session.waits == ON_ANSWER:
            session.asked = argv
            session.asked_ns = started_ns
            session.last_command = entry.name
            front.traffic.commands += 1
            break
        calls += 1
        duration_ns = ended_ns - started_ns
        started_ns = ended_ns
        if duration_ns >= noticed_ns:
            if duration_ns >= front.slow_ns:
                remember_slow(front, entry, argv, duration_ns, now_ms)
            if ended_ns - begun_ns > TURN_NS_MAX:
                break
        if asks or session.waits or session.is_closing or out_bytes > UNSENT_BYTES_MAX:
            break
    session.out_bytes += out_bytes
    account.note_peak()
    if calls:
        count(front, session, entry, calls, started_ns - group_ns)
    if session.protocol_error is not None and not backlog and session.waits == FREE:
        refuse_protocol(session)


def count(front: Frontend, session: Session, entry: Entry, calls: int, spent_ns: int) -> None:
    """Count commands of the same name that ran one after the other."""
    entry.calls += calls
    entry.nanoseconds += spent_ns
    front.traffic.commands += calls
    session.last_command = entry.name


def deliver(front: Frontend, reply: Reply) -> Session | None:
    """Pass on what the core says to a client that was blocked; return who may go on."""
    session = front.sessions.get(reply.client)
    if session is None:
        return None
    session.waits = FREE
    session.send(replies.encode(reply, session.protocol))
    return session


def finish(front: Frontend, session: Session, ask: Ask, result: Result, now_ms: int) -> None:
    """The world answered: reply, and let the session go on."""
    argv, session.asked = session.asked, []
    entry = front.entries.get(argv[0].lower())
    assert entry is not None, "only commands of the table ask"
    try:
        reply = answer(front, session, ask, result, now_ms)
    except Exception as mistake:
        reply = own_up(front, entry, mistake)
    session.waits = FREE
    if reply is not None:
        session.send(reply)
    tally(front, entry, argv, front.stopwatch_ns() - session.asked_ns, now_ms)


def pass_gates(
    front: Frontend, session: Session, entry: Entry, argv: list[bytes], now_ms: int
) -> bytes | None:
    """Return the error of the first gate that is closed; if all are open, tell the monitors."""
    try:
        check_gates(front, session, entry, argv, now_ms)
    except CommandError as problem:
        return replies.error(problem)
    if front.monitors:
        line = monitor_line(session, argv, now_ms, entry.name)
        for monitor in front.monitors.values():
            monitor.push(line)
    return None


def check_gates(
    front: Frontend, session: Session, entry: Entry, argv: list[bytes], now_ms: int
) -> None:
    """Refuse a command that may not run now."""
    if not entry.least <= len(argv) <= entry.most:
        sentence = f"wrong number of arguments for '{shown(entry.name)}' command"
        raise CommandError("ERR", sentence)
    must_authenticate = front.settings.requirepass and not session.is_authenticated
    if must_authenticate and entry.name not in OPEN_COMMANDS:
        raise CommandError("NOAUTH", "Authentication required.")
    if make_room(front, now_ms) > 1 and entry.needs_room:
        raise CommandError("OOM", OUT_OF_MEMORY)
    if front.write_error and (entry.command.is_write or entry.name == b"ping"):
        raise CommandError("MISCONF", f"Errors writing to the AOF file: {front.write_error}")
    if front.is_loading and not entry.command.is_loading:
        raise CommandError("LOADING", "Disque is loading the dataset in memory")


def make_room(front: Frontend, now_ms: int) -> int:
    """Evict what nobody will miss if memory is short; return the level afterwards."""
    node = front.node
    if node.memory.level() == 0:
        return 0
    started_ns = front.stopwatch_ns()
    level = node.make_room()
    spent_ms = (front.stopwatch_ns() - started_ns) // 1_000_000
    if 0 < front.settings.latency_monitor_threshold <= spent_ms:
        front.latency.record(b"eviction-cycle", spent_ms, now_ms // 1_000)
    return level


def refuse_unknown(front: Frontend, session: Session, name: bytes, now_ms: int) -> bytes:
    """Answer what is not in the table: QUIT, a browser's request, or a mistake."""
    lowered = name.lower()
    if lowered == b"quit":
        session.is_closing = True
        return resp.OK
    if lowered in HTTP_WORDS:
        # The body of the request would be run as commands.
        session.is_closing = True
        if now_ms - front.http_noted_ms >= HTTP_NOTE_EVERY_MS:
            front.http_noted_ms = now_ms
            sentence = f"HTTP request from {shown(session.address)}: connection closed"
            front.node.effects.notes.append(Note("warning", sentence))
    return resp.error("ERR", f"unknown command '{shown(name[:NAME_BYTES_MAX])}'")


def refuse_protocol(session: Session) -> None:
    """Tell what could not be understood, and end the conversation."""
    assert session.protocol_error is not None
    if not session.is_closing:
        session.send(resp.error(b"ERR", session.protocol_error))
        session.is_closing = True


def tally(front: Frontend, entry: Entry, argv: list[bytes], duration_ns: int, now_ms: int) -> None:
    """Count a command that ran, and remember it if it was slow."""
    entry.calls += 1
    entry.nanoseconds += duration_ns
    if duration_ns >= front.slow_ns:
        remember_slow(front, entry, argv, duration_ns, now_ms)


def remember_slow(
    front: Frontend, entry: Entry, argv: list[bytes], duration_ns: int, now_ms: int
) -> None:
    """Leave a trace in the slow log and among the latency samples, where the thresholds say so."""
    settings = front.settings
    slower_us = settings.slowlog_log_slower_than
    duration_us = duration_ns // 1_000
    unix_s = now_ms // 1_000
    if 0 <= slower_us <= duration_us:
        front.slowlog.add(argv, duration_us, unix_s, settings.slowlog_max_len, entry.name)
    threshold_ms = settings.latency_monitor_threshold
    duration_ms = duration_us // 1_000
    if 0 < threshold_ms <= duration_ms:
        event = b"fast-command" if entry.command.is_fast else b"command"
        front.latency.record(event, duration_ms, unix_s)


def own_up(front: Frontend, entry: Entry, mistake: Exception) -> bytes:
    """Answer for a mistake of ours; the story goes into the log."""
    front.internal_errors += 1
    notes = front.node.effects.notes
    notes.append(Note("warning", f"internal error in {shown(entry.name)}: {mistake!r}"))
    for line in "".join(traceback.format_exception(mistake)).splitlines():
        notes.append(Note("warning", line))
    return resp.error("ERR", "internal error, see the log of the server")
