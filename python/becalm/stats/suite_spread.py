"""The shift between sessions of the same program, learned from all benchmarks of a suite together.

Three sessions of one benchmark have two degrees of freedom, and say next to nothing of a tail. A suite of 88 has 176:
each variance is moderated by those of the others (`becalm.stats.moderation`), and each session is predicted from the
others of its side. By how much these predictions miss, in their own standard errors, follows Student's t whose degrees
of freedom and scale are fitted, with a prior on how many are usual. That is how heavy the tails are, whether from
sessions that stray, from variances that the moderation misjudges, or from code that changed meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from becalm.stats.arrays import Floats, median_of
from becalm.stats.moderation import PEERS, Prior, moderate, prior_of
from becalm.values import dataclass

LEAST = 16.0
"""Degrees of freedom of all benchmarks together below which tails are not learned: eight benchmarks with three sessions
and one. With so many some claim is made in 1 to 10 % of simulated comparisons at 5 % (`bench/sessions.py`)."""

FREEDOM = np.array([1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 30.0, 100.0])
"""Degrees of freedom that are tried; the likelihood hardly tells more of them apart."""

USUAL, LOOSE = 4.0, 0.35
"""Degrees of freedom of usual sessions, and the standard deviation of their logarithm, before anything is seen.

Chosen on half of CPython's benchmarks (`bench/replay.py`): so few values hardly tell 1.5 from 4, and 1.5 makes
intervals twice as wide."""

_STEPS = 60
"""Steps of the scale's iteration (Dempster, Laird & Rubin 1977), which gains a digit in three to five."""

Group = Sequence[Floats]
"""The places of one benchmark's sessions, in logarithms: an array of each side, shape (sessions,)."""


@dataclass(frozen=True, slots=True)
class SuiteSpread:
    """The spread of sessions in a suite: `prior` of a variance, and Student's t of a prediction's error.

    `scale`: the scale of that t in standard errors; `freedom`: its degrees of freedom, few where tails are heavy.
    `benchmarks`: how many it rests on.
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
        """Return a benchmark's own degrees of freedom, and its variance from session to session as moderated."""
        freedom, squares = _within(group)
        own = squares / freedom if freedom else 0.0
        return freedom, moderate(own, freedom, self.prior)[0]


def suite_spread(groups: Sequence[Group]) -> SuiteSpread | None:
    """Learn from benchmarks of one unit how far their sessions differ; None where they are too few.

    A side with a single session says nothing here. Programs that never change are groups of one side.
    """
    within = [(group, *_within(group)) for group in groups]
    known = [(freedom, squares / freedom) for _, freedom, squares in within if freedom and squares > 0]
    if len(known) < PEERS or sum(freedom for freedom, _ in known) < LEAST:
        return None
    prior = prior_of([variance for _, variance in known], [freedom for freedom, _ in known])
    misses = np.concatenate(
        [_misses(group, freedom, squares, prior) for group, freedom, squares in within if freedom and squares > 0]
    )
    # Distances to a mean of few are not independent: they are worth their degrees of freedom.
    scale, freedom = student_fit(misses, sum(freedom for freedom, _ in known) / len(misses))
    return SuiteSpread(prior, scale, freedom, len(known))


def _within(group: Group) -> tuple[float, float]:
    """Return degrees of freedom and the sum of squares of sessions about the mean of their side."""
    freedom = float(sum(len(side) - 1 for side in group))
    return freedom, float(sum(((side - side.mean()) ** 2).sum() for side in group))


def _misses(group: Group, freedom: float, squares: float, prior: Prior) -> Floats:
    """Return by how many standard errors each session is missed by the prediction from the others of its side."""
    parts = []
    for side in group:
        count = len(side)
        if count < 2:
            continue
        # Without a session: its distance to the mean of the others, and what is left of the sum of squares.
        distance = (side - side.mean()) * count / (count - 1)
        left = np.maximum(squares - distance**2 * (count - 1) / count, 0.0)
        total = freedom - 1 + prior.freedom
        variance = (left + prior.freedom * prior.value) / total
        parts.append(distance / np.sqrt(variance * count / (count - 1)))
    return np.concatenate(parts)


def student_fit(values: Floats, worth: float = 1.0) -> tuple[float, float]:
    """Return scale and degrees of freedom of Student's t about zero with the largest posterior density.

    `worth`: how many independent values each is worth. The prior is that of USUAL and LOOSE. The scale of each of
    FREEDOM by expectation and maximisation (Lange, Little & Taylor 1989, J. Am. Stat. Assoc. 84:881). `values`: shape
    (n,), not all zero.
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
