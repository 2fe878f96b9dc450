"""The report of a choice among configurations: what to take, then every configuration."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.configuration_choice import ConfigurationChoice, ConfigurationResult
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.wording.configuration_choice import plural
from becalm.wording.measurement import percent
from becalm.wording.metric import quantity

SHOWN = 20
"""Configurations that the terminal shows; files have all."""

NAME = 24
"""Characters that the name of a configuration keeps before columns are left out."""


def on_terminal(found: ConfigurationChoice, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = found.sentence.splitlines()
    head = Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    return apart([head, *(grid(table, plain, NAME) for table in _tables(found, SHOWN))])


def tables(found: ConfigurationChoice) -> Iterator[Table]:
    """Return all configurations, the chosen one first."""
    return _tables(found, len(found.configurations))


def _tables(found: ConfigurationChoice, most: int) -> Iterator[Table]:
    head = ("configuration", "answer", "mean", "a further one", "worst", "spread", plural(found.unit))
    chosen = [each for each in found.configurations if found.chosen and each.factors == found.chosen.factors]
    order = [*chosen, *(each for each in found.configurations if each not in chosen)]
    left = len(order) - most
    note = (
        f"a further one: what a further {found.unit} gives or betters ({percent(found.probability)} %). "
        f"spread: standard deviation from {found.unit} to {found.unit}."
        + (f" {left} more: --json, --report." if left > 0 else "")
    )
    rows = tuple(_row(each, each in chosen, found.value_unit) for each in order[:most])
    yield Table("", head, rows, (2, 3, 4, 5, 6), note, spare=(4, 6), codes=0)


def _row(each: ConfigurationResult, chosen: bool, unit: str) -> tuple[str, ...]:
    numbers = [quantity(value, unit) if math.isfinite(value) else "" for value in (each.mean, each.promise, each.worst)]
    spread = f"{percent(each.spread)} %" if math.isfinite(each.spread) else ""
    return each.name, _answer(each, chosen), *numbers, spread, str(each.units)


def _answer(each: ConfigurationResult, chosen: bool) -> str:
    if chosen:
        return "take"
    if each.failed:
        return "failed"
    if each.rival:
        return "as good?"
    return "unsteady" if math.isfinite(each.spread) and not each.steady else ""
