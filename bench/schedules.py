"""The precision of a comparison in turns, at once, and by `--schedule auto`, for programs compared with themselves.

    python bench/schedules.py             four programs, twelve comparisons of each by each schedule
    python bench/schedules.py --report

The programs are a loop, gzip, sort and python, each for 4 s. All comparisons are in random order, so that slow changes
of the machine hit all alike. The truth is known to be no difference, so the spread of the estimates is their error.
Ctrl-C keeps everything finished; the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from campaign import OUT, Log, Record, becalm_command, conclude, describe, percent, share, table, work_off
from gates import STEPS, commands, quoted
from loop import build
from tools import chosen_schedule

PROGRAMS = ("loop", "gzip", "sort", "python")
SCHEDULES = ("turns", "at-once", "auto")
TO_DEVIATION = 1.4826
"""Standard deviations of a normal distribution in one median absolute deviation."""


def argv_of(name: str, place: Path) -> list[str]:
    """Return the command of a program, of 10 to 30 ms."""
    if name == "loop":
        return build(place).argv(STEPS)
    work, command = commands(place)[name]
    return command(work)


def trial(name: str, schedule: str, index: int, seconds: float, place: Path) -> Record:
    """Compare a program with itself."""
    program = quoted(argv_of(name, place))
    words = ["compare", "--schedule", schedule, "--budget", f"{seconds:g}s", "--precision", "0.0001%"]
    done = subprocess.run(
        [*becalm_command(), *words, "--no-store", "--json", program, program],
        capture_output=True, text=True, cwd=place, check=True,
    )  # fmt: skip
    verdict = json.loads(done.stdout)
    (difference,) = verdict["differences"]
    return {
        "program": name, "schedule": schedule, "index": index, "estimate": difference["estimate"],
        "answer": difference["answer"], "pairs": difference["pairs"],
        "standard_error": difference["standard_error"], "chosen": chosen_schedule(verdict["findings"]),
    }  # fmt: skip


def errors(records: Sequence[Record]) -> tuple[float, float]:
    """Return the robust standard deviation of the estimates around no difference, and the largest one."""
    sizes = [abs(math.log1p(record["estimate"])) for record in records]
    return TO_DEVIATION * statistics.median(sizes), max(sizes)


def report(result: Record) -> str:
    """Return the machine and the table, for the documents."""
    rows = []
    for name in PROGRAMS:
        own = [record for record in result["records"] if record["program"] == name]
        by_schedule = {kind: [r for r in own if r["schedule"] == kind] for kind in SCHEDULES}
        if not all(by_schedule.values()):
            continue
        error = {kind: errors(records) for kind, records in by_schedule.items()}
        chosen = Counter(record["chosen"] for record in by_schedule["auto"])
        called = [record["answer"] in ("slower", "faster") for record in own]
        rows.append([
            name,
            *(f"{percent(error[kind][0], 3)} ({percent(error[kind][1], 2)})" for kind in SCHEDULES),
            ", ".join(f"{kind} {count}" for kind, count in chosen.most_common()),
            share(sum(called), len(called)),
        ])  # fmt: skip
    header = ["Program", *(f"{kind}: error (largest)" for kind in SCHEDULES), "auto chose", "called different"]
    return f"{describe(result['machine'])}\n\n{table(header, rows)}"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT / "schedules.jsonl", help="the log, which goes on")
    parser.add_argument("--seconds", type=float, default=4.0, help="budget of a comparison")
    parser.add_argument("--trials", type=int, default=12, help="comparisons of each program by each schedule")
    parser.add_argument(
        "--quick", action="store_true", help="one comparison of half a second each: shows that it works"
    )
    parser.add_argument("--report", action="store_true", help="print the table only")
    options = parser.parse_args()
    if options.quick:
        options.out, options.trials, options.seconds = options.out.with_name("schedules-quick.jsonl"), 1, 0.5
    if not options.report:
        log = Log(options.out, {"trials": options.trials, "seconds": options.seconds})
        plan = [(name, kind, index) for name in PROGRAMS for kind in SCHEDULES for index in range(options.trials)]
        random.Random(1).shuffle(plan)

        def trials(place: Path) -> Iterator[Callable[[], Record]]:
            for name, kind, index in plan[len(log.records) :]:
                yield partial(trial, name, kind, index, options.seconds, place)

        with tempfile.TemporaryDirectory(prefix="becalm-schedules-") as directory:
            work_off(trials(Path(directory)), log, len(plan) - len(log.records))
    return conclude(options.out, options.out.with_suffix(".json"), report, lambda record: False)


if __name__ == "__main__":
    sys.exit(main())
