"""From an older schema to the present one, step by step; version 0 is an empty database.

One more version is one more function in STEPS. A step, once released, is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, inspect, select

from becalm._version import VERSION
from becalm.errors import StoreError
from becalm.store.schema import META, METADATA

Step = Callable[[Connection], None]


def _first(db: Connection) -> None:
    METADATA.create_all(db)
    db.execute(META.insert().values(name="schema_version", value="1"))


STEPS: Sequence[Step] = (_first,)


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


def migrate(db: Connection, shown: str, steps: Sequence[Step] = STEPS) -> None:
    """Bring a database to the newest version, within the caller's transaction. Raises StoreError when it is newer."""
    found = version(db)
    if found > len(steps):
        raise StoreError(
            f"The store {shown} has schema version {found}; becalm {VERSION} knows versions up to {len(steps)}. "
            "Nothing in it was changed. Install a newer becalm, or give another store with --store."
        )
    for number in range(found, len(steps)):
        steps[number](db)
        if number:
            db.execute(META.update().where(META.c.name == "schema_version").values(value=str(number + 1)))
