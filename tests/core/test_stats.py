"""Traffic counts exactly, and its rates follow the last sixteen samples without a timer."""

from disque.core.stats import SAMPLE_MS, SAMPLES, Traffic

START_MS = 1_700_000_000_000
WINDOW_MS = SAMPLE_MS * SAMPLES


def count(
    traffic: Traffic, now_ms: int, *, commands: int = 0, input_bytes: int = 0, output_bytes: int = 0
) -> None:
    """Count as the server does."""
    if now_ms >= traffic.ends_ms:
        traffic.roll(now_ms)
    traffic.commands += commands
    traffic.input_bytes += input_bytes
    traffic.output_bytes += output_bytes


def test_totals_add_up() -> None:
    traffic = Traffic()

    count(traffic, START_MS, commands=2)
    count(traffic, START_MS + 5_000, commands=3)
    count(traffic, START_MS, input_bytes=10)
    count(traffic, START_MS, output_bytes=20)

    assert (traffic.commands, traffic.input_bytes, traffic.output_bytes) == (5, 10, 20)


def test_a_steady_flow_shows_its_true_rate() -> None:
    traffic = Traffic()

    for elapsed_ms in range(0, 4_000, 10):
        count(traffic, START_MS + elapsed_ms, commands=1)
        count(traffic, START_MS + elapsed_ms, input_bytes=30)
        count(traffic, START_MS + elapsed_ms, output_bytes=7)

    now_ms = START_MS + 4_000
    assert traffic.commands_per_second(now_ms) == 100
    assert traffic.input_bytes_per_second(now_ms) == 3_000.0
    assert traffic.output_bytes_per_second(now_ms) == 700.0


def test_the_open_sample_does_not_count_yet() -> None:
    traffic = Traffic()

    count(traffic, START_MS, commands=16)

    assert traffic.commands_per_second(START_MS + SAMPLE_MS - 1) == 0
    assert traffic.commands_per_second(START_MS + SAMPLE_MS) == 10


def test_a_burst_is_forgotten_after_sixteen_samples_of_silence() -> None:
    traffic = Traffic()

    count(traffic, START_MS, commands=16)

    assert traffic.commands_per_second(START_MS + WINDOW_MS + SAMPLE_MS - 1) == 10
    assert traffic.commands_per_second(START_MS + WINDOW_MS + SAMPLE_MS) == 0


def test_a_long_silence_leaves_only_what_came_after_it() -> None:
    traffic = Traffic()
    count(traffic, START_MS, input_bytes=1_000_000)

    later_ms = START_MS + 3_600_000
    count(traffic, later_ms, input_bytes=160)

    assert traffic.input_bytes_per_second(later_ms + SAMPLE_MS) == 100.0


def test_silence_in_between_counts_as_zero() -> None:
    traffic = Traffic()

    count(traffic, START_MS, output_bytes=16)
    count(traffic, START_MS + 5 * SAMPLE_MS, output_bytes=16)

    assert traffic.output_bytes_per_second(START_MS + 6 * SAMPLE_MS) == 20.0


def test_a_clock_that_steps_back_loses_nothing() -> None:
    traffic = Traffic()

    count(traffic, START_MS, commands=8)
    count(traffic, START_MS - 50, commands=8)

    assert traffic.commands == 16
    assert traffic.commands_per_second(START_MS + SAMPLE_MS) == 10


def test_reset_zeroes_totals_and_rates() -> None:
    traffic = Traffic()
    traffic.connections_received = 3
    traffic.connections_rejected = 1
    count(traffic, START_MS, commands=100)
    count(traffic, START_MS + SAMPLE_MS, commands=100)

    traffic.reset()

    assert traffic.commands == traffic.connections_received == traffic.connections_rejected == 0
    assert traffic.commands_per_second(START_MS + 2 * SAMPLE_MS) == 0
    count(traffic, START_MS + 2 * SAMPLE_MS, commands=16)
    assert traffic.commands_per_second(START_MS + 3 * SAMPLE_MS) == 10
