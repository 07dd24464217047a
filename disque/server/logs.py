r"""What the server tells its operator, one line per event.

An event is a sentence and facts: `log.notice("Client connected", address="127.0.0.1:40000")`.
It leaves in one of two styles:

* text, the default: `<pid>:<role> <dd Mon HH:MM:SS.mmm> <mark> <sentence> <key=value ...>`. The
  role is `C` until the server has its sockets, then `P`; the mark is `.` debug, `-` verbose,
  `*` notice, `#` warning. Harnesses search for these lines.
* json: one object per line with `ts`, `level`, `pid`, `event` and the facts, rendered by structlog.

structlog costs a tenth of a second to import, as much as the rest of the start together, so it is
imported with the first JSON line; text lines are put together here.

Clients decide what appears in many a sentence, so every character that a terminal or a log
reader could take for structure is escaped: one event is one line. A message has at most 1024 bytes.

The log file is opened for each line, so rotating it needs no signal. A line that cannot be written
is counted, not raised: a full disk must not stop a queue that lives in memory.
"""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Final, Protocol, final

__all__ = ["LEVELS", "MESSAGE_BYTES_MAX", "FileSink", "Log", "Sink", "StreamSink", "SyslogSink"]

# From chatty to important; `loglevel` names the least important that is written.
LEVELS: Final = ("debug", "verbose", "notice", "warning")
MARKS: Final = {"debug": ".", "verbose": "-", "notice": "*", "warning": "#"}
# The bound of the original, and short enough for syslog daemons that allow 1 KiB.
MESSAGE_BYTES_MAX: Final = 1024
CUT: Final = "..."
STDOUT: Final = 1

Renderer = Callable[[None, str, dict[str, object]], str | bytes]


class Sink(Protocol):
    """Where lines go."""

    def write(self, level: str, message: bytes, line: bytes) -> None:
        """Take one event: the bare message, and the whole line with its end."""
        ...


@final
class StreamSink:
    """An open descriptor, normally stdout.

    Whoever reads it may stop reading without going away. A line that would have to wait for that
    is lost: a server must not stand still because nobody looks at its log.
    """

    __slots__ = ("_descriptor", "_readiness")

    def __init__(self, descriptor: int = STDOUT) -> None:
        self._descriptor = descriptor
        # A pipe that is ready takes 4096 bytes, and a line is shorter.
        self._readiness = select.poll()
        self._readiness.register(descriptor, select.POLLOUT)

    def write(self, level: str, message: bytes, line: bytes) -> None:
        """Write the line, if it can leave at once."""
        if not self._readiness.poll(0):
            raise BlockingIOError(errno.EAGAIN, "nobody reads the log")
        os.write(self._descriptor, line)

    def is_same_as(self, descriptor: int) -> bool:
        """Tell whether whoever reads the descriptor reads these lines as well."""
        return os.path.sameopenfile(self._descriptor, descriptor)


@final
class FileSink:
    """A file that may be moved away at any moment; the next line starts a new one."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def write(self, level: str, message: bytes, line: bytes) -> None:
        """Append the line."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


@final
class SyslogSink:
    """The system log; it adds time and identity itself, so it gets the bare message."""

    __slots__ = ("_module", "_priorities")

    def __init__(self, ident: str, facility: str) -> None:
        import syslog  # noqa: PLC0415 - few servers use it, and every start would pay

        facilities = {"user": syslog.LOG_USER}
        facilities |= {f"local{n}": syslog.LOG_LOCAL0 + (n << 3) for n in range(8)}
        self._module: ModuleType = syslog
        self._priorities = {
            "debug": syslog.LOG_DEBUG,
            "verbose": syslog.LOG_INFO,
            "notice": syslog.LOG_NOTICE,
            "warning": syslog.LOG_WARNING,
        }
        syslog.openlog(ident, syslog.LOG_PID | syslog.LOG_NDELAY, facilities[facility.lower()])

    def write(self, level: str, message: bytes, line: bytes) -> None:
        """Hand the message on."""
        self._module.syslog(self._priorities[level], message.decode())


