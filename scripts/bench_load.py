"""A pipelining load generator, and a probe that looks for pauses.

Both are plain non-blocking sockets under one epoll, in one thread, because on a small machine every
further thread would compete with the server that is being measured.

    batches, encoded beforehand --> 50 connections, one batch in flight each --> count replies

The generator spends as little as possible per reply: a batch is one `send`, and replies are not
parsed but counted by their line feeds, which works as long as bodies hold none and every good reply
to a command has the same number of lines. Errors and nil replies, which have another number, are
looked for in every chunk and stop the run. The same code drives both servers, so what it costs is
charged to both sides of a ratio; how busy it was is part of the result.

The probe sends a PING every millisecond whether or not the earlier ones were answered, so that a
long pause is seen by every PING that fell into it (waiting for the answer first would hide all but
one).
"""

import select
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Final, NamedTuple, Self

import hiredis

__all__ = [
    "HOST",
    "PING_INTERVAL_NS",
    "RECEIVE_BYTES",
    "Batch",
    "BenchError",
    "Connection",
    "LoadResult",
    "ProbeResult",
    "Sockets",
    "ack_batches",
    "encode",
    "job_ids",
    "probe",
    "repeated",
    "run_load",
]

CONNECTIONS: Final = 50
HOST: Final = "127.0.0.1"

# More than any server here should ever be silent; a run that hangs must end with a sentence.
SILENCE_SECONDS_MAX: Final = 60.0

RECEIVE_BYTES: Final = 1 << 16

PING_INTERVAL_NS: Final = 1_000_000


class BenchError(Exception):
    """The measurement cannot go on; the sentence says why."""


class Batch(NamedTuple):
    """Commands that leave in one write, and how many lines their replies have in total."""

    request: bytes
    commands: int
    reply_lines: int


@dataclass
class LoadResult:
    """What a run did. `busy` is the share of the time the generator itself was computing."""

    commands: int
    seconds: float
    busy: float
    reply_bytes: int
    kept: list[bytes] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return self.commands / self.seconds


@dataclass
class ProbeResult:
    """Round trips of the PINGs, sorted, and how much load ran beside them.

    `stall_ms` is the longest time the probe itself did not run although it wanted to. It never
    waits for the server longer than a millisecond, so this is the machine's doing alone.
    """

    round_trips_ms: list[float]
    stall_ms: float
    commands: int
    seconds: float


class Connection:
    """One blocking connection for everything that is not timed."""

    def __init__(self, port: int, timeout_seconds: float = SILENCE_SECONDS_MAX) -> None:
        self._socket = socket.create_connection((HOST, port), timeout_seconds)
        self._reader = hiredis.Reader()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, *words: bytes | str | int) -> object:
        """Send one command and return its reply; an error reply is raised."""
        self._socket.sendall(encode(*words))
        return self.receive()

    def send(self, request: bytes) -> None:
        self._socket.sendall(request)

    def receive(self) -> object:
        """Return the next reply; `False` is not one, so it marks 'not enough bytes yet'."""
        while (reply := self._reader.gets()) is False:
            chunk = self._socket.recv(RECEIVE_BYTES)
            if not chunk:
                raise BenchError("the server closed the connection")
            self._reader.feed(chunk)
        if isinstance(reply, hiredis.ReplyError):
            raise BenchError(f"the server answered: {reply}")
        return reply


class Sockets:
    """Connections that were answered once, so the server has accepted them, under one epoll."""

    __slots__ = ("by_number", "poller")

    def __init__(self, port: int, count: int) -> None:
        self.poller = select.epoll()
        self.by_number: dict[int, socket.socket] = {}
        try:
            for _ in range(count):
                self._open(port)
        except BaseException:
            self.close()
            raise

    def _open(self, port: int) -> None:
        link = socket.create_connection((HOST, port), SILENCE_SECONDS_MAX)
        self.by_number[link.fileno()] = link
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.sendall(encode("PING"))
        if link.recv(64) != b"+PONG\r\n":
            raise BenchError("the server did not answer PING with PONG")
        link.setblocking(False)
        self.poller.register(link.fileno(), select.EPOLLIN)

    def send(self, number: int, request: bytes) -> None:
        link = self.by_number[number]
        sent = link.send(request)
        if sent < len(request):
            # The kernel's buffer is full, which only happens to large batches that are not timed.
            link.settimeout(SILENCE_SECONDS_MAX)
            link.sendall(request[sent:])
            link.setblocking(False)

    def close(self) -> None:
        for link in self.by_number.values():
            link.close()
        self.poller.close()


