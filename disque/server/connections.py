"""One client's socket: bytes in, bytes out, and nothing unbounded in between.

    data_received --> parser --> session.backlog --> dispatch.run --> session.out --> flush
                  `-> held (not even parsed) while the session waits or is behind

A session that waits (a blocked GETJOB), that used up its share of a turn or whose replies nobody
reads gets no further request parsed. What arrives meanwhile is held as raw bytes, and beyond
`HELD_BYTES_MAX` the socket is not read any more: the client's own sends then block, and nobody
else notices. A client that waits is read on below that bound, because the end of the connection
can only be noticed by reading.

Closing is gentle: what was replied leaves first. A client that does not take it within `LINGER_S`
is cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from typing import Final, Protocol, cast, final

from disque.commands import dispatch
from disque.commands.frontend import Frontend
from disque.commands.session import FREE, Session
from disque.model.facts import ClientFacts
from disque.model.limits import (
    MONITOR_OUTPUT_BYTES_MAX,
    QUERY_BYTES_MAX,
    STRANGER_BYTES_MAX,
    UNSENT_BYTES_MAX,
)
from disque.model.override import override
from disque.server.logs import Log
from disque.wire import resp
from disque.wire.requests import RequestParser

__all__ = ["HELD_BYTES_MAX", "LINGER_S", "Connection", "Host"]

# Input kept for a client that waits, before its socket is left alone.
HELD_BYTES_MAX: Final = 16 << 20
# How long a client may take to read its last reply before the connection is cut.
LINGER_S: Final = 5.0
# A connection whose writer is this far behind is not given more to write.
LOW_WATER_BYTES: Final = UNSENT_BYTES_MAX // 4
MAX_CLIENTS: Final = resp.error("ERR", "max number of clients reached")


class Host(Protocol):
    """What a connection needs of the server around it."""

    front: Frontend
    log: Log
    loop: asyncio.AbstractEventLoop
    connections: dict[int, Connection]

    def now_ms(self) -> int:
        """Read the server's clock."""
        ...

    def next_client_id(self) -> int:
        """Return a number no client had before."""
        ...

    def count_open(self) -> int:
        """Count the connections that have a socket, those that are being closed among them."""
        ...

    def note_closing(self, connection: Connection) -> None:
        """Take note that a connection was closed."""
        ...

    def note_closed(self, connection: Connection) -> None:
        """Take note that nothing of a connection is left."""
        ...

    def work(self, connection: Connection, now_ms: int) -> None:
        """Run what the connection has waiting, and carry out what follows from it."""
        ...

    def carry_out(self, now_ms: int) -> None:
        """Carry out what the core wants done."""
        ...

    def watch(self) -> None:
        """See to it that connections are looked at from now on, if there are rules for them."""
        ...

    def judge_soon(self, connection: Connection) -> None:
        """Look at the output of the connection before long, if it is too much."""
        ...


