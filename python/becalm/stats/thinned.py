"""A series shortened for storing it with a verdict and drawing it: its quantiles, and its course."""

from __future__ import annotations

import numpy as np

from becalm.stats.arrays import Floats, median_of

QUANTILES, COURSE = 101, 200
"""The most values of quantiles and of a course."""


def quantiles(values: Floats) -> tuple[float, ...]:
    """Return all values in order where they are few, else every hundredth part (Hyndman & Fan 1996, type 7).

    The first is the smallest and the last the largest value, so that a picture of them ends where the runs do.
    """
    if len(values) <= QUANTILES:
        return tuple(float(value) for value in np.sort(values))
    return tuple(float(value) for value in np.quantile(values, np.linspace(0, 1, QUANTILES)))


def course(values: Floats) -> tuple[float, ...]:
    """Return the values in the order of measuring where they are few, else medians of as many pieces of them."""
    if len(values) <= COURSE:
        return tuple(float(value) for value in values)
    return tuple(median_of(piece) for piece in np.array_split(values, COURSE))


def density(points: Floats, places: Floats) -> Floats:
    """Return a Gaussian kernel density of `points` at `places`, shapes (n,) and (k,); zero beyond smallest and largest.

    The width is Silverman's (1986, eq. 3.31), with the smaller of deviation and interquartile range. The mass of
    kernels beyond the ends is reflected at them, so that the picture ends where the runs do without being thinner
    there.
    """
    low, high = float(points.min()), float(points.max())
    if high <= low:
        return np.where(places == low, 1.0, 0.0)
    quartiles = float(np.subtract(*np.quantile(points, (0.75, 0.25)))) / 1.34
    spread = min(float(points.std()), quartiles) or float(points.std())
    width = max(0.9 * spread * len(points) ** -0.2, (high - low) / 200)
    mirrored = np.concatenate([points, 2 * low - points, 2 * high - points])
    densities = np.exp(-0.5 * ((places[:, None] - mirrored[None, :]) / width) ** 2).sum(axis=1)
    densities /= len(points) * width * np.sqrt(2 * np.pi)
    return np.where((places < low) | (places > high), 0.0, densities)


def step_ends(points: Floats) -> tuple[Floats, Floats]:
    """Return places and heights of the empirical distribution as steps: 0 at the smallest value, 1 at the largest."""
    x = np.sort(points)
    heights = np.arange(1, len(x) + 1) / len(x)
    return np.concatenate([x[:1], x]), np.concatenate([[0.0], heights])
