"""What becalm itself costs in two checkouts, interleaved: starting, one run, each further run, a million runs.

    python tools/costs.py OLD NEW                  # everything, ten rounds
    python tools/costs.py --rounds 20 --only version,run,overhead OLD NEW
    python tools/costs.py --million OLD NEW        # also a million runs, on the host null, three rounds

Each round does each task once in each checkout, in random order. Counted are the CPU time of the command with all its
children (`wait4`), which other programs disturb little, and its wall time; of a million runs the peak memory too. The
ratio is the median of the ratios within rounds, with the interval of that median (order statistics, binomial, 95 %).
Both checkouts must be built (`make build`: the agent lies in `python/becalm`); this Python runs both.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

MANY = 500
"""Runs of the longer of the two commands between which a run's cost is the slope."""


@dataclass(frozen=True)
class Cost:
    """Of one command: CPU time of it and its children, wall time, peak memory of the largest of them."""

    cpu_s: float
    wall_s: float
    peak_bytes: int

    def per(self, other: Cost, runs: int) -> Cost:
        """The slope from a command of fewer runs to this one."""
        return Cost((self.cpu_s - other.cpu_s) / runs, (self.wall_s - other.wall_s) / runs, self.peak_bytes)


def command(tree: Path, *words: str) -> Cost:
    """What `becalm WORDS` of a checkout costs. Raises SystemExit with its last words when it fails."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryFile() as said:
        environment = {
            **os.environ,
            "PYTHONPATH": str(tree / "python"),
            "PYTHONDONTWRITEBYTECODE": "",
            "BECALM_STORE": f"{directory}/runs.db",
            "XDG_STATE_HOME": directory,
        }
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "becalm", *words], env=environment, cwd=directory, stdout=said, stderr=said
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{tree}: becalm {' '.join(words)}: {said.read().decode(errors='replace')[-600:]}")
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024)


def runs_of(tree: Path, runs: int) -> Cost:
    """A measurement of /bin/true, kept."""
    return command(tree, "run", "--quiet", "--runs", str(runs), "--", "/bin/true")


TASKS: dict[str, Callable[[Path], Cost]] = {
    "version": lambda tree: command(tree, "--version"),
    "help": lambda tree: command(tree, "compare", "--help"),
    "run": lambda tree: runs_of(tree, 1),
    "compare": lambda tree: command(tree, "compare", "--quiet", "--runs", "2", "/bin/true", "/bin/true"),
    "overhead": lambda tree: runs_of(tree, MANY + 10).per(runs_of(tree, 10), MANY),
}
"""Names to what is done once a round."""

MILLION = "million"


def million(tree: Path) -> Cost:
    """A comparison of a million runs on a host that runs nothing."""
    words = ("--host", "null", "--runs", "500000", "--warmup", "0", "--no-load", "--seed", "1", "--quiet")
    return command(tree, "compare", *words, "one", "two")


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, and its 95 % interval by order statistics; the extremes where there are too few for one."""
    ordered, count = sorted(values), len(values)
    rank, below = 0, 0.5**count
    while rank + 1 < count / 2 and below + math.comb(count, rank + 1) * 0.5**count <= 0.025:
        rank += 1
        below += math.comb(count, rank) * 0.5**count
    return statistics.median(ordered), ordered[rank], ordered[-1 - rank]


def shown(seconds: float) -> str:
    """A time in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def line(name: str, what: str, old: Sequence[float], new: Sequence[float], word: Callable[[float], str]) -> str:
    """One row of the table."""
    ratio, low, high = interval([after / before for before, after in zip(old, new, strict=True)])
    ends = [f"{word(statistics.median(each))} ({word(min(each))} to {word(max(each))})" for each in (old, new)]
    return f"| {name} | {what} | {ends[0]} | {ends[1]} | {ratio:.3f} ({low:.3f} to {high:.3f}) |"


def rows(name: str, measured: Sequence[tuple[Cost, Cost]]) -> Iterable[str]:
    """The table of one task."""
    old, new = zip(*measured, strict=True)
    for what in ("cpu", "wall"):
        before, after = ([getattr(each, f"{what}_s") for each in side] for side in (old, new))
        yield line(name, what, before, after, shown)
    if name == MILLION:
        before, after = ([each.peak_bytes for each in side] for side in (old, new))
        yield line(name, "peak", before, after, lambda size: f"{size / 1e6:.0f} MB")


def main() -> None:
    """Measure and print, a task at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default=",".join(TASKS), help="tasks, separated by commas")
    parser.add_argument("--million", action="store_true", help="also a million runs, which takes minutes")
    chosen = parser.parse_args()
    trees = (chosen.old.resolve(), chosen.new.resolve())
    tasks = {name: (TASKS[name], chosen.rounds) for name in chosen.only.split(",") if name}
    if chosen.million:
        tasks[MILLION] = (million, min(3, chosen.rounds))
    for tree in trees:
        command(tree, "compare", "--quiet", "--runs", "2", "/bin/true", "/bin/true")  # Compiles what is not yet.
    print(f"Load when it began: {os.getloadavg()[0]:.2f} on {os.cpu_count()} CPUs.\n")
    print("| task | counted | old: median (least to most) | new | new over old |\n| --- | --- | --- | --- | --- |")
    for name, (task, rounds) in tasks.items():
        measured = []
        for _ in range(rounds):
            order = random.sample(range(2), 2)
            found = {side: task(trees[side]) for side in order}
            measured.append((found[0], found[1]))
        print("\n".join(rows(name, measured)), flush=True)
    print(f"\nLoad when it ended: {os.getloadavg()[0]:.2f}.")


if __name__ == "__main__":
    main()
