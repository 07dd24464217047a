"""redis-py behind one face.

The library has two flavours, `redis.Redis` and `redis.asyncio.Redis`, and each speaks two versions
of the protocol. What must hold for all of them is said once: `Client` has the methods of the
library, and each returns its result, also where the library returns a coroutine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import redis
import redis.asyncio
import redis.asyncio.retry
from redis.backoff import ConstantBackoff, NoBackoff
from redis.retry import Retry

from tests.support.server import ServerProcess

__all__ = [
    "FLAVOURS",
    "PROTOCOLS",
    "STUBBORN",
    "Client",
    "Command",
    "Connector",
    "Flavour",
    "Untyped",
]

# What a user writes: nothing, which means RESP3 since version 8, or one of the two. Where RESP3 is
# asked for by its number, the library makes other Python values of some replies.
PROTOCOLS: Final = {"default": None, "resp2": 2, "resp3": 3}

# Pause and number of tries. A server that starts on a busy machine may need more time than the ten
# tries that the library makes by itself.
STUBBORN: Final = (ConstantBackoff(0.02), 500)

# The library says little about its arguments and nothing about its replies.
Untyped: TypeAlias = Any
Command: TypeAlias = "tuple[bytes | str | int, ...]"
Connector: TypeAlias = "Callable[..., Client]"


class Client:
    """A client of either flavour, used as if it were the synchronous one."""

    def __init__(self, raw: Untyped) -> None:
        self._raw = raw
        is_asyncio = isinstance(raw, redis.asyncio.Redis)
        # The loop lives as long as the connections do, and never becomes the thread's current one.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop) if is_asyncio else None

    def __getattr__(self, name: str) -> Callable[..., Untyped]:
        method = getattr(self._raw, name)

        def call(*arguments: Untyped, **options: Untyped) -> Untyped:
            return self._finish(method(*arguments, **options))

        return call

    def ask(self, *words: bytes | str | int) -> Untyped:
        """Send any command and return its reply."""
        return self._finish(self._raw.execute_command(*words))

    def ask_all(
        self, *commands: Command, transaction: bool = False, raise_on_error: bool = True
    ) -> Untyped:
        """Send several commands at once and return their replies."""
        pipeline = self._raw.pipeline(transaction=transaction)
        for command in commands:
            pipeline = pipeline.execute_command(*command)
        return self._finish(pipeline.execute(raise_on_error=raise_on_error))

    def close(self) -> None:
        """Close all connections."""
        if self._runner is None:
            self._raw.close()
        else:
            self._runner.run(self._raw.aclose())
            self._runner.close()

    def _finish(self, result: Untyped) -> Untyped:
        if self._runner is not None and asyncio.iscoroutine(result):
            return self._runner.run(result)
        return result


@dataclass(frozen=True)
class Flavour:
    """One way to use the library."""

    is_asyncio: bool
    protocol: int | None

    def connect(
        self, server: ServerProcess, *, retries: int | None = None, **options: Untyped
    ) -> Client:
        """Make a client; `retries` replaces the library's own idea of repeating commands."""
        if retries is not None:
            kind = redis.asyncio.retry.Retry if self.is_asyncio else Retry
            options["retry"] = kind(NoBackoff(), retries)
        if "unix_socket_path" not in options:
            options |= {"host": "127.0.0.1", "port": server.port}
        return Client(self._library(protocol=self.protocol, **options))

    def connect_url(self, url: str, **options: Untyped) -> Client:
        """Make a client from a URL, and what a URL cannot say."""
        return Client(self._library.from_url(url, **options))

    @property
    def _library(self) -> Untyped:
        return redis.asyncio.Redis if self.is_asyncio else redis.Redis


FLAVOURS: Final = {
    f"{kind}-{name}": Flavour(kind == "asyncio", protocol)
    for kind in ("sync", "asyncio")
    for name, protocol in PROTOCOLS.items()
}
