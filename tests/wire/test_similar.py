"""Requests that differ in one argument are recognised, and nothing else is."""

import pytest

from disque.wire.encode import encode_request
from disque.wire.requests import RequestParser
from disque.wire.similar import FIXED_BYTES_MAX, Similar, find


def similar(first: list[bytes], second: list[bytes]) -> Similar:
    found = find(first, second)
    assert found is not None
    return found


def read(known: Similar, *requests: list[bytes]) -> tuple[list[list[bytes]], int]:
    data = b"".join(map(encode_request, requests))
    found: list[list[bytes]] = []
    position = known.read(data, 0, found)
    return found, len(data) - position


@pytest.mark.parametrize("gap", [0, 1, 2, 3])
def test_any_argument_may_be_the_one_that_differs(gap: int) -> None:
    first = [b"ADDJOB", b"queue", b"body", b"0"]
    second = first.copy()
    second[gap] = bytes(reversed(first[gap])) if gap < 3 else b"9"

    assert read(similar(first, second), second, first) == ([second, first], 0)


def test_equal_requests_may_differ_in_what_is_longest() -> None:
    request = [b"ADDJOB", b"q", b"x" * 100, b"0"]
    other = [b"ADDJOB", b"q", b"y" * 100, b"0"]

    assert read(similar(request, request), other, request) == ([other, request], 0)


def test_an_argument_may_hold_what_looks_like_the_end_of_another() -> None:
    first, second = [b"ACKJOB", b"\r\n$1"], [b"ACKJOB", b"$1\r\n"]

    assert read(similar(first, second), first, second) == ([first, second], 0)


@pytest.mark.parametrize(
    "other",
    [
        [b"ADDJOB", b"q", b"longer", b"0"],
        [b"ADDJOB", b"p", b"body", b"0"],
        [b"addjob", b"q", b"body", b"0"],
        [b"ADDJOB", b"q", b"body", b"1"],
        [b"ADDJOB", b"q", b"body"],
        [b"ADDJOB", b"q", b"body", b"0", b"ASYNC"],
    ],
)
def test_reading_stops_before_the_first_request_of_another_form(other: list[bytes]) -> None:
    first, second = [b"ADDJOB", b"q", b"body", b"0"], [b"ADDJOB", b"q", b"BODY", b"0"]
    known = similar(first, second)

    unread = encode_request(other) + encode_request(second)
    assert read(known, first, other, second) == ([first], len(unread))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([b"PING"], [b"PING", b"x"]),
        ([b"ADDJOB", b"q", b"a"], [b"ADDJOB", b"q", b"ab"]),
        ([b"ADDJOB", b"q", b"a"], [b"ADDJOB", b"p", b"b"]),
        ([b"ACKJOB", b"x" * FIXED_BYTES_MAX, b"a"], [b"ACKJOB", b"x" * FIXED_BYTES_MAX, b"b"]),
    ],
    ids=["count", "length", "two places", "too much to keep"],
)
def test_requests_with_less_in_common_are_not_similar(
    first: list[bytes], second: list[bytes]
) -> None:
    assert find(first, second) is None


def test_a_parser_that_learned_a_form_shares_what_does_not_change() -> None:
    parser = RequestParser(strict_only=False)
    data = [encode_request([b"ACKJOB", b"D-%038d" % number]) for number in range(6)]

    (first, _) = parser.feed(data[0] + data[1])
    (second,) = parser.feed(data[2])
    (third, fourth) = parser.feed(data[3] + data[4] + data[5][:9])
    (fifth,) = parser.feed(data[5][9:])

    arguments = [first, second, third, fourth, fifth]
    assert [each[1] for each in arguments] == [b"D-%038d" % number for number in (0, 2, 3, 4, 5)]
    assert second[0] is third[0] is fourth[0]


@pytest.mark.parametrize("count", [2, 3, 4, 63, 64, 65, 200])
def test_pipelines_of_any_length_are_read_in_order(count: int) -> None:
    known = similar([b"ACKJOB", b"0000", b"x"], [b"ACKJOB", b"0001", b"x"])
    requests = [[b"ACKJOB", b"%04d" % number, b"x"] for number in range(count)]

    assert read(known, *requests) == (requests, 0)


@pytest.mark.parametrize("place", [0, 1, 2, 5, 63, 64, 69])
def test_the_one_request_of_another_form_in_a_pipeline_is_found(place: int) -> None:
    known = similar([b"ACKJOB", b"0000"], [b"ACKJOB", b"0001"])
    requests = [[b"ACKJOB", b"%04d" % number] for number in range(70)]
    # As long as the others, so that only its bytes give it away.
    requests[place] = [b"NACKED", b"0000"]

    found, unread = read(known, *requests)

    assert found == requests[:place]
    assert unread == (70 - place) * len(encode_request(requests[0]))


def test_each_request_of_a_pipeline_has_arguments_of_its_own() -> None:
    known = similar([b"ACKJOB", b"0000"], [b"ACKJOB", b"0001"])

    (first, *others), _ = read(known, *[[b"ACKJOB", b"0002"]] * 5)
    first.append(b"more")

    assert others == [[b"ACKJOB", b"0002"]] * 4
