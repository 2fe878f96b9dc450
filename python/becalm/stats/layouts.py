"""The difference of two programs beyond layout, from several layouts of each, and the share of layout in the variance.

y_ir = mu_side + u_i + b_r + e_ir is the logarithm of the time of layout i in round r. The layouts of a program are a
sample of those that its linker could have given it (Mytkowicz et al. 2009, ASPLOS 14:265; Curtsinger & Berger 2013,
ASPLOS 18:219), so u_i is random, and a layout is the unit: however often its program runs, k layouts are k values.
Subtracting the round's median removes b_r. Welch's test (1938, Biometrika 29:350) then compares the means of the
layouts of both sides; their variance contains that of u_i and the rest of the noise e_ir. Noise within layouts
separates the two (one-way analysis of variance with random effects, Searle, Casella & McCulloch 1992, Variance
Components, ch. 3).

Public: LayoutSample, LayoutEstimate, center_by_rounds, layout_sample, compare_layouts.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, level, medians_of
from becalm.stats.huber import location
from becalm.stats.power import detectable
from becalm.stats.student import stdtr, stdtrit

ROBUST_FROM = 6
"""The fewest runs of a layout for Huber's location; of fewer the mean is used, since their spread is hardly known."""


class LayoutSample(msgspec.Struct, frozen=True):
    """The layouts of one program, in log units.

    `means`: of each layout, less the medians of the rounds, shape (layouts,); `errors`: their standard errors by noise,
    shape (layouts,), NaN from one round.
    """

    means: Floats
    errors: Floats

    @property
    def mean(self) -> float:
        """The mean of the layouts."""
        return float(self.means.mean())

    @property
    def variance(self) -> float:
        """The variance of the means between layouts, noise included."""
        return float(self.means.var(ddof=1))

    @property
    def noise(self) -> float:
        """The standard deviation of a layout's mean by noise; NaN from one round."""
        return math.sqrt(float((self.errors**2).mean()))

    @property
    def layout(self) -> float:
        """The standard deviation between layouts, without noise; NaN from one round."""
        return math.sqrt(max(0.0, self.variance - self.noise**2)) if math.isfinite(self.noise) else math.nan


class LayoutEstimate(msgspec.Struct, frozen=True):
    """The estimate of log(new / old); all but `freedom`, `p_value`, `noise_share` and `called` in log units.

    `detectable`: the true difference that would have been detected with probability 0.8. `noise_share`: share of noise
    in the squared standard error, 0 to 1; the rest is layout. `called`: the number of pairs of one old and one new
    layout whose difference is beyond their noise, as a comparison of these two would call it. NaN and None from one
    round.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    freedom: float
    p_value: float
    detectable: float
    noise_share: float
    called: int | None


def layout_sample(values: Floats) -> LayoutSample:
    """Return the sample of the layouts of a program.

    `values`: log times less the medians of the rounds, shape (layouts, rounds).
    """
    rounds = values.shape[1]
    if rounds < ROBUST_FROM:
        spread = values.std(axis=1, ddof=1) if rounds > 1 else np.full(len(values), math.nan)
        return LayoutSample(values.mean(axis=1), spread / math.sqrt(rounds))
    places = [location(row) for row in values]
    errors = [float(place.influence.std(ddof=1)) / math.sqrt(rounds) for place in places]
    return LayoutSample(np.array([place.estimate for place in places]), np.array(errors))


def center_by_rounds(old: npt.ArrayLike, new: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the log times of both sides less the medians of the rounds, and these medians, shape (rounds,).

    `old`, `new`: shape (layouts, rounds). Raises ValueError for fewer than two layouts, or unequal rounds.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (old, new)]
    if any(side.ndim != 2 or len(side) < 2 for side in sides) or sides[0].shape[1] != sides[1].shape[1]:
        shapes = " and ".join(str(side.shape) for side in sides)
        raise ValueError(
            f"A comparison of layouts needs two layouts of each program and the same rounds; the shapes are {shapes}."
        )
    if not sides[0].shape[1] or not all(np.isfinite(side).all() for side in sides):
        raise ValueError("A comparison of layouts needs at least one round, and finite numbers.")
    middle = medians_of(np.ascontiguousarray(np.concatenate(sides).T))
    return sides[0] - middle, sides[1] - middle, middle


def compare_layouts(old: LayoutSample, new: LayoutSample, rounds: int, alpha: float = 0.05) -> LayoutEstimate:
    """Return the difference between two programs beyond layout; `rounds`: runs of each layout.

    The interval holds for a single look, also one at the moment when noise is small against layout: neither depends on
    the difference.
    """
    level(alpha)
    sides = (old, new)
    mean_variances = [side.variance / len(side.means) for side in sides]
    noise = math.fsum(side.noise**2 / len(side.means) for side in sides)
    estimate, square = new.mean - old.mean, math.fsum(mean_variances)
    error = math.sqrt(square)
    called = _called_pairs(old, new, rounds, alpha)
    if error == 0.0:
        # Coarse values, the same in all layouts: there is no noise either.
        certain = float(estimate == 0.0)
        return LayoutEstimate(estimate, estimate, estimate, 0.0, math.inf, certain, 0.0, 0.0, called)
    freedom = square**2 / math.fsum(
        variance**2 / (len(side.means) - 1) for variance, side in zip(mean_variances, sides, strict=True)
    )
    critical = stdtrit(freedom, 1 - alpha / 2)
    return LayoutEstimate(
        estimate=estimate,
        low=estimate - critical * error,
        high=estimate + critical * error,
        standard_error=error,
        freedom=freedom,
        p_value=2 * stdtr(freedom, -abs(estimate) / error),
        detectable=detectable(error, critical),
        noise_share=min(1.0, noise / square) if math.isfinite(noise) else math.nan,
        called=called,
    )


def _called_pairs(old: LayoutSample, new: LayoutSample, rounds: int, alpha: float) -> int | None:
    """Return the number of pairs of layouts that Student's test on their runs alone calls different."""
    if rounds < 2:
        return None
    gaps = np.abs(new.means[:, np.newaxis] - old.means)
    errors = np.hypot(new.errors[:, np.newaxis], old.errors)
    return int(np.count_nonzero(gaps > stdtrit(2.0 * (rounds - 1), 1 - alpha / 2) * errors))
