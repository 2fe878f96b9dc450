"""Plans are tested by comparing logs of order, without a clock."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plans.test_history import row

from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.history import History
from becalm.plans.interleave import LARGEST_BLOCK, interleave


def advance(history, block, wall_ns=1_000_000):
    start = history.last_ended_ns or 0
    rows = []
    for index, step in enumerate(block):
        rows.append(
            row(history.next_seq + index, step.workload, step.round, wall_ns, started_ns=start + index * wall_ns)
        )
    history.extend(rows)


@given(programs=st.integers(1, 5), seed=st.integers(0, 2**32 - 1), warmup=st.integers(0, 3))
def test_every_round_runs_every_program_once_with_one_padding(programs, seed, warmup):
    history, goal, rng = History(programs), StoppingRule(runs=20, warmup=warmup), np.random.default_rng(seed)
    steps = []
    while not goal.exhausted(history):
        block = interleave(history, goal, rng).steps
        steps += block
        advance(history, block)
    rounds = {}
    for step in steps:
        rounds.setdefault(step.round, []).append(step)
    assert sorted(rounds) == list(range(-warmup, 20))
    for members in rounds.values():
        assert sorted(step.workload for step in members) == list(range(programs))
        assert len({step.padding for step in members}) == 1


def test_order_is_random_and_repeats_with_the_seed():
    def order(seed):
        return [
            s.workload
            for s in interleave(_measured(2, 200), StoppingRule(runs=400, warmup=0), np.random.default_rng(seed)).steps
        ]

    assert order(1) == order(1)
    assert order(1) != order(2)
    first = order(3)[::2]
    assert 0 < sum(first) < len(first), "neither program always runs first"


def _measured(programs, rounds, wall_ns=1_000_000):
    history = History(programs)
    for number in range(rounds):
        advance(history, [_step(p, number) for p in range(programs)], wall_ns)
    return history


def _step(workload, number):
    from becalm.nouns.run import Step

    return Step(workload, 0, 0, number)


def test_blocks_fit_the_budget():
    goal = StoppingRule(budget_ns=10**9, warmup=0)
    history = _measured(2, 400, 1_000_000)
    block = interleave(history, goal, np.random.default_rng(0)).steps
    assert 0 < len(block) * 1_000_000 <= 10**9 - history.elapsed_ns + 2_000_000


def test_a_block_is_bounded_however_short_the_program():
    block = interleave(_measured(1, 100, 10), StoppingRule(budget_ns=10**12, warmup=0), np.random.default_rng(0)).steps
    assert len(block) <= LARGEST_BLOCK


def test_warm_up_rounds_of_any_number_come_in_blocks():
    """Options may be those of somebody else's file."""
    goal, rng, history = StoppingRule(runs=1, warmup=10**9), np.random.default_rng(0), History(2)
    first = interleave(history, goal, rng)
    assert len(first.steps) <= LARGEST_BLOCK
    advance(history, first.steps)
    second = interleave(history, goal, rng)
    rounds = [step[3] for block in (first, second) for step in block.steps]
    assert rounds == [-(10**9) + number // 2 for number in range(len(rounds))]


def test_budget_is_exhausted_when_half_a_round_no_longer_fits():
    history = _measured(1, 10, 100)
    assert not StoppingRule(budget_ns=1100).exhausted(history)
    assert StoppingRule(budget_ns=1040).exhausted(history)
    assert StoppingRule(runs=10).exhausted(history)
    assert not StoppingRule(runs=11).exhausted(history)


def test_one_round_is_always_run_even_when_the_budget_is_tiny():
    history = History(2)
    assert not StoppingRule(budget_ns=1).exhausted(history)
    assert len(interleave(history, StoppingRule(budget_ns=1, warmup=0), np.random.default_rng(0)).steps) == 2


@pytest.mark.parametrize("goal", [StoppingRule(budget_ns=2000), StoppingRule(runs=20), StoppingRule()])
def test_fraction_grows_and_stays_within_one(goal):
    shares = [goal.fraction(_measured(1, n, 100)) for n in (1, 5, 10, 19)]
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] <= 1


def test_fraction_is_one_at_the_end():
    assert StoppingRule(budget_ns=1040).fraction(_measured(1, 10, 100)) == 1.0


def test_rounds_leave_out_what_was_retired():
    history = History(4)
    goal, rng = StoppingRule(runs=20, warmup=0), np.random.default_rng(1)
    advance(history, interleave(history, goal, rng).steps)
    history.retire([0, 2])
    block = interleave(history, goal, rng).steps
    assert {step.workload for step in block} == {1, 3}
    advance(history, block)
    assert history.rounds == 1 + len(block) // 2
