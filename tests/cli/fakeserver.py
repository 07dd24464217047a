"""A server that says what it is told to say, so that the client is tested alone."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from disque.cli.replies import Incomplete, ReplyReader

__all__ = ["HANG_UP", "FakeServer"]

Answer = Callable[[list[bytes]], bytes]

# As an answer, or at the end of one: close the connection instead of waiting for more.
HANG_UP = b"<hang up>"


class FakeServer:
    """Accepts connections on a free port and answers every request with `answer(argv)`."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[list[bytes]] = []
        self.connections = 0
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._links: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def port(self) -> int:
        """The port the server listens on."""
        port: int = self._listener.getsockname()[1]
        return port

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        # First the one that accepts: afterwards there are no connections we do not know of.
        self._threads[0].join(5)
        self.hang_up()
        for thread in self._threads[1:]:
            thread.join(5)

    def hang_up(self) -> None:
        """Close every connection, as a server does that is restarted."""
        for link in self._links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()
        self._links.clear()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._links.append(link)
            thread = threading.Thread(target=self._serve, args=(link,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, link: socket.socket) -> None:
        reader = ReplyReader()
        try:
            while received := link.recv(65536):
                reader.feed(received)
                request = reader.next()
                while not isinstance(request, Incomplete):
                    assert isinstance(request, list)
                    argv = [word for word in request if isinstance(word, bytes)]
                    self.requests.append(argv)
                    answer = self._answer(argv)
                    link.sendall(answer.removesuffix(HANG_UP))
                    if answer.endswith(HANG_UP):
                        link.shutdown(socket.SHUT_RDWR)
                        return
                    request = reader.next()
        except OSError:
            return
