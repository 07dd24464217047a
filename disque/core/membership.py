"""Who is in the cluster: this node's own line and its peers."""

from __future__ import annotations

from typing import final

from disque.model.job import NodeId
from disque.model.peer import FAIL, HANDSHAKE, LEAVING, MYSELF, NO_ADDRESS, SUSPECTED, Peer

__all__ = ["Membership"]


@final
class Membership:
    """The node table; `me` is one of its lines."""

    __slots__ = ("me", "messages_received", "messages_sent", "nodes")

    def __init__(self, me: NodeId, port: int) -> None:
        self.me = Peer(me, "", port, MYSELF)
        self.me.is_connected = True
        self.nodes: dict[NodeId, Peer] = {me: self.me}
        self.messages_sent = 0
        self.messages_received = 0

    @property
    def is_leaving(self) -> bool:
        """Tell whether this node was told to leave the cluster."""
        return bool(self.me.flags & LEAVING)

    def set_leaving(self, is_leaving: bool) -> None:
        """Mark this node as leaving, or as staying after all."""
        if is_leaving:
            self.me.flags |= LEAVING
        else:
            self.me.flags &= ~LEAVING

    def size(self) -> int:
        """Count the nodes, failed and leaving ones included, handshakes not."""
        if len(self.nodes) == 1:
            return 1
        return sum(1 for peer in self.nodes.values() if not peer.flags & HANDSHAKE)

    def known_ids(self) -> frozenset[NodeId]:
        """Return the ids of all nodes that finished their handshake, ours included."""
        return frozenset(peer.id for peer in self.nodes.values() if not peer.flags & HANDSHAKE)

    def reachable(self) -> list[Peer]:
        """Return the peers that can take copies of jobs."""
        refused = MYSELF | HANDSHAKE | LEAVING | SUSPECTED | FAIL | NO_ADDRESS
        return [peer for peer in self.nodes.values() if not peer.flags & refused]

    def forget_peers(self) -> None:
        """Be alone again."""
        self.nodes = {self.me.id: self.me}

    def rename(self, id: NodeId) -> None:
        """Take a new identity."""
        del self.nodes[self.me.id]
        self.me.id = id
        self.nodes[id] = self.me
