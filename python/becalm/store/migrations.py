"""From an older schema to the present one, step by step.

An empty database (version 0) is made at the present version at once; STEPS[n] leads from version n + 1 to n + 2. One
more version is one more function in STEPS, and the same change in schema.py. A step, once released, is never changed,
and never uses the tables of schema.py, which describe the present only.

A new column of loads takes no version: `extend` adds it, older versions of becalm read and write the others as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from becalm._version import VERSION
from becalm.errors import StoreError
from becalm.store.database import Connection
from becalm.store.schema import LOAD, META, TABLES

Step = Callable[[Connection], None]

_LOAD_OF_2 = """
    first last started_ns interval_ns cpus busy_ns idle_ns iowait_ns irq_ns softirq_ns steal_ns queue queue_peak
    samples swap_out_bytes swap_in_bytes refaults direct_reclaims major_faults disk_read_bytes disk_write_bytes
    disk_busy_ns net_in_bytes net_out_bytes net_packets net_errors loopback_bytes nfs_calls nfs_retransmissions
    pressure_cpu_ns pressure_io_ns pressure_memory_ns interrupts switches frequency_khz throttled level scope
    exec_ns wait_ns block_ns swapin_ns reclaim_ns thrashing_ns compact_ns copy_ns irq_delay_ns quota_ns
    own_cpu_pressure_ns own_io_pressure_ns own_memory_pressure_ns tasks lost cost_ns
