"""Connections, transactions and statements of a database, directly through its driver.

The differences between SQLite and PostgreSQL are in a row, `Dialect`. `location` makes a `Database`, the store opens a
`Connection` for each transaction, and the modules of the tables execute their statements on it. A value in a statement
is written `:name`. Importing an SQL toolkit would take longer than the start of a short comparison may take
(`tests/contract/cli/test_main_start.py`).

Public: Dialect, SQLITE, POSTGRESQL, Connection, Database.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import msgspec

Row = tuple[Any, ...]

_VALUE = re.compile(r"(?<![:\w]):([a-z_]+)")
FREE_SHARE = 0.1
"""The share of a file that has to be free before the file is compacted."""

_KEPT = 4
"""The largest number of idle connections that are kept for later transactions."""


class Dialect(msgspec.Struct, frozen=True):
    """The differences between databases.

    - `types`: the database's types by the kinds in `schema`.
    - `numbered`: the type of a key that the database counts; `numbered_forever`: the same without reusing numbers.
    - `mark`, `named`: the placeholder of a value by position, and by name.
    - `writes`: the statement that begins a transaction and locks out other writers at once.
    - `server`: whether idle connections may break, and all rows are sent at once by default.
    - `tables`: the query for the names of all tables.
    """

    name: str
    types: Mapping[str, str]
    numbered: str
    numbered_forever: str
    without_rowid: str
    mark: str
    named: str
    writes: str
    server: bool
    tables: str


_PLAIN = {"text": "TEXT", "wide": "BIGINT", "integer": "INTEGER", "small": "SMALLINT"}

# SQLite only counts INTEGER keys by itself; PostgreSQL needs the wide type for the same range. Writers of SQLite lock
# from the start (SQLite, Isolation), because a transaction that began as a reader may be unable to write.
SQLITE = Dialect(
    name="sqlite",
    types={**_PLAIN, "key": "INTEGER", "real": "DOUBLE", "bytes": "BLOB"},
    numbered="INTEGER NOT NULL PRIMARY KEY",
    numbered_forever="INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
    without_rowid=" WITHOUT ROWID",
    mark="?",
    named=r":\1",
    writes="BEGIN IMMEDIATE",
    server=False,
    tables="SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'",
)
POSTGRESQL = Dialect(
    name="postgresql",
    types={**_PLAIN, "key": "BIGINT", "real": "DOUBLE PRECISION", "bytes": "BYTEA"},
    numbered="BIGSERIAL NOT NULL PRIMARY KEY",
    numbered_forever="BIGSERIAL NOT NULL PRIMARY KEY",
    without_rowid="",
    mark="%s",
    named=r"%(\1)s",
    writes="BEGIN",
    server=True,
    tables="SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
)


@lru_cache(maxsize=256)
def _marked(statement: str, named: str) -> str:
    return _VALUE.sub(named, statement)


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


class Connection:
    """A connection within a transaction. `values` are keyword arguments by their names in the statement."""

    _streams = itertools.count()

    def __init__(self, raw: Any, dialect: Dialect) -> None:
        self._raw = raw
        self.dialect = dialect

    def execute(self, statement: str, **values: Any) -> Any:
        """Execute a statement and return the driver's cursor, which iterates over the rows."""
        return self._raw.execute(*self._of(statement, values))

    def value(self, statement: str, **values: Any) -> Any:
        """Return the first column of the first row; None when there is no row."""
        row = self.execute(statement, **values).fetchone()
        return None if row is None else row[0]

    def parts(self, statement: str, size: int, **values: Any) -> Iterator[list[Row]]:
        """Yield the rows in lists of `size`, for tables that may have millions."""
        name = {"name": f"becalm_{next(self._streams)}"} if self.dialect.server else {}
        cursor = self._raw.cursor(**name)
        try:
            cursor.execute(*self._of(statement, values))
            while rows := cursor.fetchmany(size):
                yield rows
        finally:
            # After an error a server has closed it, and refuses further requests.
            with contextlib.suppress(Exception):
                cursor.close()

    def insert(self, table: str, **values: Any) -> None:
        """Add a row. The names of table and columns must be those of the schema."""
        self.insert_rows(table, tuple(values), [tuple(values.values())])

    def insert_numbered(self, table: str, **values: Any) -> int:
        """Add a row to a table whose `id` the database counts, and return that number."""
        statement = self._insertion(table, tuple(values))
        if self.dialect.server:
            return int(self._raw.execute(f"{statement} RETURNING id", tuple(values.values())).fetchone()[0])
        # SQLite has RETURNING only since 3.35.
        return int(self._raw.execute(statement, tuple(values.values())).lastrowid)

    def insert_rows(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows of a table, whose values must be of types that the driver supports."""
        self._raw.cursor().executemany(self._insertion(table, columns), rows)

    def tables(self) -> list[str]:
        """Return the names of all tables of the database."""
        return sorted(str(name) for (name,) in self.execute(self.dialect.tables))

    def _insertion(self, table: str, columns: Sequence[str]) -> str:
        marks = ", ".join([self.dialect.mark] * len(columns))
        return f'INSERT INTO "{table}" ({_names(columns)}) VALUES ({marks})'

    def _of(self, statement: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return (_marked(statement, self.dialect.named), values) if values else (statement,)


class Database:
    """Transactions on connections made by `connect`, which must not begin transactions by themselves.

    `errors`: the exceptions of the driver. `single`: whether there is a single connection, because a further one would
    be another database; a transaction within another one is then a part of it.
    """

    def __init__(
        self, dialect: Dialect, connect: Callable[[], Any], errors: type[Exception], *, single: bool = False
    ) -> None:
        self.dialect = dialect
        self.errors = errors
        self._connect = connect
        self._single = single
        self._idle: list[Any] = []

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[Connection]:
        """Yield a connection whose writes are committed together, or rolled back after any exception."""
        raw = self._take()
        if self._single and raw.in_transaction:
            yield Connection(raw, self.dialect)
            return
        try:
            raw.execute(self.dialect.writes if writes else "BEGIN")
            yield Connection(raw, self.dialect)
            raw.execute("COMMIT")
        except BaseException:
            try:
                raw.rollback()
            except self.errors:
                self._drop(raw)
            else:
                self._give_back(raw)
            raise
        self._give_back(raw)

    def compact(self) -> None:
        """Return the space of deleted rows to the file system, if it is a tenth of the file; a server does so itself.

        Raises the driver's error if somebody else uses the file, or if there is no space for its copy.
        """
        if self.dialect.server:
            return
        raw = self._take()
        try:
            patience, free, pages = (
                raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("busy_timeout", "freelist_count", "page_count")
            )
            if free < FREE_SHARE * pages:
                return
            # It does not wait for readers: the space is returned another time.
            raw.execute("PRAGMA busy_timeout = 0")
            try:
                raw.execute("VACUUM")
                # The copy went through the log, which keeps its size otherwise (SQLite, Write-Ahead Logging, 5.2).
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                raw.execute(f"PRAGMA busy_timeout = {patience}")
        finally:
            self._give_back(raw)

    def close(self) -> None:
        """Close all connections; a further transaction would open a new one."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Any:
        with contextlib.suppress(IndexError):
            raw = self._idle[0] if self._single else self._idle.pop()
            if self._alive(raw):
                return raw
        raw = self._connect()
        if self._single:
            self._idle.append(raw)
        return raw

    def _alive(self, raw: Any) -> bool:
        """Return whether an idle connection can still be used, since a server may have been restarted meanwhile."""
        if self.dialect.server:
            try:
                raw.execute("SELECT 1")
            except self.errors:
                self._drop(raw)
                return False
        return True

    def _give_back(self, raw: Any) -> None:
        if self._single:
            return
        if len(self._idle) < _KEPT:
            self._idle.append(raw)
        else:
            raw.close()

    def _drop(self, raw: Any) -> None:
        with contextlib.suppress(self.errors):
            raw.close()
        if raw in self._idle:
            self._idle.remove(raw)


def sqlite(place: str, busy_s: float, *, reads: bool = False) -> Any:
    """Return a connection to an SQLite database by its URI.

    Transactions begin only by a statement. A text that is not UTF-8 is damaged; it only affects the row to which it
    belongs (`becalm.store.studies`), not every query. `reads`: make no change, not even of the journal mode.
    """
    raw = sqlite3.connect(place, timeout=busy_s, isolation_level=None, check_same_thread=False, uri=True)
    raw.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    writing = ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON")
    for pragma in ("query_only = ON",) if reads else writing:
        # A read-only file keeps its journal mode; the first query reports all other errors.
        with contextlib.suppress(sqlite3.Error):
            raw.execute(f"PRAGMA {pragma}")
    return raw
