"""The history: rounds, pairs and censored runs."""

import math
import tracemalloc

import numpy as np
import pytest

from becalm.nouns.run import Run
from becalm.plans.history import History, by_round


def row(seq, workload, round, wall_ns=1000, outcome="ok", started_ns=None, left_behind=0):
    started_ns = seq * 10_000 if started_ns is None else started_ns
    return Run(
        seq, workload, 0, round, 0, started_ns, wall_ns, 0, 0, None, None, None, None, None, None, outcome, 0,
        left_behind,
    )  # fmt: skip


def test_a_round_counts_when_every_program_ended_well():
    history = History(2)
    history.extend([row(0, 1, 0, 500), row(1, 0, 0, 400), row(2, 0, 1, 300)])
    assert history.rounds == 1
    pairs = history.pairs()
    assert pairs.rounds == 1
    np.testing.assert_allclose(pairs.log_wall[0], [math.log(400)])
    np.testing.assert_allclose(pairs.log_wall[1], [math.log(500)])
    assert pairs.position[0].tolist() == [1]
    assert pairs.position[1].tolist() == [0]


def test_warm_ups_are_kept_but_not_counted():
    history = History(1)
    history.extend([row(0, 0, -1, 9999), row(1, 0, 0, 100)])
    assert history.warmups == 1
    assert history.wall_ns(0).tolist() == [100]
    assert history.seqs(0).tolist() == [1]
    assert history.elapsed_ns == 100, "time counts from the first run that is no warm-up"


def test_a_failed_run_is_censored_and_remembered():
    history = History(1)
    history.extend([row(0, 0, 0), row(1, 0, 1, outcome="failed"), row(2, 0, 2, outcome="timeout")])
    assert history.failure is not None
    assert history.failure.seq == 1
    assert history.wall_ns(0).tolist() == [1000]
    assert (history.good[0], history.bad[0]) == (1, 2)


def test_an_aborted_run_is_no_failure():
    history = History(1)
    history.extend([row(0, 0, 0, outcome="aborted")])
    assert history.failure is None
    assert history.rounds == 0


def test_left_over_processes_are_counted_by_run():
    history = History(2)
    history.extend([row(0, 0, 0, left_behind=3), row(1, 1, 0)])
    assert history.left_behind == [1, 0]


def test_a_run_of_no_time_has_a_logarithm():
    history = History(1)
    history.extend([row(0, 0, 0, wall_ns=0)])
    assert math.isfinite(history.pairs().log_wall[0][0])


def test_a_retired_program_keeps_its_rounds_and_later_ones_have_the_others():
    history = History(3)
    history.extend(row(seq, seq % 3, seq // 3, 10 * (1 + seq % 3)) for seq in range(6))
    assert history.round_ns == history.elapsed_ns / 2
    whole = history.round_ns
    history.retire([1])
    assert history.active == (0, 2)
    history.extend(row(6 + place, program, 2, 10) for place, program in enumerate((2, 0)))
    assert history.rounds == history.complete == 3
    assert [len(history.wall_ns(program)) for program in range(3)] == [3, 2, 3]
    assert history.round_ns < whole
    history.drop([0])
    assert [len(history.wall_ns(program)) for program in range(3)] == [2, 1, 2]
    assert history.pairs().rounds == 2


def test_only_rounds_that_were_finished_count_as_contaminated():
    history = History(2)
    history.extend(row(seq, seq % 2, seq // 2, 10) for seq in range(5))
    assert history.complete == 2
    assert history.finished.tolist() == [0, 1]
    history.drop([0])
    assert history.finished.tolist() == [0, 1], "a dropped one was finished"


def test_rounds_that_are_left_out_take_little_memory():
    """All rounds of a million runs may be left out; two loads may name the same round."""
    history = History(1)
    tracemalloc.start()
    for start in range(0, 200_000, 1000):
        history.drop(range(start, start + 1000))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 8 * 200_000


def test_a_round_that_is_left_out_twice_is_left_out_once():
    """Also one that is not finished yet."""
    history = History(1)
    history.extend([row(0, 0, 0), row(1, 0, 1)])
    history.drop([1, 2])
    history.drop([1])
    history.extend([row(2, 0, 2), row(3, 0, 3)])
    assert history.rounds == 2
    assert history.seqs(0).tolist() == [0, 3]


def test_metrics_are_those_of_the_runs_asked_for():
    printed = np.array([2, 5, 9]), np.array([[20.0], [50.0], [90.0]])
    assert by_round(printed, np.array([9, 2], np.int32)).tolist() == [[90.0], [20.0]]
    assert by_round(printed, np.array([], np.int32)).shape == (0, 1)
    for missing in (1, 3, 10):
        with pytest.raises(KeyError, match="no metrics"):
            by_round(printed, np.array([2, missing], np.int32))
