"""Where a store is: what people give, what they are shown of it, and stores that may only be read."""

import os
import sqlite3
from contextlib import closing

import pytest
from tests.needs import need_module
from tests.support.store_examples import FACTS, STUDY

from becalm.errors import StoreError
from becalm.store import Store
from becalm.store.location import locate


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:secret@host.invalid:5433/runs?sslmode=require",
        "postgres://ada@host.invalid:5433/runs?password=secret&sslmode=require",
    ],
)
def test_a_password_is_used_and_never_shown(url, monkeypatch):
    psycopg = need_module("psycopg")
    used = []

    def connect(info, **options):
        used.append(psycopg.conninfo.conninfo_to_dict(info)["password"])
        raise psycopg.OperationalError("nobody is there")

    monkeypatch.setattr(psycopg, "connect", connect)
    location = locate(url)
    assert "secret" not in location.shown + location.identity
    assert location.shown.startswith("postgresql://ada")
    assert location.shown.endswith("@host.invalid:5433/runs?sslmode=require")
    with pytest.raises(StoreError, match="nobody is there"):
        Store.open(url)
    assert used == ["secret"]


@pytest.mark.parametrize(
    ("location", "words"),
    [("postgresql://host:port/x", "cannot be read"), ("~no-such-user-at-all/runs.db", "home directory")],
)
def test_places_that_are_none(location, words):
    need_module("psycopg")
    with pytest.raises(StoreError, match=words):
        locate(location)


def test_names_with_signs_of_a_url(tmp_path):
    path = tmp_path / "100%41 a?b#c\udcff.db"
    with Store.open(str(path)) as store:
        number = store.begin(STUDY, FACTS)
    assert path.stat().st_size > 0
    with Store.open(str(path)) as store:
        assert store.study(number).study == STUDY


@pytest.mark.parametrize("content", [b"a", b"hello\n", b"\0" * 15, b"SQLite format 2\0", b"x" * 600, b"PK\x03\x04"])
def test_a_file_that_is_no_store_is_refused_and_unchanged(tmp_path, content):
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="not an SQLite file"):
        Store.open(str(path))
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["x.db"]


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
@pytest.mark.parametrize("table", ["bookmarks (url)", "meta (name, value)"])
def test_a_database_of_another_program_is_refused_and_unchanged(tmp_path, table, mode):
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute(f"CREATE TABLE {table}")
    content = path.read_bytes()
    with pytest.raises(StoreError, match="database of another program"):
        Store.open(str(path))
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["x.db"]


@pytest.mark.parametrize("place", ["/dev/null", "/dev/zero"])
def test_a_device_is_no_store(place):
    with pytest.raises(StoreError, match="is a device or a pipe"):
        Store.open(place)


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "x.db").touch()
    with Store.open(str(tmp_path / "x.db")) as store:
        assert store.begin(STUDY, FACTS) == 1
    with Store.open(str(tmp_path / "x.db")) as store:
        assert store.resolve("last") == 1
