"""The tables, for SQLite and PostgreSQL alike. docs/reference/store.md describes them.

The columns of runs and of loads are those of the engine's tables. A run takes about sixty bytes: its outcome is a
number, and its start is relative to the study's.

Public: Column, StoreTable, the tables by name, TABLES in the order in which they are created, OUTCOMES.
"""

from __future__ import annotations

import msgspec

from becalm.nouns.run import Outcome
from becalm.nouns.tables import load_columns, run_columns
from becalm.store.database import Dialect

SCHEMA_VERSION = 1
"""The version of the tables, which each store has in its table `meta`."""


class Column(msgspec.Struct, frozen=True):
    """A column. `kind`: a name in `Dialect.types`; `always`: NOT NULL; `refers`: the table whose `id` it contains."""

    name: str
    kind: str
    always: bool = True
    refers: str = ""

    def sql(self, dialect: Dialect) -> str:
        """Return the column's definition in SQL."""
        return f'"{self.name}" {dialect.types[self.kind]}{" NOT NULL" if self.always else ""}'


class StoreTable(msgspec.Struct, frozen=True):
    """A table.

    - `key`: the names of the columns of the key; without any the key is `id`, which the database counts.
    - `forever`: whether an `id` is never used again after its row is deleted.
    - `unique`: a column with distinct values; `indexed`: a column with an index.
    - `packed`: whether rows are stored by the key only, if the database supports it.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    forever: bool = False
    unique: str = ""
    indexed: str = ""
    packed: bool = False

    def sql(self, dialect: Dialect) -> list[str]:
        """Return the statements that create the table."""
        parts = [column.sql(dialect) for column in self.columns]
        if self.key:
            parts.append("PRIMARY KEY ({})".format(", ".join(f'"{name}"' for name in self.key)))
        else:
            parts.insert(0, f"id {dialect.numbered_forever if self.forever else dialect.numbered}")
        if self.unique:
            parts.append(f'UNIQUE ("{self.unique}")')
        parts += [
            f'FOREIGN KEY ("{column.name}") REFERENCES {column.refers} (id)' for column in self.columns if column.refers
        ]
        result = [f"CREATE TABLE {self.name} ({', '.join(parts)}){dialect.without_rowid if self.packed else ''}"]
        if self.indexed:
            result.append(f'CREATE INDEX ix_{self.name}_{self.indexed} ON {self.name} ("{self.indexed}")')
        return result


_OF_STUDY = Column("study_id", "key", refers="study")
_CHECKSUM = Column("checksum", "wide")
"""The checksum of a text."""

META = StoreTable("meta", (Column("name", "text"), Column("value", "text")), key=("name",))

HOST = StoreTable("host", (Column("fingerprint", "text"), Column("facts", "text")), unique="fingerprint")

STUDY = StoreTable(
    "study",
    (
        Column("kind", "text"),
        Column("title", "text"),
        Column("created_ns", "wide"),
        Column("becalm", "text"),
        Column("host_id", "key", refers="host"),
        Column("host_name", "text"),
        Column("seed", "wide"),
        Column("options", "text"),
        Column("environment", "text"),
        _CHECKSUM,
    ),
    forever=True,
)
"""The studies. `checksum` covers the description (`becalm.store.studies`), the programs and the fingerprint."""

WORKLOAD = StoreTable(
    "study_workload",
    (_OF_STUDY, Column("position", "integer"), Column("description", "text")),
    key=("study_id", "position"),
)

SETTINGS = StoreTable(
    "study_settings",
    (_OF_STUDY, Column("position", "integer"), Column("knobs", "text"), _CHECKSUM),
    key=("study_id", "position"),
)

NOTICED = StoreTable(
    "study_noticed",
    (_OF_STUDY, Column("position", "integer"), Column("finding", "text"), _CHECKSUM),
    key=("study_id", "position"),
)
"""The findings on applied settings, which belong to no run: kind and numbers of a Finding, as JSON."""

COUNT = StoreTable(
    "study_count",
    (
        _OF_STUDY,
        Column("runs", "wide"),
        Column("settings", "integer"),
        Column("noticed", "integer"),
        *(Column(name, "wide") for name in ("loads", "series", "texts", "pieces", "regions", "others")),
        Column("checksum", "wide"),
    ),
    key=("study_id",),
)
"""The number of rows of a study in other tables (`becalm.store.counts`)."""

_RUN_FORMS = {"outcome": "small", "status": "small", "metrics": "text"}
"""The outcome is stored as a number; an exit code has eight bits. Metrics are a list of JSON."""

_UNKNOWN = ("wall_ns",)
"""The columns that the agent always fills and other tools may not."""

RUN = StoreTable(
    "run",
    (
        _OF_STUDY,
        *(
            Column(column.name, _RUN_FORMS.get(column.name, "wide"), column.always and column.name not in _UNKNOWN)
            for column in run_columns()
        ),
        Column("checksum", "integer"),
    ),
    key=("study_id", "seq"),
    packed=True,
)
"""`started_ns` is relative to the study's `created_ns`; `outcome` is a position in OUTCOMES; `checksum` is of the
study's number and the columns as they are stored here (`becalm.store.checksum`)."""

TEXT = StoreTable(
    "run_text",
    (_OF_STUDY, Column("seq", "wide"), Column("stderr", "text"), Column("stdout", "text"), _CHECKSUM),
    key=("study_id", "seq"),
)

_FORMS = {"integer": "wide", "real": "real", "word": "text"}

LOAD = StoreTable(
    "run_load",
    (
        _OF_STUDY,
        *(Column(column.name, _FORMS[column.form], column.always) for column in load_columns()),
        Column("checksum", "integer"),
    ),
    key=("study_id", "first"),
    packed=True,
)
"""`started_ns` is relative to the study's `created_ns`; `checksum` is of the study's number, and the names and values
of the columns that are known (`becalm.store.loads`)."""

SERIES = StoreTable(
    "run_series",
    (_OF_STUDY, Column("first", "wide"), Column("last", "wide"), Column("series", "text"), _CHECKSUM),
    key=("study_id", "first"),
)
"""`series` is the JSON of a Series."""

OTHERS = StoreTable(
    "run_others",
    (_OF_STUDY, Column("first", "wide"), Column("last", "wide"), Column("others", "text"), _CHECKSUM),
    key=("study_id", "first"),
)
"""`others` is the JSON of an Others."""

REGION_PART = StoreTable(
    "region_part",
    (_OF_STUDY, Column("position", "integer"), Column("records", "wide"), Column("data", "bytes"), _CHECKSUM),
    key=("study_id", "position"),
)
"""A file of regions in its pieces, as they were (docs/reference/regions.md): each has its own checksum, and the row
has one. `records`: how many regions are in one, before the data so that counting them does not read these."""

VERDICT = StoreTable(
    "verdict",
    (
        _OF_STUDY,
        Column("created_ns", "wide"),
        Column("json", "text"),
        _CHECKSUM,
    ),
    indexed="study_id",
)

TABLES = (META, HOST, STUDY, WORKLOAD, SETTINGS, NOTICED, COUNT, RUN, TEXT, LOAD, SERIES, OTHERS, REGION_PART, VERDICT)

OUTCOMES = tuple(
    str(outcome) for outcome in (Outcome.OK, Outcome.FAILED, Outcome.TIMEOUT, Outcome.ABORTED, Outcome.REFUSED)
)
"""The order is part of the schema: a run's outcome is stored as its position here."""
