"""What pure code asks of the world, and what the world answers.

A handler that needs the world appends an ask to `effects.asks` and returns no reply. The shell
carries the ask out before that client's next command and calls `answer` with a `Result`; pure
code then writes the reply. `client` 0 means that nobody waits for the answer.
"""

from __future__ import annotations

from typing import Final, final

__all__ = [
    "Apply",
    "Ask",
    "CloseClient",
    "Crash",
    "DescribeClients",
    "DescribeServer",
    "Done",
    "Failed",
    "PauseClients",
    "ReadWallClock",
    "Restart",
    "Result",
    "RewriteConfig",
    "SaveNodes",
    "Shutdown",
    "Sleep",
    "WallClock",
]


class Ask:
    """Base of every ask."""

    __slots__ = ("client",)

    def __init__(self, client: int) -> None:
        self.client = client


@final
class DescribeServer(Ask):
    """INFO: answer with `model.facts.ServerFacts`."""

    __slots__ = ("section",)

    def __init__(self, client: int, section: bytes) -> None:
        self.client = client
        self.section = section


@final
class DescribeClients(Ask):
    """CLIENT LIST, CLIENT INFO: answer with `model.facts.ClientsFacts`. `only` 0 means all."""

    __slots__ = ("only",)

    def __init__(self, client: int, only: int) -> None:
        self.client = client
        self.only = only


@final
class ReadWallClock(Ask):
    """TIME: answer with `WallClock`."""

    __slots__ = ()


@final
class Apply(Ask):
    """CONFIG SET of a directive that reaches into the world; `Done` lets the value take effect."""

    __slots__ = ("name", "values")

    def __init__(self, client: int, name: str, values: list[bytes]) -> None:
        self.client = client
        self.name = name
        self.values = values


@final
class RewriteConfig(Ask):
    """CONFIG REWRITE: write the running configuration into its file, atomically."""

    __slots__ = ()


@final
class SaveNodes(Ask):
    """Write nodes.conf; `sync` also waits for the disk."""

    __slots__ = ("sync",)

    def __init__(self, client: int, sync: bool) -> None:
        self.client = client
        self.sync = sync


@final
class Sleep(Ask):
    """DEBUG SLEEP: block the whole server on purpose."""

    __slots__ = ("seconds",)

    def __init__(self, client: int, seconds: float) -> None:
        self.client = client
        self.seconds = seconds


@final
class Shutdown(Ask):
    """Stop serving and exit 0. Only a failure is answered."""

    __slots__ = ()


@final
class Restart(Ask):
    """Run the same command line again in the same process, after `delay_ms`.

    A clean restart shuts down first and rewrites the configuration file; the other kind simulates
    a crash.
    """

    __slots__ = ("clean", "delay_ms")

    def __init__(self, client: int, delay_ms: int, clean: bool) -> None:
        self.client = client
        self.delay_ms = delay_ms
        self.clean = clean


SEGFAULT: Final = "segfault"
ABORT: Final = "assert"
OUT_OF_MEMORY: Final = "oom"


@final
class Crash(Ask):
    """DEBUG SEGFAULT, ASSERT, OOM: end the process the hard way."""

    __slots__ = ("how",)

    def __init__(self, client: int, how: str) -> None:
        self.client = client
        self.how = how


@final
class CloseClient(Ask):
    """Close the connection `target`, after what was already replied to it has left."""

    __slots__ = ("target",)

    def __init__(self, target: int) -> None:
        self.client = 0
        self.target = target


@final
class PauseClients(Ask):
    """CLIENT PAUSE: run nobody's commands before `until_ms`."""

    __slots__ = ("until_ms",)

    def __init__(self, until_ms: int) -> None:
        self.client = 0
        self.until_ms = until_ms


class Result:
    """Base of every answer; facts are in `disque.model.facts`."""

    __slots__ = ()


@final
class Done(Result):
    """It was carried out."""

    __slots__ = ()


@final
class Failed(Result):
    """It could not be carried out; `reason` reads on after a colon, as `strerror` does."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


@final
class WallClock(Result):
    """Microseconds since the Unix epoch."""

    __slots__ = ("now_us",)

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us
