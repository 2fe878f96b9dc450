"""Are changes in a history of benchmarks found, and few that are none? Simulation with known truth.

    python bench/history.py                                            # a history of each kind, a minute
    python bench/history.py --histories 20 --document docs/explanation/statistics.md      # its table

A suite of 50 benchmarks is measured at each of 1,000 commits, a session of 15 runs each, 0.3 to 1 % from run to run.
The machines:

- "quiet": sessions scatter by 0.3 %;
- "noisy": by 0.2 to 0.5 %, and one in twenty values by five times as much;
- "drifting": benchmarks have a common random walk of 0.3 % a commit and a common daily wave of 1 %, to which they
  answer 0.7 to 1.3 times, and a wave of 0.2 % of their own;
- "both": noisy and drifting;
- "heavy tails": Student's t of 3 degrees of freedom times 0.15 to 0.3 %;
- "one-sided": 0.2 to 0.4 %, where 8 of 100 sessions are slower by more, exponentially distributed with six times that
  as mean. becalm's rule assumes neither this nor heavy tails;
- "moving": a project in which every commit changes every benchmark, by Student's t of 3 degrees of freedom times 0.3 to
  0.8 times the scatter of sessions, which is 0.5 to 1.5 % and also Student's. These are the increments and the noise of
  CPython's main branch (bench/replay.py). An alarm is right there when its commit and the five on both sides of it
  moved the benchmark by at least a third of what it reports.

Each machine also has histories in which every benchmark becomes 2 % slower or faster, three times at random commits.

The other methods: Student's t of the 10 sessions before against the 3 after, p < 0.05 and p < 0.001; E-divisive means
(Matteson & James 2014, J. Am. Stat. Assoc. 109:334) in windows of 50 sessions with the settings of MongoDB's and
DataStax' tools (permutations, p < 0.05); and benchstat's rule, Mann-Whitney's U of a commit's runs against those of the
one before, p < 0.05. An alarm that lies at most 3 commits from a true change is right.

The limit is the share that no rule with a given rate of false alarms can exceed. A rule that knows the level, the noise
of each benchmark and the size of the change, and only decides whether it was there, decides best by the ratio of
likelihoods (Neyman & Pearson 1933). Alarms with the first, second and third session are three chances. There is no
drift, since it could be known exactly. Values are drawn with a change, and weighted by the inverse of that ratio for
those without.

Young histories have 100 commits and 1, 2 or 8 benchmarks, of which one becomes 5 or 20 % slower at commit 10, 18 or 25.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtr

from becalm.stats.change_points import change_points
from fill import put

Floats = npt.NDArray[np.float64]
COMMITS, SUITE, RUNS = 1_000, 50, 15
SIZE, TIMES, NEAR, AROUND = 0.02, 3, 3, 5
WITHIN = (0.003, 0.01)
YOUNG, YOUNG_SIZES, EARLY = 100, (0.05, 0.20), (10, 18, 25)
FEW = (1, 2, 8)
USUAL = ("quiet", "noisy", "drifting", "both")
MACHINES = (*USUAL, "heavy tails", "one-sided", "moving")
WINDOW = 50
PERMUTATIONS = 99


@dataclass(frozen=True, slots=True)
class Alarm:
    """A change that a method names: its benchmark, where it lies, and the session with which it was seen."""

    benchmark: int
    at: int
    seen: int
    size: float


@dataclass(frozen=True, slots=True)
class History:
    """Logarithms of sessions' medians, shape (commits, benchmarks), and of their runs, (commits, benchmarks, runs).

    `steps`: commits and sizes of true changes of each benchmark. `moved`: by how much each commit moved each benchmark
    next to that, shape (commits, benchmarks).
    """

    values: Floats
    runs: Floats
    steps: tuple[tuple[tuple[int, float], ...], ...]
    moved: Floats

    def right(self, alarm: Alarm) -> list[int]:
        """Return the true changes that an alarm names; where it names a move of the commits around, its own place."""
        if alarm.benchmark < 0:
            return []
        steps = self.steps[alarm.benchmark]
        named = [at for at, size in steps if abs(at - alarm.at) <= NEAR and size * alarm.size > 0]
        around = self.moved[max(0, alarm.at - AROUND) : alarm.at + AROUND + 1, alarm.benchmark]
        return named or [-1] * (float(around.sum()) / alarm.size >= 1 / 3)


def history(
    rng: np.random.Generator, machine: str, commits: int, *, changing: bool, benchmarks: int = SUITE
) -> History:
    """Simulate one history of a machine of this kind."""
    moved = np.zeros((commits, benchmarks))
    noisy, drifting = machine in ("noisy", "both"), machine in ("drifting", "both")
    scale = rng.uniform(0.002, 0.005, benchmarks) if noisy else np.full(benchmarks, 0.003)
    if machine == "heavy tails":
        y = rng.uniform(0.0015, 0.003, benchmarks) * rng.standard_t(3, (commits, benchmarks))
    elif machine == "moving":
        scale = rng.uniform(0.005, 0.015, benchmarks)
        moved = rng.uniform(0.3, 0.8, benchmarks) * scale * rng.standard_t(3, (commits, benchmarks)) / math.sqrt(3)
        y = scale * rng.standard_t(5, (commits, benchmarks)) / math.sqrt(5 / 3) + np.cumsum(moved, axis=0)
    elif machine == "one-sided":
        worse = np.where(rng.random((commits, benchmarks)) < 0.08, rng.exponential(6.0, (commits, benchmarks)), 0.0)
        y = rng.uniform(0.002, 0.004, benchmarks) * (rng.standard_normal((commits, benchmarks)) + worse)
    else:
        y = scale * rng.standard_normal((commits, benchmarks))
    if noisy:
        y *= np.where(rng.random(y.shape) < 0.05, 5.0, 1.0)
    if drifting:
        when = np.arange(commits)[:, None]
        shared = np.cumsum(0.003 * rng.standard_normal((commits, 1)), axis=0) + 0.01 * np.sin(2 * math.pi * when / 24)
        phase, period = rng.uniform(0, 2 * math.pi, benchmarks), rng.uniform(30, 100, benchmarks)
        y += shared * rng.uniform(0.7, 1.3, benchmarks) + 0.002 * np.sin(2 * math.pi * when / period + phase)
    steps = [_steps(rng, commits) if changing else () for _ in range(benchmarks)]
    for i, own in enumerate(steps):
        for at, size in own:
            y[at:, i] += size
    within = rng.uniform(*WITHIN, benchmarks)[:, None] * rng.standard_normal((commits, benchmarks, RUNS))
    runs = y[:, :, None] + within
    return History(np.median(runs, axis=2), runs, tuple(steps), moved)


def _steps(rng: np.random.Generator, commits: int) -> tuple[tuple[int, float], ...]:
    """Draw the changes of one benchmark, far from both ends and from each other."""
    places = np.linspace(60, commits - 20, TIMES + 1)
    starts = [int(rng.integers(round(a), max(round(a) + 1, round(b) - 30))) for a, b in pairwise(places)]
    return tuple((at, float(rng.choice((-1, 1))) * math.log1p(SIZE)) for at in starts)


def ours(past: History) -> list[Alarm]:
    """Return the alarms of `becalm history`."""
    return [
        Alarm(change.series, change.at, change.detected_at, change.size)
        for change in change_points(past.values).changes
    ]


def rolling(level: float) -> Callable[[History], list[Alarm]]:
    """Return a method: Student's t of the three newest sessions against the ten before. After an alarm it waits until
    those are new."""

    def method(past: History) -> list[Alarm]:
        y, before, after = past.values, 10, 3
        alarms = []
        for i in range(y.shape[1]):
            first = 0
            for end in range(before + after, len(y) + 1):
                at = end - after
                if at - first < before:
                    continue
                left, right = y[at - before : at, i], y[at:end, i]
                freedom = before + after - 2
                pooled = (left.var() * before + right.var() * after) / freedom
                step = float(right.mean() - left.mean())
                t = abs(step) / math.sqrt(pooled * (1 / before + 1 / after))
                if 2 * float(stdtr(freedom, -t)) < level:
                    alarms.append(Alarm(i, at, end - 1, step))
                    first = at
        return alarms

    return method


def benchstat(past: History) -> list[Alarm]:
    """Return the alarms of Mann-Whitney's U of each commit's runs against those of the commit before."""
    runs = past.runs
    greater = (runs[1:, :, :, None] > runs[:-1, :, None, :]).sum(axis=(2, 3))
    z = (np.abs(greater - RUNS * RUNS / 2) - 0.5) / math.sqrt(RUNS * RUNS * (2 * RUNS + 1) / 12)
    rows, columns = np.nonzero(2 * ndtr(-z) < 0.05)
    step = np.diff(np.median(runs, axis=2), axis=0)
    return [
        Alarm(int(i), int(row) + 1, int(row) + 1, float(step[row, i])) for row, i in zip(rows, columns, strict=True)
    ]


def divisive(past: History) -> list[Alarm]:
    """Return the alarms of E-divisive means of the newest 50 sessions, looked at with every tenth session, as a nightly
    job does."""
    rng = np.random.default_rng(1)
    alarms = []
    for i in range(past.values.shape[1]):
        known: set[int] = set()
        for end in range(WINDOW, len(past.values) + 1, 10):
            window = past.values[end - WINDOW : end, i]
            for at in _divided(rng, window, 0):
                place = end - WINDOW + at
                if not any(abs(place - other) <= NEAR for other in known):
                    known.add(place)
                    size = float(past.values[place:end, i].mean() - past.values[end - WINDOW : place, i].mean())
                    alarms.append(Alarm(i, place, end - 1, size))
    return alarms


def _divided(rng: np.random.Generator, values: Floats, offset: int) -> list[int]:
    """Return where a series is divided: where the energy statistic is largest, if permuted series seldom have one as
    large."""
    if len(values) < 10:
        return []
    at, energy = _energy(values[None])
    shuffled = rng.permuted(np.broadcast_to(values, (PERMUTATIONS, len(values))), axis=1)
    _, others = _energy(shuffled)
    if (1 + (others >= energy[0]).sum()) / (1 + PERMUTATIONS) >= 0.05:
        return []
    place = int(at[0])
    return [*_divided(rng, values[:place], offset), offset + place, *_divided(rng, values[place:], offset + place)]


def _energy(series: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the best division of each series and its statistic Q (Matteson & James, equation 7, alpha = 1), five a
    side."""
    n = series.shape[1]
    distance = np.abs(series[:, :, None] - series[:, None, :])
    block = np.zeros((len(series), n + 1, n + 1))
    block[:, 1:, 1:] = distance.cumsum(axis=1).cumsum(axis=2)
    cuts = np.arange(5, n - 4)
    left, total = block[:, cuts, cuts], block[:, n, n][:, None]
    across = block[:, cuts, n] - left
    right = total - left - 2 * across
    m, k = cuts.astype(float), (n - cuts).astype(float)
    q = m * k / (m + k) * (2 * across / (m * k) - left / (m * (m - 1)) - right / (k * (k - 1)))
    best = q.argmax(axis=1)
    return cuts[best], q[np.arange(len(q)), best]


