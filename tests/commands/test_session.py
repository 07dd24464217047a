"""What the server knows of one connection, and which replies still reach it."""

from __future__ import annotations

import pytest

from disque.commands.session import (
    FREE,
    ON_ANSWER,
    ON_QUEUES,
    ON_REPLICATION,
    REPLY_OFF,
    REPLY_ON,
    REPLY_SKIP,
    Session,
)

NOW_MS = 1_700_000_000_000


def make_session() -> Session:
    return Session(7, b"127.0.0.1:50007", False, NOW_MS)


def test_a_new_client_is_nobody_special() -> None:
    session = make_session()

    assert (session.id, session.address, session.is_unix) == (7, b"127.0.0.1:50007", False)
    assert (session.connected_ms, session.last_active_ms) == (NOW_MS, NOW_MS)
    assert (session.protocol, session.reply_mode, session.waits) == (2, REPLY_ON, FREE)
    assert (session.name, session.last_command, session.protocol_error) == (b"", b"NULL", None)
    assert not session.is_authenticated
    assert not session.is_monitor
    assert not session.is_closing


def test_replies_are_taken_in_order_and_once() -> None:
    session = make_session()

    session.send(b"+first\r\n")
    session.send(b":2\r\n")

    assert session.taken_output() == b"+first\r\n:2\r\n"
    assert session.taken_output() == b""


def test_the_size_of_what_is_owed_is_known_until_it_is_taken() -> None:
    session = make_session()
    session.send(b"+OK\r\n")
    session.push(b"+line\r\n")

    assert session.out_bytes == len(b"+OK\r\n+line\r\n")
    assert session.taken_output() == b"+OK\r\n+line\r\n"
    assert session.out_bytes == 0


def test_a_silenced_client_is_owed_nothing_for_ever() -> None:
    session = make_session()
    session.reply_mode = REPLY_OFF

    for _ in range(3):
        session.send(b"+OK\r\n")

    assert (session.taken_output(), session.out_bytes) == (b"", 0)
    assert session.reply_mode == REPLY_OFF


def test_skipping_drops_exactly_one_reply() -> None:
    session = make_session()
    session.reply_mode = REPLY_SKIP

    session.send(b"+skipped\r\n")
    session.send(b"+sent\r\n")

    assert session.taken_output() == b"+sent\r\n"
    assert session.reply_mode == REPLY_ON


def test_a_line_for_a_monitor_is_not_the_reply_that_is_skipped() -> None:
    session = make_session()
    session.reply_mode = REPLY_SKIP

    session.push(b"+line\r\n")
    session.send(b"+skipped\r\n")

    assert session.taken_output() == b"+line\r\n"


def test_a_silenced_monitor_sees_nothing() -> None:
    session = make_session()
    session.reply_mode = REPLY_OFF

    session.push(b"+line\r\n")

    assert (session.taken_output(), session.out_bytes) == (b"", 0)


def test_a_client_with_nothing_to_do_is_idle() -> None:
    assert make_session().is_idle()


@pytest.mark.parametrize("waits", [ON_QUEUES, ON_REPLICATION, ON_ANSWER])
def test_a_client_that_waits_is_not_idle(waits: int) -> None:
    session = make_session()

    session.waits = waits

    assert not session.is_idle()


def test_a_client_whose_requests_wait_is_not_idle() -> None:
    session = make_session()

    session.backlog.append([b"PING"])

    assert not session.is_idle()
