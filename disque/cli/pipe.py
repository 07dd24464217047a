"""Mass insertion: standard input goes to the server as it is, replies are counted.

Sending and receiving overlap, because a server whose replies nobody reads stops reading, too.
After the last byte a PING with a random message is sent; when that message comes back, every
command before it has been answered. QUIT follows, so that the server hangs up if it does not
answer PING: because we are not authenticated, or because the input said CLIENT REPLY OFF.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import time
from typing import Final

from disque.cli.connection import Connection, ConnectionLostError
from disque.cli.output import Output, complain
from disque.cli.replies import ErrorReply, Incomplete, MalformedReplyError, ReplyReader
from disque.wire.encode import encode_request

__all__ = ["Pipe"]

CHUNK_BYTES: Final = 65536

# How often silence is compared with the timeout.
WAIT_S: Final = 1.0


class Pipe:
    """One transfer from a file descriptor to a node."""

    def __init__(
        self, connection: Connection, source: int, output: Output, timeout_s: float
    ) -> None:
        self.errors = 0
        self.replies = 0
        self._socket = connection.socket
        self._source = source
        self._output = output
        self._timeout_s = timeout_s
        self._wait_s = min(WAIT_S, timeout_s) or WAIT_S
        self._reader = ReplyReader()
        self._marker = secrets.token_bytes(20)
        self._pending = b""
        self._is_source_drained = False
        self._is_announced = False
        self._is_done = False

    def run(self) -> int:
        """Transfer everything; the status is 1 if anything went wrong."""
        self._socket.setblocking(False)
        heard_s = time.monotonic()
        try:
            while not self._is_done:
                heard_s = self._turn(heard_s)
        except (OSError, ConnectionLostError, MalformedReplyError) as error:
            complain(f"Error: {getattr(error, 'strerror', None) or error}")
            self.errors += 1
        self._output.line(f"errors: {self.errors}, replies: {self.replies}")
        return 1 if self.errors else 0

    def _turn(self, heard_s: float) -> float:
        """Move what can be moved; answer when the server was last heard or fed."""
        readers: list[socket.socket | int] = [self._socket]
        if not self._pending and not self._is_source_drained:
            readers.append(self._source)
        writers = [self._socket] if self._pending else []
        readable, writable, _ = select.select(readers, writers, [], self._wait_s)
        if self._socket in readable:
            self._receive()
        if self._source in readable:
            self._read_source()
        if writable:
            self._send()
        if readable or writable:
            heard_s = time.monotonic()
        if self._is_source_drained and not self._pending:
            self._announce()
            self._give_up_after(time.monotonic() - heard_s)
        return heard_s

    def _read_source(self) -> None:
        self._pending = os.read(self._source, CHUNK_BYTES)
        if not self._pending:
            self._is_source_drained = True
            self._pending = encode_request([b"PING", self._marker]) + encode_request([b"QUIT"])

    def _send(self) -> None:
        # The system may change its mind between saying "writable" and taking anything.
        with contextlib.suppress(BlockingIOError):
            self._pending = self._pending[self._socket.send(self._pending) :]

    def _receive(self) -> None:
        try:
            received = self._socket.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        if not received:
            raise ConnectionLostError("Server closed the connection before the last reply")
        self._reader.feed(received)
        reply = self._reader.next()
        while not isinstance(reply, Incomplete):
            if self._is_source_drained and reply == self._marker:
                self._announce()
                self._output.line("Last reply received from server.")
                self._is_done = True
                return
            self.replies += 1
            if isinstance(reply, ErrorReply):
                self.errors += 1
                complain(reply.decode("utf-8", "backslashreplace"))
            reply = self._reader.next()

    def _announce(self) -> None:
        if not self._is_announced:
            self._is_announced = True
            self._output.line("All data transferred. Waiting for the last reply...")

    def _give_up_after(self, silence_s: float) -> None:
        if self._is_done or not self._timeout_s or silence_s < self._timeout_s:
            return
        complain(f"No replies for {self._timeout_s:g} seconds: giving up.")
        self.errors += 1
        self._is_done = True
