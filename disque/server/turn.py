"""A turn of the loop: run what is due, then carry out what the core wants done.

    a client sent something --.                      .--> journal   (none in this version)
    a timer is due -----------+--> core --> effects -+--> outbox    (none in this version)
    a client left ------------'                      +--> replies   to clients that were blocked
                                                     +--> asks      answered before the client's
                                                     |              next command
                                                     `--> notes     into the log

Effects are carried out in exactly this order: what a reply promises is written before the reply
leaves. One timer of the loop stands for all timers of the core; it is set to the moment the core
names and never polls.
"""

from __future__ import annotations

import asyncio
import traceback
from typing import Final, final

from disque.commands import dispatch
from disque.commands.frontend import Frontend
from disque.model.asks import Ask, CloseClient, PauseClients
from disque.server.clock import Clock
from disque.server.collector import Collector
from disque.server.connections import Connection
from disque.server.logs import Log
from disque.server.world import World

__all__ = ["Turn"]

# Idle connections and soft output limits are judged once a second, while there is one to judge.
PATROL_S: Final = 1.0
# How long a client above the hard limit has to read what it was sent.
VERDICT_S: Final = 0.1
# A timer that failed is tried again after this long, not at once for ever.
AFTER_MISTAKE_S: Final = 1.0


@final
class Turn:
    """Everything that happens between two waits of the loop."""

    __slots__ = (
        "_awake",
        "_clock",
        "_closing",
        "_collector",
        "_due_ms",
        "_effects",
        "_last_client_id",
        "_not_before_ms",
        "_patrol",
        "_timer",
        "_traffic",
        "_verdict",
        "_world",
        "all_sent",
        "connections",
        "front",
        "log",
        "loop",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        front: Frontend,
        world: World,
        log: Log,
    ) -> None:
        self.loop = loop
        self.front = front
        self.log = log
        self.connections: dict[int, Connection] = {}
        # Closed, but with replies that have not left yet; `all_sent` tells that there are none.
        self._closing: set[Connection] = set()
        self.all_sent = asyncio.Event()
        self.all_sent.set()
        self._clock = clock
        self._world = world
        self._effects = front.node.effects
        self._awake = front.node.awake
        self._traffic = front.traffic
        self._collector = Collector(loop, front.node.count_items)
        self._timer: asyncio.TimerHandle | None = None
        self._due_ms = 0
        # After a timer failed, the next ones have to wait.
        self._not_before_ms = 0
        self._patrol: asyncio.TimerHandle | None = None
        self._verdict: asyncio.TimerHandle | None = None
        self._last_client_id = 0

    def start(self) -> None:
        """Begin: nothing but garbage collection needs to be prepared."""
        self._collector.start()

    def stop(self) -> None:
        """Let no timer fire any more."""
        for timer in (self._timer, self._patrol, self._verdict):
            if timer is not None:
                timer.cancel()
        self._collector.stop()

    def now_ms(self) -> int:
        """Read the server's clock, once at the beginning of each turn."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._traffic.ends_ms:
            self._traffic.roll(now_ms)
        return now_ms

    def next_client_id(self) -> int:
        """Return a number no client had before."""
        self._last_client_id += 1
        return self._last_client_id

    def count_open(self) -> int:
        """Count the connections that have a socket, those that are being closed among them."""
        return len(self.connections) + len(self._closing)

    def note_closing(self, connection: Connection) -> None:
        """A connection was closed, but its last replies may not have left yet."""
        self._closing.add(connection)
        self.all_sent.clear()

    def note_closed(self, connection: Connection) -> None:
        """Nothing of a connection is left."""
        self._closing.discard(connection)
        if not self._closing:
            self.all_sent.set()

    def work(self, connection: Connection, now_ms: int) -> None:
        """Run what the connection has waiting, and carry out what follows from it."""
        session = connection.session
        dispatch.run(self.front, session, now_ms)
        if session.backlog or connection.held:
            connection.go_on_later(now_ms)
        self.carry_out(now_ms)
        connection.flush(now_ms)
        if not self._collector.is_armed:
            self._collector.note_work()

    def carry_out(self, now_ms: int) -> None:
        """Carry out the effects of what just happened, and set the timer to what comes next."""
        front = self.front
        effects = self._effects
        # Nobody keeps a journal, and there is no link to another node a message could leave by.
        assert not effects.journal
        if effects.outbox:
            effects.outbox.clear()
        if effects.replies:
            self._pass_on_replies(now_ms)
        while effects.asks:
            asks = effects.asks[:]
            effects.asks.clear()
            for ask in asks:
                self._answer(ask, now_ms)
        if front.monitors:
            self._flush_monitors(now_ms)
        if effects.notes:
            self._write_notes()
        if self._awake.has_moved:
            self._set_timer(now_ms)
        if front.watches_clients:
            self.watch()

    # --- Effects ----------------------------------------------------------------------------------

    def _pass_on_replies(self, now_ms: int) -> None:
        effects = self.front.node.effects
        replies = effects.replies[:]
        effects.replies.clear()
        for reply in replies:
            session = dispatch.deliver(self.front, reply)
            if session is not None:
                connection = self.connections[session.id]
                connection.flush(now_ms)
                connection.resume_soon()

    def _answer(self, ask: Ask, now_ms: int) -> None:
        if isinstance(ask, CloseClient):
            target = self.connections.get(ask.target)
            if target is not None:
                target.close()
            return
        if isinstance(ask, PauseClients):
            self.loop.call_later((ask.until_ms - now_ms) / 1_000, self._end_of_pause)
            return
        result = self._world.answer(ask, self)
        session = self.front.sessions.get(ask.client)
        if session is None or result is None:
            return
        # Time may have passed meanwhile: DEBUG SLEEP is made of nothing else.
        now_ms = self.now_ms()
        dispatch.finish(self.front, session, ask, result, now_ms)
        connection = self.connections[session.id]
        connection.flush(now_ms)
        connection.resume_soon()

    def _flush_monitors(self, now_ms: int) -> None:
        for monitor in list(self.front.monitors.values()):
            if self._world.is_ending:
                # Whoever watches a server end sees the end, not the command that ended it.
                monitor.taken_output()
            elif monitor.out:
                self.connections[monitor.id].flush(now_ms)

    def _write_notes(self) -> None:
        notes = self.front.node.effects.notes
        for note in notes:
            self.log.write(note.level, note.text, {})
        notes.clear()

    def _end_of_pause(self) -> None:
        """CLIENT PAUSE is over for those who wait for it, unless it was made longer."""
        left_ms = self.front.paused_until_ms - self.now_ms()
        if left_ms > 0:
            self.loop.call_later(left_ms / 1_000, self._end_of_pause)
            return
        for connection in self.connections.values():
            connection.resume_soon()

    # --- Time -------------------------------------------------------------------------------------

    def _set_timer(self, now_ms: int) -> None:
        due_ms = self.front.node.next_ms()
        if due_ms is not None and due_ms < self._not_before_ms:
            due_ms = self._not_before_ms
        if self._timer is not None:
            # A timer that fires too early is cheaper than setting it anew for every command.
            if due_ms is None or due_ms >= self._due_ms:
                return
            self._timer.cancel()
            self._timer = None
        if due_ms is not None:
            self._due_ms = due_ms
            self._timer = self.loop.call_later(max(due_ms - now_ms, 0) / 1_000, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now_ms = self.now_ms()
        started_ns = self.front.stopwatch_ns()
        try:
            self.front.node.tick(now_ms)
        except Exception as mistake:
            self._own_up(mistake)
            self._not_before_ms = now_ms + int(AFTER_MISTAKE_S * 1_000)
        spent_ms = (self.front.stopwatch_ns() - started_ns) // 1_000_000
        threshold_ms = self.front.settings.latency_monitor_threshold
        if 0 < threshold_ms <= spent_ms:
            self.front.latency.record(b"jobs-processing", spent_ms, now_ms // 1_000)
        self.carry_out(now_ms)
        self._set_timer(now_ms)
        self._collector.note_work()

    def _own_up(self, mistake: Exception) -> None:
        """Leave the story of a mistake of ours in the log, and go on serving."""
        self.front.internal_errors += 1
        self.log.warning(f"internal error in a timer: {mistake!r}")
        for line in "".join(traceback.format_exception(mistake)).splitlines():
            self.log.warning(line)

    # --- Connections that misbehave ---------------------------------------------------------------

    def _go_on_patrol(self) -> None:
        self._patrol = None
        now_ms = self.now_ms()
        for connection in list(self.connections.values()):
            self._judge(connection, now_ms)
        self.watch()

    def watch(self) -> None:
        """See to it that connections are looked at from now on, if there are rules for them."""
        if self.front.watches_clients and self._patrol is None and self.connections:
            self._patrol = self.loop.call_later(PATROL_S, self._go_on_patrol)

    def judge_soon(self, connection: Connection) -> None:
        """Have a connection judged after a moment, in which it may still read, if it must be."""
        hard_bytes = self.front.settings.output_limit_hard
        if hard_bytes and connection.unsent_bytes() >= hard_bytes and self._verdict is None:
            self._verdict = self.loop.call_later(VERDICT_S, self._pass_verdict)

    def _pass_verdict(self) -> None:
        self._verdict = None
        now_ms = self.now_ms()
        for connection in list(self.connections.values()):
            self._judge(connection, now_ms)

    def _judge(self, connection: Connection, now_ms: int) -> None:
        settings = self.front.settings
        session = connection.session
        idle_ms = now_ms - session.last_active_ms
        if settings.timeout and connection.is_quiet() and idle_ms > settings.timeout * 1_000:
            self.log.verbose("Closing an idle client", address=session.address, id=session.id)
            connection.close()
            return
        unsent = connection.unsent_bytes()
        if settings.output_limit_hard and unsent >= settings.output_limit_hard:
            connection.cut("its unread replies reached the hard limit")
        elif not settings.output_limit_soft or unsent < settings.output_limit_soft:
            connection.soft_since_ms = 0
        elif connection.soft_since_ms == 0:
            connection.soft_since_ms = now_ms
        elif now_ms - connection.soft_since_ms > settings.output_limit_soft_seconds * 1_000:
            connection.cut("its unread replies stayed above the soft limit")
