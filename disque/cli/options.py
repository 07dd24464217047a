"""What may stand between `disque` and the command: options, their values and the usage text.

Options end at the first word that does not start with a dash, so that the arguments of a command
are never mistaken for options (`disque qpeek q -1`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from disque.cli.connection import Address
from disque.cli.formatting import CSV, JSON, RAW, STANDARD

__all__ = ["USAGE", "Options", "UsageError", "parse_options"]

USAGE: Final = """\
Usage: disque [options] [command [argument ...]]

Sends one command to a Disque node and prints the reply. Without a command it reads commands
from the terminal, with completion and history, or line by line from standard input.

Where to connect
  -h host               host name or address (127.0.0.1)
  -p port               port (7711)
  -s socket             path of a Unix socket, instead of host and port
  -a password           authenticate; better: the environment variable DISQUECLI_AUTH
  -u url                disque://[:password@]host[:port]

How to run the command
  -r count              repeat it; a negative count repeats until interrupted
  -i seconds            wait between repetitions, as in 0.1; also the pace of --stat and others
  -x                    take the last argument from standard input
  -X word               put standard input in the place of this argument
  -e                    exit with status 1 when the server answers an error

How to print the reply
  --raw                 payloads as they are; the default when the output is not a terminal
  --no-raw              readable, with types; the default on a terminal
  --csv                 comma separated values
  --json                one JSON value per line
  -d delimiter          what separates array items with --raw (a newline)

Instead of a command
  --latency             measure how long PING takes, continuously
  --latency-history     the same, with a new line every 15 seconds (or -i)
  --intrinsic-latency seconds
                        measure how long this machine keeps a busy program waiting
  --stat                print the vital numbers of the node every second (or -i)
  --scan                list the queues of the node
  --pattern pattern     with --scan, only queues that match, as in 'mail*'
  --longest             list the longest queues of the node (also: --bigkeys)
  --pipe                send commands in the Redis protocol from standard input at full speed
  --pipe-timeout seconds
                        give up when the last replies take longer (30; 0 waits for ever)

  --help                print this and exit (also: -h as the last argument)
  -v, --version         print the version and exit

Examples
  disque addjob mail 'Hello Ann' 0 RETRY 60
  disque getjob TIMEOUT 5000 FROM mail
  disque -X BODY addjob reports BODY 0 < report.pdf
  disque --json show D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1
  disque -r -1 -i 1 qlen mail
  disque --pipe < commands.resp
  disque help addjob
"""

# 31 years: nobody waits longer, and every clock can still count them.
SECONDS_MAX: Final = 1e9

# Options of the Redis client that make no sense here, and what does.
REFUSED: Final[Mapping[str, str]] = {
    "-n": "there are no numbered databases; jobs are kept apart by the names of their queues",
    "-c": "nodes never redirect; any node of the cluster serves any queue",
    "--slave": "there are no replicas of a whole node; use MONITOR to follow what a node executes",
    "--rdb": "there are no RDB files; use BGREWRITEAOF and copy the append only file",
    "--eval": "there are no scripts; pipe commands into disque, one per line",
}


class UsageError(Exception):
    """The command line cannot be understood."""


@dataclass
class Options:
    """The command line, understood."""

    address: Address = field(default_factory=Address)
    password: bytes | None = None
    # None: once, or in the modes that go on until interrupted, for ever.
    repeat: int | None = None
    interval_s: float | None = None
    # One of: command help version latency latency-history intrinsic-latency stat scan longest pipe
    mode: str = "command"
    # Empty: raw unless the output is a terminal.
    style: str = ""
    delimiter: bytes = b"\n"
    is_last_from_stdin: bool = False
    stdin_word: bytes | None = None
    is_error_fatal: bool = False
    pattern: bytes | None = None
    pipe_timeout_s: float = 30.0
    intrinsic_s: float = 0.0
    words: list[bytes] = field(default_factory=list)


def parse_options(arguments: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Understand the command line, or raise UsageError."""
    options = Options()
    # Set but empty is what scripts make of a variable that is not set.
    if environment.get("DISQUECLI_AUTH"):
        options.password = os.fsencode(environment["DISQUECLI_AUTH"])
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        name = arguments[position]
        position += 1
        if name == "--":
            break
        if name == "-h" and position == len(arguments):
            options.mode = "help"
        elif name in REFUSED:
            raise UsageError(f"Option '{name}' does not exist in Disque: {REFUSED[name]}.")
        elif name in _SWITCHES:
            attribute, setting = _SWITCHES[name]
            setattr(options, attribute, setting)
        elif name in _VALUES and position < len(arguments):
            _VALUES[name](options, arguments[position])
            position += 1
        else:
            raise UsageError(f"Unrecognized option or bad number of args for: '{name}'")
    options.words = [os.fsencode(word) for word in arguments[position:]]
    _check(options)
    return options


