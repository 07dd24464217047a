"""What the 40 characters of a job id say, and what is taken for one."""

import pytest
from hypothesis import given, strategies as st

from disque.model.errors import CommandError
from disque.model.job import JobId, NodeId
from disque.model.jobid import (
    RANDOM_BYTES,
    RANDOM_CHARACTERS,
    checked,
    is_at_least_once,
    prefix,
    suffix,
    ttl_minutes,
)
from disque.model.limits import SECONDS_MAX

NODE = NodeId(b"dcb833cf" + b"0" * 32)
RANDOM_PART = b"8YL1NT17e9+wsA/09NqxscQI"
ID = b"D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1"

seconds = st.integers(0, SECONDS_MAX)


def made(ttl_s: int, retry_s: int) -> JobId:
    return checked(prefix(NODE) + RANDOM_PART + suffix(ttl_s, retry_s))


def test_an_id_names_its_node_its_ttl_and_how_often_it_may_be_delivered() -> None:
    assert made(86_400, 300) == ID
    assert ttl_minutes(JobId(ID)) == 0x05A1


def test_random_bytes_fill_their_characters_without_padding() -> None:
    assert RANDOM_BYTES * 8 == RANDOM_CHARACTERS * 6


@given(ttl_s=seconds, retry_s=seconds)
def test_last_digit_is_odd_exactly_if_the_job_is_retried(ttl_s: int, retry_s: int) -> None:
    assert is_at_least_once(made(ttl_s, retry_s)) == (retry_s > 0)


@given(ttl_s=seconds, retry_s=seconds)
def test_ttl_is_read_back_to_the_minute_up_to_its_four_digits(ttl_s: int, retry_s: int) -> None:
    told = ttl_minutes(made(ttl_s, retry_s))

    assert abs(told - min(ttl_s // 60, 0xFFFF)) <= 1
    assert len(suffix(ttl_s, retry_s)) == 5


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        ID[:-1],
        ID + b"1",
        b"E" + ID[1:],
        b"D" + b"d" + ID[2:],
        ID[:10] + b"x" + ID[11:],
        ID[:35] + b"x" + ID[36:],
    ],
)
def test_what_is_not_shaped_like_an_id_is_refused(raw: bytes) -> None:
    with pytest.raises(CommandError) as refused:
        checked(raw)

    assert (refused.value.code, refused.value.sentence) == ("BADID", "Invalid Job ID format.")


@given(st.binary(min_size=8, max_size=8), st.binary(min_size=24, max_size=24), st.binary())
def test_only_length_and_dashes_are_checked(node: bytes, middle: bytes, end: bytes) -> None:
    raw = b"D-%b-%b-%b" % (node, middle, end[:4].ljust(4, b"\xff"))

    assert checked(raw) == raw


@pytest.mark.parametrize(
    ("digits", "minutes"), [(b"FFFF", 0xFFFF), (b"zz\x001", 1), (b"0-10", 0x10), (b"    ", 0)]
)
def test_character_that_is_no_hex_digit_counts_as_zero(digits: bytes, minutes: int) -> None:
    assert ttl_minutes(JobId(ID[:36] + digits)) == minutes
