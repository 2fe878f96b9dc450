"""Loads in the store, over both databases, and stores of before there were any."""

import json
import sqlite3

import pytest
from tests.places import ROOT

from becalm.errors import UsageError
from becalm.load.record import LOAD_COLUMNS, Load, Series, load_of
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.store import loads as recorded
from becalm.store.migrations import current, lacking, migrate
from becalm.study.stored import stored
from becalm.verbs.records import export, import_

DATA = ROOT / "tests" / "data/store"
BEGAN = 10**18
STUDY = Study("run", (Workload.of("a"),))
FACTS = {"host": {"hostname": "x"}}
LOADS = [
    Load(0, 4, BEGAN + 5, 10**8, cpus=2, busy_ns=7, queue=1.25, queue_peak=3, samples=9, level=3, scope="tree", lost=0),
    Load(5, 5, BEGAN + 9, 2**62),
]
SERIES = Series(
    5, 5, ("queue", "busy_ns"), ((0, None, None), (10**8, 1, 5), (2 * 10**8, 2.5, None)), 1, 2,
    ({"pid": 7, "name": "other", "cpu_ns": 8},),
)  # fmt: skip


def run(seq):
    return Run(seq, 0, 0, seq, 7, BEGAN + seq, 1000, 5, None, None, 1 << 20, 1, 0, 2, 3, "ok", 0, 0)


def begin(store):
    number = store.begin(STUDY, FACTS, created_ns=BEGAN)
    store.append(number, [run(seq) for seq in range(6)])
    return number


def test_loads_travel_with_their_study(store, location, tmp_path):
    number = begin(store)
    store.append_loads(number, LOADS, [SERIES])
    text = export(number, store=location)
    assert "steal_ns" not in json.loads(text)["loads"]["columns"], "what is unknown in all of them is left out"
    path = tmp_path / "exported.json"
    path.write_text(text)
    (copy,) = import_(path, location)
    found = stored(copy, location)
    assert (list(found.loads), list(found.series)) == (LOADS, [SERIES])
    value = json.loads(text)
    del value["loads"], value["series"]
    path.write_text(json.dumps(value))
    (older,) = import_(path, location)
    assert store.loads(older) == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"columns": ["first"], "rows": [[1]]}, "is not laid out as becalm's: it lacks 'last'"),
        ({"columns": list(LOAD_COLUMNS), "rows": [["x", *LOADS[0][1:]]]}, "cannot be read"),
        ({"columns": list(LOAD_COLUMNS), "rows": [[True, *LOADS[0][1:]]]}, "cannot be read"),
        ({"columns": list(LOAD_COLUMNS), "rows": [LOADS[0][:-1]]}, "cannot be read"),
        ({"rows": [[1]]}, "is not laid out as becalm's: it lacks 'columns'"),
    ],
)
def test_broken_loads_are_refused(store, location, tmp_path, broken, said):
    value = json.loads(export(begin(store), store=location))
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({**value, "loads": broken}))
    with pytest.raises(UsageError, match=said):
        import_(path, location)
    path.write_text(json.dumps({**value, "series": [{**SERIES.to_json(), "rows": [[0, 1]]}]}))
    with pytest.raises(UsageError, match="cannot be read"):
        import_(path, location)


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
        assert [(each.seq, each.started_ns, each.outcome) for each in runs] == [
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


def test_a_store_from_before_a_column_gains_it_and_an_older_becalm_goes_on_writing(store):
    """What an older becalm made: a table without the last column, at the present version."""
    number, last = begin(store), LOAD_COLUMNS[-1]
    with store._writing() as db:
        db.execute(f"ALTER TABLE run_load DROP COLUMN {last}")
        # Of a becalm that is older than the checksums of loads.
        db.execute("DELETE FROM study_count")
    columns = ", ".join(("study_id", "first", "last", "started_ns", "interval_ns", "samples", "level", "scope"))
    with store._writing() as db:
        assert lacking(db) == [last]
        db.execute(f"INSERT INTO run_load ({columns}) VALUES ({number}, 0, 4, 5, 100, 0, 1, 'tree')")
        migrate(db, store.shown)
        assert lacking(db) == []
        migrate(db, store.shown)
        db.execute(f"INSERT INTO run_load ({columns}) VALUES ({number}, 5, 5, 9, 100, 0, 1, 'tree')")
    found = store.loads(number)
    assert [(load.first, load.scope, getattr(load, last)) for load in found] == [(0, "tree", None), (5, "tree", None)]


def test_a_column_of_a_newer_becalm_is_a_part_of_the_checksum(store, monkeypatch):
    """What this one does not know is looked at, and a column that was not there adds nothing."""
    number = begin(store)
    store.append_loads(number, LOADS[:1])
    with store._writing() as db:
        db.execute("ALTER TABLE run_load ADD COLUMN newer BIGINT")
    monkeypatch.setattr(recorded, "LOAD_COLUMNS", (*LOAD_COLUMNS, "newer"))
    with store._writing() as db:
        recorded.insert(db, number, BEGAN, [(*LOADS[1], 77)], [])
    monkeypatch.undo()
    assert (store.loads(number), store.damaged(number)) == (LOADS, {})
    with store._writing() as db:
        db.execute("UPDATE run_load SET newer = 76 WHERE newer = 77")
    assert (store.loads(number), store.damaged(number)) == (LOADS[:1], {"load": (1, 2)})


def test_damaged_loads_are_told_in_one_sentence_and_the_rest_is_exported(store, location, tmp_path):
    number = begin(store)
    store.append_loads(number, LOADS, [SERIES])
    store.append(number, [], {3: ("wrong", "said")})
    with store._writing() as db:
        db.execute("UPDATE run_load SET busy_ns = 8 WHERE busy_ns = 7")
        db.execute("UPDATE run_text SET stderr = 'right'")
    said = []
    found = stored(number, location, warned=said.append)
    assert said == [
        f"1 of 2 records of load and 1 of 1 output of study {number} are damaged: they are not as they were "
        "stored, and are left out. Check the disk, and move the store aside; `becalm export` saves the rest."
    ]
    assert stored(number, location, warned=said.append, later=True).loads == LOADS[1:]
    assert said[1:] == said[:1]
    path = tmp_path / "exported.json"
    path.write_text(export(number, store=location))
    (copy,) = import_(path, location)
    saved = stored(copy, location, warned=said.append)
    assert (len(said), saved.loads, saved.series, saved.texts) == (2, found.loads, [SERIES], {})


@pytest.mark.parametrize("damage", ["NaN", "[", '{"first": 5}', "Infinity"])
def test_a_damaged_series_is_left_out_and_costs_nothing_else(store, damage):
    number = begin(store)
    store.append_loads(number, LOADS, [SERIES])
    with store._writing() as db:
        db.execute("UPDATE run_series SET series = :damage, checksum = NULL", damage=damage)
        # Nor does an older becalm's, which has no checksum.
        db.execute("DELETE FROM study_count")
    assert (store.series(number, 5), store.all_series(number)) == (None, [])
    assert store.damaged(number) == {"series": (1, 1)}
    assert (len(list(store.runs(number))), store.loads(number)) == (6, LOADS)
