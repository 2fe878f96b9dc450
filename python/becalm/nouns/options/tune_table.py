"""The options of `tune --from`: the columns of units and values in a table, and the direction of better values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from becalm.nouns.metric import Better
from becalm.nouns.option import StudyOptions, option


def _columns(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneTableOptions(StudyOptions):
    """The options of reading a table of configurations, units and values."""

    units: tuple[str, ...] = option(
        (),
        "With --from: column of the machine, day or session.",
        str | Sequence[str],
        flag="--unit",
        metavar="COLUMN",
        shown="machine, host, worker, day, date, session or unit",
        repeats=True,
        parse=_columns,
    )
    value: str = option(
        "", "With --from: column of the values.", str, metavar="COLUMN", shown="value, performance, time or score"
    )
    better: str = option(
        "lower", "With --from: which values are better.", str, choices=tuple(str(better) for better in Better)
    )
