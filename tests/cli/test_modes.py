"""The modes that watch, measure and list, against a server that plays along."""

import json

import pytest

from disque.cli.formatting import JSON
from disque.cli.latency import Samples, measure_intrinsic_latency, measure_latency
from disque.cli.options import Options
from disque.cli.scan import ScanError, list_longest, list_queues
from disque.cli.stat import HEADER, show_statistics, statistics_row
from tests.cli.fakeserver import HANG_UP
from tests.cli.program import talking

LENGTHS = {b"mail": 3, b"reports": 7, b"odd\xff": 0}
PAGES = {
    b"0": b"*2\r\n$1\r\n5\r\n*2\r\n$4\r\nmail\r\n$7\r\nreports\r\n",
    # A scan may report a queue twice.
    b"5": b"*2\r\n$1\r\n0\r\n*2\r\n$4\r\nmail\r\n$4\r\nodd\xff\r\n",
}
INFO = b"used_memory:2048\r\nregistered_jobs:5\r\ntotal_commands_processed:%d\r\n"


def answer_scan(argv: list[bytes]) -> bytes:
    return PAGES[argv[1]] if argv[0] == b"QSCAN" else b":%d\r\n" % LENGTHS[argv[1]]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (None, b'"mail"\n"reports"\n"odd\\xff"\n'),
        (b"*[sl]", b'"mail"\n"reports"\n'),
        (b"odd?", b'"odd\\xff"\n'),
        (b"", b""),
    ],
)
def test_scan_lists_each_matching_queue_once(pattern: bytes | None, expected: bytes) -> None:
    with talking(answer_scan) as (_, session, printed):
        assert list_queues(session.connection, session.output, pattern) == 0

    assert printed.bytes == expected


def test_the_longest_queues_come_first_with_a_summary() -> None:
    with talking(answer_scan) as (_, session, printed):
        assert list_longest(session.connection, session.output) == 0

    assert printed.bytes.decode().splitlines() == [
        '         7  "reports"',
        '         3  "mail"',
        '         0  "odd\\xff"',
        "3 queues, 10 jobs queued on this node",
    ]


def test_the_longest_queues_are_values_in_json() -> None:
    with talking(answer_scan, style=JSON) as (_, session, printed):
        list_longest(session.connection, session.output)

    assert json.loads(printed.bytes.splitlines()[0]) == ["reports", 7]


def test_a_scan_that_is_refused_says_why() -> None:
    with (
        talking(lambda _: b"-NOAUTH no\r\n") as (_, session, _),
        pytest.raises(ScanError, match="NOAUTH no"),
    ):
        list_queues(session.connection, session.output, None)


def test_stat_prints_rows_with_the_requests_since_the_last() -> None:
    replies = iter([INFO % 10, INFO % 14])
    with talking(lambda _: b"$%d\r\n%b\r\n" % (len(r := next(replies)), r)) as (
        _,
        session,
        printed,
    ):
        options = Options(repeat=2, interval_s=0.0)
        assert show_statistics(session.connection, session.output, options) == 0

    header, first, second = printed.bytes.decode().splitlines()
    assert header == HEADER
    assert first.split() == ["5", "-", "2.00K", "-", "-", "10", "(+0)", "-"]
    assert "14 (+4)" in second


def test_stat_survives_a_restart_of_the_node() -> None:
    replies = iter([HANG_UP, b"$0\r\n\r\n", b"$0\r\n\r\n"])
    with talking(lambda _: next(replies)) as (server, session, _):
        options = Options(repeat=2, interval_s=0.0)
        assert show_statistics(session.connection, session.output, options) == 0

        assert server.connections == 2


def test_stat_that_is_refused_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    with talking(lambda _: b"-NOAUTH no\r\n") as (_, session, _):
        assert show_statistics(session.connection, session.output, Options()) == 1

    assert capsys.readouterr().err == "Error: INFO was answered: NOAUTH no\n"


def test_a_running_rewrite_is_shown() -> None:
    assert statistics_row({"aof_rewrite_in_progress": "1"}).endswith("AOF")


def test_samples_sum_up() -> None:
    samples = Samples()
    for duration_ms in (2.0, 1.0, 6.0):
        samples.add(duration_ms)

    assert samples.describe() == "min: 1.00, max: 6.00, avg: 3.00 (3 samples)"
    assert json.loads(samples.describe(JSON))["samples"] == 3


def test_latency_without_a_terminal_is_one_line() -> None:
    with talking(lambda _: b"+PONG\r\n") as (_, session, printed):
        options = Options(mode="latency", interval_s=0.02)
        assert measure_latency(session.connection, session.output, options) == 0

    assert printed.bytes.startswith(b"min: ")
    assert printed.bytes.endswith(b" samples)\n")
    assert printed.bytes.count(b"\n") == 1


def test_latency_on_a_terminal_rewrites_its_line_until_interrupted() -> None:
    left = iter(range(3))

    def answer(_argv: list[bytes]) -> bytes:
        return b"+PONG\r\n"

    with talking(answer, is_terminal=True) as (_, session, printed):
        call = session.connection.call

        def interrupted(argv: list[bytes]) -> object:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return call(argv)

        session.connection.call = interrupted  # type: ignore[method-assign,assignment]
        assert measure_latency(session.connection, session.output, Options(mode="latency")) == 0

    assert printed.bytes.count(b"\x1b[2K") == 3
    assert printed.bytes.endswith(b"(3 samples)\n")


def test_intrinsic_latency_needs_no_node() -> None:
    with talking(lambda _: b"") as (server, session, printed):
        assert measure_intrinsic_latency(session.output, 0.005) == 0

        assert server.requests == []
    assert b"Longest run so far" in printed.bytes
    assert b"times the average" in printed.bytes
