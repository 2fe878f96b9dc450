"""Designs of factors in their own units."""

import numpy as np
import pytest

from becalm.designs.assemble import KINDS, assemble
from becalm.errors import UsageError
from becalm.nouns.factor import Factor
from becalm.nouns.options.design import DesignOptions


def design(kind, *factors, seed=1, **options):
    from becalm.nouns.option import parse_keywords

    return assemble(
        kind,
        [Factor.parse(factor) for factor in factors],
        DesignOptions(**parse_keywords(DesignOptions, options)),
        seed,
    )


def test_runs_are_in_random_order_within_their_blocks():
    plan = design("central", "a=0..1", "b=0..1", "c=0..1", blocks=3, seed=4)
    assert [run.run for run in plan.runs] == list(range(1, 21))
    assert sorted(run.standard for run in plan.runs) == list(range(1, 21))
    assert [run.block for run in plan.runs] == sorted(run.block for run in plan.runs)
    assert [run.standard for run in plan.runs] != list(range(1, 21))
    again = design("central", "a=0..1", "b=0..1", "c=0..1", blocks=3, seed=4)
    assert again == plan
    other = design("central", "a=0..1", "b=0..1", "c=0..1", blocks=3, seed=5)
    assert [run.standard for run in other.runs] != [run.standard for run in plan.runs]


def test_standard_order_is_kept_when_asked_for():
    plan = design("box-behnken", "a=0..1", "b=0..1", "c=0..1", randomize=False)
    assert [run.standard for run in plan.runs] == list(range(1, 16))
    assert plan.seed is None


def test_levels_are_in_the_factors_own_units():
    plan = design("central", "time=80..90min", "slice=1..100ms:log", alpha="face-centred", randomize=False)
    assert plan.runs[0].levels == (80.0, 1.0)
    centre = next(run for run in plan.runs if run.point == "centre")
    assert centre.levels == (85.0, 10.0)


def test_whole_numbers_are_set_and_their_true_places_are_kept():
    plan = design("central", "n=1..100:whole", "m=0..1")
    axial = sorted({run.levels[0] for run in plan.runs})
    assert axial == [-20, 1, 50, 100, 121]
    places = sorted({run.coded[0] for run in plan.runs})
    assert places[2] == pytest.approx((50 - 50.5) / 49.5)


def test_a_range_with_too_few_whole_numbers_is_refused():
    with pytest.raises(UsageError, match=r"workers has too few whole numbers for the 5 levels"):
        design("central", "workers=1..4:whole", "m=0..1", alpha=1.2)
    assert design("factorial", "workers=1..2:whole", "m=0..1")


def test_a_choice_of_two_is_a_factor_of_a_two_level_design():
    plan = design("factorial", "policy=other,batch", "n=1..9", "m=1..9", generators=["C=AB"], randomize=False)
    assert [run.levels for run in plan.runs] == [("other", 1, 9), ("batch", 1, 1), ("other", 9, 1), ("batch", 9, 9)]
    assert plan.letters == {"A": "policy", "B": "n", "C": "m"}
    assert (plan.generators, plan.defining, plan.resolution) == (("C=AB",), ("ABC",), 3)
    assert plan.aliases == (("A", "BC"), ("B", "AC"), ("C", "AB"))


def test_centre_points_of_a_factorial_stand_at_every_combination_of_choices():
    plan = design("factorial", "policy=other,batch", "n=1..9", centre=2)
    centres = [run.levels for run in plan.runs if run.point == "centre"]
    assert sorted(centres) == [("batch", 5), ("batch", 5), ("other", 5), ("other", 5)]


def test_a_surface_is_designed_once_for_each_choice():
    plan = design("box-behnken", "a=0..1", "b=0..1", "c=0..1", "policy=x,y,z")
    assert len(plan.runs) == 45
    counts = [sum(run.levels[3] == letter for run in plan.runs) for letter in "xyz"]
    assert counts == [15, 15, 15]


def test_replicates_and_blocks_of_a_factorial():
    plan = design("factorial", "a=0..1", "b=0..1", "c=0..1", replicates=2, blocks=2)
    assert len(plan.runs) == 16
    assert plan.confounded == ("ABC",)
    for block in (1, 2):
        signs = {np.sign(np.prod(run.coded)) for run in plan.runs if run.block == block}
        assert len(signs) == 1


@pytest.mark.parametrize(
    ("kind", "factors", "options", "message"),
    [
        ("latin", ["a=0..1"], {}, "There is no design 'latin'"),
        ("central", [], {}, "needs factors"),
        ("central", ["a=0..1", "a=0..2"], {}, "named twice"),
        ("central", ["a=0..1"], {}, "2 to 15 numeric factors, not 1"),
        ("box-behnken", ["a=0..1", "b=0..1", "c=x,y"], {}, "3 to 7 numeric factors, not 2"),
        ("factorial", ["a=0..1", "c=x,y,z"], {}, "3 choices"),
        ("factorial", ["a=x,y", "c=x,y"], {"centre": 3}, "no centre"),
        ("factorial", ["a=0..1", "b=0..1"], {"alpha": "inscribed"}, "--alpha is for becalm design central"),
        ("central", ["a=0..1", "b=0..1"], {"resolution": 5}, "--resolution is for becalm design factorial"),
        ("factorial", ["a=0..1", "b=0..1", "c=0..1"], {"resolution": 3, "runs": 4}, "each choose the fraction"),
        ("factorial", [f"f{n}=0..1" for n in range(16)], {"runs": 16}, "15 factors at most"),
        ("factorial", ["run=0..1", "b=0..1"], {}, "every worksheet has"),
        ("factorial", ["a=0..1", "y=0..1"], {}, "two columns"),
    ],
)
def test_invalid_designs_are_refused_in_a_sentence(kind, factors, options, message):
    with pytest.raises(UsageError, match=message):
        design(kind, *factors, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_made_of_three_factors(kind):
    plan = design(kind, "a=0..1", "b=0..1", "c=0..1")
    assert {factor.name for factor in plan.factors} == {"a", "b", "c"}
    assert plan.to_json()["runs"][0]["run"] == 1
