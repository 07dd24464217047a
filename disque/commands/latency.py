"""The latency monitor: spikes by cause, kept as short time series.

Whoever measures something slow records it under the name of an event: `command` and `fast-command`
for executed commands, others for work the server does by itself. A series has at most one sample
per second, the worst of it, so that 160 samples reach far back even when spikes come in bursts.

GRAPH draws a series from the oldest sample on the left to the newest, each column as high as the
sample lies between the lowest and the highest one, with its age written downwards below:

       #
      _|_
    o_|||      one character has three heights: _ o #

    4332
    mmms
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

__all__ = ["SAMPLES_MAX", "LatencyMonitor", "Sample", "Series"]

SAMPLES_MAX: Final = 160

GRAPH_COLUMNS: Final = 80
GRAPH_ROWS: Final = 4
# The heights a character can show, and what stands below the top of a column.
HEIGHTS: Final = b"_o#"
BELOW_TOP: Final = b"|"
SPACE: Final = b" "
LEVELS: Final = GRAPH_ROWS * len(HEIGHTS)

MINUTE_S: Final = 60
HOUR_S: Final = 60 * MINUTE_S
DAY_S: Final = 24 * HOUR_S

# What may help, by event; DOCTOR says it when the event was seen.
ADVICE: Final = {
    b"command": (
        b"SLOWLOG GET shows which commands were slow. Ask for less at a time: smaller COUNT in "
        b"QPEEK, QSCAN and JSCAN, no BUSYLOOP, no DEBUG SLEEP."
    ),
    b"fast-command": (
        b"These commands are cheap by themselves: look for large job bodies, for long lists of "
        b"job ids, and for other processes that compete for the processor or the memory."
    ),
    b"jobs-processing": (
        b"Many jobs were due at the same moment. Spread DELAY, RETRY and TTL if your "
        b"producers set the same values in bursts."
    ),
    b"eviction-cycle": b"Memory is full: raise maxmemory, or acknowledge jobs faster.",
}


@final
class Sample:
    """The worst duration seen within one second."""

    __slots__ = ("duration_ms", "unix_s")

    def __init__(self, unix_s: int, duration_ms: int) -> None:
        self.unix_s = unix_s
        self.duration_ms = duration_ms


@final
class Series:
    """The samples of one event, oldest first, and the worst duration since the last reset."""

    __slots__ = ("highest_ms", "samples")

    def __init__(self) -> None:
        self.samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)
        self.highest_ms = 0

    def add(self, unix_s: int, duration_ms: int) -> None:
        """Take a spike in; of two within the same second the longer one stays."""
        self.highest_ms = max(self.highest_ms, duration_ms)
        if self.samples and self.samples[-1].unix_s == unix_s:
            newest = self.samples[-1]
            newest.duration_ms = max(newest.duration_ms, duration_ms)
        else:
            self.samples.append(Sample(unix_s, duration_ms))


@final
class LatencyMonitor:
    """One series per event that ever happened, in the order in which events first happened."""

    __slots__ = ("_series",)

    def __init__(self) -> None:
        self._series: dict[bytes, Series] = {}

    def record(self, event: bytes, duration_ms: int, unix_s: int) -> None:
        """Remember a spike. The caller compares with the threshold."""
        series = self._series.get(event)
        if series is None:
            series = self._series[event] = Series()
        series.add(unix_s, duration_ms)

    def latest(self) -> list[tuple[bytes, Series]]:
        """Return every event with its series, which is never empty."""
        return list(self._series.items())

    def history(self, event: bytes) -> list[Sample]:
        """Return the samples of `event`, oldest first; none if it is unknown."""
        series = self._series.get(event)
        return list(series.samples) if series is not None else []

    def reset(self, events: list[bytes]) -> int:
        """Forget these events, in any case of letters, or all if none is named; count them."""
        wanted = {event.lower() for event in events}
        doomed = [event for event in self._series if not events or event.lower() in wanted]
        for event in doomed:
            del self._series[event]
        return len(doomed)

    def graph(self, event: bytes, unix_s: int) -> bytes | None:
        """Draw the samples of `event` as seen at `unix_s`; None if it is unknown."""
        series = self._series.get(event)
        if series is None:
            return None
        samples = list(series.samples)
        low = min([sample.duration_ms for sample in samples])
        high = max([sample.duration_ms for sample in samples])
        title = b"%b - high %d ms, low %d ms (all time high %d ms)\n" % (
            event,
            high,
            low,
            series.highest_ms,
        )
        blocks = [
            _block(samples[start : start + GRAPH_COLUMNS], low, high, unix_s)
            for start in range(0, len(samples), GRAPH_COLUMNS)
        ]
        return title + b"-" * GRAPH_COLUMNS + b"\n" + b"\n".join(blocks)

    def doctor(self, unix_s: int, threshold_ms: int) -> bytes:
        """Say in words what was seen and what may help."""
        if not self._series:
            if threshold_ms == 0:
                return (
                    b"The latency monitor is off. Set latency-monitor-threshold to the number of "
                    b"milliseconds from which on you want to know, then ask again.\n"
                )
            return b"No spike of %d ms or more was seen. All is well.\n" % threshold_ms
        lines: list[bytes] = []
        for event, series in self._series.items():
            lines.append(_diagnosis(event, series, unix_s))
            if event in ADVICE:
                lines.append(b"  " + ADVICE[event])
        return b"\n".join(lines) + b"\n"


def _block(samples: list[Sample], low: int, high: int, unix_s: int) -> bytes:
    """Draw up to GRAPH_COLUMNS samples: the rows, a blank row, the ages."""
    # All samples alike are drawn flat.
    span = max(high - low, 1)
    levels = [min((sample.duration_ms - low) * LEVELS // span, LEVELS - 1) for sample in samples]
    floors = range(LEVELS - len(HEIGHTS), -1, -len(HEIGHTS))
    bars = [b"".join([_character(level - floor) for level in levels]) for floor in floors]
    labels = [_age(unix_s - sample.unix_s) for sample in samples]
    ages = [
        b"".join([label[position : position + 1] or SPACE for label in labels])
        for position in range(max([len(label) for label in labels]))
    ]
    return b"\n".join([*bars, SPACE * len(samples), *ages]) + b"\n"


def _character(height: int) -> bytes:
    if height < 0:
        return SPACE
    return HEIGHTS[height : height + 1] or BELOW_TOP


def _age(seconds: int) -> bytes:
    # The clock of the samples may be ahead of the asker's by a step.
    seconds = max(seconds, 0)
    if seconds < MINUTE_S:
        return b"%ds" % seconds
    if seconds < HOUR_S:
        return b"%dm" % (seconds // MINUTE_S)
    if seconds < DAY_S:
        return b"%dh" % (seconds // HOUR_S)
    return b"%dd" % (seconds // DAY_S)


def _diagnosis(event: bytes, series: Series, unix_s: int) -> bytes:
    count = len(series.samples)
    mean_ms = sum([sample.duration_ms for sample in series.samples]) // count
    return b"%b: %d %b, %d ms on average, %d ms at worst, the last one %b ago." % (
        event,
        count,
        b"spike" if count == 1 else b"spikes",
        mean_ms,
        series.highest_ms,
        _age(unix_s - series.samples[-1].unix_s),
    )
