"""What the store promises, over both databases."""

import json
import multiprocessing
import sqlite3
import stat
import threading

import numpy as np
import pytest
from sqlalchemy import text

from becalm.errors import StoreError, UsageError
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.store.migrations import STEPS, current, migrate, version
from becalm.verbs.records import export, import_

STUDY = Study(
    "compare",
    (Workload.of("a 'b c'", environment={"K": "\udcff"}), Workload.of("d")),
    (Settings.of({"nice": 3}),),
    {"budget_ns": 5, "precision": None},
    seed=2**32 - 1,
    title="a title",
)
FACTS = {"host": {"hostname": "x"}, "kernel": {"release": "6.1"}}


def run(seq, **changes):
    base = Run(seq, seq % 2, 0, seq // 2, 7, 10**18 + seq, 1000 + seq, 5, None, None, 1 << 20, 1, 0, 2, 3, "ok", 0, 0)
    return base._replace(**changes)


def test_what_was_appended_is_read_back(store):
    number = store.begin(STUDY, FACTS)
    rows = [run(0, round=-1), run(1), run(2, outcome="failed", status=-11), run(3, wall_ns=2**62, left_behind=4)]
    store.append(number, rows[:2])
    store.append(number, rows[2:], {2: ("bo\0om ✗", ""), 3: ("", "out")})
    assert list(store.runs(number)) == rows
    assert store.texts(number) == {2: ("bo�om ✗", ""), 3: ("", "out")}
    stored = store.study(number)
    assert stored.study == STUDY
    assert (stored.runs, stored.environment, stored.facts) == (4, "known", FACTS)


def test_columns_are_those_of_good_counted_runs(store):
    number = store.begin(STUDY, FACTS)
    store.append(number, [run(0, round=-1), run(2), run(4, outcome="timeout"), run(6), run(1)])
    found = store.columns(number, ["seq", "wall_ns", "wait_ns"], 0)
    assert found["seq"].tolist() == [2, 6]
    assert np.isnan(found["wait_ns"]).all(), "unknown is never zero"
    assert store.columns(number, ["seq"], 5)["seq"].tolist() == []


def test_studies_are_numbered_and_found(store):
    assert store.studies() == []
    with pytest.raises(UsageError, match="empty"):
        store.resolve("last")
    first, second = store.begin(STUDY, FACTS), store.begin(Study("run", (Workload.of("x"),)), FACTS)
    assert [each.number for each in store.studies()] == [second, first]
    assert [each.number for each in store.studies(kind="run")] == [second]
    assert store.resolve("last") == second
    assert store.resolve(str(first)) == first
    for bad in ("99", "x", "", "²", "9" * 30, "-2"):
        with pytest.raises(UsageError):
            store.resolve(bad)


def test_a_run_is_stored_once(store):
    number = store.begin(STUDY, FACTS)
    store.append(number, [run(0)])
    with pytest.raises(StoreError):
        store.append(number, [run(1), run(0)])
    assert len(list(store.runs(number))) == 1, "a failed append changes nothing"


def test_verdicts_are_added(store):
    number = store.begin(STUDY, FACTS)
    assert store.verdict(number) is None
    store.conclude(number, {"sentence": "first"})
    store.conclude(number, {"sentence": "second"})
    assert store.verdict(number) == {"sentence": "second"}


def test_what_is_written_together_is_kept_whole_or_not_at_all(store):
    with store.together():
        number = store.begin(STUDY, FACTS)
        with store.together():
            store.append(number, [run(0)])
        store.conclude(number, {"sentence": "whole"})
        assert store.study(number).runs == 1, "it reads what it has written"
    assert store.verdict(number) == {"sentence": "whole"}

    def twice():
        with store.together():
            other = store.begin(STUDY, FACTS)
            for _ in range(2):
                store.append(other, [run(0)])

    with pytest.raises(StoreError):
        twice()
    assert [each.number for each in store.studies()] == [number]
    store.append(number, [run(1)])
    assert store.study(number).runs == 2, "afterwards each call is kept again by itself"


def test_a_failed_import_leaves_nothing(location, tmp_path):
    with Store.open(location) as store:
        store.append(store.begin(STUDY, FACTS), [run(0)])
    document = json.loads(export("last", store=location))
    path = tmp_path / "exported.json"
    path.write_text(json.dumps(document))
    assert import_(path, location) == (2,)
    rows = document["runs"]["rows"]
    rows.append(list(rows[0]))
    path.write_text(json.dumps(document))
    with pytest.raises(StoreError):
        import_(path, location)
    with Store.open(location) as store:
        assert [each.number for each in store.studies()] == [2, 1]


def test_text_that_a_database_cannot_hold_is_replaced(store):
    number = store.begin(Study("run", (Workload.of("x"),), title="a\0b\udcffc"), FACTS)
    store.append(number, [run(0)], {0: ("\ud800", "\0")})
    assert store.study(number).study.title == "a�b�c"
    assert store.texts(number) == {0: ("�", "�")}


def test_a_number_that_no_database_holds_is_said(store):
    number = store.begin(STUDY, FACTS)
    with pytest.raises(StoreError):
        store.append(number, [run(0), run(1, wall_ns=2**63)])
    assert list(store.runs(number)) == []


def test_each_study_has_the_facts_of_its_own_time(store):
    slow = {**FACTS, "cpu": {"governor": "powersave"}}
    numbers = [store.begin(STUDY, facts) for facts in (FACTS, slow, dict(reversed(FACTS.items())))]
    assert [store.study(number).facts for number in numbers] == [FACTS, slow, FACTS]
    with store._reading() as db:
        assert db.execute(text("SELECT count(*) FROM host")).scalar() == 2, "equal facts are kept once"


def test_opening_again_finds_everything(location):
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
    with Store.open(location) as store:
        assert store.study(number).study == STUDY


def test_a_newer_store_is_refused(location):
    with Store.open(location) as store, store._writing() as db:
        db.execute(text("UPDATE meta SET value = '99' WHERE name = 'schema_version'"))
    with pytest.raises(StoreError, match="version 99"):
        Store.open(location)


def test_a_later_step_is_taken_once_and_keeps_the_runs(location):
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        store.append(number, [run(0)])

        def widen(db):
            db.execute(text("ALTER TABLE run ADD COLUMN migrations BIGINT"))

        for _ in range(2):
            with store._writing() as db:
                migrate(db, store.shown, (*STEPS, widen))
                assert version(db) == current() + 1
        assert list(store.runs(number)) == [run(0)]


def test_two_writers_take_turns(location):
    with Store.open(location) as store:
        numbers = [store.begin(STUDY, FACTS) for _ in range(2)]

    def write(number):
        with Store.open(location) as opened:
            for seq in range(200):
                opened.append(number, [run(seq)])

    threads = [threading.Thread(target=write, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store.open(location) as store:
        assert [len(list(store.runs(number))) for number in numbers] == [200, 200]


def _open(path, barrier):
    barrier.wait()
    Store.open(path).close()


def test_two_may_create_it_at_once(location):
    barrier = multiprocessing.get_context("fork").Barrier(4)
    processes = [multiprocessing.get_context("fork").Process(target=_open, args=(location, barrier)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4


def test_the_file_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("BECALM_STORE", raising=False)
    with Store.open() as store:
        store.begin(STUDY, FACTS)
    directory = tmp_path / "becalm"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "becalm.db").stat().st_mode) == 0o600


def test_what_cannot_be_a_store(tmp_path):
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"this is no database at all" * 200)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE things (x)")
    for path, words in (
        (damaged, "no SQLite file"),
        (other, "other tables"),
        (tmp_path, "directory"),
        ("/proc/nowhere/x.db", "cannot be made"),
        ("mysql://x/y", "mysql"),
        ("postgresql:///x?host=/no/such/socket", "cannot be reached"),
    ):
        with pytest.raises(StoreError, match=words):
            Store.open(str(path))


def test_a_store_cut_in_half_says_so(tmp_path):
    path = tmp_path / "cut.db"
    with Store.open(str(path)) as store:
        number = store.begin(STUDY, FACTS)
        store.append(number, [run(seq) for seq in range(5000)])
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(StoreError, match=r"damaged|failed|malformed"), Store.open(str(path)) as store:
        list(store.runs(number))


def test_a_locked_store_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("becalm.store.location.BUSY_S", 0.05)
    path = str(tmp_path / "runs.db")
    with Store.open(path) as store:
        number = store.begin(STUDY, FACTS)
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="in use"):
                store.append(number, [run(0)])
            other.execute("ROLLBACK")
        store.append(number, [run(0)])


def test_a_full_disk_says_so(tmp_path):
    path = str(tmp_path / "runs.db")
    with Store.open(path) as store:
        number = store.begin(STUDY, FACTS)
        with store.location.engine.connect() as db:
            pages = db.exec_driver_sql("PRAGMA page_count").scalar()
            db.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
            db.rollback()
        with pytest.raises(StoreError, match="full"):
            store.append(number, [run(seq) for seq in range(20_000)])
        assert list(store.runs(number)) == []


def test_a_list_without_facts_keeps_none_of_them(store):
    """Ten thousand studies with 12 KB each were 690 MiB."""
    number = store.begin(STUDY, FACTS)
    (found,) = store.studies(facts=False)
    assert (found.number, found.facts, found.damaged) == (number, {}, "")
    assert store.studies()[0].facts == FACTS
