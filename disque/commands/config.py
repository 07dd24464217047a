"""CONFIG: read and change the settings of a running server.

Most settings are memory alone and count from the moment CONFIG SET answers. A few reach into the
world (`dir`, `maxclients`, the logs). These are checked here, then the world is asked to follow,
and only if it can does the new value replace the old one:

    CONFIG SET dir x  --checked-->  Apply  --Done---->  stored, +OK
                                           --Failed-->  nothing changed, -ERR

An `Apply` carries the value as it will be stored: words in lower case, paths absolute.
"""

from __future__ import annotations

from typing import Final

from disque.commands.frontend import Frontend
from disque.commands.session import ON_ANSWER, Session
from disque.model.asks import Apply, Done, Failed, Result, RewriteConfig
from disque.model.directive_table import BY_NAME, READABLE
from disque.model.directives import APPLIED, Directive
from disque.model.errors import CommandError, shown
from disque.model.settings import Settings, SettingsError, UnavailableError
from disque.wire import glob, resp

__all__ = ["PATTERN_BYTES_MAX", "VALUE_BYTES_MAX", "answer_apply", "answer_rewrite", "config"]

# A pattern is compared with every name, byte by byte. The longest name has 29 bytes, and a class of
# letters for each of them is still shorter than this.
PATTERN_BYTES_MAX: Final = 256
# As long as a path may be; no other value comes near.
VALUE_BYTES_MAX: Final = 4_096


def config(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes | None:
    """CONFIG GET pattern | SET name value | RESETSTAT | REWRITE."""
    subcommand = argv[1].lower()
    if subcommand == b"get":
        _require_arguments(argv, 3)
        return _get(front.settings, argv[2], session.protocol)
    if subcommand == b"set":
        _require_arguments(argv, 4)
        return _set(front, session, argv[2], argv[3])
    if subcommand == b"resetstat":
        _require_arguments(argv, 2)
        return _reset_statistics(front)
    if subcommand == b"rewrite":
        _require_arguments(argv, 2)
        front.node.effects.asks.append(RewriteConfig(session.id))
        session.waits = ON_ANSWER
        return None
    raise CommandError("ERR", "CONFIG subcommand must be one of GET, SET, RESETSTAT, REWRITE")


def answer_apply(
    front: Frontend, session: Session, ask: Apply, result: Result, now_ms: int
) -> bytes:
    """Let the value count now that the world has followed, or tell why it could not.

    The reason of a failure is what the system says; for `maxclients` it is the number of clients
    that would be possible.
    """
    if isinstance(result, Failed):
        raise CommandError("ERR", _refusal(ask.name, result.reason))
    assert isinstance(result, Done), "an Apply is answered by Done or Failed"
    directive = BY_NAME[ask.name.encode("ascii")]
    directive.change(front.settings, ask.values[0])
    front.settings_changed()
    return resp.OK


def answer_rewrite(
    front: Frontend, session: Session, ask: RewriteConfig, result: Result, now_ms: int
) -> bytes:
    """Tell how the rewrite went. A failure without a reason means that there is no file."""
    if isinstance(result, Failed):
        if not result.reason:
            raise CommandError("ERR", "The server is running without a config file")
        raise CommandError("ERR", f"Rewriting config file: {result.reason}")
    assert isinstance(result, Done), "a RewriteConfig is answered by Done or Failed"
    return resp.OK


def _require_arguments(argv: list[bytes], count: int) -> None:
    if len(argv) != count:
        raise CommandError("ERR", f"Wrong number of arguments for CONFIG {shown(argv[1])}")


def _get(settings: Settings, pattern: bytes, protocol: int) -> bytes:
    if len(pattern) > PATTERN_BYTES_MAX:
        raise CommandError("ERR", f"The pattern is longer than {PATTERN_BYTES_MAX} bytes")
    lowered = pattern.lower()
    parts: list[bytes] = []
    for directive in READABLE:
        name = directive.name.encode("ascii")
        if glob.matches(lowered, name):
            parts.append(resp.bulk(name))
            parts.append(resp.bulk(directive.shown(settings)))
    if protocol == 3:
        return resp.map_header3(len(parts) // 2) + b"".join(parts)
    return resp.array(parts)


def _set(front: Frontend, session: Session, name: bytes, value: bytes) -> bytes | None:
    directive = BY_NAME.get(name.lower())
    if directive is None or not directive.is_settable():
        raise CommandError("ERR", f"Unsupported CONFIG parameter: {shown(name)}")
    settings = front.settings
    if directive.access == APPLIED:
        # Try it on a copy of what matters: a relative `dir` starts where we are.
        settings = Settings()
        settings.dir = front.settings.dir
    try:
        _change(directive, settings, value)
    except UnavailableError as unavailable:
        raise CommandError("ERR", unavailable.message) from unavailable
    except SettingsError as error:
        sentence = f"Invalid argument '{shown(value)}' for CONFIG SET '{shown(name)}'"
        raise CommandError("ERR", sentence) from error
    if directive.access == APPLIED:
        ask = Apply(session.id, directive.name, directive.written(settings))
        front.node.effects.asks.append(ask)
        session.waits = ON_ANSWER
        return None
    front.settings_changed()
    return resp.OK


def _change(directive: Directive, settings: Settings, value: bytes) -> None:
    if len(value) > VALUE_BYTES_MAX:
        # Half a gigabyte is not taken apart to find that it is nonsense.
        raise SettingsError("too long")
    directive.change(settings, value)


def _reset_statistics(front: Frontend) -> bytes:
    for entry in front.table:
        entry.calls = 0
        entry.nanoseconds = 0
    front.traffic.reset()
    return resp.OK


def _refusal(name: str, reason: str) -> str:
    if name == "dir":
        return f"Changing directory: {reason}"
    if name == "maxclients":
        return (
            "The operating system is not able to handle the specified number of clients, "
            f"try with {reason}"
        )
    return f"Changing {name}: {reason}"
