"""The tables of a store as SQLite lays them out in a file, and the check of their rows."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from becalm.store import counts, loads, region_parts, runs, studies
from becalm.store.database import SQLITE
from becalm.store.salvage.records import RecordCell, Value
from becalm.store.schema import (
    COUNT,
    HOST,
    LOAD,
    NOTICED,
    OTHERS,
    REGION_PART,
    RUN,
    SERIES,
    SETTINGS,
    STUDY,
    TABLES,
    TEXT,
    VERDICT,
    WORKLOAD,
)

Row = dict[str, Any]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "TEXT": (str,),
    "BLOB": (bytes,),
    "DOUBLE": (float, int),
    "INTEGER": (int,),
    "BIGINT": (int,),
    "SMALLINT": (int,),
}


class FileColumn(msgspec.Struct, frozen=True):
    """A column in the order in which a file has it."""

    name: str
    kind: str
    always: bool


class TableShape(msgspec.Struct, frozen=True):
    """A table. `packed`: it is stored by its key, in the pages of an index. `rowid`: the column that has the rowid."""

    name: str
    columns: tuple[FileColumn, ...]
    packed: bool
    rowid: str | None

    def or_as_made(self, statement: str) -> TableShape:
        """Return the shape of a file's own CREATE statement if it is plausible: columns added later are last. A
        statement with as many columns but other names is damaged.
        """
        own = shape(self.name, statement)
        if own is None or own.packed != self.packed:
            return self
        names, usual_names = ({column.name for column in table.columns} for table in (own, self))
        return self if names != usual_names and len(names) == len(usual_names) else own

    def row(self, cell: RecordCell) -> Row | None:
        """Return the columns of a cell; None if the cell is not a row of this table."""
        if (cell.rowid is None) != self.packed or not 0 < len(cell.values) <= len(self.columns):
            return None
        row: Row = {}
        for place, column in enumerate(self.columns):
            value: Value = cell.values[place] if place < len(cell.values) else None
            if column.name == self.rowid:
                value = cell.rowid if value is None else None
            if value is None and (column.always or column.name == self.rowid):
                return None
            if value is not None and type(value) not in _TYPES[column.kind]:
                return None
            # An integral number of a column of real ones is stored as an integer (3.3, "REAL affinity").
            row[column.name] = float(value) if column.kind == "DOUBLE" and isinstance(value, int) else value
        return row


def shape(name: str, statement: str) -> TableShape | None:
    """Return the shape of the table of a CREATE statement; None if SQLite refuses the statement."""
    # A file may have any statement there; this one reads no other table, and writes no file.
    if not re.match(rf'CREATE TABLE "?{name}"? \(', statement):
        return None
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute(statement)
            columns_info = db.execute(f'PRAGMA table_info("{name}")').fetchall()
        except (sqlite3.Error, sqlite3.Warning, ValueError):
            # A text that is no UTF-8, or has a zero byte, is a ValueError.
            return None
    packed = "WITHOUT ROWID" in statement.upper()
    # The columns of the key come first in an index (2.4).
    if packed:
        columns_info.sort(key=lambda info: (info[5] == 0, info[5]))
    key = [info[1] for info in columns_info if info[5]]
    rowid = key[0] if len(key) == 1 and not packed and _kind(columns_info, key[0]) == "INTEGER" else None
    columns = tuple(
        FileColumn(column, kind.upper(), bool(always) and column != rowid)
        for _, column, kind, always, _, _ in columns_info
    )
    known = all(column.kind in _TYPES for column in columns)
    return TableShape(name, columns, packed, rowid) if columns_info and known else None


def _kind(columns_info: Sequence[tuple[Any, ...]], name: str) -> str:
    return next(str(info[2]).upper() for info in columns_info if info[1] == name)


def schema_shapes() -> dict[str, TableShape]:
    """Return the shapes of the present schema."""
    shapes = {table.name: shape(table.name, table.sql(SQLITE)[0]) for table in TABLES}
    return {name: table for name, table in shapes.items() if table is not None}


def _is_whole_load(row: Row) -> bool:
    names = [name for name in row if name not in ("study_id", "checksum")]
    return loads.is_whole(row["study_id"], names, [row[name] for name in names], row["checksum"])


def _is_whole_count(row: Row) -> bool:
    known = [row.get(name) for name in (*counts.COLUMNS, "checksum")]
    return counts.parse_counts(row["study_id"], known) is not None


def _is_possible_study(row: Row) -> bool:
    """Return whether the row can be a study; its checksum covers other tables, too, and is checked on reading."""
    studies.json_object(row["options"])
    return bool(row["kind"]) and row["kind"].isidentifier() and row["created_ns"] >= 0


_CHECKS: Mapping[str, Callable[[Row], bool]] = {
    HOST.name: lambda row: studies.is_fingerprint(row["fingerprint"], row["facts"]),
    STUDY.name: _is_possible_study,
    WORKLOAD.name: lambda row: bool(studies.json_object(row["description"])),
    SETTINGS.name: lambda row: studies.is_whole_text(row["study_id"], row["position"], row["knobs"], row["checksum"]),
    NOTICED.name: lambda row: studies.is_whole_text(row["study_id"], row["position"], row["finding"], row["checksum"]),
    COUNT.name: _is_whole_count,
    TEXT.name: lambda row: runs.is_whole_text(
        row["study_id"], row["seq"], row["stderr"], row["stdout"], row["checksum"]
    ),
    LOAD.name: _is_whole_load,
    SERIES.name: lambda row: loads.is_whole_series(
        row["study_id"], row["first"], row["last"], row["series"], row["checksum"]
    ),
    OTHERS.name: lambda row: loads.is_whole_series(
        row["study_id"], row["first"], row["last"], row["others"], row["checksum"]
    ),
    REGION_PART.name: lambda row: region_parts.is_whole(
        row["study_id"], row["position"], row["records"], row["data"], row["checksum"]
    ),
    VERDICT.name: lambda row: studies.is_whole_text(row["study_id"], row["created_ns"], row["json"], row["checksum"]),
}


def whole(name: str, rows: Sequence[Row]) -> list[bool]:
    """Return for each row of a table whether it is intact."""
    if name == RUN.name:
        return runs.are_whole([[row.get(column) for column in runs.STORED] for row in rows])
    return [_whole(name, row) for row in rows]


def _whole(name: str, row: Row) -> bool:
    try:
        return name not in _CHECKS or _CHECKS[name](row)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return False
