"""A server inside the test: real core, real sockets, and time that passes only when asked to.

The event loop is asyncio's own, but its clock stands still while anything can happen, and jumps
to the next timer when nothing can. So an hour takes no time, and nothing is ever slept for:

    with Inside() as server:
        client = server.client()
        client.send("GETJOB", "FROM", "q")
        server.pass_time(500)
        assert client.received() == b""

A server that is too busy to notice how late it is comes back from `be_busy`.
"""

from __future__ import annotations

import asyncio
import random
import select
import selectors
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol, Self

from disque.commands.handlers import make_frontend
from disque.core.node import Node
from disque.model.asks import Restart
from disque.model.facts import BuildFacts
from disque.model.override import override
from disque.model.settings import Settings
from disque.server.clock import Clock
from disque.server.connections import Connection
from disque.server.logs import Log
from disque.server.nodesfile import NodesFile
from disque.server.turn import Turn
from disque.server.world import World
from tests.core.helpers import ME, PORT, START_MS
from tests.support.resp import Desync, Wire, encode

__all__ = [
    "Client",
    "Inside",
    "Lines",
    "TestLoop",
    "new_settings",
    "new_world",
    "reset",
    "tcp_pair",
]

CHUNK: Final = 1 << 20
# How long the kernel may take to carry something over TCP; a socket pair takes no time.
KERNEL_S: Final = 5.0
KERNEL_POLL_S: Final = 0.005
# Without time passing, a server is at rest long before it looked so often at its sockets.
LOOKS_MAX: Final = 100_000
BUILD: Final = BuildFacts(b"1", b"0", b"0", b"3", b"test", b"interpreted")


