"""Sockets are opened where they were asked for and nowhere else, or the start is refused."""

from __future__ import annotations

import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from disque.server.listeners import (
    DESCRIPTORS_RESERVED,
    is_reachable_from_outside,
    listen_tcp,
    listen_unix,
    make_room,
    room_for,
)
from disque.server.logs import Log
from disque.server.problems import StartError
from tests.server.inside import Lines
from tests.server.program import run_python
from tests.support.server import free_port

BACKLOG = 5
LOCAL = "127.0.0.1"
EVERY = "0.0.0.0"  # noqa: S104 - for a moment, and nobody is accepted
# More files than any kernel lets a process open.
TOO_MANY = 2_000_000_000


@pytest.fixture
def opened() -> Iterator[list[socket.socket]]:
    """Collect what is to be closed."""
    listeners: list[socket.socket] = []
    yield listeners
    for listener in listeners:
        listener.close()


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def refusal(addresses: list[str], port: int) -> str:
    """Try to listen where one cannot; return why."""
    with pytest.raises(StartError) as caught:
        listen_tcp(addresses, port, BACKLOG)
    return caught.value.sentence


def refusal_of_unix(path: Path) -> str:
    """Try to listen where one cannot; return why."""
    with pytest.raises(StartError) as caught:
        listen_unix(path, 0, BACKLOG)
    return caught.value.sentence


def can_connect(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port)).close()
    except OSError:
        return False
    return True


# --- TCP --------------------------------------------------------------------------------------


def test_every_address_that_is_given_is_listened_on_and_no_other(
    opened: list[socket.socket],
) -> None:
    port = free_port()

    opened += listen_tcp([LOCAL, "127.0.0.2"], port, BACKLOG)

    assert [listener.getsockname() for listener in opened] == [(LOCAL, port), ("127.0.0.2", port)]
    assert can_connect(LOCAL, port)
    assert can_connect("127.0.0.2", port)
    assert not can_connect("127.0.0.3", port)


def test_a_host_is_found_by_its_name(opened: list[socket.socket]) -> None:
    opened += listen_tcp(["localhost"], 0, BACKLOG)

    assert len(opened) == 1
    assert not is_reachable_from_outside(opened)


def test_without_addresses_all_of_both_families_are_listened_on(
    opened: list[socket.socket],
) -> None:
    port = free_port()

    opened += listen_tcp([], port, BACKLOG)

    assert can_connect(LOCAL, port)
    if has_ipv6():
        assert can_connect("::1", port)
        assert [listener.family for listener in opened] == [socket.AF_INET6, socket.AF_INET]
        # IPv4 clients have an IPv4 address, not one wrapped in IPv6.
        assert opened[0].getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == 1


def test_a_listener_is_as_the_loop_wants_it(opened: list[socket.socket]) -> None:
    opened += listen_tcp([LOCAL], 0, BACKLOG)

    assert not opened[0].getblocking()
    # Only of sockets that say so asyncio knows that replies shall leave at once.
    assert opened[0].proto == socket.IPPROTO_TCP


def test_a_busy_port_is_told_whoever_was_asked_for() -> None:
    with socket.create_server((LOCAL, 0)) as other:
        port = other.getsockname()[1]

        assert refusal([LOCAL], port) == (
            f"Creating Server TCP listening socket {LOCAL}:{port}: Address already in use"
        )
        # Half of the clients would talk to somebody else.
        assert refusal([], port) == (
            f"Creating Server TCP listening socket 0.0.0.0:{port}: Address already in use"
        )


def test_what_was_opened_before_an_address_failed_is_closed_again() -> None:
    with socket.create_server(("127.0.0.2", 0)) as other:
        port = other.getsockname()[1]

        refusal([LOCAL, "127.0.0.2"], port)

        assert not can_connect(LOCAL, port)


def test_a_port_is_free_again_as_soon_as_its_server_is_gone(opened: list[socket.socket]) -> None:
    (first,) = listen_tcp([LOCAL], 0, BACKLOG)
    port = first.getsockname()[1]
    client = socket.create_connection((LOCAL, port))
    first.settimeout(5)
    link, _ = first.accept()
    # Who closes first keeps the address for a while.
    link.close()
    client.close()
    first.close()

    opened += listen_tcp([LOCAL], port, BACKLOG)

    assert can_connect(LOCAL, port)


def test_an_address_of_another_machine_is_refused() -> None:
    # Reserved for documentation, so nobody has it.
    assert refusal(["192.0.2.1"], 7711) == (
        "Creating Server TCP listening socket 192.0.2.1:7711: Cannot assign requested address"
    )


@pytest.mark.parametrize("name", ["..", "a" * 64, "a" * 64 + ".org"])
def test_what_cannot_be_a_host_is_refused(name: str) -> None:
    place, _, reason = refusal([name], 7711).rpartition(": ")

    assert place == f"Creating Server TCP listening socket {name}:7711"
    assert reason == "Neither an address nor the name of a host"


def test_a_host_that_does_not_exist_is_refused() -> None:
    sentence = refusal(["::1%nowhere"], 7711)

    assert sentence.startswith("Creating Server TCP listening socket ::1%nowhere:7711: ")


@pytest.mark.parametrize(
    ("addresses", "is_reachable"),
    [([LOCAL], False), (["127.0.0.9"], False), ([EVERY], True), ([LOCAL, EVERY], True)],
)
def test_whether_other_machines_can_connect_is_known(
    opened: list[socket.socket], addresses: list[str], is_reachable: bool
) -> None:
    for address in addresses:
        opened += listen_tcp([address], 0, BACKLOG)

    assert is_reachable_from_outside(opened) is is_reachable


@pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6 here")
@pytest.mark.parametrize(("address", "is_reachable"), [("::1", False), ("::", True)])
def test_whether_other_machines_can_connect_through_ipv6_is_known(
    opened: list[socket.socket], address: str, is_reachable: bool
) -> None:
    opened += listen_tcp([address], 0, BACKLOG)

    assert is_reachable_from_outside(opened) is is_reachable


# --- Unix sockets -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o770, 0o777])
def test_a_socket_file_has_the_permissions_asked_for(
    opened: list[socket.socket], tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "disque.sock"

    opened.append(listen_unix(path, mode, BACKLOG))

    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert not opened[0].getblocking()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_the_permissions_of_a_socket_file_are_those_of_any_new_file_unless_given(
    opened: list[socket.socket], tmp_path: Path
) -> None:
    path, other = tmp_path / "disque.sock", tmp_path / "directory"
    other.mkdir()

    opened.append(listen_unix(path, 0, BACKLOG))

    assert path.stat().st_mode & 0o777 == other.stat().st_mode & 0o777


def test_a_socket_file_that_nobody_answers_on_is_replaced(
    opened: list[socket.socket], tmp_path: Path
) -> None:
    path = tmp_path / "disque.sock"
    listen_unix(path, 0, BACKLOG).close()

    opened.append(listen_unix(path, 0, BACKLOG))

    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


@pytest.mark.parametrize("waiting", [0, 1])
def test_a_socket_file_somebody_answers_on_is_left_alone_however_busy(
    opened: list[socket.socket], tmp_path: Path, waiting: int
) -> None:
    path = tmp_path / "disque.sock"
    opened.append(listen_unix(path, 0, 0))
    for _ in range(waiting):
        opened.append(socket.socket(socket.AF_UNIX))
        opened[-1].connect(str(path))

    sentence = refusal_of_unix(path)

    assert sentence == f"Opening Unix socket: {path}: Address already in use"
    assert path.is_socket()


@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_what_is_no_socket_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "precious"
    if kind == "file":
        path.write_text("important", encoding="ascii")
    elif kind == "link":
        path.symlink_to(tmp_path / "nowhere")
    else:
        path.mkdir()

    sentence = refusal_of_unix(path)

    assert sentence == f"Opening Unix socket: {path}: Address already in use"
    assert list(tmp_path.iterdir()) == [path]


def test_a_socket_file_without_a_place_is_refused(tmp_path: Path) -> None:
    nowhere, long = tmp_path / "nowhere" / "x", tmp_path / ("x" * 200)

    sentences = [refusal_of_unix(path) for path in (nowhere, long)]

    assert sentences == [
        f"Opening Unix socket: {nowhere}: No such file or directory",
        f"Opening Unix socket: {long}: AF_UNIX path too long",
    ]


# --- Descriptors ------------------------------------------------------------------------------


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """Lower how many files this process may open, for the time of a test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    yield 512, hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("clients", [1, 512 - DESCRIPTORS_RESERVED])
def test_a_limit_that_suffices_is_left_alone(limits: tuple[int, int], clients: int) -> None:
    assert room_for(clients) == clients
    assert make_room(clients, Log([])) == clients
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == limits


def test_a_limit_that_is_too_low_is_raised_as_far_as_needed(limits: tuple[int, int]) -> None:
    clients = 513 - DESCRIPTORS_RESERVED

    assert room_for(clients) == clients
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (513, limits[1])


def test_where_there_is_less_room_there_are_fewer_clients_and_a_warning(
    limits: tuple[int, int],
) -> None:
    lines = Lines()

    room = make_room(TOO_MANY, Log([lines]))

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert (room, hard) == (soft - DESCRIPTORS_RESERVED, limits[1])
    needed = TOO_MANY + DESCRIPTORS_RESERVED
    assert lines.text() == (
        f"maxclients is {TOO_MANY}, which needs {needed} open files. The limit allows {room} "
        f"clients, so that is maxclients now. Set 'ulimit -n' to at least {needed} to have it all."
    )


# Nobody may raise the limit who has no privileges, and privileges do not come back.
LOW_LIMIT = """
import os, resource, sys
from disque.server.listeners import make_room
from disque.server.logs import Log, StreamSink
from disque.server.problems import StartError

soft, hard, clients = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
if os.getuid() == 0:
    os.setuid(65534)
try:
    print(make_room(clients, Log([StreamSink()])), *resource.getrlimit(resource.RLIMIT_NOFILE))
except StartError as problem:
    print(problem.sentence)
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("clients", "expected"),
    [(68, "68 100 100"), (69, "68 100 100"), (10_000, "68 100 100")],
)
def test_without_privileges_the_limit_is_raised_up_to_what_is_allowed(
    clients: int, expected: str
) -> None:
    done = run_python(LOW_LIMIT, "64", "100", str(clients))

    assert done.stdout.splitlines()[-1] == expected, done
    assert ("ulimit -n" in done.stdout) == (clients > 68)


@pytest.mark.process
def test_without_room_for_a_single_client_there_is_no_start() -> None:
    done = run_python(LOW_LIMIT, str(DESCRIPTORS_RESERVED), str(DESCRIPTORS_RESERVED), "10000")

    assert done.stdout == (
        "The limit of open files is 32, which leaves no room for clients. "
        "Set 'ulimit -n' to at least 10032.\n"
    ), done
