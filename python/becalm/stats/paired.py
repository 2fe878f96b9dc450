"""The estimator of `compare`: how much slower one program is than another, from randomly ordered pairs.

A plan runs rounds; each runs every program once, in an order that is drawn at random. If the candidate takes exp(theta)
times as long as the reference, the rest of the times belongs to the positions of the runs, and which program got which
position was a fair coin in each round. So e_i = d_i - theta (d: difference of the logarithms) has a random sign given
all sizes. The drift, the autocorrelation, the bursts and the tails of the noise do not matter: the randomisation itself
is the basis of inference (Fisher 1935, The Design of Experiments; Pitman 1937, J. R. Stat. Soc. Suppl. 4:119).

S = sum psi(e_i / s) over the root of V = sum psi(e_i / s)^2 then has mean 0 and variance 1, and the normal distribution
applies from six pairs on (Efron 1969, J. Am. Stat. Assoc. 64:1278; measured in docs/explanation/statistics.md). The
interval contains every theta for which |S| / sqrt(V) stays below the critical value of the look, all computed under
that theta; the estimate is where S vanishes. psi is Huber's score: outliers are bounded, never deleted.

Slow drift is removed by means of the neighbours (Papadakis 1937; Bartlett 1978, J. R. Stat. Soc. B 40:147): the time of
the run before a round and of the one after it give a slope, and a share beta of the difference that this slope explains
is subtracted from e_i. Swapping the labels within a round changes the sign of both terms, so e_i keeps its random sign
for every beta that is computed from products that are invariant under a swap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, clip, dot, median_of, series
from becalm.stats.huber import BOUND, psi, scale
from becalm.stats.normal import ndtr
from becalm.stats.power import detectable_in_pairs
from becalm.stats.root_finding import Function, outward, root
from becalm.stats.sequential import ErrorSpending

CLIP = 3.0
"""The bound on neighbours, in robust standard deviations of d, so that an outlier does not affect rounds next to it."""


class PairedEstimate(msgspec.Struct, frozen=True):
    """The estimate of log(candidate / reference) from the pairs, in log units except `pairs`, `critical` and `p_value`.

    - `low`, `high`: valid at all looks jointly; infinite while nothing is known
    - `detectable`: the true difference that would have been detected at this look with probability 0.8
    - `p_value`: two-sided, for this look alone, not corrected for repeated looks
    - `adjusted`: beta, the share of the neighbours' slope that was subtracted; 0 means none
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    pairs: int
    critical: float
    detectable: float
    p_value: float
    adjusted: float


class Scored(Protocol):
    """The scores of a sample, whose scale and beta are those of one value of theta."""

    scale: float
    beta: float

    def scores(self, theta: float) -> Floats:
        """Return a score for each pair, of random sign under the true theta."""
        ...

    def slope(self, theta: float) -> float:
        """Return the derivative of the sum of the scores with respect to theta, negated."""
        ...


class PairedSample(Protocol):
    """The pairs from which one theta is estimated: `PairedDifferences`, or several series of them
    (`becalm.stats.strata`)."""

    @property
    def sizes(self) -> Sequence[int]:
        """The number of pairs of each series; scores come one series after the other."""
        ...

    @property
    def count(self) -> int:
        """The number of pairs."""
        ...

    @property
    def coins(self) -> float:
        """The number of pairs of equal weight that have the same effect as these."""
        ...

    def middle(self) -> float:
        """Return a value near the estimate."""
        ...

    def score(self, anchor: float) -> Scored:
        """Return the scores with the scale of `anchor`, a value of theta."""
        ...


