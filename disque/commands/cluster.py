"""CLUSTER, and HELLO's list of nodes: the cluster as this node sees it."""

from __future__ import annotations

import ipaddress
from typing import Final

from disque.commands.frontend import Frontend
from disque.commands.options import integer_or_none
from disque.commands.session import ON_ANSWER, Session
from disque.model.asks import Failed, Result, SaveNodes
from disque.model.errors import CommandError, SyntaxProblem, shown
from disque.model.job import NodeId
from disque.model.peer import FAIL, HANDSHAKE, LEAVING, MYSELF, SUSPECTED, Peer
from disque.wire import nodesconf, resp

__all__ = ["answer_save", "cluster", "node_list"]

NODE_ID_LENGTH: Final = 40
# The bus listens 10000 ports above the clients' port, and 65535 is the last one there is.
CLIENT_PORT_MAX: Final = 55_535
PORT_MAX: Final = 65_535

# The only layout of HELLO's reply there ever was.
HELLO_FORMAT: Final = 1
# How eagerly a client should turn to a node: the lower the better.
GOOD: Final = 1
DISCONNECTED: Final = 5
SUSPICIOUS: Final = 10
USELESS: Final = 100


def cluster(front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes | None:
    """CLUSTER subcommand [argument ...]."""
    subcommand, words = argv[1].lower(), len(argv)
    if words == 2:
        if subcommand == b"nodes":
            return resp.bulk(_nodes(front))
        if subcommand == b"myid":
            return resp.bulk(front.node.membership.me.id)
        if subcommand == b"info":
            return resp.bulk(_info(front))
        if subcommand == b"saveconfig":
            return _save(front, session)
    if subcommand == b"leaving" and words <= 3:
        return _leaving(front, argv)
    if subcommand == b"reset" and words <= 3:
        return _reset(front, argv)
    if subcommand == b"forget" and words == 3:
        return _forget(front, NodeId(argv[2]))
    if subcommand == b"meet" and 4 <= words <= 5:
        return _meet(argv)
    raise CommandError("ERR", "Wrong CLUSTER subcommand or number of arguments")


def node_list(front: Frontend) -> bytes:
    """Answer HELLO without arguments: who is in the cluster, and how good a choice each node is.

    Nodes still shaking hands are left out: the ids they go by are not their own.
    """
    membership = front.node.membership
    entries = [
        resp.array(
            [
                resp.bulk(peer.id),
                resp.bulk(peer.ip.encode()),
                resp.bulk(b"%d" % peer.port),
                resp.bulk(b"%d" % _priority(peer)),
            ]
        )
        for peer in membership.nodes.values()
        if not peer.flags & HANDSHAKE
    ]
    return resp.array([resp.integer(HELLO_FORMAT), resp.bulk(membership.me.id), *entries])


def answer_save(result: Result) -> bytes:
    """CLUSTER SAVECONFIG is done, or not."""
    if isinstance(result, Failed):
        raise CommandError("ERR", f"error saving the cluster node config: {result.reason}")
    return resp.OK


def _priority(peer: Peer) -> int:
    if peer.flags & (FAIL | LEAVING):
        return USELESS
    if peer.flags & SUSPECTED:
        return SUSPICIOUS
    if peer.flags & MYSELF or peer.is_connected:
        return GOOD
    return DISCONNECTED


def _nodes(front: Frontend) -> bytes:
    peers = front.node.membership.nodes.values()
    return b"".join([nodesconf.line(peer).encode() + b"\n" for peer in peers])


def _info(front: Frontend) -> bytes:
    membership = front.node.membership
    others = [peer for peer in membership.reachable() if not peer.flags & MYSELF]
    return (
        b"cluster_state:ok\r\n"
        b"cluster_known_nodes:%d\r\n"
        b"cluster_reachable_nodes:%d\r\n"
        b"cluster_size:%d\r\n"
        b"cluster_stats_messages_sent:%d\r\n"
        b"cluster_stats_messages_received:%d\r\n"
    ) % (
        len(membership.nodes),
        len(others),
        membership.size(),
        membership.messages_sent,
        membership.messages_received,
    )


def _save(front: Frontend, session: Session) -> bytes | None:
    front.node.effects.asks.append(SaveNodes(session.id, sync=True))
    session.waits = ON_ANSWER
    return None


def _leaving(front: Frontend, argv: list[bytes]) -> bytes:
    if len(argv) == 2:
        return resp.simple(b"yes" if front.node.membership.is_leaving else b"no")
    choice = argv[2].lower()
    if choice not in (b"yes", b"no"):
        raise CommandError("ERR", "Wrong argument for CLUSTER LEAVING. Use 'yes' or 'no'")
    front.node.leave(choice == b"yes")
    return resp.OK


def _reset(front: Frontend, argv: list[bytes]) -> bytes:
    kind = argv[2].lower() if len(argv) == 3 else b"soft"
    if kind not in (b"soft", b"hard"):
        raise SyntaxProblem
    front.node.reset(kind == b"hard")
    return resp.OK


def _forget(front: Frontend, id: NodeId) -> bytes:
    membership = front.node.membership
    if len(id) != NODE_ID_LENGTH:
        raise CommandError("ERR", "Invalid node identifier")
    if id not in membership.nodes:
        raise CommandError("ERR", f"Unknown node {shown(id)}")
    if id == membership.me.id:
        raise CommandError("ERR", "I tried hard but I can't forget myself...")
    raise CommandError("ERR", "CLUSTER FORGET is not available in this version")


def _meet(argv: list[bytes]) -> bytes:
    port = integer_or_none(argv[3])
    if port is None:
        raise CommandError("ERR", f"Invalid TCP port specified: {shown(argv[3])}")
    if not 1 <= port <= CLIENT_PORT_MAX or not _is_address(argv[2]):
        address = f"{shown(argv[2])}:{shown(argv[3])}"
        raise CommandError("ERR", f"Invalid node address specified: {address}")
    if len(argv) == 5:
        bus_port = integer_or_none(argv[4])
        if bus_port is None or not 1 <= bus_port <= PORT_MAX:
            raise CommandError("ERR", f"Invalid TCP port specified: {shown(argv[4])}")
    raise CommandError("ERR", "CLUSTER MEET is not available in this version")


def _is_address(raw: bytes) -> bool:
    """Tell a literal IPv4 or IPv6 address, which means the same on every machine, from the rest."""
    if b"%" in raw:
        return False
    try:
        ipaddress.ip_address(shown(raw))
    except ValueError:
        return False
    return True
