"""The published methods, step by step, on spreads without noise."""

import itertools
import math

import numpy as np
import pytest

from becalm.errors import UsageError
from becalm.methods import TABLE, method
from becalm.methods.anneal import anneal
from becalm.methods.greedy import greedy
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings

SPACE = Space(
    (
        Candidate("governor", "performance", Group.ESSENTIAL),
        Candidate("nice", -20, Group.ESSENTIAL),
        Candidate("isolation", "first-core", Group.ISOLATION, restricts_cpus=True),
        Candidate("nohz_full", "on", Group.ISOLATION, ("isolation",)),
        Candidate("aslr", "off", Group.NORMAL),
        Candidate("swap", "off", Group.NORMAL),
        Candidate("watchdogs", "off", Group.DANGEROUS),
    )
)


def times(cv):
    """Return 400 run times, all alike but one: (d / sqrt(n)) / (1 + d / n) is their coefficient of variation."""
    count = 400
    outlier = cv * math.sqrt(count) / (1 - cv / math.sqrt(count))
    return 1e9 * np.r_[np.ones(count - 1), 1 + outlier]


def conduct(function, spread, rule=None, seed=0):
    """Return every trial as (names of its knobs, what it was told), and the choice."""
    search, trials = SearchRun(function, SPACE, rule or TrialDesign(), seed), []
    while search.ask is not None:
        (settings,) = search.ask.arms
        names = frozenset(knob for knob, _ in settings.values)
        trials.append(names)
        search.tell([Sample(settings, (times(spread(names)),))])
    return trials, search.choice


def factors(**knobs):
    return lambda names: 0.05 * math.prod(knobs.get(name, 1.0) for name in names)


def test_greedy_sets_the_essential_ones_without_a_test_and_walks_the_groups():
    trials, choice = conduct(greedy, factors(governor=0.9, isolation=0.5, nohz_full=0.5, aslr=0.5, swap=2.0))
    base = {"governor", "nice", "isolation", "nohz_full"}
    assert trials[:3] == [set(), base - {"nohz_full"}, base]
    assert all(names in (base | {"aslr"}, base | {"swap"}, base | {"aslr", "swap"}) for names in trials[3:5])
    assert trials[5] == base | {"aslr", "watchdogs"}
    assert dict(choice.settings.values).keys() == base | {"aslr"}


def test_greedy_tries_what_needs_isolation_only_when_that_helps():
    trials, choice = conduct(greedy, factors(isolation=3.0, aslr=0.5))
    assert not any("nohz_full" in names for names in trials)
    assert dict(choice.settings.values).keys() == {"governor", "nice", "aslr"}


def test_greedy_does_not_choose_what_was_never_measured():
    trials, choice = conduct(greedy, factors(governor=2.0))
    assert trials[-1] == {"governor", "nice"}
    assert choice.settings == NO_SETTINGS


def test_greedy_stops_at_the_threshold():
    trials, choice = conduct(greedy, factors(isolation=0.1), TrialDesign(threshold=0.006))
    assert len(trials) == 2
    assert "threshold of 0.60%" in choice.why


def test_annealing_goes_through_all_once_and_accepts_worse_steps_while_it_is_hot():
    trials, choice = conduct(anneal, factors(governor=0.5, aslr=0.5, swap=1.1))
    assert len(trials) == len(SPACE.candidates)
    # Differences of some per cent against temperatures of 100 to 18: practically everything is accepted.
    assert trials[-1] == {candidate.knob for candidate in SPACE.candidates}
    assert all(len(b) == len(a) + 1 for a, b in itertools.pairwise(trials))
    assert {"governor", "aslr"} <= dict(choice.settings.values).keys()


def test_annealing_rejects_what_is_very_much_worse():
    # exp(-(1000 - 5) / 100) is 5e-5.
    for seed in range(20):
        trials, choice = conduct(anneal, lambda names: 10.0 if "swap" in names else 0.05, seed=seed)
        if "swap" in trials[0]:
            continue  # At 100 % before anything was measured, 1000 % is rejected, too.
        assert sum("swap" in names for names in trials) == 1
        assert "swap" not in dict(choice.settings.values)


def test_annealing_lets_a_candidate_wait_for_what_it_needs():
    for seed in range(20):
        trials, _ = conduct(anneal, factors(), seed=seed)
        assert not any("nohz_full" in names and "isolation" not in names for names in trials)
        assert any("nohz_full" in names for names in trials)


def test_a_trial_has_loops_runs_and_warm_ups_of_the_rule():
    search = SearchRun(greedy, SPACE, TrialDesign(loops=2, runs=7, warmups=3), 0)
    assert (search.ask.loops, search.ask.runs, search.ask.warmups) == (2, 7, 21)


def test_a_method_is_found_by_its_name():
    assert method("greedy") is next(row for row in TABLE if row.name == "greedy")
    assert method("fast").rule == TrialDesign(loops=1, runs=5, warmups=0)
    with pytest.raises(UsageError, match="Did you mean 'anneal'"):
        method("aneal")


def test_settings_of_a_candidate_without_its_needs_are_left_out():
    assert SPACE.settings(SPACE.candidates[3:4]) == Settings()
