"""Box and Cox's power of the response: the power under which the residuals of a model are closest to normal and even.

Box & Cox 1964 (J. R. Stat. Soc. B 26:211). The likelihood is that of the residuals of the *model*, not of the sample:
`scipy.stats.boxcox` has no model and returns another power.

Public: BoxCox, box_cox, transformed, restored, ROUND.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import chdtri

from becalm.stats.arrays import Floats
from becalm.surfaces.least_squares import fit

REACH = 5.0
"""Powers are searched from -5 to 5."""

ROUND = (1.0, 0.0, 0.5, -1.0, -0.5, 2.0, -2.0, -1.5, 1.5, 3.0, -3.0)
"""Powers with a plain meaning, the simplest first."""


class BoxCox(msgspec.Struct, frozen=True):
    """The best power, the ends of its interval (infinite beyond the searched range), and the curve of the log
    likelihood, shape (201,), with the `limit` above which powers are within the interval."""

    power: float
    low: float
    high: float
    powers: Floats
    likelihoods: Floats
    limit: float

    @property
    def advised(self) -> float:
        """The simplest power within the interval; the best power where none is."""
        return next((power for power in ROUND if self.low <= power <= self.high), self.power)


def transformed(y: Floats, power: float) -> Floats:
    """Return (y^power - 1) / power, or the logarithm for 0; it rises with y for every power."""
    if power == 1:
        return y
    if abs(power) < 1e-9:
        return np.asarray(np.log(y))
    return np.asarray(np.expm1(power * np.log(y)) / power)


def restored(z: Floats, power: float) -> Floats:
    """Return the inverse of `transformed`; 0 or infinity beyond its range."""
    if power == 1:
        return z
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if abs(power) < 1e-9:
            return np.asarray(np.exp(z))
        base = np.maximum(1 + power * z, 0.0)
        return np.asarray(base ** (1 / power))


def box_cox(matrix: Floats, y: Floats, level: float = 0.05) -> BoxCox:
    """Return the best power for a response `y`, shape (n,), given the columns of its model, shape (n, p).

    `level`: the error level of the interval. Raises ValueError for a response that is not above 0, and where no run is
    left for the error."""
    if (y <= 0).any():
        raise ValueError(f"A power transformation needs values above 0; the smallest is {y.min():g}.")
    logs = np.log(y)
    # In units of the geometric mean the normalised response is the transformed one.
    scaled = np.exp(logs - logs.mean())
    first = fit(matrix, scaled)
    if first.freedom < 1:
        raise ValueError("No runs are left to estimate the error.")
    basis, count = first.basis, len(y)

    def likelihood(power: float) -> float:
        z = transformed(scaled, power) if power != 1 else scaled - 1
        rest = z - basis @ (basis.T @ z)
        return -0.5 * count * math.log(max(float(rest @ rest), 1e-300) / count)

    powers = np.linspace(-REACH, REACH, 201)
    curve = np.array([likelihood(float(power)) for power in powers])
    place = int(curve.argmax())
    ends = (float(powers[max(0, place - 1)]), float(powers[min(len(powers) - 1, place + 1)]))
    best = float(minimize_scalar(lambda p: -likelihood(p), bounds=ends, method="bounded", options={"xatol": 1e-10}).x)
    limit = likelihood(best) - float(chdtri(1, level)) / 2

    def end(outermost: float) -> float:
        if likelihood(outermost) > limit:
            return math.copysign(math.inf, outermost)
        return float(brentq(lambda p: likelihood(p) - limit, best, outermost, xtol=1e-11))

    # Log likelihood of the response itself, as R's MASS::boxcox has it, differs by a constant.
    return BoxCox(best, end(-REACH), end(REACH), powers, curve, limit)
