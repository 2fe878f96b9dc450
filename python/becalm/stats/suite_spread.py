"""The shift between sessions of the same program, learned from all benchmarks of a suite together.

Three sessions of one benchmark have two degrees of freedom, and say next to nothing about a tail. A suite of 88 has
176: each variance is moderated by those of the others (`becalm.stats.moderation`), and each session is predicted from
the others of its side. The errors of these predictions, in their own standard errors, follow Student's t whose degrees
of freedom and scale are fitted, with a prior on the usual ones. They show how heavy the tails are, whether from
sessions that stray, from variances that the moderation misjudges, or from code that changed in the meantime.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy.special import gammaln

from becalm.stats.arrays import Floats, median_of
from becalm.stats.moderation import PEERS, Prior, moderate, prior_of

LEAST = 16.0
"""The least degrees of freedom of all benchmarks together from which tails are learned: eight benchmarks with three
sessions and one. With so many some claim is made in 1 to 10 % of simulated comparisons at 5 % (`bench/sessions.py`)."""

FREEDOM = np.array([1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 30.0, 100.0])
"""The degrees of freedom that are tried; the likelihood hardly distinguishes more of them."""

USUAL, LOOSE = 4.0, 0.35
"""The degrees of freedom of usual sessions, and the standard deviation of their logarithm, as a prior.

Chosen on half of CPython's benchmarks (`bench/replay.py`): so few values hardly distinguish 1.5 from 4, and 1.5 makes
intervals twice as wide.
"""

_STEPS = 60
"""The steps of the scale's iteration (Dempster, Laird & Rubin 1977), which gains a digit in three to five."""

Group = Sequence[Floats]
"""The locations of one benchmark's sessions, in logarithms: an array for each side, shape (sessions,)."""


class SuiteSpread(msgspec.Struct, frozen=True):
    """The spread of sessions in a suite: `prior` of a variance, and Student's t of a prediction's error.

    `scale`: the scale of that t in standard errors; `freedom`: its degrees of freedom, few where tails are heavy.
    `benchmarks`: the number of benchmarks from which they come.
    """

    prior: Prior
    scale: float
    freedom: float
    benchmarks: int

    def error(self, group: Group) -> float:
        """Return the standard error of the difference of a benchmark's two sides, in logarithms."""
        _, variance = self.variance(group)
        return self.scale * math.sqrt(variance * sum(1 / len(side) for side in group))

    def variance(self, group: Group) -> tuple[float, float]:
        """Return a benchmark's own degrees of freedom, and its moderated variance from session to session."""
        freedom, squares = _within(group)
        own_variance = squares / freedom if freedom else 0.0
        return freedom, moderate(own_variance, freedom, self.prior)[0]


def suite_spread(groups: Sequence[Group]) -> SuiteSpread | None:
    """Return the spread of sessions of benchmarks of one unit; None where they are too few.

    A side with a single session does not contribute. Programs that never change are groups of one side.
    """
    within = [(group, *_within(group)) for group in groups]
    variances = [(freedom, squares / freedom) for _, freedom, squares in within if freedom and squares > 0]
    if len(variances) < PEERS or sum(freedom for freedom, _ in variances) < LEAST:
        return None
    prior = prior_of([variance for _, variance in variances], [freedom for freedom, _ in variances])
    prediction_errors = np.concatenate(
        [
            _prediction_errors(group, freedom, squares, prior)
            for group, freedom, squares in within
            if freedom and squares > 0
        ]
    )
    # Distances to a mean of few values are not independent: they are worth their degrees of freedom.
    scale, freedom = student_fit(prediction_errors, sum(freedom for freedom, _ in variances) / len(prediction_errors))
    return SuiteSpread(prior, scale, freedom, len(variances))


def _within(group: Group) -> tuple[float, float]:
    """Return degrees of freedom and the sum of squares of sessions about the mean of their side."""
    freedom = float(sum(len(side) - 1 for side in group))
    return freedom, float(sum(((side - side.mean()) ** 2).sum() for side in group))


def _prediction_errors(group: Group, freedom: float, squares: float, prior: Prior) -> Floats:
    """Return the prediction error of each session from the others of its side, in standard errors, shape
    (sessions,)."""
    errors_by_side = []
    for side in group:
        count = len(side)
        if count < 2:
            continue
        # Without a session: its distance to the mean of the others, and the remaining sum of squares.
        distance = (side - side.mean()) * count / (count - 1)
        remaining_squares = np.maximum(squares - distance**2 * (count - 1) / count, 0.0)
        total = freedom - 1 + prior.freedom
        variance = (remaining_squares + prior.freedom * prior.value) / total
        errors_by_side.append(distance / np.sqrt(variance * count / (count - 1)))
    return np.concatenate(errors_by_side)


def student_fit(values: Floats, worth: float = 1.0) -> tuple[float, float]:
    """Return scale and degrees of freedom of Student's t about zero with the largest posterior density.

    `values`: shape (n,), not all zero; `worth`: number of independent values that each is worth. The prior is that of
    USUAL and LOOSE. The scale for each of FREEDOM is found by expectation and maximisation (Lange, Little & Taylor
    1989, J. Am. Stat. Assoc. 84:881).
    """
    square = (values**2)[:, None]
    start = median_of(np.abs(values)) or float(np.sqrt(square.mean()))
    scale = np.full(len(FREEDOM), start**2)
    for _ in range(_STEPS):
        scale = ((FREEDOM + 1) / (FREEDOM + square / scale) * square).mean(axis=0)
    density = gammaln((FREEDOM + 1) / 2) - gammaln(FREEDOM / 2) - np.log(np.pi * FREEDOM * scale) / 2
    likelihood = (density - (FREEDOM + 1) / 2 * np.log1p(square / (FREEDOM * scale))).sum(axis=0)
    best = int(np.argmax(worth * likelihood - (np.log(FREEDOM / USUAL) / LOOSE) ** 2 / 2))
    return math.sqrt(float(scale[best])), float(FREEDOM[best])
