"""The table of files of timed regions, in their unchanged pieces."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from becalm.store import counts
from becalm.store.database import Connection

_CHUNK = 16
"""The number of pieces in memory at a time; becalm-clock writes pieces of 25 kB, and none has more than 1.6 MB."""


def count(db: Connection, number: int) -> int:
    """Return the number of pieces of a study's file, lost ones included; 0 if it has none."""
    known = counts.read_counts(db, number)
    there = int(db.value("SELECT count(*) FROM region_part WHERE study_id = :number", number=number))
    return max(there, 0 if known is None else known.pieces)


def insert(db: Connection, number: int, parts: Iterable[tuple[int, bytes]]) -> None:
    """Add the pieces of a study's file in order, each with its number of regions and its bytes."""
    columns = ("study_id", "position", "records", "data", "checksum")
    rows: list[tuple[int, int, int, bytes, int]] = []
    pieces = regions = 0
    for position, (records, data) in enumerate(parts, count(db, number)):
        rows.append((number, position, records, data, _checksum(number, position, records, data)))
        pieces, regions = pieces + 1, regions + records
        if len(rows) == _CHUNK:
            db.insert_rows("region_part", columns, rows)
            rows = []
    if rows:
        db.insert_rows("region_part", columns, rows)
    counts.add(db, number, pieces=pieces, regions=regions)


def parts(db: Connection, number: int) -> Iterator[bytes]:
    """Yield the pieces of a study's file in order, empty ones in place of those that are damaged or missing."""
    known, read = counts.read_counts(db, number), 0
    counted = 0 if known is None else known.pieces
    query = "SELECT position, records, data, checksum FROM region_part WHERE study_id = :number ORDER BY position"
    for rows in db.parts(query, _CHUNK, number=number):
        for *row, checksum in rows:
            yield _piece(number, row, checksum)
        read += len(rows)
    yield from [b""] * (counted - read)


def is_whole(number: int, position: int, records: int, data: bytes, checksum: int) -> bool:
    """Return whether a piece matches its checksum."""
    return _checksum(number, position, records, data) == checksum


def _piece(number: int, row: list[Any], checksum: int) -> bytes:
    data = row[2]
    if not isinstance(data, bytes | memoryview):
        return b""
    return bytes(data) if _checksum(number, *row) == checksum else b""


def _checksum(number: int, position: int, records: int, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(f"{number} {position} {records}".encode()))
