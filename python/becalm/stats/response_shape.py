"""The shape of the delay over one measure of load: none, linear, faster than linear from a point on, parallel shift.

Load cannot reduce the delay, so a falling delay has no shape. Least squares with the Bayesian information criterion
(Schwarz 1978) chooses among few shapes; Theil-Sen's slope and Spearman's correlation, which are robust against
outliers, are given in addition. Public: ResponseShape, shape, theil_sen, spearman.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import fdtri, ndtri, stdtr

from becalm.stats.normal_scores import midranks

Floats = npt.NDArray[np.float64]

NONE, LINEAR, FROM, FASTER, SHIFT = (
    "none", "linear", "linear from a point on", "faster than linear from a point on", "parallel shift",
)  # fmt: skip
SHAPES = (NONE, LINEAR, FROM, FASTER, SHIFT)

SIGNIFICANT = 0.05
"""The largest p of Spearman's test for a shape other than none."""

KNEES = 40
"""The number of candidates for the point from which the delay rises."""


class ResponseShape(msgspec.Struct, frozen=True):
    """The fitted shape; `kind` is one of SHAPES.

    - `slope`: delay per unit of the measure, after the knee where there is one
    - `before`: the slope up to the knee
    - `level`: the height of a parallel shift
    - `knee`, with its interval: in the unit of the measure
    - `theil_sen`, with `low` and `high` at 95 %
    - `rho`, `p_value`: Spearman's
    """

    kind: str
    slope: float
    intercept: float
    theil_sen: float
    low: float
    high: float
    rho: float
    p_value: float
    before: float = 0.0
    level: float = 0.0
    knee: float | None = None
    knee_low: float | None = None
    knee_high: float | None = None

    def at(self, x: Floats) -> Floats:
        """Return the fitted delay at values of the measure, any shape."""
        if self.kind == SHIFT:
            return np.asarray(self.intercept + self.level * (x > (self.knee or 0.0)))
        beyond = np.zeros_like(x) if self.knee is None else np.maximum(0.0, x - self.knee)
        first = self.slope if self.knee is None else self.before
        return np.asarray(self.intercept + first * x + (self.slope - first) * beyond)


