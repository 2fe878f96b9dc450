"""The tables of loads and series: what else the machine did around the runs of a study."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, null, select

from becalm.errors import StoreError
from becalm.load.record import LOAD_COLUMNS, Load, Series
from becalm.store.driver import insert_rows
from becalm.store.migrations import lacking
from becalm.store.schema import LOAD, SERIES, STUDY

_CHUNK = 5_000


def insert(db: Connection, number: int, created_ns: int, loads: Sequence[Load], series: Sequence[Series]) -> None:
    """Add records of a study that began at `created_ns`."""
    if loads:
        rows = [(number, *load._replace(started_ns=load.started_ns - created_ns)) for load in loads]
        insert_rows(db, LOAD.name, ("study_id", *LOAD_COLUMNS), rows)
    for each in series:
        text = json.dumps(each.to_json(), separators=(",", ":"), allow_nan=False)
        db.execute(SERIES.insert().values(study_id=number, first=each.first, last=each.last, series=text))


def loads(db: Connection, number: int, firsts: Sequence[int] | None = None) -> Iterator[Load]:
    """The loads of a study in the order of their runs; with `firsts`, those that begin with one of these."""
    created_ns = db.execute(select(STUDY.c.created_ns).where(STUDY.c.id == number)).scalar_one()
    later = lacking(db)
    columns = [null().label(name) if name in later else LOAD.c[name] for name in LOAD_COLUMNS]
    query = select(*columns).where(LOAD.c.study_id == number).order_by(LOAD.c.first)
    if firsts is not None:
        query = query.where(LOAD.c.first.in_(firsts))
    for row in db.execution_options(yield_per=_CHUNK).execute(query):
        found = Load._make(row)
        yield found._replace(started_ns=found.started_ns + created_ns)


def own_seqs(db: Connection, number: int) -> Iterator[int]:
    """The numbers of the runs that have a record of load for themselves, ascending."""
    query = select(LOAD.c.first).where((LOAD.c.study_id == number) & (LOAD.c.first == LOAD.c.last))
    yield from db.execution_options(yield_per=_CHUNK).execute(query.order_by(LOAD.c.first)).scalars()


def series(db: Connection, number: int, seq: int) -> Series | None:
    """The series that holds a run; None when there is none."""
    held = (SERIES.c.study_id == number) & (SERIES.c.first <= seq) & (SERIES.c.last >= seq)
    text = db.execute(select(SERIES.c.series).where(held).limit(1)).scalar()
    return None if text is None else _series(number, text)


def all_series(db: Connection, number: int) -> Iterator[Series]:
    """The series of a study in the order of their runs."""
    query = select(SERIES.c.series).where(SERIES.c.study_id == number).order_by(SERIES.c.first)
    for (text,) in db.execute(query):
        yield _series(number, text)


def _series(number: int, text: str) -> Series:
    try:
        return Series.from_json(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"A series of the load of study {number} is damaged ({error}). Its runs and their loads can be read."
        ) from error
