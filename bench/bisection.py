"""Does a bisection of 1,000 commits with noise find the right one, and with how many runs? Simulation with known truth.

    python bench/bisection.py                                        # 100 searches of each kind, a minute
    python bench/bisection.py --searches 400 --document docs/how-to/bisect.md        # its table

One of 1,000 commits makes a program 2 % slower. Runs vary by 1 or 2 %, normally, or with one run in twenty five times
as far off. A plain search is compared with becalm's. It halves the commits in ten steps, and measures each commit with
the same number of interleaved pairs of the good commit and the candidate. It compares their difference with half of
that between good and bad, which it measures with four times as many pairs. The table has the smallest number of pairs
with which the plain search is right as often as becalm's.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from becalm.plans.bisection import Bisection, Done
from becalm.stats.ancestry import Ancestry
from fill import put

COMMITS, SIZE = 1_000, math.log1p(0.02)
KINDS = ((0.01, False), (0.01, True), (0.02, False), (0.02, True))
WANTED = 0.95


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one search: whether it found the right commit, the number of runs, and the number of builds."""

    right: bool
    runs: int
    builds: int


def differences(rng: np.random.Generator, count: int, sd: float, *, tails: bool, behind: bool) -> list[float]:
    """Draw the logarithms of a candidate's times minus those of the good commit's, measured in turns."""
    noise = sd * rng.standard_normal((2, count))
    if tails:
        noise *= np.where(rng.random(noise.shape) < 0.05, 5.0, 1.0)
    return [float(value) for value in noise[0] - noise[1] + (SIZE if behind else 0.0)]


def ours(rng: np.random.Generator, sd: float, *, tails: bool, commits: int = COMMITS) -> Outcome:
    """Search as `becalm bisect` does."""
    first_bad = int(rng.integers(1, commits + 1))
    search, pairs = Bisection(Ancestry.line(commits), most=400), 0
    while not isinstance(step := search.step(), Done):
        search.built.add(step.place)
        search.take(step.place, differences(rng, step.count, sd, tails=tails, behind=step.place >= first_bad))
        pairs += step.count
    return Outcome(step.suspects == (first_bad,), 2 * pairs, len(search.built) + 1)


def plain(rng: np.random.Generator, sd: float, count: int, *, tails: bool, commits: int = COMMITS) -> Outcome:
    """Search by halving, with the same number of pairs at each step."""
    first_bad = int(rng.integers(1, commits + 1))
    half = float(np.mean(differences(rng, 4 * count, sd, tails=tails, behind=True))) / 2
    low, high, pairs, builds = 0, commits, 4 * count, 2
    while high - low > 1:
        middle = (low + high) // 2
        mean_difference = float(np.mean(differences(rng, count, sd, tails=tails, behind=middle >= first_bad)))
        low, high = (low, middle) if mean_difference > half else (middle, high)
        pairs, builds = pairs + count, builds + 1
    return Outcome(high == first_bad, 2 * pairs, builds)


def row(name: str, outcomes: list[Outcome]) -> str:
    """Return the cells of a row of the table."""
    right = sum(outcome.right for outcome in outcomes) / len(outcomes)
    runs = [outcome.runs for outcome in outcomes]
    builds = float(np.mean([outcome.builds for outcome in outcomes]))
    return f"{name} | {100 * right:.1f} % | {np.mean(runs):.0f} | {np.quantile(runs, 0.9):.0f} | {builds:.0f} |"


def table(searches: int, seed: int) -> str:
    """Return the table as Markdown."""
    lines = [
        "| runs vary by | search | right commit | runs on average | in 9 of 10 at most | builds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for number, (sd, tails) in enumerate(KINDS):
        what = f"{100 * sd:g} %" + (", outliers" if tails else "")
        rng = np.random.default_rng([seed, number])
        mine = [ours(rng, sd, tails=tails) for _ in range(searches)]
        lines.append(f"| {what} | {row('becalm', mine)}")
        wanted = min(max(WANTED, sum(outcome.right for outcome in mine) / searches), 0.99)
        count = 4
        while True:
            alongside = [plain(rng, sd, count, tails=tails) for _ in range(4 * searches)]
            if sum(neighbour.right for neighbour in alongside) >= wanted * len(alongside):
                break
            count = math.ceil(count * 1.1)
        lines.append(f"| {what} | {row(f'plain, {count} pairs a step', alongside)}")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and write it into a document on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the table there, between its marks")
    chosen = parser.parse_args()
    text = table(5 if chosen.quick else chosen.searches, chosen.seed)
    print(text)
    if chosen.document is not None:
        put(chosen.document, "bisection", text)


if __name__ == "__main__":
    main()
