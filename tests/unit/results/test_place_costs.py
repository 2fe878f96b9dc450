"""Tasks, chips, costs of sharing, and placements: as JSON and back, and what is refused in a sentence."""

import json
import math

import pytest

from becalm.errors import UsageError
from becalm.nouns.codec import decode, plain
from becalm.results.place_costs import (
    Chip,
    CoRunCosts,
    CostOrigin,
    PairCost,
    Placement,
    PlacementObjective,
    SetCosts,
    Task,
    in_rounds,
    items,
)

COSTS = CoRunCosts(
    CostOrigin.MEASURED,
    sets=(SetCosts(("a", "b"), (0.1, 0.2), (0.01, 0.02)),),
    pairs=(PairCost("a", "c", 0.3, 0.01), PairCost("c", "a", 0.4)),
    siblings=(PairCost("a", "b", 0.05),),
)
PLACED = Placement(
    "di", (("a", "b"), ("c",)), PlacementObjective.SLOWDOWN, CostOrigin.GIVEN, 0.1, {"a": 0.1, "b": 0.2, "c": 0.0}
)


def test_costs_and_placements_are_read_back_from_json():
    assert CoRunCosts.from_json(json.loads(json.dumps(COSTS.to_json()))) == COSTS
    assert Placement.from_json(json.loads(json.dumps(PLACED.to_json()))) == PLACED
    for noun in (Task("a", 1.5, 2, 3.0, 0.1, 0.9, 1, 0.2), Chip(2, 2, 1, (0, 2, 1, 3))):
        assert decode(type(noun), json.loads(json.dumps(plain(noun)))) == noun


def test_pairs_are_those_of_sets_of_two_as_well_and_what_is_missing_is_named():
    assert COSTS.by_pair() == {("a", "b"): 0.1, ("b", "a"): 0.2, ("a", "c"): 0.3, ("c", "a"): 0.4}
    assert COSTS.missing([Task("a"), Task("b"), Task("c")]) == (("b", "c"),)
    assert COSTS.missing([Task("a", processes=2)]) == (("a", "a"),)
    assert COSTS.worst_error == 0.02


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PairCost("a", "b", math.nan), "is nan, which is not a number"),
        (lambda: PairCost("a", "b", -0.1), "below zero by more than its noise"),
        (lambda: PairCost("a", "b", -0.1, 0.03), "below zero by more than its noise"),
        (lambda: PairCost("a", "b", 1.0), "is 1. A cost is the share of speed"),
        (lambda: PairCost("a", "b", 0.1, math.nan), "standard error of the cost of a next to b is nan"),
        (lambda: SetCosts(("a", "b"), (0.1,)), "has 1 costs and 0 errors"),
        (lambda: SetCosts(("a", "b"), (0.1, math.inf)), "cost of b next to a is inf"),
        (lambda: CoRunCosts(CostOrigin.GIVEN), "There are no costs"),
        (lambda: CoRunCosts(CostOrigin.GIVEN, pairs=(PairCost("a", "b", 0.1),) * 2), "a, b is given twice"),
        (
            lambda: CoRunCosts(CostOrigin.GIVEN, sets=(SetCosts(("a", "b"), (0, 0)), SetCosts(("b", "a"), (0, 0)))),
            "a, b is given twice",
        ),
        (lambda: Task(""), "needs a name"),
        (lambda: Task("a", processes=0), "a has 0 processes"),
        (lambda: Task("a", pressure=-1.0), "The pressure of a is -1"),
        (lambda: Task("a", sensitivity=math.nan), "The sensitivity of a is nan"),
        (lambda: Task("a", solo_s=0.0), "solo_s of a is 0"),
        (lambda: Task("a", remote=1.0), "`remote` of a is 1"),
        (lambda: Chip(0), "has no room"),
        (lambda: Chip(2, cpus=(1,)), "room for 2 is listed with the CPUs [1]"),
        (lambda: items([Task("a"), Task("a")]), "Two tasks are called a"),
        (lambda: in_rounds([], 3), "no chip"),
    ],
)
def test_invalid_costs_are_refused_in_a_sentence(make, words):
    with pytest.raises(UsageError, match=r"\.$") as refused:
        make()
    assert words in str(refused.value)


def test_a_small_cost_below_zero_is_noise():
    assert PairCost("a", "b", -0.01, 0.01).cost == -0.01


def test_unfairness_is_the_coefficient_of_variation_over_n_and_the_gap_a_share_of_the_cost():
    assert PLACED.unfairness == pytest.approx(100 * math.sqrt(0.02 / 3) / 0.1)
    assert PLACED.gap is None
    proved = Placement("swap", (("a",),), PlacementObjective.DEGRADATION, CostOrigin.GIVEN, 0.2, {"a": 0.2}, bound=0.15)
    assert proved.gap == pytest.approx(0.25)
    assert proved.chip_of("a") == 0


def test_rounds_repeat_the_chips_as_often_as_needed():
    assert in_rounds([Chip(2), Chip(1)], 7) == (Chip(2), Chip(1)) * 3
    assert in_rounds([Chip(2)], 2) == (Chip(2),)


def test_slow_down_is_degradation_over_what_is_left():
    assert PlacementObjective.SLOWDOWN.of(0.5) == 1.0
    assert PlacementObjective.DEGRADATION.of(0.5) == 0.5
