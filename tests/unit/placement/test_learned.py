"""What was learned: the engine says what training says, weights of one's own are taken, and what ships is what it
says."""

import importlib
import json

import numpy as np
import pytest

from becalm.errors import MachineError, UsageError
from becalm.nouns.placement import Chip, Task
from becalm.placement import learned, place, training, validation
from becalm.placement.generated import Generated, distributed, drawn
from becalm.placement.model import costs, published

KNOWN = published()
CHIPS = [Chip(4)] * 2


def eight():
    programs = KNOWN.programs[1:]
    return [each.task for each in programs], costs(programs, KNOWN.cache, [4])


@pytest.mark.parametrize("name", ["mlp", "svm", "costs"])
def test_the_engine_says_of_shipped_weights_what_training_says(name):
    model = learned.weights(name)["model"]
    rows = np.random.default_rng(1).normal(0, 2, (9, len(model["shift"])))
    outputs, _ = learned.infer(model, rows)
    # Coefficients of the vector machine are some thousands.
    assert outputs == pytest.approx(training.said(model, rows), abs=1e-6)


@pytest.mark.parametrize("name", ["mlp", "svm", "costs"])
def test_weights_say_how_they_came_about(name):
    about = learned.weights(name)["about"]
    assert about["made_by"].startswith("becalm place train")
    assert about["on_what_it_has_not_seen"]


def test_a_row_is_ones_own_lines_then_those_of_the_others_highest_first():
    found = learned.rows([8, 1, 7, 2, 6, 3, 5, 4])
    assert found.shape == (8, 8)
    assert list(np.round(np.exp(found[1]) - 0.005)) == [1, 8, 7, 6, 5, 4, 3, 2]


def test_four_join_the_first_by_output_whatever_its_own():
    assert learned.chosen(np.array([-9.0, 0.1, 0.5, 0.4, 0.3, -1, -2, -3])) == (0, 2, 3, 4)
    assert list(learned.score(np.array([[0.9, 0.2], [0.1, 0.4]]))) == pytest.approx([0.7, -0.3])
    assert list(learned.score(np.array([[0.9], [-0.2]]))) == [-0.9, 0.2]


def test_predicted_costs_are_near_the_models():
    tasks, known = eight()
    placed = place(tasks, CHIPS, known, method="costs")
    assert placed.cost <= 1.1 * place(tasks, CHIPS, known).cost


def test_costs_needs_what_it_predicts_from():
    tasks, _ = eight()
    tasks[3] = Task(tasks[3].name, 1.0, pressure=1.0, cpi=1.0)
    with pytest.raises(UsageError, match=f"The sensitivity of {tasks[3].name} is not known"):
        place(tasks, CHIPS, None, method="costs")


def test_generated_programs_are_like_the_known_and_their_best_is_the_least():
    pool = Generated(drawn(KNOWN, 11, np.random.default_rng(2)), KNOWN.cache)
    assert len(pool.workloads) == 165
    assert len(pool.sets) == 330
    lines = np.log([each.lines for each in drawn(KNOWN, 400, np.random.default_rng(3))])
    assert -2.5 < lines.mean() < 0.5
    workload = pool.workloads[7]
    best = pool.worth(workload, pool.best(workload))
    assert best <= pool.worth(workload, distributed(workload))
    programs = [pool.programs[each] for each in workload]
    table = costs(programs, KNOWN.cache, [4])
    assert place([each.task for each in programs], CHIPS, table).cost == pytest.approx(best, abs=1e-9)
    assert place([each.task for each in programs], CHIPS, table, method="di").cost == pytest.approx(
        pool.worth(workload, distributed(workload)), abs=1e-9
    )


def test_a_network_learns_what_a_line_cannot():
    random = np.random.default_rng(0)
    inputs = random.uniform(-1, 1, (200, 2))
    targets = (inputs[:, 0] * inputs[:, 1] > 0).astype(float)
    made = {nodes: training.network(inputs, targets, nodes, 1, classes=True, steps=400) for nodes in (0, 5)}
    right = {
        nodes: float(((learned.score(training.said(model, inputs)) < 0) == (targets > 0)).mean())
        for nodes, model in made.items()
    }
    assert right[5] > 0.95
    assert right[0] < 0.7


def test_training_is_told_written_and_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "POOLS", 1)
    monkeypatch.setattr(training, "COST_POOLS", 1)
    monkeypatch.setattr(training, "COST_STEPS", 20)
    monkeypatch.setattr(training, "STEPS", 15)
    monkeypatch.setattr(validation, "FOLDS", 2)
    heard = []
    found = validation.train(KNOWN, seeds=1, seed=3, save=tmp_path, without_svm="No svm here.", say=heard.append)
    assert heard == ["seed 1 of 1"]
    assert sorted(path.rpartition("/")[2] for path in found.saved) == ["costs.json", "mlp.json"]
    assert {(each.method, each.held_out) for each in found.scores} == {
        (name, held_out)
        for name in ("mlp5", "mlp2", "linear", "di", "random")
        for held_out in ("workloads", "programs")
    }
    assert all(each.regret >= 0 and 0 <= each.accuracy <= 1 for each in found.scores)
    json.dumps(found.to_json(), allow_nan=False)
    tasks, known = eight()
    assert place(tasks, CHIPS, known, method="mlp", weights=tmp_path).cost > 0
    with pytest.raises(UsageError, match="becalm place train --save"):
        place(tasks, CHIPS, known, method="svm", weights=tmp_path)
    (tmp_path / "mlp.json").write_text("{}")
    with pytest.raises(UsageError, match=r"cannot be used: it has no 'about'\."):
        place(tasks, CHIPS, known, method="mlp", weights=tmp_path)
    (tmp_path / "mlp.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be used"):
        place(tasks, CHIPS, known, method="mlp", weights=tmp_path)


def test_a_vector_machine_needs_its_library_and_is_exported_whole():
    random = np.random.default_rng(0)
    inputs, targets = random.normal(0, 1, (40, 3)), np.repeat([0.0, 1.0], 20)
    inputs[20:, 0] += 3
    svm = importlib.import_module("sklearn.svm")
    model = training.vector_machine(inputs, targets, 1)
    shifted = (inputs - np.array(model["shift"])) * np.array(model["scale"])
    fitted = svm.SVC(C=8192.0, gamma=2.0**-13).fit(shifted, targets)
    assert training.said(model, inputs)[:, 0] == pytest.approx(fitted.decision_function(shifted), abs=0.01)


def test_without_the_library_the_way_out_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.svm", None)
    with pytest.raises(MachineError, match="pip install scikit-learn"):
        training.vector_machine(np.zeros((2, 1)), np.array([0.0, 1.0]), 1)


def test_a_folder_that_is_none_is_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(UsageError, match="it is no folder"):
        validation.train(KNOWN, seeds=1, save=tmp_path / "nowhere")
    with pytest.raises(UsageError, match="at least one seed"):
        validation.train(KNOWN, seeds=0)
