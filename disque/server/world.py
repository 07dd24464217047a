"""The world as the core may ask about it: the process, its files, its clock.

Every ask of `disque.model.asks` that concerns no connection is carried out here. Pure code writes
the reply from the result. An ask that ends the process (SHUTDOWN, DEBUG RESTART, DEBUG SEGFAULT)
has no result unless it fails.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, final

from disque.commands.session import Session
from disque.core.membership import Membership
from disque.model.asks import (
    OUT_OF_MEMORY,
    SEGFAULT,
    Apply,
    Ask,
    Crash,
    DescribeClients,
    DescribeServer,
    Done,
    Failed,
    ReadWallClock,
    Restart,
    Result,
    RewriteConfig,
    SaveNodes,
    Shutdown,
    Sleep,
    WallClock,
)
from disque.model.facts import BuildFacts, ClientFacts, ClientsFacts, ServerFacts
from disque.model.settings import Settings
from disque.server.facts import read_server_facts
from disque.server.files import replace_file
from disque.server.listeners import room_for
from disque.server.logs import Log
from disque.server.nodesfile import NodesFile
from disque.wire import conf

__all__ = ["Described", "Everybody", "World"]


class Described(Protocol):
    """A connection, as far as it is described here."""

    @property
    def session(self) -> Session:
        """What the command layer knows of it."""
        ...

    def facts(self) -> ClientFacts:
        """Describe socket and buffers."""
        ...


class Everybody(Protocol):
    """Whoever knows all connections."""

    @property
    def connections(self) -> Mapping[int, Described]:
        """Every connection, by the client's id."""
        ...


@final
class World:
    """Carries out asks. `end` stops the server, or begins it again, and tells whether it can."""

    __slots__ = (
        "_build",
        "_config_file",
        "_end",
        "_executable",
        "_log",
        "_nodes_file",
        "_run_id",
        "_settings",
        "_started_ns",
        "is_ending",
        "membership",
    )

    def __init__(
        self,
        settings: Settings,
        executable: str,
        config_file: str,
        build: BuildFacts,
        nodes_file: NodesFile,
        membership: Membership,
        log: Log,
        end: Callable[[Restart | None], bool],
    ) -> None:
        self._settings = settings
        self._executable = executable
        self._config_file = config_file
        self._build = build
        self._nodes_file = nodes_file
        self.membership = membership
        self._log = log
        self._end = end
        # The process is about to end: nothing new is said to anybody.
        self.is_ending = False
        self._run_id = os.urandom(20).hex().encode("ascii")
        self._started_ns = time.monotonic_ns()

    def answer(self, ask: Ask, everybody: Everybody) -> Result | None:
        """Carry out an ask; None means that there will be nobody to tell."""
        if isinstance(ask, DescribeServer):
            return self._describe_server(everybody)
        if isinstance(ask, DescribeClients):
            return _describe_clients(ask, everybody)
        if isinstance(ask, ReadWallClock):
            return WallClock(time.time_ns() // 1_000)
        if isinstance(ask, Apply):
            return self._apply(ask)
        if isinstance(ask, RewriteConfig):
            return self.rewrite_config()
        if isinstance(ask, SaveNodes):
            return self._save_nodes(ask)
        if isinstance(ask, Sleep):
            time.sleep(ask.seconds)
            return Done()
        return self._end_process(ask)

    def rewrite_config(self) -> Result:
        """Write the running configuration into its file, durably."""
        if not self._config_file:
            return Failed("")
        path = Path(self._config_file)
        try:
            old_text = path.read_bytes() if path.exists() else b""
            replace_file(path, conf.rewrite(old_text, self._settings), is_synced=True)
        except OSError as error:
            self._log.warning("CONFIG REWRITE failed", path=path, reason=error.strerror)
            return Failed(error.strerror or str(error))
        self._log.notice("CONFIG REWRITE executed with success", path=path)
        return Done()

    def _describe_server(self, everybody: Everybody) -> ServerFacts:
        facts = [connection.facts() for connection in everybody.connections.values()]
        return read_server_facts(
            build=self._build,
            run_id=self._run_id,
            tcp_port=self._settings.port,
            uptime_s=(time.monotonic_ns() - self._started_ns) // 1_000_000_000,
            executable=self._executable,
            config_file=self._config_file,
            longest_output_list=max([each.output_chunks for each in facts], default=0),
            biggest_input_buffer=max([each.input_bytes for each in facts], default=0),
        )

    def _apply(self, ask: Apply) -> Result:
        value = os.fsdecode(ask.values[0])
        if ask.name == "dir":
            try:
                os.chdir(value)
            except OSError as error:
                return Failed(error.strerror or str(error))
        elif ask.name == "maxclients":
            room = room_for(int(value))
            if room < int(value):
                return Failed(str(max(room, 0)))
        elif ask.name == "loglevel":
            self._log.level = value
        elif ask.name == "log-format":
            self._log.style = value
        else:
            raise AssertionError(f"nobody knows how to apply {ask.name}")
        return Done()

    def _save_nodes(self, ask: SaveNodes) -> Result:
        try:
            self._nodes_file.save(self.membership.nodes.values(), is_synced=ask.sync)
        except OSError as error:
            self._log.warning(
                "Can't save the cluster configuration file",
                path=self._nodes_file.path,
                reason=error.strerror,
            )
            return Failed(error.strerror or str(error))
        return Done()

    def _end_process(self, ask: Ask) -> Result | None:
        if isinstance(ask, Shutdown):
            self._log.warning("User requested shutdown...")
            self.is_ending = self._end(None)
        elif isinstance(ask, Restart):
            if ask.clean and self._config_file and isinstance(self.rewrite_config(), Failed):
                return Failed("the configuration file cannot be written")
            self.is_ending = self._end(ask)
            if not self.is_ending:
                return Failed("the server cannot be restarted")
        elif isinstance(ask, Crash):
            self._crash(ask.how)
        else:
            raise AssertionError(f"unhandled ask {ask!r}")
        return None

    def _crash(self, how: str) -> None:
        self._log.warning(f"Crashing on purpose: DEBUG {how.upper()}")
        if how == SEGFAULT:
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        elif how == OUT_OF_MEMORY:
            # What the kernel does to a process that takes too much.
            os.kill(os.getpid(), signal.SIGKILL)
        os.abort()


def _describe_clients(ask: DescribeClients, everybody: Everybody) -> ClientsFacts:
    chosen = [
        connection
        for client, connection in everybody.connections.items()
        if ask.only in (0, client)
    ]
    return ClientsFacts({each.session.id: each.facts() for each in chosen})
