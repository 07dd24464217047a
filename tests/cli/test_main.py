"""The program as a shell sees it: output, complaints and exit status."""

import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.fakeserver import HANG_UP, FakeServer
from tests.cli.program import PROGRAM, environment, run_client
from tests.support.server import free_port

pytestmark = [pytest.mark.process, pytest.mark.slow]


def answer(argv: list[bytes]) -> bytes:
    match argv[0].lower():
        case b"jobs":
            return b"*2\r\n$1\r\na\r\n:1\r\n"
        case b"bye":
            return HANG_UP
        case b"monitor":
            return b"+OK\r\n"
        case b"auth":
            return b"-ERR invalid password\r\n"
        case b"echo":
            return b"$%d\r\n%b\r\n" % (len(argv[1]), argv[1])
        case _:
            return b"-ERR no\r\n"


@pytest.fixture
def port() -> Iterator[int]:
    with FakeServer(answer) as server:
        yield server.port


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], b"a\n1\n"),
        (["--raw", "-d", ";"], b"a;1\n"),
        (["--no-raw"], b'1) "a"\n2) (integer) 1\n'),
        (["--csv"], b'"a",1\n'),
        (["--json"], b'["a", 1]\n'),
        (["-r", "2", "-i", "0.001"], b"a\n1\na\n1\n"),
        (["-r", "0"], b""),
    ],
)
def test_a_command_prints_its_reply(port: int, options: list[str], expected: bytes) -> None:
    done = run_client(port, *options, "jobs")

    assert (done.stdout, done.stderr, done.returncode) == (expected, b"", 0)


def test_faketty_makes_a_pipe_look_like_a_person(port: int) -> None:
    assert run_client(port, "jobs", FAKETTY="1").stdout == b'1) "a"\n2) (integer) 1\n'


def test_bytes_that_are_no_text_pass_unchanged(port: int) -> None:
    body = bytes(range(256))

    assert run_client(port, "echo", b"\xff\xfe").stdout == b"\xff\xfe\n"
    assert run_client(port, "-x", "echo", stdin=body).stdout == body + b"\n"
    assert run_client(port, "-X", "B", "echo", "B", stdin=body).stdout == body + b"\n"


def test_an_error_reply_is_no_failure_unless_asked(port: int) -> None:
    lenient, strict = run_client(port, "x"), run_client(port, "-e", "x")

    assert (lenient.stdout, lenient.returncode) == (b"ERR no\n\n", 0)
    assert (strict.stdout, strict.returncode) == (b"ERR no\n\n", 1)


def test_a_refused_password_is_a_warning_only(port: int) -> None:
    done = run_client(port, "echo", "x", DISQUECLI_AUTH="wrong")

    assert (done.stdout, done.returncode) == (b"x\n", 0)
    assert b"Warning: the password was refused" in done.stderr


def test_a_node_that_hangs_up_or_is_not_there_is_a_failure(port: int) -> None:
    nobody = free_port()
    lost, absent = run_client(port, "bye"), run_client(nobody, "ping")

    assert (lost.returncode, lost.stderr) == (1, b"Error: Server closed the connection\n")
    complaint = f"Could not connect to Disque at 127.0.0.1:{nobody}: Connection refused\n"
    assert (absent.returncode, absent.stderr) == (1, complaint.encode())


def test_a_wrong_option_is_a_failure_and_help_and_version_are_not() -> None:
    wrong, help_, version = run_client(1, "--bogus"), run_client(1, "--help"), run_client(1, "-v")

    assert wrong.returncode == 1
    assert wrong.stderr == b"Unrecognized option or bad number of args for: '--bogus'\n"
    assert (help_.returncode, version.returncode) == (0, 0)
    assert b"Examples" in help_.stdout
    assert version.stdout.startswith(b"disque ")
    assert run_client(1, "help", "qlen").stdout.startswith(b"  QLEN queue\n")


def test_lines_on_standard_input_are_commands(port: int) -> None:
    done = run_client(port, stdin=b"echo 1\necho '2 3'\nquit\necho 4\n")

    assert (done.stdout, done.returncode) == (b"1\n2 3\n", 0)


def test_a_full_disk_is_reported_without_a_traceback(port: int) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*PROGRAM, "-p", str(port), "echo", "x"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=environment(),
        )

    assert (done.returncode, done.stderr) == (1, b"Error: No space left on device\n")


def test_a_reader_that_left_ends_the_program_quietly(port: int) -> None:
    command = [*PROGRAM, "-p", str(port), "-r", "-1", "echo", "x"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as client:
        assert client.stdout is not None
        assert client.stderr is not None
        client.stdout.readline()
        client.stdout.close()

        assert client.wait(20) == 128 + signal.SIGPIPE
        assert client.stderr.read() == b""


@pytest.mark.parametrize(("command", "status"), [("monitor", 0), ("-r -1 -i 60 echo x", 130)])
def test_ctrl_c_ends_a_command_that_never_ends(port: int, command: str, status: int) -> None:
    with subprocess.Popen(
        [*PROGRAM, "-p", str(port), *command.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as client:
        assert client.stdout is not None
        assert client.stderr is not None
        client.stdout.readline()
        client.send_signal(signal.SIGINT)

        assert client.wait(20) == status
        assert client.stderr.read() == b""
