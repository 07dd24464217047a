"""How each row of the benchmark is measured.

A comparing row starts both servers, warms both up, and then takes alternating pairs: ours first in
one pair, the reference first in the next, so that neither always gets the quieter half. Each side
of a pair is a *trial*: bring the server to the state the row wants (untimed), run the load (timed),
return operations per second.

The three rows about many jobs share one loaded server, because loading takes longer than measuring:

    fresh server -> load -> memory -> alive (to an empty server) -> pause (with calibration)

Their jobs all sit in one queue. `alive` adds, fetches and acknowledges the same number of jobs, so
the loaded server stays as full as it was. `pause` adds jobs that live for one second; a server
whose clock ticks in whole seconds expires a second's worth of them at once, which is the case worth
looking at.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scripts.bench_load import (
    Batch,
    BenchError,
    LoadResult,
    ProbeResult,
    ack_batches,
    encode,
    job_ids,
    probe,
    repeated,
    run_load,
)
from scripts.bench_servers import (
    Server,
    memory_bytes,
    missing_programs,
    our_server,
    redis_benchmark,
    redis_server,
)
from scripts.bench_stats import Samples, median, percentile

__all__ = ["FULL", "QUICK", "Plan", "groups", "measure", "trial_of_ours"]

BODY: Final = b"x" * 100
QUEUE: Final = "bench"

ADD: Final = encode("ADDJOB", QUEUE, BODY, 0)
ADD_SHORT_LIVED: Final = encode("ADDJOB", QUEUE, BODY, 0, "TTL", 1)
GET: Final = encode("GETJOB", "NOHANG", "FROM", QUEUE)
PUSH: Final = encode("RPUSH", QUEUE, BODY)
POP: Final = encode("LPOP", QUEUE)

# Line feeds in one good reply: +id, [[queue, id, body]], :length, the body.
ADD_LINES: Final = 1
GET_LINES: Final = 8
PUSH_LINES: Final = 1
POP_LINES: Final = 2

PIPELINE: Final = 16
# Loading is not timed: larger batches only make it shorter.
LOAD_PIPELINE: Final = 100

# redis-benchmark rounds the number of requests up to whole pipelines on each of 50 connections.
SPARE_JOBS: Final = 50 * PIPELINE * 2

# Well below what any measured server can take: the row looks for pauses, not for saturation.
PAUSE_COMMANDS_PER_SECOND: Final = 20_000
EXPIRY_SECONDS_MAX: Final = 10.0

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    pairs: int
    single_requests: int
    pipelined_requests: int
    jobs_alive: int
    mix_jobs: int
    pause_seconds: float


FULL: Final = Plan(5, 100_000, 320_000, 1_000_000, 96_000, 6.0)
QUICK: Final = Plan(3, 20_000, 64_000, 100_000, 32_000, 3.0)


def groups(names: Sequence[str]) -> list[list[str]]:
    """Split the rows into those that can be measured, and can fail, on their own."""
    crowded = [name for name in names if name not in _COMPARED]
    return [[name] for name in names if name in _COMPARED] + ([crowded] if crowded else [])


def measure(group: Sequence[str], plan: Plan, say: Progress) -> Iterator[tuple[str, Samples]]:
    """Measure one group of rows; each row is handed out as soon as it is known."""
    for name in group:
        if name in _COMPARED:
            yield name, _compare(name, plan, say)
    if crowded := [name for name in group if name not in _COMPARED]:
        yield from _measure_crowded(crowded, plan, say)


def trial_of_ours(name: str, plan: Plan, server: Server, say: Progress) -> None:
    """Run our half of a row once, for whoever watches the server meanwhile."""
    if name in _COMPARED:
        ours, _ = _COMPARED[name]
        say(f"{name}: {ours(server, plan):,.0f} ops/s while being watched")
        return
    _load(server, plan, say)
    if name == "alive":
        _mix(server, plan.mix_jobs)
    elif name == "pause":
        _probe_ours(server, plan)


# --- rows against redis-server -------------------------------------------------

Trial = Callable[[Server, Plan], float]


def _compare(name: str, plan: Plan, say: Progress) -> Samples:
    ours, reference = _COMPARED[name]
    samples = Samples()
    with our_server() as server, redis_server() as redis:
        say(f"{name}: warming up")
        warm = Plan(1, plan.single_requests // 5, plan.pipelined_requests // 5, 0, 0, 0)
        ours(server, warm)
        reference(redis, warm)
        for pair in range(plan.pairs):
            if pair % 2 == 0:
                samples.ours.append(ours(server, plan))
                samples.reference.append(reference(redis, plan))
            else:
                samples.reference.append(reference(redis, plan))
                samples.ours.append(ours(server, plan))
            say(
                f"{name}: pair {pair + 1} of {plan.pairs}: {samples.ours[-1]:,.0f} to "
                f"{samples.reference[-1]:,.0f}, ratio {samples.ratios()[-1]:.2f}"
            )
        if name == "ack":
            _note_generator(samples, server, redis, plan)
    return samples


def _add(pipeline: int) -> Trial:
    def trial(server: Server, plan: Plan) -> float:
        _flush_ours(server)
        requests = _requests(plan, pipeline)
        return redis_benchmark(server.port, requests, pipeline, "ADDJOB", QUEUE, BODY.decode(), "0")

    return trial


def _push(pipeline: int) -> Trial:
    def trial(redis: Server, plan: Plan) -> float:
        redis.ask("FLUSHALL")
        requests = _requests(plan, pipeline)
        return redis_benchmark(redis.port, requests, pipeline, "RPUSH", QUEUE, BODY.decode())

    return trial


def _get(pipeline: int) -> Trial:
    def trial(server: Server, plan: Plan) -> float:
        requests = _requests(plan, pipeline)
        _flush_ours(server)
        _fill_ours(server, requests + SPARE_JOBS)
        rate = redis_benchmark(server.port, requests, pipeline, "GETJOB", "NOHANG", "FROM", QUEUE)
        _require_rest(server, "QLEN")
        return rate

    return trial


def _pop(pipeline: int) -> Trial:
    def trial(redis: Server, plan: Plan) -> float:
        requests = _requests(plan, pipeline)
        _fill_redis(redis, requests + SPARE_JOBS)
        rate = redis_benchmark(redis.port, requests, pipeline, "LPOP", QUEUE)
        _require_rest(redis, "LLEN")
        return rate

    return trial


def _ack_load(server: Server, plan: Plan) -> LoadResult:
    _flush_ours(server)
    _fill_ours(server, plan.pipelined_requests)
    fetched = run_load(
        server.port, repeated(GET, GET_LINES, plan.pipelined_requests, PIPELINE), keep=True
    )
    batches = ack_batches(job_ids(fetched.kept), PIPELINE)
    result = run_load(server.port, batches)
    if (left := server.jobs_registered()) != 0:
        raise BenchError(f"{left} jobs were still there after all were acknowledged")
    return result


def _pop_load(redis: Server, plan: Plan) -> LoadResult:
    _fill_redis(redis, plan.pipelined_requests)
    return run_load(redis.port, repeated(POP, POP_LINES, plan.pipelined_requests, PIPELINE))


def _note_generator(samples: Samples, server: Server, redis: Server, plan: Plan) -> None:
    ours, reference = _ack_load(server, plan).busy, _pop_load(redis, plan).busy
    samples.detail("generator_busy_ours", ours)
    samples.detail("generator_busy_reference", reference)
    samples.notes.append(
        f"the load generator itself was busy {ours:.0%} of the time with ours, "
        f"{reference:.0%} with redis"
    )


_COMPARED: Final[dict[str, tuple[Trial, Trial]]] = {
    "add": (_add(1), _push(1)),
    "add16": (_add(PIPELINE), _push(PIPELINE)),
    "get": (_get(1), _pop(1)),
    "get16": (_get(PIPELINE), _pop(PIPELINE)),
    "ack": (
        lambda server, plan: _ack_load(server, plan).per_second,
        lambda redis, plan: _pop_load(redis, plan).per_second,
    ),
}


def _requests(plan: Plan, pipeline: int) -> int:
    return plan.single_requests if pipeline == 1 else plan.pipelined_requests


def _flush_ours(server: Server) -> None:
    server.ask("DEBUG", "FLUSHALL")


def _fill_ours(server: Server, jobs: int) -> LoadResult:
    return run_load(server.port, repeated(ADD, ADD_LINES, jobs, LOAD_PIPELINE))


def _fill_redis(redis: Server, items: int) -> None:
    redis.ask("FLUSHALL")
    run_load(redis.port, repeated(PUSH, PUSH_LINES, items, LOAD_PIPELINE))


def _require_rest(server: Server, command: str) -> None:
    if server.number(command, QUEUE) == 0:
        raise BenchError(f"the queue of {server.name} ran dry while it was measured")


# --- rows with many jobs alive -------------------------------------------------


def _measure_crowded(names: list[str], plan: Plan, say: Progress) -> Iterator[tuple[str, Samples]]:
    with our_server() as server:
        memory = _load(server, plan, say)
        if "memory" in names:
            yield "memory", memory
        if "alive" in names:
            yield "alive", _measure_alive(server, plan, say)
        if "pause" in names:
            yield "pause", _measure_pause(server, plan, say)


def _load(server: Server, plan: Plan, say: Progress) -> Samples:
    # The first jobs touch code and tables that are there once, whatever the number of jobs.
    _fill_ours(server, SPARE_JOBS)
    _flush_ours(server)
    before = memory_bytes(server.pid)
    say(f"loading {plan.jobs_alive:,} jobs")
    result = _fill_ours(server, plan.jobs_alive)
    growth = memory_bytes(server.pid) - before
    if (length := server.number("QLEN", QUEUE)) != plan.jobs_alive:
        raise BenchError(f"{plan.jobs_alive} jobs were added, but the queue holds {length}")
    samples = Samples(ours=[growth / plan.jobs_alive])
    samples.detail("load_jobs_per_second", result.per_second)
    samples.detail("resident_bytes_before", before)
    samples.notes.append(
        f"growth of resident memory by {growth / 2**20:,.0f} MiB over {plan.jobs_alive:,} jobs of "
        f"{len(BODY)} bytes, loaded at {result.per_second:,.0f} jobs/s"
    )
    say(f"memory: {samples.ours[0]:,.0f} B per job")
    return samples


def _measure_alive(crowded: Server, plan: Plan, say: Progress) -> Samples:
    samples = Samples(reference_name="empty")
    with our_server() as empty:
        _mix(empty, plan.mix_jobs)
        _mix(crowded, plan.mix_jobs)
        for pair in range(plan.pairs):
            if pair % 2 == 0:
                samples.ours.append(_mix(crowded, plan.mix_jobs))
                samples.reference.append(_mix(empty, plan.mix_jobs))
            else:
                samples.reference.append(_mix(empty, plan.mix_jobs))
                samples.ours.append(_mix(crowded, plan.mix_jobs))
            say(f"alive: pair {pair + 1} of {plan.pairs}: ratio {samples.ratios()[-1]:.2f}")
    if (length := crowded.number("QLEN", QUEUE)) != plan.jobs_alive:
        raise BenchError(f"the loaded queue should still hold {plan.jobs_alive}, not {length}")
    samples.notes.append(
        f"{plan.jobs_alive:,} jobs alive; one third each of ADDJOB, GETJOB and ACKJOB, "
        f"pipeline {PIPELINE}"
    )
    return samples


def _mix(server: Server, jobs: int) -> float:
    """Add, fetch and acknowledge; only the three loads are timed, not the encoding between."""
    added = run_load(server.port, repeated(ADD, ADD_LINES, jobs, PIPELINE))
    fetched = run_load(server.port, repeated(GET, GET_LINES, jobs, PIPELINE), keep=True)
    acked = run_load(server.port, ack_batches(job_ids(fetched.kept), PIPELINE))
    return 3 * jobs / (added.seconds + fetched.seconds + acked.seconds)


def _measure_pause(crowded: Server, plan: Plan, say: Progress) -> Samples:
    has_redis = not missing_programs(["redis-server"])
    samples = Samples(reference_name="redis" if has_redis else "empty")
    with redis_server() if has_redis else our_server() as calm:
        for window in range(plan.pairs):
            if window % 2 == 0:
                result = _probe_ours(crowded, plan)
                calibration = _probe_calm(calm, plan, is_redis=has_redis)
            else:
                calibration = _probe_calm(calm, plan, is_redis=has_redis)
                result = _probe_ours(crowded, plan)
            _note_window(samples, result, calibration)
            say(
                f"pause: window {window + 1} of {plan.pairs}: worst {samples.ours[-1]:.1f} ms, "
                f"calibration {samples.reference[-1]:.1f} ms"
            )
    _wait_expired(crowded, plan)
    details = samples.details
    samples.notes.append(
        f"p99.9 {median(details['p999_ms_ours']):.2f} ms, calibration "
        f"{median(details['p999_ms_reference']):.2f} ms; {plan.jobs_alive:,} jobs alive and "
        f"{median(details['added_per_second']):,.0f} jobs/s added that expire after 1 s"
    )
    samples.notes.append(
        f"the probe itself was stalled for up to {max(details['probe_stall_ms']):.1f} ms; "
        "a stall or a calibration as large as the figure blames the machine, not the server"
    )
    return samples


def _note_window(samples: Samples, result: ProbeResult, calibration: ProbeResult) -> None:
    samples.ours.append(result.round_trips_ms[-1])
    samples.reference.append(calibration.round_trips_ms[-1])
    samples.detail("p999_ms_ours", percentile(result.round_trips_ms, 99.9))
    samples.detail("p999_ms_reference", percentile(calibration.round_trips_ms, 99.9))
    samples.detail("median_ms_ours", percentile(result.round_trips_ms, 50))
    samples.detail("median_ms_reference", percentile(calibration.round_trips_ms, 50))
    samples.detail("probe_stall_ms", max(result.stall_ms, calibration.stall_ms))
    samples.detail("added_per_second", result.commands / result.seconds)


def _probe_ours(server: Server, plan: Plan) -> ProbeResult:
    return _probe(server, ADD_SHORT_LIVED, ADD_LINES, plan)


def _probe_calm(server: Server, plan: Plan, *, is_redis: bool) -> ProbeResult:
    """Run the same probe against a server that does next to nothing."""
    if not is_redis:
        return _probe(server, encode("PING"), 1, plan)
    server.ask("FLUSHALL")
    return _probe(server, PUSH, PUSH_LINES, plan)


def _probe(server: Server, command: bytes, lines: int, plan: Plan) -> ProbeResult:
    batch = Batch(command * PIPELINE, PIPELINE, lines * PIPELINE)
    return probe(
        server.port,
        batch,
        seconds=plan.pause_seconds,
        commands_per_second=PAUSE_COMMANDS_PER_SECOND,
    )


def _wait_expired(server: Server, plan: Plan) -> None:
    """See that the short-lived jobs did expire: otherwise the row measured something else."""
    deadline = time.monotonic() + EXPIRY_SECONDS_MAX
    while (length := server.number("QLEN", QUEUE)) > plan.jobs_alive:
        if time.monotonic() > deadline:
            raise BenchError(f"{length - plan.jobs_alive} jobs outlived their TTL of one second")
        time.sleep(0.1)
