"""Spools of a store: finished runs survive those who measured them. A tier gives the fixtures location and store."""

import fcntl
import os

import pytest
from tests.support.spools import PLACE, abandon, line, spools
from tests.support.store_examples import FACTS, STUDY, run

from becalm.errors import MachineError
from becalm.nouns.elsewhere import elsewhere as telling
from becalm.store import Spool, Store, elsewhere, recover
from becalm.study.stored import stored


def test_a_spool_goes_with_its_study(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    with Spool.create(store) as spool:
        spool.assign(number)
        (path,) = spools(tmp_path)
        assert path.stat().st_mode & 0o777 == 0o600
        assert recover(store) == [], "a spool in use is left alone"
    assert spools(tmp_path) == []


def refused(store):
    """Store pilot runs, and then no study."""
    with Spool.create(store) as spool:
        os.write(spool.fileno(), line(run(0)))
        raise MachineError("refused")


def test_a_spool_of_what_never_became_a_study_goes_with_its_error(store, tmp_path):
    with pytest.raises(MachineError, match="refused"):
        refused(store)
    assert spools(tmp_path) == []
    assert recover(store) == []


def test_a_kill_before_there_was_a_study_leaves_nothing_and_is_no_damage(store, tmp_path):
    for data in (line(run(0)), telling(PLACE) + line(run(0))):
        spool = Spool.create(store)
        os.write(spool.fileno(), data)
        assert (recover(store), elsewhere(store), len(spools(tmp_path))) == ([], [], 1), "it is in use"
        fcntl.flock(spool.fileno(), fcntl.LOCK_UN)
        os.close(spool.fileno())
        assert elsewhere(store) == []
        assert recover(store, heard=False) == []
        assert spools(tmp_path) == []


def test_runs_left_by_a_kill_are_recovered_once(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    store.append(number, [run(0)])
    abandon(store, number, line(run(0)) + line(run(1)) + line(run(2))[:-9])
    (recovery,) = recover(store)
    assert (recovery.study_id, recovery.runs) == (number, 1)
    assert list(store.runs(number)) == [run(0), run(1)]
    assert recover(store) == []
    assert spools(tmp_path) == []


def test_a_spool_that_names_another_machine_waits_until_somebody_has_asked_there(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, telling(PLACE) + line(run(0)))
    (recovery,) = recover(store)
    assert (recovery.study_id, recovery.runs, recovery.aside) == (number, 1, None), (
        "what has come here is taken at once"
    )
    assert recover(store) == []
    (left,) = elsewhere(store)
    assert (left.place, left.study_id) == (PLACE, number)
    messages = []
    stored(number, store.shown, warned=messages.append)
    assert [line for line in messages if "may still be on ssh://bench" in line]
    (recovery,) = left.take(line(run(0)) + line(run(1)) + line(run(2))[:-9])
    assert (recovery.runs, recovery.aside) == (1, None)
    assert list(store.runs(number)) == [run(0), run(1)]
    assert (elsewhere(store), spools(tmp_path)) == ([], [])
    assert left.take(line(run(3))) == [], "somebody else was there first"


def test_another_machine_that_has_nothing_is_forgotten(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, telling(PLACE))
    (left,) = elsewhere(store)
    assert left.take(b"") == []
    assert spools(tmp_path) == []


def test_a_place_that_is_in_use_is_nobody_elses(store):
    with Spool.create(store) as spool:
        spool.assign(store.begin(STUDY, FACTS))
        os.write(spool.fileno(), telling(PLACE))
        assert elsewhere(store) == []


def test_rubbish_is_no_run(store, tmp_path):
    """An agent that is killed before or while it writes leaves rubbish."""
    number = store.begin(STUDY, FACTS)
    for data in (b"", b"\x00" * 100, b"{", line(run(0))[:-9]):
        abandon(store, number, data)
        assert recover(store) == []
    assert spools(tmp_path) == []


ROW = list(run(0))


@pytest.mark.parametrize(
    "damaged",
    [b"[]\n", b'{"rows": [[1]]}\n', b'{"rows": 3}\n', b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"\0\n",
     line([*ROW[:6], "x", *ROW[7:]]), line([*ROW[:6], None, *ROW[7:]]), line([*ROW[:6], 2**63, *ROW[7:]]),
     line([*ROW[:6], True, *ROW[7:]]), line([*ROW[:15], "fine", *ROW[16:]])],
)  # fmt: skip
def test_a_damaged_spool_is_kept_and_reported_and_what_is_whole_in_it_is_stored(location, tmp_path, damaged):
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(1)) + damaged + line(run(2)))
        assert [recovered.runs for recovered in recover(store, heard=False)] == [2]
        assert [path.suffix for path in spools(tmp_path)] == [".spool"], "nobody was told of the damage"
        (recovery,) = recover(store)
        assert (recovery.study_id, recovery.runs) == (number, 0), "the runs came in before"
        assert spools(tmp_path) == [recovery.aside]
        assert recovery.aside.read_bytes() == line(run(1)) + damaged + line(run(2))
        assert list(store.runs(number)) == [run(1), run(2)]
        assert recover(store) == []


def test_runs_never_come_into_another_study_of_the_same_number(location, tmp_path):
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        with store._writing() as db:
            # As if the store had been removed and made anew.
            db.execute("UPDATE study SET created_ns = created_ns + 1")
        (recovery,) = recover(store)
        assert (recovery.study_id, recovery.runs) == (number, 0)
        assert recovery.aside.read_bytes() == line(run(0))
        assert list(store.runs(number)) == []


def test_runs_of_a_study_that_is_not_there_are_kept(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, line(run(0)))
    (path,) = spools(tmp_path)
    path.rename(path.with_name(path.name.replace(f"-{number}-", "-4711-")))
    (recovery,) = recover(store)
    assert (recovery.study_id, recovery.runs, recovery.aside.exists()) == (4711, 0, True)


def test_columns_that_a_later_agent_adds_at_the_end_are_no_damage(store):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, line([*run(0), 17]))
    assert [recovered.runs for recovered in recover(store)] == [1]
    assert list(store.runs(number)) == [run(0)]


def test_an_error_while_measuring_brings_the_spool_in(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    try:
        with Spool.create(store) as spool:
            spool.assign(number)
            os.write(spool.fileno(), line(run(0)))
            raise RuntimeError
    except RuntimeError:
        pass
    assert list(store.runs(number)) == [run(0)]
    assert spools(tmp_path) == []


def test_printed_metrics_are_recovered_with_their_run(store):
    number = store.begin(STUDY, FACTS)
    stored_run = run(0, metrics=(0.5, 3.0))
    abandon(store, number, line(stored_run, list(run(1))[:-1]))
    assert [recovered.runs for recovered in recover(store)] == [2]
    assert list(store.runs(number)) == [stored_run, run(1)], "an agent of before has no such column"
