"""Failures of the store during a session: no run is lost, and none is stored twice."""

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.support.spools import line
from tests.support.store_examples import FACTS, STUDY, run

from becalm import hosts
from becalm.errors import StoreError
from becalm.hosts import Noticed, Runs
from becalm.report.formats import becalm_json
from becalm.store import Spool, Store, recover
from becalm.study.session import StudySession, open_session
from becalm.study.session_options import SessionOptions
from becalm.study.stored import document_of
from becalm.verbs.records import import_


@pytest.fixture
def session(store):
    with Store.open(store) as opened:
        spool = Spool.create(opened)
        study_session = StudySession(opened, None, None, spool)
        study_session.study, study_session.number = STUDY, opened.begin(STUDY, FACTS)
        spool.assign(study_session.number)
        yield study_session


def listening(messages):
    return SimpleNamespace(listener=SimpleNamespace(warned=messages.append), remark_kinds=set())


def failing(monkeypatch):
    def full(self, *arguments, **keywords):
        raise StoreError("The store x cannot grow: the disk is full. Nothing in it was changed.")

    monkeypatch.setattr(Store, "append", full)


def rescued(tmp_path):
    return list((tmp_path / "XDG_STATE_HOME" / "becalm").glob("rescued-*.json"))


def test_runs_that_are_in_the_spool_wait_there_and_come_once(session, store, tmp_path, monkeypatch):
    rows = [run(0), run(1), run(2)]
    os.write(session._spool.fileno(), b"".join(map(line, rows)))
    failing(monkeypatch)
    with pytest.raises(StoreError, match=r"disk is full.* 3 runs will be put into it when becalm opens it again\."):
        session.take(Runs(rows))
    assert rescued(tmp_path) == []
    session._spool.__exit__(StoreError, StoreError("x"), None)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "XDG_STATE_HOME"))
    with Store.open(store) as opened:
        assert [recovered.runs for recovered in recover(opened)] == [3]
        assert [run.seq for run in opened.runs(session.number)] == [0, 1, 2]


def test_runs_that_the_spool_has_not_are_rescued_and_those_alone(session, store, tmp_path, monkeypatch):
    """The disk of the spool is full, too."""
    rows = [run(0), run(1), run(2)]
    os.write(session._spool.fileno(), line(rows[0]) + line(rows[1])[:-20])
    failing(monkeypatch)
    with pytest.raises(StoreError, match=r"1 run will be put .*; `becalm import` reads them|2 runs that it could"):
        session.take(Runs(rows))
    (path,) = rescued(tmp_path)
    assert [row[0] for row in json.loads(path.read_text())["runs"]["rows"]] == [1, 2]
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "XDG_STATE_HOME"))
    (number,) = import_(path, store)
    with Store.open(store) as opened:
        assert [run.seq for run in opened.runs(number)] == [1, 2]


def test_runs_that_no_file_takes_travel_with_the_error(session, tmp_path, monkeypatch):
    failing(monkeypatch)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "nowhere"))
    with pytest.raises(StoreError, match=r"2 runs that it could not take are above") as caught:
        session.take(Runs([run(0), run(1)]))
    assert [row[0] for row in json.loads(caught.value.unsaved)["runs"]["rows"]] == [0, 1]


@pytest.mark.parametrize("load", [True, False])
def test_a_host_is_told_at_the_start_whether_runs_will_be_observed(store, monkeypatch, load):
    requests, real = [], hosts.open

    def opened(name, access):
        requests.append(access.observed)
        return real(name, access)

    monkeypatch.setattr(hosts, "open", opened)
    with open_session(SessionOptions.of({"host": "null", "load": load}), "a test"):
        assert requests == [load]


def test_trouble_with_a_neighbour_is_reported_once_per_program(session, monkeypatch):
    """Shares that differ from block to block do not make another remark of it; another program does."""
    messages = []
    session.measuring = listening(messages)
    pairs = [("a1 next to b", f"a1 was away for {share} % of the time next to b") for share in (13, 24, 35)]
    for pair in (*pairs, ("a2 next to b", "a2 was away for 9 % of the time next to b")):
        monkeypatch.setattr(StudySession, "_neighbours", lambda self, result, message=pair: [message])
        session.take(Noticed())
    assert messages == [pairs[0][1], "a2 was away for 9 % of the time next to b"]
    assert [notice.sentence for notice in session.noticed] == messages, "what was said is in the study"