@final
class Connection(asyncio.Protocol):
    """A client's connection and its session."""

    __slots__ = (
        "_held_bytes",
        "_host",
        "_is_full",
        "_is_over",
        "_is_resuming",
        "_linger",
        "_parser",
        "_transport",
        "has_sent_all",
        "held",
        "session",
        "soft_since_ms",
    )

    def __init__(self, host: Host) -> None:
        self._host = host
        self._parser = RequestParser()
        # What was received but not parsed yet.
        self.held: deque[bytes] = deque()
        self._held_bytes = 0
        # The transport has more unsent bytes than it should.
        self._is_full = False
        self._is_resuming = False
        self._is_over = False
        self._linger: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self.session = Session(0, b"", False, 0)
        # The client will send no more, but may still read.
        self.has_sent_all = False
        # Since when the output is above the soft limit; 0 if it is not.
        self.soft_since_ms = 0

    # --- What the loop tells ----------------------------------------------------------------------

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the client in, unless there are too many."""
        host = self._host
        # uvloop's transports do what a Transport does without being called one.
        transport = cast("asyncio.Transport", transport)
        self._transport = transport
        now_ms = host.now_ms()
        if host.count_open() >= host.front.settings.maxclients:
            host.front.traffic.connections_rejected += 1
            self._is_over = True
            transport.write(MAX_CLIENTS)
            transport.close()
            return
        address, is_unix = _address(transport)
        self.session = Session(host.next_client_id(), address, is_unix, now_ms)
        transport.set_write_buffer_limits(UNSENT_BYTES_MAX, LOW_WATER_BYTES)
        if host.front.settings.tcp_keepalive and not is_unix:
            _keep_alive(transport, host.front.settings.tcp_keepalive)
        host.connections[self.session.id] = self
        dispatch.connect(host.front, self.session)
        # It may never send anything.
        host.watch()
        host.log.verbose("Accepted a client", address=address, id=self.session.id)

    @override
    def data_received(self, data: bytes) -> None:
        """Run the requests that are complete now, or hold them if the client has to wait."""
        host = self._host
        session = self.session
        if self._is_over:
            return
        now_ms = host.now_ms()
        session.last_active_ms = now_ms
        host.front.traffic.input_bytes += len(data)
        if session.backlog or session.waits != FREE or self._is_full or self.held:
            self._hold(data)
            return
        self._parse(data)
        host.work(self, now_ms)

    @override
    def eof_received(self) -> bool:
        """Finish what was received, if it can be finished; then close."""
        self.has_sent_all = True
        # Whoever is not merely behind schedule has nothing to wait for any more.
        if not self._is_over and self.session.waits == FREE and self._has_input():
            return True
        self.close()
        return False

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        if self._linger is not None:
            self._linger.cancel()
        self._host.note_closed(self)
        self._end()
        # Nothing must keep this object and its transport alive in a cycle.
        self._transport = None

    @override
    def pause_writing(self) -> None:
        """The client does not read: neither do we."""
        self._is_full = True
        self._regulate_reading()

    @override
    def resume_writing(self) -> None:
        """The client read enough to go on."""
        self._is_full = False
        self._regulate_reading()
        if self._has_input():
            self.resume_soon()

    # --- What the server does ---------------------------------------------------------------------

    def go_on_later(self, now_ms: int) -> None:
        """Have the rest run in another turn, unless the client has to wait for something else."""
        session = self.session
        if session.is_closing or session.waits != FREE:
            return
        is_paused = self._is_full or now_ms < self._host.front.paused_until_ms
        if not (session.backlog and is_paused):
            self.resume_soon()

    def flush(self, now_ms: int) -> None:
        """Send what is replied, and close if that was the last."""
        session = self.session
        if self._is_over or self._transport is None:
            return
        if session.out:
            data = session.taken_output()
            session.last_active_ms = now_ms
            self._host.front.traffic.output_bytes += len(data)
            self._transport.write(data)
            if self._host.front.watches_clients:
                self._host.judge_soon(self)
            if session.is_monitor and self.unsent_bytes() > MONITOR_OUTPUT_BYTES_MAX:
                self.cut("it monitors and does not read fast enough")
                return
        if session.is_closing or (
            self.has_sent_all and (session.waits != FREE or not self._has_input())
        ):
            self.close()

    def resume_soon(self) -> None:
        """Go on in another turn of the loop, so that other clients are served in between."""
        if not self._is_resuming:
            self._is_resuming = True
            self._host.loop.call_soon(self._resume)

    def close(self) -> None:
        """End the connection once everything replied has left."""
        if self._transport is None or self._is_over:
            return
        transport = self._transport
        if self.session.out:
            transport.write(self.session.taken_output())
        self._end()
        self._host.note_closing(self)
        transport.close()
        self._linger = self._host.loop.call_later(LINGER_S, self._end_linger, self.unsent_bytes())

    def cut(self, reason: str) -> None:
        """End the connection at once, whatever is still unsent."""
        if not self._is_over:
            self._host.log.warning(
                f"Closing a client: {reason}", address=self.session.address, id=self.session.id
            )
        self._end()
        self._abort()

    def is_quiet(self) -> bool:
        """Tell whether nothing is being done for the client: it is silent, or does not read."""
        session = self.session
        return session.is_idle() or (self._is_full and session.waits == FREE)

    def unsent_bytes(self) -> int:
        """Return what was replied and did not leave yet."""
        unsent = self._transport.get_write_buffer_size() if self._transport is not None else 0
        return unsent + self.session.out_bytes

    def input_bytes(self) -> int:
        """Return what was received and not run yet, as far as it is held as bytes."""
        return self._parser.buffered_bytes + self._held_bytes

    def facts(self) -> ClientFacts:
        """Describe the socket and the buffers for CLIENT LIST."""
        unsent = self.unsent_bytes()
        has_unsent = unsent > 0
        return ClientFacts(
            id=self.session.id,
            fd=_descriptor(self._transport),
            input_bytes=self.input_bytes(),
            input_free_bytes=0,
            output_bytes=self.session.out_bytes,
            output_chunks=len(self.session.out) + has_unsent,
            output_memory_bytes=unsent,
            events=b"rw" if has_unsent else b"r",
        )

    # --- Helpers ----------------------------------------------------------------------------------

    def _parse(self, data: bytes) -> None:
        parser = self._parser
        requests = parser.feed(data)
        if requests:
            self.session.backlog.extend(requests)
        if parser.error is not None:
            self.session.protocol_error = parser.error
        elif not requests:
            # What follows a complete request is no more than the rest of a chunk.
            most = QUERY_BYTES_MAX
            if self._host.front.settings.requirepass and not self.session.is_authenticated:
                most = STRANGER_BYTES_MAX
            if parser.buffered_bytes > most:
                self.cut(f"its request is longer than {most} bytes")

    def _resume(self) -> None:
        self._is_resuming = False
        session = self.session
        if self._is_over or self._is_full or session.waits != FREE or session.is_closing:
            return
        if not session.backlog and self.held:
            # One chunk at a time: parsed requests take more room than their bytes.
            data = self.held.popleft()
            self._held_bytes -= len(data)
            self._parse(data)
            self._regulate_reading()
        self._host.work(self, self._host.now_ms())

    def _hold(self, data: bytes) -> None:
        self.held.append(data)
        self._held_bytes += len(data)
        self._regulate_reading()

    def _regulate_reading(self) -> None:
        """Read on, unless the client is too far ahead of us or we of it."""
        if self._transport is None or self._is_over or self._transport.is_closing():
            return
        must_pause = self._is_full or self._held_bytes > HELD_BYTES_MAX
        if must_pause == self._transport.is_reading():
            if must_pause:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _has_input(self) -> bool:
        return bool(self.session.backlog or self.held)

    def _end(self) -> None:
        """Forget the session; whatever it waited for is given up."""
        if self._is_over:
            return
        self._is_over = True
        self.held.clear()
        self._held_bytes = 0
        host = self._host
        host.connections.pop(self.session.id, None)
        now_ms = host.now_ms()
        dispatch.disconnect(host.front, self.session, now_ms)
        host.log.verbose("A client left", address=self.session.address, id=self.session.id)
        host.carry_out(now_ms)

    def _end_linger(self, unsent_before: int) -> None:
        """Cut a client that did not read anything for a while; let one that is slow go on."""
        unsent = self.unsent_bytes()
        if unsent < unsent_before:
            self._linger = self._host.loop.call_later(LINGER_S, self._end_linger, unsent)
        else:
            self._abort()

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _address(transport: asyncio.Transport) -> tuple[bytes, bool]:
    """Return how the client is called in lists, and whether it came through a Unix socket."""
    link: socket.socket = transport.get_extra_info("socket")
    if link.family == socket.AF_UNIX:
        path: str | bytes = transport.get_extra_info("sockname") or ""
        raw = path if isinstance(path, bytes) else path.encode("utf-8", "surrogateescape")
        return raw + b":0", True
    peer: tuple[str, int] | None = transport.get_extra_info("peername")
    if not peer:
        # It left before we looked.
        return b"?:0", False
    host, port = peer[0], peer[1]
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}").encode(), False


def _keep_alive(transport: asyncio.Transport, idle_s: int) -> None:
    link: socket.socket = transport.get_extra_info("socket")
    # Best effort: a connection without probes is better than none.
    with contextlib.suppress(OSError):
        _probe_after(link, idle_s)


def _probe_after(link: socket.socket, idle_s: int) -> None:
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle_s)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, idle_s // 3))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)


def _descriptor(transport: asyncio.Transport | None) -> int:
    if transport is None:
        return -1
    link: socket.socket = transport.get_extra_info("socket")
    return link.fileno()
