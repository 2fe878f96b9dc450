"""Properties of every design, and of every surface that is fitted to one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from becalm.designs.box_behnken import box_behnken
from becalm.designs.central_composite import composite
from becalm.designs.factorial import best_fraction, fraction, smallest_fraction
from becalm.designs.words import LETTERS
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.surfaces.least_squares import fit
from becalm.surfaces.surface import Data, fitted
from becalm.surfaces.terms import Frame, columns

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def fractions(draw):
    """Draw any regular fraction of three to seven factors."""
    count = draw(st.integers(3, 7))
    base = draw(st.integers(2, count - 1))
    words = ["".join(sorted(draw(st.sets(st.sampled_from(LETTERS[:base]), min_size=2)))) for _ in range(count - base)]
    signs = [draw(st.sampled_from(["", "-"])) for _ in words]
    assume(len(set(words)) == len(words))
    texts = [
        f"{LETTERS[base + place]}={sign}{word}" for place, (word, sign) in enumerate(zip(words, signs, strict=True))
    ]
    return fraction(count, texts)


@given(fractions())
def test_the_defining_relation_is_what_its_columns_are(design):
    """Every word is a constant column of its sign, and every other product is orthogonal to the constant."""
    words = {word.factors: word.sign for word in design.defining}
    for bits in range(1, 2**design.count):
        members = [index for index in range(design.count) if bits >> index & 1]
        column = design.points[:, members].prod(axis=1)
        assert column.sum() == words.get(bits, 0) * len(column)


@given(fractions())
def test_resolution_is_the_length_of_the_shortest_product_that_is_constant(design):
    shortest = min(
        bits.bit_count()
        for bits in range(1, 2**design.count)
        if abs(design.points[:, [i for i in range(design.count) if bits >> i & 1]].prod(axis=1).sum())
        == len(design.points)
    )
    assert design.resolution == shortest


@given(st.integers(3, 11), st.integers(3, 5))
def test_the_smallest_fraction_has_the_resolution_that_was_asked_for(count, resolution):
    design = smallest_fraction(count, resolution)
    # Of a whole factorial nothing is aliased, however few its factors.
    assert design.resolution is None or design.resolution >= resolution
    smaller = len(design.points) // 2
    if smaller > count:
        assert (best_fraction(count, smaller).resolution or 0) < resolution


@given(st.integers(2, 7), st.integers(1, 8), SEEDS)
def test_a_rotatable_design_predicts_equally_well_in_all_directions(count, centre, seed):
    design = composite(count, "rotatable", (centre, 0))
    frame = Frame((0,) * count)
    surface = fitted(
        Data(frame, design.points, np.ones(len(design.points), dtype=int), np.zeros(len(design.points))),
        frame.terms("quadratic"),
    )
    directions = np.random.default_rng(seed).normal(size=(12, count))
    places = 1.2 * directions / np.linalg.norm(directions, axis=1)[:, None]
    leverages = surface.leverage(places)
    assert leverages == pytest.approx(leverages[0], rel=1e-8)


@pytest.mark.parametrize("count", [4, 7])
def test_box_behnken_designs_of_four_and_seven_factors_are_rotatable(count):
    design = box_behnken(count)
    frame = Frame((0,) * count)
    data = Data(frame, design.points, np.ones(len(design.points), dtype=int), np.zeros(len(design.points)))
    directions = np.random.default_rng(1).normal(size=(12, count))
    leverages = fitted(data, frame.terms("quadratic")).leverage(
        directions / np.linalg.norm(directions, axis=1)[:, None]
    )
    assert leverages == pytest.approx(leverages[0], rel=1e-8)


@given(st.integers(2, 6), st.sampled_from(["rotatable", "face-centred", "inscribed", "spherical", "orthogonal"]), SEEDS)
def test_an_exact_polynomial_is_found_again(count, alpha, seed):
    rng = np.random.default_rng(seed)
    points = composite(count, alpha).points
    frame = Frame((0,) * count)
    terms = frame.terms("quadratic")
    truth = rng.normal(size=len(terms) + 1)
    y = truth[0] + columns(points, terms) @ truth[1:]
    surface = fitted(Data(frame, points, np.ones(len(points), dtype=int), y), terms)
    assert not surface.fit.aliased
    assert surface.fit.coefficients == pytest.approx(truth, abs=1e-8)
    assert surface.fit.sse == pytest.approx(0, abs=1e-12)


@given(st.integers(3, 5), SEEDS)
def test_press_is_what_leaving_each_run_out_comes_to(count, seed):
    rng = np.random.default_rng(seed)
    points = box_behnken(count).points
    frame = Frame((0,) * count)
    data = Data(frame, points, rng.integers(1, 3, len(points)), rng.normal(size=len(points)))
    matrix = data.matrix(frame.terms("quadratic"))
    whole = fit(matrix, data.y)
    assume(not whole.aliased and (1 - whole.leverage > 1e-6).all())
    errors = []
    for left in range(len(points)):
        rest = np.delete(np.arange(len(points)), left)
        coefficients, *_ = np.linalg.lstsq(matrix[rest], data.y[rest], rcond=None)
        errors.append(data.y[left] - matrix[left] @ coefficients)
    assert whole.press == pytest.approx(float(np.square(errors).sum()), rel=1e-7)


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.sampled_from(list(Scale)),
    st.floats(-2, 2),
)
def test_coded_and_natural_units_are_each_others_inverse(low, width, scale, place):
    start = abs(low) + 1e-3 if scale is Scale.LOG else low
    assume(width > 1e-6 * abs(start))
    factor = Factor("x", start, start + width, scale=scale)
    assert factor.coded(factor.natural(place)) == pytest.approx(place, abs=1e-5)


@given(st.floats(-50, 50), st.floats(0.5, 50), st.floats(-50, 50), st.floats(0.5, 50), SEEDS)
def test_the_fit_does_not_depend_on_the_units(low, width, other, other_width, seed):
    """Fitted values of a model with all lower terms are the same whatever range the codes are of."""
    rng = np.random.default_rng(seed)
    natural = composite(2).points * 5 + 85
    y = rng.normal(size=len(natural))
    leverages = []
    for a, b in ((low, width), (other, other_width)):
        factors = [Factor("a", a, a + b), Factor("b", 80, 90)]
        coded = np.array([[f.coded(float(v)) for f, v in zip(factors, row, strict=True)] for row in natural])
        frame = Frame((0, 0))
        # Codes far from the runs lose digits, as they do in any program.
        assume(np.abs(coded).max() < 200)
        surface = fitted(Data(frame, coded, np.ones(len(y), dtype=int), y), frame.terms("quadratic"))
        assume(not surface.fit.aliased)
        leverages.append(surface.fit.fitted)
    assert leverages[0] == pytest.approx(leverages[1], abs=1e-4)
