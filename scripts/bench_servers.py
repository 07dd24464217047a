"""The processes of a benchmark run: our server, redis-server and redis-benchmark.

Every server listens on a free loopback port, works in a temporary directory of its own, keeps
nothing on disk and is stopped when its `with` block ends. Only processes started here are ever
signalled.
"""

import csv
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from scripts.bench_load import HOST, BenchError, Connection

__all__ = [
    "Server",
    "free_port",
    "machine_facts",
    "memory_bytes",
    "missing_programs",
    "our_server",
    "parse_requests_per_second",
    "redis_benchmark",
    "redis_server",
]

ROOT: Final = Path(__file__).resolve().parent.parent

READY_SECONDS_MAX: Final = 15.0
STOP_SECONDS_MAX: Final = 20.0
POLL_SECONDS: Final = 0.02
BENCHMARK_SECONDS_MAX: Final = 600.0

# The bus listens on the client port plus this, so both must be free and below 65536.
BUS_PORT_OFFSET: Final = 10_000

_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_PER_SECOND: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) requests per second")
_RESIDENT: Final = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


class Server:
    """A server process that is up inside its `with` block."""

    def __init__(self, name: str, command: Sequence[str], port: int, directory: str) -> None:
        self.name = name
        self.port = port
        self._command = command
        self._directory = Path(directory)
        self._log = self._directory / "output.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    self._command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            self._wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server runs inside its with block"
        return self._process.pid

    def stop(self) -> None:
        """Ask the process to end, insist if it does not, and remove its directory."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def ask(self, *words: bytes | str | int) -> object:
        with Connection(self.port) as connection:
            return connection.ask(*words)

    def number(self, *words: bytes | str | int) -> int:
        """Ask something that is answered with an integer."""
        reply = self.ask(*words)
        if not isinstance(reply, int):
            raise BenchError(f"{self.name} answered {reply!r} where a number was expected")
        return reply

    def info(self, section: str) -> dict[str, str]:
        """Read one section of INFO as names and values."""
        reply = self.ask("INFO", section)
        if not isinstance(reply, bytes):
            raise BenchError(f"{self.name} answered INFO with {reply!r}")
        pairs = (line.partition(":") for line in reply.decode().splitlines())
        return {name: value for name, colon, value in pairs if colon}

    def jobs_registered(self) -> int:
        """Count the jobs our server holds, in whatever state."""
        count = self.info("jobs").get("registered_jobs", "")
        if not count.isdecimal():
            raise BenchError(f"{self.name} shows no registered_jobs in INFO")
        return int(count)

    def _wait_ready(self) -> None:
        assert self._process is not None, "started before it is waited for"
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise BenchError(f"{self.name} ended at once: {self._last_words()}")
            try:
                with Connection(self.port, timeout_seconds=1.0) as connection:
                    if connection.ask("PING") == b"PONG":
                        return
            except (OSError, BenchError):
                time.sleep(POLL_SECONDS)
        raise BenchError(
            f"{self.name} did not answer in {READY_SECONDS_MAX:.0f} s: {self._last_words()}"
        )

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-3:]) or "it printed nothing"


def our_server(profile_path: str | None = None) -> Server:
    """Prepare our server; with a path it runs under cProfile and leaves its figures there."""
    port = free_port()
    directory = tempfile.mkdtemp(prefix="disque-bench-")
    profiler = ["-m", "cProfile", "-o", profile_path] if profile_path else []
    # Memory levels change what ADDJOB does, so the limit is far above what is loaded.
    options = ["--port", str(port), "--bind", HOST, "--dir", directory, "--maxmemory", "16gb"]
    command = [sys.executable, *profiler, "-m", "disque", *options, "--loglevel", "warning"]
    return Server("our server", command, port, directory)


def redis_server() -> Server:
    """Prepare redis-server, without persistence, as the yardstick."""
    port = free_port()
    directory = tempfile.mkdtemp(prefix="disque-bench-redis-")
    options = ["--port", str(port), "--bind", HOST, "--dir", directory]
    command = ["redis-server", *options, "--save", "", "--appendonly", "no"]
    return Server("redis-server", command, port, directory)


def free_port() -> int:
    """Find a port that is free and whose bus port is free too."""
    for _ in range(100):
        with socket.socket() as listener, socket.socket() as bus:
            listener.bind((HOST, 0))
            port = int(listener.getsockname()[1])
            if port + BUS_PORT_OFFSET > 65_535:
                continue
            try:
                bus.bind((HOST, port + BUS_PORT_OFFSET))
            except OSError:
                continue
            return port
    raise BenchError("no free port found in 100 attempts")


def missing_programs(names: Sequence[str]) -> list[str]:
    """Say which of the programs are not installed."""
    return [name for name in names if shutil.which(name) is None]


def redis_benchmark(port: int, requests: int, pipeline: int, *command: str) -> float:
    """Run one command through redis-benchmark with 50 connections; return requests per second."""
    options = ["-h", HOST, "-p", str(port), "-c", "50", "-n", str(requests), "-P", str(pipeline)]
    done = subprocess.run(
        ["redis-benchmark", *options, "--csv", *command],
        capture_output=True,
        text=True,
        timeout=BENCHMARK_SECONDS_MAX,
        check=False,
    )
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise BenchError(f"redis-benchmark failed: {words[-1] if words else 'it said nothing'}")
    return parse_requests_per_second(done.stdout)


def parse_requests_per_second(output: str) -> float:
    """Read the rate from redis-benchmark's output, whichever of its two formats it used.

    With --csv the rate is the second column, under a heading in newer versions and without one in
    older ones; without it there is a sentence that is rewritten in place with carriage returns. The
    last figure counts.
    """
    rates = [float(match) for match in _PER_SECOND.findall(output)]
    rates.extend(
        float(cells[1])
        for cells in csv.reader(output.splitlines())
        if len(cells) >= 2 and _NUMBER.fullmatch(cells[1])
    )
    if not rates or rates[-1] <= 0:
        raise BenchError(f"no requests per second in the output of redis-benchmark: {output!r}")
    return rates[-1]


def memory_bytes(pid: int) -> int:
    """Read the resident set of a process."""
    match = _RESIDENT.search(Path(f"/proc/{pid}/status").read_text())
    if match is None:
        raise BenchError(f"process {pid} shows no resident memory")
    return int(match[1]) * 1024


def machine_facts() -> dict[str, str | int | float]:
    """Describe the machine as far as it explains the figures."""
    return {
        "cpus": os.cpu_count() or 0,
        "architecture": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "redis": _redis_version(),
        "load_average": round(os.getloadavg()[0], 2),
    }


def _redis_version() -> str:
    if missing_programs(["redis-server"]):
        return "not installed"
    done = subprocess.run(
        ["redis-server", "--version"], capture_output=True, text=True, check=False
    )
    match = re.search(r"v=(\S+)", done.stdout)
    return match[1] if match else "unknown"
