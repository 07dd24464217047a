"""The benchmark's own arithmetic, its report, and its load generator against a tiny server."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import hiredis
import pytest

from scripts import bench, bench_rows
from scripts.bench_load import (
    Batch,
    BenchError,
    ack_batches,
    encode,
    job_ids,
    probe,
    repeated,
    run_load,
)
from scripts.bench_million import Million, body_of, drain_step, lines_of
from scripts.bench_servers import (
    free_port,
    machine_facts,
    memory_bytes,
    missing_programs,
    parse_requests_per_second,
)
from scripts.bench_stats import (
    ROWS,
    Samples,
    document,
    judge,
    median,
    percentile,
    row_named,
    table,
)

ADD16 = row_named("add16")
MEMORY = row_named("memory")
PAUSE = row_named("pause")


# --- a tiny server --------------------------------------------------------------

Answer = Callable[[list[bytes]], bytes]


@dataclass
class TinyServer:
    """Answers every command with what a function says, one thread per connection."""

    answer: Answer
    commands: list[list[bytes]] = field(default_factory=list)
    port: int = 0
    pings: int = 0
    on_ping: Callable[[int], None] = lambda _: None

    def serve(self, link: socket.socket) -> None:
        """Answer one connection until the other side closes it."""
        reader = hiredis.Reader()
        with link:
            while chunk := link.recv(65536):
                reader.feed(chunk)
                replies = []
                while (words := reader.gets()) is not False:
                    if words == [b"PING"]:
                        self.pings += 1
                        self.on_ping(self.pings)
                        replies.append(b"+PONG\r\n")
                        continue
                    self.commands.append(words)
                    replies.append(self.answer(words))
                link.sendall(b"".join(replies))

    def serve_quietly(self, link: socket.socket) -> None:
        """Serve; a generator that stops at an error leaves its connections half read."""
        try:
            self.serve(link)
        except ConnectionError:
            return


@contextmanager
def tiny_server(answer: Answer) -> Iterator[TinyServer]:
    server = TinyServer(answer)
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server.port = listener.getsockname()[1]

        def accept() -> None:
            while True:
                try:
                    link, _ = listener.accept()
                except OSError:
                    return
                thread = threading.Thread(target=server.serve_quietly, args=(link,))
                threads.append(thread)
                thread.start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
    for thread in [acceptor, *threads]:
        thread.join(10)


def job_reply(job_id: bytes, body: bytes) -> bytes:
    return b"*1\r\n*3\r\n$1\r\nq\r\n$40\r\n%b\r\n$%d\r\n%b\r\n" % (job_id, len(body), body)


# --- statistics -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [([3.0], 3.0), ([5.0, 1.0, 3.0], 3.0), ([4.0, 1.0, 2.0, 3.0], 2.5)],
)
def test_median_is_the_middle_of_the_sorted_values(values: list[float], expected: float) -> None:
    assert median(values) == expected


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1.0), (50, 500.0), (99.9, 999.0), (100, 1000.0)]
)
def test_percentile_is_the_nearest_rank(percent: float, expected: float) -> None:
    ordered = [float(number) for number in range(1, 1001)]

    assert percentile(ordered, percent) == expected


def test_ratio_is_taken_within_each_pair_before_the_median() -> None:
    # The machine was ten times slower during the second pair: the quotient does not care.
    samples = Samples(ours=[50.0, 5.0, 60.0], reference=[100.0, 10.0, 100.0])

    judgement = judge(ADD16, samples, compiled=False)

    assert judgement.value == 0.5
    assert (judgement.low, judgement.high) == (0.5, 0.6)


def test_half_a_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Samples(ours=[1.0, 2.0], reference=[1.0]).ratios()


@pytest.mark.parametrize(
    ("ratio", "compiled", "reached"),
    [(0.20, False, True), (0.19, False, False), (0.20, True, False), (0.45, True, True)],
)
def test_ratio_must_be_at_least_the_budget_of_its_column(
    ratio: float, compiled: bool, reached: bool
) -> None:
    samples = Samples(ours=[ratio * 100], reference=[100.0])

    assert judge(ADD16, samples, compiled=compiled).reached is reached


def test_memory_must_be_at_most_its_budget() -> None:
    assert judge(MEMORY, Samples(ours=[900.0]), compiled=False).reached
    assert not judge(MEMORY, Samples(ours=[901.0]), compiled=False).reached
    assert not judge(MEMORY, Samples(ours=[900.0]), compiled=True).reached


def test_pause_is_judged_by_its_worst_window_not_by_the_median() -> None:
    judgement = judge(PAUSE, Samples(ours=[1.0, 51.0, 1.0]), compiled=False)

    assert judgement.value == 51.0
    assert not judgement.reached


# --- the report -----------------------------------------------------------------


def test_table_shows_both_figures_the_spread_and_the_verdict() -> None:
    samples = Samples(ours=[50_000.0], reference=[200_000.0], notes=["a remark"])

    text = table([judge(ADD16, samples, compiled=True)])

    heading, _, line, note = text.splitlines()
    assert heading.split() == (
        ["row", "what", "ours", "reference", "value", "spread", "budget", "reached"]
    )
    assert line.startswith("add16")
    assert "50,000 ops/s" in line
    assert "200,000 (redis)" in line
    assert line.split()[-5:] == ["0.25", "0.25..0.25", ">=", "0.45", "NO"]
    assert note.strip() == "a remark"


def test_row_without_a_reference_shows_its_figure_with_the_unit() -> None:
    text = table([judge(MEMORY, Samples(ours=[812.4]), compiled=False)])

    assert "812 B" in text
    assert "<= 900 B" in text
    assert text.endswith("yes")


def test_document_is_json_with_every_raw_sample() -> None:
    samples = Samples(ours=[10.0, 11.0], reference=[20.0, 22.0])
    samples.detail("p999_ms_ours", 1.5)

    facts = document(
        [judge(ADD16, samples, compiled=False)],
        taken_at="2026-01-02T03:04:05+00:00",
        core_build="interpreted",
        column="interpreted",
        machine=machine_facts(),
        options={"quick": True, "pairs": 2},
        skipped={"get": "redis-benchmark not installed"},
    )

    read = json.loads(json.dumps(facts))
    assert set(read) == {
        "format",
        "taken_at",
        "core_build",
        "budget_column",
        "machine",
        "options",
        "skipped",
        "rows",
    }
    assert read["taken_at"] == "2026-01-02T03:04:05+00:00"
    assert {"cpus", "python", "redis"} <= set(read["machine"])
    (row,) = read["rows"]
    assert row["name"] == "add16"
    assert row["ours"] == [10.0, 11.0]
    assert row["reference"] == [20.0, 22.0]
    assert row["ratios"] == [0.5, 0.5]
    assert row["spread"] == [0.5, 0.5]
    assert row["budget_is"] == "at least"
    assert row["reached"] is True
    assert row["details"] == {"p999_ms_ours": [1.5]}


def test_missed_row_is_named_with_the_option_that_explains_it() -> None:
    missed = judge(ADD16, Samples(ours=[1.0], reference=[100.0]), compiled=False)
    reached = judge(ADD16, Samples(ours=[90.0], reference=[100.0]), compiled=False)

    assert bench.closing_lines([missed], {}, {}) == [
        "Row add16 misses its budget; --profile add16 shows why."
    ]
    assert bench.closing_lines([reached], {}, {}) == []


# --- the command line -----------------------------------------------------------


def test_every_row_is_measured_unless_rows_are_picked() -> None:
    assert bench.parse([]).rows == [row.name for row in ROWS]


def test_picked_rows_keep_the_order_of_the_report() -> None:
    assert bench.parse(["--rows", "ack, add,,pause"]).rows == ["add", "ack", "pause"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--rows", "push"],
        ["--rows", ","],
        ["--pairs", "0"],
        ["--pairs", "x"],
        ["--profile", "nothing"],
        ["--profile", "add", "--million"],
    ],
)
def test_nonsense_on_the_command_line_is_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.parse(arguments)

    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


def test_quick_means_less_of_everything_and_pairs_can_be_set_apart() -> None:
    full = bench.plan_of(bench.parse([]))
    quick = bench.plan_of(bench.parse(["--quick"]))
    counted = bench.plan_of(bench.parse(["--quick", "--pairs", "7"]))

    assert (full.pairs, full.jobs_alive) == (5, 1_000_000)
    assert (quick.pairs, quick.jobs_alive) == (3, 100_000)
    assert (counted.pairs, counted.jobs_alive) == (7, 100_000)


def test_samples_go_to_the_build_directory_unless_told_otherwise() -> None:
    assert bench.json_path_of(bench.parse([])).parts[-2:] == ("build", "bench.json")
    assert bench.json_path_of(bench.parse(["--million"])).parts[-2:] == ("build", "million.json")
    assert bench.json_path_of(bench.parse(["--json", "elsewhere.json"])) == Path("elsewhere.json")


def test_rows_that_need_no_redis_are_measured_without_it() -> None:
    rows = [row.name for row in ROWS]

    names, skipped = bench.runnable(rows, ["redis-server", "redis-benchmark"])

    assert names == ["memory", "alive", "pause"]
    assert list(skipped) == ["add", "add16", "get", "get16", "ack"]
    (sentence,) = bench.closing_lines([], skipped, {})
    assert "apt-get install redis" in sentence


def test_ack_row_needs_no_redis_benchmark() -> None:
    names, _ = bench.runnable(["add", "ack"], ["redis-benchmark"])

    assert names == ["ack"]


def test_rows_about_many_jobs_share_one_group() -> None:
    assert bench_rows.groups(["add", "ack", "memory", "pause"]) == [
        ["add"],
        ["ack"],
        ["memory", "pause"],
    ]


# --- what other programs print --------------------------------------------------


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('"test","rps","avg_latency_ms"\n"LPOP q","431654.69","1.547"\n', 431654.69),
        ('"ADDJOB q xxx 0","43956.04"\n', 43956.04),
        ("LPOP q: rps=1.0\rLPOP q: 447093.88 requests per second, p50=1.3 msec\n", 447093.88),
        ('WARNING: no CONFIG\n"test","rps"\n"GETJOB, ""odd""","7"\n', 7.0),
    ],
)
def test_rate_is_found_in_every_format_of_redis_benchmark(output: str, expected: float) -> None:
    assert parse_requests_per_second(output) == expected


