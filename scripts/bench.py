"""Measure our server against redis-server in one run and hold the ratios against the budgets.

    make bench                                   everything, five pairs, a million jobs
    make bench ARGS="--quick --rows add16,ack"   a smoke run of two rows
    make bench ARGS="--profile add16"            where the time of a row goes
    make bench ARGS="--million"                  a million jobs in and out, nothing lost

The report goes to standard output, progress to standard error and every raw sample to a JSON file.
The result is a report, so a missed budget does not fail the run unless --strict asks for that; a
row that could not be measured does. docs/internals/performance.md says how to read it.
"""

import argparse
import dataclasses
import gc
import json
import pstats
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

# Started by its path, Python looks for modules beside this file only.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench_load import BenchError
from scripts.bench_million import lines_of, run_million
from scripts.bench_rows import FULL, QUICK, Plan, groups, measure, trial_of_ours
from scripts.bench_servers import ROOT, machine_facts, missing_programs, our_server
from scripts.bench_stats import ROWS, Judgement, document, judge, row_named, table

PROFILE_LINES: Final = 25
ROW_NAMES: Final = tuple(row.name for row in ROWS)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    # The generator makes no cycles; a collection would be a pause of ours charged to the server.
    gc.disable()
    try:
        if options.profile:
            return profile(options.profile, plan_of(options))
        if options.million:
            return million(plan_of(options).jobs_alive, json_path_of(options))
        return compare(options)
    except BenchError as error:
        say(f"stopped: {error}")
        return 1


class Options(argparse.Namespace):
    """What was asked for on the command line."""

    rows: list[str]
    pairs: int | None
    quick: bool
    compiled: bool
    strict: bool
    million: bool
    profile: str | None
    json_path: Path | None


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="bench", description="Measure against redis-server, as ratios in one run."
    )
    every = ",".join(ROW_NAMES)
    parser.add_argument(
        "--rows", type=_row_names, default=list(ROW_NAMES), help=f"rows to measure: {every}"
    )
    parser.add_argument("--pairs", type=_pairs, help="alternating pairs per row (5, quick: 3)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: less of everything")
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="judge by the compiled budgets even if the server says it is interpreted",
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 if a budget is missed")
    parser.add_argument(
        "--json", type=Path, dest="json_path", help="where the samples go (build/bench.json)"
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--profile", metavar="ROW", choices=ROW_NAMES, help="profile the server during one row"
    )
    modes.add_argument(
        "--million", action="store_true", help="add and drain a million jobs and check them"
    )
    return parser.parse_args(arguments, namespace=Options())


def json_path_of(options: Options) -> Path:
    """Decide where the samples go."""
    name = "million.json" if options.million else "bench.json"
    return options.json_path or ROOT / "build" / name


def plan_of(options: Options) -> Plan:
    """Decide how much to measure."""
    plan = QUICK if options.quick else FULL
    return plan if options.pairs is None else dataclasses.replace(plan, pairs=options.pairs)


def compare(options: Options) -> int:
    """Measure the rows, print the table, write the samples."""
    taken_at = datetime.now(UTC).isoformat(timespec="seconds")
    machine = machine_facts()
    core_build = _core_build()
    compiled = options.compiled or core_build == "compiled"
    names, skipped = runnable(options.rows, missing_programs(("redis-server", "redis-benchmark")))
    judgements, failed = _measure_all(names, plan_of(options), compiled=compiled)
    column = "compiled" if compiled else "interpreted"
    facts = document(
        judgements,
        taken_at=taken_at,
        core_build=core_build,
        column=column,
        machine=machine,
        options={"quick": options.quick, "pairs": plan_of(options).pairs},
        skipped=skipped | failed,
    )
    _write(json_path_of(options), facts)
    print(f"core: {core_build}; budgets: {column}; {plan_of(options).pairs} alternating pairs")
    if judgements:
        print(table(judgements))
    for line in closing_lines(judgements, skipped, failed):
        print(line)
    missed = [judgement.row.name for judgement in judgements if not judgement.reached]
    # A smoke run decides nothing, so it explains nothing.
    if not options.quick:
        _explain(missed, plan_of(options))
    return 1 if failed or (options.strict and missed) else 0


