"""A bisection of noisy places: the right one, at its rate, whatever cannot be built; none where there is none."""

import math

import numpy as np
import pytest
from tests.rates import at_least
from tests.samples import samples

from becalm.plans.bisection import Bisection, Done, PlaceMeasurement
from becalm.stats.ancestry import Ancestry
from becalm.stats.noisy_bisection import log_ratio, looks, next_place, posterior, scatter, step


def search(seed, graph, first_bad, *, sd=0.01, size=0.02, unusable=(), error=0.05, most=200):
    """Simulate a whole search; return its end, and what was measured. `graph`: an ancestry, or the length of a line."""
    graph = Ancestry.line(graph) if isinstance(graph, int) else graph
    places = len(graph.parents)
    slow = graph.descendants(first_bad) if first_bad <= places else np.zeros(places, bool)
    rng, plan = np.random.default_rng(seed), Bisection(graph, error, most)
    while not isinstance(then := plan.step(), Done):
        assert isinstance(then, PlaceMeasurement)
        assert 0 < then.place <= places
        assert then.count > 0
        if then.place in unusable:
            plan.unusable.add(then.place)
            continue
        plan.built.add(then.place)
        behind = size if slow[then.place - 1] else 0.0
        plan.take(then.place, (behind + sd * math.sqrt(2) * rng.standard_normal(then.count)).tolist())
    return then, plan


def test_the_right_commit_of_a_thousand_is_found_at_the_stated_rate():
    rng, trials = np.random.default_rng(1), samples(8, 200)
    right, runs = 0, 0
    for seed in range(trials):
        first_bad = int(rng.integers(1, 1001))
        end, plan = search(seed, 1000, first_bad)
        right += end.suspects == (first_bad,)
        runs += 2 * sum(map(len, plan.differences.values()))
        assert end.probability >= 0.95
    assert right >= at_least(trials, 0.95, 0.02)
    # A plain bisection needs some 530 (bench/bisection.py).
    assert runs / trials < 300


def test_without_a_step_none_is_named():
    ends = [search(seed, 100, 101, size=0.0)[0] for seed in range(20)]
    assert [end.suspects for end in ends] == [()] * 20


def test_a_speedup_is_found_too():
    end, _ = search(3, 64, 20, size=-0.05)
    assert end.suspects == (20,)


@pytest.mark.parametrize("first_bad", [1, 2, 50])
def test_the_first_and_the_last_commit_can_be_the_one(first_bad):
    end, _ = search(4, 50, first_bad, size=0.05)
    assert end.suspects == (first_bad,)


def test_two_neighbours_are_no_search():
    end, plan = search(5, 1, 1)
    assert (end.suspects, set(plan.differences)) == ((1,), {1})


def test_commits_that_cannot_be_built_widen_the_answer_and_nothing_else():
    end, _ = search(6, 100, 40, size=0.05, unusable=range(38, 44))
    assert end.suspects == tuple(range(38, 45))
    assert end.probability > 0.95
    end, _ = search(6, 100, 70, size=0.05, unusable=range(38, 44))
    assert end.suspects == (70,)


def test_a_history_that_is_taken_again_goes_on_where_it_was():
    """The next step of a search follows from what was measured, not from how it came to know it."""
    _, plan = search(7, 200, 77)
    again = Bisection(Ancestry.line(200))
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
    next_step = step([0.02, 0.0201, 0.0199, 0.02])
    most = log_ratio([0.02] * 50, next_step, 0.0001, 100)
    assert most == pytest.approx(math.log(0.998 / 0.002), rel=0.01)
    assert log_ratio([0.0] * 50, next_step, 0.0001, 100) == pytest.approx(-most, rel=0.01)
    assert log_ratio([], next_step, 0.01, 10) == 0.0


def test_the_posterior_is_that_of_bayes():
    """One look that is nine times as likely behind the step: of four places the first two have 9 parts each, of 20."""
    four = Ancestry.line(4)
    probabilities = posterior(four, {2: math.log(9)})
    assert probabilities == pytest.approx([0.45, 0.45, 0.05, 0.05])
    even = four.sums(posterior(four, {}))
    assert next_place(even, four.depth, {}, (), ()) == 2
    assert next_place(even, four.depth, {}, (), (2,)) in (1, 3)
    assert next_place(np.ones(1), (0,), {}, (), ()) is None


