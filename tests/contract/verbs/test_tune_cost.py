"""The cost of a search, for programs that the agent or becalm-sim runs."""

import pytest
from tests.unit.verbs.test_tune_cost import Heard

from becalm.errors import WorkloadError
from becalm.verbs.tune import tune, tune_cost


def test_pilot_runs_that_are_all_alike_are_not_too_few(trouble):
    cost = tune_cost(["hackbench"], host="sim:eevdf", seed=7, minimize="time", factors=["slice_ns"])
    assert (cost.noise, cost.pilots) == (0, 5)
    assert "too few" not in cost.sentence
    assert "all pilot runs after the first came to the same value" in cost.sentence


@pytest.mark.parametrize("minimize", ["spread", "time"])
@pytest.mark.parametrize("program", ["false", "/nowhere/becalm"])
def test_of_a_program_that_fails_nothing_is_promised(program, minimize, store):
    heard = Heard()
    factors = {"factors": ["aslr=on,off"]} if minimize == "time" else {}
    with pytest.raises(WorkloadError):
        tune([program], minimize=minimize, listener=heard, store=store, only=() if factors else ("aslr",), **factors)
    assert not any(state.cost for state in heard.states)
