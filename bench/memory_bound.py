"""Programs that slow each other down through the memory: does `compare --schedule auto` get a known difference right?

    python bench/memory_bound.py             33 comparisons of each of three pairs, about 10 minutes
    python bench/memory_bound.py --report

The pairs: two triads, two pointer chases, and a triad and a chase, which slow each other unequally when both run at
once. The second program takes a tenth more time than the first when each runs alone: its work is chosen so, by
executions in turn. Ctrl-C keeps everything finished; the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("python",))

from becalm.hosts.agent import agent_path
from campaign import OUT, Log, Record, becalm_command, conclude, describe, share, table, work_off
from gates import seconds
from tools import chosen_schedule

PAIRS = ("triads", "chases", "triad and chase")
TRIAD_WORK, CHASE_WORK = 50_000_000, 200_000
MORE = 1.1
LARGER = 1.5
"""The larger work of a calibration, in units of the smaller one."""
SIZES = {"triad": 24 << 20, "chase": 8 << 20}
Kernel = tuple[str, int]


def argv(kernel: Kernel) -> list[str]:
    """Return the command of a built-in program with a work."""
    name, work = kernel
    return [str(agent_path()), "kernel", name, "--size", str(SIZES[name]), "--work", str(work)]


def source(kernel: Kernel) -> str:
    """Return the program as becalm reads it."""
    name, work = kernel
    return f"kernel:{name}:size={SIZES[name]},work={work}"


def pairs(rounds: int) -> dict[str, tuple[Kernel, Kernel]]:
    """Return the programs of each pair: the second one's work is that with which it takes a tenth more time than the
    first, by executions of two works in turn, each alone."""
    works = {"triad": TRIAD_WORK, "chase": CHASE_WORK}
    programs = [(name, round(factor * work)) for name, work in works.items() for factor in (1, LARGER)]
    times: dict[Kernel, list[float]] = {program: [] for program in programs}
    for _ in range(rounds):
        for program in programs:
            times[program].append(seconds(argv(program)))
    medians = {program: statistics.median(own) for program, own in times.items()}

    def second(name: str, first: str) -> Kernel:
        """Return the kernel that takes a tenth more time than the first one with its work."""
        small, large = (medians[name, round(factor * works[name])] for factor in (1, LARGER))
        time_of_work = (large - small) / ((LARGER - 1) * works[name])
        return name, round(works[name] + (MORE * medians[first, works[first]] - small) / time_of_work)

    triad, chase = ("triad", TRIAD_WORK), ("chase", CHASE_WORK)
    return {
        "triads": (triad, second("triad", "triad")),
        "chases": (chase, second("chase", "chase")),
        "triad and chase": (triad, second("chase", "triad")),
    }


def trial(name: str, kernels: tuple[Kernel, Kernel], schedule: str, budget_s: float) -> Record:
    """Compare a pair."""
    words = ["compare", "--schedule", schedule, "--budget", f"{budget_s:g}s", "--no-store", "--json"]
    done = subprocess.run(
        [*becalm_command(), *words, *map(source, kernels)], capture_output=True, text=True, check=True
    )
    verdict = json.loads(done.stdout)
    (difference,) = verdict["differences"]
    return {
        "pair": name, "works": [work for _, work in kernels], "schedule": schedule,
        "estimate": difference["estimate"], "answer": difference["answer"],
        "pairs": difference["pairs"], "chosen": chosen_schedule(verdict["findings"]),
    }  # fmt: skip


def report(result: Record) -> str:
    """Return the machine and the table, for the documents."""
    rows = []
    for name in PAIRS:
        for schedule in ("turns", "auto"):
            own = [r for r in result["records"] if r["pair"] == name and r["schedule"] == schedule]
            if not own:
                continue
            answers, chosen = Counter(r["answer"] for r in own), Counter(r["chosen"] for r in own)
            rows.append([
                f"{name}, {schedule}",
                share(answers["slower"], len(own)),
                share(answers["faster"], len(own)),
                f"{100 * statistics.median(r['estimate'] for r in own):+.1f} %",
                ", ".join(f"{kind} {count}" for kind, count in chosen.most_common()),
            ])  # fmt: skip
    header = ["programs, `--schedule`", "right sign", "wrong sign", "median estimate", "ran"]
    return f"{describe(result['machine'])}\n\n{table(header, rows)}"


def is_bad(record: Record) -> bool:
    """Return whether the wrong program was called the slower one."""
    return bool(record["answer"] == "faster")


def schedule_of(index: int) -> str:
    """Return the schedule of a comparison of a pair: one in four in turns, to compare with."""
    return "turns" if index % 4 == 3 else "auto"


def go_on(log: Log, options: argparse.Namespace) -> None:
    """Do the comparisons that are left, in random order."""
    known = pairs(options.rounds)
    plan: Sequence[tuple[str, int]] = [(name, index) for name in PAIRS for index in range(options.trials)]
    plan = random.Random(1).sample(plan, len(plan))

    def trials() -> Iterator[Callable[[], Record]]:
        for name, index in plan[len(log.records) :]:
            yield partial(trial, name, known[name], schedule_of(index), options.seconds)

    work_off(trials(), log, len(plan) - len(log.records))


def main() -> int:
    """Run the command; the exit code is 1 when a sign was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT / "memory_bound.jsonl", help="the log, which goes on")
    parser.add_argument("--seconds", type=float, default=6.0, help="budget of a comparison")
    parser.add_argument("--trials", type=int, default=33, help="comparisons of each pair")
    parser.add_argument("--rounds", type=int, default=30, help="executions that choose the works")
    parser.add_argument("--quick", action="store_true", help="four comparisons of each pair, of half a second")
    parser.add_argument("--report", action="store_true", help="print the table only")
    options = parser.parse_args()
    if options.quick:
        options.out, options.trials = options.out.with_name("memory_bound-quick.jsonl"), 4
        options.seconds, options.rounds = 0.5, 10
    if not options.report:
        go_on(Log(options.out, {"trials": options.trials, "seconds": options.seconds}), options)
    return conclude(options.out, options.out.with_suffix(".json"), report, is_bad)


if __name__ == "__main__":
    sys.exit(main())
