"""The costs of a simulated scheduler from real runs: those with which the simulation takes as long as the runs did.

A simulation of many tasks is chaotic: with a cost that differs by a nanosecond it takes another course, and where
switches are expensive it may end a fifth sooner or later. A search that trusts single simulations gets stuck in the
first local minimum. Therefore the mean over several seeds is compared, weighted by its error, and the costs are the
mean over the last of many steps, which averages that noise further (Polyak & Juditsky 1992, SIAM J. Control Optim.
30:838).
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
"""The standard deviation of the logarithm of a cost about the usual one. Two sizes say little about three costs: this
keeps costs that they do not determine near the usual ones, and all in a plausible range."""

FLOOR = 0.01
"""The least relative error of a mean: the model itself is no better."""

STEPS, SETTLED = 20, 10
"""The number of steps, and that of the last steps, over which costs are averaged."""

LONGEST = 1.0
"""The largest change of the logarithm of a cost in a step."""


class SimulatedTime(NamedTuple):
    """The time of a simulation: mean over its seeds and standard error in ns, and the share of each of `COSTS` in
    it."""

    ns: float
    error_ns: float
    shares: tuple[float, ...]


def fit(measured: Mapping[Case, tuple[float, float]], simulate: Callable[[Costs, Case], SimulatedTime]) -> Costs:
    """Return the costs that explain measured times by case: (mean, standard error) in ns.

    Steps of Gauss and Newton minimise a sum of squares: of the log ratios over their errors, and of the distances of
    the costs' proportions from the usual ones over `PRIOR`. The derivatives are shares of the time: if a cost has a
    share of the time, increasing the cost by 1 % makes the time longer by this share of 1 %.
    """
    usual = np.log([getattr(USUAL, name) for name in COSTS])
    logs = usual + statistics.median(math.log(mean / simulate(USUAL, case).ns) for case, (mean, _) in measured.items())
    visited = []
    for _ in range(STEPS):
        costs = _costs(logs)
        logs = logs + _step(logs - usual, measured, {case: simulate(costs, case) for case in measured})
        visited.append(logs)
    return _costs(np.mean(visited[-SETTLED:], axis=0))


def _costs(logs: Floats) -> Costs:
    return Costs(*(float(cost) for cost in np.exp(logs)))


def _step(
    offsets: Floats, measured: Mapping[Case, tuple[float, float]], simulated: Mapping[Case, SimulatedTime]
) -> Floats:
    """Return the change of the logarithms of the costs, shape (costs,); `offsets` are their distances from the usual
    ones."""
    rows, targets = [], []
    for case, (mean, error) in measured.items():
        simulated_time = simulated[case]
        weight = 1 / math.hypot(FLOOR, error / mean, simulated_time.error_ns / simulated_time.ns)
        # Idle time and other parts grow in proportion to the rest.
        rows.append(weight * np.array(simulated_time.shares) / sum(simulated_time.shares))
        targets.append(weight * math.log(mean / simulated_time.ns))
    # On a machine that is slower overall, all costs have the usual proportions.
    proportions = (np.eye(len(offsets)) - 1 / len(offsets)) / PRIOR
    change, *_ = np.linalg.lstsq(np.vstack([*rows, proportions]), np.concatenate([targets, -proportions @ offsets]))
    step: Floats = np.clip(change, -LONGEST, LONGEST)
    return step


def adjust_r_squared(r_squared: float, count: int) -> float:
    """Return R² of a line through `count` points, three or more, adjusted for its two coefficients."""
    return 1 - (1 - r_squared) * (count - 1) / (count - 2)


def r_squared(sizes: Sequence[Size]) -> tuple[float, float] | None:
    """Return R² of the line of measured over simulated times, and the largest R² that the noise of the means allows.

    None for fewer than three sizes: any two points lie on a line.
    """
    if len(sizes) < 3:
        return None
    x = np.array([size.simulated_ns for size in sizes])
    y = np.array([size.measured_ns for size in sizes])
    total = float(np.sum((y - y.mean()) ** 2))
    if total == 0 or float(np.ptp(x)) == 0:
        return None
    slope, offset = np.polyfit(x, y, 1)
    residual = float(np.sum((y - slope * x - offset) ** 2))
    noise = float(np.sum([size.error_ns**2 for size in sizes])) * (len(sizes) - 2) / len(sizes)
    return 1 - residual / total, max(0.0, 1 - noise / total)
