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
    started_in = os.getcwd()  # noqa: PTH109 - a str, as execv's directory is
    try:
        plan = _read_plan(words, started_in)
    except conf.ConfigError as error:
        print(error.report, file=sys.stderr, flush=True)
        return 1
    if not words:
        plan.log.warning(
            "No config file specified, using the default config. To use one: "
            "disque-server /path/to/disque.conf"
        )
    return app.run(plan, _launch(plan.settings))


def _read_plan(words: list[str], started_in: str) -> app.Plan:
    settings = Settings()
    config_file, directives = conf.split_command_line(words)
    is_from_stdin = config_file == STDIN
    # Resolved now, because `dir` moves the process.
    absolute = str(Path(config_file).absolute()) if config_file and not is_from_stdin else ""
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
    return app.Plan(
        settings, absolute, log, started_in=started_in, is_restartable=not is_from_stdin
    )


def _read_file(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise conf.UnreadableFileError(path) from error


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
