"""Models of the time of a run as a function of factors, with a known optimum, to test search methods.

Ranges are coded from -1 to 1. The default takes 1 s, the optimum 1 - GAIN. The first factor has the largest effect and
each further one a smaller effect, as is usual (Box & Meyer 1986, Technometrics 28:11).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np

from becalm.errors import UsageError
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats

GAIN = 0.3
"""The share of the default's time that the optimum saves."""

LESS = 0.7
"""The importance of a factor relative to the one before it."""

MOST = 1.5
"""The longest time of any point, s."""

DRAWS = 5
"""The number of drawn points, whose median in time is the default, so that many points are slower."""

Function = Callable[[Floats], float]


class SimulatedResponse(msgspec.Struct, frozen=True):
    """A model: its name, a description, and the function that draws it for a number of factors, with minimum 0."""

    name: str
    what: str
    make: Callable[[int, np.random.Generator], Function]


class TimeModel(msgspec.Struct, frozen=True):
    """A model with its factors. `function`: 0 at the optimum; `default`: the point of factors that are not set, shape
    (factors,); `most`: the share of the default's time that the optimum saves."""

    space: Space
    function: Function
    default: Floats
    most: float = GAIN

    def seconds(self, settings: Settings) -> float:
        """Return the mean time of a run, s, with defaults for factors that are not set."""
        values = dict(settings.values)
        coded = [
            factor.coded(values[factor.name]) if factor.name in values else float(place)
            for factor, place in zip(self.space.factors, self.default, strict=True)
        ]
        return self.at(np.array(coded))

    def at(self, place: Floats) -> float:
        """Return the mean time at a point in coded units, shape (factors,), s."""
        usual = self.function(self.default)
        return min(MOST, 1 - self.most * (usual - self.function(place)) / usual)

    def gain(self, settings: Settings) -> float:
        """Return the share of the default's time that settings save."""
        return 1 - self.seconds(settings)


def _bowl(count: int, rng: np.random.Generator) -> Function:
    function, _ = _quadratic(count, rng)
    return function


def _quadratic(count: int, rng: np.random.Generator) -> tuple[Function, Floats]:
    """Draw a quadratic with interactions; return it and the point of its minimum, shape (count,)."""
    best = rng.uniform(-0.6, 0.6, count)
    weights = LESS ** np.arange(count)
    matrix = np.diag(weights)
    for index in range(count - 1):
        # With at most 0.3 to either side, the matrix is positive definite.
        matrix[index, index + 1] = matrix[index + 1, index] = rng.choice([-0.3, 0.3]) * math.sqrt(
            weights[index] * weights[index + 1]
        )
    return (lambda at: float((at - best) @ matrix @ (at - best))), best


def _cliff(count: int, rng: np.random.Generator) -> Function:
    function, best = _quadratic(count, rng)
    side, height = rng.choice([-1.0, 1.0]), 0.8 * float(LESS ** np.arange(count) @ np.ones(count))
    return lambda at: function(at) + (height if side * (at[0] - best[0]) > 0.15 else 0.0)


def _two_optima(count: int, rng: np.random.Generator) -> Function:
    """Draw a function with two valleys, of which the wide one has three fifths of the depth of the narrow one."""
    first = rng.uniform(-0.7, 0.7, count)
    other = -np.sign(first) * rng.uniform(0.4, 0.8, count)
    weights = LESS ** np.arange(count)

    def valley(at: Floats, centre: Floats, width: float) -> float:
        return math.exp(-float(weights @ (at - centre) ** 2) / width**2)

    return lambda at: 1 - max(valley(at, first, 0.6), 0.6 * valley(at, other, 1.0))


RESPONSES: tuple[SimulatedResponse, ...] = (
    SimulatedResponse("bowl", "a quadratic surface with interactions", _bowl),
    SimulatedResponse("cliff", "the same, much slower beyond an edge next to the best place", _cliff),
    SimulatedResponse("two-optima", "two valleys, the wide one not the best", _two_optima),
)
"""The models. A response surface fits only the first one."""


def model(name: str, count: int, seed: int) -> TimeModel:
    """Return a model, drawn by a seed, with half of its factors logarithmic. Raises UsageError for an unknown name."""
    rows = {row.name: row for row in RESPONSES}
    if name not in rows:
        raise UsageError(f"There is no model {name!r}. There are: {', '.join(rows)}.")
    factors = tuple(
        Factor(f"f{number}", 1e5, 1e8, "ns", Scale.LOG, whole=True)
        if number % 2
        else Factor(f"f{number}", 0.0, 1000.0, whole=True)
        for number in range(1, count + 1)
    )
    rng = np.random.default_rng([seed, count])
    function = rows[name].make(count, rng)
    default = sorted(rng.uniform(-1, 1, (DRAWS, count)), key=function)[DRAWS // 2]
    return TimeModel(Space((), factors=factors), function, default)
