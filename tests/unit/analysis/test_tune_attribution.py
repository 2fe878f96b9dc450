"""Whether what the chosen settings do is accounted for by leaving them out."""

import math
from types import SimpleNamespace

import pytest

from becalm.analysis.tune_attribution import costs, helps, shared, unattributed_spread, unattributed_time
from becalm.nouns.finding import Interval
from becalm.results.tune import AblationEffect

ONE, NO_COST = Interval(1.0, 0.9, 1.1), Interval(0.0, -0.01, 0.01)


def effect(knob, ratio=ONE, cost=NO_COST, program="p"):
    return AblationEffect(knob, 1, program, ratio, cost, False)


def whole(ratio=ONE, shift=NO_COST):
    return [SimpleNamespace(arm="tuned", program="p", ratio=ratio, shift=shift)]


SLOWER = whole(shift=Interval(0.27, 0.25, 0.29))
PAID = Interval(0.26, 0.24, 0.28)


@pytest.mark.parametrize(
    ("parts", "open_"),
    [
        ([effect("a"), effect("b")], True),
        ([effect("a", cost=PAID), effect("b")], False),
        ([effect("a"), effect("b"), effect("a and b", cost=PAID)], False),
        ([effect("a"), effect("b", program="q", cost=PAID)], True),
        ([], False),
    ],
)
def test_time_is_accounted_for_by_settings_alone_or_several_together(parts, open_):
    assert unattributed_time(SLOWER, parts, "p") is open_


def test_a_gain_that_no_setting_explains_is_open():
    faster = whole(shift=Interval(-0.2, -0.22, -0.18))
    assert unattributed_time(faster, [effect("a"), effect("b")], "p")
    assert not unattributed_time(faster, [effect("a", cost=Interval(-0.2, -0.21, -0.19))], "p")
    assert not unattributed_time(whole(), [effect("a")], "p")


def test_a_member_counts_once_where_several_were_left_out_together():
    halves = [effect("a", cost=PAID), effect("b", cost=PAID), effect("a and b", cost=PAID)]
    more = whole(shift=Interval(0.55, 0.5, 0.6))
    assert unattributed_time(more, halves, "p"), "a and b together cost 26 %, not 52"


def test_spread_is_accounted_for_by_the_logarithms_of_its_parts():
    steady = whole(Interval(4.0, 3.5, 4.5))
    half = effect("b", Interval(2.0, 1.7, 2.3))
    assert unattributed_spread(steady, [effect("a"), half], "p")
    assert not unattributed_spread(steady, [effect("a", Interval(1.9, 1.7, 2.1)), half], "p")
    assert not unattributed_spread(whole(), [effect("a")], "p"), "nothing is gained"
    assert not unattributed_spread(steady, [effect("a", Interval(1.0, 0.0, math.inf))], "p"), "nothing is known"


def test_a_cost_is_shared_where_several_have_it_and_one_alone_does_not():
    parts = [effect("a"), effect("b", cost=PAID), effect("c"), effect("a and b", cost=PAID)]
    assert [shared(part, parts) for part in parts] == [True, False, False, False]
    assert not costs(effect("a", cost=Interval(0.0002, 0.0001, 0.0003))), "too little to be worth a word"
    assert helps(effect("a", Interval(1.2, 1.01, 1.4)))