def merged(branches, *, commits=5, onward=3):
    """Return branches from the first commit, all merged into a line one after another, then some commits more."""
    parents, tips = [()], []
    for _ in range(branches):
        for number in range(commits):
            parents.append((len(parents) if number else 1,))
        tips.append(len(parents))
    line = 1
    for tip in tips:
        parents.append((line, tip))
        line = len(parents)
    for _ in range(onward):
        parents.append((len(parents),))
    return Ancestry(tuple(parents))


def test_a_search_goes_into_the_branch_that_a_merge_brought_in():
    graph, trials, right = merged(4), samples(6, 400), 0
    rng = np.random.default_rng(8)
    for seed in range(trials):
        first_bad = int(rng.integers(1, len(graph.parents) + 1))
        end, _ = search(seed, graph, first_bad)
        right += end.suspects == (first_bad,)
    assert right >= at_least(trials, 0.95, 0.02)


def test_only_the_branch_that_the_first_parents_lead_to_is_built():
    """The second branch has places 7 to 11."""
    graph = merged(4)
    end, plan = search(9, graph, 9, size=0.05)
    assert end.suspects == (9,)
    assert {place for place in plan.built if graph.depth[place - 1]} <= set(range(7, 12))


def test_a_step_that_is_another_share_of_a_forked_branch_is_found_there():
    """In the second branch, whose fork is before the good commit, the change is two fifths as large as in the whole."""
    graph, forked = merged(4), frozenset(range(7, 12))
    for seed in range(samples(6, 60)):
        rng, plan = np.random.default_rng(seed), Bisection(graph, forked=forked)
        slow = graph.descendants(9)
        while not isinstance(then := plan.step(), Done):
            size = 0.1 * slow[then.place - 1] * (0.4 if then.place in forked else 1.0)
            plan.take(then.place, (size + 0.01 * rng.standard_normal(then.count)).tolist())
        assert then.suspects == (9,)


def test_a_harmless_commit_of_a_forked_branch_is_not_the_step_for_a_trace_of_it():
    """Builds differ by a fiftieth of the step, and scatter so little that this is far from nothing."""
    graph, forked = merged(4), frozenset(range(7, 12))
    slow = graph.descendants(9)
    rng, plan = np.random.default_rng(1), Bisection(graph, forked=forked)
    while not isinstance(then := plan.step(), Done):
        size = 0.1 * slow[then.place - 1] + 0.002 * (then.place in forked)
        plan.take(then.place, (size + 0.0001 * rng.standard_normal(then.count)).tolist())
    assert then.suspects == (9,)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.25, 0.3])
def test_a_search_ends_where_a_commit_is_neither_on_this_side_nor_on_that(share):
    """The branch has a part of the step from its first commit on, known so well that looking again tells no more."""
    graph, forked = merged(1), frozenset(range(2, 7))
    rng, plan = np.random.default_rng(1), Bisection(graph, most=60, forked=forked)
    while not isinstance(then := plan.step(), Done):
        size = 0.1 * (then.place > 6) or 0.1 * share * (then.place > 1)
        plan.take(then.place, (size + 0.0001 * rng.standard_normal(then.count)).tolist())
        assert len(plan.differences[then.place]) < 60 + 40
    assert then.suspects


def test_a_merge_that_is_slow_while_none_of_its_parents_is_is_the_answer():
    graph = merged(1)
    end, plan = search(9, graph, 7, size=0.05)
    assert end.suspects == (7,)
    assert min(len(plan.differences[place]) for place in (1, 6, 7)) >= 8


def test_a_branch_that_cannot_be_built_is_suspected_with_its_merge():
    end, _ = search(10, merged(2), 4, size=0.05, unusable=range(2, 7))
    assert end.suspects == (2, 3, 4, 5, 6, 12)


def test_the_scatter_is_that_within_places():
    sigma, freedom = scatter([[1.0, 1.2, 0.8, 1.0], [5.0, 5.2, 4.8, 5.0]])
    assert freedom == 6
    assert sigma == pytest.approx(math.sqrt(0.16 / 6))
    assert scatter([[1.0]]) == (math.inf, 1.0)
    with pytest.raises(ValueError, match="two values"):
        step([1.0])
