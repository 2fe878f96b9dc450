"""Costs of a simulated scheduler from real runs: those under which the simulation takes as long as they did."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from typing import TypeVar

import numpy as np
from scipy.optimize import minimize

from becalm.nouns.calibration import COSTS, USUAL, Costs, Size
from becalm.stats.arrays import Floats

Case = TypeVar("Case", bound=Hashable)

PRIOR = 1.5
"""Standard deviation of the logarithm of a cost about the usual one. Two sizes say little about three costs: what they
do not tell stays as it was, and all are kept within a plausible range."""

FLOOR = 0.01
"""Least relative error that a mean is taken to have: the model itself is no better."""

STARTS = (0.0, math.log(5), math.log(25))
"""Logarithms of how much dearer than a message wake-ups and switches may be at first, over what is usual."""

VALLEYS, MOST = 3, 60
"""From so many places it goes down, each with so many simulations of each size at most."""


def fit(measured: Mapping[Case, tuple[float, float]], simulate: Callable[[Costs, Case], float]) -> Costs:
    """The costs that explain mean times and their standard errors, ns, by what was run.

    The sum of squares of log ratios over their errors, and of the distances of the costs' proportions from the usual
    ones over `PRIOR`, is made least by the simplex method (Nelder & Mead 1965, Computer J. 7:308): a simulation has no
    derivatives. It goes down from the best of several places, since dear switches are another valley than cheap ones,
    and a simulation that takes another turn makes small ones.
    """
    usual = np.log([getattr(USUAL, name) for name in COSTS])

    def distance(at: Floats) -> float:
        costs = Costs(*(float(each) for each in np.exp(at)))
        misses = [
            math.log(simulate(costs, case) / mean) / max(FLOOR, error / mean)
            for case, (mean, error) in measured.items()
        ]
        # A machine that is slower in all has all costs in the usual proportions.
        off = (at - usual) - np.mean(at - usual)
        return float(np.sum(np.square(misses)) + np.sum(np.square(off / PRIOR)))

    slower = [math.log(mean / simulate(USUAL, case)) for case, (mean, _) in measured.items()]
    starts = [usual + min(slower) + np.array([0.0, wakeup, switch]) for wakeup, switch in product(STARTS, STARTS)]
    found = min((_descended(distance, start) for start in sorted(starts, key=distance)[:VALLEYS]), key=distance)
    return Costs(*(float(each) for each in np.exp(found)))


def _descended(distance: Callable[[Floats], float], start: Floats) -> Floats:
    # The first step of the simplex: a third more of each cost.
    steps = np.vstack([start, start + 0.3 * np.eye(len(start))])
    found = minimize(
        distance,
        start,
        method="Nelder-Mead",
        options={"initial_simplex": steps, "maxfev": MOST, "xatol": 0.005, "fatol": 0.01},
    )
    lowest: Floats = found.x
    return lowest


def r_squared(sizes: Sequence[Size]) -> tuple[float, float] | None:
    """R² of the line of measured over simulated times, and what the noise of the measured means leaves possible.

    None of fewer than three sizes: any two points lie on a line.
    """
    if len(sizes) < 3:
        return None
    x = np.array([each.simulated_ns for each in sizes])
    y = np.array([each.measured_ns for each in sizes])
    total = float(np.sum((y - y.mean()) ** 2))
    if total == 0 or float(np.ptp(x)) == 0:
        return None
    slope, offset = np.polyfit(x, y, 1)
    left = float(np.sum((y - slope * x - offset) ** 2))
    noise = float(np.sum([each.error_ns**2 for each in sizes])) * (len(sizes) - 2) / len(sizes)
    return 1 - left / total, max(0.0, 1 - noise / total)
