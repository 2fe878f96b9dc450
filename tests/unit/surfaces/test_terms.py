"""Terms of models."""

import numpy as np

from becalm.surfaces.terms import Frame, block_columns, columns


def names(frame, model, shown=("a", "b", "c"), choices=((), (), ("x", "y", "z"))):
    return [frame.name(term, shown, choices) for term in frame.terms(model)]


def test_each_model_has_the_terms_of_those_before():
    frame = Frame((0, 0))
    assert names(frame, "linear") == ["a", "b"]
    assert names(frame, "2fi") == ["a", "b", "a:b"]
    assert names(frame, "quadratic") == ["a", "b", "a:b", "a^2", "b^2"]
    assert names(frame, "cubic") == ["a", "b", "a:b", "a^2", "b^2", "a^3", "b^3", "a^2:b", "a:b^2"]


def test_the_number_of_terms_of_three_factors():
    frame = Frame((0, 0, 0))
    assert [len(frame.terms(name)) for name in ("linear", "2fi", "quadratic", "cubic")] == [3, 6, 9, 19]


def test_choices_have_contrasts_and_no_squares():
    frame = Frame((0, 0, 3))
    assert names(frame, "linear") == ["a", "b", "c[y]", "c[z]"]
    assert "c[y]:c[z]" not in names(frame, "2fi")
    assert names(frame, "quadratic")[-2:] == ["a^2", "b^2"]
    assert "a^2:c[y]" in names(frame, "cubic")
    expanded = frame.expanded(np.array([[0.5, 0, 0], [0.5, 0, 1], [0.5, 0, 2]]))
    assert expanded[:, 2:].tolist() == [[-1, -1], [1, 0], [0, 1]]


def test_columns_are_products():
    frame = Frame((0, 0))
    points = np.array([[2.0, 3.0]])
    assert columns(frame.expanded(points), frame.terms("cubic")).tolist() == [[2, 3, 6, 4, 9, 8, 27, 12, 18]]
    assert columns(points, ()).shape == (1, 0)


def test_blocks_are_relative_to_the_first():
    assert block_columns(np.array([3, 5, 9, 5])).tolist() == [[0, 0], [1, 0], [0, 1], [1, 0]]
