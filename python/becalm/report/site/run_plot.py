"""Small plots of a site as SVG, without matplotlib: a thousand of them take a second and little room.

The page's style sheet colours them; they contain no text from elsewhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

WIDE, HIGH = 640, 84
MOST = 300
"""The number of points of a plot."""

FENCE = 3.0
"""The number of interquartile ranges beyond the quartiles from which a run is drawn at the edge (Tukey)."""


def limits_of(programs: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the ends of an axis for the runs of several programs, which a few distant runs do not stretch."""
    ends = [_limits(np.array(values, dtype=float)) for values in programs if len(values)]
    return min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=1.0)


def runs_in_order(values: Sequence[float], limits: tuple[float, float] | None = None) -> str:
    """Return the plot of a program's runs in the order in which they were measured; empty for fewer than two.

    `limits`: the ends of the axis [default: those of these runs]. Of more than MOST runs, the smallest and the largest
    of each stretch are drawn.
    """
    finite = np.array([value for value in values if math.isfinite(value)], dtype=float)
    if len(finite) < 2:
        return ""
    order, thinned = _thinned(finite)
    low, high = limits or _limits(finite)
    xs = 4 + order / (len(finite) - 1) * (WIDE - 8)
    ys = 4 + (high - np.clip(thinned, low, high)) / (high - low) * (HIGH - 8)
    beyond = (thinned < low) | (thinned > high)
    middle = 4 + (high - float(np.median(finite))) / (high - low) * (HIGH - 8)
    paths = (("dots", xs[~beyond], ys[~beyond]), ("dots far", xs[beyond], ys[beyond]))
    dots = "".join(f'<path class="{name}" d="{_dots(x, y)}"/>' for name, x, y in paths if len(x))
    line = f'<path class="median" d="M4 {middle:.0f}h{WIDE - 8}"/>'
    return f'<svg class="plot" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-hidden="true">{line}{dots}</svg>'


def _limits(values: np.ndarray) -> tuple[float, float]:
    quarter, upper = (float(quantile) for quantile in np.quantile(values, (0.25, 0.75)))
    room = FENCE * (upper - quarter)
    low, high = max(float(values.min()), quarter - room), min(float(values.max()), upper + room)
    if high - low < abs(high) * 1e-9 + 1e-300:
        return low - (abs(low) * 0.01 or 1.0), high + (abs(high) * 0.01 or 1.0)
    return low, high


def _thinned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(values) <= MOST:
        return np.arange(len(values)), values
    bounds = np.linspace(0, len(values), MOST // 2 + 1).astype(int)
    places = sorted(
        {
            int(begin + pick(values[begin:end]))
            for begin, end in itertools.pairwise(bounds)
            for pick in (np.argmin, np.argmax)
        }
    )
    return np.array(places), values[places]


def _dots(xs: np.ndarray, ys: np.ndarray) -> str:
    return "".join(f"M{x:.0f} {y:.0f}h0" for x, y in zip(xs, ys, strict=True))


def sparkline(values: Sequence[float], changes: Sequence[tuple[int, bool]] = ()) -> str:
    """Return a small plot of a benchmark's history. `changes`: positions of steps, and whether for the worse."""
    finite = [(place, value) for place, value in enumerate(values) if math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(value for _, value in finite), max(value for _, value in finite)
    # The axis spans at least two percent, so that small scatter looks small.
    least = 0.02 * abs(finite[0][1]) or 1.0
    if high - low < least:
        low, high = (high + low - least) / 2, (high + low + least) / 2
    last = max(len(values) - 1, 1)

    def at(place: int, value: float) -> str:
        return f"{2 + place / last * 156:.1f} {2 + (high - value) / (high - low) * 28:.1f}"

    known = dict(finite)
    line = "M" + "L".join(at(place, value) for place, value in finite)
    marks = "".join(
        f'<circle class="{"worse" if worse else "better"}" cx="{x}" cy="{y}" r="2.6"/>'
        for place, worse in changes
        if place in known
        for x, y in (at(place, known[place]).split(),)
    )
    return f'<svg class="spark" viewBox="0 0 160 32" role="img" aria-hidden="true"><path d="{line}"/>{marks}</svg>'
