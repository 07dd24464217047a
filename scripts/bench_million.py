"""Add a million numbered jobs, drain them, and see that nothing was lost, doubled or reordered.

One connection adds and one connection drains, because only jobs of one producer have an order that
can be promised: the queue is ordered by creation time. Beside the working connection a second one
sends PINGs, so the longest time the server was deaf is known for both phases. This is a check with
figures, not a comparison: any deviation ends it with a sentence.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Self

import hiredis

from scripts.bench_load import (
    PING_INTERVAL_NS,
    RECEIVE_BYTES,
    SILENCE_SECONDS_MAX,
    BenchError,
    Sockets,
    encode,
)
from scripts.bench_rows import Progress
from scripts.bench_servers import Server, memory_bytes

__all__ = ["Million", "body_of", "drain_step", "lines_of", "run_million"]

QUEUE: Final = "million"
BODY_BYTES: Final = 100
ADD_BATCH: Final = 250
DRAIN_BATCH: Final = 100
PROGRESS_STEPS: Final = 10


@dataclass
class Million:
    """What came out of it."""

    jobs: int
    add_seconds: float = 0.0
    drain_seconds: float = 0.0
    worst_pause_adding_ms: float = 0.0
    worst_pause_draining_ms: float = 0.0
    resident_bytes_before: int = 0
    resident_bytes_loaded: int = 0
    resident_bytes_drained: int = 0

    def document(self) -> dict[str, object]:
        return asdict(self)


def run_million(server: Server, jobs: int, say: Progress) -> Million:
    """Add, drain and check; raise `BenchError` on the first thing that is not as promised."""
    result = Million(jobs, resident_bytes_before=memory_bytes(server.pid))
    with _Watched(server.port) as connection:
        started = time.perf_counter()
        _add_all(connection, jobs, say)
        result.add_seconds = time.perf_counter() - started
        result.worst_pause_adding_ms = connection.take_worst_ms()
        result.resident_bytes_loaded = memory_bytes(server.pid)
        started = time.perf_counter()
        _drain_all(connection, jobs, say)
        result.drain_seconds = time.perf_counter() - started
        result.worst_pause_draining_ms = connection.take_worst_ms()
        result.resident_bytes_drained = memory_bytes(server.pid)
    if (left := server.jobs_registered()) != 0:
        raise BenchError(f"{left} jobs are still registered after all were acknowledged")
    return result


def lines_of(result: Million) -> str:
    """Say the result in sentences."""
    add_rate = result.jobs / result.add_seconds
    drain_rate = result.jobs / result.drain_seconds
    before, loaded, drained = (
        f"{resident / 2**20:,.0f} MiB"
        for resident in (
            result.resident_bytes_before,
            result.resident_bytes_loaded,
            result.resident_bytes_drained,
        )
    )
    lines = [
        f"{result.jobs:,} jobs added and drained: none lost, none doubled, order kept.",
        f"added:   {add_rate:,.0f} jobs/s, worst pause {result.worst_pause_adding_ms:.1f} ms",
        f"drained: {drain_rate:,.0f} jobs/s, worst pause {result.worst_pause_draining_ms:.1f} ms",
        f"resident memory: {before} before, {loaded} loaded, {drained} drained",
    ]
    return "\n".join(lines)


def body_of(number: int) -> bytes:
    """Write the body of a numbered job: the number, padded to the size of the benchmark."""
    return (b"%012d." % number).ljust(BODY_BYTES, b"x")


def drain_step(reply: object, expected: int) -> list[bytes]:
    """Check that a GETJOB reply continues at the expected number; return the ids to acknowledge."""
    if reply is None:
        raise BenchError(f"the queue is empty, but job {expected} was never delivered")
    if not isinstance(reply, list):
        raise BenchError(f"expected jobs, got {reply!r}")
    ids: list[bytes] = []
    for number, (_, job_id, body) in enumerate(reply, expected):
        if body != body_of(number):
            raise BenchError(f"expected job {number}, got the body {body[:20]!r}")
        ids.append(job_id)
    return ids


def _add_all(connection: "_Watched", jobs: int, say: Progress) -> None:
    for start in range(0, jobs, ADD_BATCH):
        numbers = range(start, min(start + ADD_BATCH, jobs))
        request = b"".join(encode("ADDJOB", QUEUE, body_of(number), 0) for number in numbers)
        connection.exchange(request, len(numbers))
        _progress("added", start, len(numbers), jobs, say)


def _drain_all(connection: "_Watched", jobs: int, say: Progress) -> None:
    fetch = encode("GETJOB", "NOHANG", "COUNT", DRAIN_BATCH, "FROM", QUEUE)
    replies = connection.exchange(fetch, 1)
    expected = 0
    while expected < jobs:
        ids = drain_step(replies[-1], expected)
        # The next jobs are fetched in the same write, so that the server is never left waiting.
        replies = connection.exchange(encode("ACKJOB", *ids) + fetch, 2)
        if replies[0] != len(ids):
            raise BenchError(f"{len(ids)} jobs were acknowledged, the server counted {replies[0]}")
        _progress("drained", expected, len(ids), jobs, say)
        expected += len(ids)
    if replies[-1] is not None:
        raise BenchError(f"all {jobs} jobs were drained, but the queue is not empty")


def _progress(what: str, before: int, count: int, jobs: int, say: Progress) -> None:
    step = max(jobs // PROGRESS_STEPS, 1)
    if before // step != (before + count) // step:
        say(f"{what} {before + count:,} of {jobs:,}")


class _Watched:
    """One working connection, and one beside it that notices when the server is deaf."""

    def __init__(self, port: int) -> None:
        self._sockets = Sockets(port, 2)
        self._worker, self._pinger = self._sockets.by_number
        self._reader = hiredis.Reader()
        self._ping = encode("PING")
        self._sent_at_ns: deque[int] = deque()
        self._next_ping_ns = 0
        self._worst_ns = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sockets.close()

    def take_worst_ms(self) -> float:
        """Return the longest round trip of a PING since the last call."""
        worst_ns, self._worst_ns = self._worst_ns, 0
        return worst_ns / 1e6

    def exchange(self, request: bytes, count: int) -> Sequence[object]:
        """Send a request and wait for all its replies, pinging meanwhile."""
        replies: list[object] = []
        self._sockets.send(self._worker, request)
        deadline_ns = time.perf_counter_ns() + int(SILENCE_SECONDS_MAX * 1e9)
        while len(replies) < count:
            now_ns = time.perf_counter_ns()
            if now_ns > deadline_ns:
                raise BenchError(f"no reply for {SILENCE_SECONDS_MAX:.0f} s")
            if now_ns >= self._next_ping_ns:
                self._next_ping_ns = now_ns + PING_INTERVAL_NS
                self._sent_at_ns.append(now_ns)
                self._sockets.send(self._pinger, self._ping)
            for number, _ in self._sockets.poller.poll(0.001):
                self._receive(number, replies)
        return replies

    def _receive(self, number: int, replies: list[object]) -> None:
        chunk = self._sockets.by_number[number].recv(RECEIVE_BYTES)
        if not chunk:
            raise BenchError("the server closed the connection")
        if number == self._pinger:
            now_ns = time.perf_counter_ns()
            for _ in range(chunk.count(b"\n")):
                self._worst_ns = max(self._worst_ns, now_ns - self._sent_at_ns.popleft())
            return
        self._reader.feed(chunk)
        while (reply := self._reader.gets()) is not False:
            if isinstance(reply, hiredis.ReplyError):
                raise BenchError(f"the server answered: {reply}")
            replies.append(reply)