class Lines:
    """A sink that keeps the messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def write(self, level: str, message: bytes, line: bytes) -> None:
        """Keep one."""
        self.messages.append(message.decode())

    def has(self, part: str) -> bool:
        """Tell whether any message contains this."""
        return any(part in message for message in self.messages)

    def text(self) -> str:
        """Return everything that was logged."""
        return "\n".join(self.messages)


class StandingSelector(selectors.DefaultSelector):
    """Tells the loop what is ready; where it would wait, it asks how far time may jump."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.jump: Callable[[float | None], None] = lambda _timeout: None

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready now, without waiting."""
        self.looks += 1
        events = super().select(0)
        if self.looks > LOOKS_MAX or (not events and (timeout is None or timeout > 0)):
            self.jump(timeout)
        return events


class TestLoop(asyncio.SelectorEventLoop):
    """A loop that stops by itself when nothing is left to do before `end_s`."""

    __test__ = False

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.end_s = self.now_s
        self.turns = 0
        self._standing = StandingSelector()
        super().__init__(self._standing)
        self._standing.jump = self._jump

    @override
    def time(self) -> float:
        """Read the clock of the loop."""
        return self.now_s

    def pass_time(self, milliseconds: int) -> None:
        """Run until nothing can happen any more within that time."""
        self.end_s = self.now_s + milliseconds / 1_000
        self.run_forever()
        assert self._standing.looks <= LOOKS_MAX, "the server does not come to rest"

    def _jump(self, timeout: float | None) -> None:
        if self._standing.looks > LOOKS_MAX:
            self.stop()
            return
        self.turns += 1
        self._standing.looks = 0
        if timeout is None or self.now_s + timeout > self.end_s:
            self.now_s = self.end_s
            self.stop()
        else:
            self.now_s += timeout


class Host(Protocol):
    """Whoever lets a server do something."""

    def pass_time(self, milliseconds: int) -> None:
        """Let it do whatever it has to do within that time."""
        ...


class Client(Wire):
    """The other end of a connection; `say` never waits, `ask` as long as the kernel needs."""

    def __init__(self, host: Host, link: socket.socket) -> None:
        link.setblocking(False)
        self.socket = link
        self.buffer = bytearray()
        self._host = host

    @override
    def send_raw(self, raw: bytes) -> None:
        """Send bytes that the kernel takes at once, and let the server read them."""
        assert self.send_some(raw) == len(raw)
        self._host.pass_time(0)

    def send_some(self, raw: bytes | memoryview) -> int:
        """Send as much as the kernel takes; return how much that was."""
        with suppress(BlockingIOError):
            return self.socket.send(raw)
        return 0

    def send_until_stuck(self, raw: bytes) -> int:
        """Send for as long as the server reads; return how much that was."""
        sent = 0
        while count := self.send_some(memoryview(raw)[sent:]):
            sent += count
            self._host.pass_time(0)
        return sent

    def exchange(self, raw: bytes) -> bytes:
        """Send a lot and read meanwhile; return everything that came back."""
        sent = 0
        parts: list[bytes] = []
        while sent < len(raw) or not parts or parts[-1]:
            sent += self.send_some(memoryview(raw)[sent:])
            self._host.pass_time(0)
            parts.append(self.received())
        return b"".join(parts)

    def say(self, *arguments: bytes | str | int) -> bytes:
        """Send one request and return everything that comes back at once."""
        self.send_raw(encode(*arguments))
        return self.received()

    def received(self) -> bytes:
        """Return what has arrived by now."""
        parts = [bytes(self.buffer)]
        self.buffer.clear()
        with suppress(BlockingIOError, ConnectionResetError):
            while chunk := self.socket.recv(CHUNK):
                parts.append(chunk)
                self._host.pass_time(0)
        return b"".join(parts)

    def is_cut_off(self) -> bool:
        """Tell whether the server hung up; what it sent before is thrown away."""
        while True:
            try:
                if not self.socket.recv(CHUNK):
                    return True
            except BlockingIOError:
                return False
            except ConnectionResetError:
                return True

    def stop_sending(self) -> None:
        """Close one direction: there are no more requests, but replies are read."""
        self.socket.shutdown(socket.SHUT_WR)
        self._host.pass_time(0)

    def hang_up(self) -> None:
        """Close the connection, and let the server notice."""
        self.close()
        self._host.pass_time(0)

    def hang_up_rudely(self) -> None:
        """Close with a reset, and let the server notice."""
        reset(self.socket)
        self._host.pass_time(0)

    @override
    def _receive(self, deadline: float) -> None:
        while True:
            self._host.pass_time(0)
            with suppress(BlockingIOError):
                chunk = self.socket.recv(CHUNK)
                if not chunk:
                    raise Desync(f"connection closed, have {bytes(self.buffer[:80])!r}")
                self.buffer += chunk
                return
            if time.monotonic() > deadline:
                raise Desync(f"no complete reply in time, have {bytes(self.buffer[:80])!r}")
            select.select([self.socket], [], [], KERNEL_POLL_S)


class Inside:
    """One server and its clients."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        config_file: str = "",
        nodes_file: NodesFile | None = None,
    ) -> None:
        self.settings = settings if settings is not None else new_settings()
        self.loop = TestLoop()
        self.lines = Lines()
        self.node = Node(ME, PORT, self.settings, random.Random(1), random.Random(1))
        self.front = make_frontend(self.node, self.settings, self._now_ns)
        self.ends: list[Restart | None] = []
        self.log = log = Log([self.lines], level="verbose")
        self.world = new_world(
            self.settings, log, self._end, config_file=config_file, nodes_file=nodes_file
        )
        # By how much the wall clock was stepped since the start.
        self.wall_step_ms = 0
        clock = Clock(self._now_ns, self._wall_ns)
        self.turn = Turn(self.loop, clock, self.front, self.world, log)
        self.mistakes: list[str] = []
        self.loop.set_exception_handler(lambda _loop, story: self.mistakes.append(str(story)))
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for link in self._sockets:
            link.close()
        self.pass_time(0)
        for connection in list(self.turn.connections.values()):
            connection.cut("the test is over")
        self.pass_time(0)
        self.turn.stop()
        self.loop.close()
        if kind is None:
            assert self.mistakes == []

    def client(self) -> Client:
        """Connect through a pair of sockets."""
        return self.admit(*socket.socketpair())

    def tcp_client(self, host: str = "127.0.0.1") -> Client:
        """Connect through TCP, which has an address and options of its own."""
        return self.admit(*tcp_pair(host))

    def newest(self) -> Connection:
        """Return the connection that was made last."""
        return list(self.turn.connections.values())[-1]

    def pass_time(self, milliseconds: int) -> None:
        """Let the server do whatever it has to do within that time."""
        self.loop.pass_time(milliseconds)

    def wait_for(self, has_happened: Callable[[], bool]) -> None:
        """Let no time pass for the server while the kernel does its part."""
        deadline = time.monotonic() + KERNEL_S
        while not has_happened():
            assert time.monotonic() < deadline, "it does not happen"
            self.pass_time(0)

    def be_busy(self, milliseconds: float) -> None:
        """Let time pass in which the server gets around to nothing."""
        self.loop.now_s += milliseconds / 1_000

    def admit(self, ours: socket.socket, theirs: socket.socket) -> Client:
        """Let the server accept one end of a connection, and return the other."""
        theirs.setblocking(False)
        self._sockets.append(ours)
        made = self.loop.connect_accepted_socket(lambda: Connection(self.turn), theirs)
        self.loop.run_until_complete(made)
        return Client(self, ours)

    def _now_ns(self) -> int:
        return round(self.loop.now_s * 1e9)

    def _wall_ns(self) -> int:
        stepped_ms = START_MS + self.wall_step_ms
        return self._now_ns() - 1_000_000_000_000 + stepped_ms * 1_000_000

    def _end(self, restart: Restart | None) -> bool:
        self.ends.append(restart)
        return True


def tcp_pair(host: str = "127.0.0.1") -> tuple[socket.socket, socket.socket]:
    """Make a connection through TCP; return both ends, the one that dialled first."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listener:
        ours = socket.create_connection(listener.getsockname()[:2])
        theirs, _ = listener.accept()
    return ours, theirs


def reset(link: socket.socket) -> None:
    """Close with a reset, as a crashed machine or a firewall would."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.close()


def new_settings() -> Settings:
    """Make settings that hold nothing back."""
    return Settings()


def new_world(
    settings: Settings,
    log: Log,
    end: Callable[[Restart | None], bool],
    *,
    config_file: str = "",
    nodes_file: NodesFile | None = None,
) -> World:
    """Make a world with a file system but without a server."""
    from pathlib import Path

    from disque.core.membership import Membership

    nodes = nodes_file if nodes_file is not None else NodesFile(Path("/nowhere/nodes.conf"))
    return World(
        settings, "/bin/disque-server", config_file, BUILD, nodes, Membership(ME, PORT), log, end
    )