def _check(options: Options) -> None:
    """Refuse combinations in which something would be ignored silently."""
    if options.mode in ("help", "version"):
        return
    if options.mode != "command" and options.words:
        word = os.fsdecode(options.words[0])
        raise UsageError(f"'--{options.mode}' takes no command, but '{word}' was given.")
    if options.is_last_from_stdin and not options.words:
        raise UsageError("'-x' needs a command whose last argument it reads.")
    if options.stdin_word is not None and options.stdin_word not in options.words:
        word = os.fsdecode(options.stdin_word)
        raise UsageError(f"'-X {word}' needs a command with the argument '{word}'.")
    if options.pattern is not None and options.mode != "scan":
        raise UsageError("'--pattern' only makes sense with '--scan'.")


def _seconds(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    # A comparison with "not a number" is false.
    if not 0 <= number <= SECONDS_MAX:
        raise UsageError(f"Option '{name}' takes a number of seconds, not '{value}'.")
    return number


def _integer(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"Option '{name}' takes a whole number, not '{value}'.") from None


def _port(name: str, value: str) -> int:
    port = _integer(name, value)
    if not 0 < port < 65536:
        raise UsageError(f"Option '{name}' takes a port between 1 and 65535, not '{value}'.")
    return port


def _set_host(options: Options, value: str) -> None:
    options.address = replace(options.address, host=value)


def _set_port(options: Options, value: str) -> None:
    options.address = replace(options.address, port=_port("-p", value))


def _set_socket(options: Options, value: str) -> None:
    options.address = replace(options.address, socket_path=value)


def _set_password(options: Options, value: str) -> None:
    options.password = os.fsencode(value)


def _set_url(options: Options, value: str) -> None:
    # Imported here because few command lines need it and every start pays for it.
    from urllib.parse import unquote_to_bytes, urlsplit  # noqa: PLC0415

    try:
        url = urlsplit(value)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise UsageError(f"Option '-u' takes a URL, not '{value}': {error}.") from None
    if url.scheme != "disque" or not host or url.path.strip("/") or url.query or url.fragment:
        raise UsageError(f"Option '-u' takes disque://[:password@]host[:port], not '{value}'.")
    options.address = Address(host, 7711 if port is None else _port("-u", str(port)))
    if url.password is not None:
        options.password = unquote_to_bytes(url.password)


def _set_repeat(options: Options, value: str) -> None:
    options.repeat = _integer("-r", value)


def _set_interval(options: Options, value: str) -> None:
    options.interval_s = _seconds("-i", value)


def _set_delimiter(options: Options, value: str) -> None:
    options.delimiter = os.fsencode(value)


def _set_stdin_word(options: Options, value: str) -> None:
    options.stdin_word = os.fsencode(value)


def _set_pattern(options: Options, value: str) -> None:
    options.pattern = os.fsencode(value)


def _set_pipe_timeout(options: Options, value: str) -> None:
    options.pipe_timeout_s = _seconds("--pipe-timeout", value)


def _set_intrinsic(options: Options, value: str) -> None:
    options.intrinsic_s = _seconds("--intrinsic-latency", value)
    options.mode = "intrinsic-latency"


_SWITCHES: Final[Mapping[str, tuple[str, str | bool]]] = {
    "-x": ("is_last_from_stdin", True),
    "-e": ("is_error_fatal", True),
    "--raw": ("style", RAW),
    "--no-raw": ("style", STANDARD),
    "--csv": ("style", CSV),
    "--json": ("style", JSON),
    "--latency": ("mode", "latency"),
    "--latency-history": ("mode", "latency-history"),
    "--stat": ("mode", "stat"),
    "--scan": ("mode", "scan"),
    "--longest": ("mode", "longest"),
    "--bigkeys": ("mode", "longest"),
    "--pipe": ("mode", "pipe"),
    "--help": ("mode", "help"),
    "-v": ("mode", "version"),
    "--version": ("mode", "version"),
}

_VALUES: Final[Mapping[str, Callable[[Options, str], None]]] = {
    "-h": _set_host,
    "-p": _set_port,
    "-s": _set_socket,
    "-a": _set_password,
    "-u": _set_url,
    "-r": _set_repeat,
    "-i": _set_interval,
    "-d": _set_delimiter,
    "-X": _set_stdin_word,
    "--pattern": _set_pattern,
    "--pipe-timeout": _set_pipe_timeout,
    "--intrinsic-latency": _set_intrinsic,
}
