"""Where a store is: what people give, what they are shown of it, and stores that may only be read."""

import sqlite3
import subprocess
import sys

import pytest
from tests.needs import need_module
from tests.unit.store.test_store import FACTS, STUDY, run

from becalm.errors import StoreError
from becalm.load.record import LOAD_COLUMNS, Load
from becalm.store import Store
from becalm.store.location import locate

AS_NOBODY = """
import os
from becalm.store import Store
from becalm.errors import StoreError
Store.open(":memory:").close()  # everything that is imported late is imported while it can be
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
"""


def as_nobody(script):
    """Run a script as a user who owns nothing here, where that is possible; root may write everything."""
    environment = {"HOME": "/nonexistent", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", AS_NOBODY + script], check=True, env=environment)


def test_a_store_that_may_only_be_read_can_be_read(tmp_path):
    path = tmp_path / "ro" / "runs.db"
    with Store.open(str(path)) as store:
        number = store.begin(STUDY, FACTS)
        store.append(number, [run(0)])
        store.append_loads(number, [Load(0, 0, 5, 10)])
        with store._writing() as db:
            # As if it came with a later becalm than the one that made the store.
            db.execute(f"ALTER TABLE run_load DROP COLUMN {LOAD_COLUMNS[-1]}")
    script = f"""
with Store.open({str(path)!r}) as store:
    assert len(list(store.runs({number}))) == 1
    (load,) = store.loads({number})
    assert load[:4] == (0, 0, 5, 10) and load[-1] is None, load
    try:
        store.conclude({number}, {{}})
    except StoreError as error:
        assert "may only be read" in str(error), error
    else:
        raise SystemExit("it could be written")
"""
    for each in (path, path.parent, tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o444 if each == path else 0o555)
    try:
        as_nobody(script)
    finally:
        for each in (path, path.parent, tmp_path, *tmp_path.parents[:2]):
            each.chmod(0o700)


def test_a_store_in_use_that_may_only_be_read_is_read_with_its_log(tmp_path):
    """What its owner has just written is still in the log beside it."""
    path = tmp_path / "ro" / "runs.db"
    script = f"""
with Store.open({str(path)!r}) as store:
    assert len(list(store.runs(1))) == 1
"""
    with Store.open(str(path)) as store:
        number = store.begin(STUDY, FACTS)
        # A reader that stays keeps the log from being put into the file.
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM run").fetchone()
        store.append(number, [run(0)])
        assert path.with_name("runs.db-wal").stat().st_size > 0
        parents = (path.parent, tmp_path, *tmp_path.parents[:2])
        for each in (*path.parent.iterdir(), *parents):
            each.chmod(0o555 if each in parents else 0o444)
        try:
            as_nobody(script)
        finally:
            for each in parents:
                each.chmod(0o700)
            reader.close()


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://ada:secret@host.invalid:5433/runs?sslmode=require",
        "postgres://ada@host.invalid:5433/runs?password=secret&sslmode=require",
    ],
)
def test_a_password_is_used_and_never_shown(given, monkeypatch):
    psycopg = need_module("psycopg")
    used = []

    def connect(info, **options):
        used.append(psycopg.conninfo.conninfo_to_dict(info)["password"])
        raise psycopg.OperationalError("nobody is there")

    monkeypatch.setattr(psycopg, "connect", connect)
    location = locate(given)
    assert "secret" not in location.shown + location.identity
    assert location.shown.startswith("postgresql://ada")
    assert location.shown.endswith("@host.invalid:5433/runs?sslmode=require")
    with pytest.raises(StoreError, match="nobody is there"):
        Store.open(given)
    assert used == ["secret"]


@pytest.mark.parametrize(
    ("given", "words"),
    [("postgresql://host:port/x", "cannot be read"), ("~no-such-user-at-all/runs.db", "no home directory")],
)
def test_places_that_are_none(given, words):
    need_module("psycopg")
    with pytest.raises(StoreError, match=words):
        locate(given)


def test_names_with_signs_of_a_url(tmp_path):
    path = tmp_path / "100%41 a?b#c\udcff.db"
    with Store.open(str(path)) as store:
        number = store.begin(STUDY, FACTS)
    assert path.stat().st_size > 0
    with Store.open(str(path)) as store:
        assert store.study(number).study == STUDY
