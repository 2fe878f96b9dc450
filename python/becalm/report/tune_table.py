"""The report of a choice among configurations: the advice, then every configuration."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.results.tune_table import ConfigurationChoice, ConfigurationResult
from becalm.wording.metric import quantity
from becalm.wording.numbers import percent
from becalm.wording.tune_table import plural

SHOWN = 20
"""The number of configurations that the terminal shows; files have all."""

NAME = 24
"""The number of characters that the name of a configuration keeps before columns are left out."""


def on_terminal(choice: ConfigurationChoice, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = choice.sentence.splitlines()
    head = Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    return apart([head, *(grid(table, plain, NAME) for table in _tables(choice, SHOWN))])


def tables(choice: ConfigurationChoice) -> Iterator[Table]:
    """Return all configurations, the chosen one first."""
    return _tables(choice, len(choice.configurations))


def _tables(choice: ConfigurationChoice, most: int) -> Iterator[Table]:
    head = ("configuration", "answer", "mean", "a further one", "worst", "spread", plural(choice.unit))
    chosen = [
        configuration
        for configuration in choice.configurations
        if choice.chosen and configuration.factors == choice.chosen.factors
    ]
    order = [*chosen, *(configuration for configuration in choice.configurations if configuration not in chosen)]
    left = len(order) - most
    note = (
        f"a further one: what a further {choice.unit} gives or betters ({percent(choice.probability)} %). "
        f"spread: standard deviation from {choice.unit} to {choice.unit}."
        + (f" {left} more: --json, --report." if left > 0 else "")
    )
    rows = tuple(_row(configuration, configuration in chosen, choice.value_unit) for configuration in order[:most])
    yield Table("", head, rows, (2, 3, 4, 5, 6), note, spare=(4, 6), codes=0)


def _row(result: ConfigurationResult, chosen: bool, unit: str) -> tuple[str, ...]:
    numbers = [
        quantity(value, unit) if math.isfinite(value) else "" for value in (result.mean, result.promise, result.worst)
    ]
    spread = f"{percent(result.spread)} %" if math.isfinite(result.spread) else ""
    return result.name, _answer(result, chosen), *numbers, spread, str(result.units)


def _answer(result: ConfigurationResult, chosen: bool) -> str:
    if chosen:
        return "take"
    if result.failed:
        return "failed"
    if result.rival:
        return "as good?"
    return "unsteady" if math.isfinite(result.spread) and not result.steady else ""
