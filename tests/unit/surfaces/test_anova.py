"""Tests of models against R's `anova` and rsm, and the published prints of the same data."""

import math

import numpy as np
import pytest
from tests.unit.surfaces.published import chemreact, heli, treb, uniformity

from becalm.surfaces.anova import by_name, choose_model, compare_models, lack_of_fit, table, terms_of
from becalm.surfaces.surface import Data, fitted
from becalm.surfaces.terms import Frame

SIX = {"rel": 1e-6, "abs": 1e-6}


def test_the_first_block_of_chemreact_lacks_fit():
    # The vignette of rsm: first-order model of block 1, lack of fit F = 95.7335, p = 0.01034; with interaction 190.0247
    data = chemreact(blocks=(1,))
    lack = lack_of_fit(fitted(data, data.frame.terms("linear")))
    assert (lack.lack.freedom, lack.pure.freedom) == (2, 2)
    assert lack.lack.sum_of_squares == pytest.approx(8.296904762, **SIX)
    assert lack.pure.sum_of_squares == pytest.approx(0.0866666667, **SIX)
    assert (lack.lack.f, lack.lack.p_value) == pytest.approx((95.733516, 0.0103377), abs=1e-5)
    with_interaction = lack_of_fit(fitted(data, data.frame.terms("2fi")))
    assert (with_interaction.lack.f, with_interaction.lack.p_value) == pytest.approx((190.0247, 0.005221), abs=1e-4)


def test_sequential_sums_of_squares_of_chemreact():
    # anova(rsm(Yield ~ Block + SO(x1, x2), ChemReact)); the sums of FO and PQ are those of R's anova(lm(…)) per term:
    # 6.956008 + 2.669608, 11.359712 + 6.431481.
    data = chemreact()
    rows = {row.source: row for row in table(fitted(data, data.frame.terms("quadratic")))}
    assert list(rows) == ["blocks", "linear", "2fi", "quadratic", "residual"]
    assert [row.sum_of_squares for row in rows.values()] == pytest.approx(
        [69.531429, 9.625617, 0.0625, 17.791193, 0.186405], abs=1e-6
    )
    assert [rows[name].f for name in ("blocks", "linear", "2fi", "quadratic")] == pytest.approx(
        [2611.09501, 180.7341, 2.34705, 334.0539], rel=3e-6
    )
    assert rows["2fi"].p_value == pytest.approx(0.16938196, **SIX)


def test_lack_of_fit_counts_replicates_within_a_block_alone():
    # rsm prints 0.69: the six centre points are two groups of three, one a block.
    data = chemreact()
    lack = lack_of_fit(fitted(data, data.frame.terms("quadratic")))
    assert (lack.lack.freedom, lack.pure.freedom) == (3, 4)
    assert lack.pure.sum_of_squares == pytest.approx(0.133333333, **SIX)
    assert lack.lack.f == pytest.approx(0.530712, abs=1e-6)
    assert lack.lack.p_value == pytest.approx(0.685088, abs=1e-6)


def test_sequential_sums_of_squares_of_the_helicopters():
    # anova(rsm(ave ~ block + SO(x1, x2, x3, x4), heli)), in the vignette of rsm
    data = heli()
    surface = fitted(data, data.frame.terms("quadratic"))
    rows = table(surface)
    assert [row.sum_of_squares for row in rows] == pytest.approx([16.805556, 1510, 1114, 282.544444, 136.15], abs=1e-5)
    assert [row.f for row in rows[:-1]] == pytest.approx([1.72808, 38.81748, 19.09169, 7.26335], abs=1e-5)
    lack = lack_of_fit(surface)
    assert (lack.lack.sum_of_squares, lack.pure.sum_of_squares) == pytest.approx((125.4, 10.75))
    assert (lack.lack.f, lack.lack.p_value) == pytest.approx((4.666047, 0.0755003), abs=1e-6)


def test_models_of_the_trebuchet_as_r_compares_them():
    # anova(linear, interactions, quadratic) of the three models: F of the last step 28.57588, p 0.00142357
    models = by_name(compare_models(treb()))
    assert models["quadratic"].added.f == pytest.approx(28.57588, abs=1e-5)
    assert models["quadratic"].added.p_value == pytest.approx(0.00142357, abs=1e-8)
    best = models["quadratic"]
    assert (best.r_squared, best.adjusted) == pytest.approx((0.9974690525, 0.9929133469), abs=1e-9)
    assert best.predicted == pytest.approx(0.96969036, **SIX)
    assert best.precision == pytest.approx(47.783812, **SIX)
    assert math.isnan(models["mean"].precision), "a constant has no range"
    assert best.fit.lack.p_value == pytest.approx(0.4051312, abs=1e-7)
    assert models["cubic"].aliased, "a Box-Behnken design has no cubic terms"


