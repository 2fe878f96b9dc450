"""A bisection of noisy places: the right one, at its rate, whatever cannot be built; none where there is none."""

import math

import numpy as np
import pytest
from tests.rates import at_least
from tests.samples import samples

from becalm.plans.bisection import Bisection, Done, Measure
from becalm.stats.noisy_bisection import log_ratio, looks, next_place, posterior, scatter, step


def search(seed, places, first_bad, *, sd=0.01, size=0.02, unusable=(), error=0.05, most=200):
    """A whole search, simulated: its end, and what was measured."""
    rng, plan = np.random.default_rng(seed), Bisection(places, error, most)
    while not isinstance(then := plan.step(), Done):
        assert isinstance(then, Measure)
        assert 0 < then.place <= places
        assert then.count > 0
        if then.place in unusable:
            plan.unusable.add(then.place)
            continue
        plan.built.add(then.place)
        behind = size if then.place >= first_bad else 0.0
        plan.take(then.place, (behind + sd * math.sqrt(2) * rng.standard_normal(then.count)).tolist())
    return then, plan


def test_the_right_commit_of_a_thousand_is_found_at_the_stated_rate():
    rng, trials = np.random.default_rng(1), samples(8, 200)
    right, runs = 0, 0
    for seed in range(trials):
        first_bad = int(rng.integers(1, 1001))
        end, plan = search(seed, 1000, first_bad)
        right += end.first == end.last == first_bad
        runs += 2 * sum(map(len, plan.differences.values()))
        assert end.probability >= 0.95
    assert right >= at_least(trials, 0.95, 0.02)
    # A plain bisection needs some 530 (bench/bisection.py).
    assert runs / trials < 300


def test_without_a_step_none_is_named():
    ends = [search(seed, 100, 101, size=0.0)[0] for seed in range(20)]
    assert [end.first for end in ends] == [0] * 20


def test_what_became_faster_is_found_too():
    end, _ = search(3, 64, 20, size=-0.05)
    assert (end.first, end.last) == (20, 20)


@pytest.mark.parametrize("first_bad", [1, 2, 50])
def test_the_first_and_the_last_commit_can_be_the_one(first_bad):
    end, _ = search(4, 50, first_bad, size=0.05)
    assert (end.first, end.last) == (first_bad, first_bad)


def test_two_neighbours_are_no_search():
    end, plan = search(5, 1, 1)
    assert (end.first, end.last, set(plan.differences)) == (1, 1, {1})


def test_commits_that_cannot_be_built_widen_the_answer_and_nothing_else():
    end, _ = search(6, 100, 40, size=0.05, unusable=range(38, 44))
    assert (end.first, end.last) == (38, 44)
    assert end.probability > 0.95
    end, _ = search(6, 100, 70, size=0.05, unusable=range(38, 44))
    assert (end.first, end.last) == (70, 70)


def test_a_history_that_is_taken_again_goes_on_where_it_was():
    """What a search does next follows from what was measured, not from how it came to know it."""
    _, plan = search(7, 200, 77)
    again = Bisection(200)
    for place, differences in plan.differences.items():
        again.take(place, differences)
    assert again.step() == plan.step()
    assert again.posterior == pytest.approx(plan.posterior)


def test_looks_share_the_error_and_end_at_the_most():
    counts = looks(200)
    assert counts[0] == 6
    assert counts[-1] == 200
    assert counts == sorted(set(counts))
    assert looks(6) == [6]


def test_no_place_is_trusted_without_end():
    found = step([0.02, 0.0201, 0.0199, 0.02])
    most = log_ratio([0.02] * 50, found, 0.0001, 100)
    assert most == pytest.approx(math.log(0.998 / 0.002), rel=0.01)
    assert log_ratio([0.0] * 50, found, 0.0001, 100) == pytest.approx(-most, rel=0.01)
    assert log_ratio([], found, 0.01, 10) == 0.0


def test_the_posterior_is_that_of_bayes():
    """One look that is nine times as likely behind the step: of four places the first two have 9 parts each, of 20."""
    found = posterior(4, {2: math.log(9)})
    assert found == pytest.approx([0.45, 0.45, 0.05, 0.05])
    assert next_place(posterior(4, {}), {}, (), ()) == 2
    assert next_place(posterior(4, {}), {}, (), (2,)) in (1, 3)
    assert next_place(posterior(1, {}), {}, (), ()) is None


def test_the_scatter_is_that_within_places():
    sigma, freedom = scatter([[1.0, 1.2, 0.8, 1.0], [5.0, 5.2, 4.8, 5.0]])
    assert freedom == 6
    assert sigma == pytest.approx(math.sqrt(0.16 / 6))
    assert scatter([[1.0]]) == (math.inf, 1.0)
    with pytest.raises(ValueError, match="two values"):
        step([1.0])
