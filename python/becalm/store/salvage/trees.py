"""The rows of a store: from the tree of each table, and from pages that are not reachable from any tree.

A page without a tree is one whose root, or a page above it, is damaged. Its rows belong to the only table whose columns
and checksum they match. Unused pages are left out, unless the list of them is lost: then deleted rows may come back.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from becalm.store.salvage.page_file import INNER_INDEX, INNER_TABLE, LEAF_INDEX, LEAF_TABLE, PageFile
from becalm.store.salvage.records import RecordCell, read_contents
from becalm.store.salvage.shapes import Row, schema_shapes, whole
from becalm.store.schema import META, NOTICED, SETTINGS, TABLES

SEQUENCE = "sqlite_sequence"
"""SQLite's own table of the last assigned numbers (2.6.2)."""

_KEYS = {table.name: table.key or ("id",) for table in TABLES}

_TABLE = (LEAF_TABLE, INNER_TABLE)
_INDEX = (LEAF_INDEX, INNER_INDEX)


@dataclass(slots=True)
class TableRows:
    """The intact rows of a table, and the number of damaged ones."""

    whole: list[Row] = field(default_factory=list)
    damaged: int = 0


@dataclass(slots=True)
class SalvagedRows:
    """All that was found. `pages`: those of trees that cannot be read; `lost_roots`: tables whose root is not known."""

    tables: dict[str, TableRows]
    version: int | None = None
    last_study: int = 0
    pages: int = 0
    lost_roots: tuple[str, ...] = ()


def find_rows(file: PageFile) -> SalvagedRows:
    """Return all rows that a file still has."""
    return _Search(file).salvaged


class _Search:
    def __init__(self, file: PageFile) -> None:
        self.file = file
        self.seen: set[int] = set()
        self.shapes = schema_shapes()
        self.salvaged = SalvagedRows({name: TableRows() for name in self.shapes})
        roots = self._roots()
        for name, (root, kinds) in roots.items():
            for cell in self._walk(root, kinds):
                self._take(name, cell)
        self.salvaged.lost_roots = tuple(name for name in self.shapes if name not in roots)
        self._orphans()
        self._sort_out()

    def _roots(self) -> dict[str, tuple[int, tuple[int, int]]]:
        """Return root and page kinds of each table and index, and record the shapes of this file's tables (2.6)."""
        roots: dict[str, tuple[int, tuple[int, int]]] = {}
        for cell in self._walk(1, _TABLE):
            match cell.values:
                case ("table", str(name), str(), int(root), str(statement)):
                    if name in self.shapes:
                        self.shapes[name] = self.shapes[name].or_as_made(statement)
                    roots[name] = root, _INDEX if name in self.shapes and self.shapes[name].packed else _TABLE
                case ("index", str(name), str(), int(root), _):
                    roots[name] = root, _INDEX
        return roots

    def _walk(self, root: int, kinds: tuple[int, int]) -> Iterator[RecordCell]:
        """Yield the cells of a tree, and note its pages."""
        waiting = [root]
        while waiting:
            number = waiting.pop()
            if not self.file.has(number) or number in self.seen:
                continue
            page = read_contents(self.file, number)
            self.seen.add(number)
            if page is None or page.kind not in kinds:
                self.salvaged.pages += 1
                continue
            self.salvaged.pages += bool(page.broken)
            waiting += reversed(page.below)
            for cell in page.cells:
                self.seen.update(cell.pages)
                yield cell

    def _take(self, name: str, cell: RecordCell) -> None:
        """Take a cell of the tree of a table."""
        if name == SEQUENCE:
            match cell.values:
                case ("study", int(last)):
                    self.salvaged.last_study = max(self.salvaged.last_study, last)
        elif name in self.salvaged.tables:
            row = self.shapes[name].row(cell)
            if row is None:
                self.salvaged.tables[name].damaged += 1
            else:
                self.salvaged.tables[name].whole.append(row)

    def _orphans(self) -> None:
        """Take the rows of pages that are in use but do not belong to a tree."""
        left = set(range(2, self.file.count + 1)) - self.seen - self.file.free()
        for number in sorted(left):
            page = read_contents(self.file, number)
            for cell in [] if page is None else page.cells:
                self._place(cell)

    def _place(self, cell: RecordCell) -> None:
        match cell.values:
            case ("study", int(last)) if cell.rowid is not None:
                self.salvaged.last_study = max(self.salvaged.last_study, last)
        for name, table in self.shapes.items():
            row = table.row(cell) if len(cell.values) == len(table.columns) else None
            if row is not None and whole(name, [row]) == [True] and _is_of(name, row):
                self.salvaged.tables[name].whole.append(row)
                return

    def _sort_out(self) -> None:
        """Select the intact rows, each once, and read the version."""
        for row in self.salvaged.tables[META.name].whole:
            if row["name"] == "schema_version" and str(row["value"]).isdecimal():
                self.salvaged.version = int(row["value"])
        for name, table in self.salvaged.tables.items():
            whole_rows = list(itertools.compress(table.whole, whole(name, table.whole)))
            table.damaged += len(table.whole) - len(whole_rows)
            table.whole = list(_once(name, whole_rows))


def _is_of(name: str, row: Row) -> bool:
    """Tell apart tables whose rows look alike and have the same checksum."""
    if name in (SETTINGS.name, NOTICED.name):
        text = row["knobs" if name == SETTINGS.name else "finding"]
        return ('"kind":' in text) == (name == NOTICED.name)
    return name != META.name or row["name"] == "schema_version"


def _once(name: str, rows: list[Row]) -> Iterator[Row]:
    """Yield rows without those whose key is there a second time, as of a page that was copied."""
    known: set[tuple[object, ...]] = set()
    for row in rows:
        key = tuple(row[column] for column in _KEYS[name])
        if key not in known:
            known.add(key)
            yield row
