"""Graphs of commits: what leads to what, and which places nothing can tell apart."""

import numpy as np
import pytest

from becalm.stats.ancestry import Ancestry, places_of

DIAMOND = Ancestry(((), (1,), (1,), (2, 3), (4,)))
"""1, then 2 and 3 side by side, merged by 4 with 2 as its first parent, then 5."""


def random_graph(rng, places):
    """Return a history of random merges, about whose parents nothing is assumed."""
    parents = [()]
    for place in range(2, places + 1):
        count = 1 + int(rng.random() < 0.3)
        parents.append(tuple(dict.fromkeys(int(integer) for integer in rng.integers(max(1, place - 6), place, count))))
    return Ancestry(tuple(parents))


def plain_holding(graph, place):
    """Return the places that lead to a place, by the definition."""
    return {place}.union(*(plain_holding(graph, parent) for parent in graph.parents[place - 1]))


def test_a_merge_holds_what_both_parents_hold():
    assert DIAMOND.ancestors(4).tolist() == [True, True, True, True, False]
    assert DIAMOND.ancestors(2).tolist() == [True, True, False, False, False]
    assert DIAMOND.descendants(3).tolist() == [False, False, True, True, True]
    assert DIAMOND.depth == (0, 0, 1, 0, 0)


def test_sums_count_each_commit_once_whatever_the_graph():
    rng = np.random.default_rng(1)
    for _ in range(20):
        graph = random_graph(rng, 25)
        weights = rng.random(25)
        wanted = [sum(weights[ancestor - 1] for ancestor in plain_holding(graph, place)) for place in range(1, 26)]
        assert graph.sums(weights) == pytest.approx(wanted)
        behind = np.array([graph.descendants(place) for place in range(1, 26)])
        assert np.array_equal(behind.T, np.array([graph.ancestors(place) for place in range(1, 26)]))


def test_places_are_alike_where_every_usable_place_holds_both_or_neither():
    rng = np.random.default_rng(2)
    for _ in range(20):
        graph = random_graph(rng, 20)
        unusable = {int(commit) for commit in rng.choice(np.arange(1, 20), 8, replace=False)}
        columns = np.array([graph.ancestors(place) for place in range(1, 21) if place not in unusable]).T
        for place in range(1, 21):
            wanted = tuple(o for o in range(1, 21) if np.array_equal(columns[o - 1], columns[place - 1]))
            assert graph.indistinguishable(place, unusable) == wanted


def test_a_place_before_its_parent_is_refused():
    with pytest.raises(ValueError, match="Place 1 must come after its parents"):
        Ancestry(((2,), ()))


def test_parents_outside_the_range_are_left_out():
    assert places_of((("good",), ("a", "elsewhere"), ("b", "a")), ("a", "b", "c")) == ((), (1,), (2, 1))
