"""What a load on other CPUs adds to the times of a program that has a CPU of its own: becalm and hyperfine.

    python bench/late.py
    python bench/late.py --repetitions 4 --runs 20

The program, the loop of the other benches, runs at the last CPU. Whoever measures it shares the others with as many
processes that compute, or has them for itself. So the program is disturbed by nobody, and a measured time that grows
says when its end was seen, not when it was. All arms in random order in each repetition.
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

LATE = 1.1
"""A run that takes so many times as long as the median one of its series."""
WANTED_MORE = 0.02
"""So many more runs of all may be late beside the load: a fiftieth."""
BESIDE = {"alone": False, "beside a load": True}


def becalm(runs: int, argv: Sequence[str], directory: Path, pin: Sequence[str]) -> list[float]:
    """Times in ms by `becalm run`."""
    options = ["--json", "--runs", str(runs), "--warmup", "1", "--store", str(directory / "runs.db")]
    shown = json.loads(timed([*pin, *becalm_command(), "run", *options, "--", *argv]).stdout)["runs"]
    rows = [dict(zip(shown["columns"], row, strict=True)) for row in shown["rows"]]
    return [row["wall_ns"] / 1e6 for row in rows if row["round"] >= 0]


def hyperfine(runs: int, argv: Sequence[str], directory: Path, pin: Sequence[str]) -> list[float]:
    """Times in ms by `hyperfine -N`."""
    export = directory / "hyperfine.json"
    options = ["-N", "--runs", str(runs), "--warmup", "1", "--export-json", str(export)]
    timed([*pin, "hyperfine", *options, shlex.join(argv)])
    return [1e3 * each for each in json.loads(export.read_text())["results"][0]["times"]]


TOOLS: Mapping[str, Callable[[int, Sequence[str], Path, Sequence[str]], list[float]]] = {
    "becalm": becalm,
    "hyperfine": hyperfine,
}


@contextmanager
def load(cpus: Sequence[int], wanted: bool) -> Iterator[None]:
    """One process that computes at each of these CPUs, where that is wanted."""
    compute = [sys.executable, "-c", "while True: sum(range(10_000))"]
    hogs = [subprocess.Popen(["taskset", "-c", str(cpu), *compute]) for cpu in (cpus if wanted else ())]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def trial(tool: str, beside: str, chosen: argparse.Namespace, argv: Sequence[str], directory: Path) -> Record:
    """One series of runs of one tool."""
    *others, last = sorted(os.sched_getaffinity(0))
    pin = ["taskset", "-c", ",".join(map(str, others))]
    with load(others, BESIDE[beside]):
        times = TOOLS[tool](chosen.runs, ["taskset", "-c", str(last), *argv], directory, pin)
    return {"tool": tool, "beside": beside, "ms": times}


def spread(series: Sequence[Sequence[float]]) -> float:
    """Standard deviation within series over the mean, of all of them: the root of the mean squared variation."""
    return math.sqrt(statistics.fmean((statistics.stdev(each) / statistics.fmean(each)) ** 2 for each in series))


def late(series: Sequence[Sequence[float]]) -> int:
    """How many runs take much longer than the median one of their series."""
    return sum(time > LATE * statistics.median(each) for each in series for time in each)


def arms(rows: Sequence[Record]) -> Iterator[tuple[str, str, list[list[float]]]]:
    """The series of each tool, alone and beside the load."""
    for tool in TOOLS:
        for beside in BESIDE:
            if found := [row["ms"] for row in rows if (row["tool"], row["beside"]) == (tool, beside)]:
                yield tool, beside, found


def cells(tool: str, beside: str, series: list[list[float]]) -> list[str]:
    """A row of the table."""
    spreads = sorted(100 * spread([each]) for each in series)
    every = [time for each in series for time in each]
    middle = f"{100 * spread(series):.2f} ({spreads[0]:.2f} to {spreads[-1]:.2f}) %"
    return [tool, beside, f"{statistics.median(every):.2f} ms", middle, f"{late(series)} of {len(every)}"]


def report(result: Record) -> str:
    """Markdown: the machine and the table."""
    config = result["config"]
    head = (
        f"Machine: {describe(result['machine'])}. becalm {config['versions']['becalm']}, "
        f"hyperfine {config['versions']['hyperfine']}. {config['repetitions']} series of {config['runs']} runs each; "
        "of the spread the least and largest of a series in brackets.\n\n"
    )
    columns = ["Measured by", "", "Median", "Spread", f"Runs above {LATE:g} times the median"]
    return head + table(columns, [cells(*arm) for arm in arms(result["rows"])])


def judged(rows: Sequence[Record]) -> list[str]:
    """How many more runs are late beside the load. Spreads say more of the host, whose bursts hit few runs hard."""
    shares = {(tool, beside): late(series) / sum(len(each) for each in series) for tool, beside, series in arms(rows)}
    alone, loaded = BESIDE
    found = []
    for tool in TOOLS:
        before, after = shares[tool, alone], shares[tool, loaded]
        found.append(f"{tool}: {100 * after:.1f} % of the runs are late beside the load, {100 * before:.1f} % alone")
        if tool == "becalm":
            met = after - before <= WANTED_MORE
            found[-1] += f", wanted at most {100 * WANTED_MORE:g} points more: {'met' if met else 'not met'}"
    return found


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
            order = [(tool, beside) for tool in TOOLS for beside in BESIDE]
            rng.shuffle(order)
            todo += [partial(trial, tool, beside, chosen, argv, directory) for tool, beside in order]
        todo = todo[len(log.records) :]
        work_off(todo, log, len(todo))
    header, records = read_log(chosen.out.with_suffix(".jsonl"))
    result = {**header, "rows": records}
    save(chosen.out, result)
    print(report(result))
    print("\n".join(["", *judged(records)]))


if __name__ == "__main__":
    main()
