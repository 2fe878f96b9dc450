"""Everything of a damaged store that is as it was stored comes into the new one, and nothing else does."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter

import pytest
from tests.samples import samples
from tests.support.store_examples import run

from becalm.errors import StoreError
from becalm.load.record import Load, Series
from becalm.nouns.finding import Finding
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.store.salvage.repair import LOST, salvage
from becalm.store.schema import TABLES

PAGE = 4096
DAMAGES = samples(20, 400)
DESCRIPTIONS = ("study", "study_workload")
"""Tables whose rows share one checksum, which is looked at when a study is read."""


def fill(store: Store) -> None:
    for index in range(3):
        facts = {"host": {"hostname": f"machine {index % 2}", "filler": "x" * 6000}}
        study = Study("run", (Workload.of("a"), Workload.of("b")), (Settings.of({"nice": 1}),), seed=index)
        number = store.begin(study, facts)
        store.notice(number, Finding("clamped", {"kind": "clamped", "number": index}))
        store.append(number, [run(seq, wall_ns=10**6 + seq) for seq in range(150)], {3: ("said", "z" * 5000)})
        loads = [Load(seq, seq, seq, 1000, busy_ns=seq, queue=seq / 3 if seq % 2 else 2.0) for seq in range(60)]
        store.append_loads(number, loads, [Series(seq, seq, ("queue",), ((0, None), (5, seq))) for seq in range(9)])
        store.append_regions(number, [(2, bytes(range(256)) * 30), (1, b"end")])
        store.conclude(number, {"kind": "run", "sentence": "y" * 500})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with a row of every kind, longer than a page where it may be, and an empty page that held another."""
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    with Store.open(str(path)) as store:
        fill(store)
        gone = store.begin(Study("run", (Workload.of("gone"),)), {"filler": "deleted " * 3000})
        store.append(gone, [run(seq) for seq in range(90)])
        store.delete([gone])
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode=DELETE")
    return path


def rows_of(path) -> dict[str, Counter[tuple[object, ...]]]:
    with sqlite3.connect(path) as db:
        names = [table.name for table in TABLES if table.name != "meta"]
        return {name: Counter(db.execute(f"SELECT * FROM {name}")) for name in names}


def invented(name: str, row: tuple[object, ...]) -> bool:
    """Return whether a row stands for one that is lost, and says so."""
    return (name == "study" and row[1] == LOST) or (name == "host" and str(row[1]).startswith(LOST))


def check(damaged, new, original) -> tuple[int, int]:
    """Salvage, and compare with the rows before the damage; how many were saved, of how many."""
    before = damaged.read_bytes()
    salvaged = salvage(damaged, new)
    assert damaged.read_bytes() == before
    saved = total = 0
    stored = rows_of(new)
    for name, rows in stored.items():
        own = Counter({row: count for row, count in rows.items() if not invented(name, row)})
        if name not in DESCRIPTIONS:
            assert own <= original[name], name
        saved, total = saved + own.total(), total + original[name].total()
        assert salvaged.rows[name] == rows.total()
    with Store.open(str(new)) as store:
        for study in store.studies():
            list(store.runs(study.number))
            whole = [row for row in original["study"] if row[0] == study.number]
            now = [row for row in stored["study"] if row[0] == study.number]
            assert now == whole or study.damaged or study.changed, study
    return saved, total


def test_a_whole_store_comes_through_whole(whole, tmp_path):
    saved, total = check(whole, tmp_path / "new.db", rows_of(whole))
    assert saved == total
    assert rows_of(tmp_path / "new.db") == rows_of(whole)
    with Store.open(str(tmp_path / "new.db")) as store:
        assert store.begin(Study("run", (Workload.of("next"),)), {}) == 5, "no number is given again"


def test_every_page_may_be_lost(whole, tmp_path):
    """Each page in turn is zeros: what else is there stays, also without the root of a table or the schema itself."""
    data, original = whole.read_bytes(), rows_of(whole)
    total = sum(rows.total() for rows in original.values())
    for page in range(0, len(data), PAGE):
        damaged, new = tmp_path / "damaged.db", tmp_path / f"new-{page}.db"
        damaged.write_bytes(data[:page] + bytes(PAGE) + data[page + PAGE :])
        saved, _ = check(damaged, new, original)
        # A page has at most so many rows of this store, and a long record costs itself.
        assert saved >= total - 120, f"page {page // PAGE + 1}"


@pytest.mark.parametrize("offset", range(0, PAGE, samples(2048, 512)))
def test_zeros_within_any_page_change_no_row(whole, tmp_path, offset):
    data, original = whole.read_bytes(), rows_of(whole)
    for page in range(0, len(data), samples(3, 1) * PAGE):
        damaged, new = tmp_path / "damaged.db", tmp_path / f"new-{page}.db"
        place = page + offset
        damaged.write_bytes(data[:place] + bytes(512) + data[place + 512 :])
        check(damaged, new, original)