def first(past: History, benchmarks: int) -> History:
    """Return some benchmarks of a history, for methods that take long and look at each by itself."""
    return History(
        past.values[:, :benchmarks], past.runs[:, :benchmarks], past.steps[:benchmarks], past.moved[:, :benchmarks]
    )


METHODS: Sequence[tuple[str, Callable[[History], list[Alarm]]]] = (
    ("becalm", ours),
    ("rolling t, 0.05", rolling(0.05)),
    ("rolling t, 0.001", rolling(0.001)),
    ("E-divisive means", divisive),
    ("benchstat's rule", benchstat),
)


@dataclass(slots=True)
class Tally:
    """The counts over histories: commits, false alarms, true changes, those found, those in time, how late and how
    large."""

    commits: float = 0
    false: int = 0
    true: int = 0
    hits: int = 0
    in_time: int = 0
    delays: list[int] | None = None
    sizes: list[float] | None = None

    def add(self, past: History, alarms: Sequence[Alarm]) -> None:
        """Add one history and its alarms."""
        self.delays, self.sizes = self.delays or [], self.sizes or []
        self.commits += len(past.values) * past.values.shape[1] / SUITE
        right: dict[tuple[int, int], Alarm] = {}
        for report in sorted(alarms, key=lambda alarm: alarm.seen):
            true = past.right(report)
            if not true:
                self.false += 1
            elif true[0] >= 0:
                right.setdefault((report.benchmark, true[0]), report)
        for i, steps in enumerate(past.steps):
            for at, size in steps:
                self.true += 1
                if (alarm := right.get((i, at))) is not None:
                    delay = alarm.seen - at + 1
                    self.hits += 1
                    self.in_time += delay <= NEAR
                    self.delays.append(delay)
                    self.sizes.append(alarm.size / size * SIZE)

    def row(self) -> str:
        """Return the cells of a row of the table."""
        false = f"{1000 * self.false / self.commits:.3g}"
        if not self.true:
            return f"{false} | | | |"
        middle = f"{float(np.median(self.delays)):g}" if self.delays else "-"
        size = f"{100 * float(np.mean(self.sizes)):.2f} %" if self.sizes else "-"
        return (
            f"{false} | {100 * self.hits / self.true:.1f} % | {100 * self.in_time / self.true:.1f} % | {middle} | "
            f"{size} |"
        )


