"""Learned placements: the engine computes what training computes, own weights are accepted, and the shipped ones match
their description."""

import importlib
import json
import math

import numpy as np
import pytest
from tests.support.placements import KNOWN, eight

from becalm.errors import MachineError, UsageError
from becalm.placement import learned, place, training, validation
from becalm.results.place_costs import Chip, Task

CHIPS = [Chip(4)] * 2


@pytest.mark.parametrize("name", ["mlp", "svm", "costs"])
def test_weights_say_how_they_came_about(name):
    about = learned.weights(name)["about"]
    assert about["made_by"].startswith("becalm place train")
    assert about["on_what_it_has_not_seen"]


def test_a_row_is_ones_own_lines_then_those_of_the_others_highest_first():
    features = learned.rows([8, 1, 7, 2, 6, 3, 5, 4])
    assert features.shape == (8, 8)
    assert list(np.round(np.exp(features[1]) - 0.005)) == [1, 8, 7, 6, 5, 4, 3, 2]


def test_four_join_the_first_by_output_whatever_its_own():
    assert learned.chosen(np.array([-9.0, 0.1, 0.5, 0.4, 0.3, -1, -2, -3])) == (0, 2, 3, 4)
    assert list(learned.score(np.array([[0.9, 0.2], [0.1, 0.4]]))) == pytest.approx([0.7, -0.3])
    assert list(learned.score(np.array([[0.9], [-0.2]]))) == [-0.9, 0.2]


def test_costs_needs_what_it_predicts_from():
    tasks, _ = eight()
    tasks[3] = Task(tasks[3].name, 1.0, pressure=1.0, cpi=1.0)
    with pytest.raises(UsageError, match=f"the sensitivity of {tasks[3].name} is not known"):
        place(tasks, CHIPS, None, method="costs")


def test_a_network_learns_what_a_line_cannot():
    random = np.random.default_rng(0)
    inputs = random.uniform(-1, 1, (200, 2))
    targets = (inputs[:, 0] * inputs[:, 1] > 0).astype(float)
    networks = {nodes: training.network(inputs, targets, nodes, 1, classes=True, steps=400) for nodes in (0, 5)}
    right = {
        nodes: float(((learned.score(training.said(model, inputs)) < 0) == (targets > 0)).mean())
        for nodes, model in networks.items()
    }
    assert right[5] > 0.95
    assert right[0] < 0.7


def test_a_vector_machine_needs_its_library_and_is_exported_whole():
    random = np.random.default_rng(0)
    inputs, targets = random.normal(0, 1, (40, 3)), np.repeat([0.0, 1.0], 20)
    inputs[20:, 0] += 3
    svm = importlib.import_module("sklearn.svm")
    model = training.vector_machine(inputs, targets, 1)
    shifted = (inputs - np.array(model["shift"])) * np.array(model["scale"])
    fitted = svm.SVC(C=8192.0, gamma=2.0**-13).fit(shifted, targets)
    assert training.said(model, inputs)[:, 0] == pytest.approx(fitted.decision_function(shifted), abs=0.01)


def test_without_the_library_the_way_out_is_reported(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.svm", None)
    with pytest.raises(MachineError, match="pip install scikit-learn"):
        training.vector_machine(np.zeros((2, 1)), np.array([0.0, 1.0]), 1)


def test_a_folder_that_is_none_is_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(UsageError, match="it is not a folder"):
        validation.train(KNOWN, seeds=1, save=tmp_path / "nowhere")
    with pytest.raises(UsageError, match="must be at least 1"):
        validation.train(KNOWN, seeds=0)


def test_a_figure_that_a_method_lacks_is_null_in_json():
    score = validation.Score("di", "programs", 0.5, math.nan, math.nan, math.nan, 0.1, 0.2, 5)
    trained = validation.Training("nine programs", 1, 1, (score,), ())
    value = json.loads(json.dumps(trained.to_json(), allow_nan=False))
    assert (value["kind"], value["scores"][0]["accuracy"], value["scores"][0]["f"]) == ("placement-training", 0.5, None)
