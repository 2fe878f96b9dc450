"""The tables of a new store, and the version of the schema by which an existing one is recognised."""

from __future__ import annotations

from becalm._version import VERSION
from becalm.errors import StoreError
from becalm.store.database import Connection
from becalm.store.schema import META, SCHEMA_VERSION, TABLES

_LOCK = 0x6265_6361_6C6D
"""Any number that nobody else uses as a key of pg_advisory_xact_lock ("becalm" in ASCII)."""


def version(db: Connection) -> int:
    """Return the schema version of a database; 0 when it is empty. Raises StoreError for another database."""
    tables = db.tables()
    if META.name in tables:
        text = db.value("SELECT value FROM meta WHERE name = 'schema_version'")
        if text is not None and text.isdigit():
            return int(text)
    if tables:
        raise StoreError(
            f"The database holds other tables ({', '.join(tables[:3])}) and is not a becalm store. "
            "Nothing in it was changed. Give another one with --store."
        )
    return 0


def check_version(number: int, shown: str) -> None:
    """Raise StoreError for a store whose schema this becalm does not know."""
    if number != SCHEMA_VERSION:
        raise StoreError(
            f"The store {shown} has schema version {number}; becalm {VERSION} knows version {SCHEMA_VERSION}. "
            "Nothing in it was changed. Install the becalm that wrote it, or give another store with --store."
        )


def create(db: Connection, shown: str) -> None:
    """Create the tables of an empty database, within the caller's transaction. Raises StoreError for another schema."""
    if db.dialect.name == "postgresql":
        # Two that open a new database at once take turns; SQLite's write transactions do so by themselves.
        db.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    if number := version(db):
        check_version(number, shown)
        return
    for statement in (statement for table in TABLES for statement in table.sql(db.dialect)):
        db.execute(statement)
    db.insert(META.name, name="schema_version", value=str(SCHEMA_VERSION))
