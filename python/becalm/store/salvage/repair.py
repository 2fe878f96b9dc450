"""Repair of a damaged store: its intact rows are written to a new one. The damaged one is never changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from becalm._version import VERSION
from becalm.errors import StoreError
from becalm.store.database import Connection
from becalm.store.salvage.page_file import PageFile
from becalm.store.salvage.shapes import Row
from becalm.store.salvage.trees import SalvagedRows, find_rows
from becalm.store.schema import HOST, META, RUN, SCHEMA_VERSION, STUDY, TABLES
from becalm.store.store import Store

LOST = "lost"
"""The kind and title of a study whose description was lost while other rows of it were found."""


class Salvaged(msgspec.Struct, frozen=True):
    """The result of the repair of a store.

    - `rows`: the number of saved rows by table.
    - `damaged`: the number of rows by table that were found but fail their checksum.
    - `described_anew`: studies whose description is lost.
    - `pages`: the number of pages of tables that cannot be read.
    """

    rows: Mapping[str, int]
    damaged: Mapping[str, int]
    described_anew: tuple[int, ...]
    pages: int


def salvage(damaged: Path, new: Path) -> Salvaged:
    """Write a new store with the intact rows of a damaged one. Raises StoreError if none were found, or the store is of
    another version.
    """
    try:
        with PageFile(damaged) as file:
            salvaged = find_rows(file)
    except OSError as error:
        raise StoreError(f"The store {damaged} cannot be read: {error.strerror}. Nothing was written.") from error
    if salvaged.version not in (None, SCHEMA_VERSION):
        raise StoreError(
            f"The store {damaged} has schema version {salvaged.version}, and only those of version {SCHEMA_VERSION} "
            "are repaired. Nothing was written."
        )
    if not any(table.whole for name, table in salvaged.tables.items() if name != META.name):
        raise StoreError(f"No part of a store was found in {damaged}. Nothing was written.")
    with Store.open(str(new)) as store, store.location.database.transaction(writes=True) as db:
        db.execute("PRAGMA defer_foreign_keys = ON")
        anew = _add_lost_rows(salvaged)
        for table in TABLES:
            if table is not META:
                _insert(db, table.name, salvaged.tables[table.name].whole)
        _keep_numbers(db, salvaged)
    return Salvaged(
        rows={name: len(table.whole) for name, table in salvaged.tables.items() if name != META.name},
        damaged={name: table.damaged for name, table in salvaged.tables.items() if table.damaged and name != META.name},
        described_anew=anew,
        pages=salvaged.pages,
    )


def _add_lost_rows(salvaged: SalvagedRows) -> tuple[int, ...]:
    """Add lost studies and machines to which rows refer; return the numbers of these studies."""
    studies, hosts = salvaged.tables[STUDY.name].whole, salvaged.tables[HOST.name].whole
    known = {row["id"] for row in studies}
    referring = [table for table in TABLES if any(column.refers == STUDY.name for column in table.columns)]
    wanted = {row["study_id"] for table in referring for row in salvaged.tables[table.name].whole}
    anew = tuple(sorted(wanted - known))
    machine = max((row["id"] for row in hosts), default=0) + 1
    programs = {row["study_id"]: row["workload"] for row in salvaged.tables[RUN.name].whole}
    for number in anew:
        title = f"{LOST}: study {number}, with {1 + programs.get(number, 0)} programs or more"
        studies.append(_lost_study(number, machine, title))
    there = {row["id"] for row in hosts}
    for host in sorted({row["host_id"] for row in studies} - there):
        hosts.append({"id": host, "fingerprint": f"{LOST}-{host}", "facts": "{}"})
    return anew


def _lost_study(number: int, host: int, title: str) -> Row:
    """Return a stand-in for a lost description. Its checksum does not match, which every reader reports."""
    described: dict[str, Any] = {
        "kind": LOST, "title": title, "created_ns": 0, "becalm": VERSION, "host_name": LOST, "seed": 0,
        "options": json.dumps({}), "environment": "unknown", "checksum": -1,
    }  # fmt: skip
    return {"id": number, "host_id": host, **described}


def _insert(db: Connection, name: str, rows: list[Row]) -> None:
    if rows:
        columns = list(rows[0])
        db.insert_rows(name, columns, [tuple(row[column] for column in columns) for row in rows])


def _keep_numbers(db: Connection, salvaged: SalvagedRows) -> None:
    """Keep the numbers of earlier studies from being assigned again."""
    last = max([salvaged.last_study, *(row["id"] for row in salvaged.tables[STUDY.name].whole)], default=0)
    if db.value("SELECT count(*) FROM sqlite_sequence WHERE name = 'study'"):
        db.execute("UPDATE sqlite_sequence SET seq = :last WHERE name = 'study'", last=last)
    elif last:
        db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('study', :last)", last=last)