@pytest.mark.parametrize("first", range(0, DAMAGES, 20))
def test_random_damage_changes_no_row(whole, tmp_path, first):
    """Flipped bits, among them those of statements in the schema, and bytes of chance."""
    data, original = whole.read_bytes(), rows_of(whole)
    for seed in range(first, first + 20):
        rng, out = random.Random(seed), bytearray(data)
        place = rng.randrange(len(out))
        if seed % 2:
            out[place : place + 512] = rng.randbytes(len(out[place : place + 512]))
        else:
            for _ in range(3):
                out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        damaged = tmp_path / "damaged.db"
        damaged.write_bytes(out)
        check(damaged, tmp_path / f"new-{seed}.db", original)


def test_a_statement_in_the_schema_is_never_obeyed(whole, tmp_path):
    """The schema of a file is text from elsewhere: a table's statement could be any other."""
    hostile, target = shutil.copy(whole, tmp_path / "hostile.db"), tmp_path / "made"
    db = sqlite3.connect(hostile)
    db.execute("PRAGMA writable_schema = ON")
    for name, statement in {"run": f"VACUUM INTO '{target}'", "host": "CREATE TABLE host AS SELECT 1"}.items():
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (statement, name))
    db.commit()
    db.close()
    saved, total = check(hostile, tmp_path / "new.db", rows_of(whole))
    assert (saved, target.exists()) == (total, False)


def test_zeros_at_the_page_of_meta_cost_no_study(whole, tmp_path):
    """512 zeros there had cost all studies, `list` included."""
    data, original = whole.read_bytes(), rows_of(whole)
    with sqlite3.connect(whole) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'meta'").fetchone()
    damaged = tmp_path / "damaged.db"
    end = root * PAGE
    damaged.write_bytes(data[: end - 512] + bytes(512) + data[end:])
    with pytest.raises(StoreError, match="becalm store repair"):
        Store.open(str(damaged))
    saved, total = check(damaged, tmp_path / "new.db", original)
    assert saved == total


@pytest.mark.parametrize("length", [0.3, 0.6, 0.9])
def test_a_store_that_was_cut_gives_what_is_left(whole, tmp_path, length):
    data = whole.read_bytes()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data[: int(len(data) * length)])
    saved, _ = check(damaged, tmp_path / "new.db", rows_of(whole))
    assert saved > 0


def test_runs_without_their_study_get_one_that_says_so(whole, tmp_path):
    with sqlite3.connect(whole) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'study'").fetchone()
    data, damaged, new = whole.read_bytes(), tmp_path / "damaged.db", tmp_path / "new.db"
    damaged.write_bytes(data[: (root - 1) * PAGE] + bytes(PAGE) + data[root * PAGE :])
    salvaged = salvage(damaged, new)
    assert salvaged.described_anew == (1, 2, 3)
    with Store.open(str(new)) as store:
        studies = {study.number: study for study in store.studies()}
        assert [studies[number].runs for number in (1, 2, 3)] == [153] * 3
        assert all(study.changed for study in studies.values())
        assert len(list(store.runs(2))) == 150


def test_rows_that_are_only_in_the_log_are_saved(tmp_path):
    """A becalm that was killed has left its newest runs there."""
    path, copy = tmp_path / "runs.db", tmp_path / "copy.db"
    with Store.open(str(path)) as store:
        fill(store)
        shutil.copy(path, copy)
        shutil.copy(f"{path}-wal", f"{copy}-wal")
        original = rows_of(path)
    saved, total = check(copy, tmp_path / "new.db", original)
    assert saved == total
    # Where a frame of the log is damaged, SQLite takes none after it either: what was there before stays.
    log = bytearray((tmp_path / "copy.db-wal").read_bytes())
    log[len(log) // 2] ^= 1
    (tmp_path / "copy.db-wal").write_bytes(log)
    check(copy, tmp_path / "half.db", original)


def test_files_that_are_not_stores_are_refused(tmp_path):
    other = tmp_path / "other"
    for content in (b"", b"text", bytes(9000), b"SQLite format 3\0" + bytes(8000)):
        other.write_bytes(content)
        with pytest.raises(StoreError, match="No part of a store was found"):
            salvage(other, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_store_of_another_version_is_refused(whole, tmp_path):
    damaged = shutil.copy(whole, tmp_path / "damaged.db")
    with sqlite3.connect(damaged) as db:
        db.execute("UPDATE meta SET value = '3'")
    with pytest.raises(StoreError, match="schema version 3"):
        salvage(damaged, tmp_path / "new.db")
