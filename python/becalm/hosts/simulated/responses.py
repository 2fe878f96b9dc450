"""The time of a run as a function of factors: models whose best place is known, to try methods of search on.

Ranges are coded from -1 to 1. The default takes 1 s, the best place 1 - GAIN. The first factor matters most and each
further one less, as effects usually are (Box & Meyer 1986, Technometrics 28:11).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from becalm.errors import UsageError
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats

GAIN = 0.3
"""The share of the default's time that the best place saves."""

LESS = 0.7
"""The importance of a factor relative to the one before it."""

MOST = 1.5
"""No place takes longer than this."""

DRAWS = 5
"""Places of which the middle one is the default's: many are slower."""

Function = Callable[[Floats], float]


@dataclass(frozen=True, slots=True)
class SimulatedResponse:
    """A model: its name, a description, and the function that draws it for a number of factors, 0 at best."""

    name: str
    what: str
    make: Callable[[int, np.random.Generator], Function]


@dataclass(frozen=True, slots=True)
class TimeModel:
    """A model with its factors. `function`: 0 at the best place; `default`: the place of what is not set, shape
    (factors,); `most`: the share of the default's time that the best place saves."""

    space: Space
    function: Function
    default: Floats
    most: float = GAIN

    def seconds(self, settings: Settings) -> float:
        """Return the mean time of a run, s; factors that are not set have their default."""
        values = dict(settings.values)
        at = [
            each.coded(values[each.name]) if each.name in values else float(place)
            for each, place in zip(self.space.factors, self.default, strict=True)
        ]
        return self.at(np.array(at))

    def at(self, place: Floats) -> float:
        """Return the mean time at a place in coded units, s."""
        usual = self.function(self.default)
        return min(MOST, 1 - self.most * (usual - self.function(place)) / usual)

    def gain(self, settings: Settings) -> float:
        """Return the share of the default's time that settings save."""
        return 1 - self.seconds(settings)


def _bowl(count: int, rng: np.random.Generator) -> Function:
    function, _ = _quadratic(count, rng)
    return function


def _quadratic(count: int, rng: np.random.Generator) -> tuple[Function, Floats]:
    """Return a quadratic with interactions, and the place of its minimum."""
    best = rng.uniform(-0.6, 0.6, count)
    weights = LESS ** np.arange(count)
    bend = np.diag(weights)
    for one in range(count - 1):
        # With at most 0.3 to either side it is a bowl in every direction.
        bend[one, one + 1] = bend[one + 1, one] = rng.choice([-0.3, 0.3]) * math.sqrt(weights[one] * weights[one + 1])
    return (lambda at: float((at - best) @ bend @ (at - best))), best


def _cliff(count: int, rng: np.random.Generator) -> Function:
    function, best = _quadratic(count, rng)
    side, height = rng.choice([-1.0, 1.0]), 0.8 * float(LESS ** np.arange(count) @ np.ones(count))
    return lambda at: function(at) + (height if side * (at[0] - best[0]) > 0.15 else 0.0)


def _two(count: int, rng: np.random.Generator) -> Function:
    """Return a function with two valleys: the wide one is three fifths as deep as the narrow one."""
    first = rng.uniform(-0.7, 0.7, count)
    other = -np.sign(first) * rng.uniform(0.4, 0.8, count)
    weights = LESS ** np.arange(count)

    def valley(at: Floats, centre: Floats, width: float) -> float:
        return math.exp(-float(weights @ (at - centre) ** 2) / width**2)

    return lambda at: 1 - max(valley(at, first, 0.6), 0.6 * valley(at, other, 1.0))


RESPONSES: tuple[SimulatedResponse, ...] = (
    SimulatedResponse("bowl", "a quadratic surface with interactions", _bowl),
    SimulatedResponse("cliff", "the same, much slower beyond an edge beside the best place", _cliff),
    SimulatedResponse("two-optima", "two valleys, the wide one not the best", _two),
)
"""The first is what a response surface fits; the others are what it does not."""


def model(name: str, count: int, seed: int) -> TimeModel:
    """Return a model, drawn by a seed; half of its factors are logarithmic. Raises UsageError for an unknown one."""
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
