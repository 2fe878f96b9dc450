"""The tables of loads, series and others: records of the machine's other load around the runs of a study.

Each row is stored with its checksum, and only read if that matches. The checksum of a load covers the names and values
of its known columns.

Public: insert, loads, own_seqs, series, all_series, all_others, is_whole, is_whole_series.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from becalm.load.others import Others
from becalm.load.record import LOAD_COLUMNS, Load, Series
from becalm.nouns.tables import load_columns
from becalm.store import counts
from becalm.store.checksum import text_checksum
from becalm.store.database import Connection

_CHUNK = 5_000
_STARTED = LOAD_COLUMNS.index("started_ns")
_REAL = tuple(place for place, column in enumerate(load_columns()) if column.form == "real")


_Record = TypeVar("_Record", Series, Others)

_SERIES = ("series", Series.from_json)
_OTHERS = ("others", Others.from_json)
"""The column of a kind of record, whose table has the prefix `run_`, and its decoder."""


def insert(
    db: Connection,
    number: int,
    created_ns: int,
    loads: Sequence[Load],
    series: Sequence[Series],
    others: Sequence[Others] = (),
) -> None:
    """Add records of a study that began at `created_ns`, each with its checksum."""
    if loads:
        check = _Checksums(number, LOAD_COLUMNS)
        rows = []
        for load in loads:
            row: list[Any] = list(load)
            row[_STARTED] -= created_ns
            for place in _REAL:
                if row[place] is not None:
                    # The form in which a database returns it: no integer, and no negative zero.
                    row[place] = float(row[place]) + 0.0
            rows.append((number, *row, check.of(row)))
        db.insert_rows("run_load", ("study_id", *LOAD_COLUMNS, "checksum"), rows)
    for table, column, records in (("run_series", "series", series), ("run_others", "others", others)):
        for record in records:
            text = json.dumps(record.to_json(), separators=(",", ":"), allow_nan=False)
            checksum = _series_checksum(number, record.first, record.last, text)
            values = {column: text, "checksum": checksum}
            db.insert(table, study_id=number, first=record.first, last=record.last, **values)
    counts.add(db, number, loads=len(loads), series=len(series), others=len(others))


def loads(
    db: Connection,
    number: int,
    created_ns: int,
    firsts: Sequence[int] | None = None,
    lost: counts.LossCallback = lambda damaged, of: None,
) -> Iterator[Load]:
    """Yield the loads of a study in the order of their runs; with `firsts`, only those that begin with one of these.

    Damaged loads are left out; `lost` is called with their number at the end.
    """
    if firsts is not None and not len(firsts):
        return
    check, known = _Checksums(number, LOAD_COLUMNS), counts.read_counts(db, number)
    counted = None if known is None else known.loads
    chosen = "" if firsts is None else f" AND first IN ({', '.join(str(int(first)) for first in firsts)})"
    columns = ", ".join(f'"{name}"' for name in (*LOAD_COLUMNS, "checksum"))
    query = f"SELECT {columns} FROM run_load WHERE study_id = :number{chosen} ORDER BY first"
    rows = whole = 0
    for part in db.parts(query, _CHUNK, number=number):
        rows += len(part)
        for row in part:
            if check.of(row[:-1]) == row[-1]:
                whole += 1
                load = Load._make(row[:-1])
                yield load._replace(started_ns=load.started_ns + created_ns)
    counts.report_lost(lost, whole, rows, counted)


def is_whole(number: int, names: Sequence[str], values: Sequence[Any], checksum: int) -> bool:
    """Return whether the columns of a load match its checksum."""
    return _Checksums(number, names).of(values) == checksum


def is_whole_series(number: int, first: int, last: int, text: str, checksum: int) -> bool:
    """Return whether a series matches its checksum."""
    return _series_checksum(number, first, last, text) == checksum


def own_seqs(db: Connection, number: int) -> Iterator[int]:
    """Yield the numbers of the runs that have a load record of their own, ascending."""
    query = "SELECT first FROM run_load WHERE study_id = :number AND first = last ORDER BY first"
    for rows in db.parts(query, _CHUNK, number=number):
        yield from (first for (first,) in rows)


def series(db: Connection, number: int, seq: int) -> Series | None:
    """Return the series that covers a run; None if there is none, or it is damaged."""
    holding = ' AND "first" <= :seq AND "last" >= :seq'
    return next(_all(_SERIES, db, number, lambda damaged, of: None, holding, seq=seq), None)


def all_series(db: Connection, number: int, lost: counts.LossCallback = lambda damaged, of: None) -> Iterator[Series]:
    """Yield the series of a study in the order of their runs, as in `loads`."""
    return _all(_SERIES, db, number, lost)


def all_others(db: Connection, number: int, lost: counts.LossCallback = lambda damaged, of: None) -> Iterator[Others]:
    """Yield the records of other processes around the runs of a study in the order of the runs, as in `loads`."""
    return _all(_OTHERS, db, number, lost)


def _all(
    form: tuple[str, Callable[[Any], _Record]],
    db: Connection,
    number: int,
    lost: counts.LossCallback,
    where: str = "",
    **values: int,
) -> Iterator[_Record]:
    column, read = form
    known = counts.read_counts(db, number)
    counted: int | None = None if known is None else getattr(known, column)
    rows = whole = 0
    query = f'SELECT "first", "last", {column}, checksum FROM run_{column} WHERE study_id = :number{where}'
    for *row, checksum in db.execute(f'{query} ORDER BY "first"', number=number, **values):
        rows += 1
        record = _record(read, number, row, checksum)
        if record is not None:
            whole += 1
            yield record
    counts.report_lost(lost, whole, rows, counted)


class _Checksums:
    """The checksums of a study's loads with these columns, 0 to 2^31 - 1, which take four bytes in SQLite."""

    def __init__(self, number: int, columns: Sequence[str]) -> None:
        self._number = number
        self._names = sorted(columns)
        self._values = itemgetter(*(columns.index(name) for name in self._names))

    def of(self, row: Sequence[Any]) -> int:
        """Return the checksum of one row."""
        values = zip(self._names, self._values(row), strict=True)
        return (
            text_checksum(
                f"{self._number} " + " ".join([f"{name}={value!r}" for name, value in values if value is not None])
            )
            >> 1
        )


def _record(read: Callable[[Any], _Record], number: int, row: Sequence[Any], checksum: int) -> _Record | None:
    try:
        if _series_checksum(number, *row) != checksum:
            return None
        return read(json.loads(row[2]))
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None


def _series_checksum(number: int, first: int, last: int, text: str) -> int:
    return text_checksum(f"{number} {first} {last} {text}")
