"""The number of rows of each kind in a study, since rows that are lost at the end of a table leave no gap.

Counts change in the transaction that adds the counted rows, so that they are right whenever a study is interrupted.

Public: Counts, COLUMNS, LossCallback, begin, add, read_counts, parse_counts, missing_at_end, report_lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from becalm.store.checksum import text_checksum
from becalm.store.database import Connection

COLUMNS = ("runs", "settings", "noticed", "loads", "series", "texts", "pieces", "regions", "others")
"""The counts in the order of the checksum."""

LossCallback = Callable[[int, int], None]
"""A callback that receives the number of damaged or missing rows of a study so far, and the number of all rows."""


class Counts(msgspec.Struct, frozen=True):
    """The numbers of rows of a study in `run`, `study_settings`, `study_noticed`, `run_load`, `run_series`, `run_text`,
    `region_part` and `run_others`.

    `regions`: the number of regions in all pieces.
    """

    runs: int
    settings: int
    noticed: int
    loads: int
    series: int
    texts: int
    pieces: int
    regions: int
    others: int


def begin(db: Connection, number: int) -> None:
    """Insert the counts of a study without rows."""
    nothing = dict.fromkeys(COLUMNS, 0)
    db.insert("study_count", study_id=number, **nothing, checksum=_checksum(number, list(nothing.values())))


def add(db: Connection, number: int, **more: int) -> None:
    """Add numbers of new rows to the counts of a study, by COLUMNS; damaged counts stay damaged."""
    former = read_counts(db, number)
    if former is None or not any(more.values()):
        return
    now = [getattr(former, name) + more.get(name, 0) for name in COLUMNS]
    db.execute(
        f"UPDATE study_count SET {', '.join(f'{name} = :{name}' for name in COLUMNS)}, checksum = :checksum "
        "WHERE study_id = :number",
        number=number,
        checksum=_checksum(number, now),
        **dict(zip(COLUMNS, now, strict=True)),
    )


def read_counts(db: Connection, number: int) -> Counts | None:
    """Return the counts of a study; None if they are damaged or lost."""
    query = f"SELECT {', '.join(COLUMNS)}, checksum FROM study_count WHERE study_id = :number"
    row = db.execute(query, number=number).fetchone()
    return None if row is None else parse_counts(number, row)


def parse_counts(number: int, row: Sequence[Any]) -> Counts | None:
    """Return the counts in a row (`COLUMNS`, checksum) of a study; None if they are damaged."""
    *numbers, checksum = row
    if any(type(count) is not int for count in numbers) or _checksum(number, numbers) != checksum:
        return None
    return Counts(*numbers)


def missing_at_end(last: int | None, runs: int, counted: int) -> int:
    """Return the number of runs that are missing after the last one; runs are numbered without a gap."""
    return max(0, counted - max(runs, 0 if last is None else last + 1))


def report_lost(lost: LossCallback, whole: int, rows: int, counted: int | None) -> None:
    """Report the number of a study's rows that are not `whole`, missing ones included if their number is known."""
    lost(max(rows, counted or 0) - whole, max(rows, counted or 0))


def _checksum(number: int, numbers: Sequence[int]) -> int:
    return text_checksum(" ".join(map(str, (number, *numbers))))
