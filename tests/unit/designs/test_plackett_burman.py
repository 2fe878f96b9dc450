"""Plackett-Burman designs."""

import numpy as np
import pytest

from becalm.designs.plackett_burman import COLUMNS, SIZES, partial_aliasing, plackett_burman
from becalm.errors import UsageError

TWELVE = """
+-+---+++-+ ++-+---+++- -++-+---+++ +-++-+---++ ++-++-+---+ +++-++-+---
-+++-++-+-- --+++-++-+- ---+++-++-+ +---+++-++- -+---+++-++ -----------
"""
"""Plackett & Burman 1946, the design of 12 runs; Montgomery, Design and Analysis of Experiments, table 8.23."""


def test_twelve_runs_are_those_that_are_printed():
    rows = ["".join("+" if sign > 0 else "-" for sign in row) for row in plackett_burman(11)]
    assert rows == TWELVE.split()


@pytest.mark.parametrize("runs", SIZES)
def test_every_design_tells_its_factors_apart(runs):
    points = plackett_burman(runs - 1)
    assert points.shape == (runs, runs - 1)
    assert (points.T @ points == runs * np.eye(runs - 1)).all(), "orthogonal"
    assert not points.sum(axis=0).any(), "each level as often as the other"
    assert (points[-1] == -1).all(), "all low at last"


@pytest.mark.parametrize("runs", COLUMNS)
def test_columns_are_the_printed_one_moved_down(runs):
    upper = plackett_burman(runs - 1)[:-1]
    assert "".join("+" if sign > 0 else "-" for sign in upper[:, 0]) == COLUMNS[runs]
    for place in range(runs - 1):
        assert (upper[:, place] == np.roll(upper[:, 0], place)).all()


def test_interactions_are_partly_aliased_as_is_published():
    # Lin & Draper 1992 (Technometrics 34:423): +-1/3 in 12 runs; 20: -3/5 and +-1/5
    assert partial_aliasing(plackett_burman(11)) == pytest.approx(1 / 3)
    assert partial_aliasing(plackett_burman(19)) == pytest.approx(3 / 5)
    for runs in SIZES:
        points = plackett_burman(runs - 1)
        assert 0 < partial_aliasing(points) < 1
        assert partial_aliasing(np.vstack([points, -points])) == 0, "folded"


@pytest.mark.parametrize(
    ("count", "runs"), [(2, 12), (11, 12), (12, 20), (19, 20), (20, 24), (24, 28), (28, 36), (47, 48)]
)
def test_the_fewest_runs_above_the_number_of_factors(count, runs):
    assert plackett_burman(count).shape == (runs, count)


@pytest.mark.parametrize(
    ("count", "runs", "message"),
    [
        (1, None, "2 to 47"),
        (48, None, "2 to 47"),
        (5, 14, "not 14"),
        (5, 16, "factorial --runs"),
        (12, 12, "11 factors"),
    ],
)
def test_impossible_plackett_burman_designs_are_refused(count, runs, message):
    with pytest.raises(UsageError, match=message):
        plackett_burman(count, runs)
