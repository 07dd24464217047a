"""Round trips and hiccups are measured until somebody has seen enough."""

import json

import pytest
from hypothesis import given, strategies as st

from disque.cli.formatting import CSV, JSON
from disque.cli.latency import Samples, measure_intrinsic_latency, measure_latency
from disque.cli.options import Options
from disque.cli.output import Output
from tests.cli.program import Printed, talking

REWRITE = b"\x1b[0G\x1b[2K"


def pong(_argv: list[bytes]) -> bytes:
    return b"+PONG\r\n"


# --- Samples ------------------------------------------------------------------------------------


def test_samples_sum_up() -> None:
    samples = Samples()
    for duration_ms in (2.0, 1.0, 6.0):
        samples.add(duration_ms)

    assert samples.describe() == "min: 1.00, max: 6.00, avg: 3.00 (3 samples)"
    assert json.loads(samples.describe(JSON))["samples"] == 3


def test_samples_have_a_form_for_programs() -> None:
    samples = Samples()
    for duration_ms in (2.0, 1.0, 6.0):
        samples.add(duration_ms)

    assert json.loads(samples.describe(JSON)) == {"min": 1, "max": 6, "avg": 3, "samples": 3}
    assert samples.describe(CSV) == "1.00,6.00,3.00,3"


def test_no_samples_are_described_too() -> None:
    assert Samples().describe() == "min: 0.00, max: 0.00, avg: 0.00 (0 samples)"


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_samples_agree_with_the_list_of_them(durations_ms: list[float]) -> None:
    samples = Samples()

    for duration_ms in durations_ms:
        samples.add(duration_ms)

    assert samples.count == len(durations_ms)
    assert (samples.min_ms, samples.max_ms) == (min(durations_ms), max(durations_ms))
    assert samples.mean_ms == pytest.approx(sum(durations_ms) / len(durations_ms))


# --- Round trips --------------------------------------------------------------------------------


def test_latency_without_a_terminal_is_one_line() -> None:
    with talking(pong) as (server, session, printed):
        options = Options(mode="latency", interval_s=0.02)
        assert measure_latency(session.connection, session.output, options) == 0

        assert [b"PING"] in server.requests
    assert printed.bytes.startswith(b"min: ")
    assert printed.bytes.endswith(b" samples)\n")
    assert printed.bytes.count(b"\n") == 1


@pytest.mark.parametrize("style", [JSON, CSV])
def test_latency_for_programs_is_one_value(style: str) -> None:
    with talking(pong, style=style) as (_, session, printed):
        options = Options(mode="latency", interval_s=0.01)
        assert measure_latency(session.connection, session.output, options) == 0

    (line,) = printed.bytes.decode().splitlines()
    assert (len(json.loads(line)) if style == JSON else len(line.split(","))) == 4


def test_latency_on_a_terminal_rewrites_its_line_until_interrupted() -> None:
    with talking(pong, is_terminal=True, interrupt_at=3) as (_, session, printed):
        assert measure_latency(session.connection, session.output, Options(mode="latency")) == 0

    assert printed.bytes.count(REWRITE) == 3
    assert printed.bytes.endswith(b"(3 samples)\n")


def test_history_begins_a_new_line_for_every_round() -> None:
    with talking(pong, interrupt_at=2) as (_, session, printed):
        options = Options(mode="latency-history", interval_s=0.001)
        assert measure_latency(session.connection, session.output, options) == 0

    lines = printed.bytes.decode().splitlines()
    assert len(lines) == 2
    assert all(line.startswith("min: ") and line.endswith(" seconds range") for line in lines)


def test_history_on_a_terminal_keeps_the_line_of_every_round() -> None:
    # Each round is one sample: its line is written, then ended.
    with talking(pong, is_terminal=True, interrupt_at=4) as (_, session, printed):
        options = Options(mode="latency-history", interval_s=1e-9)
        assert measure_latency(session.connection, session.output, options) == 0

    *rounds, interrupted, end = printed.bytes.split(b"\n")
    assert len(rounds) == 2
    for line in rounds:
        assert line.startswith(REWRITE)
        assert b"(1 samples) -- " in line
        assert line.endswith(b" seconds range")
    assert (interrupted, end) == (b"", b"")


# --- Hiccups of the machine ---------------------------------------------------------------------


def test_intrinsic_latency_needs_no_node() -> None:
    with talking(lambda _: b"") as (server, session, printed):
        assert measure_intrinsic_latency(session.output, 0.005) == 0

        assert server.requests == []
    assert b"Longest run so far" in printed.bytes
    assert b"times the average" in printed.bytes


def test_interrupted_measurement_of_the_machine_sums_up_what_it_has() -> None:
    printed = Printed(interrupt_at=1)

    assert measure_intrinsic_latency(Output(printed), 60.0) == 0

    first, blank, summary, comparison = printed.bytes.decode().splitlines()
    assert first.startswith("Longest run so far: ")
    assert blank == ""
    assert summary.endswith(" each on average.")
    assert comparison.endswith(" times the average.")


def test_measurement_of_no_time_finds_nothing_to_compare() -> None:
    printed = Printed()

    assert measure_intrinsic_latency(Output(printed), 0.0) == 0

    assert printed.bytes == b"0 runs, 0.000 microseconds (0 ns) each on average.\n"
