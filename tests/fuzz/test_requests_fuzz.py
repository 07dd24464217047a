"""Any bytes, in any chunks, give the same requests and the same error, and never an exception."""

import random
from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st

from disque.wire import requests as requests_module
from disque.wire.encode import encode_request
from disque.wire.requests import RequestParser

Outcome = tuple[list[list[bytes]], bytes | None]

ARGUMENT = st.binary(max_size=8) | st.sampled_from(
    [b"", b"PING", b"\r\n", b"$4\r\nPING", b"*1\r\n", b"x" * 2_048, b"x" * 2_049, b"\r", b"\n"]
)
REQUEST = st.lists(ARGUMENT, min_size=1, max_size=5)
# Pieces of which valid and nearly valid input is made.
PIECE = st.sampled_from(
    [
        *[b"*%d\r\n" % count for count in range(4)],
        *[b"$%d\r\n" % length for length in range(5)],
        *[b"*1\r\n$4\r\nPING\r\n", b"*2\r\n$4\r\nQLEN\r\n$1\r\nq\r\n", b"*1\r\n$4\r\nPINGxx"],
        *[b"*-1\r\n", b"*01\r\n", b"*64\r\n", b"*65\r\n", b"$-1\r\n", b"$04\r\n", b"$+4\r\n"],
        *[b"*", b"$", b"\r", b"\n", b"\r\n", b"PING", b"+PING\r\n", b":1\r\n", b"a", b"ab\r\n"],
        *[b"PING\n", b'PING "a b"\r\n', b'"', b"'", b"\0", b"\xff", b" ", b"0", b"1", b"-"],
        *[b"*1\n", b"*1\r$4\r\n", b"*1048576\r\n", b"*1048577\r\n", b"$536870913\r\n"],
    ]
)
# One request after another with another argument in one place, mostly of the same length.
SIMILAR = st.builds(
    lambda request, place, values: [
        [*request[: place % len(request)], value, *request[place % len(request) + 1 :]]
        for value in values
    ],
    REQUEST,
    st.integers(0, 4),
    st.lists(st.sampled_from([b"ab", b"cd", b"\r\n", b"$2", b"", b"abc"]), max_size=8),
)
INPUT = (
    st.binary(max_size=60)
    | st.lists(PIECE, max_size=20).map(b"".join)
    | st.lists(REQUEST, max_size=6).map(lambda many: b"".join(map(encode_request, many)))
    | SIMILAR.map(lambda many: b"".join(map(encode_request, many)))
)


def _outcome(chunks: list[bytes], *, strict_only: bool = False) -> Outcome:
    parser = RequestParser(strict_only=strict_only)
    found: list[list[bytes]] = []
    for chunk in chunks:
        found += parser.feed(chunk)
        assert parser.buffered_bytes >= 0
    return found, parser.error


def _cut(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


def _mutated(data: bytes, entropy: random.Random) -> bytes:
    """Damage one byte or a few: change, drop, double or move them."""
    place = entropy.randrange(len(data) + 1)
    length = entropy.choice([1, 1, 1, 2, 5])
    middle = data[place : place + length]
    return data[:place] + entropy.choice(
        [
            bytes([entropy.choice(b"0123456789*$\r\n+-: x\0")]) + data[place + 1 :],
            data[place + length :],
            middle + data[place:],
            b"\r\n" + data[place:],
            data[place + length :] + middle,
        ]
    )


@given(INPUT, st.lists(st.integers(0, 10_000), max_size=6))
@example(b"*1\r\n$4\r\nPING\r\n*1\r\n+PING\r\n", [3])
@example(b"*1\r\n$0\r\n\r\n", [8])
def test_outcome_does_not_depend_on_the_chunks(data: bytes, cuts: list[int]) -> None:
    whole = _outcome([data])

    assert _outcome(_cut(data, cuts)) == whole
    assert _outcome([data[place : place + 1] for place in range(len(data))]) == whole


@given(INPUT, st.lists(st.integers(0, 10_000), max_size=3))
def test_splitting_and_strict_reader_agree(data: bytes, cuts: list[int]) -> None:
    assert _outcome(_cut(data, cuts)) == _outcome([data], strict_only=True)


@given(st.lists(REQUEST, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_readers_agree_on_damaged_requests(many: list[list[bytes]], entropy: random.Random) -> None:
    data = b"".join(map(encode_request, many))
    for _ in range(10):
        damaged = _mutated(data, entropy)
        strict = _outcome([damaged], strict_only=True)

        assert _outcome([damaged]) == strict
        assert _outcome(_cut(damaged, [entropy.randrange(len(data)) for _ in range(2)])) == strict


@given(st.lists(REQUEST, max_size=8), st.lists(st.integers(0, 10_000), max_size=4))
def test_encoded_requests_are_read_back(many: list[list[bytes]], cuts: list[int]) -> None:
    data = b"".join(map(encode_request, many))

    assert _outcome(_cut(data, cuts)) == (many, None)


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 65_538])
@pytest.mark.parametrize("head", [b"", b"*", b"*1\r\n", b"*1\r\n$"])
@pytest.mark.parametrize("tail", [b"", b"\r", b"\n", b"\r\n", b"x\r\n"])
def test_line_limit_does_not_depend_on_the_chunks(head: bytes, tail: bytes, size: int) -> None:
    data = head + b"1" * (size - len(head.rpartition(b"\n")[2])) + tail
    whole = _outcome([data])

    for cut in (1, 5, 30_000, *range(len(data) - 6, len(data))):
        assert _outcome([data[:cut], data[cut:]]) == whole
    near_end = [data[:65_500], *[data[at : at + 1] for at in range(65_500, len(data))]]
    assert _outcome(near_end) == whole


def test_canonical_requests_take_the_short_way() -> None:
    found: list[list[bytes]] = []
    data = encode_request([b"ADDJOB", b"q", b"x" * 100, b"0"]) * 16

    assert requests_module._read_canonical(data, 0, found) == len(data)
    assert len(found) == 16
