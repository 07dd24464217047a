"""The node table as text: the lines of nodes.conf and of CLUSTER NODES.

    <id> <ip>:<port> <flag,flag...|noflags> <ping sent ms> <pong received ms> connected|disconnected

Six columns, one node per line, our own line flagged `myself`. Blank lines and a line that starts
with `vars` are accepted and mean nothing. An address without an IP (`:7711`) is one that nobody
has told us yet; an IPv6 address keeps its colons, so the port is what follows the last one.
"""

from __future__ import annotations

from typing import Final

from disque.model.errors import ProtocolError
from disque.model.job import NodeId
from disque.model.peer import FLAG_NAMES, MYSELF, Peer

__all__ = ["line", "parse"]

NO_FLAGS: Final = "noflags"
ID_CHARACTERS: Final = 40
PORT_MAX: Final = 65535
# 2**63 - 1 has 19 digits: no time is longer.
TIME_DIGITS_MAX: Final = 19


def line(peer: Peer) -> str:
    """Describe one node, without the line's end."""
    flags = ",".join([name for bit, name in FLAG_NAMES if peer.flags & bit]) or NO_FLAGS
    is_connected = peer.is_connected or peer.flags & MYSELF
    return (
        f"{peer.id.decode('ascii')} {peer.ip}:{peer.port} {flags} {peer.ping_sent_ms} "
        f"{peer.pong_received_ms} {'connected' if is_connected else 'disconnected'}"
    )


def parse(text: str) -> list[Peer]:
    """Read the node table back; exactly one node is ourselves, and no node comes twice."""
    peers: list[Peer] = []
    seen: set[NodeId] = set()
    for number, raw in enumerate(text.split("\n"), start=1):
        if raw.strip() == "" or raw.startswith("vars"):
            continue
        peer = _parse_line(raw, number)
        if peer.id in seen:
            raise _problem(number, "this node was listed before")
        seen.add(peer.id)
        peers.append(peer)
    selves = len([peer for peer in peers if peer.flags & MYSELF])
    if selves != 1:
        raise ProtocolError(f"{selves} lines are flagged myself, there must be one")
    return peers


def _parse_line(raw: str, number: int) -> Peer:
    columns = raw.split()
    if len(columns) != 6:
        raise _problem(number, f"{len(columns)} columns instead of 6")
    name, address, flags, ping_sent, pong_received, link = columns
    if len(name) != ID_CHARACTERS or not name.isascii():
        raise _problem(number, "a node id has 40 characters")
    ip, colon, port = address.rpartition(":")
    if colon == "" or not _is_number(port) or int(port) > PORT_MAX:
        raise _problem(number, "the address is not of the form ip:port")
    if not _is_number(ping_sent) or not _is_number(pong_received):
        raise _problem(number, "the times of ping and pong must be numbers")
    if link not in ("connected", "disconnected"):
        raise _problem(number, "the link is neither connected nor disconnected")
    peer = Peer(NodeId(name.encode("ascii")), ip, int(port), _parse_flags(flags, number))
    peer.ping_sent_ms = int(ping_sent)
    peer.pong_received_ms = int(pong_received)
    peer.is_connected = link == "connected"
    return peer


def _parse_flags(text: str, number: int) -> int:
    if text == NO_FLAGS:
        return 0
    bits = {name: bit for bit, name in FLAG_NAMES}
    flags = 0
    for flag in text.split(","):
        if flag not in bits:
            raise _problem(number, f"unknown flag {flag}")
        flags |= bits[flag]
    return flags


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= TIME_DIGITS_MAX


def _problem(number: int, sentence: str) -> ProtocolError:
    return ProtocolError(f"line {number}: {sentence}")
