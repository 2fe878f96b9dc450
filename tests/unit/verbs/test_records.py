"""Imports of studies: every accepted one can be shown; others are refused in a sentence that names the place, and
nothing stays."""

import json
import sqlite3

import pytest
from tests.support.pages import undrawn  # noqa: F401

import becalm
from becalm.errors import UsageError
from becalm.store import Store
from becalm.verbs.listing import list_studies
from becalm.verbs.records import conclude, export, import_, show, stored


@pytest.fixture
def exported(store):
    becalm.compare(["spin 1s", "spin 2s"], runs=4, host="sim:normal", seed=1, store=store)
    return json.loads(export("last", store=store))


def nested(value, path, replacement):
    """Return the value with something else at a path."""
    if not path:
        return replacement
    here = path[0]
    if isinstance(value, list):
        return [nested(item, path[1:], replacement) if index == here else item for index, item in enumerate(value)]
    return {**value, here: nested(value[here], path[1:], replacement)}


@pytest.mark.parametrize(
    ("path", "replacement", "message"),
    [
        (("verdict", "sentence"), ["no text"], r"Expected `str`, got `array` - at `\$\.sentence`"),
        (("verdict", "summaries", 0, "mean_ns", "value"), "1", r"got `str` - at `\$\.summaries\[0\]\.mean_ns\.value`"),
        (("verdict", "summaries", 1, "runs"), "4", r"got `str` - at `\$\.summaries\[1\]\.runs`"),
        (("verdict", "stopped"), "tired", r"Invalid enum value 'tired' - at `\$\.stopped`"),
        (("study", "kind"), "dance", "knows no studies of the kind 'dance'"),
        (("runs", "rows", 3, 2), 7, "settings 7 is not one of 1"),
        (("runs", "rows", 3, 1), 2, "workload 2 is not one of 2"),
    ],
)
def test_a_study_that_could_not_be_shown_is_refused(store, exported, tmp_path, path, replacement, message):
    file = tmp_path / "edited.json"
    file.write_text(json.dumps(nested(exported, path, replacement)))
    with pytest.raises(UsageError, match=message) as refused:
        import_(file, store)
    assert str(refused.value).startswith(str(file))
    assert str(refused.value).endswith(".")
    assert [study.number for study in list_studies(store).studies] == [1]


@pytest.mark.usefixtures("undrawn")
def test_a_verdict_of_another_form_is_made_anew_of_the_runs(store, exported, tmp_path):
    """A verdict of another form lacks a member, has one more, or is missing."""
    lacking = {name: value for name, value in exported["verdict"].items() if name != "findings"}
    for verdict in (lacking, {**exported["verdict"], "more": 1}, None):
        file = tmp_path / "other.json"
        file.write_text(json.dumps({**exported, "verdict": verdict}))
        (number,) = import_(file, store)
        assert show(number, store).sentence == show(1, store).sentence


def test_options_of_another_type_are_refused(store, exported, tmp_path):
    file = tmp_path / "edited.json"
    file.write_text(json.dumps(nested({**exported, "verdict": None}, ("study", "options", "confidence"), "high")))
    with pytest.raises(
        UsageError, match=r"edited\.json was not imported: 'compare', could not be shown: The options of"
    ):
        import_(file, store)


def test_a_search_that_was_not_finished_is_imported(store, tmp_path):
    becalm.tune(["spin 1s"], host="sim:laptop-a", seed=1, store=store, budget="10s")
    value = json.loads(export("last", store=store))
    value["runs"]["rows"] = value["runs"]["rows"][:3]
    file = tmp_path / "begun.json"
    file.write_text(json.dumps({**value, "verdict": None}))
    (number,) = import_(file, store)
    with pytest.raises(UsageError, match="not finished; its 3 runs are kept"):
        conclude(stored(number, store))


def test_a_million_runs_are_not_read_to_print_a_verdict(store, exported, monkeypatch):
    def read(*_):
        raise AssertionError("nobody asked for runs")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "runs", read)
        shown = show("last", store)
        assert shown.sentence == exported["verdict"]["sentence"]
    assert shown.to_json()["runs"]["rows"] == exported["runs"]["rows"]


def test_damaged_runs_are_reported_when_runs_are_read(store, exported):
    with sqlite3.connect(store) as db:
        db.execute("UPDATE run SET wall_ns = wall_ns + 1 WHERE seq = 3")
    messages = []
    shown = show("last", store, warned=messages.append)
    assert messages == []
    assert len(shown.document.runs) == len(exported["runs"]["rows"]) - 1 == 9
    assert shown.document.runs[3].seq == 4
    assert [run.seq for run in shown.document.runs[:3]] == [0, 1, 2]
    assert len(messages) == 1
    assert messages[0].startswith("1 of 10 runs of study 1 ")


def test_all_rows_of_our_own_file_that_cannot_be_read_are_named_at_once(store, exported, tmp_path):
    file = tmp_path / "edited.json"
    rows = exported["runs"]["rows"]
    edited = nested(nested(exported, ("runs", "rows", 1, 6), "soon"), ("runs", "rows", 2), rows[2][:-1])
    file.write_text(json.dumps(edited))
    with pytest.raises(UsageError) as refused:
        import_(file, store)
    assert "runs.rows[1]: wall_ns must be a whole number, not 'soon'" in str(refused.value)
    assert "runs.rows[2] has" in str(refused.value)
