"""The programs that come with Redis, started the way their users start them."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

import pytest

from tests.clients.node import PATIENCE_S
from tests.support.server import ServerProcess

__all__ = [
    "Terminal",
    "benchmark",
    "following",
    "needs_redis_benchmark",
    "needs_redis_cli",
    "redis_cli",
    "require",
]

needs_redis_cli: Final = pytest.mark.skipif(
    shutil.which("redis-cli") is None, reason="redis-cli is not installed"
)
needs_redis_benchmark: Final = pytest.mark.skipif(
    shutil.which("redis-benchmark") is None, reason="redis-benchmark is not installed"
)
# Colours and the like.
ESCAPES: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def require(option: str) -> None:
    """Skip the test where redis-cli is too old for an option."""
    helptext = subprocess.run(["redis-cli", "--help"], capture_output=True, text=True, check=False)
    if not re.search(rf"^  {re.escape(option)}\b", helptext.stdout + helptext.stderr, re.MULTILINE):
        pytest.skip(f"this redis-cli does not know {option}")


def redis_cli(
    server: ServerProcess, *arguments: str | bytes, stdin: bytes = b"", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Run `redis-cli -p port ...` to its end; `more` is added to its environment."""
    return subprocess.run(
        ["redis-cli", "-p", str(server.port), *arguments],
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment(server) | more,
    )


def benchmark(server: ServerProcess, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run `redis-benchmark -p port ...` to its end."""
    return subprocess.run(
        ["redis-benchmark", "-p", str(server.port), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment(server),
    )


@contextmanager
def following(server: ServerProcess, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `redis-cli -p port ...` beside the test, and end it with the block."""
    with subprocess.Popen(
        ["redis-cli", "-p", str(server.port), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(server),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Terminal:
    """A person at a terminal with `redis-cli -p port ...`; use it as a context manager."""

    def __init__(self, server: ServerProcess, *arguments: str) -> None:
        self._prompt = f"127.0.0.1:{server.port}> "
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            ["redis-cli", "-p", str(server.port), *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            # Without cursor movements, which nobody here could follow.
            env=environment(server) | {"TERM": "dumb"},
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        self._read_until_prompt()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def type(self, line: str) -> str:
        """Type a line, and return what is printed before the next prompt."""
        os.write(self._ours, line.encode() + b"\n")
        echoed, _, printed = self._read_until_prompt().partition("\n")
        assert echoed == line, echoed
        return printed

    def _read_until_prompt(self) -> str:
        printed = b""
        deadline = time.monotonic() + PATIENCE_S
        while not printed.endswith(self._prompt.encode()):
            left_s = deadline - time.monotonic()
            readable, _, _ = select.select([self._ours], [], [], max(left_s, 0))
            assert readable, f"no prompt after {printed!r}"
            printed += os.read(self._ours, 65_536)
        text = printed.decode().removesuffix(self._prompt).replace("\r", "")
        return ESCAPES.sub("", text)


def environment(server: ServerProcess) -> dict[str, str]:
    """Return our environment without what changes these programs, and with another home."""
    kept = {
        name: setting
        for name, setting in os.environ.items()
        if name not in ("FAKETTY", "REDISCLI_AUTH", "REDISCLI_RCFILE", "REDISCLI_HISTFILE")
    }
    return kept | {"HOME": str(server.directory), "LC_ALL": "C.UTF-8"}
