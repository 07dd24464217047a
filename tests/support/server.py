"""Start real server processes on loopback, and end them.

Ports are drawn below the range from which the system takes the ports of outgoing connections, so
that a test with thousands of clients cannot take the port of a server that is about to start. A
port is tried before it is used; should another process be quicker, another port is drawn.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.resp import Desync, Wire

__all__ = ["NotStarted", "ServerProcess", "free_port", "resident_bytes"]

READY_S: Final = 15.0
STOP_S: Final = 5.0
POLL_S: Final = 0.01
READY_LINE: Final = "ready to accept connections"
CLASHES_MAX: Final = 5
# The bus takes client port + 10000, which must lie below the system's own range (from 32768) too.
PORTS: Final = range(10_000, 22_768)
LOG_TAIL_LINES: Final = 30

DISQUE: Final = (sys.executable, "-m", "disque")


class NotStarted(AssertionError):
    """The server did not come up; the message carries what it said."""


class ServerProcess:
    """One server: `with ServerProcess(directory) as server: server.wire()...`.

    `args` are appended to the command line. The process gets its own data directory, listens on
    127.0.0.1 only, and everything it prints is found in `log`.
    """

    def __init__(
        self,
        directory: Path,
        *args: str,
        program: Sequence[str] = DISQUE,
        stdin: str | None = None,
    ) -> None:
        self.directory = directory
        self.args = args
        self.port = 0
        self._program = program
        self._stdin = stdin
        self._log_path = directory / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._wires: list[Wire] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Whom to send signals."""
        return self._running().pid

    @property
    def log(self) -> str:
        """Everything the server has written to its standard output and error."""
        if not self._log_path.exists():
            return ""
        return self._log_path.read_text(encoding="utf-8", errors="replace")

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self, port: int | None = None) -> None:
        """Start the process and wait until it serves; a given port is used as it is."""
        for _ in range(CLASHES_MAX):
            self.port = free_port() if port is None else port
            self._log_path.unlink(missing_ok=True)
            self.spawn()
            if self._wait_ready():
                return
            if port is not None or "in use" not in self.log:
                break
        raise NotStarted(f"the server did not start:\n{self._log_tail()}")

    def spawn(self) -> None:
        """Start the process without waiting for anything."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(
                self._command_line(),
                stdin=subprocess.PIPE if self._stdin is not None else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                env=_environment(),
            )
        if self._process.stdin is not None:
            assert self._stdin is not None
            self._process.stdin.write(self._stdin.encode())
            self._process.stdin.close()

    def wire(self) -> Wire:
        """Open a connection; it is closed with the server."""
        wire = Wire(self.port)
        self._wires.append(wire)
        return wire

    def wait_exit(self, timeout_s: float = STOP_S) -> int:
        """Return the exit status, once the process ended by itself."""
        return self._running().wait(timeout_s)

    def stop(self) -> None:
        """End the process with SIGTERM, and with SIGKILL if that is not enough."""
        self._close_wires()
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        self._process = None

    def kill(self) -> None:
        """End the process with SIGKILL, as a crash would."""
        process = self._running()
        process.kill()
        process.wait()

    def assert_healthy(self) -> None:
        """Fail unless the server still answers and never complained about itself."""
        assert self.is_running, f"the server died:\n{self._log_tail()}"
        with Wire(self.port) as wire:
            assert wire.ask("PING").startswith((b"+PONG", b"-NOAUTH"))
        log = self.log
        assert "Traceback" not in log, self._log_tail()
        assert "internal error" not in log.lower(), self._log_tail()

    def _command_line(self) -> list[str]:
        # A configuration file, or `-`, must come first.
        is_file_first = bool(self.args) and not self.args[0].startswith("--")
        first, rest = (self.args[:1], self.args[1:]) if is_file_first else ((), self.args)
        place = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory))
        return [*self._program, *first, *place, *rest]

    def _wait_ready(self) -> bool:
        """Return False if the process ended or took too long."""
        process = self._running()
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and process.poll() is None:
            # The line is looked for as well, because somebody else may answer on this port.
            if READY_LINE in self.log.lower() and self._answers():
                return True
            time.sleep(POLL_S)
        self.stop()
        return False

    def _answers(self) -> bool:
        try:
            with Wire(self.port) as wire:
                return wire.ask("PING")[:1] in (b"+", b"-")
        except (OSError, Desync):
            return False

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the server was not started"
        return self._process

    def _close_wires(self) -> None:
        for wire in self._wires:
            wire.close()
        self._wires.clear()

    def _log_tail(self) -> str:
        return "\n".join(self.log.splitlines()[-LOG_TAIL_LINES:])


def free_port() -> int:
    """Return a client port that nobody listens on, nor on its bus port."""
    system = random.SystemRandom()
    while True:
        port = PORTS.start + system.randrange(len(PORTS))
        if _is_free(port) and _is_free(port + 10_000):
            return port


def resident_bytes(pid: int) -> int:
    """Return how much memory the process has in RAM."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has no VmRSS line")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _environment() -> dict[str, str]:
    """Return our environment, but with cached bytecode: without it every start compiles all."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment
