"""The shell carries out lines, and a lost connection does not end it."""

import io

import pytest

from disque.cli.connection import Address
from disque.cli.interactive import Shell, run_script
from tests.cli.fakeserver import HANG_UP
from tests.cli.program import talking
from tests.support.server import free_port


def pong(_argv: list[bytes]) -> bytes:
    return b"+PONG\r\n"


def test_a_line_is_a_command() -> None:
    with talking(pong) as (server, session, printed):
        assert Shell(session).run_line(b'addjob q "two words" 0')

        assert server.requests == [[b"addjob", b"q", b"two words", b"0"]]
    assert printed.bytes == b"PONG\n"


def test_a_number_in_front_repeats_the_command() -> None:
    with talking(pong) as (server, session, _):
        Shell(session).run_line(b"3 ping")

        assert server.requests == [[b"ping"]] * 3


@pytest.mark.parametrize("count", [b"0", b"-1", b"7" * 5000])
def test_what_is_no_count_is_a_command(count: bytes) -> None:
    with talking(pong) as (server, session, _):
        Shell(session).run_line(count + b" ping")

        assert server.requests == [[count, b"ping"]]


def test_a_repetition_ends_at_the_first_error() -> None:
    with talking(lambda _: b"-ERR no\r\n") as (server, session, _):
        Shell(session).run_line(b"3 ping")

        assert len(server.requests) == 1


@pytest.mark.parametrize("line", [b"quit", b"EXIT"])
def test_quit_and_exit_end_the_shell_without_asking_the_server(line: bytes) -> None:
    with talking(pong) as (server, session, _):
        assert not Shell(session).run_line(line)

        assert server.requests == []


def test_wrong_quotes_and_blank_lines_send_nothing() -> None:
    with talking(pong) as (server, session, printed):
        shell = Shell(session)

        assert shell.run_line(b'ping "')
        assert shell.run_line(b"  ")

        assert server.requests == []
    assert printed.bytes == b"Invalid argument(s)\n"


def test_help_needs_no_connection() -> None:
    with talking(pong) as (server, session, printed):
        session.connection.close()
        Shell(session).run_line(b"help qlen")
        Shell(session).run_line(b"? \xff")

        assert server.requests == []
    assert printed.bytes.startswith(b"  QLEN queue\n")
    assert b"no help on '\xff'" in printed.bytes


def test_clear_clears_a_terminal_only() -> None:
    with talking(pong, is_terminal=True) as (_, session, on_terminal):
        Shell(session).run_line(b"clear")
    with talking(pong) as (_, session, in_file):
        Shell(session).run_line(b"clear")

    assert on_terminal.bytes == b"\x1b[H\x1b[2J"
    assert in_file.bytes == b""


def test_connect_goes_to_another_node_and_the_prompt_says_so() -> None:
    with talking(pong) as (first, session, _), talking(pong) as (second, _, _):
        shell = Shell(session)
        assert shell.prompt == f"127.0.0.1:{first.port}> "

        shell.run_line(b"connect 127.0.0.1 %d" % second.port)
        shell.run_line(b"ping")

        assert shell.prompt == f"127.0.0.1:{second.port}> "
        assert (first.requests, second.requests) == ([], [[b"ping"]])


def test_connect_to_nobody_leaves_the_shell_unconnected(capsys: pytest.CaptureFixture[str]) -> None:
    with talking(pong) as (_, session, _):
        shell = Shell(session)
        shell.run_line(b"connect 127.0.0.1 %d" % free_port())

        assert shell.prompt == "not connected> "
    assert "Could not connect to Disque at 127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize("line", [b"connect", b"connect h x", b"connect h 65536", b"connect a b c"])
def test_connect_with_wrong_arguments_stays(line: bytes) -> None:
    with talking(pong) as (_, session, printed):
        Shell(session).run_line(line)

        assert session.connection.is_open
    assert printed.bytes == b"Usage: connect host port\n"


def hang_up_once() -> list[bytes]:
    return [HANG_UP, b"+PONG\r\n", b"+PONG\r\n"]


def test_a_command_that_only_reads_is_sent_again_after_a_lost_connection() -> None:
    replies = iter(hang_up_once())
    with talking(lambda _: next(replies)) as (server, session, printed):
        assert Shell(session).run_line(b"ping")

        assert (server.requests, server.connections) == ([[b"ping"]] * 2, 2)
    assert printed.bytes == b"PONG\n"


def test_a_command_that_may_have_changed_something_is_not_sent_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    replies = iter(hang_up_once())
    with talking(lambda _: next(replies)) as (server, session, _):
        shell = Shell(session)
        shell.run_line(b"ackjob D-1")

        assert server.requests == [[b"ackjob", b"D-1"]]
        assert shell.status == 1
        assert session.connection.is_open
    assert "it was not repeated" in capsys.readouterr().err


def test_a_connection_lost_twice_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with talking(lambda _: HANG_UP) as (server, session, _):
        shell = Shell(session)
        shell.run_line(b"ping")

        assert (len(server.requests), shell.status) == (2, 1)
    assert "Error: Server closed the connection" in capsys.readouterr().err


def test_ctrl_c_gives_up_the_command_but_not_the_shell() -> None:
    with talking(pong) as (server, session, printed):
        is_first = True
        receive = session.connection.receive

        def interrupted() -> object:
            nonlocal is_first
            if is_first:
                is_first = False
                raise KeyboardInterrupt
            return receive()

        session.connection.receive = interrupted  # type: ignore[method-assign,assignment]
        shell = Shell(session, is_interactive=True)

        assert shell.run_line(b"getjob from q")
        assert shell.run_line(b"ping")

        # A late reply to the first command cannot be taken for that of the second.
        assert server.connections == 2
    assert printed.bytes == b"\nPONG\n"


def test_a_script_runs_to_its_end_and_skips_comments() -> None:
    with talking(pong) as (server, session, _):
        status = run_script(session, io.BytesIO(b"# no\nping 1\r\n\nping 2"))

        assert (status, server.requests) == (0, [[b"ping", b"1"], [b"ping", b"2"]])


def test_a_script_goes_on_after_an_error_unless_errors_are_fatal() -> None:
    with talking(lambda _: b"-ERR no\r\n") as (server, session, _):
        assert run_script(session, io.BytesIO(b"a\nb\n")) == 0
        assert run_script(session, io.BytesIO(b"c\nd\n"), is_error_fatal=True) == 1

        assert server.requests == [[b"a"], [b"b"], [b"c"]]


def test_a_script_without_a_node_fails() -> None:
    with talking(pong) as (_, session, _):
        session.connection.close()
        session.connection.address = Address(port=free_port())

        assert run_script(session, io.BytesIO(b"ping\nping\n")) == 1
