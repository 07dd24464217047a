"""Commands about the connection itself, among them all that Redis clients say when they connect.

HELLO is two commands. Without arguments it lists the nodes of the cluster, as it always did in
Disque. With a number it is the handshake of Redis clients: it chooses the protocol version and may
authenticate and name the connection on the way. It is let through before authentication for the
sake of the latter, so it asks for the password itself where it is due.

In protocol 3 only HELLO and COMMAND DOCS (and CONFIG GET) answer maps, and absent values are
`_`; everything else keeps its shape, because client libraries for Disque expect arrays.
"""

from __future__ import annotations

import hmac
from typing import Final

from disque import __version__
from disque.commands.client import check_name
from disque.commands.cluster import node_list
from disque.commands.frontend import Entry, Frontend
from disque.commands.options import integer, integer_or_none
from disque.commands.redaction import redacted
from disque.commands.replies import nil
from disque.commands.session import ON_ANSWER, REPLY_ON, Session
from disque.commands.shortening import shortened
from disque.model.asks import ReadWallClock, Result, WallClock
from disque.model.errors import CommandError, shown
from disque.wire import resp
from disque.wire.words import quote

__all__ = [
    "answer_time",
    "auth",
    "command",
    "echo",
    "hello",
    "monitor",
    "monitor_line",
    "ping",
    "reset",
    "select",
    "time",
]

# There are no user accounts: everybody is the user Redis clients call by this name.
DEFAULT_USER: Final = b"default"
# Of a monitored command, so that a line stays below what a monitor may lag behind.
MONITORED_ARGUMENTS_MAX: Final = 1_000
MONITORED_BYTES_MAX: Final = 16_384
# The first version that had these commands is the first one there was.
SINCE: Final = b"0.1.0"


