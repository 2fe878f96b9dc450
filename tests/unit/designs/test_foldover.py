"""A two-level design and its foldover."""

import numpy as np
import pytest

from becalm.designs.assemble import assemble
from becalm.designs.factorial import best_fraction, fraction, full_factorial
from becalm.designs.foldover import fold_fraction, folded_factors
from becalm.designs.words import Word
from becalm.errors import UsageError
from becalm.nouns.factor import Factor
from becalm.nouns.options.design import DesignOptions

SEVEN = [Factor(f"f{number}", 0.0, 1.0) for number in range(7)]


def texts(words):
    return [word.text for word in words]


def test_folded_on_all_resolution_three_becomes_four():
    # Montgomery, Design and Analysis of Experiments, 8.6.3: 2^(7-4) folded has I = ABCG = BCDE = ACDF = ADEG = ...
    first = best_fraction(7, 8)
    folded = fold_fraction(first, range(7))
    assert first.resolution == 3
    assert folded.cube.resolution == 4
    assert set(texts(folded.cube.defining)) == {"ABCG", "BCDE", "ACDF", "ABEF", "ADEG", "BDFG", "CEFG"}
    assert (folded.cube.points[8:] == -folded.cube.points[:8]).all()
    for word in folded.cube.defining:
        assert (word.column(folded.cube.points) == 1).all()
    assert len(np.unique(folded.cube.points, axis=0)) == 16


def test_folded_on_one_factor_it_and_its_interactions_are_clear():
    # Montgomery, 8.6.3: folded on D, D and its interactions of two are clear
    first = best_fraction(7, 8)
    folded = fold_fraction(first, [3])
    assert not [word for word in folded.cube.defining if 3 in word.members]
    aliased = {effect.factors for some in folded.cube.aliases() for effect in some}
    assert not [1 for other in range(7) if Word.of(3, other).factors in aliased]
    block = np.repeat([-1.0, 1.0], 8)
    (word,) = folded.block
    assert abs(word.column(folded.cube.points) @ block) == 16


def test_a_half_of_resolution_three_becomes_whole():
    folded = fold_fraction(fraction(3, ["C=AB"]), range(3))
    assert folded.cube.resolution is None
    assert len(np.unique(folded.cube.points, axis=0)) == 8


def test_folding_that_repeats_the_runs_is_refused():
    with pytest.raises(UsageError, match="Fold one factor only: --fold A"):
        fold_fraction(fraction(4, ["D=ABC"]), range(4))
    with pytest.raises(UsageError, match="--replicates 2"):
        fold_fraction(full_factorial(3), range(3))


def test_factors_are_named_or_lettered():
    assert folded_factors(["all"], ["x", "y"]) == (0, 1)
    assert folded_factors(["y", "A"], ["x", "y"]) == (0, 1)
    assert folded_factors(["all"], ["all", "y"]) == (0,), "a factor that is called so"
    with pytest.raises(UsageError, match="not 'z'"):
        folded_factors(["z"], ["x", "y"])


@pytest.mark.parametrize(("kind", "runs"), [("factorial", 8), ("plackett-burman", 12)])
def test_the_first_block_is_the_design_that_was_not_folded(kind, runs):
    """A design that was run can be folded afterwards, with the same seed."""
    plain = assemble(kind, SEVEN, DesignOptions(cube=runs), 5)
    both = assemble(kind, SEVEN, DesignOptions(cube=runs, fold=("all",)), 5)
    assert both.runs[:runs] == plain.runs
    assert both.blocks == 2
    assert {run.block for run in both.runs[runs:]} == {2}
    assert both.folded == tuple(factor.name for factor in SEVEN)
    assert (plain.resolution, both.resolution) == (3, 4)


def test_replicates_and_centre_points_stand_in_both_blocks():
    design = assemble("plackett-burman", SEVEN, DesignOptions(fold=("f2",), replicates=2, centre=(3, None)), 1)
    for block in (1, 2):
        points = [run.point for run in design.runs if run.block == block]
        assert (points.count("cube"), points.count("centre")) == (24, 3)
    assert design.resolution == 3, "folded on one factor the others still hold interactions"


def test_blocks_of_ones_own_are_refused():
    with pytest.raises(UsageError, match="makes two blocks"):
        assemble("factorial", SEVEN, DesignOptions(cube=8, fold=("all",), blocks=2), 1)
    with pytest.raises(UsageError, match="--fold is for becalm design factorial and plackett-burman"):
        assemble("central", SEVEN, DesignOptions(fold=("all",)), 1)
