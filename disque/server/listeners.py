"""Open the sockets that clients connect to, and make room for their descriptors.

Without `bind` the server listens on every IPv6 and every IPv4 address. A machine without one of
the two is fine; an address that somebody else uses is not, because half of the clients would
then talk to another program. With `bind` every address must be there.
"""

from __future__ import annotations

import errno
import resource
import socket
import stat
from pathlib import Path
from typing import Final

from disque.server.logs import Log
from disque.server.problems import StartError

__all__ = [
    "DESCRIPTORS_RESERVED",
    "is_reachable_from_outside",
    "listen_tcp",
    "listen_unix",
    "make_room",
    "room_for",
]

# Descriptors that are not clients: listeners, log, journal, locks, links to other nodes.
DESCRIPTORS_RESERVED: Final = 32
EVERY_ADDRESS: Final = ("::", "0.0.0.0")  # noqa: S104 - the documented default; a warning is logged
# What bind() says on a machine that lacks the address family.
FAMILY_IS_MISSING: Final = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT)


def listen_tcp(addresses: list[str], port: int, backlog: int) -> list[socket.socket]:
    """Listen on these addresses, or on all if none is given."""
    listeners: list[socket.socket] = []
    for address in addresses or EVERY_ADDRESS:
        try:
            listeners.append(_listen(address, port, backlog))
        except OSError as error:
            if not addresses and error.errno in FAMILY_IS_MISSING:
                continue
            _close(listeners)
            raise _cannot_listen(address, port, error) from error
    if not listeners:
        raise StartError(
            f"Creating Server TCP listening socket *:{port}: there is neither IPv4 nor IPv6 here."
        )
    return listeners


def listen_unix(path: Path, mode: int, backlog: int) -> socket.socket:
    """Listen on a Unix socket; a socket file that nobody answers on is replaced."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        listener.bind(str(path))
        if mode:
            path.chmod(mode)
        listener.listen(backlog)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise StartError(f"Opening Unix socket: {path}: {_reason(error)}") from error
    return listener


def is_reachable_from_outside(listeners: list[socket.socket]) -> bool:
    """Tell whether another machine could connect."""
    hosts = [str(listener.getsockname()[0]) for listener in listeners]
    return any(not host.startswith("127.") and host != "::1" for host in hosts)


def make_room(clients: int, log: Log) -> int:
    """Let the process open enough descriptors for `clients`; return for how many there is room."""
    room = room_for(clients)
    if room == clients:
        return clients
    needed = clients + DESCRIPTORS_RESERVED
    if room < 1:
        raise StartError(
            f"The limit of open files is {room + DESCRIPTORS_RESERVED}, which leaves no room for "
            f"clients. Set 'ulimit -n' to at least {needed}."
        )
    log.warning(
        f"maxclients is {clients}, which needs {needed} open files. The limit allows {room} "
        f"clients, so that is maxclients now. Set 'ulimit -n' to at least {needed} to have it all."
    )
    return room


def room_for(clients: int) -> int:
    """Raise the limit of open files as far as needed and allowed; return how many clients fit."""
    needed = clients + DESCRIPTORS_RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _suffices(soft, needed):
        return clients
    # Raising the hard limit needs a privilege; without it what the hard limit allows must do.
    is_endless = hard == resource.RLIM_INFINITY
    attempts = [(needed, hard if is_endless else max(hard, needed))]
    if not is_endless:
        attempts.append((min(needed, hard), hard))
    for wanted_soft, wanted_hard in attempts:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted_soft, wanted_hard))
        except (OSError, ValueError):
            continue
        soft = wanted_soft
        break
    return clients if _suffices(soft, needed) else soft - DESCRIPTORS_RESERVED


def _listen(address: str, port: int, backlog: int) -> socket.socket:
    try:
        family, kind, protocol, _, target = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except UnicodeError as error:
        # Python refuses to even look up what no host can be called.
        raise OSError(errno.EINVAL, "Neither an address nor the name of a host") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # IPv4 has a socket of its own.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(target)
        listener.listen(backlog)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _remove_stale(path: Path) -> None:
    """Remove a socket file whose server is gone; leave anything else for bind() to stumble over."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # A server that lives but is busy must not be waited for; its backlog then says EAGAIN.
        probe.setblocking(False)
        if probe.connect_ex(str(path)) == errno.ECONNREFUSED:
            path.unlink(missing_ok=True)


def _suffices(soft: int, needed: int) -> bool:
    return soft == resource.RLIM_INFINITY or soft >= needed


def _close(listeners: list[socket.socket]) -> None:
    for listener in listeners:
        listener.close()


def _cannot_listen(address: str, port: int, error: OSError) -> StartError:
    return StartError(f"Creating Server TCP listening socket {address}:{port}: {_reason(error)}")


def _reason(error: OSError) -> str:
    # A path that is too long is refused by Python itself, without an errno.
    return error.strerror or str(error)
