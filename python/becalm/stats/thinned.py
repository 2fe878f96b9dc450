"""A series made short enough to be kept with a verdict and drawn: its quantiles, and its course."""

from __future__ import annotations

import numpy as np

from becalm.stats.arrays import Floats, median_of

QUANTILES, COURSE = 101, 200
"""At most so many values of each are kept."""


def quantiles(values: Floats) -> tuple[float, ...]:
    """All values in order where there are few, else every hundredth part (Hyndman & Fan 1996, type 7).

    The first is the smallest and the last the largest value: a picture made of them ends where the runs do.
    """
    if len(values) <= QUANTILES:
        return tuple(float(each) for each in np.sort(values))
    return tuple(float(each) for each in np.quantile(values, np.linspace(0, 1, QUANTILES)))


def course(values: Floats) -> tuple[float, ...]:
    """The values in the order they were measured where there are few, else medians of as many pieces of them."""
    if len(values) <= COURSE:
        return tuple(float(each) for each in values)
    return tuple(median_of(part) for part in np.array_split(values, COURSE))


def density(points: Floats, places: Floats) -> Floats:
    """A Gaussian kernel density of `points` at `places`, shapes (n,) and (k,); zero beyond the smallest and largest.

    Silverman's width (1986, eq. 3.31), the smaller of deviation and interquartile range; mass that the kernels would
    put beyond the ends is reflected at them, so that the picture ends where the runs do and is not thinned there.
    """
    low, high = float(points.min()), float(points.max())
    if high <= low:
        return np.where(places == low, 1.0, 0.0)
    quartiles = float(np.subtract(*np.quantile(points, (0.75, 0.25)))) / 1.34
    spread = min(float(points.std()), quartiles) or float(points.std())
    width = max(0.9 * spread * len(points) ** -0.2, (high - low) / 200)
    mirrored = np.concatenate([points, 2 * low - points, 2 * high - points])
    found = np.exp(-0.5 * ((places[:, None] - mirrored[None, :]) / width) ** 2).sum(axis=1)
    found /= len(points) * width * np.sqrt(2 * np.pi)
    return np.where((places < low) | (places > high), 0.0, found)


def step_ends(points: Floats) -> tuple[Floats, Floats]:
    """Places and heights of the empirical distribution as steps: 0 at the smallest value, 1 at the largest."""
    x = np.sort(points)
    heights = np.arange(1, len(x) + 1) / len(x)
    return np.concatenate([x[:1], x]), np.concatenate([[0.0], heights])
