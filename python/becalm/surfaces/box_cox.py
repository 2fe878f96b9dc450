"""Box and Cox's power of the response: the one under which the model's residuals are most nearly normal and even.

Box & Cox 1964 (J. R. Stat. Soc. B 26:211). The likelihood is that of the residuals of the *model*, not of the sample:
`scipy.stats.boxcox` knows no model and finds another power.

Public: BoxCox, box_cox, transformed, restored, ROUND.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import chdtri

from becalm.stats.arrays import Floats
from becalm.surfaces.least_squares import fit

REACH = 5.0
"""Powers from -5 to 5 are looked at."""

ROUND = (1.0, 0.0, 0.5, -1.0, -0.5, 2.0, -2.0, -1.5, 1.5, 3.0, -3.0)
"""Powers that have a meaning, the plainest first."""


@dataclass(frozen=True, slots=True)
class BoxCox:
    """The best power with its interval (ends may be infinite: beyond what was looked at), and the curve of the log
    likelihood with the `limit` that the interval is above."""

    power: float
    low: float
    high: float
    powers: Floats
    likelihoods: Floats
    limit: float

    @property
    def advised(self) -> float:
        """The plainest power within the interval; 1 where it is."""
        return next((each for each in ROUND if self.low <= each <= self.high), self.power)


def transformed(y: Floats, power: float) -> Floats:
    """Return (y^power - 1) / power, the logarithm for 0: rises with y whatever the power."""
    if power == 1:
        return y
    if abs(power) < 1e-9:
        return np.asarray(np.log(y))
    return np.asarray(np.expm1(power * np.log(y)) / power)


def restored(z: Floats, power: float) -> Floats:
    """Return the inverse of `transformed`; beyond the range of `transformed`, 0 or infinity."""
    if power == 1:
        return z
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if abs(power) < 1e-9:
            return np.asarray(np.exp(z))
        base = np.maximum(1 + power * z, 0.0)
        return np.asarray(base ** (1 / power))


def box_cox(matrix: Floats, y: Floats, level: float = 0.05) -> BoxCox:
    """Return the power for a response by the columns of its model. Raises ValueError for a response that is not above
    0, and where no run is left for the error."""
    if (y <= 0).any():
        raise ValueError(f"A power needs values above 0; the smallest is {y.min():g}.")
    logs = np.log(y)
    # In units of the geometric mean the normalised response is the transformed one.
    scaled = np.exp(logs - logs.mean())
    first = fit(matrix, scaled)
    if first.freedom < 1:
        raise ValueError("No run is left for the error.")
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
