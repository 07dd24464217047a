"""A whole server inside the test: its sockets, files and signals are real, the loop's time is not.

    with Hosted(settings) as server:
        client = server.unix_client()
        client.send("QUIT")
        server.end()

It lives in the current directory, as a server does, and gives back to the test runner what it
takes from a process: signals, the collector, the name.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from disque.model.settings import Settings
from disque.server.app import App, Plan
from disque.server.daemon import Launch, foreground
from disque.server.logs import Log
from tests.server.inside import Client, Lines, TestLoop
from tests.support.server import free_port

__all__ = ["SOCKET_FILE", "Hosted", "local_settings"]

SOCKET_FILE: Final = "disque.sock"
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
COMM: Final = Path("/proc/self/comm")
# More than a server needs to end, whatever its clients do.
END_MS: Final = 10_000


class Hosted:
    """One life of a server, from the start to the release of what it held."""

    def __init__(
        self, settings: Settings, *, launch: Launch | None = None, config_file: str = ""
    ) -> None:
        self.settings = settings
        self.lines = Lines()
        self.log = Log([self.lines], level="verbose")
        self.loop = TestLoop()
        plan = Plan(
            settings, config_file, self.log, started_in=str(Path.cwd()), is_restartable=True
        )
        self.app = App(plan, launch if launch is not None else foreground(), "test")
        self._serving: asyncio.Task[None] | None = None
        self._handlers = {number: signal.getsignal(number) for number in SIGNALS}
        self._name = COMM.read_text(encoding="utf-8")
        self._clients: list[Client] = []

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.give_back()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self.is_over:
            self.end()
        for client in self._clients:
            client.close()
        if not self.loop.is_closed():
            self.pass_time(END_MS)
        self.give_back()

    @property
    def is_over(self) -> bool:
        """Whether it has stopped serving."""
        return self._serving is not None and self._serving.done()

    def start(self) -> None:
        """Start to serve; raise what prevents it."""
        self._serving = self.loop.create_task(self.app.serve())
        self.pass_time(0)
        if self.is_over:
            self._serving.result()

    def end(self) -> None:
        """Stop as an operator would."""
        signal.raise_signal(signal.SIGTERM)
        self.pass_time(0)

    def give_back(self) -> None:
        """Release what the server held, and what it took from the test runner."""
        self.app.release()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        gc.unfreeze()
        gc.enable()
        COMM.write_text(self._name, encoding="utf-8")
        self.loop.close()

    def pass_time(self, milliseconds: int) -> None:
        """Let the server do whatever it has to do within that time."""
        self.loop.pass_time(milliseconds)

    def unix_client(self, path: str = SOCKET_FILE) -> Client:
        """Connect through the socket file."""
        link = socket.socket(socket.AF_UNIX)
        link.connect(path)
        return self._connected(link)

    def tcp_client(self, host: str = "127.0.0.1") -> Client:
        """Connect through the port."""
        return self._connected(socket.create_connection((host, self.settings.port)))

    def _connected(self, link: socket.socket) -> Client:
        client = Client(self, link)
        self._clients.append(client)
        return client


def local_settings(*, port: bool = False) -> Settings:
    """Make settings of a server that only this machine reaches, without a port unless told."""
    settings = Settings()
    settings.dir = str(Path.cwd())
    settings.bind = ["127.0.0.1"]
    settings.port = free_port() if port else 0
    settings.unixsocket = SOCKET_FILE
    settings.maxclients = 100
    settings.pidfile = "disque.pid"
    return settings
