"""Central composite designs."""

import numpy as np
import pytest

from becalm.designs.central_composite import ALPHAS, composite
from becalm.errors import UsageError


@pytest.mark.parametrize(
    ("count", "alpha"), [(2, 1.414214), (3, 1.681793), (4, 2.0), (5, 2.0), (6, 2.378414), (7, 2.828427)]
)
def test_rotatable_distances(count, alpha):
    # NIST/SEMATECH e-Handbook, table 5.3.3.6.1.3; from five factors on the cube is a half
    plan = composite(count)
    assert plan.alpha == pytest.approx(alpha, abs=1e-6)
    assert np.abs(plan.points).max() == pytest.approx(alpha, abs=1e-6)


def test_three_factors_take_twenty_runs():
    plan = composite(3)
    assert len(plan.points) == 20
    assert {kind: plan.kinds.count(kind) for kind in set(plan.kinds)} == {"cube": 8, "axial": 6, "centre": 6}


def test_distances_of_the_other_kinds():
    assert composite(3, "face-centred").alpha == 1
    assert composite(3, "spherical").alpha == pytest.approx(3**0.5)
    assert composite(3, 1.25).alpha == 1.25
    inscribed = composite(3, "inscribed")
    assert np.abs(inscribed.points).max() == 1
    assert np.abs(inscribed.points[0]) == pytest.approx([1 / 8**0.25] * 3)


def test_orthogonal_blocks():
    # Derringer & Suich 1980: 20 runs, alpha 1.633, cube in two blocks with two centre points each.
    assert composite(3, "orthogonal", (2, 2), 3).alpha == pytest.approx(1.632993, abs=1e-6)
    # R: rsm::ccd(3, n0 = c(4, 4), alpha = "orthogonal"); pyDOE has the same
    assert composite(3, "orthogonal", (4, 4), 2).alpha == pytest.approx(1.825742, abs=1e-6)
    assert composite(2, "orthogonal", (3, 3), 2).alpha == pytest.approx(2**0.5)
    # Box & Hunter 1957: four factors in three blocks are rotatable and orthogonal at once
    assert composite(4, "orthogonal", (2, 2), 3).alpha == pytest.approx(2)


@pytest.mark.parametrize(("count", "blocks"), [(2, 2), (3, 2), (3, 3), (4, 3), (5, 2), (6, 3)])
def test_effects_are_independent_of_orthogonal_blocks(count, blocks):
    plan = composite(count, "orthogonal", blocks=blocks)
    x = plan.points
    effects = [*x.T, *(x[:, i] * x[:, j] for i in range(count) for j in range(i)), *(x**2).T]
    for effect in effects:
        means = [effect[plan.blocks == block].mean() for block in range(blocks)]
        assert means == pytest.approx([effect.mean()] * blocks, abs=1e-12)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_squares_of_an_orthogonal_design_are_uncorrelated(count):
    squares = composite(count, "orthogonal").points ** 2
    assert np.corrcoef(squares, rowvar=False)[np.triu_indices(count, 1)] == pytest.approx(0, abs=1e-12)


def test_blocks_have_their_centre_points():
    plan = composite(3, centre=(2, 4), blocks=3)
    for block, centres in ((0, 2), (1, 2), (2, 4)):
        own = [kind for kind, place in zip(plan.kinds, plan.blocks, strict=True) if place == block]
        assert own.count("centre") == centres
    assert [word.text for word in plan.words] == ["ABC"]


@pytest.mark.parametrize("kind", ALPHAS)
def test_every_kind_is_described(kind):
    assert len(ALPHAS[kind]) > 20
    assert composite(4, kind).points.shape[1] == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 1}, "2 to 15"),
        ({"count": 3, "alpha": "near"}, "--alpha is one of"),
        ({"count": 3, "alpha": -1.0}, "above 0"),
        ({"count": 3, "blocks": 4}, "blocks"),
        ({"count": 3, "blocks": 5}, "could not be estimated"),
        ({"count": 3, "centre": (0, 0)}, "centre point"),
    ],
)
def test_impossible_composite_designs_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        composite(**options)
