"""A command line, carried out: every mode and option, what it prints and its exit status."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from disque.cli.main import run
from tests.cli.fakeserver import HANG_UP, FakeServer
from tests.support.server import free_port

Run = Callable[..., tuple[int, bytes, str]]

INFO = b"total_commands_processed:7\r\nused_memory:5\r\n"


class Stdin(io.TextIOWrapper):
    """Standard input that is a file with this content."""

    def __init__(self, content: bytes, path: Path) -> None:
        path.write_bytes(content)
        super().__init__(path.open("rb"))


@pytest.fixture
def client(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Run:
    """Return a function that runs a command line and tells status, output and complaints."""

    def client(*arguments: str, stdin: bytes = b"", **environment: str) -> tuple[int, bytes, str]:
        with Stdin(stdin, tmp_path / "stdin") as opened:
            monkeypatch.setattr(sys, "stdin", opened)
            status = run(arguments, environment)
        printed = capsysbinary.readouterr()
        return status, printed.out, printed.err.decode()

    return client


def answer(argv: list[bytes]) -> bytes:
    match argv[0].lower():
        case b"info":
            return b"$%d\r\n%b\r\n" % (len(INFO), INFO)
        case b"qscan":
            return b"*2\r\n$1\r\n0\r\n*2\r\n$4\r\nmail\r\n$1\r\nx\r\n"
        case b"qlen":
            return b":1\r\n"
        case b"auth":
            return b"+OK\r\n" if argv[1:] == [b"right"] else b"-ERR invalid password\r\n"
        case b"bye":
            return HANG_UP
        case b"no":
            return b"-ERR no\r\n"
        case _:
            return b"$%d\r\n%b\r\n" % (len(argv[-1]), argv[-1])


def test_a_command_goes_to_the_node_and_its_reply_to_the_output(client: Run) -> None:
    with FakeServer(answer) as server:
        assert client("-p", str(server.port), "echo", "hi") == (0, b"hi\n", "")

        assert server.requests == [[b"echo", b"hi"]]


def test_a_url_is_as_good_as_host_port_and_password(client: Run) -> None:
    with FakeServer(answer) as server:
        assert client("-u", f"disque://:right@127.0.0.1:{server.port}", "echo", "hi")[0] == 0

        assert server.requests == [[b"AUTH", b"right"], [b"echo", b"hi"]]


@pytest.mark.parametrize(
    ("arguments", "environment", "password"),
    [
        (["-a", "right"], {}, b"right"),
        ([], {"DISQUECLI_AUTH": "right"}, b"right"),
        (["-a", "wrong"], {"DISQUECLI_AUTH": "right"}, b"wrong"),
    ],
)
def test_a_password_is_told_before_the_command(
    client: Run, arguments: list[str], environment: dict[str, str], password: bytes
) -> None:
    with FakeServer(answer) as server:
        done = client("-p", str(server.port), *arguments, "echo", "hi", **environment)

        assert server.requests == [[b"AUTH", password], [b"echo", b"hi"]]
    # A wrong one is not the end: the node may ask for none.
    assert done[:2] == (0, b"hi\n")
    assert ("refused: ERR invalid password" in done[2]) == (password == b"wrong")


@pytest.mark.parametrize(
    ("style", "printed"),
    [("--raw", b"ERR no\n\n"), ("--no-raw", b"(error) ERR no\n"), ("--csv", b'ERROR,"ERR no"\n')],
)
def test_an_error_is_printed_where_replies_are(client: Run, style: str, printed: bytes) -> None:
    with FakeServer(answer) as server:
        assert client("-p", str(server.port), style, "no") == (0, printed, "")


def test_an_error_in_json_is_an_object(client: Run) -> None:
    with FakeServer(answer) as server:
        status, printed, _ = client("-p", str(server.port), "--json", "-e", "no")

    assert (status, json.loads(printed)) == (1, {"error": "ERR no"})


def test_the_first_error_ends_a_repetition_if_errors_are_fatal(client: Run) -> None:
    with FakeServer(answer) as server:
        assert client("-p", str(server.port), "-e", "-r", "5", "no")[0] == 1

        assert server.requests == [[b"no"]]


def test_a_repetition_outlives_a_node_that_hung_up_between_two_commands(client: Run) -> None:
    with FakeServer(lambda _: b"+OK\r\n" + HANG_UP) as server:
        done = client("-p", str(server.port), "-r", "2", "-i", "0.05", "x")

        assert server.connections == 2
    assert done == (0, b"OK\nOK\n", "")


def test_standard_input_is_the_last_argument_or_replaces_one(client: Run) -> None:
    with FakeServer(answer) as server:
        port = str(server.port)
        client("-p", port, "-x", "addjob", "q", stdin=b"body\n\x00")
        client("-p", port, "-X", "B", "addjob", "q", "B", "0", stdin=b"\xff")

        assert server.requests == [
            [b"addjob", b"q", b"body\n\x00"],
            [b"addjob", b"q", b"\xff", b"0"],
        ]


def test_without_a_command_standard_input_is_a_script(client: Run) -> None:
    with FakeServer(answer) as server:
        port = str(server.port)

        assert client("-p", port, stdin=b"echo 1\nno\necho 2\n")[:2] == (0, b"1\nERR no\n\n2\n")
        assert client("-p", port, "-e", stdin=b"no\necho 2\n")[:2] == (1, b"ERR no\n\n")


def test_faketty_asks_for_readable_replies_unless_a_style_is_named(client: Run) -> None:
    with FakeServer(answer) as server:
        port = str(server.port)

        assert client("-p", port, "echo", "hi", FAKETTY="1")[1] == b'"hi"\n'
        assert client("-p", port, "--raw", "echo", "hi", FAKETTY="1")[1] == b"hi\n"


@pytest.mark.parametrize("topic", [["help"], ["?"], ["HELP", "@jobs"], ["help", "nonsense"]])
def test_help_needs_no_node(client: Run, topic: list[str]) -> None:
    status, printed, complaints = client("-p", str(free_port()), *topic)

    assert (status, complaints) == (0, "")
    assert printed


def test_usage_and_version_need_no_node(client: Run) -> None:
    assert client("-h")[1].startswith(b"Usage: disque ")
    assert client("--version")[1].startswith(b"disque ")


@pytest.mark.parametrize(
    "mode", [["ping"], ["--latency"], ["--stat"], ["--scan"], ["--longest"], ["--pipe"]]
)
def test_every_mode_fails_with_a_reason_without_a_node(client: Run, mode: list[str]) -> None:
    port = free_port()

    status, printed, complaint = client("-p", str(port), *mode)

    assert (status, printed) == (1, b"")
    assert complaint == f"Could not connect to Disque at 127.0.0.1:{port}: Connection refused\n"


def test_a_missing_unix_socket_is_a_failure(client: Run, tmp_path: Path) -> None:
    path = tmp_path / "no.sock"

    status, _, complaint = client("-s", str(path), "ping")

    assert status == 1
    assert complaint == f"Could not connect to Disque at {path}: No such file or directory\n"


def test_a_conversation_that_breaks_off_is_a_failure(client: Run) -> None:
    with FakeServer(answer) as server:
        status, printed, complaint = client("-p", str(server.port), "bye")

    assert (status, printed, complaint) == (1, b"", "Error: Server closed the connection\n")


def test_a_command_line_that_makes_no_sense_is_a_failure(client: Run) -> None:
    status, printed, complaint = client("--bogus")

    assert (status, printed) == (1, b"")
    assert complaint == "Unrecognized option or bad number of args for: '--bogus'\n"


def test_stat_prints_as_many_rows_as_asked_for(client: Run) -> None:
    with FakeServer(answer) as server:
        status, printed, _ = client("-p", str(server.port), "--stat", "-r", "3", "-i", "0")

    header, *rows = printed.decode().splitlines()
    assert (status, header.split()[0], len(rows)) == (0, "jobs", 3)
    assert all("7 (+0)" in row for row in rows)


@pytest.mark.parametrize(("style", "fields"), [("--raw", 0), ("--csv", 4)])
def test_latency_is_one_line_without_a_terminal(client: Run, style: str, fields: int) -> None:
    with FakeServer(answer) as server:
        status, printed, _ = client("-p", str(server.port), style, "--latency", "-i", "0.01")

    assert status == 0
    assert printed.count(b"\n") == 1
    assert printed.startswith(b"min: ") if not fields else len(printed.split(b",")) == fields


def test_intrinsic_latency_needs_no_node(client: Run) -> None:
    status, printed, _ = client("-p", str(free_port()), "--intrinsic-latency", "0.001")

    assert status == 0
    assert b"times the average" in printed


def test_scan_and_longest_list_queues(client: Run) -> None:
    with FakeServer(answer) as server:
        port = str(server.port)

        assert client("-p", port, "--scan")[:2] == (0, b"mail\nx\n")
        assert client("-p", port, "--scan", "--pattern", "m*")[:2] == (0, b"mail\n")
        assert client("-p", port, "--longest", "--csv")[:2] == (0, b'"mail",1\n"x",1\n')


@pytest.mark.parametrize("mode", ["--scan", "--longest"])
def test_a_refused_scan_is_a_failure(client: Run, mode: str) -> None:
    with FakeServer(lambda _: b"-NOAUTH no\r\n") as server:
        assert client("-p", str(server.port), mode) == (1, b"", "Error: NOAUTH no\n")


def test_pipe_counts_what_was_answered(client: Run) -> None:
    requests = b"*2\r\n$4\r\nECHO\r\n$1\r\na\r\n" * 3
    with FakeServer(answer) as server:
        status, printed, _ = client("-p", str(server.port), "--pipe", stdin=requests)

    assert status == 0
    assert printed.endswith(b"errors: 0, replies: 3\n")