@pytest.mark.parametrize("output", ["", '"test","rps"\n', '"LPOP q","nan"\n', '"LPOP q","0.00"\n'])
def test_output_without_a_rate_is_an_error_not_a_zero(output: str) -> None:
    with pytest.raises(BenchError, match="no requests per second"):
        parse_requests_per_second(output)


def test_missing_programs_are_named() -> None:
    assert missing_programs(["sh", "no-such-program-anywhere"]) == ["no-such-program-anywhere"]


def test_resident_memory_of_a_process_is_read_in_bytes() -> None:
    assert memory_bytes(os.getpid()) > 1_000_000


def test_free_port_leaves_room_for_the_bus() -> None:
    assert free_port() + 10_000 <= 65_535


# --- the load generator ---------------------------------------------------------


def test_command_is_encoded_as_an_array_of_bulks() -> None:
    assert encode("ADDJOB", b"q", 0) == b"*3\r\n$6\r\nADDJOB\r\n$1\r\nq\r\n$1\r\n0\r\n"


def test_last_batch_holds_the_rest() -> None:
    batches = list(repeated(b"x", 2, 10, 4))

    assert batches == [Batch(b"xxxx", 4, 8), Batch(b"xxxx", 4, 8), Batch(b"xx", 2, 4)]


def test_acks_are_one_command_per_id() -> None:
    batches = ack_batches([b"a", b"b", b"c"], 2)

    assert [batch.commands for batch in batches] == [2, 1]
    assert batches[0].request == encode("ACKJOB", b"a") + encode("ACKJOB", b"b")


