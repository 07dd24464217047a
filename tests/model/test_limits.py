"""Limits leave room for what they must allow."""

from disque.model.limits import (
    MONITOR_OUTPUT_BYTES_MAX,
    NODE_BYTES,
    QUERY_BYTES_MAX,
    SECONDS_MAX,
    TIMEOUT_MS_MAX,
    UNSENT_BYTES_MAX,
)
from disque.model.settings import Settings
from disque.wire.requests import ARGUMENT_BYTES_MAX, LINE_BYTES_MAX

# The year 10000.
LATE_MS = 253_402_300_800_000


def test_every_deadline_fits_into_64_bits() -> None:
    assert LATE_MS + SECONDS_MAX * 1_000 < 2**63
    assert LATE_MS + TIMEOUT_MS_MAX < 2**63


def test_largest_argument_can_be_received() -> None:
    assert QUERY_BYTES_MAX >= ARGUMENT_BYTES_MAX + LINE_BYTES_MAX


def test_monitor_may_lag_further_than_other_clients() -> None:
    assert MONITOR_OUTPUT_BYTES_MAX > UNSENT_BYTES_MAX


def test_empty_node_with_default_settings_has_memory_to_spare() -> None:
    assert Settings().maxmemory > NODE_BYTES * 100