@pytest.mark.parametrize(
    ("data", "r_squared", "adjusted", "press"),
    [
        (chemreact(), 0.9980822013, 0.9964383739, 0.7602609286),
        (heli(), 0.95549926, 0.90781991, 705.8923523),
        (uniformity(), 0.87157429, 0.74314858, 13.040261),
    ],
)
def test_shares_of_the_variance(data, r_squared, adjusted, press):
    best = by_name(compare_models(data))["quadratic"]
    assert (best.r_squared, best.adjusted, best.press) == pytest.approx((r_squared, adjusted, press), rel=1e-6)
    total = float(((data.y - data.y.mean()) ** 2).sum())
    assert best.predicted == pytest.approx(1 - press / total, abs=1e-6)


def test_the_model_of_the_handbook_is_reproduced():
    # NIST/SEMATECH e-Handbook 5.4.7.3, with its rounded codes: least squares in doubles, adequate precision by
    # (max - min) / sqrt(p s^2 / n) of the fitted values
    best = by_name(compare_models(uniformity()))["quadratic"]
    assert (best.predicted, best.precision) == pytest.approx((0.360201, 8.255956), abs=1e-6)
    lack = best.fit.lack
    assert (lack.sum_of_squares, lack.freedom) == (pytest.approx(1.470883, abs=1e-6), 3)
    assert (lack.f, lack.p_value) == pytest.approx((0.855164, 0.578765), abs=1e-6)


def test_the_simplest_model_that_fits_is_chosen():
    assert choose_model(compare_models(chemreact()), 0.05).model == "quadratic"
    assert choose_model(compare_models(heli()), 0.05).model == "quadratic"
    rng = np.random.default_rng(1)
    points = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)] * 2, dtype=float)
    noise = rng.normal(size=18)
    blocks = np.ones(18, dtype=int)
    plane = Data(Frame((0, 0)), points, blocks, 10 + 4 * points[:, 0] + 0.5 * noise)
    assert choose_model(compare_models(plane), 0.05).model == "linear"
    nothing = Data(Frame((0, 0)), points, blocks, 10 + noise)
    assert choose_model(compare_models(nothing), 0.05).model == "mean"


def test_a_larger_model_is_taken_when_the_one_that_adds_something_lacks_fit():
    # Curvature in one of the two factors, hidden by the other's absence: the test of both together does not see it.
    rng = np.random.default_rng(5)
    points = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)] * 3, dtype=float)
    y = 5 * points[:, 0] + 0.8 * points[:, 1] ** 2 + 0.2 * rng.normal(size=27)
    models = compare_models(Data(Frame((0, 0)), points, np.ones(27, dtype=int), y))
    assert by_name(models)["2fi"].fit.lack.p_value < 0.05
    assert choose_model(models, 0.05).model == "quadratic"


def test_runs_of_a_search_give_no_model_that_predicts_worse_than_their_mean():
    # Most runs of a search are near its best place; five far ones rule all other terms of a cubic.
    rng = np.random.default_rng(149)
    far = rng.uniform(-1, 1, (5, 3))
    near = np.clip([0.7, 0.9, 0.1] + 0.15 * rng.standard_normal((22, 3)), -1, 1)
    points = np.vstack([far, near])
    y = 0.1 + 0.05 / (1 + np.exp(12 * (points[:, 0] + points[:, 1]))) + 0.001 * rng.standard_normal(27)
    models = compare_models(Data(Frame((0, 0, 0)), points, np.ones(27, dtype=int), y))
    result = by_name(models)
    assert result["cubic"].added.p_value < 0.01
    assert max(model.predicted for model in models[1:]) < 0
    assert result["cubic"].predicted < -10
    assert choose_model(models, 0.05).model == "2fi"


def test_without_replicates_there_is_no_test_of_fit():
    data = treb()
    own = np.r_[0:13]
    lack = lack_of_fit(
        fitted(Data(data.frame, data.points[own], data.blocks[own], data.y[own]), data.frame.terms("linear"))
    )
    assert not lack.tested
    assert math.isnan(lack.lack.p_value)


