"""From what a person gives (a path, a URL, nothing) to a database engine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from becalm.errors import StoreError
from becalm.paths import data_dir

MEMORY = ":memory:"

BUSY_S = 20
"""How long to wait for another becalm that is writing."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a store is. `shown` is fit for messages: without a password."""

    shown: str
    engine: Engine
    memory: bool = False


def locate(given: str | None) -> Location:
    """The store at a path or PostgreSQL URL; else BECALM_STORE; else the user's own file. Raises StoreError."""
    given = given or os.environ.get("BECALM_STORE") or str(data_dir() / "becalm.db")
    if given == MEMORY:
        engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        _configure(engine)
        return Location("memory", engine, memory=True)
    if given.startswith(("postgresql:", "postgres:")):
        return _postgresql(given)
    if "://" in given:
        raise StoreError(f"{given.partition('://')[0]!r} is no kind of store. Give a file or a postgresql:// URL.")
    return _sqlite(Path(given).expanduser())


def _postgresql(given: str) -> Location:
    try:
        url = make_url(given).set(drivername="postgresql+psycopg")
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": BUSY_S})
    except ArgumentError:
        raise StoreError("The store's URL cannot be read. It looks like postgresql://user@host/database.") from None
    except (NoSuchModuleError, ModuleNotFoundError):
        raise StoreError(
            "A PostgreSQL store needs the package psycopg: pip install 'becalm[postgresql]'. Nothing was changed."
        ) from None
    return Location(url.render_as_string(hide_password=True), engine)


def _sqlite(path: Path) -> Location:
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
    # A file that may not be written can still be read; SQLite then must not look for a log beside it.
    readable_only = not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK)
    query = "mode=ro&immutable=1&uri=true" if readable_only else "uri=true"
    quoted = str(path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    engine = create_engine(f"sqlite:///file:{quoted}?{query}", connect_args={"timeout": BUSY_S})
    _configure(engine)
    return Location(str(path), engine)


def _configure(engine: Engine) -> None:
    """Transactions begin when we say so, and writers take their turn from the start (SQLite, Isolation)."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            try:
                connection.execute(f"PRAGMA {pragma}")
            except Exception as error:
                # A read-only file keeps its journal mode; everything else will be said by the first query.
                del error

    @event.listens_for(engine, "begin")
    def begun(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
