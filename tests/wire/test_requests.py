"""Requests are parsed strictly, whatever the chunks they come in."""

import pytest

from disque.wire.encode import encode_request
from disque.wire.requests import (
    ARGUMENT_BYTES_MAX,
    ARGUMENT_OVERHEAD_BYTES,
    ARGUMENTS_MAX,
    LINE_BYTES_MAX,
    RequestParser,
)

PING = b"*1\r\n$4\r\nPING\r\n"
CHUNK_BYTES = 65_536


@pytest.fixture(params=[False, True], ids=["splitting", "strict"])
def parser(request: pytest.FixtureRequest) -> RequestParser:
    return RequestParser(strict_only=bool(request.param))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'PING\r\nPING "a b"\r\n', [[b"PING"], [b"PING", b"a b"]]),
        (b"\r\n\r\n   PING   'it\\'s'  \r\n", [[b"PING", b"it's"]]),
        (b'PING "\\x41\\n\\t"\r\n', [[b"PING", b"A\n\t"]]),
        (b'PING a"b c"\r\n', [[b"PING", b"ab c"]]),
        (b'PING ""\r\n', [[b"PING"]]),
        (b"*0\r\n*-5\r\n" + PING, [[b"PING"]]),
        (b"*1\r\n$4\r\nPINGxx" + PING, [[b"PING"], [b"PING"]]),
        (b"PING\r\nQUIT\r\nPING\r\n", [[b"PING"], [b"QUIT"], [b"PING"]]),
    ],
)
def test_well_formed_requests_are_read(
    parser: RequestParser, data: bytes, expected: list[list[bytes]]
) -> None:
    assert parser.feed(data) == expected
    assert parser.error is None
    assert parser.buffered_bytes == 0


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b'PING "unterminated\r\n', b"unbalanced quotes in request"),
        (b'PING "a"b\r\n', b"unbalanced quotes in request"),
        (b"x" * 65_537, b"too big inline request"),
        (b"*x\r\n", b"invalid multibulk length"),
        (b"*1048577\r\n", b"invalid multibulk length"),
        (b"*01\r\n$4\r\nPING\r\n", b"invalid multibulk length"),
        (b"*+1\r\n", b"invalid multibulk length"),
        (b"* 1\r\n", b"invalid multibulk length"),
        (b"*1 \r\n", b"invalid multibulk length"),
        (b"*\r\n", b"invalid multibulk length"),
        (b"*-\r\n", b"invalid multibulk length"),
        (b"*-0\r\n", b"invalid multibulk length"),
        (b"*00\r\n", b"invalid multibulk length"),
        (b"*-05\r\n", b"invalid multibulk length"),
        (b"*-9223372036854775809\r\n", b"invalid multibulk length"),
        (b"*-" + b"9" * 60_000 + b"\r\n", b"invalid multibulk length"),
        (b"*" + b"9" * 60_000 + b"\r\n", b"invalid multibulk length"),
        (b"*1\n\r\n", b"invalid multibulk length"),
        (b"*1\rx", b"invalid multibulk length"),
        (b"*" + b"1" * 65_536, b"too big mbulk count string"),
        (b"*1\r\n$536870913\r\n", b"invalid bulk length"),
        (b"*1\r\n$-1\r\n", b"invalid bulk length"),
        (b"*1\r\n$04\r\nPING\r\n", b"invalid bulk length"),
        (b"*1\r\n$\r\n", b"invalid bulk length"),
        (b"*1\r\n$4x\r\n", b"invalid bulk length"),
        (b"*1\r\n$4\rPING", b"invalid bulk length"),
        (b"*1\r\n$" + b"1" * 65_536, b"too big bulk count string"),
        (b"*1\r\n" + b"x" * 65_537, b"too big bulk count string"),
        (b"*1\r\n+PING\r\n", b"expected '$', got '+'"),
        (b"*2\r\n$4\r\nPING\r\n*1\r\n", b"expected '$', got '*'"),
        (b"*1\r\n\r\n", b"expected '$', got ' '"),
        (b"*1\r\n\n\r\n", b"expected '$', got ' '"),
        (b"*1\r\n\0\r\n", b"expected '$', got '\\x00'"),
        (b"*1\r\n\xff\r\n", b"expected '$', got '\\xff'"),
    ],
)
def test_malformed_request_is_refused_with_a_sentence(
    parser: RequestParser, data: bytes, sentence: bytes
) -> None:
    assert parser.feed(PING + data) == [[b"PING"]]
    assert parser.error == b"Protocol error: " + sentence


def test_input_behind_an_error_is_ignored(parser: RequestParser) -> None:
    assert parser.feed(PING + b"*x\r\n" + PING) == [[b"PING"]]
    assert parser.feed(PING) == []
    assert parser.error == b"Protocol error: invalid multibulk length"
    assert parser.buffered_bytes == 0


