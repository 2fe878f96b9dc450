"""The table of files of timed regions: their pieces, as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from becalm.store.database import Connection

_CHUNK = 16
"""Pieces in memory at a time; one of a file that becalm-clock wrote has 25 kB, and none more than 1.6 MB."""


def count(db: Connection, number: int) -> int:
    """How many pieces a study's file has; 0 where it has none."""
    return int(db.value("SELECT count(*) FROM region_part WHERE study_id = :number", number=number))


def insert(db: Connection, number: int, parts: Iterable[tuple[int, bytes]]) -> None:
    """Add the pieces of a study's file in order: how many regions are in each, and its bytes."""
    columns = ("study_id", "position", "records", "data")
    rows: list[tuple[int, int, int, bytes]] = []
    for position, (records, data) in enumerate(parts, count(db, number)):
        rows.append((number, position, records, data))
        if len(rows) == _CHUNK:
            db.insert_rows("region_part", columns, rows)
            rows = []
    if rows:
        db.insert_rows("region_part", columns, rows)


def parts(db: Connection, number: int) -> Iterator[bytes]:
    """The pieces of a study's file in order."""
    query = "SELECT data FROM region_part WHERE study_id = :number ORDER BY position"
    for rows in db.parts(query, _CHUNK, number=number):
        yield from (bytes(data) for (data,) in rows)
