"""From what a person gives (a path, a URL, nothing) to a database engine, by the table of the kinds of stores."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from becalm.errors import StoreError, install
from becalm.paths import data_dir

MEMORY = ":memory:"

BUSY_S = 20
"""How long to wait for another becalm that is writing."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a store is. `shown` is fit for messages: without a password. `identity` is the same from everywhere."""

    shown: str
    identity: str
    engine: Engine
    memory: bool = False


def locate(given: str | None) -> Location:
    """The store at a path or PostgreSQL URL; else BECALM_STORE; else the user's own file.

    Raises StoreError; MachineError when the usual place cannot be made.
    """
    given = given or os.environ.get("BECALM_STORE") or str(data_dir() / "becalm.db")
    return next(row for row in TABLE if given.startswith(row.begins)).open(given)


def _memory(given: str) -> Location:
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    _configure(engine)
    return Location("memory", MEMORY, engine, memory=True)


def _postgresql(given: str) -> Location:
    try:
        url = make_url(given).set(drivername="postgresql+psycopg")
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": BUSY_S})
    except (ArgumentError, ValueError):
        raise StoreError("The store's URL cannot be read. It looks like postgresql://user@host/database.") from None
    except (NoSuchModuleError, ImportError):
        raise StoreError(
            f"A PostgreSQL store needs psycopg: {install('psycopg[binary]')}. Nothing was changed."
        ) from None
    shown = url.difference_update_query(["password"]).set(drivername="postgresql").render_as_string(hide_password=True)
    return Location(shown, shown, engine)


def _sqlite(given: str) -> Location:
    if "://" in given:
        raise StoreError(f"{given.partition('://')[0]!r} is not a store. Give a file or a postgresql:// URL.")
    try:
        path = Path(given).expanduser()
    except RuntimeError:
        raise StoreError(f"The store {given} is in no home directory that is known. Give its whole path.") from None
    if path.is_dir():
        raise StoreError(f"{path} is a directory; a store is a file. Give for example {path}/becalm.db.")
    if path.exists() and not os.access(path, os.R_OK):
        raise StoreError(f"The store {path} may not be read by this user. Give another one with --store.")
    if not path.exists():
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Runs say what a person works on: nobody else's business.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise StoreError(
                f"The store {path} cannot be made: {error.strerror}. Give another place with --store or BECALM_STORE."
            ) from error
    real = path.resolve()
    query = {"uri": "true"}
    if not os.access(real, os.W_OK) or not os.access(real.parent, os.W_OK):
        # A file that may not be written can still be read. Without a log beside it nobody else writes it either, and
        # SQLite must be told so, because it cannot make the log's index (SQLite, Write-Ahead Logging, Read-Only
        # Databases).
        query |= {"mode": "ro"} if real.with_name(real.name + "-wal").exists() else {"mode": "ro", "immutable": "1"}
    # SQLite undoes one quoting of the name (SQLite, Uniform Resource Identifiers); a URL given as text undoes another.
    url = URL.create("sqlite", database=f"file:{quote(os.fsencode(real))}", query=query)
    engine = create_engine(url, connect_args={"timeout": BUSY_S})
    _configure(engine)
    return Location(str(path), str(real), engine)


def _configure(engine: Engine) -> None:
    """Transactions begin when we say so, and writers take their turn from the start (SQLite, Isolation)."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        # A text that is no UTF-8 is damaged: it costs what it belongs to (`becalm.store.stored`), and not every query.
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            # A read-only file keeps its journal mode; everything else will be said by the first query.
            with contextlib.suppress(sqlite3.Error):
                connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begun(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of store: what its names begin with, what it is for, and what opens it. `lasts`: when it is closed."""

    kind: str
    begins: tuple[str, ...]
    what: str
    open: Callable[[str], Location]
    lasts: bool = True


TABLE = (
    Row("memory", (MEMORY,), "nothing is kept: --no-store", _memory, lasts=False),
    Row(
        "postgresql",
        ("postgresql:", "postgres:"),
        "a server's database: postgresql://user@host/database",
        _postgresql,
    ),
    Row("sqlite", ("",), "a file: anything else", _sqlite),
)
"""The first row that fits counts. One more kind is a function and a row."""
