"""Repeated looks at growing data without raising the rate of false alarms.

`ErrorSpending` is for `compare`: it has a horizon (a budget of time or runs) before which it allows any number of
looks. `symmetric_sequence` needs no horizon, at the cost of an interval that is some 40 % wider; no command uses it, it
is for measurements without an end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, level
from becalm.stats.normal import ndtr
from becalm.stats.quadrature import gauss_legendre
from becalm.stats.root_finding import root

FAR = 8.0
"""The end of the grid: a standard normal variable is beyond it with probability 1e-15."""

NODES = 160
"""The number of Gauss-Legendre nodes on the positive half line: critical values are then exact to 1e-6 down to
LEAST_GROWTH."""

LEAST_GROWTH = 1.01
"""The least growth of information between two looks that count, which the grid resolves."""

LEAST_SPENDING = 1e-12
TOLERANCE = 1e-9


@lru_cache(maxsize=1)
def _rule() -> tuple[Floats, Floats]:
    """Return nodes and weights for the integral from 0 to 1."""
    nodes, weights = gauss_legendre(NODES)
    return (nodes + 1) / 2, weights / 2


def _density(z: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))


class Walk:
    """The standardised statistic of looks so far, given that no symmetric bound was crossed (no effect).

    Between looks at information I and J > I the statistic goes from z to sqrt(I/J) z + sqrt(1 - I/J) N(0, 1). Its
    density where it has not stopped yet is carried from look to look by numerical integration (Armitage, McPherson &
    Rowe 1969, J. R. Stat. Soc. A 132:235; Jennison & Turnbull 2000, Group Sequential Methods, ch. 19).
    """

    def __init__(self) -> None:
        self.information = 0.0
        self._z: Floats = np.empty(0)
        self._mass: Floats = np.empty(0)

    def crossing(self, information: float, bound: float) -> float:
        """Return the probability of crossing +-`bound` first at the next look, which has this information."""
        if self.information == 0.0:
            return 2 * float(ndtr(-bound))
        shrink, noise = self._step(information)
        mean = shrink * self._z
        return 2 * float(self._mass @ (ndtr((mean - bound) / noise) + ndtr((-mean - bound) / noise)))

    def advance(self, information: float, bound: float) -> None:
        """Advance to the next look, stopping where the statistic is beyond +-`bound`."""
        nodes, weights = _rule()
        end = min(bound, FAR)
        z = end * nodes
        if self.information == 0.0:
            density = _density(z)
        else:
            shrink, noise = self._step(information)
            mean = shrink * self._z
            kernel = _density((z[:, None] - mean) / noise) + _density((z[:, None] + mean) / noise)
            density = kernel @ self._mass / noise
        self._z, self._mass, self.information = z, end * weights * density, information

    def _step(self, information: float) -> tuple[float, float]:
        ratio = self.information / information
        return math.sqrt(ratio), math.sqrt(1 - ratio)


def crossing_probability(bounds: Sequence[float], information: Sequence[float]) -> float:
    """Return the probability that |z| reaches its bound at some look although there is no effect.

    `information`: that of each look, increasing by 1 % or more; `bounds`: two-sided, infinity for none; both of shape
    (looks,). Raises ValueError otherwise.
    """
    walk, total = Walk(), 0.0
    for bound, amount in zip(bounds, information, strict=True):
        if amount < LEAST_GROWTH * walk.information or amount <= 0.0:
            raise ValueError(
                f"Information must grow by at least 1 % per look; it goes from {walk.information} to {amount}."
            )
        total += walk.crossing(amount, bound)
        walk.advance(amount, bound)
    return total


class ErrorSpending:
    """Two-sided critical values for looks at unforeseen times: alpha * fraction**power is spent by each look.

    Lan & DeMets (1983, Biometrika 70:659), with the fraction in the units of the budget and the correlation of looks
    from their information (Lan & DeMets 1989, Stat. Med. 8:1191); the family is Kim & DeMets's (1987, Biometrika
    74:149). `power` 2 spends little at first (between Pocock's 1 and O'Brien-Fleming's 3), so that the last look
    costs little more than a single test would.
    """

    def __init__(self, alpha: float = 0.05, power: float = 2.0) -> None:
        if not power > 0.0:
            raise ValueError(f"The power of error spending must be positive; {power} is not.")
        self.alpha = level(alpha)
        self.power = power
        self._walk = Walk()
        self._information = 0.0
        self._spent = 0.0
        self._critical = math.inf

    def look(self, fraction: float, information: float) -> float:
        """Return the value that |z| must reach for a detection at this look; infinity when none of alpha may be spent.

        `fraction`: share of the budget used, clipped to 0…1. `information`: inverse variance of the estimate, in any
        unit; only ratios matter. A look that adds no information gets the last look's value. One that adds less than 1
        % spends nothing and detects nothing, unless it is the last: it then counts as adding 1 %, which can only raise
        its value. Raises ValueError for a value that is not a number, or negative information.
        """
        if not (math.isfinite(fraction) and math.isfinite(information)) or information < 0.0:
            raise ValueError(
                "A look needs a finite share of the budget and a finite amount of information that is not "
                f"negative, not {fraction} and {information}."
            )
        if information == self._information:
            return self._critical
        if information < LEAST_GROWTH * self._information and fraction < 1.0:
            return math.inf
        growth = max(information / self._information, LEAST_GROWTH) if self._information else math.inf
        walk_information = self._walk.information * growth if self._information else 1.0
        self._information = information
        budget = self.alpha * min(max(fraction, 0.0), 1.0) ** self.power - self._spent
        if budget <= LEAST_SPENDING:
            self._critical = math.inf
        else:
            self._critical = root(
                lambda bound: math.log(max(self._walk.crossing(walk_information, bound), 1e-300) / budget),
                0.0,
                FAR,
                TOLERANCE,
            )
            self._spent += budget
        self._walk.advance(walk_information, self._critical)
        return self._critical


def symmetric_sequence(variation: npt.ArrayLike, alpha: float = 0.05, expected: float = 100.0) -> Floats:
    """Return a bound on |S_n|, shape (n,), that holds jointly at every n with probability 1 - alpha, without a horizon.

    S_n is a sum of increments that are symmetric given the past, `variation` the sum of their squares, shape (n,): no
    moment is needed. de la Peña (1999, Ann. Probab. 27:537, lemma 6.1) makes exp(t S - t² V / 2) a supermartingale;
    mixing over t with a normal density gives the bound (Howard, Ramdas, McAuliffe & Sekhon 2021, Ann. Stat. 49:1055,
    eq. 14). It is narrowest near V = `expected`, in the unit of `variation`, which must be fixed before the data are
    seen.
    """
    level(alpha)
    if not (math.isfinite(expected) and expected > 0.0):
        raise ValueError(f"The expected variation must be positive and finite; {expected} is not.")
    v = np.asarray(variation, dtype=np.float64)
    # Howard et al. 2021, sec. 3.5: this rho makes the bound narrowest near V = expected (first-order solution).
    rho = expected / (2 * math.log(1 / alpha) + math.log(1 + 2 * math.log(1 / alpha)))
    return np.asarray(np.sqrt((v + rho) * (np.log1p(v / rho) - 2 * math.log(alpha))))
