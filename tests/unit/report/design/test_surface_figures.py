"""Pictures of a surface."""

import re

import numpy as np
import pytest
from tests.unit.analysis.test_design_fit import CHEMREACT, filled, fitted

from becalm.report.design.axes import folded
from becalm.report.design.html import page
from becalm.report.design.surface_figures import contours, cube, curves, ranked, solid, values
from becalm.report.drawing import NAMES


@pytest.fixture(scope="module")
def three():
    text = filled(
        "box-behnken", ["a=1..100:log", "b=0..1", "c=0..1", "p=x,y"],
        lambda x: 10 + 4 * x[0] + x[1] - 0.1 * x[2] + x[1] ** 2 + x[3] + 0.01 * np.sin(7 * x[0] + x[1]),
    )  # fmt: skip
    return fitted(text)


@pytest.fixture(scope="module")
def whole(three):
    """Draw the page of three factors and a choice."""
    return page(three)


def test_the_surface_is_what_was_fitted(three):
    (response,) = three.responses
    points = np.array([run.coded for run in response.fitted])
    assert values(three, response, points) == pytest.approx([run.fitted for run in response.fitted])


def test_a_transformed_surface_is_drawn_in_units_of_the_response():
    analysis = fitted(CHEMREACT, transform="-2")
    (response,) = analysis.responses
    assert values(analysis, response, np.zeros((1, 2)))[0] == pytest.approx(81.8, abs=0.2)


def test_factors_that_matter_most_are_drawn_first(three):
    (response,) = three.responses
    assert ranked(three, response) == [0, 1, 2]


def test_every_picture_is_there_with_colours_of_the_page_alone(three):
    (response,) = three.responses
    pictures = [cube(three, response), solid(three, response), *contours(three, response), *curves(three, response)]
    assert len(pictures) == 2 + 3 + 4
    for svg in pictures:
        assert svg.startswith('<svg role="img"')
        left = set(re.findall(r"#[0-9a-f]{6}\b", svg))
        assert left == set(), "a colour that light and dark do not define"
        assert "var(--other)" in svg
        assert not any(name in svg for name in NAMES)


def test_ids_of_all_pictures_are_their_own(whole):
    names = re.findall(r' id="([^"]+)"', whole)
    assert len(names) == len(set(names)) > 100


def test_the_page_has_all_pictures_of_the_specification():
    text = page(fitted(CHEMREACT, goals={"Yield": "max"}))
    titles = re.findall(r"<title>(.*?)</title>", text)
    for part in (
        "Yield along Time through the best place",
        "at the corners of",
        "Lines of equal Yield",
        "as a surface over",
        "over normal scores",
        "over fitted values",
        "Measured over fitted Yield",
        "in the order of 14 runs",
        "Leverage of 14 runs",
        "Cook&#x27;s distance of 14 runs",
        "Studentised residuals of Yield over Time",
        "Log likelihood of powers of Yield: best λ 1.68 (0.132 to 3.26)",
    ):
        assert any(part in title for title in titles), part
    assert text.count("<svg") == 2 + 3 + 6 + 2 + 1
    assert "<script" not in text


def test_one_factor_has_no_surface_to_draw():
    text = "a=0..1,y\n" + "\n".join(f"{x},{3 + 2 * x + 0.1 * (-1) ** n}" for n, x in enumerate([0, 0, 0.5, 0.5, 1, 1]))
    analysis = fitted(text)
    assert analysis.responses[0].model == "linear"
    assert cube(analysis, analysis.responses[0]) == ""
    assert contours(analysis, analysis.responses[0]) == ()
    assert len(curves(analysis, analysis.responses[0])) == 1
    assert solid(analysis, analysis.responses[0]) == ""
    assert "<h1>" in page(analysis)


def test_the_pictures_of_a_phone_fit_its_width(whole):
    """Only pictures as wide as the page are scrolled; these are as wide as they need, and never wider than the page."""
    pictures = re.findall(r"<svg [^>]*>", whole)
    assert pictures
    assert all('style="width: ' in picture for picture in pictures)
    assert "svg { display: block; flex: none; max-width: 100%" in whole


def test_long_names_take_two_lines():
    assert folded("slice") == "slice"
    assert folded("sched_wakeup_granularity_ns, s") == "sched_wakeup_\ngranularity_ns, s"
    assert folded("x" * 40) == "x" * 40
