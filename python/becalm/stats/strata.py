"""One estimate from several series of pairs that are not equally precise, such as pairs in turns and at once.

The score of a pair counts in inverse proportion to the scale of its series, which is the combination by inverse
variance (Huber's estimator of a location that several scales have in common). Scales come from the sizes of e = d -
theta, and not from their signs, so each score has a random sign as before, and `becalm.stats.paired.RepeatedPairs`
treats such a sample like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.paired import PairedDifferences, PairedScore

LEAST_SCALE = 1e-6
"""The least scale, as a share of the largest: a series without noise does not outweigh all others."""


class Strata:
    """Several series of pairs as one sample; empty ones have no weight."""

    def __init__(self, series: Sequence[PairedDifferences]) -> None:
        self.series = tuple(series)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of pairs of each series."""
        return tuple(pairs.count for pairs in self.series)

    @property
    def count(self) -> int:
        """The number of pairs of all series."""
        return sum(self.sizes)

    @property
    def coins(self) -> float:
        """The number of pairs of equal weight that are worth as much as these (Kish 1965, Survey Sampling, sec.
        11.7)."""
        weights = np.repeat(self.score(self.middle()).weights, [pairs.count for pairs in self.series if pairs.count])
        return float(weights.sum()) ** 2 / float((weights**2).sum())

    def middle(self) -> float:
        """Return the median difference of the most precise series."""
        return min((pairs for pairs in self.series if pairs.count), key=_median_variance).middle()

    def score(self, anchor: float) -> StrataScore:
        """Return the scores with the scales of `anchor`."""
        return StrataScore([pairs.score(anchor) for pairs in self.series if pairs.count])


def _median_variance(pairs: PairedDifferences) -> float:
    """Return the variance of the median of a series, up to a constant factor."""
    return pairs.score(pairs.middle()).scale ** 2 / pairs.count


class StrataScore:
    """The scores of all series, one after the other, in units of the smallest scale."""

    def __init__(self, parts: Sequence[PairedScore]) -> None:
        self.parts = parts
        largest = max(part.scale for part in parts)
        scales = [max(part.scale, LEAST_SCALE * largest) for part in parts]
        self.scale = min(scales)
        self.weights = [self.scale / scale if scale > 0.0 else 1.0 for scale in scales]
        informations = [weight**2 * part.pairs.count for weight, part in zip(self.weights, parts, strict=True)]
        self.beta = sum(part.beta * information for part, information in zip(parts, informations, strict=True)) / sum(
            informations
        )

    def scores(self, theta: float) -> Floats:
        """Return the weighted scores."""
        return np.concatenate(
            [weight * part.scores(theta) for weight, part in zip(self.weights, self.parts, strict=True)]
        )

    def slope(self, theta: float) -> float:
        """Return the derivative of the sum of the scores with respect to theta, negated."""
        return sum(weight * part.slope(theta) for weight, part in zip(self.weights, self.parts, strict=True))
