"""The error rates of becalm's intervals, next to naive tests on the same numbers. Simulated, so the truth is known.

    python bench/coverage.py                 # 60 series of each noise, under a minute
    python bench/coverage.py --seeds 1000    # the tables of docs/explanation/statistics.md

Two equal programs run in random pairs. The data are looked at again whenever there are 10 % more pairs, as `compare`
does. A false alarm is a difference called at any look (when the interval excludes zero). Needs no machine to be quiet.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter
from scipy.special import ndtri, stdtrit

from becalm.stats import time_series
from becalm.stats.classical_tests import wilcoxon
from becalm.stats.describe import describe
from becalm.stats.paired import RepeatedPairs
from fill import put

Floats = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Floats]
ALPHA = 0.05


def autoregression(phi: float) -> Noise:
    """Return noise of a first-order autoregression with variance 1, long after its start."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        white = rng.standard_normal(n + 2000)
        return np.asarray(lfilter([math.sqrt(1 - phi * phi)], [1, -phi], white)[2000:])

    return draw


def bursts(rng: np.random.Generator, n: int) -> Floats:
    """Draw bursts of Cauchy size that last some twenty runs, over white noise."""
    heat = np.asarray(lfilter([1], [1, -0.95], (rng.random(n) < 0.02).astype(float)))
    return np.where(heat > 0.5, np.abs(rng.standard_cauchy(n)), 0.0) + rng.standard_normal(n)


def two_modes(rng: np.random.Generator, n: int) -> Floats:
    """Draw runs of which three in ten take ten standard deviations longer."""
    return rng.standard_normal(n) + 10.0 * (rng.random(n) < 0.3)


def drifting(rng: np.random.Generator, n: int) -> Floats:
    """Draw Brownian motion and a line over white noise."""
    return np.cumsum(rng.standard_normal(n)) + np.linspace(0, 30, n) + rng.standard_normal(n)


def mixture(rng: np.random.Generator, n: int) -> Floats:
    """Draw a mixture of all these noises."""
    return (
        3 * autoregression(0.98)(rng, n)
        + bursts(rng, n)
        + 5.0 * (rng.random(n) < 0.3)
        + np.linspace(0, 10, n)
        + np.cumsum(rng.standard_normal(n)) / 3
    )


NOISES: Mapping[str, Noise] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "Student t, 3 df": lambda rng, n: rng.standard_t(3, n),
    "bursts, Cauchy": bursts,
    "two modes": two_modes,
    "autoregression 0.93": autoregression(0.93),
    "drift": drifting,
    "mixture of all": mixture,
}


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates for one noise: shares of series, and the standard error relative to that of the mean of the
    differences."""

    called: float
    missed: float
    missed_early: float
    gain: float
    beta: float
    t_each_look: float
    signed_rank_each_look: float
    welch_once: float


def looks(pairs: int) -> list[int]:
    """Return the numbers of pairs at which the data are looked at."""
    result = [1]
    while result[-1] < pairs:
        result.append(min(pairs, max(result[-1] + 1, math.ceil(result[-1] * 1.1))))
    return result


def positions(rng: np.random.Generator, pairs: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the positions of two programs in random order within each round."""
    first = rng.integers(2, size=pairs)
    return 2 * np.arange(pairs) + first, 2 * np.arange(pairs) + 1 - first


def paired_trial(noise: Noise, pairs: int, seed: Sequence[int]) -> tuple[float, ...]:
    """Simulate one A/A comparison: return which tests called a difference, and whether the intervals held zero."""
    rng = np.random.default_rng(seed)
    y = 0.01 * noise(rng, 2 * pairs)
    a, b = positions(rng, pairs)
    watcher, called, early = RepeatedPairs(ALPHA), False, None
    t_called = rank_called = False
    precision = 0.01 * float(np.std(y)) * 20
    for count in looks(pairs):
        estimate = watcher.look(y[a[:count]], y[b[:count]], a[:count], b[:count], count / pairs)
        outside = estimate.low > 0 or estimate.high < 0
        called |= outside
        if early is None and estimate.high - estimate.low < precision:
            early = outside
        d = y[b[:count]] - y[a[:count]]
        if count >= 6:
            t = abs(float(d.mean())) / (float(d.std(ddof=1)) / math.sqrt(count))
            t_called |= t > float(stdtrit(count - 1, 1 - ALPHA / 2))
            rank_called |= wilcoxon(d, np.zeros(count)).p_value < ALPHA
    # One program after the other, as most tools do it.
    first, second = y[:pairs], y[pairs:]
    error = math.hypot(float(first.std(ddof=1)), float(second.std(ddof=1))) / math.sqrt(pairs)
    blocks = abs(float(first.mean() - second.mean())) > float(-ndtri(ALPHA / 2)) * error
    mean_error = float((y[b] - y[a]).std(ddof=1)) / math.sqrt(pairs)
    gain = estimate.standard_error / mean_error
    return called, outside, outside if early is None else early, gain, estimate.adjusted, t_called, rank_called, blocks


