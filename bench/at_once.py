"""Does it help to run both programs at the same time, and how often is the answer wrong? By simulation.

    python bench/at_once.py                 # 40 comparisons in each world, some minutes
    python bench/at_once.py --seeds 400     # the tables of docs/explanation/statistics.md

A world is two CPUs with noise: noise that both share at the same time, noise of each CPU by itself, and the influence
of the programs on each other. Two programs of 10 ms are compared for 4 s by each of the three schedules, with looks as
`compare` takes them. Needs no machine to be quiet.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from becalm.analysis.compare import LOOK_GROWTH
from becalm.analysis.schedules import RepeatedSchedules
from becalm.nouns.run import Block, Run, Start
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.groups import Groups
from becalm.plans.history import History
from becalm.plans.schedule import Schedule
from becalm.stats.paired import PairedEstimate
from coverage import table
from fill import put

ALPHA = 0.05
RUN_NS = 10_000_000
BETWEEN_NS = 300_000
BUDGET_NS = 4_000_000_000


@dataclass(frozen=True, slots=True)
class World:
    """The noise of a machine, in log units of a time.

    `shared`, `own`: standard deviations of white noise that both CPUs have in common at the same moment, and that each
    has by itself. `swing`: of a common movement with a memory of 0.5 s. `slower`: of the second CPU. `bursts`: share of
    time in which the second CPU alone is 20 % slower, for 0.1 s each. `rougher`: factor on `own` while both run.
    `slowed`: of each program, alongside the other.
    `ratio`: true difference of each program from the one before it.
    """

    shared: float = 0.0
    own: float = 0.01
    swing: float = 0.0
    slower: float = 0.0
    bursts: float = 0.0
    rougher: float = 1.0
    slowed: tuple[float, float] = (0.0, 0.0)
    ratio: float = 0.0


WORLDS: Mapping[str, World] = {
    "separate noise": World(),
    "half of it shared": World(shared=0.007, own=0.007),
    "shared noise": World(shared=0.01, own=0.0015),
    "shared swing": World(own=0.002, swing=0.02),
    "one CPU 5 % slower": World(shared=0.01, own=0.003, slower=0.05),
    "bursts on one CPU": World(shared=0.01, own=0.003, bursts=0.1),
    "noisier at once": World(own=0.003, rougher=4.0),
    "some bursts, no shared noise": World(own=0.003, bursts=0.1),
}
"""Worlds without interference, where a difference of 0 is true for all schedules."""

DISTURBED: Mapping[str, World] = {
    "both slowed by 5 %": World(shared=0.01, own=0.003, slowed=(0.05, 0.05)),
    "one slowed by 3 %, truth −1 %": World(shared=0.01, own=0.003, slowed=(0.0, 0.03), ratio=-0.01),
    "one slowed by 1 %, truth −0.5 %": World(shared=0.01, own=0.003, slowed=(0.0, 0.01), ratio=-0.005),
    "one slowed by 0.3 %, truth −0.5 %": World(shared=0.01, own=0.003, slowed=(0.0, 0.003), ratio=-0.005),
}
"""Worlds in which at once is another question than in turns."""


class Machine:
    """A simulated machine that runs blocks, with a clock of its own."""

    def __init__(self, world: World, seed: Sequence[int]) -> None:
        self.world = world
        self.now_ns = 0
        self._rng = np.random.default_rng(seed)
        self._swing, self._cpu = 0.0, 0
        self._burst_until = 0

    def run(self, block: Block, first: int) -> list[Run]:
        """Return the rows of a block, of which steps without a CPU run where the kernel had the last one, mostly."""
        rows, starts = [], block.starts or [Start(self._kernels()) for _ in block.steps]
        together = False
        ends: list[int] = []
        for index, (step, (cpu, with_next)) in enumerate(zip(block.steps, starts, strict=True)):
            if not together:
                shared = self._common()
            alongside = together or with_next
            level = shared + self._alone(cpu, alongside) + self.world.ratio * step.workload
            if alongside and step.workload < len(self.world.slowed):
                level += self.world.slowed[step.workload]
            wall_ns = round(RUN_NS * math.exp(level))
            rows.append(_row(first + index, step.workload, step.round, self.now_ns, wall_ns))
            ends.append(self.now_ns + wall_ns)
            together = with_next
            if not together:
                self.now_ns, ends = max(ends) + BETWEEN_NS, []
        return rows

    def _common(self) -> float:
        world, passed = self.world, (RUN_NS + BETWEEN_NS) / 5e8
        stays = math.exp(-passed)
        self._swing = stays * self._swing + math.sqrt(1 - stays**2) * self._rng.standard_normal()
        if self._rng.random() < world.bursts * RUN_NS / 1e8:
            self._burst_until = self.now_ns + 100_000_000
        return world.shared * self._rng.standard_normal() + world.swing * self._swing

    def _kernels(self) -> int:
        if self._rng.random() < 0.05:
            self._cpu = 1 - self._cpu
        return self._cpu

    def _alone(self, cpu: int, alongside: bool) -> float:
        world = self.world
        burst = 0.2 if cpu and self.now_ns < self._burst_until else 0.0
        return (
            world.own * (world.rougher if alongside else 1.0) * self._rng.standard_normal() + cpu * world.slower + burst
        )


def _row(seq: int, workload: int, number: int, started_ns: int, wall_ns: int) -> Run:
    unknown = (None,) * 8
    return Run(seq, workload, 0, number, 0, started_ns, wall_ns, *unknown, "ok", 0, 0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A simulated comparison: whether any look and the last one excluded the truth, the last estimate, and whether
    most of it ran at once in the end."""

    missed: bool
    missed_last: bool
    last: PairedEstimate
    at_once: bool


