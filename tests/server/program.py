"""The server as its operators start it: `disque-server` with arguments, in some directory."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cli.program import environment
from tests.support.resp import Desync, Wire
from tests.support.server import ServerProcess, free_port

__all__ = [
    "PATIENCE_S",
    "POLL_S",
    "PROGRAM",
    "Daemons",
    "UnixWire",
    "program_running",
    "run_program",
    "run_python",
    "settings",
    "wait_for_answer",
    "wait_for_log",
    "wait_for_wire",
    "wait_until_gone",
]

PROGRAM: Final = str(Path(sys.executable).with_name("disque-server"))
PATIENCE_S: Final = 15.0
POLL_S: Final = 0.005


class Daemons:
    """Starts servers in the background, and ends them by their number."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._pids: list[int] = []

    def start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Start one, and wait until the command returns."""
        place = ("--bind", "127.0.0.1", "--port", str(self.port), "--daemonize", "yes")
        done = run_program(self.directory, *place, "--pidfile", "disque.pid", *arguments)
        if done.returncode == 0:
            self._pids.append(self.pid())
        return done

    def pid(self) -> int:
        """Ask the server itself, whatever its pid file says."""
        with Wire(self.port) as wire:
            found = re.search(r"process_id:(\d+)", wire.text("INFO", "server"))
        assert found is not None
        return int(found[1])

    def stop(self) -> None:
        """End whatever is still there."""
        for pid in self._pids:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)


class UnixWire(Wire):
    """A connection through a socket file."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.buffer = bytearray()


@contextmanager
def program_running(directory: Path, *arguments: str) -> Iterator[None]:
    """Let `disque-server` run, as from a shell in `directory`, until the block ends."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], cwd=directory, env=environment(), stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def run_program(
    directory: Path, *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `disque-server` to its end, as from a shell in `directory`."""
    return subprocess.run(
        [PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=directory,
        env=environment(),
    )


def run_python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a few lines of Python in a process of their own, which buffers what it prints."""
    variables = environment()
    variables.pop("PYTHONUNBUFFERED", None)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=variables,
    )


def settings(wire: Wire) -> dict[str, str]:
    """Return the whole configuration, as CONFIG GET shows it."""
    fields = wire.fields("CONFIG", "GET", "*")
    return {name: value.decode() for name, value in fields.items() if isinstance(value, bytes)}


def wait_until_gone(pid: int) -> None:
    """Wait for the end of a process that is not our child."""
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists():
        # Whoever adopts orphans here may be slow to bury them.
        if "State:\tZ" in Path(f"/proc/{pid}/status").read_text(encoding="ascii"):
            return
        assert time.monotonic() < deadline, f"process {pid} does not end"
        time.sleep(POLL_S)


def wait_for_log(server: ServerProcess, sentence: str) -> None:
    """Wait until the server says so."""
    deadline = time.monotonic() + PATIENCE_S
    while sentence not in server.log:
        assert time.monotonic() < deadline, server.log
        time.sleep(POLL_S)


def wait_for_answer(port: int) -> Wire:
    """Connect as soon as somebody answers, not only listens: a server may be about to end."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        wire = wait_for_wire(port)
        try:
            wire.ask("PING")
        except (Desync, OSError):
            wire.close()
            assert time.monotonic() < deadline, f"nobody answers on port {port}"
            time.sleep(POLL_S)
        else:
            return wire


def wait_for_wire(port: int) -> Wire:
    """Connect as soon as anybody listens."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return Wire(port)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, f"nobody listens on port {port}"
            time.sleep(POLL_S / 5)
