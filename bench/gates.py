"""Gates in a pipeline: `becalm check` on builds that are identical and on builds that truly differ.

    python bench/gates.py                    1,000 checks; the next start goes on
    python bench/gates.py --seconds 600      go on for ten minutes
    python bench/gates.py --report           the tables of what was done so far

A gate has a limit of 2, 0.5 or 0.2 %. Half of the checks compare a program with itself; in the others the new one does
more work. The loop takes 1.5 times the limit longer, by its number of steps. Before gzip, sort, python, cc and sqlite
that loop runs, with no steps before the old build and, before the new one, with as many as take twice the limit of the
program's time. (What a longer input adds is not known as exactly.) Half of the checks run alone, half next to two busy
processes. All are in random order; each is on disk when the next begins.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("python",))

from campaign import OUT, Log, Record, becalm_command, conclude, describe, share, table, work_off
from loop import GRAIN, Loop, build

LIMITS = (0.02, 0.005, 0.002)
BUDGET_S = 60
WITHIN, ABOVE, UNDECIDED = 0, 1, 5
"""Exit codes of `becalm check`."""

LOOP_TIMES, PROGRAM_TIMES = 1.5, 2.0
"""Differences in limits: the loop's is exact, those of real programs follow from a calibration."""

STEPS = 30_000 * GRAIN

STEPS_FIRST = '"$0" "$1" && shift && exec "$@"'
"""A shell's program: the loop with its steps, then the program whose arguments follow."""

Argv = list[str]


@dataclass(frozen=True)
class Program:
    """A program that can do more work: `command` makes a number of steps of the loop, too; all of it takes the time of
    `steps` of them."""

    name: str
    own_steps: int
    command: Callable[[int], Argv]
    steps: float

    def builds(self, difference: float) -> tuple[Argv, Argv]:
        """Return the commands before and after a change of this size, a fraction of the time."""
        return self.command(self.own_steps), self.command(self.own_steps + round(self.steps * difference))


def text_of(place: Path, name: str, lines: int) -> str:
    """Return a file with a number of lines, made once."""
    path = place / f"{name}-{lines}"
    if not path.exists():
        draw = random.Random(1)
        path.write_text("".join(f"{draw.random():.12f} {draw.randrange(10**6)} line of text\n" for _ in range(lines)))
    return str(path)


def functions_of(place: Path, number: int) -> str:
    """Return a C file with a number of functions, made once."""
    path = place / f"functions-{number}.c"
    if not path.exists():
        path.write_text("".join(
            f"int f{i}(int x) {{ for (int j = 0; j < x; j++) x += j * {i} % 7; return x; }}\n" for i in range(number)
        ))  # fmt: skip
    return str(path)


ROWS = "import sqlite3; d = sqlite3.connect(':memory:'); d.execute('create table t (a, b)'); "
INSERT = "d.executemany('insert into t values (?, ?)', ((i * 7919 % 10007, i) for i in range({}))); "
SUM = "d.execute('select a, sum(b) from t group by a order by 2').fetchall()"


def commands(place: Path) -> dict[str, tuple[int, Callable[[int], Argv]]]:
    """Return the real programs: their usual work and the command for any."""
    python = [sys.executable, "-S", "-c"]
    return {
        "gzip": (12_000, lambda work: ["gzip", "-c", text_of(place, "text", work)]),
        "sort": (30_000, lambda work: ["sort", text_of(place, "text", work)]),
        "python": (800_000, lambda work: [*python, f"for _ in range({work}): pass"]),
        "cc": (60, lambda work: ["cc", "-O1", "-c", "-o", "/dev/null", functions_of(place, work)]),
        "sqlite": (20_000, lambda work: [*python, ROWS + INSERT.format(work) + SUM]),
    }


def seconds(argv: Argv) -> float:
    """Return the wall time of one execution."""
    begun = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def steps_of(argv: Argv, loop: Loop, rounds: int) -> float:
    """Return how many steps of the loop take as long as a program, by timing it and two loops in turn."""
    ratios = []
    for _ in range(rounds):
        whole, none, some = (seconds(timed) for timed in (argv, loop.argv(0), loop.argv(STEPS)))
        ratios.append(whole / (some - none))
    return statistics.median(ratios) * STEPS


def with_steps(loop: Loop, argv: Argv, steps: int) -> Argv:
    """Return a command that makes steps of the loop before it becomes the program."""
    return ["sh", "-c", STEPS_FIRST, *loop.argv(steps), *argv]


def programs(place: Path, rounds: int) -> list[Program]:
    """Return the loop and the real programs, calibrated."""
    loop = build(place)
    loop.check(STEPS)
    result = [Program("loop", STEPS, loop.argv, STEPS)]
    for name, (work, command) in commands(place).items():
        delayed = partial(with_steps, loop, command(work))
        result.append(Program(name, 0, delayed, steps_of(delayed(0), loop, rounds)))
    return result


