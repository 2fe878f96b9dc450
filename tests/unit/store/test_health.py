"""Checking, copying and repairing a store: every damage is found, and nothing is changed by looking."""

from __future__ import annotations

import os
import shutil
import sqlite3

import pytest
from tests.support.store_examples import run

from becalm.errors import StoreError, UsageError
from becalm.load.record import Load
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.store.copies import backup, repair
from becalm.store.health import check

PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    with Store.open(str(path)) as store:
        for index in range(2):
            number = store.begin(Study("run", (Workload.of("a"),), seed=index, title=f"t{index}"), {"host": {}})
            store.append(number, [run(seq) for seq in range(60)], {3: ("said", "more")})
            store.append_loads(number, [Load(seq, seq, seq, 1000, busy_ns=seq) for seq in range(5)])
            store.append_regions(number, [(1, b"piece")])
            store.conclude(number, {"kind": "run", "sentence": "y"})
    return path


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copy(whole, tmp_path / "runs.db")


def change(path, statement) -> None:
    db = sqlite3.connect(path)
    assert db.execute(statement).rowcount == 1
    db.commit()
    db.execute("PRAGMA journal_mode=DELETE")
    db.close()


def files(path) -> dict[str, bytes]:
    return {name: (path.parent / name).read_bytes() for name in sorted(os.listdir(path.parent))}


def test_a_whole_store_is_whole_and_stays_as_it_is(copy):
    before = files(copy)
    checked = check(str(copy))
    assert (checked.whole, checked.exit_code, checked.problems) == (True, 0, ())
    assert [(study.number, study.runs, study.problems) for study in checked.studies] == [(2, 60, ()), (1, 60, ())]
    assert files(copy) == before


CHANGES = {
    "UPDATE run SET wall_ns = 5 WHERE study_id = 1 AND seq = 7": "1 of 60 runs are damaged",
    "DELETE FROM run WHERE study_id = 1 AND seq = 59": "the last 1 of 60 runs are missing",
    "UPDATE run_load SET busy_ns = 5 WHERE study_id = 1 AND first = 2": "1 of 5 records of load are damaged",
    "UPDATE run_text SET stderr = 'other' WHERE study_id = 1": "1 of 1 outputs are damaged",
    "UPDATE region_part SET data = x'00' WHERE study_id = 1": "1 of 1 pieces of its timed regions are damaged",
    "UPDATE study SET title = 'other' WHERE id = 1": "its title, options, programs or date is not as it was stored",
    "UPDATE verdict SET json = '{}' WHERE study_id = 1": "its result cannot be read",
}


@pytest.mark.parametrize("statement", CHANGES)
def test_every_change_is_told_of_its_study(copy, statement):
    change(copy, statement)
    before = copy.read_bytes()
    checked = check(str(copy))
    (second, first) = checked.studies
    assert any(CHANGES[statement] in problem for problem in first.problems), first
    assert (second.problems, checked.exit_code) == ((), 1)
    assert copy.read_bytes() == before


def test_every_page_of_zeros_is_found(whole, tmp_path):
    data = whole.read_bytes()
    with sqlite3.connect(whole) as db:
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
    for page in range(0, len(data), PAGE):
        path = tmp_path / f"{page}.db"
        path.write_bytes(data[:page] + bytes(PAGE) + data[page + PAGE :])
        if page == 0:
            with pytest.raises(StoreError, match="not an SQLite file"):
                check(str(path))
        else:
            assert not check(str(path)).whole, page


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    for act in (lambda: check(str(tmp_path / "none")), lambda: repair(str(tmp_path / "none"), tmp_path / "new")):
        with pytest.raises(StoreError, match="There is no store"):
            act()
    assert os.listdir(tmp_path) == []


def test_a_copy_has_what_another_becalm_is_writing(tmp_path):
    path, new = tmp_path / "runs.db", tmp_path / "copy.db"
    with Store.open(str(path)) as store:
        number = store.begin(Study("run", (Workload.of("a"),)), {})
        store.append(number, [run(seq) for seq in range(20)])
        copied = backup(str(path), new)
        store.append(number, [run(seq) for seq in range(20, 30)])
    assert copied.size == new.stat().st_size
    assert new.stat().st_mode & 0o777 == 0o600
    (study,) = check(str(new)).studies
    assert (study.runs, study.problems) == (20, ())
    assert sorted(os.listdir(tmp_path)) == ["copy.db", "runs.db"]


@pytest.mark.parametrize("act", [backup, repair])
def test_an_existing_file_is_not_overwritten(copy, tmp_path, act):
    taken, link = tmp_path / "taken", tmp_path / "link"
    taken.write_text("mine")
    link.symlink_to("nowhere")
    for place in (taken, link, copy, tmp_path):
        with pytest.raises(UsageError, match="exists, and is not overwritten"):
            act(str(copy), place)
    assert taken.read_text() == "mine"
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        act(str(copy), tmp_path / "no" / "new")
    assert sorted(os.listdir(tmp_path)) == ["link", "runs.db", "taken"]


@pytest.mark.parametrize("act", [backup, repair])
def test_a_store_that_is_no_file_is_not_for_this(tmp_path, act):
    with pytest.raises(UsageError, match="needs a store that is a file"):
        act(":memory:", tmp_path / "new")


def test_a_repair_reports_what_is_lost_in_numbers(copy, tmp_path):
    change(copy, "UPDATE run SET wall_ns = 5 WHERE study_id = 1 AND seq = 7")
    change(copy, "DELETE FROM run WHERE study_id = 2 AND seq = 3")
    before = copy.read_bytes()
    repaired = repair(str(copy), tmp_path / "new.db")
    assert copy.read_bytes() == before
    assert (repaired.rows["run"], repaired.rows["study"]) == (118, 2)
    assert (repaired.damaged, repaired.missing, repaired.described_anew, repaired.pages) == (
        {"run": 1},
        {"run": 2},
        (),
        0,
    )
    assert {study.number: study.runs for study in repaired.health.studies} == {1: 59, 2: 59}