def test_a_quadratic_that_adds_is_not_given_up_for_a_linear_model_that_neither_adds_nor_fits():
    points = [(-1, -1), (1, -1), (-1, 1), (1, 1), (0, 0), (0, 0), (0, 0), (1.4, 0), (-1.4, 0), (0, 1.4), (0, -1.4)]
    y = np.array([7.4, 8.8, 4.9, 9.0, 9.9, 10.0, 9.8, 5.8, 6.8, 8.1, 7.8])
    models = compare_models(Data(Frame((0, 0)), np.array(points, dtype=float), np.ones(11, dtype=int), y))
    linear, quadratic = by_name(models)["linear"], by_name(models)["quadratic"]
    assert quadratic.added.p_value < 0.05 < linear.added.p_value
    assert linear.fit.lack.p_value < 0.05
    assert quadratic.predicted < linear.predicted < 0
    assert choose_model(models, 0.05).model == "quadratic"


@pytest.mark.parametrize("scale", [1e-9, 1.0, 12345.678, 1e12])
@pytest.mark.parametrize("bend", [0.0, 1.7])
def test_exact_data_do_not_lack_fit(scale, bend):
    points = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)] * 2, dtype=float)
    y = scale * (10 + points[:, 0] / 3 + points[:, 1] / 7 + bend * points[:, 0] ** 2)
    models = compare_models(Data(Frame((0, 0)), points, np.ones(18, dtype=int), y))
    best = choose_model(models, 0.05)
    assert best.model == ("quadratic" if bend else "linear")
    assert not best.fit.tested
    assert best.surface.fit.sse == 0
    if bend:
        assert by_name(models)["linear"].fit.lack.p_value == 0, "a real misfit is reported"


def test_values_that_are_exact_to_their_last_digit_do_not_lack_fit():
    points = np.array([(-1, -1), (1, -1), (-1, 1), (1, 1), (0, 0), (0, 0)], dtype=float)
    exact = np.round(50 + 10 * points[:, 0] / 3 + 20 * points[:, 1] / 7, 3)
    data = Data(Frame((0, 0)), points, np.ones(6, dtype=int), exact)
    assert not lack_of_fit(fitted(data, data.frame.terms("linear"))).tested
    off = exact + 0.01 * (points[:, 0] == 0)
    wrong = Data(data.frame, points, data.blocks, off)
    assert lack_of_fit(fitted(wrong, data.frame.terms("linear"))).lack.p_value == 0


def test_two_equal_repeats_of_coarse_values_do_not_hide_a_misfit():
    points = np.array([(-1, -1), (1, -1), (-1, 1), (1, 1), (0, 0), (0, 0)], dtype=float)
    data = Data(Frame((0, 0)), points, np.ones(6, dtype=int), np.array([1.0, 2, 3, 4, 3, 3]))
    assert lack_of_fit(fitted(data, data.frame.terms("linear"))).lack.p_value == 0


def test_every_term_has_its_sequential_test():
    # anova(lm(Yield ~ Block + x1 + x2 + x1:x2 + I(x1^2) + I(x2^2), ChemReact)) in R
    data = chemreact()
    surface = fitted(data, data.frame.terms("quadratic"))
    linear, squares = terms_of(surface, "linear"), terms_of(surface, "quadratic")
    assert [row.sum_of_squares for row in linear.values()] == pytest.approx([6.956008, 2.669608], abs=1e-6)
    assert [row.sum_of_squares for row in squares.values()] == pytest.approx([11.359712, 6.431481], abs=1e-6)
    assert list(linear) == [((0, 1),), ((1, 1),)]
    assert all(row.freedom == 1 for row in linear.values())


def test_the_contrasts_of_a_choice_are_one_term():
    rng = np.random.default_rng(1)
    points = np.array([(a, b) for a in (-1, 1) for b in (0, 1, 2)] * 3, dtype=float)
    data = Data(Frame((0, 3)), points, np.ones(18, dtype=int), rng.normal(size=18))
    surface = fitted(data, data.frame.terms("2fi"))
    assert [row.freedom for row in terms_of(surface, "linear").values()] == [1, 2]
    assert [row.freedom for row in terms_of(surface, "2fi").values()] == [2]
