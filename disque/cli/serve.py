"""`disque-server`: read the configuration, then serve."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import disque
from disque.commands.table import COMMANDS
from disque.model.settings import Settings
from disque.server import app
from disque.server.daemon import Launch, daemonize, foreground
from disque.server.facts import read_build_facts
from disque.server.logs import FileSink, Log, Sink, StreamSink, SyslogSink
from disque.server.signals import exit_on_signals
from disque.wire import conf

__all__ = ["main"]

STDIN: Final = "-"

HELP: Final = """\
Usage: disque-server [config-file | -] [--directive value ...] ...
       disque-server --config file [--directive value ...] ...
       disque-server -v | --version
       disque-server -h | --help
       disque-server --test-memory <megabytes>

Without a configuration file the defaults apply: port 7711 on every interface, no
persistence, data files in the current directory. `-` reads the configuration from
standard input. Every directive of the file can be given on the command line, where
it overrides the file.

Examples:
  disque-server                                      the defaults
  disque-server /etc/disque/disque.conf              a configuration file
  disque-server --config disque.conf                 the same
  disque-server --port 7712 --dir /var/lib/disque    another port and directory
  disque-server disque.conf --loglevel verbose       a file, and one directive changed
  echo 'maxmemory 2gb' | disque-server -             from standard input

Then try:  disque -p 7711 ADDJOB myqueue hello 0
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the server; return the exit code of the process."""
    words = sys.argv[1:] if arguments is None else arguments
    first = words[0] if words else ""
    if first in ("-v", "--version"):
        print(_version())
        return 0
    if first in ("-h", "--help"):
        print(HELP, end="")
        return 0
    if first == "--test-memory":
        # Imported on demand: nobody who starts a server needs it.
        from disque.cli.memorytest import main as test_memory  # noqa: PLC0415

        return test_memory(words[1:])
    exit_on_signals()
    _open_standard_streams()
    try:
        plan = _read_plan(words, _current_directory())
    except conf.ConfigError as error:
        print(error.report, file=sys.stderr, flush=True)
        return 1
    if not words:
        plan.log.warning(
            "No config file specified, using the default config. To use one: "
            "disque-server /path/to/disque.conf"
        )
    return app.run(plan, _launch(plan.settings))


def _open_standard_streams() -> None:
    """Let what we were started without lead to nowhere.

    Otherwise the first socket would get the number of standard output, and the log with it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is given, which is this one.
            os.open(os.devnull, os.O_RDWR)
    # These stay open until the process ends.
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _current_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a str, as execv's directory is
    except OSError as error:
        raise conf.UnusableDirectoryError(".", error.strerror or str(error)) from error


def _read_plan(words: list[str], started_in: str) -> app.Plan:
    settings = Settings()
    config_file, directives = conf.split_command_line(words)
    # What comes through a pipe or a device can be neither read again nor rewritten.
    is_kept = config_file not in (None, STDIN) and Path(config_file).is_file()
    # Resolved now, because `dir` moves the process.
    absolute = str(Path(config_file).absolute()) if config_file and is_kept else ""
    reader = conf.load(
        settings,
        config_file,
        directives,
        _read_file,
        _change_directory,
        [command.name for command in COMMANDS],
    )
    settings.dir = str(Path.cwd())
    log = Log(_sinks(settings, reader), level=settings.loglevel, style=settings.log_format)
    is_restartable = config_file is None or is_kept
    return app.Plan(settings, absolute, log, started_in=started_in, is_restartable=is_restartable)


def _read_file(path: str) -> bytes:
    try:
        if path != STDIN:
            return Path(path).read_bytes()
        if sys.stdin is not None:
            return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        raise conf.UnreadableFileError(path) from error
    # Whoever asks for standard input and gives none does not want the defaults.
    raise conf.UnreadableFileError(path)


def _change_directory(path: str) -> None:
    try:
        os.chdir(path)
    except OSError as error:
        raise conf.UnusableDirectoryError(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise conf.UnusableDirectoryError(path, str(error)) from error


def _sinks(settings: Settings, reader: conf.ConfigReader) -> list[Sink]:
    """Open the places the log goes to: a file or stdout, and the system log on demand."""
    sinks: list[Sink] = []
    if settings.logfile:
        # Resolved once: a later CONFIG SET dir does not move the log.
        path = Path.cwd() / settings.logfile
        try:
            path.open("ab").close()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise reader.problem("logfile", f"Can't open the log file: {reason}") from error
        sinks.append(FileSink(str(path)))
    elif not settings.daemonize:
        sinks.append(StreamSink())
    if settings.syslog_enabled:
        sinks.append(SyslogSink(settings.syslog_ident, settings.syslog_facility))
    return sinks


def _launch(settings: Settings) -> Launch:
    if not settings.daemonize:
        return foreground()
    if os.environ.pop(app.RESTARTED_VARIABLE, ""):
        return foreground(is_daemon=True)
    return daemonize()


def _version() -> str:
    build = read_build_facts("uvloop")
    bits = 64 if sys.maxsize > 2**32 else 32
    return (
        f"Disque server v={disque.__version__} sha={build.git_sha1.decode()}:0 malloc=python "
        f"bits={bits} build={build.build_id.decode()}"
    )


if __name__ == "__main__":
    sys.exit(main())
