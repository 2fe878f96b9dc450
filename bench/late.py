"""The time that a load on other CPUs adds to a program that has a CPU of its own: becalm and hyperfine.

    python bench/late.py
    python bench/late.py --repetitions 4 --runs 20

The program, the loop of the other benches, runs on the last CPU and notes how long its steps took. The tool that
measures it shares the other CPUs with as many processes that compute, or has them for itself. The measured time beyond
the program's own figure is its start and end, and the delay with which the tool saw the end; anything that disturbs the
program is in both figures. All arms run in random order in each repetition.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from campaign import OUT, Log, Record, becalm_command, describe, read_log, save, table, timed, versions, work_off
from loop import build

LATE_MS = 1.0
"""An end is seen late when so much more is measured than in the median run of that tool alone."""
WANTED_LATE = 0.01
"""The share of all runs that may be late next to the load."""
ALONGSIDE = {"alone": False, "alongside a load": True}


def becalm(runs: int, argv: Sequence[str], directory: Path, pin: Sequence[str]) -> list[float]:
    """Return times in ms by `becalm run`."""
    options = ["--json", "--runs", str(runs), "--warmup", "1", "--store", str(directory / "runs.db")]
    shown = json.loads(timed([*pin, *becalm_command(), "run", *options, "--", *argv]).stdout)["runs"]
    rows = [dict(zip(shown["columns"], row, strict=True)) for row in shown["rows"]]
    return [row["wall_ns"] / 1e6 for row in rows if row["round"] >= 0]


def hyperfine(runs: int, argv: Sequence[str], directory: Path, pin: Sequence[str]) -> list[float]:
    """Return times in ms by `hyperfine -N`."""
    export = directory / "hyperfine.json"
    options = ["-N", "--runs", str(runs), "--warmup", "1", "--export-json", str(export)]
    timed([*pin, "hyperfine", *options, shlex.join(argv)])
    return [1e3 * time for time in json.loads(export.read_text())["results"][0]["times"]]


TOOLS: Mapping[str, Callable[[int, Sequence[str], Path, Sequence[str]], list[float]]] = {
    "becalm": becalm,
    "hyperfine": hyperfine,
}


@contextmanager
def load(cpus: Sequence[int], wanted: bool) -> Iterator[None]:
    """Run one process that computes on each of these CPUs, if wanted."""
    compute = [sys.executable, "-c", "while True: sum(range(10_000))"]
    hogs = [subprocess.Popen(["taskset", "-c", str(cpu), *compute]) for cpu in (cpus if wanted else ())]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def trial(tool: str, alongside: str, chosen: argparse.Namespace, argv: Sequence[str], directory: Path) -> Record:
    """Measure one series of runs with one tool."""
    *others, last = sorted(os.sched_getaffinity(0))
    pin = ["taskset", "-c", ",".join(map(str, others))]
    own = directory / "own"
    own.unlink(missing_ok=True)
    with load(others, ALONGSIDE[alongside]):
        times = TOOLS[tool](chosen.runs, ["taskset", "-c", str(last), *argv, "to", str(own)], directory, pin)
    # Warm-up runs have a line each, too, and come first.
    took = [int(line) / 1e6 for line in own.read_text().split()][-len(times) :]
    return {"tool": tool, "alongside": alongside, "ms": times, "own_ms": took}


def beyond(rows: Sequence[Record], tool: str, alongside: str) -> list[float]:
    """Return the measured times beyond the program's own figure, in ms, of all runs."""
    chosen = [row for row in rows if (row["tool"], row["alongside"]) == (tool, alongside)]
    return [time - own for row in chosen for time, own in zip(row["ms"], row["own_ms"], strict=True)]


def late(rows: Sequence[Record], tool: str, alongside: str) -> int:
    """Count the ends that were seen late."""
    usual = statistics.median(beyond(rows, tool, next(iter(ALONGSIDE))))
    return sum(limit > usual + LATE_MS for limit in beyond(rows, tool, alongside))


def cells(rows: Sequence[Record], tool: str, alongside: str) -> list[str]:
    """Return the cells of a row of the table."""
    times = sorted(beyond(rows, tool, alongside))
    middle, most = statistics.median(times), times[-1]
    high = times[math.ceil(0.95 * len(times)) - 1]
    counted = f"{late(rows, tool, alongside)} of {len(times)}"
    return [tool, alongside, *(f"{value:.2f} ms" for value in (middle, high, most)), counted]


def report(result: Record) -> str:
    """Format the machine and the table as Markdown."""
    config = result["config"]
    head = (
        f"Machine: {describe(result['machine'])}. becalm {config['versions']['becalm']}, "
        f"hyperfine {config['versions']['hyperfine']}. "
        f"{config['repetitions']} series of {config['runs']} runs each.\n\n"
    )
    columns = ["Measured by", "", "Beyond its own time: median", "95 % below", "Most", f"Seen {LATE_MS:g} ms late"]
    return head + table(columns, [cells(result["rows"], tool, alongside) for tool in TOOLS for alongside in ALONGSIDE])


def judged(rows: Sequence[Record]) -> list[str]:
    """Report how many ends are seen late next to the load."""
    loaded = list(ALONGSIDE)[1]
    result = []
    for tool in TOOLS:
        share = late(rows, tool, loaded) / len(beyond(rows, tool, loaded))
        result.append(f"{tool}: {100 * share:.1f} % of the ends next to the load are seen late")
        if tool == "becalm":
            met = "met" if share <= WANTED_LATE else "not met"
            result[-1] += f", wanted at most {100 * WANTED_LATE:g} %: {met}"
    return result


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT / "late.json", help="trials go to the same name, .jsonl")
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.repetitions, chosen.runs, chosen.out = 1, 5, chosen.out.with_name("late-quick.json")
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit("This needs two CPUs: one for the program, and another one for who measures it.")
    config = {name: getattr(chosen, name) for name in ("repetitions", "runs", "seed")} | {"versions": versions()}
    log = Log(chosen.out.with_suffix(".jsonl"), config)
    rng = random.Random(f"late/{chosen.seed}")
    with tempfile.TemporaryDirectory(prefix="becalm-late-") as place:
        directory = Path(place)
        loop = build(directory)
        argv = loop.argv(loop.calibrate(0.02))
        todo = []
        for _ in range(chosen.repetitions):
            order = [(tool, alongside) for tool in TOOLS for alongside in ALONGSIDE]
            rng.shuffle(order)
            todo += [partial(trial, tool, alongside, chosen, argv, directory) for tool, alongside in order]
        todo = todo[len(log.records) :]
        work_off(todo, log, len(todo))
    header, records = read_log(chosen.out.with_suffix(".jsonl"))
    result = {**header, "rows": records}
    save(chosen.out, result)
    print(report(result))
    print("\n".join(["", *judged(records)]))


if __name__ == "__main__":
    main()
