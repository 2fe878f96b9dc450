"""The noise floor and the overhead as functions of arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.analysis.noise_floor import BUDGET_S, PROGRAM_NS, detectable, noise, overhead, stolen_and_others
from becalm.load.record import Load
from becalm.nouns.run import COLUMNS, Run


def runs(count, cv, seed=1, rho=0.0):
    rng = np.random.default_rng(seed)
    log = np.empty(count)
    level = 0.0
    for index in range(count):
        level = rho * level + np.sqrt(1 - rho * rho) * rng.standard_normal()
        log[index] = level
    return 7e6 * np.exp(cv * log)


def make(wall, cpu=None, wait=None, **more):
    known = np.zeros(len(wall)) if wait is None else wait
    return noise(wall, wall if cpu is None else cpu, known, gap_ns=50_000, elapsed_s=5.0, **more)


def test_spread_of_independent_runs_is_found():
    floor = make(runs(2000, 0.02))
    assert floor.runs == 2000
    assert floor.cv == pytest.approx(0.02, rel=0.1)
    assert floor.robust_cv == pytest.approx(0.02, rel=0.1)
    assert abs(floor.lag_one) < 0.1
    assert floor.processor_share == pytest.approx(1.0)
    assert floor.worst == pytest.approx(np.expm1(0.02 * 3.4), rel=0.4)


def test_drift_shows_in_the_correlation_of_neighbours():
    assert make(runs(2000, 0.02, rho=0.93)).lag_one == pytest.approx(0.93, abs=0.04)


def test_an_outlier_moves_the_spread_but_not_the_robust_one():
    wall = runs(500, 0.01)
    before = make(wall)
    wall[100] *= 4
    after = make(wall)
    assert after.worst == pytest.approx(3.0, rel=0.05)
    assert after.cv > 5 * before.cv
    assert after.robust_cv == pytest.approx(before.robust_cv, rel=0.02)


def test_detectable_difference_of_independent_noise_follows_the_formula():
    # Programs of three runs: spread cv / sqrt 3; d has sqrt 2 of it; (1.96 + 0.84) standard errors.
    cv, gap = 0.02, 50_000.0
    pairs = BUDGET_S * 1e9 / (2 * (PROGRAM_NS + gap))
    expected = (1.96 + 0.84) * cv / np.sqrt(3) * np.sqrt(2) / np.sqrt(pairs)
    gaps = [detectable(runs(1500, cv, seed), gap) for seed in range(20)]
    assert np.mean(gaps) == pytest.approx(expected, rel=0.15)


def test_slow_drift_hurts_pairs_less_than_its_spread_says():
    assert detectable(runs(1500, 0.02, rho=0.99), 0.0) < 0.4 * detectable(runs(1500, 0.02), 0.0)


def test_too_few_runs_say_nothing_of_correlation_and_detection():
    floor = make(runs(10, 0.02))
    assert floor.lag_one is None
    assert floor.detectable is None
    assert floor.processor_share is None


def test_equal_runs_are_no_division_by_zero():
    floor = make(np.full(600, 7e6))
    assert floor.cv == floor.worst == 0.0
    assert floor.lag_one is None


def test_unknown_times_stay_unknown():
    wall = runs(100, 0.01)
    floor = make(wall, cpu=np.full(100, np.nan), wait=np.full(100, np.nan))
    assert floor.wait_share is None
    assert floor.processor_share is None


def test_waiting_is_a_share_of_the_wall_time():
    wall = runs(100, 0.01)
    assert make(wall, wait=wall / 4).wait_share == pytest.approx(0.25)


def test_bad_series_are_refused():
    with pytest.raises(ValueError, match="run times"):
        make(np.array([]))
    with pytest.raises(ValueError, match="nan"):
        make(np.array([1.0, np.nan]))


def load(**changes):
    """Return half a second of two CPUs, in which the runs 0 to 3 took place."""
    counted = {"busy_ns": 450_000_000, "idle_ns": 500_000_000, "irq_ns": 0, "softirq_ns": 0, "steal_ns": 50_000_000}
    return Load(0, 3, 0, 500_000_000, cpus=2, **{**counted, **changes})


def run(seq, cpu_ns=100_000_000, wall_ns=100_000_000):
    return Run._make([None] * len(COLUMNS))._replace(seq=seq, wall_ns=wall_ns, user_ns=cpu_ns, system_ns=0)


FOUR = [run(seq) for seq in range(4)]


def test_steal_and_others_are_what_the_records_say():
    # 450 ms busy; 400 ms of them are of the runs, and 100 ms between them may have been the agent's.
    assert stolen_and_others([load()], FOUR) == (0.05, 0.0)
    assert stolen_and_others([load(busy_ns=600_000_000, irq_ns=50_000_000)], FOUR) == (
        pytest.approx(50 / 1200), pytest.approx(0.3),
    )  # fmt: skip
    two = [load(), load()._replace(first=4, last=7, busy_ns=950_000_000, idle_ns=0)]
    assert stolen_and_others(two, [run(seq) for seq in range(8)]) == (0.05, pytest.approx(0.4))


def test_unknown_shares_are_not_zero():
    assert stolen_and_others([], FOUR) == (None, None)
    assert stolen_and_others([load(steal_ns=None)], FOUR) == (None, 0.0)
    assert stolen_and_others([load(busy_ns=None)], FOUR) == (None, None)
    assert stolen_and_others([load()], [*FOUR, run(4, cpu_ns=None)]) == (0.05, None)


def test_overhead_is_the_median_difference_within_pairs():
    cost = overhead([100, 200, 300, 400], [150, 260, 340, 480])
    assert (cost.runs, cost.bare_ns, cost.added_ns) == (4, 250, 55)
    assert (cost.low_ns, cost.high_ns) == (47.5, 65)
    with pytest.raises(ValueError, match="cannot be paired"):
        overhead([1], [1, 2])
    with pytest.raises(ValueError, match="bare"):
        overhead([], [])


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=200), st.floats(0, 1e9))
def test_any_run_times_give_finite_answers(wall, gap):
    floor = noise(wall, wall, [0] * len(wall), gap, 1.0)
    assert floor.cv >= 0
    assert floor.worst >= 0
    assert floor.lag_one is None or -1.01 < floor.lag_one < 1.01
