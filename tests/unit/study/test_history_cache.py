"""The contents of a history: sessions by their stamps, searches by their rows, and nothing that cannot be read."""

import json

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.analysis.test_history import recorded, slower

from becalm.analysis.history import timeline
from becalm.study.history_cache import HistoryCache, SessionPlace

PLACE = SessionPlace("app", "main", "a" * 40, ("nightly",))


def test_a_session_is_kept_until_its_stamp_changes(tmp_path):
    (row,) = recorded(1)
    row = replace(row, session=replace(row.session, tags=("nightly", "release")), references=("parse",))
    history = HistoryCache(tmp_path)
    history.keep(7, "stamp", PLACE, row)
    history.save([7])
    again = HistoryCache(tmp_path)
    assert again.session(7, "stamp") == (PLACE, row)
    assert again.session(7, "another") is None
    assert again.session(8, "stamp") is None
    again.save([])
    assert HistoryCache(tmp_path).session(7, "stamp") is None


def test_a_search_goes_on_where_it_ended_and_comes_to_the_same(tmp_path):
    rows = slower(recorded(60, names=("parse", "render", "load")), "render", 41, 1.04)
    history = HistoryCache(tmp_path)
    timeline("app", rows[:50], searches=history.searches)
    history.save([])
    again = HistoryCache(tmp_path)
    ((_, state),) = again.searches.earlier
    assert len(state["common"]) == 50
    longer = timeline("app", rows, searches=again.searches)
    assert longer.changes == timeline("app", rows).changes
    assert len(longer.changes) == 1


def test_a_search_of_other_rows_begins_anew(tmp_path):
    rows = recorded(40)
    history = HistoryCache(tmp_path)
    timeline("app", rows, searches=history.searches)
    history.save([])
    other = slower(rows, "render", 20, 1.04)
    assert timeline("app", other, searches=HistoryCache(tmp_path).searches).changes == timeline("app", other).changes


@pytest.mark.parametrize("text", ["", "{", '{"version": 0, "sessions": {}}', '{"version": 1, "sessions": 5}'])
def test_unreadable_files_are_ignored(tmp_path, text):
    (tmp_path / "sessions.json").write_text(text)
    (tmp_path / "searches.npz").write_bytes(text.encode())
    history = HistoryCache(tmp_path)
    assert history.session(1, "stamp") is None
    assert list(history.searches.earlier) == []


def test_a_damaged_entry_is_no_session(tmp_path):
    entry = ["stamp", ["app", "main", "a", []], [[1], 2]]
    (tmp_path / "sessions.json").write_text(json.dumps({"version": 1, "sessions": {"1": entry}}))
    assert HistoryCache(tmp_path).session(1, "stamp") is None


def test_no_arrays_with_objects_are_loaded(tmp_path):
    np.savez(tmp_path / "searches.npz", digests=np.array([{}], object))
    assert HistoryCache(tmp_path).searches.earlier == []
