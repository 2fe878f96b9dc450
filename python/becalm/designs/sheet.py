"""The noun Sheet: a design with its measured responses, read from a file of a spreadsheet.

The head of a factor's column is the factor as people write it (`becalm.results.design.text`). Files may separate cells
by commas, semicolons (then with decimal commas, too) or tabs, as spreadsheets write them. Every error names line and
column.

Public: Sheet, read, ASIDE.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence

import msgspec

from becalm.errors import UsageError
from becalm.files.cells import original_text
from becalm.nouns.factor import Factor, Level, check_distinct
from becalm.results.design import PLACES
from becalm.units import plain_number

ASIDE = ("note", "notes", "comment")
"""The columns that people use for remarks, which are ignored."""


class Sheet(msgspec.Struct, frozen=True):
    """A filled worksheet, its runs in the order of the file.

    `coded`: the place of each factor in coded units, a row for each run; `blocks` (from 1) and `order` of the runs;
    `responses`: the values of each response, NaN where a cell is empty.
    """

    factors: tuple[Factor, ...]
    coded: tuple[tuple[float, ...], ...]
    blocks: tuple[int, ...]
    order: tuple[int, ...]
    responses: dict[str, tuple[float, ...]]

    def missing(self, name: str) -> int:
        """Return the number of empty cells of a response."""
        return sum(map(math.isnan, self.responses[name]))


def read(content: str, name: str, factors: Sequence[Factor] = (), responses: Sequence[str] = ()) -> Sheet:
    """Return the sheet of a filled file.

    `name`: the file in errors; `factors`: those whose heads do not state their range; `responses`: the columns to read,
    all but those of the factors when none is named. Raises UsageError.
    """
    head, rows = _cells(content, name)
    by_column = _factors(head, factors, name)
    reserved = {*PLACES, *ASIDE}
    columns = {
        text: index for index, text in enumerate(head) if index not in by_column and text.lower() not in reserved
    }
    if unknown := [response for response in responses if response not in columns]:
        raise UsageError(f"{name} has no column {unknown[0]!r} to fit. It has: {', '.join(columns) or 'none'}.")
    selected = {response: columns[response] for response in responses or columns}
    if not selected:
        raise UsageError(f"{name} has no column of measured values. Add one, with a heading.")
    places = {text.lower(): index for index, text in enumerate(head) if text.lower() in PLACES}
    coded, blocks, order = [], [], []
    values: dict[str, list[float]] = {response: [] for response in selected}
    block_numbers: dict[str, int] = {}
    copies: dict[tuple[object, ...], int] = {}
    for number, (line, row) in enumerate(rows):
        coded.append(tuple(_place(factor, row[index], f"{name}, line {line}") for index, factor in by_column.items()))
        block = row[places["block"]] if "block" in places else "1"
        blocks.append(block_numbers.setdefault(block, len(block_numbers) + 1))
        run = row[places["run"]] if "run" in places else ""
        order.append(int(run) if run.isdigit() else number + 1)
        first = copies.setdefault((block, run, coded[-1]) if run else (number,), line)
        if first != line:
            # Read as two runs, the copy would be a replicate without any difference: no pure error, and a false lack of
            # fit.
            raise UsageError(
                f"{name}, line {line}: run {run} is already in line {first}. Remove the copy, or give a repeated "
                "run a number of its own."
            )
        for response, index in selected.items():
            values[response].append(
                math.nan if not row[index] else _number(row[index], f"{name}, line {line}", response)
            )
    return Sheet(
        check_distinct(tuple(by_column.values())),
        tuple(coded),
        tuple(blocks),
        tuple(order),
        {response: tuple(numbers) for response, numbers in values.items()},
    )


def _cells(content: str, name: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    lines = content.removeprefix("\ufeff")
    first = lines.split("\n", 1)[0]
    mark = next((separator for separator in ("\t", ";") if separator in first), ",")
    try:
        table = [
            [original_text(cell.strip()) for cell in row] for row in csv.reader(io.StringIO(lines), delimiter=mark)
        ]
    except csv.Error as error:
        raise UsageError(f"{name} is not a table of comma-separated values: {error}.") from None
    if mark != ",":
        # Spreadsheets that separate by semicolons write decimal commas.
        _check_decimals([cell for row in table[1:] for cell in row], name)
        table = [table[0], *([_decimal(cell) for cell in row] for row in table[1:])]
    if not table or not any(table[0]):
        raise UsageError(f"{name} is empty. Make a worksheet with: becalm design central time=80..90min --csv")
    head = table[0]
    rows = [(number, row) for number, row in enumerate(table[1:], 2) if any(row)]
    if not rows:
        raise UsageError(f"{name} has a line of headings, but no runs.")
    for line, row in rows:
        if len(row) > len(head) and any(row[len(head) :]):
            raise UsageError(f"{name}, line {line}: {len(row)} cells under {len(head)} headings.")
    return head, [(line, [*row, *[""] * (len(head) - len(row))]) for line, row in rows]


def _check_decimals(cells: Sequence[str], name: str) -> None:
    """Raise UsageError where commas may separate thousands: next to points, or with three digits behind each."""
    commas = [cell for cell in cells if re.fullmatch(r"[+-]?\d+,\d+", cell)]
    points = [cell for cell in cells if re.fullmatch(r"[+-]?\d+\.\d+", cell)]
    if commas and points:
        raise UsageError(
            f"{name} has numbers with commas ({commas[0]}) and with points ({points[0]}), and one of the two may "
            "separate thousands. Write decimals with points, and leave out separators of thousands."
        )
    if commas and all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", comma) for comma in commas):
        raise UsageError(
            f"{name} has {commas[0]}, which is ambiguous. Write decimals with points, and leave out separators of "
            "thousands."
        )


def _decimal(cell: str) -> str:
    swapped = cell.replace(",", ".")
    try:
        float(swapped)
    except ValueError:
        return cell
    return swapped if cell.count(",") == 1 and "." not in cell else cell


def _factors(head: Sequence[str], factors: Sequence[Factor], name: str) -> dict[int, Factor]:
    """Return the factors by column index."""
    by_name = {factor.name: factor for factor in factors}
    by_column: dict[int, Factor] = {}
    for index, text in enumerate(head):
        factor_name = text.partition("=")[0].strip()
        if factor_name in by_name:
            by_column[index] = by_name.pop(factor_name)
        elif "=" in text:
            by_column[index] = Factor.parse(text)
    if by_name:
        raise UsageError(f"{name} has no column {next(iter(by_name))!r}. Its columns are: {', '.join(head)}.")
    if not by_column:
        raise UsageError(
            f"{name} has no factors: no column heading has a range. Write the range in the heading, time=80..90min, "
            "or name it: --factor time=80..90min."
        )
    return by_column


def _place(factor: Factor, cell: str, where: str) -> float:
    """Return the place of a factor's cell in coded units."""
    if not cell:
        raise UsageError(f"{where}: the cell of {factor.name} is empty. Write its value, or remove the line.")
    level: Level = cell if factor.categorical else _number(cell, where, factor.name)
    try:
        return factor.coded(level)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _number(cell: str, where: str, column: str) -> float:
    try:
        result = plain_number(cell)
    except UsageError as error:
        raise UsageError(f"{where}, column {column}: {error}") from None
    if not math.isfinite(result):
        raise UsageError(f"{where}: {cell!r} in the column {column} is not a number.")
    return result
