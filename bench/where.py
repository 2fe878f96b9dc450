"""The function that became slower: `becalm compare --where` on programs with a planted slowdown, and on equal ones.

    python bench/where.py                    10 slowdowns and 100 equal pairs for each profiler; the next start goes on
    python bench/where.py --seconds 600      go on for ten minutes
    python bench/where.py --report           the table of what was done so far

A program has ten functions. In each of ten builds another one does so much more work that the whole takes 5 % longer.
The trials of both profilers are in random order; each is on disk when the next begins. Needs a C compiler, perf and
valgrind.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("python",))

from campaign import OUT, Log, Record, becalm_command, conclude, describe, share, table, work_off

FUNCTIONS = 10
WHOLE = 0.05
SOURCES = {"perf": ["--runs", "3"], "callgrind": ["--metric", "callgrind:instructions"]}
TURNS = {"perf": "3000", "callgrind": "100"}
EQUAL = -1


def more(function: int) -> int:
    """Return the percentage by which a function does more, so that the program takes WHOLE longer."""
    return round(100 * WHOLE * 100 / (19 - 2 * function))


def build(place: Path, function: int) -> str:
    """Return the program in which this function is slower, built once."""
    path = place / f"program{function}"
    if not path.exists():
        flags = [] if function == EQUAL else [f"-DSLOW={function}", f"-DMORE={more(function)}"]
        source = str(Path(__file__).with_name("functions.c"))
        subprocess.run(["cc", "-O1", *flags, "-o", str(path), source], check=True)
    return str(path)


def trial(source: str, function: int, place: Path) -> Record:
    """Compare the program with the one in which a function is slower, or with itself."""
    programs = [f"{build(place, which)} {TURNS[source]}" for which in (EQUAL, function)]
    words = ["compare", "--where", "--no-store", "--json", *SOURCES[source]]
    begun = time.monotonic()
    done = subprocess.run([*becalm_command(), *words, *programs], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"becalm compare ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    where = json.loads(done.stdout)["where"]
    named = [row["name"] for row in where["functions"] if row["named"]]
    return {
        "source": source, "used": where["source"], "function": function, "named": named, "runs": where["runs"],
        "share": next((row["share"] for row in where["functions"] if row["named"]), None),
        "wall_s": round(time.monotonic() - begun, 1),
    }  # fmt: skip


def is_right(record: Record) -> bool:
    """Return whether the planted function is named first, or none is where programs are equal."""
    if record["function"] == EQUAL:
        return not record["named"]
    return bool(record["named"][:1] == [f"work{record['function']}"])


def plan(equal: int, seed: int) -> list[tuple[str, int]]:
    """Return the profiler and the function of each trial, mixed."""
    cells = [(source, function) for source in SOURCES for function in (*range(FUNCTIONS), *[EQUAL] * equal)]
    random.Random(seed).shuffle(cells)
    return cells


def report(result: Record) -> str:
    """Return the machine and the table, for the documents."""
    rows = []
    for source in SOURCES:
        own = [record for record in result["records"] if record["source"] == source]
        equal = [record for record in own if record["function"] == EQUAL]
        slower = [record for record in own if record["function"] != EQUAL]
        others = sum(len(record["named"]) - is_right(record) for record in slower)
        rows.append([
            source, share(sum(map(is_right, slower)), len(slower)), str(others),
            share(sum(not is_right(record) for record in equal), len(equal)),
        ])  # fmt: skip
    head = ["profiler", "planted function named first", "other functions named", "equal programs: any named"]
    return f"{describe(result['machine'])}\n\n{table(head, rows)}"


def trials(log: Log, cells: Sequence[tuple[str, int]], place: Path, seconds: float) -> Iterator[Callable[[], Record]]:
    """Yield what is left to do, as long as there is time."""
    begun = time.monotonic()
    for source, function in cells[len(log.records) :]:
        if seconds and time.monotonic() - begun > seconds:
            return
        yield partial(trial, source, function, place)


def main() -> int:
    """Run the command; the exit code is 1 when a trial gave a wrong answer."""
    parser = argparse.ArgumentParser(description="Find planted slowdowns by becalm compare --where.")
    parser.add_argument("--out", type=Path, default=OUT / "where.jsonl", help="the log of trials, which goes on")
    parser.add_argument("--equal", type=int, default=100, help="equal pairs for each profiler")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0 is never")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one equal pair each: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table only")
    options = parser.parse_args()
    if options.quick:
        options.out, options.equal = options.out.with_name("where-quick.jsonl"), 1
    if not options.report:
        log, cells = Log(options.out, {"equal": options.equal, "seed": options.seed}), plan(options.equal, options.seed)
        with tempfile.TemporaryDirectory(prefix="becalm-where-") as directory:
            todo = trials(log, cells, Path(directory), options.seconds)
            work_off(todo, log, len(cells) - len(log.records))
    return conclude(options.out, options.out.with_suffix(".json"), report, lambda record: not is_right(record))


if __name__ == "__main__":
    sys.exit(main())
