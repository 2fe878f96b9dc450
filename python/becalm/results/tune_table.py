"""The result ConfigurationChoice: the configuration for use on a machine that was not measured.

Public: ConfigurationResult (one configuration over its units), ConfigurationChoice (the answer, and all of them).
`becalm.analysis.tune_table` makes it of a table of configurations, units and values.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from becalm.nouns.metric import Better
from becalm.nouns.result import Result


def factors(of: Mapping[str, str]) -> str:
    """Return the factors of a configuration as people write them."""
    return " ".join(f"{name}={value}" for name, value in of.items())


class ConfigurationResult(msgspec.Struct, frozen=True):
    """The result of one configuration: the level of each factor, and its values on the units, in their own unit.

    - `mean`: the geometric mean over units
    - `spread`: the standard deviation from unit to unit, a fraction, moderated by those of the others; NaN below two
      units
    - `promise`: the value that a further unit reaches or betters with the probability of the choice; NaN below two
      units
    - `worst`: the worst of its values
    - `failed`: units on which it has no value
    - `steady`: whether its units differ by no more than the limit
    - `rival`: whether it may be as good as the chosen one
    """

    factors: Mapping[str, str]
    units: int
    mean: float
    spread: float
    promise: float
    worst: float
    failed: int
    steady: bool
    rival: bool = False

    @property
    def name(self) -> str:
        """The factors as people write them."""
        return factors(self.factors)


class NextMeasurement(msgspec.Struct, frozen=True):
    """A configuration and a unit to measure it on next."""

    factors: Mapping[str, str]
    unit: str


class ConfigurationChoice(Result, frozen=True):
    """A choice among configurations that were measured on several units: machines, days or sessions.

    - `unit`: the word for a unit; `units`: all of them
    - `value`: the measured quantity, in `value_unit` where known; `better`: the direction in which it improves
    - `probability`: of the promise for a further unit
    - `limit`: the spread up to which a configuration is steady
    - `chosen`: None where no configuration was measured on two units without a failure
    - `configurations`: the best mean first
    - `next`: the next measurements, empty if the rule needs none
    - `studies`: the numbers of the studies that were measured for it
    """

    KIND = "configuration choice"

    source: str
    unit: str
    units: tuple[str, ...]
    value: str
    better: Better
    probability: float
    limit: float
    chosen: ConfigurationResult | None
    configurations: tuple[ConfigurationResult, ...]
    next: tuple[NextMeasurement, ...] = ()
    value_unit: str = ""
    studies: tuple[int, ...] = ()
    sentence: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code: 0 a configuration was chosen, 5 none could be (docs/reference/exit-codes.md)."""
        return 0 if self.chosen is not None else 5
