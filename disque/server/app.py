"""The server as a process: put together, started, stopped, started again.

    configuration -> background -> sockets -> nodes.conf -> core and commands -> loop -> end

Whatever prevents the start raises `StartError` before the first client is accepted. The end is the
same for SIGTERM, SHUTDOWN and DEBUG RESTART: listeners first, then the clients, which get what was
replied to them, then files and locks. A crash (DEBUG CRASH-AND-RECOVER) skips all that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

import disque
from disque.commands.frontend import Frontend
from disque.commands.handlers import make_frontend
from disque.core.node import Node
from disque.model.asks import Restart
from disque.model.peer import MYSELF, Peer
from disque.model.settings import Settings
from disque.server.clock import system_clock
from disque.server.connections import Connection
from disque.server.daemon import Launch, remove_pid_file, write_pid_file
from disque.server.facts import read_build_facts
from disque.server.listeners import (
    is_reachable_from_outside,
    listen_tcp,
    listen_unix,
    make_room,
)
from disque.server.logs import Log
from disque.server.nodesfile import NodesFile
from disque.server.problems import StartError
from disque.server.signals import StopSignals, exit_at_once_on_signals, ignore_signals
from disque.server.turn import Turn
from disque.server.world import World

__all__ = ["RESTARTED_VARIABLE", "Plan", "run"]

# The bus listens 10000 ports above the clients' port, and 65535 is the last one there is.
CLIENT_PORT_MAX: Final = 55_535
# How long clients get to read their last replies when the server stops.
LAST_REPLIES_S: Final = 1.0
STDERR: Final = 2
# The kernel cuts longer names.
PROCESS_NAME_CHARACTERS_MAX: Final = 15
# Tells a process that was started again that it is in the background already.
RESTARTED_VARIABLE: Final = "DISQUE_RESTARTED_AS_DAEMON"


@final
class Plan:
    """What a server is started with. `config_file` is absolute, or empty without one."""

    __slots__ = ("config_file", "is_restartable", "log", "settings", "started_in")

    def __init__(
        self,
        settings: Settings,
        config_file: str,
        log: Log,
        *,
        started_in: str,
        is_restartable: bool,
    ) -> None:
        self.settings = settings
        self.config_file = config_file
        self.log = log
        # Relative paths of the command line count from here, also the second time.
        self.started_in = started_in
        # A configuration that came through a pipe cannot be read again.
        self.is_restartable = is_restartable


def run(plan: Plan, launch: Launch) -> int:
    """Serve until told to stop; return the exit code."""
    new_loop, loop_name = _loop_factory()
    app = App(plan, launch, loop_name)
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(app.serve())
    except StartError as problem:
        plan.log.warning(problem.sentence)
        if not plan.log.is_seen_at(STDERR):
            launch.failed(problem.sentence)
        app.release()
        return 1
    app.release()
    if app.restart is not None:
        _start_again(app.restart, plan, launch)
    ignore_signals()
    return 0


@final
class App:
    """One life of the server."""

    __slots__ = (
        "_front",
        "_launch",
        "_listeners",
        "_log",
        "_loop",
        "_loop_name",
        "_nodes_file",
        "_pid_path",
        "_plan",
        "_settings",
        "_stopping",
        "_unix_path",
        "_was_ready",
        "restart",
    )

    def __init__(self, plan: Plan, launch: Launch, loop_name: str) -> None:
        self._plan = plan
        self._launch = launch
        self._loop_name = loop_name
        self._settings = plan.settings
        self._log = plan.log
        self._loop: asyncio.AbstractEventLoop | None = None
        self._front: Frontend | None = None
        self._listeners: list[socket.socket] = []
        self._unix_path: Path | None = None
        # The directory may change while the server runs; its files stay where they were made.
        self._pid_path = Path.cwd() / plan.settings.pidfile if plan.settings.pidfile else None
        self._nodes_file = NodesFile(Path.cwd() / plan.settings.cluster_config_file)
        self._stopping = asyncio.Event()
        self._was_ready = False
        # Set if the process is to begin again instead of ending.
        self.restart: Restart | None = None

    async def serve(self) -> None:
        """Start, serve and stop."""
        self._loop = loop = asyncio.get_running_loop()
        self._settings.maxclients = make_room(self._settings.maxclients, self._log)
        self._open_sockets()
        self._nodes_file.lock()
        turn = self._assemble(loop)
        loop.set_exception_handler(self._on_loop_mistake)
        servers = [await self._accept(loop, turn, listener) for listener in self._listeners]
        StopSignals(self._log, self._stop_soon).install()
        self._announce()
        turn.start()
        self._launch.ready()
        await self._stopping.wait()
        for server in servers:
            server.close()
        await _say_goodbye(turn)
        turn.stop()

    def release(self) -> None:
        """Give back what other processes could want: socket file, pid file, lock."""
        for listener in self._listeners:
            listener.close()
        if self._unix_path is not None:
            self._unix_path.unlink(missing_ok=True)
        if self._launch.is_daemon and self._pid_path is not None and self._was_ready:
            remove_pid_file(self._pid_path, self._log)
        self._nodes_file.unlock()
        if self._was_ready:
            self._log.warning("Disque is now ready to exit, bye bye...")

    def _open_sockets(self) -> None:
        settings = self._settings
        if settings.port > CLIENT_PORT_MAX:
            raise StartError(
                f"Port {settings.port} is too high: the cluster bus uses the port plus 10000. "
                f"Use a port up to {CLIENT_PORT_MAX}."
            )
        if settings.port:
            self._listeners += listen_tcp(settings.bind, settings.port, settings.tcp_backlog)
            if is_reachable_from_outside(self._listeners) and not settings.requirepass:
                self._log.warning(
                    "Every host that reaches this port can use the server: set requirepass, or "
                    "bind 127.0.0.1"
                )
        if settings.unixsocket:
            path = Path.cwd() / settings.unixsocket
            self._listeners.append(listen_unix(path, settings.unixsocketperm, settings.tcp_backlog))
            self._unix_path = path
        if not self._listeners:
            raise StartError("Configured to not listen anywhere, exiting. Set port or unixsocket.")

    def _assemble(self, loop: asyncio.AbstractEventLoop) -> Turn:
        clock = system_clock()
        peers = self._nodes_file.load_or_create(self._settings.port, clock.now_ms())
        node = _make_node(peers, self._settings)
        front = make_frontend(node, self._settings, time.perf_counter_ns)
        self._front = front
        world = World(
            self._settings,
            str(Path(self._plan.started_in) / sys.argv[0]),
            self._plan.config_file,
            read_build_facts(self._loop_name),
            self._nodes_file,
            node.membership,
            self._log,
            self._end,
        )
        return Turn(loop, clock, front, world, self._log)

    async def _accept(
        self, loop: asyncio.AbstractEventLoop, turn: Turn, listener: socket.socket
    ) -> asyncio.Server:
        def new_connection() -> Connection:
            return Connection(turn)

        backlog = self._settings.tcp_backlog
        if listener.family == socket.AF_UNIX:
            return await loop.create_unix_server(new_connection, sock=listener, backlog=backlog)
        return await loop.create_server(new_connection, sock=listener, backlog=backlog)

    def _announce(self) -> None:
        settings = self._settings
        log = self._log
        self._was_ready = True
        if self._launch.is_daemon and self._pid_path is not None:
            write_pid_file(self._pid_path, log)
        _name_process(settings)
        log.role = "P"
        log.notice(f"Disque {disque.__version__}, node in {Path.cwd()}, process {os.getpid()}")
        log.notice(f"Server started, Disque version {disque.__version__}")
        if settings.port:
            log.notice(f"The server is now ready to accept connections on port {settings.port}")
        if self._unix_path is not None:
            log.notice(f"The server is now ready to accept connections at {self._unix_path}")

    def _stop_soon(self) -> None:
        """Stop serving, from outside the loop, and do not begin again."""
        assert self._loop is not None
        self.restart = None
        # Whoever is impatient sends the signal again, even when the loop has ended already.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)

    def _on_loop_mistake(
        self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]
    ) -> None:
        """Leave the story of a mistake that nobody caught in the log, and go on serving."""
        if self._front is not None:
            self._front.internal_errors += 1
        mistake = context.get("exception")
        self._log.warning(f"internal error: {context.get('message')}")
        if isinstance(mistake, Exception):
            for line in "".join(traceback.format_exception(mistake)).splitlines():
                self._log.warning(line)

    def _end(self, restart: Restart | None) -> bool:
        """Stop serving, to begin again or not; tell whether that is possible."""
        if restart is not None:
            if not self._plan.is_restartable:
                self._log.warning("Can't restart: the configuration did not come from a file")
                return False
            if not restart.clean:
                _start_again(restart, self._plan, self._launch)
            self.restart = restart
        self._stopping.set()
        return True


def _make_node(peers: list[Peer], settings: Settings) -> Node:
    me = next(peer for peer in peers if peer.flags & MYSELF)
    jitter = random.Random(random.SystemRandom().getrandbits(128))
    node = Node(me.id, settings.port, settings, random.SystemRandom(), jitter)
    node.membership.me.flags = me.flags
    node.membership.me.ip = me.ip
    for peer in peers:
        if peer is not me:
            node.membership.nodes[peer.id] = peer
    return node


async def _say_goodbye(turn: Turn) -> None:
    """Close every connection, and wait a moment for the last replies to leave."""
    for connection in list(turn.connections.values()):
        connection.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(turn.all_sent.wait(), LAST_REPLIES_S)


def _start_again(restart: Restart, plan: Plan, launch: Launch) -> None:
    """Replace the process by a new one with the same command line and the same number."""
    exit_at_once_on_signals()
    if restart.delay_ms:
        time.sleep(restart.delay_ms / 1_000)
    os.chdir(plan.started_in)
    if launch.is_daemon:
        os.environ[RESTARTED_VARIABLE] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - our own command line


def _loop_factory() -> tuple[Callable[[], asyncio.AbstractEventLoop], str]:
    """Return how to make an event loop, and its name: uvloop where there is one."""
    try:
        import uvloop  # noqa: PLC0415 - optional where it has no wheels
    except ImportError:
        return asyncio.new_event_loop, "asyncio"
    return uvloop.new_event_loop, "uvloop"


def _name_process(settings: Settings) -> None:
    """Show host and port in `ps` and `top`, where the kernel lets a process name itself."""
    host = settings.bind[0] if settings.bind else "*"
    name = f"disque {host}:{settings.port}"
    if len(name) > PROCESS_NAME_CHARACTERS_MAX:
        # Of the two the port is what tells servers on one machine apart.
        name = f"disque :{settings.port}"
    try:
        Path("/proc/self/comm").write_text(name, encoding="utf-8")
    except OSError:
        return
