"""Stores in files that are odd, full, locked or cut, and imports. What every store promises is in conformance."""

import sqlite3
import stat

import pytest
from tests.suites.store_studies import *  # noqa: F403
from tests.support.store_examples import FACTS, STUDY, run

from becalm.errors import StoreError
from becalm.store import Store


def test_the_file_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("BECALM_STORE", raising=False)
    with Store.open() as store:
        store.begin(STUDY, FACTS)
    directory = tmp_path / "becalm"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "becalm.db").stat().st_mode) == 0o600


def test_invalid_stores_are_refused(tmp_path):
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"this is no database at all" * 200)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE things (x)")
    for path, words in (
        (damaged, "not an SQLite file"),
        (other, r"another program, with other tables \(things\)"),
        (tmp_path, "directory"),
        ("/proc/nowhere/x.db", "cannot be made"),
        ("mysql://x/y", "mysql"),
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
            with pytest.raises(StoreError, match="locked"):
                store.append(number, [run(0)])
            other.execute("ROLLBACK")
        store.append(number, [run(0)])


def test_a_full_disk_says_so(tmp_path):
    path = str(tmp_path / "runs.db")
    with Store.open(path) as store:
        number = store.begin(STUDY, FACTS)
        with store.reading() as db:
            pages = db.value("PRAGMA page_count")
            db.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="full"):
            store.append(number, [run(seq) for seq in range(20_000)])
        assert list(store.runs(number)) == []
