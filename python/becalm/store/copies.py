"""Copying a store while others use it, and repairing a damaged one into a new store; both only write new files.

Public: backup, repair.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from becalm.errors import StoreError, UsageError
from becalm.paths import resolve_store
from becalm.results.store import StoreBackup, StoreRepair
from becalm.store.database import Connection
from becalm.store.health import check
from becalm.store.location import is_file, locate_existing
from becalm.store.salvage.repair import salvage
from becalm.store.store import Store

PAGES = 1000
"""The number of pages that are copied at a time, for which writers have to wait."""

_COUNTED = {
    "run": "runs", "study_settings": "settings", "study_noticed": "noticed", "run_load": "loads",
    "run_series": "series", "run_others": "others", "run_text": "texts", "region_part": "pieces",
}  # fmt: skip
"""The columns of `study_count` with the numbers of rows, by table."""


def backup(reference: str | None, copy: str | Path) -> StoreBackup:
    """Copy a store by SQLite's online backup. Raises StoreError, and UsageError for an existing file."""
    path = _file(reference, "pg_dump copies it")
    location = locate_existing(reference)
    with _new_file(Path(copy)) as new:
        try:
            place = f"file:{quote(os.fsencode(path.resolve()))}?mode=ro"
            with closing(sqlite3.connect(place, uri=True)) as source, closing(sqlite3.connect(new)) as target:
                source.backup(target, pages=PAGES, sleep=0.01)
                # So the copy can be read without another file.
                target.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise StoreError(
                f"The store {location.shown} cannot be copied: {error}. Save what can be saved in a new one: "
                f"becalm store repair NEW --store {location.shown}"
            ) from error
        size = new.stat().st_size
    return StoreBackup(location.shown, str(copy), size)


def repair(reference: str | None, new: str | Path) -> StoreRepair:
    """Save the readable rows of a damaged store in a new one. Raises StoreError, and UsageError if that exists."""
    path = _file(reference, "its server repairs it")
    if not path.is_file():
        raise StoreError(f"There is no store {path}. Give another one with --store.")
    with _new_file(Path(new)) as fresh:
        salvaged = salvage(path, fresh)
        missing = _missing_rows(fresh)
    return StoreRepair(
        str(path),
        str(new),
        salvaged.rows,
        salvaged.damaged,
        missing,
        salvaged.described_anew,
        salvaged.pages,
        check(str(new)),
    )


def _file(reference: str | None, instead: str) -> Path:
    """Return the file of a store. Raises UsageError for a store that is not a file."""
    place = resolve_store(reference)
    if not is_file(place):
        raise UsageError(f"This needs a store that is a file: {instead}. Nothing was changed.")
    return Path(place).expanduser()


def _missing_rows(new: Path) -> dict[str, int]:
    """Return the numbers of rows that the studies of a new store lack by their counts, by table."""

    def lack(db: Connection, table: str, column: str) -> int:
        there = f"(SELECT count(*) FROM {table} WHERE {table}.study_id = study_count.study_id)"
        query = f"SELECT sum(max(0, coalesce({column}, 0) - {there})) FROM study_count"
        return int(db.value(query) or 0)

    with Store.open(str(new)) as store, store.reading() as db:
        lacking = {table: lack(db, table, column) for table, column in _COUNTED.items()}
    return {table: count for table, count in lacking.items() if count}


@contextmanager
def _new_file(place: Path) -> Iterator[Path]:
    """Yield the path of a new file, which is renamed to `place` when the context ends without an exception.

    Raises UsageError if `place` exists, and StoreError if it cannot be written.
    """
    taken = UsageError(f"{place} exists, and is not overwritten. Nothing was changed. Give another name.")
    if os.path.lexists(place):
        raise taken
    new = place.parent / f".becalm-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        yield new
        _sync(new)
        try:
            # Unlike rename(2), link(2) does not replace a file that was created meanwhile.
            os.link(new, place)
        except FileExistsError:
            raise taken from None
        _sync(place.parent)
    except OSError as error:
        raise StoreError(f"The file {place} cannot be written: {error.strerror}. Nothing was changed.") from error
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                os.unlink(f"{new}{ending}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
