"""Learned placements by the engine: it computes what training computes, and own weights are used."""

import json

import numpy as np
import pytest
from tests.support.placements import KNOWN, eight

from becalm.errors import UsageError
from becalm.placement import learned, place, training, validation
from becalm.placement.generated import Generated, distributed, drawn
from becalm.placement.model import costs
from becalm.results.place_costs import Chip

CHIPS = [Chip(4)] * 2


@pytest.mark.parametrize("name", ["mlp", "svm", "costs"])
def test_the_engine_says_of_shipped_weights_what_training_says(name):
    model = learned.weights(name)["model"]
    rows = np.random.default_rng(1).normal(0, 2, (9, len(model["shift"])))
    outputs, _ = learned.infer(model, rows)
    # Coefficients of the vector machine are some thousands.
    assert outputs == pytest.approx(training.said(model, rows), abs=1e-6)


def test_predicted_costs_are_near_the_models():
    tasks, known = eight()
    placed = place(tasks, CHIPS, known, method="costs")
    assert placed.cost <= 1.1 * place(tasks, CHIPS, known).cost


def test_generated_programs_are_like_the_known_and_their_best_is_the_least():
    pool = Generated(drawn(KNOWN, 11, np.random.default_rng(2)), KNOWN.cache)
    assert len(pool.workloads) == 165
    assert len(pool.sets) == 330
    lines = np.log([chip.lines for chip in drawn(KNOWN, 400, np.random.default_rng(3))])
    assert -2.5 < lines.mean() < 0.5
    workload = pool.workloads[7]
    best = pool.worth(workload, pool.best(workload))
    assert best <= pool.worth(workload, distributed(workload))
    programs = [pool.programs[program] for program in workload]
    table = costs(programs, KNOWN.cache, [4])
    assert place([program.task for program in programs], CHIPS, table).cost == pytest.approx(best, abs=1e-9)
    assert place([program.task for program in programs], CHIPS, table, method="di").cost == pytest.approx(
        pool.worth(workload, distributed(workload)), abs=1e-9
    )


def test_training_is_told_written_and_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "POOLS", 1)
    monkeypatch.setattr(training, "COST_POOLS", 1)
    monkeypatch.setattr(training, "COST_STEPS", 20)
    monkeypatch.setattr(training, "STEPS", 15)
    monkeypatch.setattr(validation, "FOLDS", 2)
    heard = []
    trained = validation.train(KNOWN, seeds=1, seed=3, save=tmp_path, without_svm="No svm here.", say=heard.append)
    assert heard == ["seed 1 of 1"]
    assert sorted(path.rpartition("/")[2] for path in trained.saved) == ["costs.json", "mlp.json"]
    assert {(score.method, score.held_out) for score in trained.scores} == {
        (name, held_out)
        for name in ("mlp5", "mlp2", "linear", "di", "random")
        for held_out in ("workloads", "programs")
    }
    assert all(score.regret >= 0 and 0 <= score.accuracy <= 1 for score in trained.scores)
    json.dumps(trained.to_json(), allow_nan=False)
    tasks, known = eight()
    assert place(tasks, CHIPS, known, method="mlp", weights=tmp_path).cost > 0
    with pytest.raises(UsageError, match="becalm place train --save"):
        place(tasks, CHIPS, known, method="svm", weights=tmp_path)
    (tmp_path / "mlp.json").write_text("{}")
    with pytest.raises(UsageError, match=r"cannot be used: it lacks 'about'\."):
        place(tasks, CHIPS, known, method="mlp", weights=tmp_path)
    (tmp_path / "mlp.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be used"):
        place(tasks, CHIPS, known, method="mlp", weights=tmp_path)
