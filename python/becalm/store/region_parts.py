"""The table of files of timed regions: their pieces, as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection, func, select

from becalm.store.schema import REGION_PART

_CHUNK = 16
"""Pieces in memory at a time; one of a file that becalm-clock wrote has 25 kB, and none more than 1.6 MB."""


def insert(db: Connection, number: int, parts: Iterable[tuple[int, bytes]]) -> None:
    """Add the pieces of a study's file in order: how many regions are in each, and its bytes."""
    first = db.execute(select(func.count()).where(REGION_PART.c.study_id == number)).scalar_one()
    rows = []
    for position, (records, data) in enumerate(parts, first):
        rows.append({"study_id": number, "position": position, "records": records, "data": data})
        if len(rows) == _CHUNK:
            db.execute(REGION_PART.insert(), rows)
            rows = []
    if rows:
        db.execute(REGION_PART.insert(), rows)


def parts(db: Connection, number: int) -> Iterator[bytes]:
    """The pieces of a study's file in order."""
    query = select(REGION_PART.c.data).where(REGION_PART.c.study_id == number).order_by(REGION_PART.c.position)
    for (data,) in db.execution_options(yield_per=_CHUNK).execute(query):
        yield bytes(data)
