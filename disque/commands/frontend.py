"""Everything the command layer shares: the node behind it and the books it keeps.

One `Frontend` per server. Handlers get it as their first argument; it owns what clients can see
but jobs do not care about: sessions, the command table with its statistics, the slow log, the
latency samples, who monitors, who is paused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from disque.commands.latency import LatencyMonitor
from disque.commands.session import Session
from disque.commands.slowlog import SlowLog
from disque.commands.table import Command
from disque.core.node import Node
from disque.core.stats import Traffic
from disque.model.asks import CloseClient
from disque.model.order import FetchOrder, JobOrder
from disque.model.settings import Settings
from disque.wire.requests import ARGUMENTS_MAX

__all__ = ["Entry", "Frontend", "Handler"]

# Three centuries: a threshold no command reaches.
NEVER_NS: Final = 10**19


@final
class Entry:
    """A command as this server offers it: its description, its code, and how often it ran.

    `least` and `most` are the numbers of words it takes, its name included.
    """

    __slots__ = (
        "calls",
        "command",
        "handler",
        "is_fast",
        "least",
        "most",
        "name",
        "nanoseconds",
        "needs_room",
    )

    def __init__(self, command: Command, handler: Handler) -> None:
        self.command = command
        self.handler = handler
        self.name = command.name
        self.needs_room: bool = command.is_deny_oom
        self.is_fast: bool = command.is_fast
        self.least: int = abs(command.arity)
        self.most: int = command.arity if command.arity > 0 else ARGUMENTS_MAX
        self.calls = 0
        self.nanoseconds = 0


@final
class Frontend:
    """The state of the command layer.

    `entries` finds a command by the name a client may use (after `rename-command`), in lower and
    upper case; `table` lists each command once, in table order.
    """

    __slots__ = (
        "entries",
        "http_noted_ms",
        "internal_errors",
        "is_guarded",
        "is_loading",
        "last_fetch",
        "last_getjob",
        "last_options",
        "last_order",
        "last_size",
        "latency",
        "monitors",
        "node",
        "paused_until_ms",
        "sessions",
        "settings",
        "slow_ns",
        "slowlog",
        "stopwatch_ns",
        "table",
        "traffic",
        "watches_clients",
        "write_error",
    )

    def __init__(self, node: Node, settings: Settings, stopwatch_ns: Callable[[], int]) -> None:
        self.node = node
        self.settings = settings
        self.stopwatch_ns = stopwatch_ns
        self.entries: dict[bytes, Entry] = {}
        self.table: list[Entry] = []
        self.sessions: dict[int, Session] = {}
        # Insertion-ordered, so that every monitor sees the same sequence.
        self.monitors: dict[int, Session] = {}
        self.slowlog = SlowLog()
        self.latency = LatencyMonitor()
        self.traffic = Traffic()
        self.paused_until_ms = 0
        # The options of the ADDJOB that was read last, for which size of the cluster, and how they
        # were understood.
        self.last_options: list[bytes] = []
        self.last_size = 0
        self.last_order = JobOrder(b"", b"", 0, 1, 0, 0)
        # The GETJOB that was read last, and how it was understood.
        self.last_getjob: list[bytes] = []
        self.last_fetch = FetchOrder()
        # The journal is being read: only commands flagged `loading` run.
        self.is_loading = False
        # Why the journal cannot be written; empty while it can.
        self.write_error = ""
        # Commands that failed because of a mistake of ours.
        self.internal_errors = 0
        # When the log last told of a browser.
        self.http_noted_ms = 0
        # Whether a command must pass any gate but those of its arity and of memory.
        self.is_guarded = False
        self.slow_ns = NEVER_NS
        # Whether there is a rule that a quiet or slow client can break.
        self.watches_clients = False
        self.settings_changed()

    def settings_changed(self) -> None:
        """Recompute what is derived from settings, after any of them changed."""
        settings = self.settings
        slow_us = settings.slowlog_log_slower_than
        spike_ms = settings.latency_monitor_threshold
        slow_ns = slow_us * 1_000 if slow_us >= 0 else NEVER_NS
        spike_ns = spike_ms * 1_000_000 if spike_ms > 0 else NEVER_NS
        # The dispatcher compares each command with one number only.
        self.slow_ns = min(slow_ns, spike_ns)
        self.slowlog.trim(settings.slowlog_max_len)
        self.watches_clients = bool(
            settings.timeout or settings.output_limit_soft or settings.output_limit_hard
        )
        self.node.settings_changed()
        self.gates_changed()
        self._dismiss_strangers()

    def _dismiss_strangers(self) -> None:
        """Whoever monitors without the password that is asked for now sees no more."""
        if not self.settings.requirepass:
            return
        for session in list(self.monitors.values()):
            if not session.is_authenticated:
                self.node.effects.asks.append(CloseClient(session.id))

    def gates_changed(self) -> None:
        """Recompute whether commands are held up by anything unusual."""
        self.is_guarded = bool(
            self.settings.requirepass or self.monitors or self.is_loading or self.write_error
        )


Handler = Callable[[Frontend, Session, list[bytes], int], bytes | None]
