"""How long things take: PING round trips, and the machine's own hiccups.

On a terminal one line is rewritten as samples come in. Elsewhere a measurement of `-i` seconds
(one by default) prints one line and ends, so that scripts can use it.
"""

from __future__ import annotations

import time
from typing import Final

from disque.cli.connection import Connection
from disque.cli.formatting import CSV, JSON
from disque.cli.options import Options
from disque.cli.output import Output

__all__ = ["Samples", "measure_intrinsic_latency", "measure_latency"]

PAUSE_S: Final = 0.01
ROUND_S: Final = 1.0
HISTORY_ROUND_S: Final = 15.0

# Back to the first column, erase the line.
_REWRITE: Final = b"\x1b[0G\x1b[2K"


class Samples:
    """Durations in milliseconds, summed up as they come."""

    def __init__(self) -> None:
        self.count = 0
        self.min_ms = 0.0
        self.max_ms = 0.0
        self._sum_ms = 0.0

    @property
    def mean_ms(self) -> float:
        """The mean, or 0 without samples."""
        return self._sum_ms / self.count if self.count else 0.0

    def add(self, duration_ms: float) -> None:
        """Take one more sample."""
        self.min_ms = min(self.min_ms, duration_ms) if self.count else duration_ms
        self.max_ms = max(self.max_ms, duration_ms)
        self._sum_ms += duration_ms
        self.count += 1

    def describe(self, style: str = "") -> str:
        """Sum the samples up in a line without its end."""
        low, high, mean = f"{self.min_ms:.2f}", f"{self.max_ms:.2f}", f"{self.mean_ms:.2f}"
        if style == JSON:
            return f'{{"min": {low}, "max": {high}, "avg": {mean}, "samples": {self.count}}}'
        if style == CSV:
            return f"{low},{high},{mean},{self.count}"
        return f"min: {low}, max: {high}, avg: {mean} ({self.count} samples)"


def measure_latency(connection: Connection, output: Output, options: Options) -> int:
    """PING until interrupted, or for one round if nobody is looking."""
    has_history = options.mode == "latency-history"
    round_s = options.interval_s or (HISTORY_ROUND_S if has_history else ROUND_S)
    samples, started_s = Samples(), time.monotonic()
    try:
        while True:
            samples.add(_ping_ms(connection))
            elapsed_s = time.monotonic() - started_s
            if output.is_terminal:
                output.write(_REWRITE + samples.describe().encode())
            if elapsed_s >= round_s and (has_history or not output.is_terminal):
                _end_round(samples, elapsed_s, output, has_history=has_history)
                if not has_history:
                    return 0
                samples, started_s = Samples(), time.monotonic()
            time.sleep(PAUSE_S)
    except KeyboardInterrupt:
        if output.is_terminal:
            output.line("")
        return 0


def measure_intrinsic_latency(output: Output, duration_s: float) -> int:
    """Do nothing but read the clock, and see when somebody else had the processor."""
    started_ns = last_ns = time.perf_counter_ns()
    end_ns = started_ns + int(duration_s * 1e9)
    runs = longest_ns = 0
    try:
        while last_ns < end_ns:
            now_ns = time.perf_counter_ns()
            run_ns, last_ns = now_ns - last_ns, now_ns
            runs += 1
            if run_ns > longest_ns:
                longest_ns = run_ns
                output.line(f"Longest run so far: {run_ns / 1000:.1f} microseconds.")
    except KeyboardInterrupt:
        output.line("")
    mean_ns = (last_ns - started_ns) / max(runs, 1)
    output.line(
        f"{runs} runs, {mean_ns / 1000:.3f} microseconds ({mean_ns:.0f} ns) each on average."
    )
    if runs:
        output.line(f"The longest run took {longest_ns / max(mean_ns, 1):.0f} times the average.")
    return 0


def _end_round(samples: Samples, elapsed_s: float, output: Output, *, has_history: bool) -> None:
    range_text = f" -- {elapsed_s:.2f} seconds range" if has_history else ""
    if output.is_terminal:
        output.line(range_text)
    elif output.style in (JSON, CSV):
        output.line(samples.describe(output.style))
    else:
        output.line(samples.describe() + range_text)


def _ping_ms(connection: Connection) -> float:
    started_ns = time.perf_counter_ns()
    connection.call([b"PING"])
    return (time.perf_counter_ns() - started_ns) / 1e6
