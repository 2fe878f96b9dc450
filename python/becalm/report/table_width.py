"""Tables that keep number, name and result on a narrow terminal, however long the names are.

rich shortens all columns alike, and numbers vanish first. Here names are cut in the middle, where they differ least; if
that is not enough, columns that can be spared are left out; numbers stay whole.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from becalm.report.table import Table as Cells
from becalm.report.table import explained
from becalm.wording.printable import cut, distinct, lettered

LEAST = 16
"""The number of characters that a name keeps where there is room."""

FEWEST = 6
"""The number of characters that a name keeps where there is no room for more."""

SEVERAL = 10
"""The number of characters that each of several names in one cell keeps."""

BETWEEN = " | "

CUT = "…"
"""The mark where a name was cut (`becalm.wording.printable.cut`)."""


class Names(Text):
    """Several names in one cell, each of which is cut; names without room are counted."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(BETWEEN.join(names))
        self.names = tuple(names)

    def within(self, width: int) -> str:
        """Return the names cut to this many characters."""
        for count in range(len(self.names), 1, -1):
            rest = f"{BETWEEN}{len(self.names) - count} more" if count < len(self.names) else ""
            room = width - len(rest) - len(BETWEEN) * (count - 1)
            if room >= sum(min(cell_len(name), SEVERAL) for name in self.names[:count]):
                return BETWEEN.join(_shared(self.names[:count], room)) + rest
        rest = f"{BETWEEN}{len(self.names) - 1} more" if len(self.names) > 1 else ""
        return cut(self.names[0], max(1, width - len(rest))) + rest


def _shared(names: Sequence[str], room: int) -> Sequence[str]:
    """Return names cut to fit together into a room: long ones use the room that short ones leave."""
    most = room
    while sum(min(cell_len(name), most) for name in names) > room:
        most -= 1
    return distinct(names, most)


class Fitted:
    """A table that fits into the available width. `names`: columns whose cells may be cut; `spare`: columns that are
    left out, in this order, before a name keeps fewer than `least` characters."""

    def __init__(
        self, table: Table, names: Sequence[int] = (0,), spare: Sequence[int] = (), least: int = LEAST
    ) -> None:
        self.table = table
        self.names = tuple(names)
        self.spare = tuple(spare)
        self.least = least

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the table in rich's protocol."""
        yield self.at(options.max_width, console.encoding)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width in rich's protocol."""
        return Measurement(1, options.max_width)

    def at(self, width: int, encoding: str = "utf-8") -> Table:
        """Return the table for a width in columns of a terminal with this encoding."""
        table = _lettered(self.table, encoding)
        natural = [_width(table, index) for index in range(len(table.columns))]
        left, needed, least = self._left(natural, width)
        room = max(0, width - needed)
        names = sorted((index for index in left if index in self.names), key=lambda index: natural[index])
        for place, index in enumerate(names):
            # Short names first, so that long ones share the room that they leave.
            most = min(natural[index], least) + room // (len(names) - place)
            room -= max(0, min(natural[index], most) - least) if natural[index] > least else 0
            column = table.columns[index]
            column._cells = _cut(column._cells, most, encoding)
            column.no_wrap, column.ratio = True, None
        table.columns = [table.columns[index] for index in left]
        for place, column in enumerate(table.columns):
            # By this number rich recognises the last column, which has no space after it.
            column._index = place
        return table

    def columns(self, width: int, encoding: str = "utf-8") -> list[int]:
        """Return the numbers of the columns for which there is room."""
        table = _lettered(self.table, encoding)
        return self._left([_width(table, index) for index in range(len(table.columns))], width)[0]

    def _left(self, natural: Sequence[int], width: int) -> tuple[list[int], int, int]:
        """Return these columns, the least room that they need, and the number of characters that a name keeps in it.

        Names are cut further before a column that cannot be spared is lost.
        """
        left = list(range(len(natural)))
        _, right, _, before = self.table.padding

        def needed(least: int) -> int:
            fixed = (natural[index] for index in left if index not in self.names)
            cut = (min(natural[index], least) for index in left if index in self.names)
            return sum(fixed) + sum(cut) + (right + before) * (len(left) - 1)

        for index in self.spare:
            if needed(self.least) <= width:
                break
            left.remove(index)
        least = self.least if needed(self.least) <= width else min(self.least, LEAST)
        while needed(least) > width and least > FEWEST:
            least -= 1
        return left, needed(least), least


class Explained:
    """The legend of a fitted table, for the columns that are shown."""

    def __init__(self, fitted: Fitted, table: Cells, style: str) -> None:
        self.fitted = fitted
        self.table = table
        self.style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the note in rich's protocol."""
        heads = [self.table.head[index] for index in self.fitted.columns(options.max_width, console.encoding)]
        yield Text(explained(self.table.legend, heads), self.style)


def _width(table: Table, index: int) -> int:
    column = table.columns[index]
    cells = [*column.cells, *([column.header] if table.show_header else [])]
    natural = max((cell_len(line) for cell in cells for line in str(cell).splitlines()), default=0)
    return max(natural, column.min_width or 0, column.width or 0)


def _lettered(table: Table, encoding: str) -> Table:
    """Return a copy of the table with replacements for signs that the encoding lacks, so that widths are real."""
    result = copy.deepcopy(table)
    for column in result.columns:
        column.header = _in_letters(column.header, encoding)
        column._cells = [_in_letters(cell, encoding) for cell in column._cells]
    return result


def _in_letters(cell: RenderableType, encoding: str) -> RenderableType:
    if isinstance(cell, Names):
        return Names([lettered(name, encoding) for name in cell.names])
    if isinstance(cell, Text):
        text = lettered(cell.plain, encoding)
        return cell if text == cell.plain else Text(text, cell.style)
    return lettered(cell, encoding) if isinstance(cell, str) else cell


def _cut(cells: Sequence[RenderableType], width: int, encoding: str) -> list[RenderableType]:
    """Return names cut to `width` characters that stay different where they were."""
    # The replacement of the mark of a cut may be longer than the mark.
    longer = len(lettered(CUT, encoding)) - len(CUT)
    texts = [cell.plain if isinstance(cell, Text) else str(cell) for cell in cells]
    room = width - longer if any(cell_len(text) > width for text in texts) else width
    short = distinct(
        [
            cell.within(width - longer * len(cell.names)) if isinstance(cell, Names) else text
            for cell, text in zip(cells, texts, strict=True)
        ],
        room,
    )
    return [
        cell if text == name else _in_letters(Text(name, cell.style) if isinstance(cell, Text) else name, encoding)
        for cell, text, name in zip(cells, texts, short, strict=True)
    ]