@pytest.mark.parametrize(
    "data",
    [
        b"*1048576\r\n",
        b"*1\n",
        b"*1\r",
        b"*1\r\n",
        b"*1\r\n$4\n",
        b"*1\r\n+PING",
        b"*1\r\n$4\r\nPING",
        b"*1\r\n$4\r\nPING\r",
        b"x" * LINE_BYTES_MAX,
        b"*" + b"1" * (LINE_BYTES_MAX - 1),
        b"*1\r\n$" + b"1" * (LINE_BYTES_MAX - 1),
    ],
)
def test_cut_request_is_awaited(parser: RequestParser, data: bytes) -> None:
    assert parser.feed(data) == []
    assert parser.error is None


def test_line_of_the_largest_size_is_read_when_its_end_arrives(parser: RequestParser) -> None:
    line = b"x" * LINE_BYTES_MAX

    assert parser.feed(line) == []
    assert parser.feed(b"\n") == [[line]]


def test_bare_line_feed_ends_an_inline_request_and_nothing_else(parser: RequestParser) -> None:
    assert parser.feed(b"PING\nPING\n" + PING) == [[b"PING"]] * 3


def test_nul_in_an_inline_request_is_data(parser: RequestParser) -> None:
    assert parser.feed(b"PING a\0b\n\0\n") == [[b"PING", b"a\0b"], [b"\0"]]


def test_inline_request_of_empty_words_is_nothing(parser: RequestParser) -> None:
    assert parser.feed(b"\"\" ''\r\n") == []
    assert parser.error is None


def test_empty_argument_of_a_multibulk_is_kept(parser: RequestParser) -> None:
    assert parser.feed(b"*2\r\n$4\r\nPING\r\n$0\r\n\r\n") == [[b"PING", b""]]


def test_body_may_contain_anything(parser: RequestParser) -> None:
    body = b"\r\n*1\r\n$4\r\nPING\r\n\0\xff\r\n"
    request = [b"ADDJOB", b"q", body, b"0"]

    assert parser.feed(encode_request(request) * 3) == [request] * 3


def test_requests_in_one_chunk_may_be_of_all_kinds(parser: RequestParser) -> None:
    big = [b"ADDJOB", b"q", b"x" * 100_000]
    many = [b"ACKJOB", *[b"id"] * 200]
    data = PING + encode_request(big) + b"QLEN q\n" + encode_request(many) + PING + PING[:7]

    assert parser.feed(data) == [[b"PING"], big, [b"QLEN", b"q"], many, [b"PING"]]
    assert parser.feed(PING[7:]) == [[b"PING"]]


def test_memory_of_an_unfinished_request_is_told(parser: RequestParser) -> None:
    parser.feed(b"*3\r\n$4\r\nPING\r\n$10\r\n")
    assert parser.buffered_bytes == 4 + ARGUMENT_OVERHEAD_BYTES

    parser.feed(b"12345")
    assert parser.buffered_bytes == 4 + ARGUMENT_OVERHEAD_BYTES + 5

    parser.feed(b"67890\r\n$")
    assert parser.buffered_bytes == 14 + 2 * ARGUMENT_OVERHEAD_BYTES + 1

    parser.feed(b"0\r\n\r\n")
    assert parser.buffered_bytes == 0


def test_announced_argument_costs_nothing_until_it_comes(parser: RequestParser) -> None:
    parser.feed(b"*%d\r\n$%d\r\n" % (ARGUMENTS_MAX, ARGUMENT_BYTES_MAX))

    assert parser.error is None
    assert parser.buffered_bytes == 0


def test_requests_delivered_are_not_touched_by_later_ones(parser: RequestParser) -> None:
    first = parser.feed(b"*2\r\n$1\r\na\r\n") + parser.feed(b"$1\r\nb\r\n*2\r\n$1\r\nc\r\n")
    second = parser.feed(b"$1\r\nd\r\n")

    assert first == [[b"a", b"b"]]
    assert second == [[b"c", b"d"]]


def _feed_in_chunks(parser: RequestParser, data: bytes, size: int) -> list[list[bytes]]:
    requests: list[list[bytes]] = []
    for start in range(0, len(data), size):
        requests += parser.feed(data[start : start + size])
    return requests


def test_splitting_resumes_behind_a_request_cut_by_the_chunk(parser: RequestParser) -> None:
    requests = [[b"ADDJOB", b"q", b"%d" % number * 20, b"0"] for number in range(2_000)]
    data = b"".join(map(encode_request, requests))

    assert _feed_in_chunks(parser, data, 4_099) == requests


def test_client_that_repeats_itself_over_many_chunks_is_read_every_time(
    parser: RequestParser,
) -> None:
    get = [b"GETJOB", b"FROM", b"q"]
    chunk = encode_request(get) * 3

    found = [parser.feed(chunk) for _ in range(3)]

    assert found == [[get] * 3] * 3


def test_requests_that_differ_in_one_argument_are_read_over_many_chunks(
    parser: RequestParser,
) -> None:
    chunks = [[[b"ACKJOB", b"%040d" % (10 * chunk + n)] for n in range(3)] for chunk in range(3)]

    found = [parser.feed(b"".join(map(encode_request, requests))) for requests in chunks]

    assert found == chunks


