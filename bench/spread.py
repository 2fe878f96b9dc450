"""The error rate of a ratio of spreads. Simulated arms that are equally steady, next to the textbook tests.

    python bench/spread.py --series 1000     # the table of docs/reference/tune-report.md

Each loop makes 15 runs in a row of two equal arms, in random order, from one series of noise in time. A false alarm
is an interval that excludes 1 (first column of each size), a sign-flip p value, an F, Levene or Brown-Forsythe test
on all runs below 5 %. Needs no machine to be quiet.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from becalm.stats.classical_tests import brown_forsythe, f_test, levene
from becalm.stats.spread import CV, MAD, spread_ratio
from campaign import percent, table
from coverage import ALPHA, NOISES, Floats, Noise, autoregression
from fill import put

RUNS = 15
SIZES = (3, 10, 30)
"""Loops."""


def storms(rng: np.random.Generator, n: int) -> Floats:
    """Draw noise whose own size wanders: log-normal volatility with a memory of some hundred runs."""
    calm = np.asarray(lfilter([1], [1, -0.99], rng.standard_normal(n + 1000)))[1000:]
    return rng.standard_normal(n) * np.exp(0.15 * calm)


def walk(rng: np.random.Generator, n: int) -> Floats:
    """Draw a line and a random walk over white noise."""
    return np.linspace(0, 10, n) + 0.3 * np.cumsum(rng.standard_normal(n)) + rng.standard_normal(n)


CHOSEN: Mapping[str, Noise] = {
    **{name: NOISES[name] for name in ("normal", "Student t, 3 df", "bursts, Cauchy", "two modes")},
    "autoregression 0.5": autoregression(0.5),
    "autoregression 0.93": autoregression(0.93),
    "drift": walk,
    "storms": storms,
}


def arms(noise: Noise, loops: int, seed: tuple[int, ...], factor: float = 1.0) -> tuple[list[Floats], list[Floats]]:
    """Return times in ns of two arms, each `loops` arrays of RUNS; the first scatters `factor` times as much."""
    rng = np.random.default_rng(seed)
    y = noise(rng, 2 * loops * RUNS).reshape(loops, 2, RUNS)
    order = rng.integers(2, size=loops)
    at = np.arange(loops)
    first, second = y[at, order], y[at, 1 - order]
    # The level of the series stays; only the scatter about it is made larger.
    first = first.mean(axis=1, keepdims=True) + factor * (first - first.mean(axis=1, keepdims=True))
    return list(1e8 * np.exp(1e-4 * first)), list(1e8 * np.exp(1e-4 * second))


def alarms(noise: Noise, loops: int, seed: tuple[int, ...]) -> list[bool]:
    """Return which tests call a difference in one A/A series: intervals of cv and of MAD, sign flips, F, Levene,
    Brown-Forsythe."""
    a, b = arms(noise, loops, seed)
    by_cv, by_mad = (spread_ratio(a, b, estimator, ALPHA) for estimator in (CV, MAD))
    x, y = (np.concatenate(arm) for arm in (a, b))
    textbook = [test(x / x.mean(), y / y.mean()).p_value < ALPHA for test in (f_test, levene, brown_forsythe)]
    return [not by_cv.low <= 1 <= by_cv.high, not by_mad.low <= 1 <= by_mad.high, by_cv.p_value < ALPHA, *textbook]


def rates(noise: Noise, loops: int, series: int, stream: int = 0) -> Floats:
    """Return the shares of A/A series in which each test is wrong, shape (6,)."""
    result: Floats = np.mean([alarms(noise, loops, (stream, loops, seed)) for seed in range(series)], axis=0)
    return result


def coverage(noise: Noise, loops: int, series: int, factor: float, stream: int = 0) -> tuple[float, float]:
    """Return the shares of series whose interval holds the true ratio, and excludes 1."""
    results = [spread_ratio(*arms(noise, loops, (stream, loops, seed), factor)) for seed in range(series)]
    return (
        float(np.mean([r.low <= factor <= r.high for r in results])),
        float(np.mean([not r.low <= 1 <= r.high for r in results])),
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=300, help="series of each noise and number of loops")
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the tables there, between their marks")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.series = 3
    rows, held = [], []
    for stream, (name, noise) in enumerate(CHOSEN.items()):
        for loops in SIZES:
            rows.append([name, str(loops), *map(percent, rates(noise, loops, chosen.series, stream))])
            cover, seen = coverage(noise, loops, chosen.series, 1.5, stream)
            held.append([name, str(loops), percent(cover), percent(seen)])
    head = ("noise", "loops", "interval", "interval, MAD", "sign flips", "F", "Levene", "Brown–Forsythe")
    held_head = ("noise, first arm 1.5 times the spread", "loops", "interval holds 1.5", "difference seen")
    tables = {"spread": table(head, rows), "coverage": table(held_head, held)}
    print(f"False alarms at 5 %, {chosen.series} series of each.\n\n{tables['spread']}\n\n{tables['coverage']}")
    if chosen.document is not None:
        for name, body in tables.items():
            put(chosen.document, name, body)


if __name__ == "__main__":
    main()
