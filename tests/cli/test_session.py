"""A session knows which commands have no reply, one reply, or no end."""

import pytest

from disque.cli.connection import ConnectionLostError
from tests.cli.fakeserver import HANG_UP
from tests.cli.program import talking


def test_a_reply_is_printed_and_an_error_reported_as_such() -> None:
    replies = iter([b":1\r\n", b"-ERR no\r\n"])
    with talking(lambda _: next(replies)) as (_, session, printed):
        assert session.execute([b"QLEN", b"q"])
        assert not session.execute([b"QLEN"])

    assert printed.bytes == b"(integer) 1\n(error) ERR no\n"


def test_client_reply_off_waits_for_nothing_until_on() -> None:
    silent = False

    def answer(argv: list[bytes]) -> bytes:
        nonlocal silent
        silent = argv[-1] != b"on" and (silent or argv[-1] == b"off")
        return b"" if silent else b"+%b\r\n" % argv[-1]

    with talking(answer) as (_, session, printed):
        for word in (b"off", b"skip"):
            session.execute([b"client", b"reply", word])
        session.execute([b"ping", b"unheard"])
        session.execute([b"client", b"reply", b"on"])
        session.execute([b"ping", b"heard"])

    assert printed.bytes == b"on\nheard\n"


def test_client_reply_skip_leaves_out_one_reply() -> None:
    replies = iter([b"", b"", b"+heard\r\n"])
    with talking(lambda _: next(replies)) as (_, session, printed):
        session.execute([b"CLIENT", b"REPLY", b"SKIP"])
        session.execute([b"PING"])
        session.execute([b"PING"])

    assert printed.bytes == b"heard\n"


def test_client_reply_with_a_word_too_many_is_answered() -> None:
    with talking(lambda _: b"-ERR syntax error\r\n") as (_, session, printed):
        assert not session.execute([b"client", b"reply", b"off", b"x"])

    assert printed.bytes == b"(error) ERR syntax error\n"


@pytest.mark.parametrize("command", ["shutdown", "SHUTDOWN REWRITE-AOF", "debug restart 100"])
def test_a_server_told_to_stop_may_hang_up_without_a_word(command: str) -> None:
    with talking(lambda _: HANG_UP) as (_, session, printed):
        assert session.execute(command.encode().split())

    assert printed.bytes == b""


def test_any_other_command_must_be_answered() -> None:
    with talking(lambda _: HANG_UP) as (_, session, _), pytest.raises(ConnectionLostError):
        session.execute([b"ping"])


def test_monitor_prints_until_the_connection_ends() -> None:
    with (
        talking(lambda _: b'+OK\r\n+1.5 [a] "ping"\r\n+2.5 [a] "x"\r\n*bad\r\n') as (
            _,
            session,
            printed,
        ),
        pytest.raises(ConnectionLostError),
    ):
        session.execute([b"MONITOR"])

    assert printed.bytes == b'OK\n1.5 [a] "ping"\n2.5 [a] "x"\n'


def test_a_password_that_was_accepted_is_used_again_on_reconnect() -> None:
    with talking(lambda _: b"+OK\r\n") as (server, session, _):
        session.execute([b"auth", b"default", b"secret"])
        session.connect()

        assert server.requests[-1] == [b"AUTH", b"secret"]


def test_a_refused_password_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    with talking(lambda _: b"-ERR invalid password\r\n") as (_, session, _):
        session.connection.password = b"wrong"
        session.connect()

    assert "Warning: the password was refused: ERR invalid password" in capsys.readouterr().err
