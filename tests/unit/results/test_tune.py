"""The conclusion of a tune study is read back, also as earlier versions wrote it."""

import json

import pytest
from tests.support.pages import undrawn  # noqa: F401

from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.results.tune import from_json
from becalm.results.tune_arms import BASELINE
from becalm.store import Store
from becalm.verbs.records import export, import_, show


def of_schema_1(value):
    """Return the verdict with the names that schema 1 had."""
    text = json.dumps(value).replace('"trials":', '"course":').replace('"comparisons":', '"steadier":')
    return {**json.loads(text.replace(f'"{BASELINE}"', '"untouched"')), "schema": 1}


@pytest.fixture
def old(study):
    value = of_schema_1(study.to_json())
    assert {"course", "steadier"} <= set(value)
    assert "untouched" in {arm["name"] for arm in value["arms"]}
    return value


def test_a_written_verdict_is_read_back(study):
    assert from_json(study.to_json()).to_json() == study.to_json()


def test_names_of_schema_1_are_read(study, old):
    assert from_json(old).to_json() == study.to_json()


@pytest.mark.usefixtures("undrawn")
def test_a_study_of_schema_1_is_shown_exported_and_imported(study, old, store, tmp_path):
    with Store.open(store) as opened:
        number = opened.begin(Study("tune", (Workload.of("x"),)), {})
        opened.conclude(number, old)
    assert show(number, store).sentence == study.sentence
    assert {arm["name"] for arm in show(number, store).to_json()["arms"]} >= {BASELINE}
    path = tmp_path / "old.json"
    path.write_text(export(number, store=store))
    (again,) = import_(path, store)
    assert show(again, store).verdict.trials == show(number, store).verdict.trials != ()


def test_names_of_schema_1_mean_nothing_in_schema_2(old):
    with pytest.raises((KeyError, TypeError)):
        from_json({**old, "schema": 2})
