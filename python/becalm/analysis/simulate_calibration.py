"""Costs of a simulated scheduler from real runs: those under which the simulation takes as long as they did.

A simulation of many tasks is chaotic: with a cost that differs by a nanosecond it takes another course, and where
switches are dear it may end a fifth sooner or later. A search that believes single simulations falls into whichever
hole it meets first. What is compared here is the mean over several seeds, its error counts, and the costs are the mean
of the last of many steps, which averages that noise further (Polyak & Juditsky 1992, SIAM J. Control Optim. 30:838).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from becalm.results.simulate_calibration import COSTS, USUAL, Costs, Size
from becalm.stats.arrays import Floats

Case = TypeVar("Case", bound=Hashable)

PRIOR = 1.5
"""Standard deviation of the logarithm of a cost about the usual one. Two sizes say little about three costs: what they
do not tell stays as it was, and all are kept within a plausible range."""

FLOOR = 0.01
"""Least relative error that a mean is taken to have: the model itself is no better."""

STEPS, SETTLED = 20, 10
"""So many steps, over the last of which costs are averaged."""

LONGEST = 1.0
"""The logarithm of a cost changes by no more in a step."""


class Taken(NamedTuple):
    """What a simulation takes: the mean over its seeds and its standard error, ns, and how much of it, 0 to 1, each of
    `COSTS` has: the times that it was paid."""

    ns: float
    error_ns: float
    shares: tuple[float, ...]


def fit(measured: Mapping[Case, tuple[float, float]], simulate: Callable[[Costs, Case], Taken]) -> Costs:
    """The costs that explain times and their standard errors, ns, by what was run.

    The sum of squares of log ratios over their errors, and of the distances of the costs' proportions from the usual
    ones over `PRIOR`, is made least by steps of Gauss and Newton: where a cost has a share of the time, a hundredth
    more of it makes the time longer by that share of a hundredth.
    """
    usual = np.log([getattr(USUAL, name) for name in COSTS])
    at = usual + statistics.median(math.log(mean / simulate(USUAL, case).ns) for case, (mean, _) in measured.items())
    trail = []
    for _ in range(STEPS):
        costs = _costs(at)
        at = at + _step(at - usual, measured, {case: simulate(costs, case) for case in measured})
        trail.append(at)
    return _costs(np.mean(trail[-SETTLED:], axis=0))


def _costs(logs: Floats) -> Costs:
    return Costs(*(float(each) for each in np.exp(logs)))


def _step(off: Floats, measured: Mapping[Case, tuple[float, float]], taken: Mapping[Case, Taken]) -> Floats:
    """By how much the logarithms of the costs are to change. `off`: how far they are from the usual ones."""
    rows, wanted = [], []
    for case, (mean, error) in measured.items():
        found = taken[case]
        weight = 1 / math.hypot(FLOOR, error / mean, found.error_ns / found.ns)
        # Idle time and what else there is grows as the rest does.
        rows.append(weight * np.array(found.shares) / sum(found.shares))
        wanted.append(weight * math.log(mean / found.ns))
    # A machine that is slower in all has all costs in the usual proportions.
    proportions = (np.eye(len(off)) - 1 / len(off)) / PRIOR
    change, *_ = np.linalg.lstsq(np.vstack([*rows, proportions]), np.concatenate([wanted, -proportions @ off]))
    step: Floats = np.clip(change, -LONGEST, LONGEST)
    return step


def adjusted(squared: float, count: int) -> float:
    """Return R² of a line through so many points, three or more, adjusted for its two coefficients."""
    return 1 - (1 - squared) * (count - 1) / (count - 2)


def r_squared(sizes: Sequence[Size]) -> tuple[float, float] | None:
    """Return R² of the line of measured over simulated times, and what the noise of the measured means leaves possible.

    None of fewer than three sizes: any two points lie on a line.
    """
    if len(sizes) < 3:
        return None
    x = np.array([siz.simulated_ns for siz in sizes])
    y = np.array([siz.measured_ns for siz in sizes])
    total = float(np.sum((y - y.mean()) ** 2))
    if total == 0 or float(np.ptp(x)) == 0:
        return None
    slope, offset = np.polyfit(x, y, 1)
    left = float(np.sum((y - slope * x - offset) ** 2))
    noise = float(np.sum([siz.error_ns**2 for siz in sizes])) * (len(sizes) - 2) / len(sizes)
    return 1 - left / total, max(0.0, 1 - noise / total)