def auth(front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    """AUTH [user] password."""
    if len(argv) > 3:
        raise CommandError("ERR", "wrong number of arguments for 'auth' command")
    if len(argv) == 2:
        if not _authenticate(front, session, argv[1]):
            raise CommandError("ERR", "invalid password")
        return resp.OK
    _authenticate_user(front, session, argv[1], argv[2])
    return resp.OK


def ping(_front: Frontend, _session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    """PING [message]."""
    if len(argv) > 2:
        raise CommandError("ERR", "wrong number of arguments for 'ping' command")
    if len(argv) == 2:
        return resp.bulk(argv[1])
    return resp.simple(b"PONG")


def echo(_front: Frontend, _session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    """ECHO message."""
    return resp.bulk(argv[1])


def select(_front: Frontend, _session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    """SELECT 0: there is one database, so to speak."""
    if integer(argv[1]) != 0:
        raise CommandError("ERR", "DB index is out of range")
    return resp.OK


def reset(front: Frontend, session: Session, _argv: list[bytes], _now_ms: int) -> bytes:
    """RESET: be as if just connected."""
    front.monitors.pop(session.id, None)
    front.gates_changed()
    session.is_monitor = False
    session.is_authenticated = False
    session.name = b""
    session.library_name = b""
    session.library_version = b""
    session.protocol = 2
    session.reply_mode = REPLY_ON
    return resp.simple(b"RESET")


def time(front: Frontend, session: Session, _argv: list[bytes], _now_ms: int) -> None:
    """TIME: ask for the wall clock, which is not the clock timers run by."""
    front.node.effects.asks.append(ReadWallClock(session.id))
    session.waits = ON_ANSWER


def answer_time(result: Result) -> bytes:
    """Tell seconds, and microseconds of that second."""
    assert isinstance(result, WallClock)
    seconds, microseconds = divmod(result.now_us, 1_000_000)
    return resp.array([resp.bulk(b"%d" % seconds), resp.bulk(b"%d" % microseconds)])


def monitor(front: Frontend, session: Session, _argv: list[bytes], _now_ms: int) -> bytes:
    """MONITOR: from now on see every command that is executed."""
    session.is_monitor = True
    front.monitors[session.id] = session
    front.gates_changed()
    return resp.OK


def monitor_line(session: Session, argv: list[bytes], now_ms: int, name: bytes = b"") -> bytes:
    """Encode what monitors see of a command; `name` is its original name if it was renamed."""
    seconds, milliseconds = divmod(now_ms, 1_000)
    address = session.address
    if session.is_unix:
        address = b"unix:" + address.removesuffix(b":0")
    arguments = shortened(redacted(argv, name), MONITORED_ARGUMENTS_MAX, MONITORED_BYTES_MAX)
    quoted = b" ".join([quote(argument) for argument in arguments])
    # Quoting leaves no line break in the arguments, but a socket's path may have one.
    shown_address = address.replace(b"\r", b" ").replace(b"\n", b" ")
    return b"+%d.%06d [%b] %b\r\n" % (seconds, milliseconds * 1_000, shown_address, quoted)


def hello(front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    """HELLO, or HELLO version [AUTH user password] [SETNAME name]."""
    if len(argv) == 1:
        _require_authentication(front, session)
        return node_list(front)
    version = integer_or_none(argv[1])
    if version is None:
        raise CommandError("ERR", "Protocol version is not an integer or out of range")
    if version not in (2, 3):
        raise CommandError("NOPROTO", "unsupported protocol version")
    user_at, name_at = _read_hello_options(argv)
    if name_at:
        # Before anything takes effect: HELLO does all it was told, or nothing.
        check_name(argv[name_at])
    if user_at:
        _authenticate_user(front, session, argv[user_at], argv[user_at + 1])
    _require_authentication(front, session)
    if name_at:
        session.name = argv[name_at]
    session.protocol = version
    return _map(
        session,
        [
            (b"server", resp.bulk(b"disque")),
            (b"version", resp.bulk(__version__.encode())),
            (b"proto", resp.integer(version)),
            (b"id", resp.integer(session.id)),
            # Not "cluster", from which Redis clients would conclude that keys have slots.
            (b"mode", resp.bulk(b"standalone")),
            (b"role", resp.bulk(b"master")),
            (b"modules", resp.EMPTY_ARRAY),
        ],
    )


def command(front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    """COMMAND, COMMAND COUNT | DOCS [name ...] | INFO [name ...] | LIST."""
    if len(argv) == 1:
        return resp.array([_described(entry) for entry in front.table])
    subcommand = argv[1].lower()
    if subcommand == b"info":
        absent = nil(session.protocol)
        found = [front.entries.get(name.lower()) for name in argv[2:]]
        return resp.array([_described(entry) if entry else absent for entry in found])
    if subcommand == b"docs":
        return _docs(front, session, argv[2:])
    if subcommand == b"count" and len(argv) == 2:
        return resp.integer(len(front.table))
    if subcommand == b"list" and len(argv) == 2:
        return resp.array([resp.bulk(entry.command.name) for entry in front.table])
    raise CommandError("ERR", "Unknown subcommand or wrong number of arguments.")


def _authenticate(front: Frontend, session: Session, password: bytes) -> bool:
    """Compare in constant time. Who guesses wrong is unknown again, even if known before."""
    expected = front.settings.requirepass
    if not expected:
        raise CommandError("ERR", "Client sent AUTH, but no password is set")
    session.is_authenticated = hmac.compare_digest(password, expected)
    return session.is_authenticated


def _authenticate_user(front: Frontend, session: Session, user: bytes, password: bytes) -> None:
    if not _authenticate(front, session, password) or user != DEFAULT_USER:
        session.is_authenticated = False
        raise CommandError(
            "WRONGPASS", "invalid password or user name (the only user is 'default')"
        )


def _require_authentication(front: Frontend, session: Session) -> None:
    if front.settings.requirepass and not session.is_authenticated:
        raise CommandError("NOAUTH", "Authentication required.")


def _read_hello_options(argv: list[bytes]) -> tuple[int, int]:
    """Find the user (the password follows it) and the name; 0 where there is none."""
    user_at, name_at = 0, 0
    position = 2
    while position < len(argv):
        option, values = argv[position].lower(), len(argv) - position - 1
        if option == b"auth" and values >= 2:
            user_at = position + 1
            position += 3
        elif option == b"setname" and values >= 1:
            name_at = position + 1
            position += 2
        else:
            raise CommandError("ERR", f"Syntax error in HELLO option '{shown(argv[position])}'")
    return user_at, name_at


def _described(entry: Entry) -> bytes:
    """Encode an entry of COMMAND; nothing here is a key, so the positions of keys are zeros."""
    described = entry.command
    zero = resp.integer(0)
    return resp.array(
        [
            resp.bulk(described.name),
            resp.integer(described.arity),
            resp.array([resp.simple(flag) for flag in described.flags]),
            zero,
            zero,
            zero,
        ]
    )


def _docs(front: Frontend, session: Session, names: list[bytes]) -> bytes:
    """Document the named commands once each, or all; names nobody knows are left out."""
    # The reply is a map, and a million times the same name need not take as many texts.
    entries: dict[bytes, Entry] = {}
    for name in names:
        entry = front.entries.get(name.lower())
        if entry is not None:
            entries[entry.name] = entry
    documented = list(entries.values()) if names else front.table
    return _map(session, [(entry.command.name, _doc(session, entry)) for entry in documented])


def _doc(session: Session, entry: Entry) -> bytes:
    described = entry.command
    return _map(
        session,
        [
            (b"summary", resp.bulk(described.summary.encode())),
            (b"since", resp.bulk(SINCE)),
            (b"group", resp.bulk(described.group.encode())),
            (b"arity", resp.integer(described.arity)),
        ],
    )


def _map(session: Session, pairs: list[tuple[bytes, bytes]]) -> bytes:
    """Encode names and encoded values: a map in protocol 3, a flat array before."""
    flat: list[bytes] = []
    for name, value in pairs:
        flat.append(resp.bulk(name))
        flat.append(value)
    if session.protocol == 3:
        return resp.map_header3(len(pairs)) + b"".join(flat)
    return resp.array(flat)
