"""The latency monitor keeps the worst of each second and can draw it."""

from disque.commands.latency import SAMPLES_MAX, LatencyMonitor

NOW_S = 1_700_000_000


def samples(monitor: LatencyMonitor, event: bytes) -> list[tuple[int, int]]:
    return [(sample.unix_s, sample.duration_ms) for sample in monitor.history(event)]


def test_history_is_oldest_first() -> None:
    monitor = LatencyMonitor()

    monitor.record(b"command", 30, NOW_S)
    monitor.record(b"command", 20, NOW_S + 1)

    assert samples(monitor, b"command") == [(NOW_S, 30), (NOW_S + 1, 20)]


def test_an_unknown_event_has_no_history() -> None:
    monitor = LatencyMonitor()
    monitor.record(b"command", 30, NOW_S)

    assert monitor.history(b"COMMAND") == []


def test_the_worst_of_a_second_stays_and_counts_as_the_highest() -> None:
    monitor = LatencyMonitor()

    monitor.record(b"command", 30, NOW_S)
    monitor.record(b"command", 90, NOW_S)
    monitor.record(b"command", 40, NOW_S)

    assert samples(monitor, b"command") == [(NOW_S, 90)]
    assert monitor.latest()[0][1].highest_ms == 90


def test_the_highest_outlives_its_sample() -> None:
    monitor = LatencyMonitor()
    monitor.record(b"command", 500, NOW_S)

    for second in range(1, SAMPLES_MAX + 1):
        monitor.record(b"command", 20, NOW_S + second)

    assert len(monitor.history(b"command")) == SAMPLES_MAX
    assert monitor.history(b"command")[0].unix_s == NOW_S + 1
    assert monitor.latest()[0][1].highest_ms == 500


def test_reset_counts_the_series_it_forgets_in_any_case_of_letters() -> None:
    monitor = LatencyMonitor()
    monitor.record(b"command", 30, NOW_S)
    monitor.record(b"fast-command", 30, NOW_S)
    monitor.record(b"fork", 30, NOW_S)

    assert monitor.reset([b"Command", b"nosuch"]) == 1
    assert monitor.reset([]) == 2
    assert monitor.reset([]) == 0


def test_an_unknown_event_has_no_graph() -> None:
    assert LatencyMonitor().graph(b"command", NOW_S) is None


def test_the_graph_shows_height_and_age() -> None:
    monitor = LatencyMonitor()
    for age_s, duration_ms in ((200_000, 10), (7_200, 13), (130, 16), (59, 21), (3, 22)):
        monitor.record(b"command", duration_ms, NOW_S - age_s)

    graph = monitor.graph(b"command", NOW_S)

    assert graph is not None
    assert graph.decode().split("\n") == [
        "command - high 22 ms, low 10 ms (all time high 22 ms)",
        "-" * 80,
        "   ##",
        "  _||",
        " _|||",
        "_||||",
        "     ",
        "22253",
        "dhm9s",
        "   s ",
        "",
    ]


def test_equal_samples_are_drawn_flat() -> None:
    monitor = LatencyMonitor()
    monitor.record(b"command", 30, NOW_S - 1)
    monitor.record(b"command", 30, NOW_S)

    graph = monitor.graph(b"command", NOW_S)

    assert graph is not None
    assert graph.split(b"\n")[2:] == [b"  ", b"  ", b"  ", b"__", b"  ", b"10", b"ss", b""]


def test_a_long_series_is_drawn_in_blocks_of_eighty_columns() -> None:
    monitor = LatencyMonitor()
    for second in range(100):
        monitor.record(b"command", second, NOW_S + second)

    graph = monitor.graph(b"command", NOW_S + 99)

    assert graph is not None
    assert {len(row) for row in graph.split(b"\n")[2:]} == {80, 20, 0}
    first, second_block = graph.split(b"\n\n")
    assert first.count(b"\n") == 2 + 4 + 1 + 3 - 1
    assert second_block.count(b"\n") == 4 + 1 + 3


def test_the_doctor_knows_whether_anybody_listened() -> None:
    assert b"latency-monitor-threshold" in LatencyMonitor().doctor(NOW_S, 0)
    assert b"100 ms" in LatencyMonitor().doctor(NOW_S, 100)


def test_the_doctor_summarises_each_event() -> None:
    monitor = LatencyMonitor()
    monitor.record(b"command", 30, NOW_S - 90)
    monitor.record(b"command", 50, NOW_S - 60)
    monitor.record(b"fork", 7, NOW_S)

    report = monitor.doctor(NOW_S, 5)

    assert b"command: 2 spikes, 40 ms on average, 50 ms at worst, the last one 1m ago." in report
    assert b"SLOWLOG GET" in report
    assert b"fork: 1 spike, 7 ms" in report
