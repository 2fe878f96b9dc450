"""The tables of loads and series: what else the machine did around the runs of a study."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from becalm.errors import StoreError
from becalm.load.record import LOAD_COLUMNS, Load, Series
from becalm.store.database import Connection
from becalm.store.migrations import lacking

_CHUNK = 5_000


def insert(db: Connection, number: int, created_ns: int, loads: Sequence[Load], series: Sequence[Series]) -> None:
    """Add records of a study that began at `created_ns`."""
    if loads:
        rows = [(number, *load._replace(started_ns=load.started_ns - created_ns)) for load in loads]
        db.insert_rows("run_load", ("study_id", *LOAD_COLUMNS), rows)
    for each in series:
        text = json.dumps(each.to_json(), separators=(",", ":"), allow_nan=False)
        db.insert("run_series", study_id=number, first=each.first, last=each.last, series=text)


def loads(db: Connection, number: int, created_ns: int, firsts: Sequence[int] | None = None) -> Iterator[Load]:
    """The loads of a study in the order of their runs; with `firsts`, those that begin with one of these."""
    if firsts is not None and not len(firsts):
        return
    later = lacking(db)
    columns = ", ".join("NULL" if name in later else f'"{name}"' for name in LOAD_COLUMNS)
    chosen = "" if firsts is None else f" AND first IN ({', '.join(str(int(first)) for first in firsts)})"
    query = f"SELECT {columns} FROM run_load WHERE study_id = :number{chosen} ORDER BY first"
    for rows in db.parts(query, _CHUNK, number=number):
        for row in rows:
            found = Load._make(row)
            yield found._replace(started_ns=found.started_ns + created_ns)


def own_seqs(db: Connection, number: int) -> Iterator[int]:
    """The numbers of the runs that have a record of load for themselves, ascending."""
    query = "SELECT first FROM run_load WHERE study_id = :number AND first = last ORDER BY first"
    for rows in db.parts(query, _CHUNK, number=number):
        yield from (first for (first,) in rows)


def series(db: Connection, number: int, seq: int) -> Series | None:
    """The series that holds a run; None when there is none."""
    query = "SELECT series FROM run_series WHERE study_id = :number AND first <= :seq AND last >= :seq LIMIT 1"
    text = db.value(query, number=number, seq=seq)
    return None if text is None else _series(number, text)


def all_series(db: Connection, number: int) -> Iterator[Series]:
    """The series of a study in the order of their runs."""
    for (text,) in db.execute("SELECT series FROM run_series WHERE study_id = :number ORDER BY first", number=number):
        yield _series(number, text)


def _series(number: int, text: str) -> Series:
    try:
        return Series.from_json(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"A series of the load of study {number} is damaged ({error}). Its runs and their loads can be read."
        ) from error