def test_change_of_mind_after_many_requests_alike_is_noticed(parser: RequestParser) -> None:
    get, add = [b"GETJOB", b"FROM", b"q"], [b"ADDJOB", b"q", b"body", b"0"]
    parser.feed(encode_request(get) * 3)

    found = parser.feed(encode_request(get) + encode_request(add) + encode_request(get) + PING)

    assert found == [get, add, get, [b"PING"]]


def test_request_too_long_to_be_remembered_is_read_every_time(parser: RequestParser) -> None:
    many = [b"ACKJOB", *[b"%040d" % number for number in range(20)]]

    found = [parser.feed(encode_request(many) * 2) for _ in range(2)]

    assert found == [[many] * 2] * 2


@pytest.mark.slow
def test_large_body_in_chunks_takes_linear_work(parser: RequestParser) -> None:
    # Searching or copying what is held again for every chunk would take minutes.
    body = b"\r\n$4\r\n*1" * (64 * 1024 * 1024 // 8)

    request = [b"ADDJOB", b"q", body, b"0"]
    assert _feed_in_chunks(parser, encode_request(request), CHUNK_BYTES) == [request]


@pytest.mark.slow
def test_request_of_the_most_arguments_takes_linear_work(parser: RequestParser) -> None:
    request = [b"ACKJOB", *[b"%d" % (number % 1000) for number in range(ARGUMENTS_MAX - 1)]]

    assert _feed_in_chunks(parser, encode_request(request), CHUNK_BYTES) == [request]


@pytest.mark.slow
@pytest.mark.parametrize("head", [b"", b"*", b"*1\r\n$"])
def test_line_that_comes_byte_by_byte_takes_linear_work(parser: RequestParser, head: bytes) -> None:
    assert _feed_in_chunks(parser, head + b"1" * (LINE_BYTES_MAX - len(head)), 1) == []
    assert parser.error is None

    assert _feed_in_chunks(parser, b"1" * 5, 1) == []
    assert parser.error is not None


def test_requests_that_come_one_at_a_time_are_read_as_they_are() -> None:
    parser = RequestParser(strict_only=False)
    get = [b"GETJOB", b"FROM", b"q"]
    adds = [[b"ADDJOB", b"q", b"body %d" % number, b"0"] for number in range(4)]
    requests = [get, get, get, *adds, get, [b"PING"], get, *adds]

    assert [parser.feed(encode_request(request)) for request in requests] == [
        [request] for request in requests
    ]


def test_a_request_that_was_recognised_may_be_followed_by_half_of_another() -> None:
    parser = RequestParser(strict_only=False)
    get = encode_request([b"GETJOB", b"FROM", b"q"])
    parser.feed(get)
    parser.feed(get)

    assert parser.feed(get + get[:9]) == [[b"GETJOB", b"FROM", b"q"]]
    # What would be a whole request at another moment is the rest of this one.
    assert parser.feed(get[9:]) == [[b"GETJOB", b"FROM", b"q"]]
    assert parser.feed(get) == [[b"GETJOB", b"FROM", b"q"]]
    assert parser.buffered_bytes == 0


def test_bytes_of_a_body_are_not_taken_for_the_request_they_look_like() -> None:
    parser = RequestParser(strict_only=False)
    ping = encode_request([b"PING"])
    parser.feed(ping)
    parser.feed(ping)
    carrier = encode_request([b"ADDJOB", b"q", ping, b"0"])
    begin = carrier.index(ping, 1)

    assert parser.feed(carrier[:begin]) == []
    assert parser.feed(ping) == []
    assert parser.feed(carrier[begin + len(ping) :]) == [[b"ADDJOB", b"q", ping, b"0"]]


@pytest.mark.parametrize(
    "nothing", [b"\n", b"\r\n", b" \t\r\n", b"*0\r\n", b"*-1\r\n", b"*-5\r\n\n", b'""\n']
)
@pytest.mark.parametrize("chunk_bytes", [1, 7, 10_000])
def test_requests_without_arguments_are_skipped_however_many_there_are(
    parser: RequestParser, nothing: bytes, chunk_bytes: int
) -> None:
    data = nothing * 500 + PING + nothing * 300 + PING + nothing
    requests: list[list[bytes]] = []

    for position in range(0, len(data), chunk_bytes):
        requests += parser.feed(data[position : position + chunk_bytes])

    assert requests == [[b"PING"], [b"PING"]]
    assert parser.error is None
    assert parser.buffered_bytes == 0


def test_a_count_that_is_no_number_is_found_behind_requests_without_arguments(
    parser: RequestParser,
) -> None:
    assert parser.feed(b"*0\r\n" * 100 + b"*-01\r\n") == []

    assert parser.error == b"Protocol error: invalid multibulk length"


@pytest.mark.slow
@pytest.mark.timeout(10)
@pytest.mark.parametrize("nothing", [b"\n", b"*0\r\n"])
def test_a_flood_of_requests_without_arguments_costs_no_more_than_its_bytes(nothing: bytes) -> None:
    parser = RequestParser()
    chunk = nothing * 100_000

    # One by one, these forty million requests would take half a minute and more.
    for _ in range(400):
        assert parser.feed(chunk) == []
