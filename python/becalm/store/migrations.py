"""From an older schema to the present one, step by step.

An empty database (version 0) is made at the present version at once; STEPS[n] leads from version n + 1 to n + 2. One
more version is one more function in STEPS, and the same change in schema.py. A step, once released, is never changed,
and never uses the tables of schema.py, which describe the present only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, inspect, select

from becalm._version import VERSION
from becalm.errors import StoreError
from becalm.store.schema import META, METADATA

Step = Callable[[Connection], None]

STEPS: Sequence[Step] = ()

_LOCK = 0x6265_6361_6C6D
"""Any number that nobody else uses as a key of pg_advisory_xact_lock ("becalm" in ASCII)."""


def version(db: Connection) -> int:
    """The schema version of a database; 0 when it is empty. Raises StoreError for a database of something else."""
    tables = inspect(db).get_table_names()
    if META.name in tables:
        found = db.execute(select(META.c.value).where(META.c.name == "schema_version")).scalar()
        if found is not None and found.isdigit():
            return int(found)
    if tables:
        raise StoreError(
            f"The database holds other tables ({', '.join(sorted(tables)[:3])}) and is no becalm store. "
            "Nothing in it was changed. Give another one with --store."
        )
    return 0


def current(steps: Sequence[Step] = STEPS) -> int:
    """The version that the present schema has."""
    return 1 + len(steps)


def migrate(db: Connection, shown: str, steps: Sequence[Step] = STEPS) -> None:
    """Bring a database to the present version, within the caller's transaction. Raises StoreError when it is newer."""
    if db.dialect.name == "postgresql":
        # Two that open a new database at once take turns; SQLite's write transactions do so by themselves.
        db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    found, wanted = version(db), current(steps)
    if found > wanted:
        raise StoreError(
            f"The store {shown} has schema version {found}; becalm {VERSION} knows versions up to {wanted}. "
            "Nothing in it was changed. Install a newer becalm, or give another store with --store."
        )
    if found == 0:
        METADATA.create_all(db)
        db.execute(META.insert().values(name="schema_version", value=str(wanted)))
    for number in range(max(found, 1), wanted if found else 0):
        steps[number - 1](db)
        db.execute(META.update().where(META.c.name == "schema_version").values(value=str(number + 1)))