@contextlib.contextmanager
def neighbours(number: int) -> Iterator[None]:
    """Keep processes busy."""
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def trial(number: int, program: Program, limit: float, busy: bool, differs: bool, place: Path, budget_s: int) -> Record:
    """Run one check."""
    times = LOOP_TIMES if program.name == "loop" else PROGRAM_TIMES
    difference = times * limit if differs else 0.0
    builds = program.builds(difference)
    words = ["check", "--fail-above", f"{100 * limit:g}%", "--budget", f"{budget_s}s", "--no-store", "--json"]
    with neighbours(2 * busy):
        begun = time.monotonic()
        done = subprocess.run(
            [*becalm_command(), *words, *map(quoted, builds)], capture_output=True, text=True, cwd=place
        )
    wall_s = time.monotonic() - begun
    if done.returncode not in (WITHIN, ABOVE, UNDECIDED):
        raise SystemExit(f"becalm check ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    (row,) = json.loads(done.stdout)["checks"]
    return {
        "number": number, "program": program.name, "limit": limit, "busy": busy, "difference": difference,
        "code": done.returncode, "wall_s": wall_s, "estimate": row["difference"]["estimate"],
        "pairs": row["difference"]["pairs"], "load": round(os.getloadavg()[0], 2),
    }  # fmt: skip


def quoted(argv: Argv) -> str:
    """Return a command as becalm reads it."""
    return shlex.join(argv)


def schedule(names: Sequence[str], checks: int, seed: int) -> list[tuple[str, float, bool, bool]]:
    """Return the program, limit, neighbours and whether builds differ of each check: all equally often, mixed."""
    cells = [(name, limit, busy, differs) for name in names for limit in LIMITS for busy in (False, True)
             for differs in (False, True)]  # fmt: skip
    draw = random.Random(seed)
    draw.shuffle(cells)
    plan = [cells[place % len(cells)] for place in range(checks)]
    draw.shuffle(plan)
    return plan


def summary(records: Sequence[Record]) -> str:
    """Return the table: a row for each limit, alone and next to busy processes, and one for all."""
    rows = []
    for limit in (*LIMITS, None):
        for busy in (False, True) if limit is not None else (None,):
            own = [r for r in records if limit in (None, r["limit"]) and busy in (None, r["busy"])]
            same, other = [r for r in own if not r["difference"]], [r for r in own if r["difference"]]
            decided_s = [r["wall_s"] for r in own if r["code"] != UNDECIDED]
            where = {None: "both", False: "alone", True: "next to two busy processes"}[busy]
            rows.append([
                f"{100 * limit:g} %, {where}" if limit is not None else "all",
                share(sum(r["code"] == ABOVE for r in same), len(same)),
                share(sum(r["code"] == ABOVE for r in other), len(other)),
                share(sum(r["code"] == WITHIN for r in other), len(other)),
                share(sum(r["code"] == UNDECIDED for r in own), len(own)),
                f"{statistics.median(decided_s):.1f} s" if decided_s else "",
            ])  # fmt: skip
    header = ["limit", "identical: alarms", "different: found", "different: passed", "undecided", "until decided"]
    return table(header, rows)


def by_program(records: Sequence[Record]) -> str:
    """Return the table of programs."""
    rows = []
    for name in dict.fromkeys(r["program"] for r in records):
        own = [r for r in records if r["program"] == name]
        same, other = [r for r in own if not r["difference"]], [r for r in own if r["difference"]]
        rows.append([
            name, str(len(own)), str(sum(r["code"] == ABOVE for r in same)), share(
                sum(r["code"] == ABOVE for r in other), len(other)), share(
                sum(r["code"] == UNDECIDED for r in own), len(own)),
        ])  # fmt: skip
    return table(["program", "checks", "identical: alarms", "different: found", "undecided"], rows)


def report(result: Record) -> str:
    """Return the machine and the tables, for the documents."""
    records = result["records"]
    return f"{describe(result['machine'])}\n\n{summary(records)}\n\n{by_program(records)}"


def is_bad(record: Record) -> bool:
    """Return whether a check gave a wrong answer."""
    return bool(record["code"] == (WITHIN if record["difference"] else ABOVE))


def go_on(log: Log, options: argparse.Namespace) -> None:
    """Do what is left of the checks, as long as there is time."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="becalm-gates-") as directory:
        place = Path(directory)
        known = {program.name: program for program in programs(place, options.rounds)}
        plan = schedule(list(known), options.checks, options.seed)

        def trials() -> Iterator[Callable[[], Record]]:
            for number in range(len(log.records), options.checks):
                if options.seconds and time.monotonic() - begun > options.seconds:
                    return
                name, limit, busy, differs = plan[number]
                yield partial(trial, number, known[name], limit, busy, differs, place, options.budget)

        work_off(trials(), log, options.checks - len(log.records))


def main() -> int:
    """Run the command; the exit code is 1 when a check gave a wrong answer."""
    parser = argparse.ArgumentParser(description="Run becalm check on identical and on different builds.")
    parser.add_argument("--out", type=Path, default=OUT / "gates.jsonl", help="the log of checks, which goes on")
    parser.add_argument("--checks", type=int, default=1_000)
    parser.add_argument("--budget", type=int, default=BUDGET_S, help="seconds for one check at most")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0 is never")
    parser.add_argument("--rounds", type=int, default=40, help="executions that calibrate a program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a dozen checks of 3 s: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the tables only")
    options = parser.parse_args()
    if options.quick:
        options.out, options.checks, options.budget = options.out.with_name("gates-quick.jsonl"), 12, 3
        options.rounds = 5
    if not options.report:
        go_on(Log(options.out, {"seed": options.seed, "checks": options.checks, "budget": options.budget}), options)
    return conclude(options.out, options.out.with_suffix(".json"), report, is_bad)


if __name__ == "__main__":
    sys.exit(main())
