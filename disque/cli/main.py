"""`disque`, the command line client.

    disque [options] [command [argument ...]]

Options decide what happens: one command and its printed reply, a shell, or one of the modes
that measure, watch, list and transfer. The exit status is 0 unless the node cannot be reached,
the conversation breaks off, or (with -e) the server answers an error.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from disque import __version__
from disque.cli.connection import ConnectError, Connection, ConnectionLostError
from disque.cli.options import USAGE, Options, UsageError, parse_options
from disque.cli.output import Output, complain
from disque.cli.session import Session

__all__ = ["main", "run"]

# What shells report for a program that died of the signal.
_INTERRUPTED: Final = 128 + 2
_BROKEN_PIPE: Final = 128 + 13


def main() -> int:
    """Run the command line of this process and answer its exit status."""
    if sys.stdin is None or sys.stdout is None:
        complain("Error: standard input and output must be open.")
        return 1
    try:
        return run(sys.argv[1:], os.environ)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does.
        _forget_stdout()
        return _BROKEN_PIPE
    except OSError as error:
        # What is left are our own files: a full disk below our output, a directory as input.
        _forget_stdout()
        complain(f"Error: {error.strerror or error}")
        return 1


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Carry out a command line."""
    try:
        options = parse_options(arguments, environment)
    except UsageError as error:
        complain(str(error))
        return 1
    output = Output.for_options(options, environment)
    if options.mode == "help":
        output.text(USAGE)
        return 0
    if options.mode == "version":
        output.line(f"disque {__version__}")
        return 0
    session = Session(Connection(options.address, options.password), output)
    try:
        return _MODES[options.mode](session, options)
    except ConnectError as error:
        complain(str(error))
    except ConnectionLostError as error:
        complain(f"Error: {error}")
    finally:
        session.connection.close()
    return 1


def _run_command(session: Session, options: Options) -> int:
    if not options.words:
        return _run_shell(session, options)
    if options.words[0].lower() in (b"help", b"?"):
        from disque.cli.helptext import help_text  # noqa: PLC0415

        topic = [os.fsdecode(word) for word in options.words[1:]]
        session.output.text(help_text(topic, is_coloured=session.output.is_terminal))
        return 0
    argv = _with_stdin(options)
    session.connect()
    try:
        return _repeat(session, argv, options)
    except KeyboardInterrupt:
        # There is no other way to end MONITOR.
        return 0 if argv[0].lower() == b"monitor" else _INTERRUPTED


def _repeat(session: Session, argv: list[bytes], options: Options) -> int:
    left = 1 if options.repeat is None else options.repeat
    while left != 0:
        if session.connection.is_stale():
            session.connect()
        if not session.execute(argv) and options.is_error_fatal:
            return 1
        left -= 1
        if left != 0 and options.interval_s:
            time.sleep(options.interval_s)
    return 0


def _forget_stdout() -> None:
    """Keep Python from flushing a broken stream once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _with_stdin(options: Options) -> list[bytes]:
    """Put standard input into the command if that was asked for."""
    if options.is_last_from_stdin:
        return [*options.words, sys.stdin.buffer.read()]
    if options.stdin_word is not None:
        body = sys.stdin.buffer.read()
        return [body if word == options.stdin_word else word for word in options.words]
    return options.words


# Each mode imports what it needs, so that the plain command starts quickly.
def _run_shell(session: Session, options: Options) -> int:
    from disque.cli.interactive import run_script, run_terminal  # noqa: PLC0415

    if sys.stdin.isatty() and session.output.is_terminal:
        return run_terminal(session)
    return run_script(session, is_error_fatal=options.is_error_fatal)


def _run_latency(session: Session, options: Options) -> int:
    from disque.cli.latency import measure_latency  # noqa: PLC0415

    session.connect()
    return measure_latency(session.connection, session.output, options)


def _run_intrinsic_latency(session: Session, options: Options) -> int:
    from disque.cli.latency import measure_intrinsic_latency  # noqa: PLC0415

    return measure_intrinsic_latency(session.output, options.intrinsic_s)


def _run_stat(session: Session, options: Options) -> int:
    from disque.cli.stat import show_statistics  # noqa: PLC0415

    session.connect()
    return show_statistics(session.connection, session.output, options)


def _run_scan(session: Session, options: Options) -> int:
    from disque.cli.scan import ScanError, list_longest, list_queues  # noqa: PLC0415

    session.connect()
    try:
        if options.mode == "longest":
            return list_longest(session.connection, session.output)
        return list_queues(session.connection, session.output, options.pattern)
    except ScanError as error:
        complain(f"Error: {error}")
        return 1


def _run_pipe(session: Session, options: Options) -> int:
    from disque.cli.pipe import Pipe  # noqa: PLC0415

    session.connect()
    timeout_s = options.pipe_timeout_s
    return Pipe(session.connection, sys.stdin.fileno(), session.output, timeout_s).run()


_MODES: Final[Mapping[str, Callable[[Session, Options], int]]] = {
    "command": _run_command,
    "latency": _run_latency,
    "latency-history": _run_latency,
    "intrinsic-latency": _run_intrinsic_latency,
    "stat": _run_stat,
    "scan": _run_scan,
    "longest": _run_scan,
    "pipe": _run_pipe,
}


if __name__ == "__main__":
    sys.exit(main())
