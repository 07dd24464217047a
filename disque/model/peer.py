"""Another node of the cluster, and how node flags are written down."""

from __future__ import annotations

from typing import Final, final

from disque.model.job import NodeId

__all__ = [
    "FAIL",
    "FLAG_NAMES",
    "HANDSHAKE",
    "LEAVING",
    "MYSELF",
    "NO_ADDRESS",
    "SUSPECTED",
    "Peer",
]

MYSELF: Final = 1
SUSPECTED: Final = 2
FAIL: Final = 4
HANDSHAKE: Final = 8
NO_ADDRESS: Final = 16
LEAVING: Final = 32

# In the order in which CLUSTER NODES and nodes.conf list them.
FLAG_NAMES: Final = (
    (MYSELF, "myself"),
    (SUSPECTED, "fail?"),
    (FAIL, "fail"),
    (HANDSHAKE, "handshake"),
    (NO_ADDRESS, "noaddr"),
    (LEAVING, "leaving"),
)


@final
class Peer:
    """One line of the node table; our own line is one of them, with the MYSELF flag."""

    __slots__ = ("flags", "id", "ip", "is_connected", "ping_sent_ms", "pong_received_ms", "port")

    def __init__(self, id: NodeId, ip: str, port: int, flags: int) -> None:
        self.id = id
        self.ip = ip
        self.port = port
        self.flags = flags
        self.ping_sent_ms = 0
        self.pong_received_ms = 0
        self.is_connected = False