class RepeatedPairs:
    """A sequence of looks at a growing series of pairs; the intervals of all looks jointly miss the truth with rate
    `alpha`."""

    def __init__(self, alpha: float = 0.05) -> None:
        self._spending = ErrorSpending(alpha)
        self._sizes: tuple[int, ...] = ()
        self._information = 0.0
        self._interval = (-math.inf, math.inf)
        self._critical = math.inf

    def look(
        self,
        reference: npt.ArrayLike,
        candidate: npt.ArrayLike,
        reference_position: npt.ArrayLike,
        candidate_position: npt.ArrayLike,
        fraction: float,
    ) -> PairedEstimate:
        """Return the estimate from all pairs so far.

        `reference`, `candidate`: natural logarithms of the times, shape (rounds,), in order. The positions number all
        runs of the measurement in the order of execution, shape (rounds,). `fraction`: share of the budget used, 0 to
        1. Each look needs all pairs again; the same looks give the same numbers. A look that may spend nothing, because
        it adds too little, keeps the last interval. Raises ValueError for values that are not finite, arrays of
        different length, or fewer pairs than at the last look.
        """
        return self.look_at(
            PairedDifferences.of(reference, candidate, reference_position, candidate_position), fraction
        )

    def look_at(self, pairs: PairedSample, fraction: float) -> PairedEstimate:
        """Return the estimate from a sample of all pairs so far. Raises ValueError for fewer than at the last look."""
        before = self._sizes or (0,) * len(pairs.sizes)
        if any(now < then for now, then in zip(pairs.sizes, before, strict=True)):
            raise ValueError(f"A look needs all pairs measured so far: {pairs.count} were given after {sum(before)}.")
        estimate = locate(pairs)
        score = pairs.score(estimate)
        error = standard_error(score, estimate)
        critical = self._spending.look(fraction, self._grow(score.scores(estimate), pairs.sizes))
        self._sizes = tuple(pairs.sizes)
        if math.isfinite(critical):
            self._critical = critical
            step = critical * (error if math.isfinite(error) else score.scale)
            self._interval = interval(pairs, estimate, step, critical)
        return PairedEstimate(
            estimate=estimate,
            low=self._interval[0],
            high=self._interval[1],
            standard_error=error,
            pairs=pairs.count,
            critical=self._critical,
            detectable=detectable_in_pairs(error, self._critical, pairs.coins),
            p_value=2 * float(ndtr(-abs(standardised(pairs, 0.0)))),
            adjusted=score.beta,
        )

    def _grow(self, scores: Floats, sizes: Sequence[int]) -> float:
        """Return the information on a common scale: it grows by the factor by which the new pairs raise V."""
        count = sum(sizes)
        if sum(self._sizes) == 0:
            self._information = float(count)
        elif count > sum(self._sizes):
            squares = scores**2
            before, start = 0.0, 0
            for size, old in zip(sizes, self._sizes, strict=True):
                before += float(squares[start : start + old].sum())
                start += size
            self._information *= float(squares.sum()) / before if before > 0.0 else count / sum(self._sizes)
        return self._information


class PairedDifferences(msgspec.Struct, frozen=True):
    """The differences d, shape (pairs,), and their drift by the neighbours.

    `drift`: slope of y times the distance within the round; `label`: the same for the label (1 for the candidate, 0 for
    the reference), so that any theta can be subtracted afterwards.
    """

    difference: Floats
    drift: Floats
    label: Floats

    @property
    def count(self) -> int:
        """The number of pairs."""
        return len(self.difference)

    @property
    def sizes(self) -> tuple[int]:
        """The number of pairs of this one series."""
        return (self.count,)

    @property
    def coins(self) -> float:
        """The number of pairs, which all count alike."""
        return float(self.count)

    def middle(self) -> float:
        """Return the median difference."""
        return median_of(self.difference)

    def score(self, anchor: float) -> PairedScore:
        """Return the scores with the scale of `anchor`."""
        return PairedScore(self, anchor)

    @classmethod
    def of(
        cls,
        reference: npt.ArrayLike,
        candidate: npt.ArrayLike,
        reference_position: npt.ArrayLike,
        candidate_position: npt.ArrayLike,
    ) -> PairedDifferences:
        """Check the arrays and find each round's neighbours; the first and the last round have none."""
        y0, y1 = (
            equal_length(reference, "The reference's times"),
            equal_length(candidate, "The candidate's times", reference),
        )
        at0 = equal_length(reference_position, "The reference's positions", reference)
        at1 = equal_length(candidate_position, "The candidate's positions", reference)
        drift, label = np.zeros(len(y0)), np.zeros(len(y0))
        if len(y0) > 2:
            # The run before a round is the last one of the round before it. No copies are made: there may be millions
            # of runs.
            first = at1 < at0
            before, after = ~first[:-2], first[2:]
            distance = np.where(after, at1[2:], at0[2:])
            distance -= np.where(before, at1[:-2], at0[:-2])
            share = at1[1:-1] - at0[1:-1]
            share[distance <= np.abs(share)] = 0.0
            share /= np.maximum(distance, 1.0, out=distance)
            slope = drift[1:-1]
            slope[:] = np.where(after, y1[2:], y0[2:])
            slope -= np.where(before, y1[:-2], y0[:-2])
            slope *= share
            np.subtract(after, before, out=label[1:-1], dtype=np.float64)
            label[1:-1] *= share
        return cls(y1 - y0, drift, label)


NO_PAIRS = PairedDifferences(np.zeros(0), np.zeros(0), np.zeros(0))
"""A series without any pair."""


def equal_length(values: npt.ArrayLike, name: str, other: npt.ArrayLike | None = None) -> Floats:
    """Return a finite series. Raises ValueError unless it is as long as `other`."""
    array = series(values, name)
    if other is not None and len(array) != np.size(other):
        raise ValueError(
            f"{name} have {len(array)} values, and the reference's times {np.size(other)}; pairs need the same number."
        )
    return array


