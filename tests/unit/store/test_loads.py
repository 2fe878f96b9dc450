"""Loads in the store, over both databases, and stores of before there were any."""

import sqlite3

import pytest
from tests.places import ROOT
from tests.suites.store_loads import *  # noqa: F403
from tests.support.load_examples import LOADS, SERIES

from becalm.load.record import Load, load_of
from becalm.store import Store
from becalm.store.migrations import current

DATA = ROOT / "tests" / "data/store"


def test_columns_are_taken_by_name():
    names = ["scope", "level", "first", "of_a_newer_one", "last", "started_ns", "interval_ns", "samples"]
    assert load_of(names, ["tree", 2, 1, 99, 3, 4, 5, 0]) == Load(1, 3, 4, 5, samples=0, level=2, scope="tree")
    with pytest.raises(KeyError):
        load_of(names[1:], [2, 1, 99, 3, 4, 5, 0])
    with pytest.raises(ValueError, match="interval_ns"):
        load_of(names, ["tree", 2, 1, 99, 3, 4, None, 0])


def test_a_store_of_version_1_is_brought_to_the_present(tmp_path):
    """The file was written by becalm before it recorded loads."""
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as db:
        db.executescript((DATA / "version-1.sql").read_text())
    db.close()
    with Store.open(str(path)) as store:
        runs = list(store.runs(1))
        assert [(run.seq, run.started_ns, run.outcome) for run in runs] == [
            (0, 10**18, "ok"),
            (1, 10**18 + 10**9, "ok"),
        ]
        assert (store.study(1).study.title, store.texts(1), store.verdict(1)) == (
            "of version 1",
            {1: ("said", "")},
            {"kind": "run"},
        )
        assert store.loads(1) == []
        store.append_loads(1, LOADS[:1], [SERIES])
        assert (store.loads(1), store.series(1, 5)) == (LOADS[:1], SERIES)
    with sqlite3.connect(path) as db:
        assert db.execute("select value from meta where name = 'schema_version'").fetchone() == (str(current()),)


def test_a_migrated_store_has_the_same_columns_as_a_new_one(tmp_path):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with sqlite3.connect(old) as db:
        db.executescript((DATA / "version-1.sql").read_text())
    db.close()
    described = []
    for path in (old, new):
        Store.open(str(path)).close()
        with sqlite3.connect(path) as db:
            tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table' order by 1")]
            columns = {
                table: [row[1:4] + row[5:] for row in db.execute(f"pragma table_info({table})")] for table in tables
            }
            described.append({table: sorted(rows) for table, rows in columns.items()})
        db.close()
    assert described[0] == described[1]
