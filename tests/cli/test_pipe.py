"""A transfer ends with its last reply, and counts what went wrong."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from disque.cli.pipe import Pipe
from disque.wire.encode import encode_request
from tests.cli.fakeserver import HANG_UP, Answer
from tests.cli.program import talking


@contextmanager
def source_of(content: bytes) -> Iterator[int]:
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    yield reading
    os.close(reading)


def transfer(answer: Answer, content: bytes, timeout_s: float = 30.0) -> tuple[int, str]:
    with talking(answer) as (_, session, printed), source_of(content) as source:
        status = Pipe(session.connection, source, session.output, timeout_s).run()
    return status, printed.bytes.decode()


def echo(argv: list[bytes]) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(argv[-1]), argv[-1])


def test_every_reply_is_counted_but_that_to_the_end_marker() -> None:
    status, printed = transfer(echo, encode_request([b"PING"]) * 1000)

    assert status == 0
    assert printed.splitlines() == [
        "All data transferred. Waiting for the last reply...",
        "Last reply received from server.",
        "errors: 0, replies: 1000",
    ]


def test_nothing_to_transfer_is_a_success() -> None:
    assert transfer(echo, b"")[0] == 0


def test_errors_are_shown_counted_and_fatal(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(argv: list[bytes]) -> bytes:
        return b"-ERR no \xff\r\n" if argv[0] == b"bad" else echo(argv)

    status, printed = transfer(refuse, encode_request([b"bad"]) + encode_request([b"good"]))

    assert status == 1
    assert printed.endswith("errors: 1, replies: 2\n")
    assert capsys.readouterr().err == "ERR no \\xff\n"


def test_a_server_that_hangs_up_ends_the_transfer(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed = transfer(lambda _: HANG_UP, encode_request([b"a"]))

    assert status == 1
    assert "errors: 1" in printed
    assert "Error: " in capsys.readouterr().err


def test_an_end_marker_that_is_refused_ends_the_transfer_at_once() -> None:
    def refuse(argv: list[bytes]) -> bytes:
        return HANG_UP if argv == [b"QUIT"] else b"-NOAUTH Authentication required.\r\n"

    status, printed = transfer(refuse, encode_request([b"a"]))

    assert status == 1
    assert "errors: 3, replies: 2" in printed


def test_silence_ends_the_transfer_after_the_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed = transfer(lambda _: b"", encode_request([b"a"]), timeout_s=0.05)

    assert (status, printed.splitlines()[-1]) == (1, "errors: 1, replies: 0")
    assert "No replies for 0.05 seconds: giving up." in capsys.readouterr().err
