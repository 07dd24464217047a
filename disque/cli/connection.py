"""A blocking connection to a node: send arguments, receive replies.

Two things can go wrong and the caller treats them differently: `ConnectError` when there is
nobody to talk to, `ConnectionLostError` when the conversation broke off and a command may or
may not have been carried out.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from disque.cli.replies import ErrorReply, Incomplete, MalformedReplyError, Reply, ReplyReader
from disque.wire.encode import encode_request

__all__ = ["Address", "ConnectError", "Connection", "ConnectionLostError"]

RECEIVE_BYTES: Final = 65536

# Notices a peer that vanished within about a minute, also while a GETJOB waits for ever.
KEEPALIVE_S: Final = 15


class ConnectError(Exception):
    """Nobody answers at the address."""


class ConnectionLostError(Exception):
    """The connection broke while it was used."""


@dataclass(frozen=True)
class Address:
    """Where a node listens: a host and a port, or a Unix socket."""

    host: str = "127.0.0.1"
    port: int = 7711
    socket_path: str | None = None

    @property
    def label(self) -> str:
        """The address as messages and the prompt show it."""
        if self.socket_path is not None:
            return self.socket_path
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Connection:
    """A connection that is opened on demand and remembers how to authenticate."""

    def __init__(self, address: Address, password: bytes | None = None) -> None:
        self.address = address
        self.password = password
        # Why the server refused the password when the connection was opened, if it did.
        self.auth_error: str | None = None
        self._socket: socket.socket | None = None
        self._reader = ReplyReader()

    @property
    def is_open(self) -> bool:
        """Say whether there is a connection, as far as we know."""
        return self._socket is not None

    @property
    def socket(self) -> socket.socket:
        """Give the open socket to somebody who wants to wait on it."""
        assert self._socket is not None
        return self._socket

    def open(self) -> None:
        """Connect, and authenticate if there is a password."""
        self.close()
        self.auth_error = None
        try:
            self._socket = _dial(self.address)
        except (OSError, UnicodeError) as error:
            reason = _reason(error)
            raise ConnectError(
                f"Could not connect to Disque at {self.address.label}: {reason}"
            ) from None
        if self.password is not None:
            reply = self.call([b"AUTH", self.password])
            if isinstance(reply, ErrorReply):
                self.auth_error = reply.decode("utf-8", "replace")

    def close(self) -> None:
        """Hang up; harmless if there is no connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._reader = ReplyReader()

    def is_stale(self) -> bool:
        """Find out, without sending anything, whether the server hung up meanwhile."""
        if self._socket is None:
            return True
        try:
            peeked = self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return not peeked

    def call(self, argv: Sequence[bytes]) -> Reply:
        """Send one command and wait for its reply."""
        self.send(argv)
        return self.receive()

    def call_many(self, commands: Sequence[Sequence[bytes]]) -> list[Reply]:
        """Send commands in one go and collect their replies."""
        self._send(b"".join(encode_request(argv) for argv in commands))
        return [self.receive() for _ in commands]

    def send(self, argv: Sequence[bytes]) -> None:
        """Send one command."""
        self._send(encode_request(argv))

    def receive(self) -> Reply:
        """Wait for the next reply."""
        try:
            reply = self._reader.next()
            while isinstance(reply, Incomplete):
                self._reader.feed(self._receive_bytes())
                reply = self._reader.next()
        except MalformedReplyError as error:
            raise self._lost(str(error)) from None
        return reply

    def _send(self, request: bytes) -> None:
        try:
            self.socket.sendall(request)
        except OSError as error:
            raise self._lost(_reason(error)) from None

    def _receive_bytes(self) -> bytes:
        try:
            received = self.socket.recv(RECEIVE_BYTES)
        except OSError as error:
            raise self._lost(_reason(error)) from None
        if not received:
            raise self._lost("Server closed the connection")
        return received

    def _lost(self, reason: str) -> ConnectionLostError:
        self.close()
        return ConnectionLostError(reason)


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        # A name that cannot even be looked up.
        return "Neither an address nor the name of a host"
    return error.strerror or str(error) or type(error).__name__


def _dial(address: Address) -> socket.socket:
    if address.socket_path is not None:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            link.connect(address.socket_path)
        except OSError:
            link.close()
            raise
        return link
    link = socket.create_connection((address.host, address.port))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Not every system names this option so; without it the system's own pace has to do.
    if hasattr(socket, "TCP_KEEPIDLE"):
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_S)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_S // 3)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    return link