class PairedScore:
    """S(theta) and V(theta) of one look. Scale and beta are those of `anchor`, a value of theta."""

    def __init__(self, pairs: PairedDifferences, anchor: float) -> None:
        self.pairs = pairs
        centred = pairs.difference - anchor
        spread = scale(centred)
        self.limit = CLIP * spread
        self.beta = self._share(centred, anchor) if spread > 0.0 else 0.0
        # A drift without any noise is removed entirely; a rounding error is not a scale.
        self.scale = max(scale(self.residuals(anchor)), 1e-9 * spread)

    def _share(self, centred: Floats, anchor: float) -> float:
        """Return the regression of the differences on the differences that the slopes predict, through zero, limited to
        0…1.

        The estimate b is shrunk to b - var(b) / b, so that a few pairs of white noise are left alone.
        """
        slope = self._slopes(anchor)
        product = clip(centred, -self.limit, self.limit)
        product *= slope
        total = float(product.sum())
        if total <= 0.0:
            return 0.0
        square = np.square(slope, out=slope)
        squares = float(square.sum())
        share = total / squares
        noise = product
        noise -= np.multiply(square, share, out=square)
        return min(1.0, max(0.0, share - dot(noise, noise) / (total * squares)))

    def _slopes(self, theta: float) -> Floats:
        """Return the limited slope of each pair under theta. Here and below few new arrays are made: there may be
        millions of pairs."""
        slopes = self.pairs.label * -theta
        slopes += self.pairs.drift
        return clip(slopes, -self.limit, self.limit)

    def residuals(self, theta: float) -> Floats:
        """Return e_i(theta), shape (pairs,), decreasing in theta."""
        e = self.pairs.difference - theta
        if self.beta > 0.0:
            slopes = self._slopes(theta)
            e -= np.multiply(slopes, self.beta, out=slopes)
        return e

    def scores(self, theta: float) -> Floats:
        """Return psi(e_i / s), shape (pairs,)."""
        e = self.residuals(theta)
        return psi(np.divide(e, self.scale, out=e)) if self.scale > 0.0 else np.sign(e)

    def slope(self, theta: float) -> float:
        """Return the derivative of the sum of the scores with respect to theta, negated."""
        if self.scale == 0.0:
            return 0.0
        inside = (1.0 - self.beta * self.pairs.label)[np.abs(self.scores(theta)) < BOUND]
        return float(inside.sum()) / self.scale


def standardised(pairs: PairedSample, theta: float) -> float:
    """Return S / sqrt(V), 0 when both vanish, with scale and beta computed under the tested theta."""
    scores = pairs.score(theta).scores(theta)
    root_v = math.sqrt(dot(scores, scores))
    return float(scores.sum()) / root_v if root_v > 0.0 else 0.0


def locate(pairs: PairedSample) -> float:
    """Return the theta at which S vanishes, which is farthest from being rejected."""
    middle = pairs.middle()
    step = pairs.score(middle).scale / 8
    if step == 0.0:
        return middle
    low = outward(lambda theta: standardised(pairs, theta), middle, -step)
    high = outward(lambda theta: -standardised(pairs, theta), middle, step)
    return root(lambda theta: standardised(pairs, theta), low, high, 1e-6 * step / math.sqrt(pairs.count))


def standard_error(score: Scored, estimate: float) -> float:
    """Return sqrt(V) / |S'| at the estimate; infinite for a single pair."""
    scores = score.scores(estimate)
    if len(scores) < 2:
        return math.inf
    if score.scale == 0.0:
        return 0.0
    slope = score.slope(estimate)
    return math.sqrt(dot(scores, scores)) / slope if slope > 0.0 else math.inf


def interval(pairs: PairedSample, estimate: float, step: float, critical: float) -> tuple[float, float]:
    """Return the interval of theta with |S| / sqrt(V) below `critical`; infinite ends if so few coins cannot exclude
    any.

    `step`: expected distance of the ends from the estimate; 0 when all pairs are alike.
    """
    if 2 * float(ndtr(-critical)) < 2.0 ** (1 - pairs.coins) or math.sqrt(pairs.coins) <= critical:
        return -math.inf, math.inf
    if step == 0.0:
        return estimate, estimate

    def below(theta: float) -> float:
        return standardised(pairs, theta) - critical

    def above(theta: float) -> float:
        return -standardised(pairs, theta) - critical

    return _end(below, estimate, -step), _end(above, estimate, step)


def _end(beyond: Function, estimate: float, step: float) -> float:
    """Return the theta at which `beyond` changes its sign on one side of the estimate; infinite where it does not."""
    outside = outward(beyond, estimate, step)
    if not math.isfinite(outside):
        return outside
    try:
        return root(beyond, min(outside, estimate), max(outside, estimate), 1e-4 * abs(step))
    except ValueError:
        # For few coarse values the score jumps at the estimate, and all others are excluded.
        return estimate