@final
class Log:
    """The server's log; `level` and `style` may change at any time."""

    __slots__ = ("_now_ns", "_render", "_sinks", "_threshold", "lost_lines", "role", "style")

    def __init__(
        self,
        sinks: list[Sink],
        *,
        level: str = "notice",
        style: str = "text",
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._sinks = sinks
        self._now_ns = now_ns
        self._render: Renderer | None = None
        self._threshold = LEVELS.index(level)
        self.style = style
        self.role = "C"
        self.lost_lines = 0

    @property
    def level(self) -> str:
        """The least important level that is written."""
        return LEVELS[self._threshold]

    @level.setter
    def level(self, level: str) -> None:
        self._threshold = LEVELS.index(level)

    def is_seen_at(self, descriptor: int) -> bool:
        """Tell whether lines appear at an open descriptor, such as that of a terminal."""
        return any(
            isinstance(sink, StreamSink) and sink.is_same_as(descriptor) for sink in self._sinks
        )

    def debug(self, sentence: str, **facts: object) -> None:
        """Say what only a developer wants to know."""
        self.write("debug", sentence, facts)

    def verbose(self, sentence: str, **facts: object) -> None:
        """Say what is rarely useful."""
        self.write("verbose", sentence, facts)

    def notice(self, sentence: str, **facts: object) -> None:
        """Say what an operator wants to know."""
        self.write("notice", sentence, facts)

    def warning(self, sentence: str, **facts: object) -> None:
        """Say what an operator must know."""
        self.write("warning", sentence, facts)

    def write(self, level: str, sentence: str, facts: Mapping[str, object]) -> None:
        """Write one event of the given level."""
        if LEVELS.index(level) < self._threshold:
            return
        message = _limited(_message(sentence, facts)).encode()
        now_ns = self._now_ns()
        if self.style == "json":
            line = self._json_line(level, sentence, facts, now_ns)
        else:
            stamp = time.strftime("%d %b %H:%M:%S", time.localtime(now_ns // 1_000_000_000))
            millisecond = now_ns // 1_000_000 % 1_000
            head = f"{os.getpid()}:{self.role} {stamp}.{millisecond:03} {MARKS[level]} "
            line = head.encode() + message + b"\n"
        self._pass_on(level, message, line)

    def signal(self, name: str) -> None:
        """Say that a signal asks the server to stop, in the form harnesses look for."""
        sentence = f"Received {name} scheduling shutdown..."
        now_ns = self._now_ns()
        if self.style == "json":
            line = self._json_line("warning", sentence, {}, now_ns)
        else:
            seconds = now_ns // 1_000_000_000
            line = f"{os.getpid()}:signal-handler ({seconds}) {sentence}\n".encode()
        self._pass_on("warning", sentence.encode(), line)

    def _json_line(
        self, level: str, sentence: str, facts: Mapping[str, object], now_ns: int
    ) -> bytes:
        if self._render is None:
            from structlog.processors import JSONRenderer  # noqa: PLC0415 - see the module docstring

            self._render = JSONRenderer()
        seconds, rest_ns = divmod(now_ns, 1_000_000_000)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        event: dict[str, object] = {
            "ts": f"{stamp}.{rest_ns // 1_000_000:03}Z",
            "level": level,
            "pid": os.getpid(),
            "event": _limited(sentence),
        }
        for key, value in facts.items():
            event.setdefault(
                key, value if isinstance(value, int | float) else _limited(_text(value))
            )
        rendered = self._render(None, level, event)
        return (rendered.encode() if isinstance(rendered, str) else rendered) + b"\n"

    def _pass_on(self, level: str, message: bytes, line: bytes) -> None:
        for sink in self._sinks:
            try:
                sink.write(level, message, line)
            except OSError:
                self.lost_lines += 1


def _message(sentence: str, facts: Mapping[str, object]) -> str:
    if facts:
        sentence = " ".join((sentence, *(f"{key}={_text(facts[key])}" for key in facts)))
    return sentence if sentence.isprintable() else _escaped(sentence)


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _escaped(text: str) -> str:
    r"""Show characters that are not printable, surrogates included, as \xHH or \uHHHH.

    >>> print(_escaped("one\ntwo\x1b[0m"))
    one\ntwo\x1b[0m
    """
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape", "backslashreplace").decode("ascii")
        for character in text
    )


def _limited(text: str) -> str:
    """Cut the text so that it has at most `MESSAGE_BYTES_MAX` bytes."""
    encoded = text.encode("utf-8", "backslashreplace")
    if len(encoded) <= MESSAGE_BYTES_MAX:
        return encoded.decode()
    return encoded[: MESSAGE_BYTES_MAX - len(CUT)].decode("utf-8", "ignore") + CUT