def test_every_command_is_sent_once_and_answered() -> None:
    ids = [b"%040d" % number for number in range(1_003)]
    with tiny_server(lambda _: b":1\r\n") as server:
        result = run_load(server.port, ack_batches(ids, 16), connections=5)

    assert result.commands == 1_003
    assert result.reply_bytes == 1_003 * len(b":1\r\n")
    assert sorted(words[1] for words in server.commands) == ids
    assert result.per_second > 0
    assert result.busy >= 0


def test_more_connections_than_batches_end_all_the_same() -> None:
    with tiny_server(lambda _: b"+OK\r\n") as server:
        result = run_load(server.port, repeated(encode("X"), 1, 3, 1), connections=8)

    assert result.commands == 3


def test_replies_of_several_lines_are_kept_and_read_back() -> None:
    numbers = iter(range(100))

    def answer(_: list[bytes]) -> bytes:
        return job_reply(b"D-%038d" % next(numbers), b"x" * 100)

    with tiny_server(answer) as server:
        batches = repeated(encode("GETJOB", "FROM", "q"), 8, 100, 16)
        result = run_load(server.port, batches, connections=1, keep=True)

    assert job_ids(result.kept) == [b"D-%038d" % number for number in range(100)]


def test_error_reply_stops_the_run_with_its_sentence() -> None:
    with (
        tiny_server(lambda _: b"-OOM too much\r\n") as server,
        pytest.raises(BenchError, match="OOM too much"),
    ):
        run_load(server.port, repeated(encode("ADDJOB"), 1, 32, 16), connections=2)


