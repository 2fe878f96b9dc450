"""Pictures of what is left."""

import re

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.analysis.test_design_fit import CHEMREACT, filled, fitted

from becalm.report.design import residual_figures as figures


@pytest.fixture(scope="module")
def chem():
    (response,) = fitted(CHEMREACT, goals={"Yield": "max"}).responses
    return response


def titled(svg):
    return re.search(r"<title>(.*?)</title>", svg)[1]


def test_the_mean_leverage_is_that_of_as_many_terms_as_the_model_has(chem):
    # Seven coefficients, the block's among them, of fourteen runs.
    assert "their mean is 0.5" in titled(figures.leverage(chem))


def test_blocks_are_told_apart_where_their_runs_follow_each_other(chem):
    ordered = sorted(chem.fitted, key=lambda point: point.run)
    assert list(figures._between_blocks(ordered)) == [7.5]
    mixed = [replace(point, block=point.run % 2) for point in ordered]
    assert list(figures._between_blocks(mixed)) == []


def test_runs_are_numbered_by_whole_numbers(chem):
    for draw in (figures.in_order, figures.leverage, figures.cook):
        written = re.findall(r"text-anchor: middle[^>]*>([^<]*)<", draw(chem))
        ticks = written[: written.index("number of the run")]
        assert len(ticks) > 3
        assert all(tick.isdecimal() for tick in ticks)


def test_a_run_far_from_the_others_is_an_alarm(chem):
    odd = replace(chem, fitted=(replace(chem.fitted[0], studentised=4.2), *chem.fitted[1:]))
    assert "var(--alarm)" in figures.over_fitted(odd)
    assert "var(--alarm)" not in figures.over_fitted(chem)


def test_too_few_residuals_have_no_picture(chem):
    few = replace(chem, fitted=chem.fitted[:2])
    drawn = (figures.normal, figures.over_fitted, figures.in_order, figures.leverage, figures.cook)
    assert all(draw(few) == "" for draw in drawn)
    assert figures.measured_over_fitted(few) == ""


def test_named_effects_are_those_above_the_margin():
    noise = np.random.default_rng(3)
    text = filled("factorial", [f"{name}=0..1" for name in "abcd"], lambda x: 5 + 3 * x[0] + noise.normal(0, 0.2))
    (response,) = fitted(text).responses
    assert titled(figures.half_normal(response)).endswith("above the margin: a.")
