"""The database of a store's name (a path, a URL, or nothing), by the table of the kinds of stores."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from becalm.errors import StoreError, install
from becalm.files.written import DATABASE
from becalm.paths import resolve_store
from becalm.store.database import POSTGRESQL, SQLITE, Database, sqlite
from becalm.store.schema import META, STUDY

MEMORY = ":memory:"

BUSY_S = 20
"""The time to wait for another becalm that is writing, s."""


class Location(msgspec.Struct, frozen=True):
    """The place of a store. `shown`: its name in messages, without a password. `identity`: equal for all its names."""

    shown: str
    identity: str
    database: Database
    memory: bool = False


def locate(reference: str | None) -> Location:
    """Return the location of a path or a PostgreSQL URL, of BECALM_STORE, or of the user's own file, in this order.

    Raises StoreError, and MachineError if the directory of the user's own file cannot be created.
    """
    reference = resolve_store(reference)
    return next(row for row in TABLE if reference.startswith(row.begins)).open(reference)


def _memory(reference: str) -> Location:
    database = Database(SQLITE, lambda: sqlite(MEMORY, BUSY_S), sqlite3.Error, single=True)
    return Location("memory", MEMORY, database, memory=True)


def _postgresql(url: str) -> Location:
    try:
        # Its import takes a while, and most stores are files.
        import psycopg
    except ImportError:
        raise StoreError(
            f"A PostgreSQL store needs psycopg: {install('psycopg[binary]')}. Nothing was changed."
        ) from None
    try:
        psycopg.conninfo.conninfo_to_dict(url)
        shown = _without_password(url)
    except (psycopg.Error, ValueError):
        raise StoreError("The store's URL cannot be read. It looks like postgresql://user@host/database.") from None

    def connect() -> Any:
        return psycopg.connect(url, autocommit=True, connect_timeout=BUSY_S)

    return Location(shown, shown, Database(POSTGRESQL, connect, psycopg.Error))


def _without_password(url: str) -> str:
    """Return a PostgreSQL URL without its password. Raises ValueError for an invalid URL."""
    parts = urlsplit(url)
    if "," not in parts.netloc:
        # Raises ValueError for an invalid port.
        _ = parts.port
    user, at, where = parts.netloc.rpartition("@")
    query = "&".join(word for word in parts.query.split("&") if word.partition("=")[0] != "password")
    return f"postgresql://{user.partition(':')[0]}{at}{where}{parts.path}{'?' if query else ''}{query}"


def _sqlite(reference: str) -> Location:
    if "://" in reference:
        raise StoreError(f"{reference.partition('://')[0]!r} is not a store. Give a file or a postgresql:// URL.")
    try:
        path = Path(reference).expanduser()
    except RuntimeError:
        raise StoreError(f"The home directory in {reference} is not known. Give the whole path of the store.") from None
    if path.is_dir():
        raise StoreError(f"{path} is a directory; a store is a file. Give for example {path}/becalm.db.")
    if path.exists() and not os.access(path, os.R_OK):
        raise StoreError(f"The store {path} may not be read by this user. Give another one with --store.")
    if path.exists():
        _check_file(path)
    else:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Runs reveal the work of a person, so the file is private.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise StoreError(
                f"The store {path} cannot be made: {error.strerror}. Give another place with --store or BECALM_STORE."
            ) from error
    real = path.resolve()
    query = ""
    if not os.access(real, os.W_OK) or not os.access(real.parent, os.W_OK):
        # A read-only file can still be read. Without a log next to it nobody writes it; then `immutable` is necessary,
        # because SQLite cannot create the log's index (SQLite, Write-Ahead Logging, Read-Only Databases).
        query = "?mode=ro" if real.with_name(real.name + "-wal").exists() else "?mode=ro&immutable=1"
    place = f"file:{quote(os.fsencode(real))}{query}"
    return Location(str(path), str(real), Database(SQLITE, lambda: sqlite(place, BUSY_S), sqlite3.Error))


def locate_existing(reference: str | None) -> Location:
    """Return the location of an existing store, to be read without any change to its files. Raises StoreError."""
    reference = resolve_store(reference)
    if not is_file(reference):
        return locate(reference)
    path = Path(reference).expanduser()
    if not path.exists():
        raise StoreError(f"There is no store {path}. Give another one with --store.")
    real = path.resolve()
    _check_file(path)
    if any(real.with_name(real.name + ending).exists() for ending in ("-wal", "-journal")):
        # A connection that may write would move the log's pages into the file at its end.
        query = "mode=ro"
    elif os.access(real, os.W_OK) and os.access(real.parent, os.W_OK):
        # A read-only connection would leave an empty log, since it could not remove it.
        query = "mode=rw"
    else:
        query = "mode=ro&immutable=1"
    place = f"file:{quote(os.fsencode(real))}?{query}"
    return Location(str(path), str(real), Database(SQLITE, lambda: sqlite(place, BUSY_S, reads=True), sqlite3.Error))


def is_file(reference: str) -> bool:
    """Return whether a store is a file."""
    return next(row for row in TABLE if reference.startswith(row.begins)).kind == "sqlite"


def _check_file(path: Path) -> None:
    """Raise StoreError for a file that is not a store, before SQLite may change it, as it does with short files."""
    advice = "Nothing in it was changed. Give another file with --store."
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise StoreError(f"The store {path} is a device or a pipe, and a store is a file. {advice}")
        with path.open("rb") as file:
            head = file.read(len(DATABASE))
    except OSError as error:
        raise StoreError(f"The store {path} cannot be read: {error.strerror}. {advice}") from None
    if head and head != DATABASE:
        raise StoreError(f"The store {path} is not a becalm store: it is not an SQLite file. {advice}")
    if tables := _tables(path):
        names = ", ".join(sorted(tables)[:3])
        raise StoreError(f"The store {path} is a database of another program, with other tables ({names}). {advice}")


def _tables(path: Path) -> set[str]:
    """Return the tables of a database of another program; none for a store of becalm, and for an unreadable file.

    The file is opened as immutable, because opening it in any other way may change it.
    """
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{quote(os.fsencode(path.resolve()))}?immutable=1", uri=True)
        ) as db:
            names = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        # Damage is reported later, when the store is opened.
        return set()
    return set() if names >= OWN else names


OWN = {META.name, STUDY.name}
"""The tables that every store of becalm has."""


class StoreRow(msgspec.Struct, frozen=True):
    """A kind of store: the prefixes of its names, a description, its opener. `lasts`: whether it outlives becalm."""

    kind: str
    begins: tuple[str, ...]
    what: str
    open: Callable[[str], Location]
    lasts: bool = True


TABLE = (
    StoreRow("memory", (MEMORY,), "nothing is stored: --no-store", _memory, lasts=False),
    StoreRow(
        "postgresql",
        ("postgresql:", "postgres:"),
        "a server's database: postgresql://user@host/database",
        _postgresql,
    ),
    StoreRow("sqlite", ("",), "a file: anything else", _sqlite),
)
"""The kinds of stores, of which the first matching row is used. A further kind is a function and a row."""