def compare(world: World, schedule: Schedule, seed: Sequence[int], budget_ns: int = BUDGET_NS) -> Outcome:
    """Compare the programs as `compare` does, to the end of the budget."""
    machine, goal = Machine(world, seed), StoppingRule(budget_ns=budget_ns)
    groups = Groups(schedule, (0, 1), np.random.default_rng([*seed, 1]))
    history, watcher = History(2), RepeatedSchedules(ALPHA, groups)
    missed, looked, last = False, 0, None
    while True:
        exhausted = goal.exhausted(history)
        if history.rounds and (exhausted or history.rounds >= max(looked + 1, math.ceil(looked * LOOK_GROWTH))):
            looked = history.rounds
            last = watcher.look(history, goal.fraction(history))
            outside = last.low > world.ratio or last.high < world.ratio
            missed |= outside
            if exhausted:
                return Outcome(missed, outside, last, groups.choice.better is Schedule.AT_ONCE)
        history.extend(machine.run(groups.block(history, goal), history.next_seq))


def comparisons(world: World, schedule: Schedule, seeds: int, stream: int) -> list[Outcome]:
    """Return many comparisons in one world."""
    return [compare(world, schedule, (stream, seed)) for seed in range(seeds)]


def _percent(events: Sequence[bool]) -> str:
    return f"{100 * sum(events) / len(events):.1f} %"


def _small(value: float) -> str:
    return f"{100 * value:.3f} %"


def error_of(outcomes: Sequence[Outcome], truth: float) -> float:
    """Return the root of the mean square error of the estimates."""
    return math.sqrt(float(np.mean([(outcome.last.estimate - truth) ** 2 for outcome in outcomes])))


def half_width(outcomes: Sequence[Outcome]) -> float:
    """Return the median of half the width of the intervals."""
    return float(np.median([(outcome.last.high - outcome.last.low) / 2 for outcome in outcomes]))


def row_of(name: str, world: World, seeds: int, stream: int) -> list[str]:
    """Return what the three schedules tell of equal programs in one world."""
    schedules = Schedule.TURNS, Schedule.AT_ONCE, Schedule.AUTO
    results = {schedule: comparisons(world, schedule, seeds, stream) for schedule in schedules}
    cells = [name]
    cells += [_percent([outcome.missed for outcome in outcomes]) for outcomes in results.values()]
    cells += [_small(error_of(outcomes, world.ratio)) for outcomes in results.values()]
    cells += [_small(half_width(outcomes)) for outcomes in results.values()]
    return [*cells, _percent([outcome.at_once for outcome in results[Schedule.AUTO]])]


def disturbed_row(name: str, world: World, seeds: int, stream: int) -> list[str]:
    """Return what is said where programs disturb each other."""
    cells = [name]
    for schedule in (Schedule.AT_ONCE, Schedule.AUTO):
        outcomes = comparisons(world, schedule, seeds, stream)
        wrong = [outcome.last.low > 0 > world.ratio or outcome.last.high < 0 < world.ratio for outcome in outcomes]
        estimate = float(np.median([outcome.last.estimate for outcome in outcomes]))
        missed = _percent([outcome.missed_last for outcome in outcomes])
        cells += [f"{100 * estimate:+.2f} %", missed, _percent(wrong)]
    return [*cells, _percent([not outcome.at_once for outcome in outcomes])]


HEADER = (
    *("Machine", "turns: called", "at once: called", "auto: called"),
    *("turns: error", "at once: error", "auto: error"),
    *("turns: half width", "at once: half width", "auto: half width", "auto chose at once"),
)
DISTURBED_HEADER = (
    *("Machine", "at once: estimate", "at once: missed", "at once: wrong sign"),
    *("auto: estimate", "auto: missed", "auto: wrong sign", "auto chose turns"),
)


def main() -> None:
    """Print the tables, and put them into a document where that is schedule for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40, help="comparisons in each world")
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the tables there, between their marks")
    options = parser.parse_args()
    seeds = 2 if options.quick else options.seeds
    with ProcessPoolExecutor() as pool:
        equal = [pool.submit(row_of, *world, seeds, stream) for stream, world in enumerate(WORLDS.items())]
        others = enumerate(DISTURBED.items(), len(WORLDS))
        disturbed = [pool.submit(disturbed_row, *world, seeds, stream) for stream, world in others]
        tables = {
            "at_once": table(HEADER, [row.result() for row in equal]),
            "at_once_disturbed": table(DISTURBED_HEADER, [row.result() for row in disturbed]),
        }
    print(f"Equal programs, {seeds} comparisons in each world.\n\n{tables['at_once']}\n")
    print(f"Programs that disturb each other.\n\n{tables['at_once_disturbed']}")
    if options.document is not None:
        for name, body in tables.items():
            put(options.document, name, body)


if __name__ == "__main__":
    main()