"""
_ALWAYS_OF_2 = ("first", "last", "started_ns", "interval_ns", "samples", "level", "scope")


def _loads(db: Connection) -> None:
    """Migrate from 1 to 2: loads of the machine around runs."""
    key = "INTEGER" if db.dialect.name == "sqlite" else "BIGINT"
    real = "DOUBLE" if db.dialect.name == "sqlite" else "DOUBLE PRECISION"
    kinds = {"queue": real, "scope": "TEXT"}
    columns = [
        f"{name} {kinds.get(name, 'BIGINT')}{' NOT NULL' if name in _ALWAYS_OF_2 else ''}"
        for name in _LOAD_OF_2.split()
    ]
    study = f"study_id {key} NOT NULL REFERENCES study (id)"
    without = " WITHOUT ROWID" if db.dialect.name == "sqlite" else ""
    db.execute(f"CREATE TABLE run_load ({study}, {', '.join(columns)}, PRIMARY KEY (study_id, first)){without}")
    db.execute(
        f"CREATE TABLE run_series ({study}, first BIGINT NOT NULL, last BIGINT NOT NULL, series TEXT NOT NULL, "
        "PRIMARY KEY (study_id, first))"
    )


def _checksums(db: Connection) -> None:
    """Migrate from 2 to 3: runs have a checksum; existing ones have none."""
    db.execute("ALTER TABLE run ADD COLUMN checksum INTEGER")


def _metrics(db: Connection) -> None:
    """Migrate from 3 to 4: runs have the metrics that their programs printed; existing ones have none."""
    db.execute("ALTER TABLE run ADD COLUMN metrics TEXT")


def _regions(db: Connection) -> None:
    """Migrate from 4 to 5: files of timed regions."""
    sqlite = db.dialect.name == "sqlite"
    key, data = ("INTEGER", "BLOB") if sqlite else ("BIGINT", "BYTEA")
    db.execute(
        f"CREATE TABLE region_part (study_id {key} NOT NULL REFERENCES study (id), position INTEGER NOT NULL, "
        f"records BIGINT NOT NULL, data {data} NOT NULL, PRIMARY KEY (study_id, position))"
    )


def _noticed(db: Connection) -> None:
    """Migrate from 5 to 6: findings on settings while they were applied."""
    key = "INTEGER" if db.dialect.name == "sqlite" else "BIGINT"
    db.execute(
        f"CREATE TABLE study_noticed (study_id {key} NOT NULL REFERENCES study (id), position INTEGER NOT NULL, "
        f"finding TEXT NOT NULL, PRIMARY KEY (study_id, position))"
    )


def _checked_verdicts(db: Connection) -> None:
    """Migrate from 6 to 7: verdicts have a checksum; existing ones have none."""
    db.execute("ALTER TABLE verdict ADD COLUMN checksum BIGINT")


def _counts(db: Connection) -> None:
    """Migrate from 7 to 8: the numbers of rows of a study; existing ones are not counted."""
    key = "INTEGER" if db.dialect.name == "sqlite" else "BIGINT"
    db.execute(
        f"CREATE TABLE study_count (study_id {key} NOT NULL REFERENCES study (id), runs BIGINT NOT NULL, "
        "settings INTEGER NOT NULL, noticed INTEGER NOT NULL, checksum BIGINT NOT NULL, PRIMARY KEY (study_id))"
    )


def _checked_descriptions(db: Connection) -> None:
    """Migrate from 8 to 9: descriptions of studies have checksums; existing ones have none."""
    for table in ("study", "study_settings", "study_noticed"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN checksum BIGINT")


def _checked_records(db: Connection) -> None:
    """Migrate from 9 to 10: loads, series, texts and regions have checksums and are counted; existing ones are not."""
    db.execute("ALTER TABLE run_load ADD COLUMN checksum INTEGER")
    for table in ("run_series", "run_text", "region_part"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN checksum BIGINT")
    for column in ("loads", "series", "texts", "pieces", "regions"):
        db.execute(f"ALTER TABLE study_count ADD COLUMN {column} BIGINT")


def _unknown_times(db: Connection) -> None:
    """Migrate from 10 to 11: the wall time of an imported run may be unknown."""
    if db.dialect.name == "postgresql":
        db.execute("ALTER TABLE run ALTER COLUMN wall_ns DROP NOT NULL")
        return
    # SQLite changes no constraint of a table that is there (https://www.sqlite.org/lang_altertable.html, section 7).
    made = db.value("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'run'")
    changed = re.sub(r'("?wall_ns"?\s+\w+)\s+NOT\s+NULL', r"\1", made)
    db.execute("ALTER TABLE run RENAME TO run_before")
    db.execute(changed)
    db.execute("INSERT INTO run SELECT * FROM run_before")
    db.execute("DROP TABLE run_before")


def _starts(db: Connection) -> None:
    """Migrate from 11 to 12: runs have a CPU and the distance of two starts; existing ones have none."""
    for column in ("cpu", "apart_ns"):
        db.execute(f"ALTER TABLE run ADD COLUMN {column} BIGINT")


STEPS: Sequence[Step] = (
    _loads,
    _checksums,
    _metrics,
    _regions,
    _noticed,
    _checked_verdicts,
    _counts,
    _checked_descriptions,
    _checked_records,
    _unknown_times,
    _starts,
)

_LOCK = 0x6265_6361_6C6D
"""Any number that nobody else uses as a key of pg_advisory_xact_lock ("becalm" in ASCII)."""


def version(db: Connection) -> int:
    """Return the schema version of a database; 0 when it is empty. Raises StoreError for another database."""
    tables = db.tables()
    if META.name in tables:
        found = db.value("SELECT value FROM meta WHERE name = 'schema_version'")
        if found is not None and found.isdigit():
            return int(found)
    if tables:
        raise StoreError(
            f"The database holds other tables ({', '.join(tables[:3])}) and is not a becalm store. "
            "Nothing in it was changed. Give another one with --store."
        )
    return 0


def lacking(db: Connection) -> list[str]:
    """Return the columns of loads that are younger than this database."""
    there = set(db.columns(LOAD.name))
    return [column.name for column in LOAD.columns if column.name not in there]


def extend(db: Connection) -> None:
    """Add the columns of loads that the database lacks: unknown for what is there."""
    missing = lacking(db)
    for column in LOAD.columns:
        if column.name in missing:
            kind = db.dialect.types[column.kind]
            db.execute(f'ALTER TABLE {LOAD.name} ADD COLUMN "{column.name}" {kind}')


def current(steps: Sequence[Step] = STEPS) -> int:
    """Return the version of the present schema."""
    return 1 + len(steps)


def migrate(db: Connection, shown: str, steps: Sequence[Step] = STEPS) -> None:
    """Bring a database to the present version, within the caller's transaction. Raises StoreError when it is newer."""
    if db.dialect.name == "postgresql":
        # Two that open a new database at once take turns; SQLite's write transactions do so by themselves.
        db.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    found, wanted = version(db), current(steps)
    if found > wanted:
        raise StoreError(
            f"The store {shown} has schema version {found}; becalm {VERSION} knows versions up to {wanted}. "
            "Nothing in it was changed. Install a newer becalm, or give another store with --store."
        )
    if found == 0:
        for statement in (made for table in TABLES for made in table.sql(db.dialect)):
            db.execute(statement)
        db.insert(META.name, name="schema_version", value=str(wanted))
    for number in range(max(found, 1), wanted if found else 0):
        steps[number - 1](db)
        db.execute("UPDATE meta SET value = :value WHERE name = 'schema_version'", value=str(number + 1))
    extend(db)
