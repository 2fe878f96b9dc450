"""The rate at which equal programs are called different when they were measured at different times. Simulated, so the
truth is known.

    python bench/sessions.py                                             # 1500 comparisons of each kind, a minute
    python bench/sessions.py --comparisons 10000 --document docs/explanation/statistics.md    # its table

Each session of a program shifts by itself (log-normally, or by Student's t with 3 degrees of freedom), and then has 30
runs of 1 % noise with a correlation of 0.3 from run to run. `by runs alone` is `becalm compare --stored A B`,
`repeated` the same with further sessions, and Welch's and Mann-Whitney's tests are what others make of two files. The
second table is of suites, with three old sessions and one new of each benchmark, at 95 % for all benchmarks together.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import mannwhitneyu, ttest_ind

from becalm.stats.sessions import over_sessions
from becalm.stats.student import stdtrit
from becalm.stats.suite_spread import suite_spread
from becalm.stats.unpaired import unpaired
from fill import put

Floats = npt.NDArray[np.float64]
RUNS, NOISE, NEIGHBOURS, ALPHA = 30, 0.01, 0.3, 0.05
KINDS = ((2, 1, 0.02, False), (3, 1, 0.02, False), (3, 3, 0.02, False), (5, 5, 0.02, False), (3, 3, 0.005, False),
         (3, 3, 0.02, True), (3, 3, 0.0, False))  # fmt: skip
"""Sessions of the old and of the new, standard deviation of the shift, whether it has heavy tails."""


def session(rng: np.random.Generator, shift: float, tails: bool) -> Floats:
    """Draw the log times of one session of a program whose true time is 1."""
    drawn = rng.standard_t(3) / np.sqrt(3) if tails else rng.standard_normal()
    noise = rng.standard_normal(RUNS)
    for index in range(1, RUNS):
        noise[index] = NEIGHBOURS * noise[index - 1] + np.sqrt(1 - NEIGHBOURS**2) * noise[index]
    return np.asarray(shift * drawn + NOISE * noise)


def rates(old: int, new: int, shift: float, tails: bool, comparisons: int, seed: int) -> dict[str, float]:
    """Return the shares of comparisons of equal programs that are called different, and of those 10 % apart that
    are."""
    rng = np.random.default_rng([seed, old, new, round(1e4 * shift), tails])
    called = dict.fromkeys(("runs", "repeated", "seen", "welch", "mann"), 0)
    for _ in range(comparisons):
        sides = [[session(rng, shift, tails) for _ in range(count)] for count in (old, new)]
        alone = unpaired(sides[0][0], sides[1][0], ALPHA)
        called["runs"] += not alone.low <= 0.0 <= alone.high
        over = over_sessions(sides[0], sides[1], ALPHA)
        called["repeated"] += not over.low <= 0.0 <= over.high
        apart = over_sessions(sides[0], [side + np.log(1.1) for side in sides[1]], ALPHA)
        called["seen"] += apart.low > 0.0
        called["welch"] += bool(ttest_ind(sides[0][0], sides[1][0], equal_var=False).pvalue < ALPHA)
        called["mann"] += bool(mannwhitneyu(sides[0][0], sides[1][0]).pvalue < ALPHA)
    return {name: count / comparisons for name, count in called.items()}


def table(comparisons: int, seed: int) -> str:
    """Return the table as Markdown."""
    lines = [
        "| sessions, old and new | shift between sessions | Welch, two files | Mann-Whitney, two files | by runs alone "
        "| repeated sessions | 10 % seen by them |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for old, new, shift, tails in KINDS:
        shares = rates(old, new, shift, tails, comparisons, seed)
        shown = " | ".join(f"{100 * shares[name]:.1f} %" for name in ("welch", "mann", "runs", "repeated", "seen"))
        lines.append(f"| {old} and {new} | {100 * shift:g} %{', heavy tails' if tails else ''} | {shown} |")
    return "\n".join(lines)


SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal, variances a scaled inverse χ² of 3": lambda rng, count: (
        rng.standard_normal((count, 4)) / np.sqrt(rng.chisquare(3, (count, 1)) / 3)
    ),
    "Student's t of 4, standard deviations log-normal (0.5)": lambda rng, count: (
        _unlike(rng, count) * rng.standard_t(4, (count, 4)) / np.sqrt(2)
    ),
    "normal, one in a hundred strays six times as far": lambda rng, count: (
        _unlike(rng, count) * rng.standard_normal((count, 4)) * np.where(rng.random((count, 4)) < 0.01, 6, 1)
    ),
    "normal, all alike": lambda rng, count: rng.standard_normal((count, 4)),
}
"""Sessions of a suite, shape (benchmarks, 4), in units of the typical standard deviation."""


def _unlike(rng: np.random.Generator, count: int) -> Floats:
    return np.exp(0.5 * rng.standard_normal((count, 1)))


def suite_rates(shape: str, benchmarks: int, comparisons: int, seed: int) -> tuple[float, float, float, float]:
    """Return how often a suite of equal programs has some claim, and the median half width, a fraction: with the spread
    of all benchmarks, and for each by itself. The typical standard deviation of a session is 1 %."""
    rng = np.random.default_rng([seed, benchmarks, list(SHAPES).index(shape)])
    alpha = ALPHA / benchmarks
    claims, halves = np.zeros(2), np.zeros((comparisons, 2))
    for comparison in range(comparisons):
        places = 0.01 * SHAPES[shape](rng, benchmarks)
        groups = [(row[:3], row[3:]) for row in places]
        spread = suite_spread(groups)
        assert spread is not None
        together = stdtrit(spread.freedom, 1 - alpha / 2) * np.array([spread.error(group) for group in groups])
        alone = stdtrit(2, 1 - alpha / 2) * places[:, :3].std(axis=1, ddof=1) * np.sqrt(4 / 3)
        change = np.abs(places[:, 3] - places[:, :3].mean(axis=1))
        for index, half in enumerate((together, alone)):
            claims[index] += bool((change > half).any())
            halves[comparison, index] = np.median(half)
    width = np.median(np.expm1(halves), axis=0)
    return claims[0] / comparisons, float(width[0]), claims[1] / comparisons, float(width[1])


def suites(comparisons: int, seed: int) -> str:
    """Return the table of suites as Markdown."""
    lines = [
        "| sessions | benchmarks | some claim | half width | each by itself: some claim | half width |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for shape in SHAPES:
        for benchmarks in (8, 20, 88):
            rates = suite_rates(shape, benchmarks, comparisons, seed)
            lines.append(f"| {shape} | {benchmarks} | {' | '.join(f'{100 * rate:.1f} %' for rate in rates)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and write it into a document on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the table there, between its marks")
    arguments = parser.parse_args()
    text = table(30 if arguments.quick else arguments.comparisons, arguments.seed)
    of_suites = suites(5 if arguments.quick else max(1, arguments.comparisons // 8), arguments.seed)
    print(f"{text}\n\n{of_suites}")
    if arguments.document is not None and not arguments.quick:
        put(arguments.document, "sessions", text)
        put(arguments.document, "suites", of_suites)


if __name__ == "__main__":
    main()
