"""Least squares against the digits that R prints (R 4.2.2, options(digits = 10)); the command stands with each."""

import numpy as np
import pytest
from tests.unit.surfaces.published import chemreact, heli, treb, uniformity

from becalm.surfaces import least_squares
from becalm.surfaces.least_squares import fit
from becalm.surfaces.surface import fitted

SIX = {"rel": 1e-6, "abs": 1e-6}


def quadratic(data):
    return fitted(data, data.frame.terms("quadratic")).fit


def test_coefficients_and_errors_of_chemreact():
    # coef(summary(lm(Yield ~ Block + x1 + x2 + x1:x2 + I(x1^2) + I(x2^2), ChemReact)))
    estimate = quadratic(chemreact())
    assert estimate.coefficients == pytest.approx(
        [84.0954272034, -4.4575297619, 0.9325408137, 0.5777122345, 0.1250000000, -1.3085554451, -0.9334421609], **SIX
    )
    errors = [0.07963075382, 0.08722585252, 0.05769883397, 0.05769883397, 0.08159231261, 0.06006357183, 0.06006357183]
    assert estimate.errors == pytest.approx(errors, **SIX)
    # sum((residuals(m) / (1 - hatvalues(m)))^2)
    assert estimate.press == pytest.approx(0.7602609286, **SIX)
    # hatvalues(m)
    assert estimate.leverage[[0, 4, 7, 10]] == pytest.approx(
        [0.6964825081, 0.2381240043, 0.2380664718, 0.6963746347], **SIX
    )


def test_the_plane_through_the_first_block_of_chemreact():
    # coef(lm(Yield ~ x1 + x2, ChemReact, Block == "B1")), deviance(…)
    data = chemreact(blocks=(1,))
    estimate = fitted(data, data.frame.terms("linear")).fit
    assert estimate.coefficients == pytest.approx([82.81428571, 0.875, 0.625], **SIX)
    assert (estimate.sse, estimate.freedom) == (pytest.approx(8.38357143, **SIX), 4)


def test_coefficients_of_the_helicopters():
    # coef(lm(y ~ Block + (x1 + x2 + x3 + x4)^2 + I(x1^2) + I(x2^2) + I(x3^2) + I(x4^2), heli))
    estimate = quadratic(heli())
    linear = [372.8, -2.95, -0.0833333333, 5.0833333333, 0.25, -6.0833333333]
    assert estimate.coefficients == pytest.approx(
        [*linear, -2.875, -3.75, 4.375, 4.625, -1.5, -2.125, -2.0375, -1.6625, -2.5375, -0.1625], **SIX
    )
    assert estimate.freedom == 14
    assert estimate.mse**0.5 == pytest.approx(3.11849323, **SIX)
    assert estimate.press == pytest.approx(705.8923523, **SIX)


def test_coefficients_of_the_trebuchet():
    # coef(summary(lm(y ~ x1 + x2 + x3 + x1:x2 + x1:x3 + x2:x3 + I(x1^2) + I(x2^2) + I(x3^2), Treb)))
    estimate = quadratic(treb())
    assert estimate.coefficients == pytest.approx(
        [90, 19.75, 19.75, -11.5, -6.25, 4.75, 6.75, -9.375, -1.375, -3.375], **SIX
    )
    assert estimate.errors[[0, 1, 4, 7]] == pytest.approx(
        [1.1690451945, 0.7158910532, 1.0124228366, 1.053763098], **SIX
    )
    assert estimate.press == pytest.approx(245.5, **SIX)


def test_coefficients_of_the_handbook_with_the_codes_that_it_prints():
    # NIST/SEMATECH e-Handbook 5.4.7.3 prints 5.866, -1.9097, -0.2241, 1.6862, 0.1337, 0.0337
    estimate = quadratic(uniformity())
    assert estimate.coefficients == pytest.approx(
        [5.86612597, -1.90967035, -0.22408127, 1.68617338, 0.13373348, 0.03373348], **SIX
    )
    assert estimate.mse**0.5 == pytest.approx(0.72353983, **SIX)
    assert estimate.press == pytest.approx(13.040261, **SIX)


def test_a_column_that_is_a_combination_is_left_out_and_reported():
    rng = np.random.default_rng(3)
    first_column, two = rng.normal(size=(2, 9))
    estimate = fit(
        np.column_stack([np.ones(9), first_column, two, 2 * first_column - two, first_column + 1e-9 * two]),
        rng.normal(size=9),
    )
    assert estimate.columns == (0, 1, 2)
    first, second = estimate.aliased
    assert first.column == 3
    assert dict(first.of) == pytest.approx({1: 2.0, 2: -1.0})
    assert dict(second.of) == pytest.approx({1: 1.0})


def test_a_run_that_fits_itself_has_no_press():
    x = np.column_stack([np.ones(4), [0.0, 0, 0, 1]])
    assert fit(x, np.array([1.0, 2, 3, 9])).press == np.inf


def test_both_ways_to_a_basis_agree():
    rng = np.random.default_rng(4)
    matrix = np.column_stack([np.ones(30), rng.standard_normal((30, 11))])
    at_once, by_column = least_squares._all_columns(matrix), least_squares._by_column(matrix)
    for basis, upper, terms_kept, lost in (at_once, by_column):
        assert basis @ upper == pytest.approx(matrix)
        assert (terms_kept, lost) == (list(range(12)), [])
    assert (at_once[0] ** 2).sum(axis=1) == pytest.approx((by_column[0] ** 2).sum(axis=1))
    # Nothing is taken at once where a column is lost, or where there are more columns than runs.
    assert least_squares._all_columns(np.column_stack([matrix, matrix[:, 3] - 2 * matrix[:, 5]])) is None
    assert least_squares._all_columns(matrix[:8]) is None
    assert len(fit(matrix[:8], rng.standard_normal(8)).columns) == 8
