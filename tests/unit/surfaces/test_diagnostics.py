"""Diagnostics against R's `rstandard`, `rstudent` and `cooks.distance` (R 4.2.2)."""

import numpy as np
import pytest
from tests.unit.surfaces.published import chemreact, treb

from becalm.surfaces.diagnostics import diagnose
from becalm.surfaces.least_squares import fit
from becalm.surfaces.surface import fitted


def test_of_chemreact():
    data = chemreact()
    diagnostics = diagnose(fitted(data, data.frame.terms("quadratic")).fit)
    # rstandard(m), rstudent(m), cooks.distance(m), runs 1, 2, 6 and 12
    own = [0, 1, 5, 11]
    six = {"abs": 1e-9}
    assert diagnostics.studentised[own] == pytest.approx(
        [0.3539779177, 1.4059584118, 1.4362382822, -1.1450857786], **six
    )
    assert diagnostics.deleted[own] == pytest.approx([0.3306929462, 1.5365771319, 1.5832915779, -1.1759913621], **six)
    assert diagnostics.cook[own] == pytest.approx(
        [0.041075304281, 0.647997600838, 0.092103014238, 0.429618421690], **six
    )


def test_of_the_trebuchet():
    data = treb()
    diagnostics = diagnose(fitted(data, data.frame.terms("quadratic")).fit)
    assert diagnostics.cook[[0, 4, 9, 13]] == pytest.approx(
        [0.07317073171, 0.45731707317, 0.89634146341, 0.01829268293], abs=1e-10
    )
    assert diagnostics.deleted[[9, 10]] == pytest.approx([-2.4370871834, 2.4370871834], abs=1e-9)


def test_a_run_far_off_is_an_outlier_and_a_quiet_one_is_none():
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(30), rng.normal(size=30)])
    y = x @ [1.0, 2.0] + 0.1 * rng.normal(size=30)
    y[7] += 2.0
    diagnostics = diagnose(fit(x, y))
    assert diagnostics.outliers[7] < 1e-6
    assert (np.delete(diagnostics.outliers, 7) > 0.05).all()


def test_nothing_is_reported_where_no_run_is_left_for_the_error():
    diagnostics = diagnose(fit(np.eye(3), np.array([1.0, 2, 3])))
    assert np.isnan(diagnostics.studentised).all()
    assert np.isnan(diagnostics.scores).all()
