"""One row per interval, of what a person watches."""

import pytest

from disque.cli.options import Options
from disque.cli.stat import HEADER, HEADER_EVERY, info_fields, show_statistics, statistics_row
from tests.cli.fakeserver import HANG_UP
from tests.cli.program import talking

INFO = b"used_memory:2048\r\nregistered_jobs:5\r\ntotal_commands_processed:%d\r\n"
EMPTY = b"$0\r\n\r\n"


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


# --- Rows ---------------------------------------------------------------------------------------


def test_fields_are_the_lines_with_a_name_and_a_value() -> None:
    fields = info_fields(b"# Server\r\nuptime:5\r\n\r\nodd\r\n# a:b\r\npath:/a:b\r\nempty:\r\n")

    assert fields == {"uptime": "5", "path": "/a:b", "empty": ""}


def test_every_column_has_its_place_under_the_header() -> None:
    fields = {
        "registered_jobs": "1",
        "registered_queues": "2",
        "used_memory": "3",
        "connected_clients": "4",
        "blocked_clients": "5",
        "total_commands_processed": "6",
        "total_connections_received": "7",
        "aof_rewrite_in_progress": "1",
    }

    row = statistics_row(fields)

    names = ("jobs", "queues", "mem", "clients", "blocked", "requests", "connections", "rewrite")
    starts = [HEADER.index(name) for name in names]
    shown = [row[start:].split("  ")[0].strip() for start in starts]
    assert shown == ["1", "2", "3B", "4", "5", "6 (+0)", "7", "AOF"]


def test_what_is_not_told_is_a_dash() -> None:
    assert statistics_row({}).split() == ["-", "-", "0B", "-", "-", "0", "(+0)", "-"]


def test_a_running_rewrite_is_shown() -> None:
    assert statistics_row({"aof_rewrite_in_progress": "1"}).endswith("AOF")


@pytest.mark.parametrize(
    ("used", "shown"),
    [
        ("0", "0B"),
        ("1023", "1023B"),
        ("1024", "1.00K"),
        ("1536", "1.50K"),
        ("1048576", "1.00M"),
        ("800000000", "762.94M"),
        ("2199023255552", "2.00T"),
        ("1125899906842624000", "1000.00P"),
        ("odd", "0B"),
    ],
)
def test_memory_is_shown_with_a_unit(used: str, shown: str) -> None:
    assert statistics_row({"used_memory": used}).split()[2] == shown


@pytest.mark.parametrize(("before", "more"), [("10", "(+4)"), ("14", "(+0)"), ("20", "(+0)")])
def test_requests_since_the_last_row_are_never_negative(before: str, more: str) -> None:
    # A node that was restarted counts from zero again.
    previous = {"total_commands_processed": before}

    row = statistics_row({"total_commands_processed": "14"}, previous)

    assert row.split()[5:7] == ["14", more]


# --- Watching -----------------------------------------------------------------------------------


def test_stat_prints_rows_with_the_requests_since_the_last() -> None:
    replies = iter([INFO % 10, INFO % 14])
    with talking(lambda _: bulk(next(replies))) as (_, session, printed):
        options = Options(repeat=2, interval_s=0.0)
        assert show_statistics(session.connection, session.output, options) == 0

    header, first, second = printed.bytes.decode().splitlines()
    assert header == HEADER
    assert first.split() == ["5", "-", "2.00K", "-", "-", "10", "(+0)", "-"]
    assert "14 (+4)" in second


def test_the_header_comes_back_before_it_has_left_the_screen() -> None:
    with talking(lambda _: EMPTY) as (_, session, printed):
        options = Options(repeat=HEADER_EVERY + 1, interval_s=0.0)
        show_statistics(session.connection, session.output, options)

    lines = printed.bytes.decode().splitlines()
    assert [number for number, line in enumerate(lines) if line == HEADER] == [0, HEADER_EVERY + 1]
    assert len(lines) == HEADER_EVERY + 3


@pytest.mark.parametrize("repeat", [None, -1])
def test_stat_goes_on_until_it_is_interrupted(repeat: int | None) -> None:
    with talking(lambda _: EMPTY, interrupt_at=5) as (_, session, printed):
        options = Options(repeat=repeat, interval_s=0.0)
        assert show_statistics(session.connection, session.output, options) == 0

    assert len(printed.bytes.splitlines()) == 5


def test_no_rows_are_as_good_as_any_number() -> None:
    with talking(lambda _: EMPTY) as (server, session, printed):
        assert show_statistics(session.connection, session.output, Options(repeat=0)) == 0

        assert server.requests == []
    assert printed.bytes == b""


def test_stat_survives_a_restart_of_the_node() -> None:
    replies = iter([HANG_UP, EMPTY, EMPTY])
    with talking(lambda _: next(replies)) as (server, session, _):
        options = Options(repeat=2, interval_s=0.0)
        assert show_statistics(session.connection, session.output, options) == 0

        assert server.connections == 2


@pytest.mark.parametrize(
    ("reply", "reason"), [(b"-NOAUTH no\r\n", "NOAUTH no"), (b":5\r\n", "5"), (b"$-1\r\n", "None")]
)
def test_stat_that_is_refused_says_why(
    reply: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(lambda _: reply) as (_, session, _):
        assert show_statistics(session.connection, session.output, Options()) == 1

    assert capsys.readouterr().err == f"Error: INFO was answered: {reason}\n"
