"""The conclusions of the bench of methods for run time from its searches."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

import campaign
import tuning
from becalm.hosts.simulated.responses import model


def test_a_gain_is_reached_where_it_is_never_lost_again() -> None:
    path = [(0, 0.0), (5, 0.26), (9, 0.1), (14, 0.25), (20, 0.29)]
    assert tuning.sustained(path, 0.25) == 14
    assert tuning.sustained(path, 0.28) == 20
    assert tuning.sustained([*path, (30, 0.0)], 0.25) is None


def test_every_method_is_counted_in_runs_and_judged_by_the_truth() -> None:
    world = model("bowl", 1, 0)
    for name in tuning.OURS:
        path = tuning.ours(name, world, 0.005, 0)
        runs = [value for value, _ in path]
        assert path[0] == (0, 0.0)
        assert runs == sorted(runs)
        assert path[-1][1] > 0.15
    path = tuning.peers("random", world, 0.005, 0)
    assert [value for value, _ in path] == list(range(tuning.peer_runs(1) + 1))
    assert np.max([gain for _, gain in path]) <= 0.3


def test_the_table_has_the_median_and_how_many_got_there() -> None:
    searches = [
        tuning.Search("bowl", 2, 0.02, name, seed, (10 + seed, 20 if seed else None), 60, 0.29)
        for name in (*tuning.OURS, *tuning.PEERS)
        for seed in range(3)
        if name != "golden"
    ]
    every = "11 (100 %)"
    assert tuning.rows(searches, 0) == [["bowl", "2", "2.0 %", every, every, "", every, every]]
    assert tuning.rows(searches, 1)[0][3] == "20 (67 %)"
    speed = {
        "swarm_ms_a_trial": 1.0,
        "surface_s": 1.0,
        "surface_ms_a_trial": 2.0,
        "fit_s": 0.1,
        "fit_and_optimum_s": 0.5,
        "study_trials": 1000.0,
        "study_ms_a_trial": 2.0,
        "page_s": 1.0,
    }
    result = {
        "seeds": 3,
        "machine": campaign.machine(),
        "speed": speed,
        "searches": [asdict(e) for e in searches],
    }
    assert "| bowl | 2 | 2.0 % | 20 (67 %) |" in tuning.report(result)
