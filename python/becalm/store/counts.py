"""How many rows of each kind a study has: what is lost at the end of a table leaves no gap there.

The row is changed in the transaction that adds what it counts, so that a study that was ended at any moment has a true
one. A study of an older becalm has none.

Public: Counts, COLUMNS, begin, add, of, counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from becalm.store.checksum import of_text
from becalm.store.database import Connection
from becalm.values import dataclass

COLUMNS = ("runs", "settings", "noticed")
"""In the order of the checksum."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of a study in `run`, `study_settings` and `study_noticed`."""

    runs: int = 0
    settings: int = 0
    noticed: int = 0


def begin(db: Connection, number: int) -> None:
    """Count the rows of a study that has none yet."""
    db.insert("study_count", study_id=number, **dict.fromkeys(COLUMNS, 0), checksum=_checksum(number, (0, 0, 0)))


def add(db: Connection, number: int, *, runs: int = 0, settings: int = 0, noticed: int = 0) -> None:
    """Count rows that are added to a study. Where the former count is unknown or damaged, so is the new one."""
    former = of(db, number)
    if former is None:
        return
    now = (former.runs + runs, former.settings + settings, former.noticed + noticed)
    db.execute(
        f"UPDATE study_count SET {', '.join(f'{name} = :{name}' for name in COLUMNS)}, checksum = :checksum "
        "WHERE study_id = :number",
        number=number,
        checksum=_checksum(number, now),
        **dict(zip(COLUMNS, now, strict=True)),
    )


def of(db: Connection, number: int) -> Counts | None:
    """The counts of a study; None where there are none, or they are damaged."""
    query = f"SELECT {', '.join(COLUMNS)}, checksum FROM study_count WHERE study_id = :number"
    row = db.execute(query, number=number).fetchone()
    return None if row is None else counts(number, row)


def counts(number: int, row: Sequence[Any]) -> Counts | None:
    """The counts of a study of a row (`COLUMNS`, checksum); None where there is none, or it is damaged."""
    *found, checksum = row
    if not all(type(each) is int for each in found) or _checksum(number, found) != checksum:
        return None
    return Counts(*found)


def _checksum(number: int, found: Sequence[int]) -> int:
    return of_text(" ".join(map(str, (number, *found))))
