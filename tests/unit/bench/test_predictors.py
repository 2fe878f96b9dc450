"""The predictors of co-run slowdowns: on data of a known function the right one wins; nothing leaks between folds."""

import numpy as np
import pytest
from tests.needs import need_module

need_module("sklearn")

from model_tree import LinearModel, ModelTree, ReducedErrorTree  # noqa: E402
from predictors import PREDICTORS, PUBLISHED, Rows, folds, predictor_records, report, rows_of, validated  # noqa: E402


def draw_rows(function, noise=0.0, many=400):
    """Return rows whose targets are a function of two of three inputs."""
    random = np.random.default_rng(1)
    inputs = random.uniform(0, 1, (many, 3))
    targets = function(inputs[:, 0], inputs[:, 1]) + noise * random.standard_normal(many)
    return Rows(inputs, targets, np.arange(many) % 20)


def line(a, b):
    return 3 * a - 2 * b


def steps(a, b):
    return np.where(a > 0.5, 1.0, 0.0) + np.where(b > 0.3, 5.0, 0.0)


def kink(a, b):
    return 8 * np.abs(a - 0.4) + 3 * b


def wave(a, b):
    return 1 / (1 + np.exp(-12 * (a + b - 1)))


@pytest.mark.parametrize(
    ("function", "winner", "losers"),
    [
        (line, "linear", {"REPTree", "MLP"}),
        (line, "M5'", {"REPTree", "MLP"}),
        (steps, "REPTree", {"linear", "MLP", "M5'"}),
        (kink, "M5'", {"linear", "REPTree"}),
        (wave, "MLP", {"linear", "REPTree", "M5'"}),
    ],
)
def test_on_data_of_a_known_function_the_right_predictor_wins(function, winner, losers):
    rows = draw_rows(function, 0.1 if function is kink else 0.02, 300 if function is kink else 150)
    best, *others = (validated(rows, PREDICTORS[name], False, 1) for name in (winner, *sorted(losers)))
    assert all(best["error"] < other["error"] for other in others)
    assert best["correlation"] > 0.95


def test_of_a_line_a_model_tree_is_one_model_without_the_idle_input():
    rows = draw_rows(line, 0.05)
    tree = ModelTree().fit(rows.inputs, rows.targets)
    assert 0 in tree.leaves
    assert tree.models[0].columns == (0, 1)
    assert tree.models[0].weights == pytest.approx([0, 3, -2], abs=0.03)


def test_of_noise_both_trees_are_pruned_to_little():
    random = np.random.default_rng(2)
    inputs, targets = random.uniform(0, 1, (300, 3)), random.standard_normal(300)
    pruned = ReducedErrorTree().fit(inputs, targets)
    assert len(set(pruned.predict(inputs))) < 15
    assert np.abs(ModelTree().fit(inputs, targets).predict(inputs)).mean() < 0.4


def test_a_linear_model_without_columns_is_the_mean():
    targets = np.array([1.0, 2.0, 6.0, 7.0])
    model = LinearModel.of((), np.zeros((4, 2)), targets)
    assert model.predict(np.ones((2, 2))) == pytest.approx([4.0, 4.0])
    # The root of the mean of 9 4 4 9, times (4 + 1) / (4 - 1).
    assert model.error == pytest.approx(np.sqrt(6.5) * 5 / 3)


def test_every_row_is_held_out_once_and_programs_as_a_whole():
    rows = draw_rows(line)
    for by_program in (False, True):
        held = list(folds(rows, by_program, 1))
        assert np.sum(held, axis=0).tolist() == [1] * len(rows.targets)
    for fold in folds(rows, True, 1):
        assert not set(rows.programs[fold]) & set(rows.programs[~fold])


def test_a_predictor_that_knows_rows_by_heart_gains_nothing_with_programs_held_out():
    random = np.random.default_rng(3)
    programs = np.repeat(np.arange(20), 20)
    marks, losses = random.uniform(0, 1, 20), random.uniform(0, 1, 20)
    rows = Rows(np.column_stack([marks[programs], random.uniform(0, 1, 400)]), losses[programs], programs)
    make = PREDICTORS["REPTree"]
    assert validated(rows, make, False, 1)["correlation"] > 0.95
    assert validated(rows, make, True, 1)["correlation"] < 0.5


def test_rows_are_the_models_losses_of_all_fours(monkeypatch):
    rows = rows_of(1, seed=1)
    assert rows.inputs.shape == (330 * 4, 4)
    assert (np.diff(rows.inputs[:, 1:], axis=1) >= 0).all(), "neighbours are sorted"
    assert np.bincount(rows.programs).tolist() == [120] * 11
    assert (rows.targets >= 0).all()
    assert (rows.targets < 1).all()


def test_the_report_has_each_predictor_alongside_what_was_published():
    rows = draw_rows(line, many=60)
    text = report(predictor_records(rows, 1, ("linear", "REPTree")), rows)
    assert "| linear | 0.8332 | 1.0000 | 0.00 | 0 % |" in text
    assert set(PREDICTORS) == set(PUBLISHED)
