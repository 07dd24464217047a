"""CLIENT: connections as seen, named, silenced, paused and closed by their users.

LIST and INFO need what the sockets know, so they are asks. KILL decides here and leaves the
closing to the shell: a victim runs no further command from this moment on, and whoever kills
itself gets the reply first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from disque.commands.frontend import Frontend
from disque.commands.options import integer, timeout_ms
from disque.commands.replies import nil
from disque.commands.session import (
    ON_ANSWER,
    ON_QUEUES,
    ON_REPLICATION,
    REPLY_OFF,
    REPLY_ON,
    REPLY_SKIP,
    Session,
)
from disque.model.asks import CloseClient, DescribeClients, PauseClients, Result
from disque.model.errors import CommandError, SyntaxProblem, shown
from disque.model.facts import ClientFacts, ClientsFacts
from disque.wire import resp

__all__ = ["NAME_BYTES_MAX", "answer_clients", "check_name", "client", "line"]

# Names are kept as long as the connection, outside of what `maxmemory` counts.
NAME_BYTES_MAX: Final = 512

FIRST_PRINTABLE: Final = ord("!")
LAST_PRINTABLE: Final = ord("~")


def client(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes | None:
    """CLIENT subcommand [argument ...]."""
    form = FORMS.get(argv[1].lower())
    if form is None or not form.takes(len(argv)):
        raise CommandError(
            "ERR",
            "Syntax error, try CLIENT (LIST | KILL ip:port | GETNAME | SETNAME connection-name)",
        )
    return form.run(front, session, argv, now_ms)


def answer_clients(front: Frontend, ask: DescribeClients, result: Result, now_ms: int) -> bytes:
    """Write the reply to CLIENT LIST or CLIENT INFO, ordered by id."""
    assert isinstance(result, ClientsFacts)
    lines: list[bytes] = []
    for client_id in sorted(front.sessions):
        facts = result.clients.get(client_id)
        # A session without a socket is one that is being taken down.
        if facts is not None and ask.only in (0, client_id):
            lines.append(line(front.sessions[client_id], facts, now_ms) + b"\n")
    return resp.bulk(b"".join(lines))


def line(session: Session, facts: ClientFacts, now_ms: int) -> bytes:
    """Describe a connection in one line, without its end.

    The library is the last field and only there if it told its name, because scripts that read the
    list know the line without it.
    """
    described = (
        b"id=%d addr=%b fd=%d name=%b age=%d idle=%d flags=%b qbuf=%d qbuf-free=%d "
        b"obl=%d oll=%d omem=%d events=%b cmd=%b"
    ) % (
        session.id,
        session.address,
        facts.fd,
        session.name,
        max(now_ms - session.connected_ms, 0) // 1_000,
        max(now_ms - session.last_active_ms, 0) // 1_000,
        _flags(session),
        facts.input_bytes,
        facts.input_free_bytes,
        facts.output_bytes,
        facts.output_chunks,
        facts.output_memory_bytes,
        facts.events,
        session.last_command,
    )
    if session.library_name:
        described += b" lib-name=%b lib-ver=%b" % (session.library_name, session.library_version)
    return described


def check_name(name: bytes) -> None:
    """Refuse names that cannot be shown in one word; the empty name is fine."""
    _check_word(name, "Client names")


@final
class Filter:
    """What CLIENT KILL looks for: every condition that was given must hold."""

    __slots__ = ("address", "has_id", "id", "skip_me")

    def __init__(self) -> None:
        self.has_id = False
        self.id = 0
        self.address: bytes | None = None
        self.skip_me = True

    def matches(self, killer: Session, target: Session) -> bool:
        """Tell whether `target` is to be closed."""
        if target.is_closing or (self.skip_me and target is killer):
            return False
        if self.has_id and target.id != self.id:
            return False
        return self.address is None or target.address == self.address


def _check_word(raw: bytes, what: str) -> None:
    """Refuse what would confuse the readers of a line of CLIENT LIST; `what` begins the error."""
    if len(raw) > NAME_BYTES_MAX:
        raise CommandError("ERR", f"{what} cannot be longer than {NAME_BYTES_MAX} bytes.")
    if raw and (min(raw) < FIRST_PRINTABLE or max(raw) > LAST_PRINTABLE):
        raise CommandError("ERR", f"{what} cannot contain spaces, newlines or special characters.")


def _flags(session: Session) -> bytes:
    flags = b""
    if session.is_monitor:
        flags += b"O"
    if session.waits in (ON_QUEUES, ON_REPLICATION):
        flags += b"b"
    if session.is_closing:
        flags += b"c"
    if session.is_unix:
        flags += b"U"
    return flags or b"N"


def _list(front: Frontend, session: Session, _argv: list[bytes], _now_ms: int) -> None:
    front.node.effects.asks.append(DescribeClients(session.id, 0))
    session.waits = ON_ANSWER


def _info(front: Frontend, session: Session, _argv: list[bytes], _now_ms: int) -> None:
    front.node.effects.asks.append(DescribeClients(session.id, session.id))
    session.waits = ON_ANSWER


def _id(_front: Frontend, session: Session, _argv: list[bytes], _now_ms: int) -> bytes:
    return resp.integer(session.id)


def _get_name(_front: Frontend, session: Session, _argv: list[bytes], _now_ms: int) -> bytes:
    return resp.bulk(session.name) if session.name else nil(session.protocol)


def _set_name(_front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    check_name(argv[2])
    session.name = argv[2]
    return resp.OK


def _set_info(_front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    attribute = argv[2].lower()
    if attribute not in (b"lib-name", b"lib-ver"):
        raise CommandError("ERR", f"Unrecognized option '{shown(argv[2])}'")
    _check_word(argv[3], shown(attribute))
    if attribute == b"lib-name":
        session.library_name = argv[3]
    else:
        session.library_version = argv[3]
    return resp.OK


def _on_or_off(_front: Frontend, _session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    """Accept what Redis clients set and Disque has no use for."""
    if argv[2].lower() not in (b"on", b"off"):
        raise SyntaxProblem
    return resp.OK


def _reply(_front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes | None:
    mode = argv[2].lower()
    if mode == b"on":
        session.reply_mode = REPLY_ON
        return resp.OK
    if mode == b"off":
        session.reply_mode = REPLY_OFF
    elif mode == b"skip":
        # This command has no reply anyway; while nothing is answered there is nothing to skip.
        if session.reply_mode != REPLY_OFF:
            session.reply_mode = REPLY_SKIP
    else:
        raise SyntaxProblem
    return None


def _pause(front: Frontend, _session: Session, argv: list[bytes], now_ms: int) -> bytes:
    duration_ms = timeout_ms(argv[2])
    # The millisecond that has begun does not count, or the pause would be a part of it too short.
    until_ms = now_ms + duration_ms + 1
    if duration_ms and until_ms > front.paused_until_ms:
        front.paused_until_ms = until_ms
        front.node.effects.asks.append(PauseClients(until_ms))
    return resp.OK


def _kill(front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    if len(argv) == 2:
        raise SyntaxProblem
    if len(argv) == 3:
        return _kill_address(front, session, argv[2])
    wanted = _read_filter(argv)
    victims = [target for target in front.sessions.values() if wanted.matches(session, target)]
    for target in victims:
        _close(front, session, target)
    return resp.integer(len(victims))


def _kill_address(front: Frontend, session: Session, address: bytes) -> bytes:
    for target in front.sessions.values():
        if target.address == address and not target.is_closing:
            _close(front, session, target)
            return resp.OK
    raise CommandError("ERR", "No such client")


def _read_filter(argv: list[bytes]) -> Filter:
    if len(argv) % 2 == 1:
        raise SyntaxProblem
    wanted = Filter()
    for position in range(2, len(argv), 2):
        option, value = argv[position].lower(), argv[position + 1]
        if option == b"id":
            wanted.has_id = True
            wanted.id = integer(value)
        elif option == b"addr":
            wanted.address = value
        elif option == b"type":
            # Every client is normal: there is no other class.
            if value.lower() != b"normal":
                raise CommandError("ERR", f"Unknown client type '{shown(value)}'")
        elif option == b"skipme":
            if value.lower() not in (b"yes", b"no"):
                raise SyntaxProblem
            wanted.skip_me = value.lower() == b"yes"
        else:
            raise SyntaxProblem
    return wanted


def _close(front: Frontend, killer: Session, target: Session) -> None:
    target.is_closing = True
    # The killer's own connection ends by itself, once the reply has left.
    if target is not killer:
        front.node.effects.asks.append(CloseClient(target.id))


@final
class ClientForm:
    """A subcommand: its code, and how many words the whole command has."""

    __slots__ = ("longest", "run", "shortest")

    def __init__(
        self,
        shortest: int,
        longest: int,
        run: Callable[[Frontend, Session, list[bytes], int], bytes | None],
    ) -> None:
        self.shortest = shortest
        self.longest = longest
        self.run = run

    def takes(self, words: int) -> bool:
        """Tell whether a command of so many words can be meant."""
        return self.shortest <= words <= self.longest


# KILL says itself what is wrong with its arguments.
ANY_LENGTH: Final = 2**31 - 1

FORMS: Final = {
    b"getname": ClientForm(2, 2, _get_name),
    b"id": ClientForm(2, 2, _id),
    b"info": ClientForm(2, 2, _info),
    b"kill": ClientForm(2, ANY_LENGTH, _kill),
    b"list": ClientForm(2, 2, _list),
    b"no-evict": ClientForm(3, 3, _on_or_off),
    b"no-touch": ClientForm(3, 3, _on_or_off),
    b"pause": ClientForm(3, 3, _pause),
    b"reply": ClientForm(3, 3, _reply),
    b"setinfo": ClientForm(4, 4, _set_info),
    b"setname": ClientForm(3, 3, _set_name),
}
