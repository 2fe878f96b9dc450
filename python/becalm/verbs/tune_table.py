"""`becalm tune --from TABLE`: choose among configurations that were measured on several machines, days or sessions."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from becalm.analysis.tune_table import Measurement, choose_among, factors_of
from becalm.errors import UsageError
from becalm.files.cells import original_text
from becalm.files.text import read_text
from becalm.nouns.metric import Better
from becalm.nouns.option import parse_keywords, refuse_unknown
from becalm.nouns.options.tune_table import TuneTableOptions
from becalm.nouns.signature import takes
from becalm.results.tune_table import ConfigurationChoice
from becalm.units import join_names
from becalm.wording.tune_table import worded

if TYPE_CHECKING:
    from becalm.verbs.keywords import TuneTableKeywords

MOST_BYTES = 64 << 20
"""The size of the largest table that is read, bytes: a million measurements."""

UNITS = ("machine", "host", "worker", "node", "day", "date", "session", "unit")
"""Names of columns that hold units by default."""

VALUES = ("value", "performance", "time", "score")
"""Names of columns that hold values by default; without such a column the last one does."""


@takes(TuneTableOptions)
def tune_table(
    file: str | Path, *, factors: str | Sequence[str] = (), **keywords: Unpack[TuneTableKeywords]
) -> ConfigurationChoice:
    """Choose the configuration in a table with the best promise for a machine that nobody has measured.

    Arguments:
        file: comma-separated values with a head: a column for each factor, one or more for the unit of repetition (a
            machine, a day, a session), and one for values above 0; a row for each measurement. An empty value, or one
            of 0 or below, means that the configuration failed there.
        factors: columns of the factors [default: all but units and value].

    Raises UsageError for a file that cannot be read, or that lacks such columns.
    """
    refuse_unknown(dict(keywords), TuneTableOptions)
    options = TuneTableOptions(**parse_keywords(TuneTableOptions, dict(keywords)))
    named = (factors,) if isinstance(factors, str) else tuple(factors)
    try:
        rows = list(csv.reader(io.StringIO(read_text(Path(file), most=MOST_BYTES, legacy=True), newline="")))
    except csv.Error as error:
        raise UsageError(f"{file} is not comma-separated values: {error}.") from None
    head, units, value = _columns(rows, str(file), options)
    chosen = named or tuple(name for name in head if name not in (*units, value))
    if missing := [name for name in chosen if name not in head]:
        raise UsageError(f"{file} has no column {missing[0]!r}. It has {join_names(head)}.")
    if not chosen:
        raise UsageError(
            f"{file} has no column of a factor apart from {join_names((*units, value))}: there is no choice."
        )
    measurements = [
        _measurement(dict(zip(head, row, strict=True)), chosen, units, value, f"{file}, line {line}")
        for line, row in enumerate(rows[1:], 2)
        if _full(row, head, f"{file}, line {line}")
    ]
    if not any(measurement.value for measurement in measurements):
        raise UsageError(f"{file} has no value above 0 in its column {value!r}.")
    choice = choose_among(
        measurements, source=str(file), unit=" and ".join(units), value=value, better=Better(options.better)
    )
    return worded(choice)


def _columns(rows: Sequence[Sequence[str]], file: str, options: TuneTableOptions) -> tuple[list[str], list[str], str]:
    """Return all columns, those of the unit, and that of the value. Raises UsageError for missing ones."""
    head = [original_text(cell).strip() for cell in rows[0]] if rows else []
    if len(rows) < 2 or len(head) < 3:
        raise UsageError(
            f"{file} is not a table of factors, units and values: it needs a head of three columns and rows."
        )
    if twice := [name for name in head if head.count(name) > 1]:
        raise UsageError(f"{file} has two columns {twice[0]!r}. Rename one.")
    lower = {name.lower(): name for name in head}
    units = list(options.units) or [lower[name] for name in UNITS if name in lower]
    value = options.value or next((lower[name] for name in VALUES if name in lower), head[-1])
    if missing := [name for name in (*units, value) if name not in head]:
        raise UsageError(f"{file} has no column {missing[0]!r}. It has {join_names(head)}.")
    if not units:
        raise UsageError(
            f"Which column of {file} is the machine, day or session? Name it: --unit COLUMN. It has {join_names(head)}."
        )
    return head, units, value


def _full(row: Sequence[str], head: Sequence[str], where: str) -> bool:
    """Return whether a row has any content. Raises UsageError for one with more or fewer cells than the head."""
    if row and len(row) != len(head):
        raise UsageError(f"{where}: {len(row)} cells below {len(head)} columns.")
    return any(cell.strip() for cell in row)


def _measurement(
    row: dict[str, str], factors: Sequence[str], units: Sequence[str], value: str, where: str
) -> Measurement:
    text = original_text(row[value]).strip()
    try:
        number = float(text) if text else None
    except ValueError:
        raise UsageError(f"{where}: {text!r:.60} is not a number.") from None
    if number is not None and math.isnan(number):
        number = None
    if number is not None and math.isinf(number):
        raise UsageError(f"{where}: a value is infinite. Leave it empty where the configuration failed.")
    cells = {name: original_text(cell).strip() for name, cell in row.items()}
    return Measurement(factors_of(cells, factors), " ".join(cells[name] for name in units), number)
