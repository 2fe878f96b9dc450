"""Numbers of a filled design in words."""

import math

import pytest

from becalm.nouns.finding import Interval
from becalm.wording.design import designed, interval, number, p_value, response
from becalm.wording.findings import finding


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Interval(82.1368, 81.9802, 82.2935), "82.137 (81.980 to 82.293)"),
        (Interval(12000.0, 11000.0, 13000.0), "12000 (11000 to 13000)"),
        (Interval(0.00123, 0.00121, 0.00125), "0.0012300 (0.0012100 to 0.0012500)"),
        (Interval(5.0, math.nan, math.nan), "5"),
        (Interval(1e9, 0.9e9, 1.1e9), "1e+09 (9e+08 to 1.1e+09)"),
        (Interval(3.0, 1.0, math.inf), "3"),
        (Interval(12_345_900.0, 12_345_500.0, 12_346_300.0), "12345900 (12345500 to 12346300)"),
        (Interval(5e7 + 0.25, 5e7, 5e7 + 0.5), "50000000.250 (50000000.000 to 50000000.500)"),
        (Interval(3.1234567e14, 3.1234560e14, 3.1234574e14), "3.1234567e+14 (3.123456e+14 to 3.1234574e+14)"),
    ],
)
def test_an_interval_has_as_many_digits_as_it_deserves(value, message):
    assert interval(value) == message


def test_numbers_and_p_values():
    assert (number(math.nan), number(12.34567), number(0.5, 3)) == ("–", "12.35", "0.5")
    assert (p_value(math.nan), p_value(3e-7), p_value(0.03456)) == ("–", "< 0.0001", "0.0346")


def test_a_fraction_says_what_it_cannot_tell():
    import becalm

    plan = becalm.design("factorial", [f"f{n}=0..1" for n in range(6)], resolution=4, seed=1)
    assert plan.sentence == designed(plan)
    assert "16 runs of 6 factors (16 cube)" in plan.sentence
    assert "Fraction of resolution IV: I = ABCE = BCDF = ADEF." in plan.sentence
    assert "Letters: A f0" in plan.sentence


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("lack_of_fit", {"model": "linear", "p_value": 0.01, "larger": ("2fi",), "power": None, "curvature": True}),
        ("no_effect", {"detectable": 1.0, "mean": 2.0, "runs": 5}),
        ("saturated", {"model": "2fi", "real": ()}),
        ("partly_aliased", {"share": 0.3}),
        ("fit_outlier", {"run": 3, "studentised": 5.0, "p_value": 0.001}),
        ("influential", {"runs": (3,), "run": 3, "cook": 2.0}),
        ("untested_fit", {"model": "linear"}),
        ("at_border", {"factors": ("a",), "goal": "min"}),
        ("missing_runs", {"missing": 1, "runs": 4}),
    ],
)
def test_advice_for_a_search_names_no_option_of_a_worksheet(kind, numbers):
    sentence = finding(kind, {**numbers, "search": True}, "time").sentence
    assert sentence != finding(kind, numbers, "time").sentence
    assert sentence.endswith(".")
    for name in ("becalm design", "--model", "--transform", "--replicates", "--seed", "centre points", "again"):
        assert name not in sentence


def test_infinite_numbers_are_signs():
    assert (number(math.inf), number(-math.inf), number(math.nan)) == ("∞", "-∞", "–")


def test_a_predicted_r_squared_below_0_has_no_digits():
    """One run that rules the model takes it to any number."""
    from types import SimpleNamespace

    fitted = SimpleNamespace(name="time", model="linear", power=None, anova=(), r_squared=0.5, sd=1.0, best=None)
    assert (
        response(SimpleNamespace(**vars(fitted), predicted=0.25), ())
        == "time: linear model, R² 0.500, predicted R² 0.250."
    )
    message = response(SimpleNamespace(**vars(fitted), predicted=-66213.5686), ())
    assert message == "time: linear model, R² 0.500, predicted R² below 0: it predicts worse than the mean of all runs."
    assert response(SimpleNamespace(**vars(fitted), predicted=math.nan), ()) == "time: linear model, R² 0.500."
    sentence = finding("overfitted", {"adjusted": 0.9, "predicted": -66213.5686}, "time").sentence
    assert "predicted below 0, worse than the mean of all runs." in sentence
    assert "66213" not in sentence
