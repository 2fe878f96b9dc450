"""Only the types of sweet spots that counting can show are shown."""

import json

import pytest

import becalm
from becalm.errors import UsageError
from becalm.migration.kinds import KINDS, visible
from becalm.report.sweetspots import tables
from becalm.wording.sweetspots import origin

SPOTS = [{"program": 0, "kind": kind, "time_ns": kind, "counts": [9, 9]} for kind in (0, 1, 2, 2)]


def answer(pid=7):
    program = {"task": pid, "process": pid, "from_ns": 0, "until_ns": 9, "ended": True, "own": [9, 9], "others": [0, 0]}
    lists = {"states": [{"program": 0, "kind": 2}], "spots": SPOTS, "marks": [], "migrations": [], "decisions": []}
    question = {"rules": {"window_ns": 5_000_000}}
    return {"programs": [program], "counted": [5, 0], "question": question, **lists}


@pytest.fixture
def records(tmp_path, monkeypatch):
    def make_recording(**head):
        path = tmp_path / "r.json"
        path.write_text(json.dumps({"records": [], "events": "x", **head}))
        monkeypatch.setattr("becalm.verbs.sweetspots.ask", lambda *_: answer())
        return path

    return make_recording


@pytest.mark.parametrize(("events", "kinds"), KINDS.items())
def test_spots_of_other_types_are_left_out(events, kinds):
    shown = visible(answer(), kinds)
    assert {spot["kind"] for spot in shown["spots"]} == set(kinds)
    assert len(shown["states"]) == (2 in kinds)


@pytest.mark.parametrize(
    ("head", "kinds"),
    [
        ({}, (0, 1, 2)),
        ({"miss_ratio": False}, (0,)),
        ({"miss_ratio": False, "kinds": [1]}, (1,)),
        ({"kinds": [9]}, (0, 1, 2)),
    ],
)
def test_files_of_records_say_what_they_can_show(records, head, kinds):
    spotted = becalm.sweetspots(records(**head))
    assert spotted.kinds == kinds
    assert {spot["kind"] for spot in spotted.spots} == set(kinds)
    assert ("show only sweet spots" in origin(spotted)) == (head.get("miss_ratio") is False)


def test_a_process_that_a_file_does_not_know_is_refused(records):
    with pytest.raises(UsageError, match=r"has no process 999999. There are: 7\."):
        becalm.sweetspots(records(), pid=999_999)


def test_names_with_ends_of_lines_stay_in_their_row(records):
    spotted = becalm.sweetspots(records(names={"7": "a\nb"}))
    (row,) = next(iter(tables(spotted))).rows
    assert row[0] == "a\\nb (7)"