def paired_rates(name: str, pairs: int, seeds: int) -> Rates:
    """Simulate many A/A comparisons of `pairs` pairs. Each noise has seeds of its own: chance must not hit all
    alike."""
    stream = list(NOISES).index(name)
    trials = np.array([paired_trial(NOISES[name], pairs, (stream, seed)) for seed in range(seeds)], dtype=float)
    gain = float(np.median(trials[:, 3]))
    means = [float(m) for m in trials.mean(axis=0)]
    return Rates(means[0], means[1], means[2], gain, means[4], means[5], means[6], means[7])


def described(seeds: int, runs: int) -> list[list[str]]:
    """Return the coverage of the intervals of `describe`: rows of noise, mean, median, coefficient of variation."""
    rows = []
    truth: dict[str, tuple[float, float | None, float | None]] = {
        "normal": (0.0, 0.0, 1.0),
        "Student t, 3 df": (0.0, 0.0, math.sqrt(3)),
        "two modes": (3.0, None, math.sqrt(22)),
        "autoregression 0.93": (0.0, 0.0, 1.0),
    }
    for name, (mean, median, sd) in truth.items():
        hits = np.zeros(3)
        for seed in range(seeds):
            summary = describe(1000 + NOISES[name](np.random.default_rng(seed), runs))
            hits[0] += summary.mean_interval[0] <= 1000 + mean <= summary.mean_interval[1]
            if median is not None:
                hits[1] += summary.median_interval[0] <= 1000 + median <= summary.median_interval[1]
            if sd is not None:
                hits[2] += summary.cv_interval[0] <= sd / (1000 + mean) <= summary.cv_interval[1]
        shares = [f"{100 * h / seeds:.1f} %" for h in hits]
        rows.append([name, str(runs), shares[0], shares[1] if median is not None else "", shares[2]])
    return rows


def diagnosed(seeds: int, runs: int) -> list[list[str]]:
    """Return the false findings of the diagnoses of a series, on noise that has none of it."""
    tests: Sequence[Callable[[Floats], bool]] = (
        lambda x: time_series.warmup(x).detected,
        lambda x: time_series.drift(x).detected,
        lambda x: time_series.period(x).detected,
        lambda x: time_series.bimodal(x).detected,
        lambda x: time_series.outliers(x).detected,
    )
    wander = autoregression(0.98)
    noises: dict[str, Noise] = {
        "normal": NOISES["normal"],
        "autoregression 0.5": autoregression(0.5),
        "autoregression 0.93": autoregression(0.93),
        "0.98, half of it white": lambda rng, n: wander(rng, n) + rng.standard_normal(n),
    }
    rows = []
    for name, noise in noises.items():
        trials = np.array(
            [[t(1000 + noise(np.random.default_rng(seed), runs)) for t in tests] for seed in range(seeds)]
        )
        rows.append([name, str(runs), *(f"{100 * share:.1f} %" for share in trials.mean(axis=0))])
    return rows


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Print the tables, and put them into a document where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=60, help="series of each noise")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the tables there, between their marks")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.seeds, chosen.pairs = 3, 40
    header = (
        *("Noise", "called at any look", "missed at the end", "missed at a wanted precision", "standard error / t's"),
        *("mean beta", "t at every look", "signed rank at every look", "A A A B B B, Welch once"),
    )
    rows = []
    for name in NOISES:
        r = paired_rates(name, chosen.pairs, chosen.seeds)
        missed = [f"{100 * v:.1f} %" for v in (r.called, r.missed, r.missed_early)]
        naive = [f"{100 * v:.1f} %" for v in (r.t_each_look, r.signed_rank_each_look, r.welch_once)]
        rows.append([name, *missed, f"{r.gain:.2f}", f"{r.beta:.2f}", *naive])
    tables = {"pairs": table(header, rows)}
    print(f"Equal programs, {chosen.pairs} pairs, {len(looks(chosen.pairs))} looks, {chosen.seeds} series of each.\n")
    print(tables["pairs"])
    sizes = (20, 100, 1000)
    rows = [row for runs in sizes for row in described(chosen.seeds, runs)]
    tables["describe"] = table(("Noise", "runs", "mean", "median", "coefficient of variation"), rows)
    print(f"\nCoverage of the 95 % intervals of one program.\n\n{tables['describe']}")
    rows = [row for runs in (60, 300, 1000) for row in diagnosed(chosen.seeds, runs)]
    tables["series"] = table(("Noise", "runs", "warm-up", "drift", "period", "two modes", "outliers"), rows)
    print(f"\nFalse findings, level {time_series.LEVEL:g}.\n\n{tables['series']}")
    if chosen.document is not None:
        for name, body in tables.items():
            put(chosen.document, name, body)


if __name__ == "__main__":
    main()
