"""Studies, runs and imports in a store; a tier gives the fixtures location and store."""

import json

import pytest
from tests.support.store_examples import FACTS, STUDY, run

from becalm.errors import UsageError
from becalm.nouns.metric import metrics
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.verbs.records import export, import_


def test_a_failed_import_leaves_nothing(location, tmp_path):
    with Store.open(location) as store:
        store.append(store.begin(STUDY, FACTS), [run(0)])
    document = json.loads(export("last", store=location))
    path = tmp_path / "exported.json"
    path.write_text(json.dumps(document))
    assert import_(path, location) == (1,), "it is there already"
    document["study"]["title"] = "another one"
    path.write_text(json.dumps(document))
    assert import_(path, location) == (2,)
    rows = document["runs"]["rows"]
    rows.append(list(rows[0]))
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="two runs have the same seq"):
        import_(path, location)
    # This one is found when all of it has been written already.
    document["study"]["kind"] = "dance"
    del rows[-1]
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match=r"was not imported: .* could not be shown"):
        import_(path, location)
    with Store.open(location) as store:
        assert [study.number for study in store.studies()] == [2, 1]


def test_a_study_with_the_number_of_one_that_is_gone_has_times_of_its_own(store):
    def fails():
        with store.together():
            number = store.begin(STUDY, {}, created_ns=10**9)
            store.append(number, [run(0)])
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    again = store.begin(STUDY, {}, created_ns=7 * 10**9)
    store.append(again, [run(0), run(1)])
    assert [run.started_ns for run in store.runs(again)] == [run(0).started_ns, run(1).started_ns]


def test_a_list_without_facts_keeps_none_of_them(store):
    """Ten thousand studies with 12 KB each were 690 MiB."""
    number = store.begin(STUDY, FACTS)
    (study,) = store.studies(facts=False)
    assert (study.number, study.facts, study.damaged) == (number, {}, "")
    assert store.studies()[0].facts == FACTS


def test_printed_metrics_are_stored_with_their_runs(store):
    study = Study("run", (Workload(("x",), name="x", metrics=metrics("(x)")),), (Settings(),), {}, 1)
    number = store.begin(study, {})
    warm = run(2, round=-1, metrics=(7.0, 1.0))
    rows = [run(0, metrics=(0.1, 3e9)), run(1), warm, run(3, workload=0, metrics=(5.0, 6.0))]
    store.append(number, rows)
    assert list(store.runs(number)) == rows
    assert store.damaged(number) == {}
    seqs, values = store.metrics(number, 0)
    assert seqs.tolist() == [0, 3], "warm-ups and runs without any are no part of it"
    assert values.tolist() == [[0.1, 3e9], [5.0, 6.0]]
    assert store.study(number).study == study


def test_a_changed_metric_is_seen(store):
    number = store.begin(Study("run", (Workload(("x",), name="x"),), (Settings(),), {}, 1), {})
    store.append(number, [run(0, metrics=(5.0,)), run(1, metrics=(6.0,))])
    with store._writing() as db:
        db.execute("UPDATE run SET metrics = '[4.0]' WHERE seq = 0")
    assert [run.seq for run in store.runs(number)] == [1]
    assert store.damaged(number) == {"run": (1, 2)}