def test_error_behind_good_replies_is_seen() -> None:
    replies = iter([b":1\r\n"] * 5 + [b"-BADID no\r\n"] * 100)

    with (
        tiny_server(lambda _: next(replies)) as server,
        pytest.raises(BenchError, match="BADID no"),
    ):
        run_load(server.port, repeated(encode("ACKJOB"), 1, 16, 16), connections=1)


@pytest.mark.parametrize("nil", [b"*-1\r\n", b"$-1\r\n"])
def test_empty_queue_stops_the_run(nil: bytes) -> None:
    with (
        tiny_server(lambda _: nil) as server,
        pytest.raises(BenchError, match="ran dry"),
    ):
        run_load(server.port, repeated(encode("LPOP", "q"), 2, 16, 16), connections=1)


def test_probe_times_every_ping_beside_its_load() -> None:
    batch = Batch(encode("ADDJOB") * 4, 4, 4)
    with tiny_server(lambda _: b"+D-id\r\n") as server:
        result = probe(server.port, batch, seconds=0.1, commands_per_second=2_000)

    assert result.round_trips_ms == sorted(result.round_trips_ms)
    assert len(result.round_trips_ms) >= 2
    assert result.round_trips_ms[0] > 0
    assert 0 < result.commands <= 2_000
    assert len(server.commands) <= result.commands


def test_probe_reports_the_servers_error() -> None:
    batch = Batch(encode("ADDJOB") * 4, 4, 4)
    with (
        tiny_server(lambda _: b"-ERR no\r\n") as server,
        pytest.raises(BenchError, match="ERR no"),
    ):
        probe(server.port, batch, seconds=0.5, commands_per_second=2_000)


def test_probe_sees_a_pause_of_the_server() -> None:
    never = threading.Event()

    def hold_the_fifth_ping(count: int) -> None:
        if count == 5:
            never.wait(0.05)

    with tiny_server(lambda _: b"+OK\r\n") as server:
        server.on_ping = hold_the_fifth_ping
        batch = Batch(encode("X"), 1, 1)
        result = probe(server.port, batch, seconds=0.2, commands_per_second=10, connections=1)

    assert result.round_trips_ms[-1] >= 45
    # PINGs sent during the pause saw what was left of it: the pause is not counted once only.
    assert sum(trip >= 10 for trip in result.round_trips_ms) >= 2


# --- a million jobs -------------------------------------------------------------


def test_bodies_of_the_million_are_numbered_and_of_one_size() -> None:
    assert body_of(7).startswith(b"000000000007.")
    assert {len(body_of(number)) for number in (0, 999_999)} == {100}


def test_drained_jobs_must_continue_where_the_last_ended() -> None:
    reply: list[object] = [[b"q", b"id-5", body_of(5)], [b"q", b"id-6", body_of(6)]]

    assert drain_step(reply, 5) == [b"id-5", b"id-6"]
    with pytest.raises(BenchError, match="expected job 4"):
        drain_step(reply, 4)


def test_lost_job_is_named_when_the_queue_is_empty_too_early() -> None:
    with pytest.raises(BenchError, match="job 12 was never delivered"):
        drain_step(None, 12)


def test_million_is_reported_with_rates_pauses_and_memory() -> None:
    result = Million(1_000, 0.5, 0.25, 3.0, 4.0, 2**20, 3 * 2**20, 2 * 2**20)

    text = lines_of(result)

    assert "2,000 jobs/s, worst pause 3.0 ms" in text
    assert "4,000 jobs/s, worst pause 4.0 ms" in text
    assert "1 MiB before, 3 MiB loaded, 2 MiB drained" in text
    assert json.loads(json.dumps(result.document()))["jobs"] == 1_000
