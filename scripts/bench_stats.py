"""What the benchmark's samples mean: rows, budgets, medians, the table and the JSON document.

Everything here is pure. A row is measured in pairs (ours, then the reference, or the other way
round), and the ratio is taken inside each pair before the median is taken over the pairs: a machine
that slows down for a minute slows both halves of a pair, so the quotient stays honest when the
absolute figures do not.

A worst case has no median: rows with `worst=True` are judged by their largest sample.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

__all__ = [
    "ROWS",
    "Judgement",
    "Row",
    "Samples",
    "document",
    "judge",
    "median",
    "percentile",
    "row_named",
    "table",
]

# Raised when the shape of the JSON document changes, so that readers can tell.
DOCUMENT_FORMAT: Final = 1


@dataclass(frozen=True)
class Row:
    """One line of the report and the budget it is judged by."""

    name: str
    title: str
    unit: str
    budget_interpreted: float
    budget_compiled: float
    needs: tuple[str, ...] = ()
    is_ratio: bool = True
    at_least: bool = True
    worst: bool = False

    def budget(self, *, compiled: bool) -> float:
        return self.budget_compiled if compiled else self.budget_interpreted


_BENCHMARK: Final = ("redis-server", "redis-benchmark")

ROWS: Final = (
    Row("add", "ADDJOB / RPUSH, no pipeline", "ops/s", 0.65, 0.95, _BENCHMARK),
    Row("add16", "ADDJOB / RPUSH, pipeline 16", "ops/s", 0.20, 0.45, _BENCHMARK),
    Row("get", "GETJOB / LPOP, no pipeline", "ops/s", 0.85, 1.00, _BENCHMARK),
    Row("get16", "GETJOB / LPOP, pipeline 16", "ops/s", 0.40, 0.70, _BENCHMARK),
    Row("ack", "ACKJOB / LPOP, pipeline 16", "ops/s", 0.25, 0.50, ("redis-server",)),
    Row("memory", "memory per job", "B", 900, 550, is_ratio=False, at_least=False),
    Row("alive", "jobs alive / empty server", "ops/s", 0.85, 0.85),
    Row("pause", "worst pause", "ms", 50, 20, is_ratio=False, at_least=False, worst=True),
)


@dataclass
class Samples:
    """The raw figures of a row; `reference` is redis-server unless the row says otherwise."""

    ours: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)
    reference_name: str = "redis"
    notes: list[str] = field(default_factory=list)
    details: dict[str, list[float]] = field(default_factory=dict)

    def ratios(self) -> list[float]:
        return [ours / other for ours, other in zip(self.ours, self.reference, strict=True)]

    def detail(self, name: str, value: float) -> None:
        self.details.setdefault(name, []).append(value)


@dataclass(frozen=True)
class Judgement:
    """A row with its samples, reduced to the figure the budget speaks of."""

    row: Row
    samples: Samples
    value: float
    low: float
    high: float
    budget: float
    reached: bool


def row_named(name: str) -> Row:
    """Find a row by its short name; `KeyError` says that there is none."""
    for row in ROWS:
        if row.name == name:
            return row
    raise KeyError(name)


def median(values: Sequence[float]) -> float:
    """Take the middle value, or the mean of the two middle ones."""
    assert values, "a median needs at least one value"
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Take the nearest-rank percentile of values that are already sorted."""
    assert ordered, "a percentile needs at least one value"
    assert 0 <= percent <= 100, "percent is between 0 and 100"
    # Rounded first, so that 99.9 % of 1000 is rank 999 and not 1000 by a binary fraction's grace.
    rank = math.ceil(round(len(ordered) * percent / 100, 9))
    return ordered[max(rank, 1) - 1]


def judge(row: Row, samples: Samples, *, compiled: bool) -> Judgement:
    """Reduce the samples of a row to one figure and hold it against the budget."""
    figures = samples.ratios() if row.is_ratio else samples.ours
    value = max(figures) if row.worst else median(figures)
    budget = row.budget(compiled=compiled)
    reached = value >= budget if row.at_least else value <= budget
    return Judgement(row, samples, value, min(figures), max(figures), budget, reached)


HEADINGS: Final = ("row", "what", "ours", "reference", "value", "spread", "budget", "reached")


def table(judgements: Sequence[Judgement]) -> str:
    """Lay the report out in columns, notes below the row they belong to."""
    lines = [list(HEADINGS), *(_cells(judgement) for judgement in judgements)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    text = [_laid_out(lines[0], widths), "  ".join("-" * width for width in widths)]
    for judgement, line in zip(judgements, lines[1:], strict=True):
        text.append(_laid_out(line, widths))
        text.extend(f"        {note}" for note in judgement.samples.notes)
    return "\n".join(text)


def document(
    judgements: Sequence[Judgement],
    *,
    taken_at: str,
    core_build: str,
    column: str,
    machine: dict[str, str | int | float],
    options: dict[str, str | int | bool],
    skipped: dict[str, str],
) -> dict[str, object]:
    """Say everything that was measured, every raw sample included, in plain JSON types."""
    return {
        "format": DOCUMENT_FORMAT,
        "taken_at": taken_at,
        "core_build": core_build,
        "budget_column": column,
        "machine": machine,
        "options": options,
        "skipped": skipped,
        "rows": [_row_document(judgement) for judgement in judgements],
    }


def _row_document(judgement: Judgement) -> dict[str, object]:
    row, samples = judgement.row, judgement.samples
    return {
        "name": row.name,
        "title": row.title,
        "unit": row.unit,
        "value": judgement.value,
        "value_is": "ratio" if row.is_ratio else row.unit,
        "spread": [judgement.low, judgement.high],
        "budget": judgement.budget,
        "budget_is": "at least" if row.at_least else "at most",
        "reached": judgement.reached,
        "reference_name": samples.reference_name,
        "ours": samples.ours,
        "reference": samples.reference,
        "ratios": samples.ratios() if row.is_ratio else [],
        "details": samples.details,
        "notes": samples.notes,
    }


def _cells(judgement: Judgement) -> list[str]:
    row, samples = judgement.row, judgement.samples
    reduce = max if row.worst else median
    reference = "-"
    if samples.reference:
        reference = f"{_figure(reduce(samples.reference), row.unit)} ({samples.reference_name})"
    unit = "" if row.is_ratio else f" {row.unit}"
    return [
        row.name,
        row.title,
        f"{_figure(reduce(samples.ours), row.unit)} {row.unit}",
        reference,
        _value(judgement.value, row) + unit,
        f"{_value(judgement.low, row)}..{_value(judgement.high, row)}",
        f"{'>=' if row.at_least else '<='} {_value(judgement.budget, row)}{unit}",
        "yes" if judgement.reached else "NO",
    ]


def _figure(number: float, unit: str) -> str:
    return f"{number:.1f}" if unit == "ms" else f"{number:,.0f}"


def _value(number: float, row: Row) -> str:
    return f"{number:.2f}" if row.is_ratio else _figure(number, row.unit)


def _laid_out(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
