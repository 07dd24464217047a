"""SLOWLOG, LATENCY and DEBUG: look into the server, and break it on purpose."""

from __future__ import annotations

import math
import sys
from typing import Final

from disque.commands.frontend import Frontend
from disque.commands.latency import Sample, Series
from disque.commands.options import integer
from disque.commands.session import ON_ANSWER, Session
from disque.commands.slowlog import SlowEntry
from disque.core.queues import Queue
from disque.model.asks import (
    ABORT,
    OUT_OF_MEMORY,
    SEGFAULT,
    Ask,
    Crash,
    Failed,
    Restart,
    Result,
    Sleep,
)
from disque.model.errors import CommandError, SyntaxProblem, shown
from disque.model.job import Job
from disque.model.limits import TIMEOUT_MS_MAX
from disque.model.peer import Peer
from disque.wire import resp

__all__ = ["answer_restart", "answer_sleep", "debug", "latency", "slowlog"]

SLOWLOG_COUNT: Final = 10  # entries SLOWLOG GET shows unless told otherwise

# A sleep of more than a day is a typing error nobody could take back.
SLEEP_SECONDS_MAX: Final = 86_400.0

CRASHES: Final = {b"segfault": SEGFAULT, b"assert": ABORT, b"oom": OUT_OF_MEMORY}


def slowlog(front: Frontend, _session: Session, argv: list[bytes], _now_ms: int) -> bytes:
    """SLOWLOG GET [count] | LEN | RESET."""
    subcommand = argv[1].lower()
    if subcommand == b"get" and len(argv) <= 3:
        count = integer(argv[2]) if len(argv) == 3 else SLOWLOG_COUNT
        return resp.array([_slow_entry(entry) for entry in front.slowlog.entries(count)])
    if subcommand == b"len" and len(argv) == 2:
        return resp.integer(len(front.slowlog))
    if subcommand == b"reset" and len(argv) == 2:
        front.slowlog.reset()
        return resp.OK
    raise CommandError("ERR", "Unknown SLOWLOG subcommand or wrong # of args. Try GET, RESET, LEN.")


def latency(front: Frontend, _session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """LATENCY LATEST | HISTORY event | RESET [event ...] | GRAPH event | DOCTOR."""
    subcommand = argv[1].lower()
    monitor = front.latency
    if subcommand == b"latest" and len(argv) == 2:
        return resp.array([_latest(event, series) for event, series in monitor.latest()])
    if subcommand == b"history" and len(argv) == 3:
        return resp.array([_sample(sample) for sample in monitor.history(argv[2])])
    if subcommand == b"reset":
        return resp.integer(monitor.reset(argv[2:]))
    if subcommand == b"graph" and len(argv) == 3:
        graph = monitor.graph(argv[2], now_ms // 1_000)
        if graph is None:
            raise CommandError("ERR", f"No samples available for event '{shown(argv[2])}'")
        return resp.bulk(graph)
    if subcommand == b"doctor" and len(argv) == 2:
        threshold_ms = front.settings.latency_monitor_threshold
        return resp.bulk(monitor.doctor(now_ms // 1_000, threshold_ms))
    raise SyntaxProblem


def debug(front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes | None:
    """DEBUG subcommand [argument]: for tests and emergencies."""
    subcommand = argv[1].lower()
    if len(argv) == 2:
        if subcommand == b"flushall":
            front.node.flush()
            return resp.OK
        if subcommand == b"structsize":
            return resp.bulk(_structure_sizes())
        if subcommand == b"loadaof":
            raise CommandError("ERR", "DEBUG LOADAOF is not available in this version")
        if subcommand in CRASHES:
            return _ask(front, session, Crash(session.id, CRASHES[subcommand]))
    if len(argv) == 3:
        if subcommand == b"sleep":
            return _ask(front, session, Sleep(session.id, _seconds(argv[2])))
        if subcommand == b"error":
            return b"-%b\r\n" % argv[2].replace(b"\r", b" ").replace(b"\n", b" ")
    if len(argv) <= 3 and subcommand in (b"restart", b"crash-and-recover"):
        delay_ms = _delay_ms(argv[2]) if len(argv) == 3 else 0
        return _ask(front, session, Restart(session.id, delay_ms, subcommand == b"restart"))
    raise CommandError(
        "ERR",
        f"Unknown DEBUG subcommand or wrong number of arguments for '{shown(argv[1])}'",
    )


def answer_sleep() -> bytes:
    """DEBUG SLEEP is over."""
    return resp.OK


def answer_restart(result: Result) -> None:
    """DEBUG RESTART and CRASH-AND-RECOVER: only who could not restart has something to say."""
    if isinstance(result, Failed):
        raise CommandError("ERR", "failed to restart the server. Check server logs.")


def _ask(front: Frontend, session: Session, ask: Ask) -> bytes | None:
    """Leave the reply to the answer."""
    front.node.effects.asks.append(ask)
    session.waits = ON_ANSWER
    return None


def _slow_entry(entry: SlowEntry) -> bytes:
    return resp.array(
        [
            resp.integer(entry.id),
            resp.integer(entry.unix_s),
            resp.integer(entry.duration_us),
            resp.array([resp.bulk(argument) for argument in entry.arguments]),
        ]
    )


def _latest(event: bytes, series: Series) -> bytes:
    newest = series.samples[-1]
    return resp.array(
        [
            resp.bulk(event),
            resp.integer(newest.unix_s),
            resp.integer(newest.duration_ms),
            resp.integer(series.highest_ms),
        ]
    )


def _sample(sample: Sample) -> bytes:
    return resp.array([resp.integer(sample.unix_s), resp.integer(sample.duration_ms)])


def _seconds(raw: bytes) -> float:
    """Read a number of seconds; what cannot be read, or never ends, is no time at all."""
    try:
        seconds = float(raw)
    except ValueError:
        return 0.0
    if not math.isfinite(seconds):
        return 0.0
    return min(max(seconds, 0.0), SLEEP_SECONDS_MAX)


def _delay_ms(raw: bytes) -> int:
    return min(max(integer(raw), 0), TIMEOUT_MS_MAX)


def _structure_sizes() -> bytes:
    """Tell what one object of each kind takes by itself, without what it refers to."""
    return b"bits:%d job:%d queue:%d client:%d node:%d" % (
        64 if sys.maxsize > 2**32 else 32,
        Job.__basicsize__,
        Queue.__basicsize__,
        Session.__basicsize__,
        Peer.__basicsize__,
    )
