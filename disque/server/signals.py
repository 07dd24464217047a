"""SIGTERM and SIGINT end the server in an orderly way; SIGHUP and SIGPIPE do nothing.

The handlers are installed with `signal.signal`, not with the loop: they then run between two steps
of the interpreter even while the loop is busy or asleep on purpose (DEBUG SLEEP), so a second
SIGINT ends a server that does not get around to stopping.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import final

from disque.server.logs import Log

__all__ = ["StopSignals", "exit_at_once_on_signals", "exit_on_signals", "ignore_signals"]


def exit_on_signals() -> None:
    """Until there is something to shut down, SIGTERM and SIGINT simply end the process."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit)


def exit_at_once_on_signals() -> None:
    """Between two lives of the server nothing is left to shut down, and nobody to catch an exit."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit_at_once)


@final
class StopSignals:
    """Turns the first SIGTERM or SIGINT into a call of `stop`, which must be quick."""

    __slots__ = ("_interrupts", "_log", "_stop")

    def __init__(self, log: Log, stop: Callable[[], None]) -> None:
        self._log = log
        self._stop = stop
        self._interrupts = 0

    def install(self) -> None:
        """Take the signals over."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            self._interrupts += 1
            if self._interrupts > 1:
                self._log.warning(
                    "Received a second SIGINT: exiting at once, nothing is cleaned up"
                )
                os._exit(1)
        else:
            # Once is enough, and more could arrive faster than they are handled.
            signal.signal(number, signal.SIG_IGN)
        self._log.signal(signal.Signals(number).name)
        self._stop()


def ignore_signals() -> None:
    """Nothing is left to shut down: a signal now would only spoil the exit code."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _exit_at_once(number: int, frame: FrameType | None) -> None:
    os._exit(0)
