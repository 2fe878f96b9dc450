"""Values beyond a line one after the other: how often by chance, by what a series and its peers have seen."""

import numpy as np
import pytest

from becalm.stats.contaminated import ValueNoise
from becalm.stats.exceedance import Residuals, TailShare, line_of_chance, share_beyond

NONE = np.zeros(0)


def test_values_beyond_a_line_are_counted_on_each_side():
    residuals = Residuals.of([np.array([3.0, -1.0]), np.array([-4.0, 0.5, 3.0])])
    assert residuals.beyond(3.0, 1.0) == (2, 5)
    assert residuals.beyond(3.1, 1.0) == (0, 5)
    assert residuals.beyond(1.0, -1.0) == (2, 5)
    assert residuals.beyond(4.5, -1.0) == (0, 5)
    assert Residuals.of([]).beyond(1.0, 1.0) == (0, 0)


def test_observations_moderate_the_model():
    noise = ValueNoise(1.0, 0.02)
    model = 0.98 * 0.0013499 + 0.02 * 0.2742531
    alone = share_beyond(3.0, 1.0, NONE, Residuals(), noise)
    assert (alone.value, alone.known) == (pytest.approx(model, rel=1e-4), 100)
    # A hundred values of its own of which ten lie there are worth as much as what others say.
    own = np.array([4.0] * 10 + [0.0] * 90)
    share = share_beyond(3.0, 1.0, own, Residuals(), noise)
    assert (share.value, share.known) == (pytest.approx((10 + 100 * model) / 200, rel=1e-4), 200)
    peers = Residuals.of([np.array([4.0] * 300 + [0.0] * 600)])
    assert share_beyond(3.0, 1.0, NONE, peers, noise).value == pytest.approx((300 + 100 * model) / 1000, rel=1e-4)
    # The other side has seen none.
    assert share_beyond(3.0, -1.0, own, peers, noise).value < 0.001


def test_the_probability_of_a_row_is_binomial_where_the_share_is_known_and_larger_where_it_is_not():
    assert TailShare(0.02, 1e8).in_a_row(3, 0) == pytest.approx(0.02**3, rel=1e-4)
    assert TailShare(0.1, 1e8).in_a_row(6, 1) == pytest.approx(6 * 0.1**5 * 0.9 + 0.1**6, rel=1e-4)
    assert TailShare(0.5, 1e8).in_a_row(10, 2) == pytest.approx((45 + 10 + 1) / 2**10, rel=1e-4)
    # Beta-binomial: two of a hundred were seen, and the next three are.
    assert TailShare(0.02, 100).in_a_row(3, 0) == pytest.approx(2 * 3 * 4 / (100 * 101 * 102))
    assert TailShare(1.0, 10).in_a_row(3, 0) == 1.0
    assert TailShare(0.0, 10).in_a_row(3, 0) == 0.0


def test_the_line_of_a_probability_is_where_a_row_has_it():
    noise, own = ValueNoise(1.0, 0.05), np.array([6.0, -1.0, 0.3, 0.1] * 10)
    for sign in (-1.0, 1.0):
        line = line_of_chance(1e-5, 3, 0, sign, own, Residuals(), noise)
        assert share_beyond(line + 0.01, sign, own, Residuals(), noise).in_a_row(3, 0) <= 1e-5
        assert share_beyond(line - 0.02, sign, own, Residuals(), noise).in_a_row(3, 0) > 1e-5
    assert line_of_chance(1e-5, 3, 0, 1.0, own, Residuals(), noise) > 6