def shape(x: npt.ArrayLike, y: npt.ArrayLike, floor: float = 0.0) -> ResponseShape:
    """Return the shape of `y` over `x`, both of shape (n,), n >= 3; `floor`: the largest load that counts as none.

    Raises ValueError for fewer values.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(a) != len(b) or len(a) < 3:
        raise ValueError(
            f"A response shape needs at least three pairs of values; there are {len(a)} and {len(b)} values."
        )
    slope, low, high = theil_sen(a, b)
    rho, p_value = spearman(a, b)
    ones = np.ones_like(a)
    fits: dict[str, tuple[float, list[float], float | None]] = {NONE: (*_fit(b, ones), None)}
    if np.ptp(a) > 0 and p_value <= SIGNIFICANT:
        fits[LINEAR] = (*_fit(b, ones, a), None)
        above = (a > floor).astype(np.float64)
        if 2 <= above.sum() <= len(a) - 2:
            fits[SHIFT] = (*_fit(b, ones, above), floor)
        if len(a) >= 8:
            knees = np.unique(np.quantile(a, np.linspace(0.1, 0.85, KNEES)))
            fits[FROM] = min(((*_fit(b, ones, _beyond(a, k)), float(k)) for k in knees), key=lambda fit: fit[0])
            fits[FASTER] = min(((*_fit(b, ones, a, _beyond(a, k)), float(k)) for k in knees), key=lambda fit: fit[0])
            if fits[FASTER][1][1] <= 0:
                del fits[FASTER]
        # Load cannot reduce the delay: a falling fit is not a shape.
        fits = {name: fit for name, fit in fits.items() if name == NONE or fit[1][-1] > 0}
    kind = min(fits, key=lambda fit: _criterion(fits[fit][0], len(a), _parameters(fit), float(b.var())))
    residual, coefficients, knee = fits[kind]
    slopes = {NONE: 0.0, SHIFT: 0.0, LINEAR: coefficients[-1], FROM: coefficients[-1], FASTER: sum(coefficients[1:])}
    low_knee, high_knee = (None, None)
    if kind in (FROM, FASTER) and knee is not None:
        low_knee, high_knee = _knee_interval(a, b, kind, residual, knee)
    return ResponseShape(
        kind=kind,
        slope=slopes[kind],
        intercept=coefficients[0],
        theil_sen=slope,
        low=low,
        high=high,
        rho=rho,
        p_value=p_value,
        before=coefficients[1] if kind == FASTER else 0.0,
        level=coefficients[1] if kind == SHIFT else 0.0,
        knee=knee,
        knee_low=low_knee,
        knee_high=high_knee,
    )


def _beyond(x: Floats, knee: float) -> Floats:
    return np.maximum(0.0, x - knee)


def _fit(y: Floats, *columns: Floats) -> tuple[float, list[float]]:
    """Return the residual sum of squares and the coefficients."""
    a = np.column_stack(columns)
    coefficients, *_ = np.linalg.lstsq(a, y, rcond=None)
    return float(((y - a @ coefficients) ** 2).sum()), [float(coefficient) for coefficient in coefficients]


def _parameters(kind: str) -> int:
    return {NONE: 1, LINEAR: 2, SHIFT: 2, FROM: 3, FASTER: 4}[kind]


def _criterion(residual: float, count: int, parameters: int, variance: float) -> float:
    # A perfect fit of exact data must not win by rounding errors.
    return count * math.log(max(residual / count, 1e-12 * variance, 1e-300)) + parameters * math.log(count)


def _knee_interval(x: Floats, y: Floats, kind: str, residual: float, knee: float) -> tuple[float, float]:
    """Return the ends of the knees that an F test at 95 % does not reject (profile likelihood; Seber & Wild 1989,
    9.3)."""
    ones, freedom = np.ones_like(x), max(1, len(x) - _parameters(kind))
    limit = residual * (1 + float(fdtri(1, freedom, 0.95)) / freedom)
    candidates = np.unique(np.quantile(x, np.linspace(0.02, 0.98, 4 * KNEES)))
    columns = (lambda k: (ones, _beyond(x, k))) if kind == FROM else (lambda k: (ones, x, _beyond(x, k)))
    accepted = [float(k) for k in candidates if _fit(y, *columns(float(k)))[0] <= limit]
    return min((knee, *accepted)), max((knee, *accepted))


def theil_sen(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Return the median of the slopes of all pairs, and its interval at 95 % (Sen 1968, J. Am. Stat. Assoc. 63:1379).

    (0, -inf, inf) where all x are equal.
    """
    i, j = np.triu_indices(len(x), 1)
    run = x[j] - x[i]
    slopes = np.sort((y[j] - y[i])[run != 0] / run[run != 0])
    if len(slopes) == 0:
        return 0.0, -math.inf, math.inf
    n = len(x)
    _, ties = np.unique(x, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    half_width = -float(ndtri(0.025)) * math.sqrt(max(variance, 0.0))
    first, last = math.floor((len(slopes) - half_width) / 2), math.ceil((len(slopes) + half_width) / 2)
    low = float(slopes[first - 1]) if first >= 1 else -math.inf
    high = float(slopes[last]) if last < len(slopes) else math.inf
    return float(np.median(slopes)), low, high


def spearman(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the correlation of ranks and its two-sided p by Student's t (Kendall & Stuart 1973, 31.19).

    (0, 1) for a constant series.
    """
    if np.ptp(x) == 0 or np.ptp(y) == 0 or len(x) < 3:
        return 0.0, 1.0
    rho = float(np.corrcoef(midranks(x), midranks(y))[0, 1])
    if abs(rho) >= 1 - 1e-12:
        return math.copysign(1.0, rho), 0.0
    t = rho * math.sqrt((len(x) - 2) / (1 - rho * rho))
    return rho, 2 * float(stdtr(len(x) - 2, -abs(t)))
