"""Box-Behnken designs, as Box & Behnken 1960 (Technometrics 2:455) print them."""

import numpy as np
import pytest

from becalm.designs.box_behnken import TABLE, box_behnken
from becalm.errors import UsageError


@pytest.mark.parametrize(("count", "edges", "runs"), [(3, 12, 15), (4, 24, 27), (5, 40, 46), (6, 48, 54), (7, 56, 62)])
def test_the_published_numbers_of_runs(count, edges, runs):
    plan = box_behnken(count)
    assert (plan.kinds.count("edge"), len(plan.points)) == (edges, runs)


@pytest.mark.parametrize("count", TABLE)
def test_three_levels_no_corner_and_no_repeated_edge(count):
    plan = box_behnken(count)
    assert set(np.unique(plan.points)) == {-1, 0, 1}
    edges = plan.points[[kind == "edge" for kind in plan.kinds]]
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert (np.abs(edges).sum(axis=1) == (2 if count < 6 else 3)).all()


@pytest.mark.parametrize("count", TABLE)
def test_linear_effects_and_interactions_are_orthogonal(count):
    x = box_behnken(count).points
    columns = [*x.T, *(x[:, i] * x[:, j] for i in range(count) for j in range(i))]
    products = np.array(columns) @ np.array(columns).T
    assert (products == np.diag(np.diag(products))).all()


@pytest.mark.parametrize("count", [4, 5, 6, 7])
def test_published_blocks_are_orthogonal(count):
    blocks = TABLE[count].blocks
    plan = box_behnken(count, blocks=blocks)
    x = plan.points
    effects = [*x.T, *(x[:, i] * x[:, j] for i in range(count) for j in range(i)), *(x**2).T]
    sizes = [int((plan.blocks == block).sum()) for block in range(blocks)]
    assert len(set(sizes)) == 1
    for effect in effects:
        means = [effect[plan.blocks == block].mean() for block in range(blocks)]
        assert means == pytest.approx([effect.mean()] * blocks)


def test_the_runs_of_the_trebuchet_are_it():
    from tests.unit.surfaces.published import treb

    ours = {tuple(row) for row in box_behnken(3).points}
    assert ours == {tuple(row) for row in treb().points.round(12)}


@pytest.mark.parametrize(
    ("count", "options", "message"),
    [(2, {}, "3 to 7"), (8, {}, "3 to 7"), (3, {"blocks": 2}, "has 1 blocks"), (5, {"centre": 0}, "centre point")],
)
def test_impossible_box_behnken_designs_are_refused(count, options, message):
    with pytest.raises(UsageError, match=message):
        box_behnken(count, **options)
