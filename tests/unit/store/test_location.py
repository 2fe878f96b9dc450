"""Where a store is: what people give, what they are shown of it, and stores that may only be read."""

import pytest
from tests.needs import need_module
from tests.support.store_examples import FACTS, STUDY

from becalm.errors import StoreError
from becalm.store import Store
from becalm.store.location import locate


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