def table(histories: int, commits: int, seed: int, names: Sequence[str] = ()) -> str:
    """Return the table as Markdown. Peers are tried on a fifth of the histories, E-divisive means on five benchmarks:
    they alarm often."""
    lines = [
        "| machine | changes | method | false alarms in 1,000 commits | found | within 3 commits | median delay | "
        "mean size |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for machine in MACHINES:
        for changing in (False, True):
            tallies = {name: Tally() for name, _ in METHODS if not names or name in names}
            for number in range(histories):
                rng = np.random.default_rng([seed, MACHINES.index(machine), changing, number])
                past = history(rng, machine, commits, changing=changing)
                for name, method in METHODS:
                    if name in tallies and (method is ours or number < max(1, histories // 5)):
                        part = past if method is not divisive else first(past, SUITE // 10)
                        tallies[name].add(part, method(part))
            what = "2 %" if changing else "none"
            lines += [f"| {machine} | {what} | {name} | {tally.row()}" for name, tally in tallies.items()]
    return "\n".join(lines)


def young(histories: int, seed: int) -> str:
    """Return as Markdown whether and when a step among the first sessions of few benchmarks is found, and the false
    alarms."""
    lines = [
        "| machine | benchmarks | false alarms in 1,000 commits | "
        + " | ".join(f"{100 * size:.0f} % at commit {at}: found, seen at" for size in YOUNG_SIZES for at in EARLY)
        + " |",
        "| --- | --- | --- |" + " --- |" * len(EARLY) * len(YOUNG_SIZES),
    ]
    for machine in MACHINES:
        for benchmarks in FEW:
            false, cells = 0, []
            for size, at in [(0.0, 0), *((size, at) for size in YOUNG_SIZES for at in EARLY)]:
                seen = []
                for number in range(histories):
                    rng = np.random.default_rng([seed, MACHINES.index(machine), benchmarks, at, number])
                    past = history(rng, machine, YOUNG, changing=False, benchmarks=benchmarks)
                    past.values[at:, 0] += math.log1p(size)
                    for alarm in ours(past):
                        if size and alarm.benchmark == 0 and abs(alarm.at - at) <= NEAR:
                            seen.append(alarm.seen + 1)
                        elif not past.right(alarm):
                            false += 1
                if size:
                    when = f", {float(np.median(seen)):g}" if seen else ""
                    cells.append(f"{100 * len(seen) / histories:.0f} %{when}")
            rate = 1000 * false / (histories * YOUNG * (1 + len(EARLY) * len(YOUNG_SIZES)))
            lines.append(f"| {machine} | {benchmarks} | {rate:.3g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def limit(rng: np.random.Generator, noisy: bool, sessions: int, false: float, draws: int) -> float:
    """Return the largest share of changes that can be found with this number of sessions at this rate of false alarms
    per commit."""
    scale = rng.uniform(0.002, 0.005, draws) if noisy else np.full(draws, 0.003)
    # The median of 15 normal values has 1.2533 times the standard error of their mean.
    within = rng.uniform(*WITHIN, draws) * 1.2533 / math.sqrt(RUNS)
    stray = np.where(rng.random((draws, sessions)) < (0.05 if noisy else 0.0), 5.0, 1.0)
    values = math.log1p(SIZE) + np.hypot(stray * scale[:, None], within[:, None]) * rng.standard_normal(stray.shape)

    def likelihood(level: float) -> Floats:
        parts = [
            math.log(share) - 0.5 * ((values - level) / sd[:, None]) ** 2 - np.log(sd)[:, None]
            for share, sd in (
                ((0.95, np.hypot(scale, within)), (0.05, np.hypot(5 * scale, within)))
                if noisy
                else ((1.0, np.hypot(scale, within)),)
            )
        ]
        whole: Floats = np.logaddexp.reduce(parts).sum(axis=1)
        return whole

    up, down = likelihood(math.log1p(SIZE)), likelihood(-math.log1p(SIZE))
    ratio = np.sort(np.logaddexp(up, down) - math.log(2) - likelihood(0))[::-1]
    # Either sign is as likely, and a test that is as good for both does not tell them apart.
    chance = np.cumsum(np.exp(-ratio)) / draws
    return int(np.searchsorted(chance, sessions * false / SUITE)) / draws


def limits(seed: int, draws: int) -> str:
    """Return as Markdown the limit after one to six sessions."""
    looks = (1, 2, 3, 4, 6)
    heads = " | ".join(f"{look} session{'s' * (look > 1)}" for look in looks)
    lines = [f"| sessions | false alarms in 1,000 commits | {heads} |", "| --- | --- |" + " --- |" * len(looks)]
    for name, noisy in (("quiet", False), ("noisy", True)):
        for false in (1e-3, 5e-4):
            rng = np.random.default_rng([seed, noisy])
            cells = [f"{100 * limit(rng, noisy, look, false, draws):.1f} %" for look in looks]
            lines.append(f"| {name} | {1000 * false:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and write it into a document on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], help="only this method")
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the table there, between its marks")
    chosen = parser.parse_args()
    text = table(1, 160, chosen.seed) if chosen.quick else table(chosen.histories, COMMITS, chosen.seed, chosen.only)
    early = young(1 if chosen.quick else max(5, chosen.histories), chosen.seed)
    least = limits(chosen.seed, 20_000 if chosen.quick else 500_000)
    print(f"{text}\n\n{least}\n\n{early}")
    if chosen.document is not None:
        put(chosen.document, "history", text)
        put(chosen.document, "history_limit", least)
        put(chosen.document, "history_young", early)


if __name__ == "__main__":
    main()
