"""The choice of a configuration from a table of measurements on units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from becalm.nouns.metric import Better
from becalm.results.tune_table import ConfigurationChoice, ConfigurationResult, NextMeasurement
from becalm.stats.unit_choice import STEADY, SURE, OverUnits, choose, next_units


class Measurement(msgspec.Struct, frozen=True):
    """A value of a configuration on a unit; None where the configuration failed there."""

    factors: tuple[tuple[str, str], ...]
    unit: str
    value: float | None


def choose_among(
    measurements: Sequence[Measurement],
    *,
    source: str,
    unit: str,
    value: str,
    better: Better,
    units: Sequence[str] = (),
) -> ConfigurationChoice:
    """Choose the configuration with the best promise for a further unit.

    Values of the same configuration on the same unit are repeated runs: their geometric mean is the unit's value. A
    value of 0 or below is a failure, as is None, and one failure makes the unit fail. `units`: all units, where some
    have not been measured on yet.
    """
    units = tuple(dict.fromkeys((*units, *(measurement.unit for measurement in measurements))))
    settings = tuple(dict.fromkeys(measurement.factors for measurement in measurements))
    cells: dict[tuple[int, int], list[float]] = {}
    rows, columns = ({name: index for index, name in enumerate(names)} for names in (settings, units))
    for measurement in measurements:
        log = math.log(measurement.value) if measurement.value is not None and measurement.value > 0 else math.nan
        cells.setdefault((rows[measurement.factors], columns[measurement.unit]), []).append(log)
    sign = 1 if better is Better.HIGHER else -1
    table = np.full((len(settings), len(units)), math.nan)
    for cell, logs in cells.items():
        mean = math.fsum(logs) / len(logs)
        table[cell] = -math.inf if math.isnan(mean) else sign * mean
    choice = choose(table)

    def result(over_units: OverUnits) -> ConfigurationResult:
        values = [_exp_or_nan(sign * number) for number in (over_units.mean, over_units.promise, over_units.worst)]
        return ConfigurationResult(
            factors=dict(settings[over_units.index]),
            units=over_units.units,
            mean=values[0],
            spread=math.expm1(over_units.spread),
            promise=values[1],
            worst=values[2],
            failed=over_units.failed,
            steady=over_units.steady,
            rival=over_units.index in choice.rivals,
        )

    return ConfigurationChoice(
        source=source,
        unit=unit,
        units=units,
        value=value,
        better=better,
        probability=SURE,
        limit=math.expm1(STEADY),
        chosen=None if choice.chosen is None else result(choice.chosen),
        configurations=tuple(map(result, choice.configurations)),
        next=tuple(NextMeasurement(dict(settings[row]), units[column]) for row, column in next_units(table)),
    )


def _exp_or_nan(log: float) -> float:
    """Return the exponential of a logarithm; NaN where that is not finite."""
    return math.exp(log) if math.isfinite(log) else math.nan


def factors_of(row: Mapping[str, str], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the factors of a row of a table, in the order of its columns."""
    return tuple((name, row[name]) for name in names)
