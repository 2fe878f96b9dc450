"""Whether two CPUs share their noise, on simulated machines."""

import numpy as np
import pytest

from at_once import Machine, World
from becalm.analysis.shared_noise import shared_noise
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.groups import Groups
from becalm.plans.history import History
from becalm.plans.schedule import Schedule


def measured(world, rounds=240, seed=1):
    """Return the shared noise of a machine on which a program and its twin run in both schedules."""
    groups, machine = Groups(Schedule.BOTH, (0, 1), np.random.default_rng(seed)), Machine(world, (seed,))
    history, goal = History(2), StoppingRule(runs=rounds)
    while not goal.exhausted(history):
        history.extend(machine.run(groups.block(history, goal), history.next_seq))
    return shared_noise(history, groups)


def test_shared_noise_is_seen_and_what_it_buys():
    shared = measured(World(shared=0.01, own=0.002))
    # 0.01^2 / (0.01^2 + 0.002^2)
    assert shared.low < 0.96 < shared.high
    assert shared.correlation > 0.9
    assert shared.gain > 3
    assert abs(shared.slowdown) < 3 * shared.slowdown_error
    assert shared.cpus == (0, 1)


def test_separate_noise_gains_no_more_than_the_time_saved():
    shared = measured(World(own=0.01))
    assert shared.low < 0 < shared.high
    assert 1.0 < shared.gain < 2.0


def test_a_slower_cpu_is_no_correlation():
    """Times are those of the CPUs, and not of the programs, which change places."""
    shared = measured(World(own=0.001, slower=0.2))
    assert shared.low < 0 < shared.high


def test_a_slow_down_by_the_twin_is_seen():
    shared = measured(World(shared=0.01, own=0.002, slowed=(0.05, 0.05)))
    assert shared.slowdown == pytest.approx(0.05, abs=3 * shared.slowdown_error)


def test_few_runs_say_nothing():
    assert measured(World(own=0.01), rounds=5) is None