def encode(*words: bytes | str | int) -> bytes:
    """Write one command as a RESP array of bulk strings."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        raw = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(raw), raw))
    return b"".join(parts)


def repeated(command: bytes, reply_lines: int, count: int, pipeline: int) -> Iterator[Batch]:
    """Send the same command `count` times, `pipeline` at once; the last batch may be shorter."""
    full, rest = divmod(count, pipeline)
    yield from repeat(Batch(command * pipeline, pipeline, reply_lines * pipeline), full)
    if rest:
        yield Batch(command * rest, rest, reply_lines * rest)


def ack_batches(ids: Sequence[bytes], pipeline: int) -> list[Batch]:
    """Acknowledge every id with a command of its own, encoded before the clock starts."""
    commands = [encode("ACKJOB", job_id) for job_id in ids]
    slices = (commands[start : start + pipeline] for start in range(0, len(ids), pipeline))
    return [Batch(b"".join(part), len(part), len(part)) for part in slices]


def job_ids(kept: Iterable[bytes]) -> list[bytes]:
    """Read the ids out of kept GETJOB replies, one stream of bytes per connection."""
    ids: list[bytes] = []
    for stream in kept:
        reader = hiredis.Reader()
        reader.feed(stream)
        while (reply := reader.gets()) is not False:
            if not isinstance(reply, list):
                raise BenchError(f"expected jobs, got {reply!r}")
            ids.extend(job[1] for job in reply)
    return ids


def run_load(
    port: int,
    batches: Iterable[Batch],
    *,
    connections: int = CONNECTIONS,
    keep: bool = False,
) -> LoadResult:
    """Push the batches through the connections, one in flight on each, and time it."""
    fleet = _Fleet(port, connections, keep=keep)
    try:
        return fleet.run(iter(batches))
    finally:
        fleet.close()


def probe(
    port: int,
    batch: Batch,
    *,
    seconds: float,
    commands_per_second: int,
    connections: int = 4,
) -> ProbeResult:
    """PING every millisecond for a while, beside a paced load of `batch`."""
    sockets = Sockets(port, connections + 1)
    try:
        return _Probe(sockets, batch, commands_per_second).run(seconds)
    finally:
        sockets.close()


class _Fleet:
    """The timed loop over many connections."""

    __slots__ = ("_kept", "_lines_left", "_lines_wanted", "_sockets")

    def __init__(self, port: int, connections: int, *, keep: bool) -> None:
        self._sockets = Sockets(port, connections)
        self._lines_left: dict[int, int] = {}
        self._lines_wanted: dict[int, int] = {}
        self._kept: dict[int, list[bytes]] | None = (
            {number: [] for number in self._sockets.by_number} if keep else None
        )

    def close(self) -> None:
        self._sockets.close()

    def run(self, source: Iterator[Batch]) -> LoadResult:
        commands = 0
        reply_bytes = 0
        lines_left, kept = self._lines_left, self._kept
        receivers = {number: link.recv for number, link in self._sockets.by_number.items()}
        poll = self._sockets.poller.poll
        computing = time.process_time()
        started = time.perf_counter()
        for number in self._sockets.by_number:
            commands += self._send_next(number, source)
        while lines_left:
            ready = poll(SILENCE_SECONDS_MAX)
            if not ready:
                raise BenchError(f"no reply for {SILENCE_SECONDS_MAX:.0f} s")
            for number, _ in ready:
                chunk = receivers[number](RECEIVE_BYTES)
                self._check(number, chunk)
                reply_bytes += len(chunk)
                if kept is not None:
                    kept[number].append(chunk)
                left = lines_left[number] - chunk.count(b"\n")
                if left > 0:
                    lines_left[number] = left
                else:
                    commands += self._send_next(number, source)
        seconds = time.perf_counter() - started
        busy = (time.process_time() - computing) / seconds
        streams = [b"".join(chunks) for chunks in kept.values()] if kept is not None else []
        return LoadResult(commands, seconds, busy, reply_bytes, streams)

    def _send_next(self, number: int, source: Iterator[Batch]) -> int:
        batch = next(source, None)
        if batch is None:
            self._lines_left.pop(number, None)
            return 0
        self._lines_left[number] = self._lines_wanted[number] = batch.reply_lines
        self._sockets.send(number, batch.request)
        return batch.commands

    def _check(self, number: int, chunk: bytes) -> None:
        if not chunk:
            raise BenchError("the server closed the connection")
        is_first = self._lines_left[number] == self._lines_wanted[number]
        if (is_first and chunk[0] == 0x2D) or b"\n-" in chunk:
            at = 0 if is_first and chunk[0] == 0x2D else chunk.index(b"\n-") + 1
            sentence = chunk[at:].split(b"\r\n", 1)[0].decode(errors="replace")
            raise BenchError(f"the server answered: {sentence}")
        if b"*-1\r" in chunk or b"$-1\r" in chunk:
            raise BenchError("the queue ran dry: the server answered nil")


class _Probe:
    """The paced loop: one connection pings, the others carry the load."""

    __slots__ = ("_batch", "_commands", "_idle", "_interval_ns", "_left", "_pinger", "_sockets")

    def __init__(self, sockets: Sockets, batch: Batch, commands_per_second: int) -> None:
        self._sockets = sockets
        self._batch = batch
        self._interval_ns = batch.commands * 1_000_000_000 // commands_per_second
        numbers = list(sockets.by_number)
        self._pinger = numbers[0]
        self._idle = deque(numbers[1:])
        self._left: dict[int, int] = {}
        self._commands = 0

    def run(self, seconds: float) -> ProbeResult:
        clock = time.perf_counter_ns
        sent_at_ns: deque[int] = deque()
        round_trips_ns: list[int] = []
        stall_ns = 0
        started_ns = turn_ns = now_ns = next_ping_ns = next_batch_ns = clock()
        end_ns = started_ns + int(seconds * 1_000_000_000)
        ping = encode("PING")
        while now_ns < end_ns or sent_at_ns:
            if now_ns < end_ns and now_ns >= next_ping_ns:
                sent_at_ns.append(clock())
                self._sockets.send(self._pinger, ping)
                next_ping_ns = max(next_ping_ns + PING_INTERVAL_NS, now_ns)
            if now_ns < end_ns:
                next_batch_ns = self._send_due(now_ns, next_batch_ns)
            # The kernel counts in whole milliseconds here, which is the pace of the pings.
            for number, _ in self._sockets.poller.poll(0.001):
                pongs = self._receive(number)
                now_ns = clock()
                round_trips_ns.extend(now_ns - sent_at_ns.popleft() for _ in range(pongs))
            now_ns = clock()
            stall_ns = max(stall_ns, now_ns - turn_ns - PING_INTERVAL_NS)
            turn_ns = now_ns
            if sent_at_ns and now_ns - sent_at_ns[0] > SILENCE_SECONDS_MAX * 1e9:
                raise BenchError(f"no reply for {SILENCE_SECONDS_MAX:.0f} s")
        round_trips_ms = sorted(round_trip_ns / 1e6 for round_trip_ns in round_trips_ns)
        lasted_seconds = (now_ns - started_ns) / 1e9
        return ProbeResult(round_trips_ms, stall_ns / 1e6, self._commands, lasted_seconds)

    def _send_due(self, now_ns: int, next_batch_ns: int) -> int:
        while next_batch_ns <= now_ns and self._idle:
            number = self._idle.popleft()
            self._left[number] = self._batch.reply_lines
            self._sockets.send(number, self._batch.request)
            self._commands += self._batch.commands
            next_batch_ns += self._interval_ns
        # What could not be sent in time is dropped: catching up would be a burst of our own making.
        return max(next_batch_ns, now_ns - 10 * self._interval_ns)

    def _receive(self, number: int) -> int:
        chunk = self._sockets.by_number[number].recv(RECEIVE_BYTES)
        if not chunk:
            raise BenchError("the server closed the connection")
        lines = chunk.count(b"\n")
        if number == self._pinger:
            return lines
        # Later chunks may begin inside an id, which contains the sign that starts an error.
        if chunk[0] == 0x2D and self._left[number] == self._batch.reply_lines:
            raise BenchError(f"the server answered: {chunk[:200].decode(errors='replace')}")
        self._left[number] -= lines
        if self._left[number] <= 0:
            self._idle.append(number)
        return 0