def test_remarks_on_settings_are_kept_with_the_study_and_stay_when_it_is_resumed(session, store):
    messages = []
    session.measuring = listening(messages)
    remark = "isolation: 39 kernel threads are bound to their CPUs and could not be moved."
    session.take(Noticed(remarks=(remark,)))
    session.take(Noticed(remarks=(remark.replace("39", "38"),)))
    clamped = "slice_ns: the program took 100000000 for 500000000."
    session.take(Noticed(remarks=(clamped,), clamped=(CLAMPED,)))
    assert messages == [remark, clamped]
    assert [notice.kind for notice in session.noticed] == ["setting_clamped", "remark"]
    with Store.open(store) as opened:
        document = document_of(opened, session.number)
        assert {notice.sentence for notice in document.noticed} >= {remark}
        again = StudySession(opened, None, session.measuring, session._spool)
        again.resume(opened.study(session.number), document.runs)
        assert [notice.sentence for notice in again.noticed if notice.kind == "remark"] == [remark]
        again.take(Noticed(remarks=(remark,)))
        assert [notice.sentence for notice in again.noticed if notice.kind == "remark"] == [remark]


def test_a_remark_is_reported_once_by_a_verb_and_kept_with_each_of_its_studies(store):
    messages = []
    options = replace(SessionOptions(), listener=SimpleNamespace(warned=messages.append))
    host = SimpleNamespace(facts=lambda: FACTS)
    remark = "isolation: 39 kernel threads are bound to their CPUs and could not be moved."
    with Store.open(store) as opened, Spool.create(opened) as spool:
        for title, count in (("first", 39), ("second", 38)):
            session = StudySession(opened, host, replace(options, title=title), spool)
            for _ in range(2):
                number = session.begin(STUDY)
                session.take(Noticed(remarks=(remark.replace("39", str(count)),)))
                sentences = [notice.sentence for notice in document_of(opened, number).noticed]
                assert sentences == [remark.replace("39", str(count))]
    assert messages == [remark]


def test_remarks_from_before_a_study_are_stored_with_it(store):
    messages = []
    host = SimpleNamespace(facts=lambda: FACTS)
    with Store.open(store) as opened, Spool.create(opened) as spool:
        study_session = StudySession(opened, host, listening(messages), spool)
        study_session._warn_early("Left out of mine: turbo: there is no frequency scaling here.")
        number = study_session.begin(STUDY)
        assert [notice.sentence for notice in study_session.noticed] == messages
        assert [notice.sentence for notice in document_of(opened, number).noticed] == messages


CLAMPED = {"knob": "slice_ns", "place": "the program", "found": "100000000", "wanted": "500000000"}
CHANGED = {"knob": "swappiness", "place": "/proc/sys/vm/swappiness", "found": "60", "wanted": "10"}


def test_limited_settings_are_still_reported_after_a_resume(session, store, tmp_path):
    messages = []
    session.measuring = listening(messages)
    for _ in range(2):
        session.take(Noticed(drift=(CHANGED,), clamped=(CLAMPED,)))
    assert len(messages) == 1, "of the clamped one the agent's remark tells"
    before = session.noticed

    again = StudySession(session.store, None, session.measuring, session._spool)
    again.resume(session.store.study(session.number), ())
    assert again.noticed == before
    assert [notice.kind for notice in again.noticed] == ["setting_changed", "setting_clamped"]
    again.take(Noticed(drift=(CHANGED,), clamped=(CLAMPED,)))
    assert len(messages) == 1, "not once more in the same study"

    document = document_of(session.store, session.number)
    assert document.noticed == before
    path = tmp_path / "study.json"
    path.write_text(becalm_json.write(document))
    (number,) = import_(path, store)
    with Store.open(store) as opened:
        assert document_of(opened, number).noticed == before
