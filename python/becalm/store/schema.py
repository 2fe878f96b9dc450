"""The tables, for SQLite and PostgreSQL alike. docs/reference/store.md describes them.

The columns of runs and of loads are those of the engine's tables. A run is stored as small as it goes (about sixty
bytes): outcome as a number, start relative to the study's.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)

from becalm.nouns.run import Outcome
from becalm.nouns.tables import load_columns, run_columns

METADATA = MetaData()

# SQLite gives only INTEGER keys their numbers by itself; PostgreSQL needs the wide type for the same range.
KEY = BigInteger().with_variant(Integer, "sqlite")

META = Table("meta", METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

HOST = Table(
    "host",
    METADATA,
    Column("id", KEY, primary_key=True, autoincrement=True),
    Column("fingerprint", Text, nullable=False, unique=True),
    Column("facts", Text, nullable=False),
)

STUDY = Table(
    "study",
    METADATA,
    Column("id", KEY, primary_key=True, autoincrement=True),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("becalm", Text, nullable=False),
    Column("host_id", KEY, ForeignKey("host.id"), nullable=False),
    Column("host_name", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("options", Text, nullable=False),
    Column("environment", Text, nullable=False),
    sqlite_autoincrement=True,
)

WORKLOAD = Table(
    "study_workload",
    METADATA,
    Column("study_id", KEY, ForeignKey("study.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("description", Text, nullable=False),
)

SETTINGS = Table(
    "study_settings",
    METADATA,
    Column("study_id", KEY, ForeignKey("study.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("knobs", Text, nullable=False),
)

_RUN_FORMS = {"outcome": SmallInteger, "status": SmallInteger, "metrics": Text}

RUN = Table(
    "run",
    METADATA,
    Column("study_id", KEY, ForeignKey("study.id"), primary_key=True, autoincrement=False),
    *(
        Column(
            each.name,
            # The outcome is stored as a number; an exit code has eight bits. Metrics are a list of JSON.
            _RUN_FORMS.get(each.name, BigInteger),
            primary_key=each.name == "seq",
            nullable=not each.always,
            autoincrement=False,
        )
        for each in run_columns()
    ),
    Column("checksum", Integer),
    sqlite_with_rowid=False,
)
"""`started_ns` is relative to the study's `created_ns`; `outcome` is a position in OUTCOMES; `checksum` is of the
study's number and the columns as they are stored here (`becalm.store.checksum`), NULL in runs of older versions."""

TEXT = Table(
    "run_text",
    METADATA,
    Column("study_id", KEY, ForeignKey("study.id"), primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("stderr", Text, nullable=False),
    Column("stdout", Text, nullable=False),
)

_FORMS = {"integer": BigInteger, "real": Double, "word": Text}

LOAD = Table(
    "run_load",
    METADATA,
    Column("study_id", KEY, ForeignKey("study.id"), primary_key=True, autoincrement=False),
    *(
        Column(
            each.name,
            _FORMS[each.form],
            primary_key=each.name == "first",
            nullable=not each.always,
            autoincrement=False,
        )
        for each in load_columns()
    ),
    sqlite_with_rowid=False,
)
"""`started_ns` is relative to the study's `created_ns`. A database that is older than a column lacks it until it is
opened (`migrations.extend`)."""

SERIES = Table(
    "run_series",
    METADATA,
    Column("study_id", KEY, ForeignKey("study.id"), primary_key=True, autoincrement=False),
    Column("first", BigInteger, primary_key=True, autoincrement=False),
    Column("last", BigInteger, nullable=False),
    Column("series", Text, nullable=False),
)
"""`series` is the JSON of a Series."""

REGION_PART = Table(
    "region_part",
    METADATA,
    Column("study_id", KEY, ForeignKey("study.id"), primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("records", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
"""A file of regions in its pieces, as they were (docs/reference/regions.md): each has its own checksum. `records`: how
many regions are in one, before the data so that counting them does not read these."""

VERDICT = Table(
    "verdict",
    METADATA,
    Column("id", KEY, primary_key=True, autoincrement=True),
    Column("study_id", KEY, ForeignKey("study.id"), nullable=False, index=True),
    Column("created_ns", BigInteger, nullable=False),
    Column("json", Text, nullable=False),
)

OUTCOMES = tuple(str(each) for each in (Outcome.OK, Outcome.FAILED, Outcome.TIMEOUT, Outcome.ABORTED, Outcome.REFUSED))
"""The order is part of the schema: a run's outcome is stored as its position here."""
