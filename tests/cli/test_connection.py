"""A connection tells a node that is not there from one that went away."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from disque.cli.connection import Address, ConnectError, Connection, ConnectionLostError
from tests.cli.fakeserver import HANG_UP, FakeServer
from tests.support.server import free_port


@pytest.fixture
def echoing() -> Iterator[FakeServer]:
    with FakeServer(lambda argv: b"$%d\r\n%b\r\n" % (len(argv[-1]), argv[-1])) as server:
        yield server


def test_replies_come_in_the_order_of_the_commands(echoing: FakeServer) -> None:
    connection = Connection(Address(port=echoing.port))
    connection.open()

    assert connection.call_many([[b"a"], [b"b"], [b"c"]]) == [b"a", b"b", b"c"]
    connection.close()


def test_a_large_body_with_every_byte_comes_back(echoing: FakeServer) -> None:
    connection = Connection(Address(port=echoing.port))
    connection.open()
    body = bytes(range(256)) * 4096

    assert connection.call([b"ECHO", body]) == body
    connection.close()


def test_nobody_at_the_address_is_named_with_the_reason() -> None:
    port = free_port()

    with pytest.raises(ConnectError) as refused:
        Connection(Address(port=port)).open()

    message = f"Could not connect to Disque at 127.0.0.1:{port}: Connection refused"
    assert str(refused.value) == message


def test_a_missing_socket_is_named_with_the_reason(tmp_path: Path) -> None:
    path = str(tmp_path / "no.sock")

    with pytest.raises(ConnectError, match=r"no\.sock: No such file or directory"):
        Connection(Address(socket_path=path)).open()


def test_a_name_that_cannot_be_a_host_is_refused() -> None:
    with pytest.raises(ConnectError, match=r":7711: Neither an address nor the name of a host$"):
        Connection(Address(host="x" * 300)).open()


def test_a_unix_socket_is_as_good_as_a_port(tmp_path: Path) -> None:
    path = str(tmp_path / "d.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        connection = Connection(Address(socket_path=path))
        connection.open()
        peer, _ = listener.accept()
        with peer:
            peer.sendall(b"+PONG\r\n")

            assert connection.call([b"PING"]) == b"PONG"
        connection.close()


def test_a_server_that_hangs_up_is_a_lost_connection() -> None:
    with FakeServer(lambda _: HANG_UP) as server:
        connection = Connection(Address(port=server.port))
        connection.open()

        with pytest.raises(ConnectionLostError, match="Server closed the connection"):
            connection.call([b"PING"])

        assert not connection.is_open


def test_a_server_that_does_not_speak_the_protocol_is_a_lost_connection() -> None:
    with FakeServer(lambda _: b"HTTP/1.1 400 Bad Request\r\n") as server:
        connection = Connection(Address(port=server.port))
        connection.open()

        with pytest.raises(ConnectionLostError, match="unknown type of reply"):
            connection.call([b"PING"])


def test_a_connection_the_server_closed_is_stale_before_anything_is_sent() -> None:
    with FakeServer(lambda _: b"+OK\r\n") as server:
        connection = Connection(Address(port=server.port))
        assert connection.is_stale()

        connection.open()
        assert not connection.is_stale()

        # The answer shows that the server has accepted us, so there is something to hang up.
        connection.call([b"PING"])
        server.hang_up()
        connection.socket.recv(1, socket.MSG_PEEK)
        assert connection.is_stale()
        connection.close()


def test_a_refused_password_is_remembered_and_an_accepted_one_is_not_mentioned() -> None:
    answers = {b"right": b"+OK\r\n", b"wrong": b"-ERR invalid password\r\n"}
    with FakeServer(lambda argv: answers[argv[1]]) as server:
        right = Connection(Address(port=server.port), b"right")
        wrong = Connection(Address(port=server.port), b"wrong")

        right.open()
        wrong.open()

        assert right.auth_error is None
        assert wrong.auth_error == "ERR invalid password"
        right.close()
        wrong.close()
