"""Run in the background, and tell whoever started us how that went.

`daemonize yes` forks twice, so that the server belongs to no terminal and is nobody's child. The
process the user started stays behind at the end of a pipe and ends when start-up has ended:

    user's process ----- reads the pipe ------------> exit 0, or print the sentence and exit 1
      `- intermediate (new session) -> exit
           `- server ---- start-up ---- "ready" ----> serves

so a busy port is a message and exit code 1 here as well, not a line in a log nobody looks at.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NoReturn, final

from disque.server.logs import Log

__all__ = ["Launch", "daemonize", "foreground", "remove_pid_file", "write_pid_file"]

READY: Final = b"\0"
REPORT_BYTES_MAX: Final = 65536


@final
class Launch:
    """The way to tell the process that waits for us, if there is one, how start-up ended."""

    __slots__ = ("_pipe", "is_daemon")

    def __init__(self, pipe: int, *, is_daemon: bool) -> None:
        self._pipe = pipe
        self.is_daemon = is_daemon

    def ready(self) -> None:
        """Start-up succeeded."""
        self._report(READY)

    def failed(self, sentence: str) -> None:
        """Start-up failed; the sentence is for stderr of whoever started us."""
        if self._pipe == -1:
            print(sentence, file=sys.stderr, flush=True)  # noqa: T201 - the user looks here
        else:
            self._report(sentence.encode("utf-8", "backslashreplace"))

    def _report(self, report: bytes) -> None:
        if self._pipe == -1:
            return
        pipe, self._pipe = self._pipe, -1
        try:
            os.write(pipe, report)
        except BrokenPipeError:
            pass  # whoever waited gave up; the server goes on
        finally:
            os.close(pipe)


def foreground(*, is_daemon: bool = False) -> Launch:
    """Stay where we are. `is_daemon`: we went to the background in an earlier life."""
    return Launch(-1, is_daemon=is_daemon)


def daemonize() -> Launch:
    """Return in a background process; the calling process waits there and ends in here."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        os.waitpid(child, 0)
        _wait_for_start(reading)
    os.close(reading)
    os.setsid()
    if os.fork():
        os._exit(0)
    _detach_stdio()
    return Launch(writing, is_daemon=True)


def write_pid_file(path: Path, log: Log) -> None:
    """Note the process id, best effort: a server runs without it."""
    try:
        path.write_text(f"{os.getpid()}\n", encoding="ascii")
    except OSError as error:
        log.warning("Can't write the pid file", path=path, reason=error.strerror)


def remove_pid_file(path: Path, log: Log) -> None:
    """Remove what `write_pid_file` left, unless another server has put its own number there."""
    try:
        if path.exists() and path.read_bytes() == b"%d\n" % os.getpid():
            path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("Can't remove the pid file", path=path, reason=error.strerror)


def _wait_for_start(pipe: int) -> NoReturn:
    report = b""
    while len(report) < REPORT_BYTES_MAX and (chunk := os.read(pipe, REPORT_BYTES_MAX)):
        report += chunk
    if report == READY:
        os._exit(0)
    sentence = report or b"The server ended while it was starting; its log may say why."
    os.write(2, sentence + b"\n")
    os._exit(1)


def _detach_stdio() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > 2:
        os.close(null)
