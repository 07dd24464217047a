"""nodes.conf: who we are and whom we know, kept across restarts.

The file is replaced as a whole whenever it changes, so it cannot be locked itself: the lock is on
`<file>.lock` beside it, held until the process ends in whatever way. The lock file stays; to
remove it would let two processes lock two files of the same name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, final

from disque.model.errors import ProtocolError
from disque.model.job import NodeId
from disque.model.peer import HANDSHAKE, MYSELF, Peer
from disque.server.files import remove_leftovers, replace_file
from disque.server.problems import StartError
from disque.wire import nodesconf

__all__ = ["NodesFile", "new_node_id"]

NODE_ID_BYTES: Final = 20


@final
class NodesFile:
    """The node table on disk, for one process at a time."""

    __slots__ = ("_lock", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = -1

    def lock(self) -> None:
        """Make the file ours until the process ends, or say that somebody else has it."""
        try:
            descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StartError(f"Can't open {self.path}.lock: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise StartError(
                f"Sorry, the cluster configuration file {self.path} is already used by a different "
                "Disque node. Give every node its own cluster-config-file, or its own dir."
            ) from error
        except OSError as error:
            os.close(descriptor)
            raise StartError(f"Can't lock {self.path}.lock: {error.strerror}") from error
        self._lock = descriptor

    def unlock(self) -> None:
        """Let the next process have the file."""
        if self._lock != -1:
            os.close(self._lock)
            self._lock = -1

    def load(self, now_ms: int) -> list[Peer] | None:
        """Return the nodes, ourselves among them, or None if this node never ran before.

        Who waited for a pong when the file was written waits from now on.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StartError(f"Can't read {self.path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise _corrupt(self.path, "it is not text") from error
        if text == "":
            return None
        try:
            peers = nodesconf.parse(text)
        except ProtocolError as error:
            raise _corrupt(self.path, str(error)) from error
        for peer in peers:
            peer.is_connected = False
            peer.ping_sent_ms = now_ms if peer.ping_sent_ms else 0
            peer.pong_received_ms = now_ms if peer.pong_received_ms else 0
        return peers

    def load_or_create(self, port: int, now_ms: int) -> list[Peer]:
        """Return the nodes; at the first start make an identity and save it first."""
        with contextlib.suppress(OSError):
            # Litter is no reason not to start.
            remove_leftovers(self.path)
        peers = self.load(now_ms)
        if peers is None:
            peers = [Peer(new_node_id(), "", port, MYSELF)]
            try:
                self.save(peers, is_synced=True)
            except OSError as error:
                raise StartError(f"Can't write {self.path}: {error.strerror}") from error
        return peers

    def save(self, peers: Iterable[Peer], *, is_synced: bool) -> None:
        """Write the table, without nodes that have not answered yet. Raises `OSError`."""
        lines = [nodesconf.line(peer) + "\n" for peer in peers if not peer.flags & HANDSHAKE]
        replace_file(self.path, "".join(lines).encode(), is_synced=is_synced)


def new_node_id() -> NodeId:
    """Draw a name that no other node has."""
    return NodeId(os.urandom(NODE_ID_BYTES).hex().encode("ascii"))


def _corrupt(path: Path, reason: str) -> StartError:
    return StartError(
        f"Unrecoverable error: corrupted cluster config file. {path}: {reason}. Restore it from a "
        "backup, or remove it to start as a new, empty node."
    )
