"""Every queue is listed once, the longest first if that is what is asked for."""

import json

import pytest

from disque.cli.formatting import CSV, JSON
from disque.cli.scan import LONGEST_SHOWN, ScanError, list_longest, list_queues
from tests.cli.fakeserver import Answer
from tests.cli.program import talking

LENGTHS = {b"mail": 3, b"reports": 7, b"odd\xff": 0}
PAGES = {
    b"0": b"*2\r\n$1\r\n5\r\n*2\r\n$4\r\nmail\r\n$7\r\nreports\r\n",
    # A scan may report a queue twice.
    b"5": b"*2\r\n$1\r\n0\r\n*2\r\n$4\r\nmail\r\n$4\r\nodd\xff\r\n",
}


def answer_scan(argv: list[bytes]) -> bytes:
    return PAGES[argv[1]] if argv[0] == b"QSCAN" else b":%d\r\n" % LENGTHS[argv[1]]


def queues_of_lengths(lengths: list[int]) -> Answer:
    """Return how a server answers that has these queues, called `0`, `1` and so on."""
    names = b"".join([b"$%d\r\n%d\r\n" % (len(str(n)), n) for n in range(len(lengths))])
    page = b"*2\r\n$1\r\n0\r\n*%d\r\n%b" % (len(lengths), names)

    def answer(argv: list[bytes]) -> bytes:
        return page if argv[0] == b"QSCAN" else b":%d\r\n" % lengths[int(argv[1])]

    return answer


# --- Listing ------------------------------------------------------------------------------------


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


def test_a_scan_follows_the_cursor_to_its_end_and_asks_for_large_pages() -> None:
    with talking(answer_scan) as (server, session, _):
        list_queues(session.connection, session.output, None)

        assert server.requests == [[b"QSCAN", cursor, b"COUNT", b"1000"] for cursor in (b"0", b"5")]


def test_a_node_without_queues_lists_nothing() -> None:
    with talking(queues_of_lengths([])) as (_, session, printed):
        assert list_queues(session.connection, session.output, None) == 0

    assert printed.bytes == b""


def test_a_scan_that_is_refused_says_why() -> None:
    with (
        talking(lambda _: b"-NOAUTH no\r\n") as (_, session, _),
        pytest.raises(ScanError, match="NOAUTH no"),
    ):
        list_queues(session.connection, session.output, None)


@pytest.mark.parametrize("reply", [b":1\r\n", b"*1\r\n:0\r\n", b"*2\r\n$1\r\n0\r\n:5\r\n"])
def test_a_reply_that_is_no_page_ends_the_scan(reply: bytes) -> None:
    with (
        talking(lambda _: reply) as (_, session, _),
        pytest.raises(ScanError, match="unexpected reply"),
    ):
        list_queues(session.connection, session.output, None)


# --- The longest --------------------------------------------------------------------------------


def test_the_longest_queues_come_first_with_a_summary() -> None:
    with talking(answer_scan) as (_, session, printed):
        assert list_longest(session.connection, session.output) == 0

    assert printed.bytes.decode().splitlines() == [
        '         7  "reports"',
        '         3  "mail"',
        '         0  "odd\\xff"',
        "3 queues, 10 jobs queued on this node",
    ]


def test_only_the_longest_are_shown_but_all_are_counted() -> None:
    lengths = [number % 7 * 10 for number in range(LONGEST_SHOWN * 3)]
    with talking(queues_of_lengths(lengths)) as (_, session, printed):
        list_longest(session.connection, session.output)

    *rows, summary = printed.bytes.decode().splitlines()
    assert [int(row.split()[0]) for row in rows] == sorted(lengths, reverse=True)[:LONGEST_SHOWN]
    assert summary == f"{len(lengths)} queues, {sum(lengths)} jobs queued on this node"


def test_one_queue_with_one_job_is_counted_in_the_singular() -> None:
    with talking(queues_of_lengths([1])) as (_, session, printed):
        list_longest(session.connection, session.output)

    assert printed.bytes.endswith(b"\n1 queue, 1 job queued on this node\n")


def test_the_longest_queues_are_values_in_json() -> None:
    with talking(answer_scan, style=JSON) as (_, session, printed):
        list_longest(session.connection, session.output)

    assert json.loads(printed.bytes.splitlines()[0]) == ["reports", 7]


def test_the_longest_queues_are_rows_without_a_summary_in_csv() -> None:
    with talking(answer_scan, style=CSV) as (_, session, printed):
        list_longest(session.connection, session.output)

    assert printed.bytes == b'"reports",7\n"mail",3\n"odd\\xff",0\n'


def test_a_length_that_is_refused_ends_the_search() -> None:
    def answer(argv: list[bytes]) -> bytes:
        return answer_scan(argv) if argv[0] == b"QSCAN" else b"-LOADING wait\r\n"

    with talking(answer) as (_, session, printed), pytest.raises(ScanError, match="LOADING wait"):
        list_longest(session.connection, session.output)

    assert printed.bytes == b""
