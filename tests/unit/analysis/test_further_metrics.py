"""Differences in metrics that are recorded next to the compared one, from made-up runs whose truth is known."""

import math

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.plans.test_history import row

from becalm.analysis.further_metrics import further_differences
from becalm.nouns.metric import metrics
from becalm.nouns.workload import Workload
from becalm.plans.history import History

SPECS = ("time:wall", "time:user", "faults:major", "json:rate,better=higher")


def differences(faults, rounds=40, names=("a", "b"), specs=(SPECS, SPECS)):
    """Return what is found of programs of which all but the first take 10 % more user time and have twice the rate.

    `faults`: major faults of a round, by program and round.
    """
    rng = np.random.default_rng(5)
    workloads = [Workload(argv=(name,), name=name, metrics=metrics(of)) for name, of in zip(names, specs, strict=True)]
    history, recorded, seq = History(len(names), metrics(SPECS)[0]), {index: [] for index in range(len(names))}, 0
    for number in range(rounds):
        for program in map(int, rng.permutation(len(names))):
            user = (1.1 if program else 1.0) * math.exp(0.01 * rng.normal())
            rate = (2.0 if program else 1.0) * math.exp(0.01 * rng.normal())
            values = (1.0 + 0.01 * rng.random(), user, faults(program, number), rate)
            history.extend([row(seq, program, number)._replace(metrics=values)])
            recorded[program].append((seq, values))
            seq += 1

    def printed(program):
        rows = sorted(recorded[program])
        return np.array([place for place, _ in rows]), np.array([values for _, values in rows])

    return further_differences(names, workloads, history, printed, 0, 0.95)


def test_a_difference_is_found_with_its_interval():
    user, _, rate = differences(lambda program, number: 0.0)
    assert (user.metric, user.unit, user.pairs) == ("user time", "s", 40)
    assert user.low < 0.1 < user.high
    assert user.high - user.low < 0.03
    assert user.worse is True
    assert user.means == pytest.approx((1.0, 1.1), rel=0.01)
    assert rate.low < 1.0 < rate.high
    assert rate.worse is False


def test_counts_that_are_zero_in_some_runs_are_compared_by_their_means():
    _, faults, _ = differences(lambda program, number: float(number % 2) * (3.0 if program else 1.0))
    assert faults.estimate == pytest.approx(2.0)
    assert faults.means == (0.5, 1.5)
    assert faults.low == pytest.approx(2.0) == faults.high, "each round has exactly three times as many"
    _, faults, _ = differences(lambda program, number: float((number + program) % 2))
    assert faults.estimate == pytest.approx(0.0)
    assert faults.low < -0.2
    assert faults.high > 0.2
    assert faults.worse is None


@pytest.mark.parametrize("count", [0.0, 2.0])
def test_a_reference_without_any_has_no_share(count):
    _, faults, _ = differences(lambda program, number: count * program)
    assert math.isnan(faults.estimate)
    assert faults.low == -math.inf
    assert faults.high == math.inf
    assert faults.worse is None
    assert faults.means == (0.0, count)


def test_one_pair_has_no_interval():
    user, faults, _ = differences(lambda program, number: 1.0 * program, rounds=1)
    assert not math.isfinite(user.high - user.low)
    assert not math.isfinite(faults.high - faults.low)


def test_programs_with_other_metrics_are_left_out():
    by = differences(lambda program, number: 0.0, names=("a", "b", "c"), specs=(SPECS, SPECS[:1], SPECS))
    assert [d.name for d in by] == ["c"] * 3
    assert differences(lambda program, number: 0.0, specs=(SPECS[:1], SPECS[:1])) == ()


def test_a_difference_that_is_not_known_is_neither_better_nor_worse():
    user, *_ = differences(lambda program, number: 0.0)
    assert replace(user, low=-0.1, high=0.1).worse is None
    assert replace(user, low=-0.2, high=-0.1).worse is False