def runnable(rows: Sequence[str], missing: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Split the rows into those that can be measured here and those that need a missing program."""
    skipped: dict[str, str] = {}
    for name in rows:
        lacking = [program for program in row_named(name).needs if program in missing]
        if lacking:
            skipped[name] = f"{' and '.join(lacking)} not installed"
    return [name for name in rows if name not in skipped], skipped


def closing_lines(
    judgements: Sequence[Judgement], skipped: dict[str, str], failed: dict[str, str]
) -> list[str]:
    """Say what was left out, what failed, and what to look at next."""
    lines: list[str] = []
    if skipped:
        rows = ", ".join(skipped)
        lines.append(
            f"Not measured, because redis-server or redis-benchmark is missing: {rows}; "
            "`apt-get install redis` brings both."
        )
    lines.extend(f"Row {name} could not be measured: {why}." for name, why in failed.items())
    lines.extend(
        f"Row {judgement.row.name} misses its budget; --profile {judgement.row.name} shows why."
        for judgement in judgements
        if not judgement.reached and judgement.row.name != "memory"
    )
    return lines


def profile(name: str, plan: Plan) -> int:
    """Run our half of a row under cProfile and print what took the time."""
    _, skipped = runnable([name], missing_programs(("redis-benchmark",)))
    if skipped:
        print("\n".join(closing_lines([], skipped, {})))
        return 0
    with tempfile.TemporaryDirectory(prefix="disque-bench-") as directory:
        path = Path(directory) / "profile"
        with our_server(str(path)) as server:
            if server.info("stats").get("core_build") == "compiled":
                say("the core is compiled: cProfile sees only the parts that are not")
            trial_of_ours(name, plan, server, say)
        if not path.exists():
            raise BenchError("the server left no profile; it has to end by itself on SIGTERM")
        print(f"row {name}, top {PROFILE_LINES} by own time (cProfile slows Python code down)")
        pstats.Stats(str(path)).strip_dirs().sort_stats("tottime").print_stats(PROFILE_LINES)
    return 0


def million(jobs: int, path: Path) -> int:
    """Put many numbered jobs in and take them out again."""
    with our_server() as server:
        result = run_million(server, jobs, say)
    _write(path, {"machine": machine_facts(), "million": result.document()})
    print(lines_of(result))
    return 0


def say(sentence: str) -> None:
    """Report progress."""
    print(sentence, file=sys.stderr, flush=True)


def _explain(missed: Sequence[str], plan: Plan) -> None:
    """Show where the time of each row goes that was too slow."""
    for name in missed:
        if name != "memory":
            print(flush=True)
            profile(name, plan)


def _measure_all(
    names: Sequence[str], plan: Plan, *, compiled: bool
) -> tuple[list[Judgement], dict[str, str]]:
    judgements: dict[str, Judgement] = {}
    failed: dict[str, str] = {}
    for group in groups(names):
        try:
            for name, samples in measure(group, plan, say):
                judgements[name] = judge(row_named(name), samples, compiled=compiled)
        except (BenchError, OSError) as error:
            say(f"{', '.join(group)}: {error}")
            failed.update({name: str(error) for name in group if name not in judgements})
    return list(judgements.values()), failed


def _core_build() -> str:
    with our_server() as server:
        return server.info("stats").get("core_build", "interpreted")


def _write(path: Path, facts: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=2) + "\n")
    say(f"samples written to {path}")


def _row_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in ROW_NAMES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"no row is called {', '.join(unknown) or 'nothing'}; rows are {', '.join(ROW_NAMES)}"
        )
    # The report keeps the order of the budgets, however the rows were asked for.
    return [name for name in ROW_NAMES if name in names]


def _pairs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("pairs must be a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
