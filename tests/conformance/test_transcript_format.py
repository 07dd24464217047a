"""The replay itself: it reads the whole document, and it notices when a reply is wrong."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.conformance.transcript import (
    Difference,
    Replay,
    Section,
    match_reply,
    parse_sections,
    raw_request,
    read_sections,
)

JOB = "D-01234567-ABCDEFGHIJKLMNOPQRSTUVWX-05a1"
OTHER_JOB = "D-01234567-XXXXXXXXXXXXXXXXXXXXXXXX-05a1"


@pytest.fixture
def fake() -> Iterator[int]:
    """Return the port of a server that answers +PONG to each read, and ends after `bye`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve_one, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
    thread.join(5)


def _serve_one(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        while (chunk := connection.recv(4096)) and b"bye" not in chunk:
            connection.sendall(b"+PONG\r\n")


def section_of(*lines: str) -> Section:
    document = "\n".join(["## S1 A title", "```transcript", *lines, "```"])
    return parse_sections(document)[0]


def test_all_twenty_sections_and_411_checks_are_read() -> None:
    sections = read_sections()

    checks = [s for section in sections for s in section.steps if s.action.startswith("<")]

    assert [section.id for section in sections] == [f"S{n}" for n in range(1, 21)]
    assert len(checks) == 411


def test_server_arguments_belong_to_their_section() -> None:
    by_id = {section.id: section for section in read_sections()}

    assert by_id["S12"].arguments == ["--requirepass", "sekret"]
    assert by_id["S13"].arguments == []
    assert by_id["S17"].is_cluster
    assert by_id["S20"].is_bug_compatible


def test_a_raw_request_may_be_repeated() -> None:
    assert raw_request('"x\\r\\n" * 3') == b"x\r\n" * 3
    assert raw_request('"\\u00ff\\u0000"') == b"\xff\x00"


def test_a_job_id_is_captured_and_must_be_equal_afterwards() -> None:
    captured = match_reply("+{J1|05a1}\r\n", f"+{JOB}\r\n".encode(), {})

    assert captured == {"J1": JOB}
    assert match_reply("+{J1}\r\n", f"+{JOB}\r\n".encode(), captured) == {}
    assert match_reply("+{J1}\r\n", f"+{OTHER_JOB}\r\n".encode(), captured) is None


def test_the_last_four_characters_of_a_job_id_can_be_pinned() -> None:
    assert match_reply("+{J1|05a0}\r\n", f"+{JOB}\r\n".encode(), {}) is None


def test_a_name_used_twice_in_one_reply_must_match_itself() -> None:
    same, other = b"+" + b"a" * 40, b"a" * 40 + b"\r\n"

    assert match_reply("+{N1}{N1}\r\n", same + other, {}) == {"N1": "a" * 40}
    assert match_reply("+{N1}{N1}\r\n", same + b"b" * 40 + b"\r\n", {}) is None


@pytest.mark.parametrize(("number", "is_match"), [(b"8", False), (b"9", True), (b"12", True)])
def test_a_number_must_lie_in_its_range(number: bytes, is_match: bool) -> None:
    assert (match_reply(":{INT 9..12}\r\n", b":%b\r\n" % number, {}) is not None) == is_match


def test_a_right_reply_is_no_mismatch(fake: int) -> None:
    replay = Replay([fake])

    replay.run(section_of('A> ["PING"]', 'A< "+PONG\\r\\n"', "A<NONE 20", 'A>> "bye"', "A<EOF"))

    assert replay.mismatches == []
    assert replay.checks == 3


def test_a_wrong_reply_is_reported_and_the_replay_goes_on(fake: int) -> None:
    replay = Replay([fake])

    replay.run(
        section_of('A> ["PING"]', 'A< "+PANG\\r\\n"', 'A> ["PING"]', 'A<BULK "P.*"', 'A>> "bye"')
    )

    assert [(m.line_number, m.received) for m in replay.mismatches] == [
        (4, repr(b"+PONG\r\n")),
        (6, repr(b"+PONG\r\n")),
    ]


def test_noise_where_silence_is_expected_is_reported(fake: int) -> None:
    replay = Replay([fake])

    replay.run(section_of('A> ["PING"]', "A<NONE 1000", 'A< "+PONG\\r\\n"', 'A>> "bye"'))

    assert len(replay.mismatches) == 1


def test_a_closed_connection_ends_the_section(fake: int) -> None:
    replay = Replay([fake])

    replay.run(section_of('A>> "bye"', 'A< "+PONG\\r\\n"', 'A< "+PONG\\r\\n"'))

    assert len(replay.mismatches) == 1
    assert "abandoned" in replay.mismatches[0].received


def test_an_id_that_was_never_received_ends_the_section(fake: int) -> None:
    replay = Replay([fake])

    replay.run(section_of('A>> "x"', 'A< "+PONG\\r\\n"', 'A> ["SHOW","{J1}"]', 'A>> "bye"'))

    assert "{J1} was never received" in replay.mismatches[0].received


def test_a_known_difference_replaces_the_reply_and_is_marked_as_used(fake: int) -> None:
    difference = Difference("S1", 'A> ["PING"]', 'A< "+OLD\\r\\n"', "+PONG\r\n", "a reason")
    replay = Replay([fake], [difference])

    replay.run(section_of('A> ["PING"]', 'A< "+OLD\\r\\n"', 'A>> "bye"'))

    assert replay.mismatches == []
    assert replay.used == {difference}
